//! What was seen at one moment: what `--json` prints, `--record` keeps and the screen shows.

use oomph_device::{Card, SystemMemory};
use serde::{Deserialize, Serialize};

/// The version of this form. Fields may be added, never changed.
pub(super) const FORMAT: u32 = 1;

/// Cards, processes and jobs at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Scene {
    /// The version of this form.
    pub(crate) format: u32,
    /// When, in microseconds since 1970.
    pub(crate) at_us: u64,
    /// The machine's name.
    pub(crate) host_name: Option<String>,
    /// The host's memory.
    pub(crate) system: Option<SystemMemory>,
    /// Who answers for the cards.
    pub(crate) driver: Driver,
    /// Every card; instances of a divided card follow it.
    pub(crate) cards: Vec<Card>,
    /// Processes that use a card, or belong to a job.
    pub(crate) processes: Vec<Process>,
    /// Jobs that `oomph run` started, newest first.
    pub(crate) jobs: Vec<Job>,
}

/// The NVIDIA driver, or why there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Driver {
    /// Its version.
    pub(crate) version: Option<String>,
    /// The newest version of CUDA it serves.
    pub(crate) cuda: Option<String>,
    /// Why nothing is known about cards.
    pub(crate) problem: Option<String>,
    /// The way out.
    pub(crate) hint: Option<String>,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Process {
    /// Its number; that of the host where the driver alone knows it.
    pub(crate) pid: u32,
    /// When it was started, in the kernel's ticks; `None` where it cannot be seen from here (another container's).
    pub(crate) start_ticks: Option<u64>,
    /// The process that started it.
    pub(crate) parent: Option<u32>,
    /// Whose it is.
    pub(crate) user: Option<String>,
    /// Whether it is this user's.
    pub(crate) is_own: bool,
    /// Its command line.
    pub(crate) command: String,
    /// Resident bytes on the host.
    pub(crate) resident_bytes: Option<u64>,
    /// What it has on each card.
    pub(crate) cards: Vec<CardUse>,
    /// The job it belongs to.
    pub(crate) job: Option<String>,
}

/// What a process has on a card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CardUse {
    /// The card's number.
    pub(crate) index: u32,
    /// The instance of a divided card.
    pub(crate) instance: Option<u32>,
    /// Bytes; `None` where the driver does not tell.
    pub(crate) used_bytes: Option<u64>,
    /// Whether the driver says so, or the process itself: what it reserved, without its CUDA context.
    pub(crate) is_own_account: bool,
}

/// How a job or a process is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// It runs.
    #[default]
    Running,
    /// It came to its end.
    Finished,
    /// It ended with an exception, or with an exit code that is not 0.
    Failed,
    /// It ended with `torch.OutOfMemoryError`.
    OutOfMemory,
    /// It is gone and had no time to say why.
    Killed,
}

impl Status {
    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::OutOfMemory => "out of memory",
            Self::Killed => "killed",
        }
    }
}

/// A job of `oomph run`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Job {
    /// The name of its folder.
    pub(crate) id: String,
    /// What people call it.
    pub(crate) name: String,
    /// Its command line.
    pub(crate) command: Vec<String>,
    /// Where it was started.
    pub(crate) cwd: String,
    /// Its `oomph run`.
    pub(crate) pid: u32,
    /// When that was started, in the kernel's ticks.
    pub(crate) start_ticks: u64,
    /// How it is.
    pub(crate) status: Status,
    /// Its exit code, once it has one.
    pub(crate) exit_code: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    /// When it began, in microseconds since 1970.
    pub(crate) started_us: u64,
    /// When it ended.
    pub(crate) ended_us: Option<u64>,
    /// Settings of PyTorch's allocator that oomph chose.
    pub(crate) allocator: Option<String>,
    /// What a plan of the same job had promised for each process and device.
    pub(crate) promised: Vec<Promised>,
    /// Memory on the host, all processes together.
    pub(crate) host: HostMemory,
    /// Its processes that use PyTorch, in the order in which they started.
    pub(crate) processes: Vec<JobProcess>,
}

/// What a plan promised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Promised {
    /// The process's number in a distributed job.
    pub(crate) rank: u32,
    /// The device's ordinal.
    pub(crate) device: u32,
    /// The most held by tensors.
    pub(crate) allocated_bytes: u64,
    /// The most that PyTorch takes from the driver.
    pub(crate) reserved_bytes: u64,
}

/// Memory on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct HostMemory {
    /// Resident bytes; pages that processes share count once for each.
    pub(crate) resident_bytes: Option<u64>,
    /// The most there were.
    pub(crate) resident_peak_bytes: Option<u64>,
    /// The same, shared pages counted in parts (PSS).
    pub(crate) proportional_bytes: Option<u64>,
    /// Live CPU tensors.
    pub(crate) cpu_tensor_bytes: u64,
    /// Page-locked memory of PyTorch.
    pub(crate) pinned_bytes: u64,
    /// Processes of the job, workers of a `DataLoader` among them.
    pub(crate) process_count: usize,
}

