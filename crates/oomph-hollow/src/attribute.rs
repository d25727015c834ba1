//! What a card says about itself, by the numbers that `cudaDeviceAttr` and `CUdevice_attribute` share.

use crate::card::{self, Card};

/// The value of an attribute of a device; none for a number that is not one.
#[expect(clippy::match_same_arms, reason = "by number, as the manual lists them")]
pub(crate) fn value(card: &Card, device: u32, attribute: i32) -> Option<i32> {
    let value = match attribute {
        1..=12 => block_and_grid(card, attribute),
        13 => int(card.clock_khz),
        14 => 512,
        16 => int(card.sms),
        15 | 19 | 31 | 41 | 44 => 1,
        // ECC: cards with stacked memory have it on.
        32 => i32::from(card.memory_bus_bits > 512),
        33 => int(card::installed_index(device).map_or(0, card::pci_bus)),
        36 => int(card.memory_clock_khz),
        37 => int(card.memory_bus_bits),
        38 => int(card.l2_bytes),
        39 => int(card.max_threads_per_sm),
        40 => 3,
        21..=30 | 42 | 43 | 45..=49 | 51..=74 | 77 => texture(attribute),
        75 => int(card.compute_capability.major),
        76 => int(card.compute_capability.minor),
        // Stream priorities, L1 caches, managed memory, its concurrent access, preemption, host pointers.
        78..=80 | 83 | 89..=91 => 1,
        81 => int(card.shared_memory_per_sm_bytes),
        82 => int(card.registers_per_sm),
        87 => {
            if is_data_centre(card) {
                2
            } else {
                64
            }
        }
        // Stream memory operations, cooperative launch.
        92..=96 => 1,
        97 => int(card.shared_memory_per_block_optin_bytes),
        // Flush of remote writes, registered host memory.
        98 | 99 => 1,
        // Virtual memory management, and handing it over as a file descriptor.
        102 | 103 => 1,
        106 => int(card.max_blocks_per_sm),
        107 => i32::from(card.compute_capability.major >= 8),
        108 => int(card.l2_bytes / 16 * 10),
        109 => 128 << 20,
        111 => int(card.reserved_shared_memory_per_block_bytes()),
        // Sparse arrays, read-only registration, timeline semaphores, memory pools.
        112..=115 => 1,
        // Handles that pools can be shared by: a file descriptor.
        119 => 1,
        120 => i32::from(card.compute_capability.major >= 9),
        121..=123 | 125 => 1,
        126 => {
            if card.compute_capability.major >= 9 {
                4
            } else {
                1
            }
        }
        127 => i32::from(card.compute_capability.major >= 9),
        129 => 1,
        131 => -1,
        // What these cards do not have: exec timeouts, integrated memory, compute modes, other PCI parts, TCC, boards
        // with several GPUs, native atomics, host page tables, RDMA, NUMA, multicast, MPS and what came after.
        17
        | 18
        | 20
        | 34
        | 35
        | 50
        | 84..=86
        | 88
        | 100
        | 101
        | 104
        | 105
        | 110
        | 116..=118
        | 124
        | 128
        | 130
        | 132..=148 => 0,
        _ => return None,
    };
    Some(value)
}

fn int(value: impl Into<u64>) -> i32 {
    i32::try_from(value.into()).unwrap_or(i32::MAX)
}

fn is_data_centre(card: &Card) -> bool {
    matches!((card.compute_capability.major, card.compute_capability.minor), (7..=10, 0))
}

#[expect(clippy::match_same_arms, reason = "by number, as the manual lists them")]
fn block_and_grid(card: &Card, attribute: i32) -> i32 {
    match attribute {
        1..=3 => 1024,
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65_535,
        8 => int(card.shared_memory_per_block_bytes()),
        9 => 65_536,
        10 => 32,
        11 => i32::MAX,
        _ => 65_536,
    }
}

/// The limits of textures and surfaces: the same for all cards since Pascal.
#[expect(clippy::match_same_arms, reason = "by number, as the manual lists them")]
fn texture(attribute: i32) -> i32 {
    match attribute {
        21 => 131_072,
        22 | 24..=26 | 45 | 46 | 73 | 74 => 32_768 >> i32::from((24..=26).contains(&attribute)),
        23 => 65_536,
        27 | 28 | 42 | 55 | 58..=61 | 63 | 64 | 66 | 67 | 52 | 53 | 77 => 32_768,
        29 | 43 | 62 | 65 => 2048,
        30 => 512,
        47 | 48 => 8192,
        49 => 32_768,
        51 => 32,
        54 | 68 => 2046,
        56 => 131_072,
        57 | 71 => 65_000,
        69 => 268_435_456,
        70 => 131_072,
        72 => 2_097_120,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_come_from_the_card() {
        let card = &card::installed()[0];
        assert_eq!(value(card, 0, 16), Some(132));
        assert_eq!(value(card, 0, 75), Some(9));
        assert_eq!(value(card, 0, 97), Some(232_448));
        assert_eq!(value(card, 0, 8), Some(49_152));
        assert_eq!(value(card, 0, 10), Some(32));
        assert_eq!(value(card, 0, 9999), None);
    }
}
