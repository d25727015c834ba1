//! Jobs that the machine had no memory for, each of its own cause.

use oomph_trace::host::{
    HostEnd, HostHistory, HostLimits, HostMachine, HostPoint, HostProcess, HostRole, HostRollup, HostSample, HostTold,
};

use super::*;
use crate::host::{LineGrowth, LoadFacts, LoaderFacts};
use crate::render::host::{account_line, json, text};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// What one process holds in a second: heap, what is its own of it, shared memory, pinned memory, steps.
#[derive(Clone, Copy, Default)]
struct Held {
    heap_bytes: u64,
    own_bytes: u64,
    shared_memory_bytes: u64,
    pinned_bytes: u64,
    step: u64,
}

/// A process of a made-up job: its role and what it holds, second by second.
struct Made(HostRole, Box<dyn Fn(u64) -> Held>);

const SECONDS: u64 = 60;

/// Plays the processes for a minute, after which the kernel kills one of them.
fn killed(processes: &[Made], victim: u32) -> HostHistory {
    let limits = HostLimits { total_bytes: 64 * GIB, cgroup_limit_bytes: Some(32 * GIB), shm_total_bytes: Some(GIB) };
    let counted = |kills| HostMachine { cgroup_oom_kills: Some(kills), ..HostMachine::default() };
    let mut history = HostHistory::new(limits, counted(0));
    for (number, Made(role, _)) in (0..).zip(processes) {
        let name = "python".to_owned();
        history.add_process(HostProcess { number, pid: 100 + number, role: *role, name, ..HostProcess::default() });
    }
    for second in 0..SECONDS {
        let points = (0..).zip(processes).map(|(number, Made(_, held))| point(number, held(second), second)).collect();
        history.push(HostSample { time_ms: second * 1000, machine: counted(0), points });
    }
    history.end_process(victim, SECONDS * 1000, Some(HostEnd::Signal(9)));
    history.close(counted(1));
    history
}

fn point(process: u32, held: Held, second: u64) -> HostPoint {
    let shared_bytes = held.shared_memory_bytes + held.pinned_bytes;
    let rollup = second.is_multiple_of(10).then_some(HostRollup {
        proportional_bytes: held.own_bytes + shared_bytes,
        private_bytes: held.own_bytes,
        shared_memory_bytes: shared_bytes,
        swap_bytes: 0,
    });
    let told = HostTold { step: held.step, cpu_tensor_bytes: 0, pinned_bytes: held.pinned_bytes };
    HostPoint { process, resident_bytes: held.heap_bytes + shared_bytes, shared_bytes, rollup, told: Some(told) }
}

fn main(held: impl Fn(u64) -> Held + 'static) -> Made {
    Made(HostRole::Main, Box::new(held))
}

fn workers(count: usize, held: impl Fn(u64) -> Held + Copy + 'static) -> Vec<Made> {
    (0..count).map(|_| Made(HostRole::Worker, Box::new(held))).collect()
}

fn steady(bytes: u64) -> impl Fn(u64) -> Held + Copy {
    move |second| Held { heap_bytes: bytes, own_bytes: bytes, step: second, ..Held::default() }
}

fn verdict(history: &HostHistory, facts: &HostFacts) -> HostVerdict {
    host_verdict(history, facts).expect("the counter rose and a process was killed")
}

#[test]
fn workers_that_copy_the_data_set_are_told_from_workers_that_grow() {
    // The heap was there from the start, shared; what is a worker's own rises as it reads.
    let copying = |second: u64| Held { heap_bytes: 6 * GIB, own_bytes: 100 * MIB * second, ..Held::default() };
    let mut processes = vec![main(steady(6 * GIB))];
    processes.extend(workers(4, copying));
    let found = verdict(&killed(&processes, 2), &HostFacts::default());
    assert_eq!(found.cause, HostCause::WorkerCopies, "{}", found.summary);
    assert!(
        found.summary.contains("The kernel killed a DataLoader worker (pid 102): the 32.00GiB"),
        "{}",
        found.summary
    );
    assert!(found.summary.contains("4 DataLoader workers held 19.53GiB of their own, about 4.88GiB each"));

    let growing =
        |second: u64| Held { heap_bytes: GIB + 100 * MIB * second, own_bytes: 100 * MIB * second, ..Held::default() };
    let mut processes = vec![main(steady(6 * GIB))];
    processes.extend(workers(4, growing));
    let line = LineGrowth {
        pid: 103,
        file: Some("data/set.py".to_owned()),
        line: Some(31),
        bytes_per_step: 3 * MIB,
        steps: 9,
    };
    let found = verdict(&killed(&processes, 2), &HostFacts { growth: vec![line], ..HostFacts::default() });
    assert_eq!((found.cause, &found.place), (HostCause::WorkersGrow, &Some(("data/set.py".to_owned(), 31))));
    assert!(found.summary.contains("set.py:31 keeps 3.00MiB from every batch"), "{}", found.summary);
}

#[test]
fn a_list_that_grows_is_named_with_its_line_and_rate() {
    let grows = |second: u64| Held {
        heap_bytes: GIB + 400 * MIB * second,
        own_bytes: GIB + 400 * MIB * second,
        step: 10 * second,
        ..Held::default()
    };
    let mut processes = vec![main(grows)];
    processes.extend(workers(2, steady(300 * MIB)));
    let line =
        LineGrowth { pid: 100, file: Some("train.py".to_owned()), line: Some(12), bytes_per_step: 40 * MIB, steps: 8 };
    let found = verdict(&killed(&processes, 0), &HostFacts { growth: vec![line], ..HostFacts::default() });
    assert_eq!((found.cause, found.pid), (HostCause::ProcessGrows, Some(100)));
    let expected =
        "The main process (pid 100) grew by 23.05GiB, 40.00MiB a step; train.py:12 keeps 40.00MiB from every step.";
    assert!(found.summary.ends_with(expected), "{}", found.summary);
    assert_eq!(found.evidence, "Process 100 died of SIGKILL, and oom_kill of the job's cgroup rose from 0 to 1.");
    assert!(account_line(&found.account).contains("main process (pid 100) grows by 40.00MiB a step"));
}

