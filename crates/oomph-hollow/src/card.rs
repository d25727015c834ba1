//! The cards that are not there, from `OOMPH_HOLLOW_CARDS`: a JSON list with one [`Card`] a device.
//!
//! Without the variable there is one H200, so that the library can be tried by hand; with one that cannot be read there
//! is no device, and one line on stderr says why.
//!
//! `CUDA_VISIBLE_DEVICES` chooses among the cards, as CUDA has it. NVML sees them all, as NVML does.

use std::env;
use std::sync::OnceLock;

pub use oomph_card::Card;

/// The list when there is none.
const WITHOUT_A_LIST: &str = include_str!(concat!(env!("OUT_DIR"), "/default_cards.json"));

/// Every card there is, by the number that NVML gives it.
pub fn installed() -> &'static [Card] {
    static INSTALLED: OnceLock<Vec<Card>> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let listed = env::var("OOMPH_HOLLOW_CARDS");
        read(listed.as_deref().unwrap_or(WITHOUT_A_LIST)).unwrap_or_else(|problem| {
            crate::process::say(&format!("OOMPH_HOLLOW_CARDS: {problem}; there is no device"));
            Vec::new()
        })
    })
}

/// The cards of a list, all of them sound.
fn read(text: &str) -> Result<Vec<Card>, String> {
    let cards: Vec<Card> = serde_json::from_str(text).map_err(|problem| problem.to_string())?;
    let fault = cards.iter().find_map(|card| Some(format!("{}: {}", card.name, card.fault()?)));
    fault.map_or(Ok(cards), Err)
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
    fn cards_are_read_from_json() {
        let text = serde_json::to_string(&[Card::named("h200").unwrap()]).unwrap();
        let without_sources = Card { sources: Vec::new(), ..Card::named("h200").unwrap() };
        assert_eq!(read(&text).unwrap(), [without_sources]);
        assert_eq!(text, WITHOUT_A_LIST);
        assert!(read(&text.replace("\"9.0\"", "\"nine\"")).unwrap_err().contains("compute_capability"));
        assert!(read(&text.replace("\"sms\":132", "\"sms\":0")).unwrap_err().contains("sms must"));
        assert!(read(&text.replace("\"sms\":132,", "")).unwrap_err().contains("sms"));
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
