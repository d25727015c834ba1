//! Numbers no card can have produced.

use std::borrow::Cow;

use oomph_trace::{Action, DeviceTrace};

/// Beyond any card's addresses.
const MAX_ADDRESS: u64 = 1 << 57;
/// Beyond any card's memory.
const MAX_BYTES: u64 = 1 << 43;

/// The trace itself; or, if a damaged or made-up file holds numbers that sums would overflow with, one in which those
/// are zero.
pub(crate) fn sane(device: &DeviceTrace) -> Cow<'_, DeviceTrace> {
    let block_fits =
        |block: &oomph_trace::Block| fits(block.address, block.bytes) && block.requested_bytes <= MAX_BYTES;
    let fine = device.events.iter().all(|event| fits(address_of(event), event.bytes))
        && device.segments.iter().all(|segment| fits(segment.address, segment.bytes))
        && device.segments.iter().flat_map(|segment| &segment.blocks).all(block_fits);
    if fine {
        return Cow::Borrowed(device);
    }
    let mut mended = device.clone();
    for event in &mut mended.events {
        if !fits(address_of(event), event.bytes) {
            (event.addr, event.bytes) = (0, 0);
        }
    }
    mended.segments.retain(|segment| fits(segment.address, segment.bytes));
    for segment in &mut mended.segments {
        segment.blocks.retain(block_fits);
    }
    Cow::Owned(mended)
}

/// The address of an event; what stands there for a failed request is no address.
fn address_of(event: &oomph_trace::Event) -> u64 {
    if event.action == Action::Oom { 0 } else { event.addr }
}

fn fits(address: u64, bytes: u64) -> bool {
    address <= MAX_ADDRESS && bytes <= MAX_BYTES
}