#[test]
fn batches_prepared_ahead_and_pinned_memory_are_told_apart() {
    let handing = |_| Held { heap_bytes: GIB, own_bytes: 200 * MIB, shared_memory_bytes: 3 * GIB, ..Held::default() };
    let mut processes = vec![main(steady(2 * GIB))];
    processes.extend(workers(8, handing));
    let loader = LoaderFacts {
        pid: 100,
        file: Some("train.py".to_owned()),
        line: Some(40),
        workers: 8,
        prefetch_factor: 16,
        batch_bytes: Some(192 * MIB),
        pin_memory: false,
    };
    let facts = HostFacts { loaders: vec![loader], ..HostFacts::default() };
    let found = verdict(&killed(&processes, 0), &facts);
    assert_eq!((found.cause, found.bytes), (HostCause::Prefetch, 24 * GIB));
    assert!(
        found.summary.contains("8 workers x prefetch_factor 16 x 192.00MiB a batch is 24.00GiB"),
        "{}",
        found.summary
    );
    assert_eq!(found.place, Some(("train.py".to_owned(), 40)));

    let pins = |_| Held { heap_bytes: GIB, own_bytes: GIB, pinned_bytes: 20 * GIB, ..Held::default() };
    let mut processes = vec![main(pins)];
    processes.extend(workers(8, steady(200 * MIB)));
    let found = verdict(&killed(&processes, 0), &facts);
    assert_eq!((found.cause, found.bytes), (HostCause::Pinned, 20 * GIB), "{}", found.summary);
}

#[test]
fn ranks_that_load_the_same_file_are_told_from_ranks_that_train() {
    let loads = |second: u64| Held { heap_bytes: 130 * MIB * second, own_bytes: 130 * MIB * second, ..Held::default() };
    let ranks = |held: fn(u64) -> Held| (0..4).map(move |rank| Made(HostRole::Rank(rank), Box::new(held)));
    let load = LoadFacts { pid: 102, file: Some("train.py".to_owned()), line: Some(7), bytes: 13 * GIB };
    let facts = HostFacts { loads: vec![load], ..HostFacts::default() };
    let mut processes = vec![main(steady(100 * MIB))];
    processes.extend(ranks(loads));
    let found = verdict(&killed(&processes, 2), &facts);
    assert_eq!(found.cause, HostCause::RanksLoad, "{}", found.summary);
    assert!(found.summary.contains("train.py:7 loads a file of 13.00GiB whole in each of them"), "{}", found.summary);

    let trains =
        |second: u64| Held { step: second, ..Held { heap_bytes: 7 * GIB, own_bytes: 7 * GIB, ..Held::default() } };
    let mut processes = vec![main(steady(100 * MIB))];
    processes.extend(ranks(trains));
    assert_eq!(verdict(&killed(&processes, 2), &facts).cause, HostCause::Largest);
}

#[test]
fn a_request_beyond_all_memory_and_a_full_shm_name_themselves() {
    let history = killed(&[main(steady(GIB))], 0);
    let with = |text: &str| HostFacts { messages: vec![(100, text.to_owned())], ..HostFacts::default() };
    let mut calm = HostHistory::new(history.limits().clone(), HostMachine::default());
    history.processes().for_each(|process| calm.add_process(process.clone()));
    history.samples().for_each(|sample| calm.push(sample.clone()));
    let refused = with(
        "Traceback (most recent call last):\n  File \"/job/train.py\", line 3, in <module>\nRuntimeError: [enforce fail \
         at alloc_cpu.cpp:121] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 8000000000000 bytes.",
    );
    let found = verdict(&calm, &refused);
    assert_eq!((found.cause, found.place), (HostCause::RequestTooLarge, Some(("/job/train.py".to_owned(), 3))));
    assert!(found.summary.starts_with("train.py:3 asked for 7.28TiB on the host and was refused"), "{}", found.summary);

    let full = with(
        "RuntimeError: DataLoader worker (pid 9) is killed by signal: Bus error. It is possible that \
                     dataloader's workers are out of shared memory.",
    );
    let found = verdict(&calm, &full);
    assert_eq!(found.cause, HostCause::SharedMemoryFull);
    assert!(found.summary.starts_with("/dev/shm (1.00GiB) was full."), "{}", found.summary);
    assert!(found.advice[0].contains("--shm-size"));
}

#[test]
fn text_and_json_show_the_same_verdict() {
    let mut processes = vec![main(steady(9 * GIB))];
    processes.extend(workers(4, steady(GIB)));
    let found = verdict(&killed(&processes, 0), &HostFacts::default());
    let shown = anstream_free(&text(&found, 100, 10));
    assert!(shown.starts_with("host_out_of_memory: The kernel killed the main process (pid 100)"), "{shown}");
    assert!(shown.contains("4 DataLoader workers") && shown.contains("32.00GiB allowed by the cgroup"), "{shown}");
    let value = json(&found);
    assert_eq!(value["verdict"]["class"], "host_out_of_memory");
    assert_eq!(value["verdict"]["cause"], found.cause.name());
    assert_eq!(value["host"]["processes"][1]["count"], 4);
    assert_eq!(value["host"]["processes"][1]["peak_private_bytes"], 4 * GIB);
    assert_eq!(value["host"]["oom_kills"], 1);
}

/// Text without what makes it bold.
fn anstream_free(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split('\u{1b}');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    plain
}
