//! What cuDNN's persistent kernels want on the card, given what they say they want without one.
//!
//! A kernel of this family (`sm90` and later: knobs for the cluster's shape) runs as many blocks as the card holds and
//! deals tiles of the result out to them. Tiles that are left over after the last full wave are cut along the sum, so
//! that every block has work; each part goes to the workspace, with counters for adding them up in pairs. cuDNN learns
//! how many blocks the card holds from the CUDA runtime and not from the card's description. Without a card it counts
//! with one cluster of 18 multiprocessors; so what it says is taken apart and put together again for the real number.
//!
//! The arithmetic was found by asking cuDNN 9.19 without a card (about 4000 shapes) and agrees to the byte with what an
//! H200 gave to 31 convolutions of a ResNet-50. Where a number cannot be taken apart (another version, another kind
//! of kernel) it stays as it is; the error is then at most one tile a multiprocessor, 8.25 MiB on an H200.

use std::collections::BTreeMap;
use std::ffi::c_int;

use crate::card::Card;

/// Blocks that cuDNN counts with when there is no card.
const SMS_WITHOUT_CARD: u64 = 18;
/// Multiprocessors of a cluster's home on the card, at most.
const SMS_PER_GPC: u64 = 18;

const KNOB_TILE_SIZE: c_int = 2;
const KNOB_WORKSPACE: c_int = 25;
const KNOB_CLUSTER_M: c_int = 27;
const KNOB_CLUSTER_N: c_int = 28;

/// A convolution as the product of matrices that it is: rows, columns and length of the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Product {
    pub(super) m: u64,
    pub(super) n: u64,
    /// Steps of the sum that one block takes at a time (128 bytes of each operand).
    pub(super) steps: u64,
}

/// The kernel that cuDNN chose, by its knobs.
pub(super) type Knobs = BTreeMap<c_int, i64>;

/// The workspace on the card, from the one that cuDNN names without it.
pub(super) fn on_card(bytes: u64, product: Product, knobs: &Knobs, card: &Card) -> u64 {
    let Some(grid) = Grid::of(product, knobs) else { return bytes };
    let cluster = grid.cluster_m * grid.cluster_n;
    let Some(rest) = bytes.checked_sub(grid.scratch_bytes(whole(SMS_WITHOUT_CARD, cluster))) else { return bytes };
    // Copies of tensors come first, in multiples of 16 bytes. Anything else was not taken apart rightly.
    if rest % 16 != 0 {
        return bytes;
    }
    rest + grid.scratch_bytes(resident_blocks(card, cluster))
}

/// How a product is dealt out.
#[derive(Clone, Copy, Debug)]
struct Grid {
    tiles: u64,
    tile_bytes: u64,
    steps: u64,
    cluster_m: u64,
    cluster_n: u64,
    /// Whether tiles may be cut: some kernels of the family never do.
    is_cut: bool,
}

impl Grid {
    fn of(product: Product, knobs: &Knobs) -> Option<Self> {
        let knob = |name| knobs.get(&name).and_then(|value| u64::try_from(*value).ok());
        let is_cut = knob(KNOB_WORKSPACE)? == 0;
        let (cluster_m, cluster_n) = (knob(KNOB_CLUSTER_M)?.max(1), knob(KNOB_CLUSTER_N)?.max(1));
        let (tile_m, tile_n) = tile(knob(KNOB_TILE_SIZE)?)?;
        let tiles = product.m.div_ceil(tile_m).next_multiple_of(cluster_m)
            * product.n.div_ceil(tile_n).next_multiple_of(cluster_n);
        Some(Self { tiles, tile_bytes: tile_m * tile_n * 4, steps: product.steps, cluster_m, cluster_n, is_cut })
    }

    /// Parts of tiles and their counters, with so many blocks at a time.
    fn scratch_bytes(&self, blocks: u64) -> u64 {
        let left_over = self.tiles % blocks;
        let is_cut = self.is_cut && left_over > 0 && left_over <= blocks / 2;
        let parts = if is_cut { self.parts(left_over, blocks) } else { 1 };
        let many_waves = self.tiles > 2 * blocks;
        if parts == 1 {
            return if many_waves { 147 } else { 16 };
        }
        let counters = 4 * left_over * pairs(parts);
        left_over * parts * self.tile_bytes + counters + if many_waves { 179 } else { 175 }
    }

    /// Into how many parts a tile that is left over is cut.
    fn parts(&self, left_over: u64, blocks: u64) -> u64 {
        let most = blocks / left_over;
        let parts = if self.tiles > blocks { self.parts_after_a_wave(most) } else { self.parts_alone(most) };
        // Parts have whole steps, all but the last the same number.
        self.steps.div_ceil(self.steps.div_ceil(parts.max(1)).max(1)).max(1)
    }

    /// Where every tile is cut: adding up one level of pairs costs as much as 14 steps, and a part of a long sum has
    /// at least 35.
    fn parts_alone(&self, most: u64) -> u64 {
        if self.steps > 256 {
            return self.steps.div_ceil(35).min(most);
        }
        let cost = |parts: u64| self.steps.div_ceil(parts) + 14 * u64::from(parts.next_power_of_two().ilog2());
        // Of equals the one with more parts.
        (1..=most).rev().min_by_key(|parts| cost(*parts)).unwrap_or(1)
    }

    /// Where whole waves go before, which hide some of the cost.
    fn parts_after_a_wave(&self, most: u64) -> u64 {
        match self.steps {
            0..14 => 1,
            steps if steps >= 5 * most + 14 => most,
            14..27 => most.min(2),
            27..42 => most.min(4),
            42..57 => most.min(8),
            _ => most.min(16),
        }
    }
}

