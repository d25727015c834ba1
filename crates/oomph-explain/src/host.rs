//! The machine's own memory: who of a job's processes held it, what grew, and why a job that was killed was killed.
//!
//! [`host_verdict`] reads a [`HostHistory`](oomph_trace::host::HostHistory) and what the processes told. That a job ended
//! by `SIGKILL` proves nothing: the kernel's own counters must have risen, or a message must say that memory was refused.

mod account;
mod causes;
mod facts;
mod growth;
mod kept;
mod moment;
mod recognition;
mod verdict;

pub use account::{HostAccount, HostRow};
pub use causes::HostCause;
pub use facts::{HostFacts, LineGrowth, LoadFacts, LoaderFacts};
pub use growth::{HostGrowth, growth_of};
pub use kept::{HostKept, host_kept};
pub use recognition::{Counter, Recognition};
pub use verdict::{HOST_OUT_OF_MEMORY, HostVerdict, host_verdict};