/// A process of a job, from inside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct JobProcess {
    /// Its number.
    pub(crate) pid: u32,
    /// When it was started, in the kernel's ticks.
    pub(crate) start_ticks: u64,
    /// How it is.
    pub(crate) status: Status,
    /// Optimizer steps so far.
    pub(crate) step: u64,
    /// Batches so far.
    pub(crate) batches: u64,
    /// `setup`, `forward`, `backward`, `optimizer` or `evaluation`.
    pub(crate) phase: String,
    /// How fast it goes, over the last seconds.
    pub(crate) steps_per_minute: Option<f64>,
    /// Its devices, by ordinal.
    pub(crate) devices: Vec<DeviceUse>,
    /// Bytes of its live CPU tensors.
    pub(crate) cpu_tensor_bytes: u64,
    /// Its page-locked memory.
    pub(crate) pinned_bytes: u64,
    /// What holds memory, where it was looked at.
    pub(crate) inside: Option<Inside>,
}

/// A device of a process, as PyTorch sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct DeviceUse {
    /// Its ordinal in the process.
    pub(crate) ordinal: u32,
    /// The number of its card.
    pub(crate) card: Option<u32>,
    /// The card's memory.
    pub(crate) total_bytes: u64,
    /// What PyTorch may take of it.
    pub(crate) limit_bytes: Option<u64>,
    /// Held by tensors.
    pub(crate) allocated_bytes: u64,
    /// The most there were.
    pub(crate) allocated_peak_bytes: u64,
    /// Taken from the driver by PyTorch.
    pub(crate) reserved_bytes: u64,
    /// The most there were.
    pub(crate) reserved_peak_bytes: u64,
    /// Used on the card by everything.
    pub(crate) used_bytes: Option<u64>,
    /// What PyTorch can still take from the driver.
    pub(crate) left_bytes: Option<u64>,
    /// How often PyTorch gave its cache back to serve a request.
    pub(crate) retries: u64,
    /// How often a request failed.
    pub(crate) ooms: u64,
    /// When memory runs out, if it goes on as it does.
    pub(crate) forecast: Option<Forecast>,
}

/// A steady rise, and where it leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Forecast {
    /// Steps until memory runs out, about.
    pub(crate) steps_left: u64,
    /// What every step keeps.
    pub(crate) bytes_per_step: u64,
}

/// What holds the memory of a process's devices, largest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Inside {
    /// By what it is for.
    pub(crate) categories: Vec<Share>,
    /// By line of the user's code.
    pub(crate) lines: Vec<LineShare>,
    /// By module of the model.
    pub(crate) modules: Vec<Share>,
}

/// A part of the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Share {
    /// Which part.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) bytes: u64,
}

/// What was allocated on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LineShare {
    /// The file.
    pub(crate) file: String,
    /// The line.
    pub(crate) line: u32,
    /// The function it stands in.
    pub(crate) function: String,
    /// What is held.
    pub(crate) bytes: u64,
    /// In how many blocks.
    pub(crate) blocks: u64,
}

impl Scene {
    /// A job by its name.
    pub(crate) fn job(&self, id: &str) -> Option<&Job> {
        self.jobs.iter().find(|job| job.id == id)
    }
}

impl Job {
    /// The device with least room, and its process.
    pub(crate) fn tightest(&self) -> Option<(&JobProcess, &DeviceUse)> {
        let devices = self.processes.iter().flat_map(|process| process.devices.iter().map(move |one| (process, one)));
        devices.min_by_key(|(_, device)| (device.left_bytes.unwrap_or(u64::MAX), device.ordinal))
    }

    /// Optimizer steps of the process that is furthest.
    pub(crate) fn step(&self) -> u64 {
        self.processes.iter().map(|process| process.step).max().unwrap_or(0)
    }

    /// What tensors hold on all devices.
    pub(crate) fn allocated_bytes(&self) -> u64 {
        self.processes.iter().flat_map(|process| &process.devices).map(|device| device.allocated_bytes).sum()
    }

    /// What PyTorch has from the driver on all devices.
    pub(crate) fn reserved_bytes(&self) -> u64 {
        self.processes.iter().flat_map(|process| &process.devices).map(|device| device.reserved_bytes).sum()
    }

    /// The nearest end that is foreseen.
    pub(crate) fn forecast(&self) -> Option<Forecast> {
        let devices = self.processes.iter().flat_map(|process| &process.devices);
        devices.filter_map(|device| device.forecast).min_by_key(|forecast| forecast.steps_left)
    }
}

impl Process {
    /// What it has on all cards, as far as anybody tells.
    pub(crate) fn card_bytes(&self) -> u64 {
        self.cards.iter().filter_map(|used| used.used_bytes).sum()
    }
}
