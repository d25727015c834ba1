//! Scenes to try things on.

use oomph_device::{Card, CardProcess, Memory, ProcessKind, SystemMemory};

use crate::verbs::top::scene::{
    CardUse, DeviceUse, Driver, FORMAT, Forecast, HostMemory, Inside, Job, JobProcess, LineShare, Process, Promised,
    Scene, Share, Status,
};

pub(super) const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;
/// Some day at 13:20:05.
pub(super) const NOW_US: u64 = 1_800_019_205_000_000;

/// A whole card with so much of its 139.80 GiB used.
pub(super) fn card(index: u32, used_bytes: u64) -> Card {
    let total_bytes = 150_109_880_320;
    Card {
        index,
        uuid: Some(format!("GPU-0000000{index}-0000-0000-0000-000000000000")),
        name: Some("NVIDIA H200".to_owned()),
        memory: Memory::Own { total_bytes, used_bytes, free_bytes: total_bytes - used_bytes, reserved_bytes: 0 },
        busy_percent: Some(98),
        temperature_c: Some(45),
        power_mw: Some(349_500),
        power_limit_mw: Some(700_000),
        clock_mhz: Some(1980),
        processes: Some(vec![CardProcess { pid: 4242, used_bytes: Some(used_bytes), kind: ProcessKind::Compute }]),
        ..Card::default()
    }
}

fn share(name: &str, bytes: u64) -> Share {
    Share { name: name.to_owned(), bytes }
}

fn inside() -> Inside {
    let line = |line, function: &str, bytes| LineShare {
        file: "/home/me/train.py".to_owned(),
        line,
        function: function.to_owned(),
        bytes,
        blocks: 12,
    };
    Inside {
        categories: vec![share("activations", 8 * GIB), share("parameters", 4 * GIB), share("optimizer", 2 * GIB)],
        lines: vec![line(42, "forward", 8 * GIB), line(12, "build_model", 4 * GIB), line(57, "main", 2 * GIB)],
        modules: vec![
            share("layers.0.attention", 6 * GIB),
            share("layers.1.attention", 6 * GIB),
            share("head", 2 * GIB),
        ],
    }
}

fn process() -> JobProcess {
    JobProcess {
        pid: 4242,
        start_ticks: 77,
        step: 1204,
        batches: 1204,
        phase: "forward".to_owned(),
        steps_per_minute: Some(545.0),
        devices: vec![DeviceUse {
            card: Some(0),
            total_bytes: 150_109_880_320,
            allocated_bytes: 14 * GIB,
            allocated_peak_bytes: 15 * GIB,
            reserved_bytes: 16 * GIB,
            reserved_peak_bytes: 16 * GIB,
            used_bytes: Some(17 * GIB),
            left_bytes: Some(122 * GIB),
            retries: 3,
            forecast: Some(Forecast { steps_left: 3417, bytes_per_step: 36 * MIB }),
            ..DeviceUse::default()
        }],
        inside: Some(inside()),
        ..JobProcess::default()
    }
}

/// A job that leaks.
pub(super) fn job() -> Job {
    Job {
        id: "20270115T121905-4200".to_owned(),
        name: "train.py".to_owned(),
        command: ["train.py", "--batch", "8"].map(str::to_owned).to_vec(),
        cwd: "/home/me".to_owned(),
        pid: 4200,
        start_ticks: 70,
        started_us: NOW_US - 3_723_000_000,
        promised: vec![Promised {
            allocated_bytes: 15 * GIB + 100 * MIB,
            reserved_bytes: 16 * GIB,
            ..Promised::default()
        }],
        host: HostMemory {
            resident_bytes: Some(4 * GIB),
            resident_peak_bytes: Some(5 * GIB),
            pinned_bytes: 512 * MIB,
            process_count: 5,
            ..HostMemory::default()
        },
        processes: vec![process()],
        ..Job::default()
    }
}

/// Another one, that has ended.
pub(super) fn ended_job() -> Job {
    Job {
        id: "20270115T110000-4000".to_owned(),
        name: "evaluate.py".to_owned(),
        status: Status::OutOfMemory,
        exit_code: Some(1),
        ended_us: Some(NOW_US - 60_000_000),
        pid: 4000,
        processes: Vec::new(),
        host: HostMemory::default(),
        promised: Vec::new(),
        ..job()
    }
}

fn processes() -> Vec<Process> {
    let used = |used_bytes| CardUse { used_bytes: Some(used_bytes), ..CardUse::default() };
    let base = |pid, command: &str| Process {
        pid,
        start_ticks: Some(77),
        parent: Some(1),
        user: Some("me".to_owned()),
        is_own: true,
        command: command.to_owned(),
        resident_bytes: Some(GIB),
        ..Process::default()
    };
    let id = job().id;
    vec![
        Process { job: Some(id.clone()), ..base(4200, "oomph run train.py --batch 8") },
        Process {
            parent: Some(4200),
            job: Some(id.clone()),
            cards: vec![used(17 * GIB)],
            ..base(4242, "python train.py --batch 8")
        },
        Process { parent: Some(4242), job: Some(id), ..base(4243, "python train.py --batch 8 (worker)") },
        Process { user: Some("root".to_owned()), is_own: false, cards: vec![used(GIB)], ..base(99, "Xorg :0") },
        Process { pid: 31337, cards: vec![used(2 * GIB)], ..Process::default() },
    ]
}

/// A machine with everything.
pub(super) fn full() -> Scene {
    let mut jobs = vec![job(), ended_job()];
    jobs.push(Job {
        id: "old".to_owned(),
        name: "old.py".to_owned(),
        ended_us: Some(1),
        status: Status::Finished,
        ..ended_job()
    });
    Scene {
        format: FORMAT,
        at_us: NOW_US,
        host_name: Some("box".to_owned()),
        system: Some(SystemMemory { total_bytes: 64 * GIB, available_bytes: 52 * GIB }),
        driver: Driver { version: Some("580.95.05".to_owned()), cuda: Some("13.0".to_owned()), ..Driver::default() },
        cards: vec![card(0, 20 * GIB), card(1, 0)],
        processes: processes(),
        jobs,
    }
}

/// A machine without a driver.
pub(super) fn without_driver() -> Scene {
    Scene {
        driver: Driver {
            problem: Some("there is no NVIDIA driver on this machine".to_owned()),
            hint: Some("install it".to_owned()),
            ..Driver::default()
        },
        cards: Vec::new(),
        processes: Vec::new(),
        jobs: Vec::new(),
        ..full()
    }
}

/// Cards of all kinds: divided, unified, lost, and one that tells nothing.
pub(super) fn odd_cards() -> Scene {
    let unified = Memory::Unified { total_bytes: 128 * GIB, used_bytes: 100 * GIB, free_bytes: 28 * GIB };
    let cards = vec![
        Card { is_divided: true, busy_percent: None, ..card(0, GIB) },
        Card {
            instance: Some(1),
            name: Some("NVIDIA H200 MIG 1g.18gb".to_owned()),
            memory: Memory::Own { total_bytes: 16 * GIB, used_bytes: GIB, free_bytes: 15 * GIB, reserved_bytes: 0 },
            busy_percent: None,
            ..card(0, GIB)
        },
        Card { index: 1, name: Some("NVIDIA GB10".to_owned()), memory: unified, ..Card::default() },
        Card { index: 2, problem: Some("the GPU has fallen off the bus".to_owned()), ..Card::default() },
        Card { index: 3, ..Card::default() },
    ];
    Scene { cards, ..full() }
}
