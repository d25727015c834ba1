//! The cards that are not there, from `OOMPH_HOLLOW_CARDS`: a JSON list with one object a device.
//!
//! What every card of a generation has in common (warp size, registers a thread, grid limits) is a method here; what
//! differs from card to card is a field. Without the variable there is one H200, so that the library can be tried by
//! hand; with one that cannot be read there is no device, and one line on stderr says why.
//!
//! `CUDA_VISIBLE_DEVICES` chooses among the cards, as CUDA has it. NVML sees them all, as NVML does.

use std::env;
use std::sync::OnceLock;

use serde::Deserialize;

/// One device, as CUDA describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Card {
    /// What `nvidia-smi` calls it.
    pub name: String,
    /// `totalGlobalMem` as CUDA reports it.
    pub memory_bytes: u64,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Such as `"9.0"`.
    pub compute_capability: ComputeCapability,
    /// The most shared memory a block can ask for.
    pub shared_memory_per_block_optin_bytes: u64,
    /// Shared memory of a multiprocessor.
    pub shared_memory_per_sm_bytes: u64,
    /// The L2 cache.
    pub l2_bytes: u64,
    /// What a context takes before the program allocates anything.
    pub context_bytes: u64,
    /// Clock of the multiprocessors.
    pub clock_khz: u64,
    /// Clock of the memory.
    pub memory_clock_khz: u64,
    /// Width of the memory's bus.
    pub memory_bus_bits: u64,
    /// Threads that a multiprocessor holds at a time.
    pub max_threads_per_sm: u32,
    /// Blocks that a multiprocessor holds at a time.
    pub max_blocks_per_sm: u32,
    /// Registers of a multiprocessor.
    pub registers_per_sm: u32,
}

/// Major and minor version of the instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct ComputeCapability {
    /// 9 in `"9.0"`.
    pub major: u32,
    /// 0 in `"9.0"`.
    pub minor: u32,
}

impl TryFrom<String> for ComputeCapability {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let read = |text: &str| {
            let (major, minor) = text.split_once('.')?;
            Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
        };
        read(&text).ok_or_else(|| format!("compute capability {text:?} is not of the form \"9.0\""))
    }
}

impl Card {
    /// What programs can allocate on this card.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.memory_bytes.saturating_sub(self.context_bytes)
    }

    /// Shared memory that a block gets without asking for more.
    #[must_use]
    pub fn shared_memory_per_block_bytes(&self) -> u64 {
        self.shared_memory_per_block_optin_bytes.min(48 << 10)
    }

    /// Shared memory that CUDA itself takes in every block.
    #[must_use]
    pub fn reserved_shared_memory_per_block_bytes(&self) -> u64 {
        if self.compute_capability.major >= 8 { 1024 } else { 0 }
    }

    fn h200() -> Self {
        Self {
            name: "NVIDIA H200".to_owned(),
            memory_bytes: 150_109_880_320,
            sms: 132,
            compute_capability: ComputeCapability { major: 9, minor: 0 },
            shared_memory_per_block_optin_bytes: 232_448,
            shared_memory_per_sm_bytes: 233_472,
            l2_bytes: 60 << 20,
            context_bytes: 512 << 20,
            clock_khz: 1_980_000,
            memory_clock_khz: 3_201_000,
            memory_bus_bits: 6144,
            max_threads_per_sm: 2048,
            max_blocks_per_sm: 32,
            registers_per_sm: 65_536,
        }
    }
}

/// Every card there is, by the number that NVML gives it.
pub fn installed() -> &'static [Card] {
    static INSTALLED: OnceLock<Vec<Card>> = OnceLock::new();
    INSTALLED.get_or_init(|| match env::var("OOMPH_HOLLOW_CARDS") {
        Err(_) => vec![Card::h200()],
        Ok(text) => serde_json::from_str(&text).unwrap_or_else(|error| {
            crate::process::say(&format!("OOMPH_HOLLOW_CARDS: {error}; there is no device"));
            Vec::new()
        }),
    })
}

/// The cards that CUDA shows to this process, by device number.
pub fn cards() -> &'static [Card] {
    static CARDS: OnceLock<Vec<Card>> = OnceLock::new();
    CARDS.get_or_init(|| visible().iter().filter_map(|&index| installed().get(index).cloned()).collect())
}