/// Counters for adding so many parts up in pairs, level by level.
fn pairs(mut parts: u64) -> u64 {
    let mut sum = 0;
    while parts > 1 {
        parts = parts.div_ceil(2);
        sum += parts;
    }
    sum
}

/// Rows and columns of a tile, by the knob's value.
fn tile(knob: u64) -> Option<(u64, u64)> {
    match knob {
        0 => Some((128, 128)),
        1 => Some((128, 64)),
        3 => Some((256, 128)),
        4 => Some((256, 64)),
        5 => Some((64, 64)),
        7 => Some((64, 128)),
        9 => Some((64, 256)),
        _ => None,
    }
}

fn whole(sms: u64, cluster: u64) -> u64 {
    (sms / cluster * cluster).max(1)
}

/// Blocks that a card runs at a time when they come in clusters, one a multiprocessor.
///
/// A cluster lives inside one GPC, and GPCs differ: those of a card have up to 18 multiprocessors, less those that are
/// switched off, in pairs. An H200 with 132 ran 30 clusters of 4 and 15 (or 16) of 8, as if of the 12 that are missing
/// from 8 GPCs one lacked eight and two lacked two. Other cards are taken to lack theirs in the same proportion.
fn resident_blocks(card: &Card, cluster: u64) -> u64 {
    let sms = u64::from(card.sms);
    let gpcs = sms.div_ceil(SMS_PER_GPC).max(1);
    let missing = gpcs * SMS_PER_GPC - sms;
    let of_one = (missing * 2 / 3).next_multiple_of(2).min(missing);
    let lack_two = ((missing - of_one) / 2).min(gpcs - 1);
    let blocks = whole_clusters(SMS_PER_GPC - of_one, cluster)
        + lack_two * whole_clusters(SMS_PER_GPC - 2, cluster)
        + (gpcs - 1 - lack_two) * whole_clusters(SMS_PER_GPC, cluster);
    blocks.max(1)
}

fn whole_clusters(sms: u64, cluster: u64) -> u64 {
    sms / cluster * cluster
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knobs(tile: i64, m: i64, n: i64) -> Knobs {
        BTreeMap::from([(KNOB_TILE_SIZE, tile), (KNOB_WORKSPACE, 0), (KNOB_CLUSTER_M, m), (KNOB_CLUSTER_N, n)])
    }

    fn h200() -> &'static Card {
        &crate::card::cards()[0]
    }

    /// Convolutions of a ResNet-50 at batch 32 and of a U-Net at batch 8: copies of tensors, product, knobs, without a card, on an H200.
    #[test]
    fn workspaces_are_those_of_a_card() {
        let product = |m, n, sum: u64| Product { m, n, steps: sum.div_ceil(32) };
        let cases = [
            (15_859_712, product(512, 4608, 1568), knobs(0, 1, 1), 15_859_859, 21_365_247),
            (15_204_352, product(256, 2304, 6272), knobs(0, 1, 1), 15_204_368, 22_282_847),
            (26_279_936, product(128, 1152, 25_088), knobs(0, 1, 1), 27_459_795, 34_538_151),
            (51_527_680, product(64, 576, 100_352), knobs(5, 1, 1), 51_822_803, 53_592_743),
            (38_535_168, product(512, 1024, 6272), knobs(0, 1, 2), 38_535_184, 46_924_335),
            (77_070_336, product(1024, 512, 6272), knobs(1, 1, 2), 77_070_483, 81_265_071),
            (154_140_672, product(512, 256, 25_088), knobs(0, 1, 2), 155_189_455, 162_529_935),
            (16_056_320, product(2048, 512, 1568), knobs(1, 1, 2), 16_515_307, 16_056_336),
            (64_815_104, product(25_088, 128, 1152), knobs(0, 8, 1), 65_863_891, 64_815_120),
            (25_493_504, product(1568, 512, 4608), knobs(9, 4, 1), 26_542_291, 32_833_935),
            (77_070_336, product(6272, 1024, 512), knobs(0, 1, 2), 77_070_483, 77_070_483),
            (16_056_320, product(1568, 2048, 512), knobs(0, 1, 4), 16_056_467, 16_056_336),
            (16_056_320, product(1568, 512, 2048), knobs(1, 1, 3), 16_646_359, 16_056_336),
            (18_001_920, product(10_952, 128, 2304), knobs(3, 4, 1), 18_002_067, 29_536_607),
            (24_788_992, product(10_952, 256, 2304), knobs(3, 1, 2), 24_789_139, 24_789_008),
            (18_001_920, product(10_952, 256, 1152), knobs(9, 4, 1), 18_002_067, 24_818_047),
            (70_299_648, product(45_000, 128, 2304), knobs(0, 8, 1), 70_299_795, 70_299_795),
            (34_168_832, product(256, 512, 10_952), knobs(1, 1, 2), 34_168_848, 38_363_759),
            (138_534_912, product(64, 1152, 180_000), knobs(7, 1, 2), 138_534_928, 142_795_487),
        ];
        for (copies, product, knobs, without, with) in cases {
            let grid = Grid::of(product, &knobs).unwrap();
            let cluster = grid.cluster_m * grid.cluster_n;
            assert_eq!(copies + grid.scratch_bytes(whole(SMS_WITHOUT_CARD, cluster)), without, "{product:?}");
            assert_eq!(on_card(without, product, &knobs, h200()), with, "{product:?}");
        }
    }

    #[test]
    fn what_cannot_be_taken_apart_stays() {
        let product = Product { m: 128, n: 128, steps: 100 };
        assert_eq!(on_card(1001, product, &knobs(0, 1, 1), h200()), 1001);
        assert_eq!(on_card(1001, product, &Knobs::new(), h200()), 1001);
        assert_eq!(on_card(1001, product, &knobs(99, 1, 1), h200()), 1001);
    }
}
