//! What the NVIDIA driver says about the cards of this machine, through NVML.
//!
//! A driver answers as much as it can: a card in a laptop has no fan speed, an instance of a divided card (MIG) no
//! utilization, a card that shares the host's memory no memory of its own. So every field of a [`Card`] but its number
//! is optional, and a question that one card refuses costs no answer about another.
//!
//! Cards are told apart by UUID: `CUDA_VISIBLE_DEVICES` renumbers them in every process.

mod card;
mod error;
mod look;
mod memory;
mod monitor;
mod uuid;

pub use card::{Card, CardProcess, ProcessKind};
pub use error::DeviceError;
pub use memory::{Memory, SystemMemory};
pub use monitor::{DriverVersion, Monitor};
pub use uuid::{short_uuid, uuid_matches};
