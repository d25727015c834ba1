//! How much of the card was held by something other than PyTorch's allocator, when the driver refused.
//!
//! A torch snapshot does not say how large the card is, so this is worked out from three things, best first:
//! the card's size where the trace or the user gives it; a hole in the addresses, because what a process takes from
//! the driver past PyTorch lies between PyTorch's own segments; and the sizes cards are made in, because a job that
//! fills no card that exists was not alone on it.

use oomph_heap::OomEvent;

use crate::case::Case;

/// What a CUDA context and its libraries take beside the allocator, at most: 300 to 700 MiB on the cards measured.
pub(crate) const CONTEXT_BYTES_MAX: u64 = 1 << 30;
/// Cards that run PyTorch, by the memory they are sold with.
const CARD_GIB: [u64; 18] = [4, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 80, 94, 141, 180, 288];
/// A card's CUDA total is up to this many percent less than the figure it is sold with (firmware, ECC).
const CARD_SHRINK_PERCENT: u64 = 9;
/// Holes up to this size are ordinary: libraries and pinned memory lie among the segments (measured: 1.2 GiB).
const ORDINARY_HOLE_BYTES: u64 = 2 << 30;
/// How far a hole must outweigh what is accounted for before it is believed against a card of just that size.
const HOLE_DOMINANCE: u64 = 4;

/// Bytes held outside PyTorch beyond an ordinary context; 0 where nothing suggests any.
pub(crate) fn outside_bytes(case: &Case, oom: &OomEvent) -> u64 {
    let accounted = oom.books.reserved_bytes + oom.device_free_bytes;
    if let Some(total) = case.total_bytes {
        return total.saturating_sub(accounted + CONTEXT_BYTES_MAX);
    }
    let hole = largest_hole_bytes(case).saturating_sub(ORDINARY_HOLE_BYTES);
    let fills_a_card =
        |bytes: u64| CARD_GIB.iter().any(|&gib| bytes <= gib << 30 && bytes + CONTEXT_BYTES_MAX >= smallest_total(gib));
    if hole >= HOLE_DOMINANCE * accounted && fills_a_card(accounted + hole) {
        return hole;
    }
    if fills_a_card(accounted) {
        return 0;
    }
    if hole > 0 && fills_a_card(accounted + hole) {
        return hole;
    }
    let card = CARD_GIB.iter().find(|&&gib| gib << 30 >= accounted);
    card.map_or(0, |&gib| smallest_total(gib).saturating_sub(accounted + CONTEXT_BYTES_MAX))
}

fn smallest_total(gib: u64) -> u64 {
    (gib << 30) / 100 * (100 - CARD_SHRINK_PERCENT)
}

/// The largest stretch between two segments that no segment of any device ever filled.
fn largest_hole_bytes(case: &Case) -> u64 {
    // Expandable segments reserve more addresses than the card has memory: their gaps say nothing.
    if case.timeline.segments.iter().any(|segment| segment.expandable) {
        return 0;
    }
    let own = case.timeline.segments.iter().map(|segment| (segment.address, segment.bytes));
    let others = case.trace.devices.iter().flat_map(|device| &device.segments);
    let mut stretches: Vec<(u64, u64)> = own.chain(others.map(|segment| (segment.address, segment.bytes))).collect();
    stretches.sort_unstable();
    let mut largest = 0;
    let mut end = u64::MAX;
    for (address, bytes) in stretches {
        largest = largest.max(address.saturating_sub(end));
        let reaches = address.saturating_add(bytes);
        end = if end == u64::MAX { reaches } else { end.max(reaches) };
    }
    largest
}
