//! Facts about a recording that no single event states.

use oomph_trace::{Action, BlockState, DeviceTrace, EventIndex, PoolId};

use crate::config::{Config, SMALL_LIMIT_BYTES};

/// When expandable segments were turned on or off, oldest first, as far as new memory shows: the first entry holds
/// from the beginning.
pub(crate) fn expandable_toggles(device: &DeviceTrace) -> Vec<(EventIndex, bool)> {
    let mut toggles: Vec<(EventIndex, bool)> = Vec::new();
    for (at, event) in device.events.iter().enumerate() {
        let on = match event.action {
            Action::SegmentMap => true,
            Action::SegmentAlloc => false,
            _ => continue,
        };
        match toggles.last() {
            None => toggles.push((0, on)),
            Some(&(_, last)) if last != on => toggles.push((at as EventIndex, on)),
            Some(_) => {}
        }
    }
    toggles
}

/// Private pools that never split: at the end they hold a block larger than splitting would have left it.
pub(crate) fn unsplit_pools(device: &DeviceTrace, config: &Config) -> Vec<PoolId> {
    let mut pools: Vec<PoolId> = Vec::new();
    for segment in device.segments.iter().filter(|segment| segment.pool != PoolId::DEFAULT && !segment.expandable) {
        let unsplit = segment.blocks.iter().any(|block| {
            let rounded_bytes = config.round(block.requested_bytes);
            let small = rounded_bytes <= SMALL_LIMIT_BYTES;
            block.state != BlockState::Inactive && config.splits(block.bytes, rounded_bytes, small, false)
        });
        if unsplit && !pools.contains(&segment.pool) {
            pools.push(segment.pool);
        }
    }
    pools
}
