//! Device memory: address space that is counted and never touched.

use std::collections::BTreeMap;

use crate::lock::Guarded;

static LEDGER: Guarded<Ledger> = Guarded::new(Ledger { devices: BTreeMap::new() });

struct Ledger {
    devices: BTreeMap<u32, Usage>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    bytes: u64,
    peak_bytes: u64,
}

/// What this process has on a device, its context included.
pub(crate) fn device_bytes(device: u32) -> u64 {
    LEDGER.lock().devices.get(&device).map_or(0, |usage| usage.bytes)
}

/// The most that this process has had on each device.
pub(crate) fn peak_device_bytes() -> Vec<u64> {
    let ledger = LEDGER.lock();
    (0..crate::card::cards().len() as u32)
        .map(|device| ledger.devices.get(&device).map_or(0, |usage| usage.peak_bytes))
        .collect()
}

/// In a child after a fork: it has nothing on any device.
pub(crate) fn forked() {
    LEDGER.lock().devices.clear();
}
