//! The host memory of a job: what each of its processes held and what the machine allowed, sample by sample.
//!
//! [`HostHistory`] is bounded however long the job runs: when it is full, every two samples become one. Peaks are kept
//! apart, so no halving loses them. It is written as JSON lines, so that what a killed job held can still be read.

mod history;
mod process;
mod sample;

pub use history::{HostHistory, Unreadable};
pub use process::{HostEnd, HostPeaks, HostProcess, HostRole};
pub use sample::{HostLimits, HostMachine, HostPoint, HostRollup, HostSample, HostTold};
