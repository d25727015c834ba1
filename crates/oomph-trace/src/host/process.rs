//! A process of the job: what it is, how much it held at most, how it ended.

use serde::{Deserialize, Serialize};

use super::sample::HostPoint;

/// What a process is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostRole {
    /// The one the job began with.
    Main,
    /// One of several that train together, by its `RANK`.
    Rank(u32),
    /// A worker of a `DataLoader`.
    Worker,
    /// A copy of its parent that did not start another program: `multiprocessing` with `fork`.
    Forked,
    /// Anything else.
    #[default]
    Other,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostEnd {
    /// By itself, with this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

/// The most that a process, or the job, held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPeaks {
    /// Resident bytes.
    pub resident_bytes: u64,
    /// When they were highest, in milliseconds since the history began.
    pub time_ms: u64,
    /// Proportional bytes, of the moments at which they were read.
    pub proportional_bytes: u64,
    /// Private bytes, of the moments at which they were read.
    pub private_bytes: u64,
    /// Pinned bytes, where the process tells them.
    pub pinned_bytes: u64,
}

impl HostPeaks {
    pub(super) fn take(&mut self, point: &HostPoint, time_ms: u64) {
        if point.resident_bytes > self.resident_bytes {
            (self.resident_bytes, self.time_ms) = (point.resident_bytes, time_ms);
        }
        if let Some(rollup) = point.rollup {
            self.proportional_bytes = self.proportional_bytes.max(rollup.proportional_bytes);
            self.private_bytes = self.private_bytes.max(rollup.private_bytes);
        }
        self.pinned_bytes = self.pinned_bytes.max(point.told.map_or(0, |told| told.pinned_bytes));
    }
}

/// A process of the job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostProcess {
    /// Its number in this history: pids come again, these do not.
    pub number: u32,
    /// Its pid.
    pub pid: u32,
    /// The pid of whoever started it.
    pub parent: u32,
    /// Its name, as `ps` shows it.
    pub name: String,
    /// What it is for.
    pub role: HostRole,
    /// When it was first seen, in milliseconds since the history began.
    pub from_ms: u64,
    /// When it was first missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_ms: Option<u64>,
    /// How it ended, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<HostEnd>,
    /// The most it held.
    #[serde(default)]
    pub peaks: HostPeaks,
}

impl HostProcess {
    /// Whether it died of `SIGKILL`, which is how the kernel ends a process to get its memory.
    #[must_use]
    pub fn was_killed(&self) -> bool {
        self.end == Some(HostEnd::Signal(9))
    }
}