/// Which installed card a device number stands for.
pub(crate) fn installed_index(device: u32) -> Option<usize> {
    visible().get(device as usize).copied()
}

/// Which device number an installed card has in this process, if it is visible.
pub(crate) fn device_of(installed_index: usize) -> Option<u32> {
    visible().iter().position(|&index| index == installed_index).map(|device| device as u32)
}

fn visible() -> &'static [usize] {
    static VISIBLE: OnceLock<Vec<usize>> = OnceLock::new();
    VISIBLE.get_or_init(|| choose(env::var("CUDA_VISIBLE_DEVICES").ok().as_deref(), installed().len()))
}

/// The cards that a list in `CUDA_VISIBLE_DEVICES` chooses: numbers or beginnings of UUIDs, up to the first that is
/// none or that was chosen before.
fn choose(list: Option<&str>, count: usize) -> Vec<usize> {
    let Some(list) = list else { return (0..count).collect() };
    let mut chosen = Vec::new();
    for word in list.split(',').map(str::trim) {
        let by_number = word.parse().ok().filter(|&index: &usize| index < count);
        let by_uuid = || (0..count).find(|&index| word.starts_with("GPU-") && uuid_text(index).starts_with(word));
        match by_number.or_else(by_uuid) {
            Some(index) if !chosen.contains(&index) => chosen.push(index),
            _ => break,
        }
    }
    chosen
}

/// The UUID of an installed card.
pub(crate) fn uuid(installed_index: usize) -> [u8; 16] {
    let mut uuid = *b"oomph-hollow-gpu";
    uuid[15] = installed_index as u8;
    uuid
}

/// The UUID of an installed card, as NVML writes it.
pub(crate) fn uuid_text(installed_index: usize) -> String {
    let number = u128::from_be_bytes(uuid(installed_index));
    let part = |from_bit: u32, bits: u32| (number >> from_bit) & ((1 << bits) - 1);
    let (low, middle, high) = (part(96, 32), part(80, 16), part(64, 16));
    format!("GPU-{low:08x}-{middle:04x}-{high:04x}-{:04x}-{:012x}", part(48, 16), part(0, 48))
}

/// The PCI bus of an installed card.
pub(crate) fn pci_bus(installed_index: usize) -> u32 {
    installed_index as u32 + 1
}

/// The PCI address of an installed card, as CUDA writes it.
pub(crate) fn pci_text(installed_index: usize) -> String {
    format!("0000:{:02X}:00.0", pci_bus(installed_index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_from_json() {
        let text = r#"{"name":"T","memory_bytes":16,"sms":40,"compute_capability":"7.5",
            "shared_memory_per_block_optin_bytes":65536,"shared_memory_per_sm_bytes":65536,"l2_bytes":4,
            "context_bytes":6,"clock_khz":1,"memory_clock_khz":1,"memory_bus_bits":256,"max_threads_per_sm":1024,
            "max_blocks_per_sm":16,"registers_per_sm":65536}"#;
        let card: Card = serde_json::from_str(text).unwrap();
        assert_eq!(card.compute_capability, ComputeCapability { major: 7, minor: 5 });
        assert_eq!(card.capacity_bytes(), 10);
        assert_eq!(card.reserved_shared_memory_per_block_bytes(), 0);
        assert!(serde_json::from_str::<Card>(&text.replace("7.5", "seven")).is_err());
    }

    #[test]
    fn visible_devices_are_chosen_as_cuda_does() {
        assert_eq!(choose(None, 3), [0, 1, 2]);
        assert_eq!(choose(Some("2,0"), 3), [2, 0]);
        assert_eq!(choose(Some("1,7,0"), 3), [1]);
        assert_eq!(choose(Some("1,1"), 3), [1]);
        assert!(choose(Some(""), 3).is_empty());
        assert!(choose(Some("-1"), 3).is_empty());
        assert_eq!(choose(Some(&uuid_text(1)), 3), [1]);
        assert_eq!(uuid_text(1), "GPU-6f6f6d70-682d-686f-6c6c-6f772d677001");
    }
}
