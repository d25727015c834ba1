//! Host memory of a running job, read from `/proc` and its cgroup by whoever supervises it.
//!
//! [`HostWatch`] looks at every process below the job's first one, once a second: resident memory is cheap to read. What
//! is dear (`smaps_rollup`, milliseconds for a process with torch, and the kernel holds a lock of the process meanwhile)
//! is read every ten seconds, and sooner while memory rises. What it saw is a [`HostHistory`].

mod cgroup;
mod family;
mod machine;
mod peak;
mod reading;
mod watch;

pub use machine::available_bytes;
pub use oomph_trace::host::{
    HostEnd, HostHistory, HostLimits, HostMachine, HostPeaks, HostPoint, HostProcess, HostRole, HostRollup, HostSample,
    HostTold,
};
pub use peak::{Beside, PeakWatch, Seen};
pub use watch::HostWatch;
