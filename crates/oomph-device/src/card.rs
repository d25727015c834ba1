//! A card as it is at one moment.

use serde::{Deserialize, Serialize};

use crate::memory::Memory;

/// One card, or one instance of a divided card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// The number that NVML and `nvidia-smi` give it. Instances have that of their card.
    pub index: u32,
    /// Which instance of a divided card this is; `None` of a whole card.
    pub instance: Option<u32>,
    /// `GPU-...`, or `MIG-...` of an instance.
    pub uuid: Option<String>,
    /// As the driver names it.
    pub name: Option<String>,
    /// Whether it is divided into instances (MIG), which then follow it.
    pub is_divided: bool,
    /// Its memory.
    pub memory: Memory,
    /// The share of the last moments in which a kernel ran.
    pub busy_percent: Option<u32>,
    /// In degrees Celsius.
    pub temperature_c: Option<u32>,
    /// What it draws.
    pub power_mw: Option<u32>,
    /// What it may draw.
    pub power_limit_mw: Option<u32>,
    /// The clock of its multiprocessors.
    pub clock_mhz: Option<u32>,
    /// The first fan's speed in percent of its most.
    pub fan_percent: Option<u32>,
    /// The processes that use it; `None` where the driver does not tell.
    pub processes: Option<Vec<CardProcess>>,
    /// Why nothing can be asked of it: it has fallen off the bus, or must be reset.
    pub problem: Option<String>,
}

/// A process on a card, as the driver knows it: by its number on the host, also inside a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardProcess {
    /// Its number outside of any container.
    pub pid: u32,
    /// What it has on the card; `None` where the driver does not tell.
    pub used_bytes: Option<u64>,
    /// What it does there.
    pub kind: ProcessKind,
}

/// What a process does on a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessKind {
    /// It computes.
    Compute,
    /// It draws.
    Graphics,
}
