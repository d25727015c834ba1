//! What cuDNN's persistent kernels want on the card, given what they say they want without one.
//!
//! A kernel of this family (`sm90` and later: knobs for the cluster's shape) runs as many blocks as the card holds and
//! deals tiles of the result out to them. Tiles that are left over after the last full wave are cut along the sum, so
//! that every block has work; each part goes to the workspace, with counters for adding them up in pairs. cuDNN learns
//! how many blocks the card holds from the CUDA runtime and not from the card's description. Without a card it counts
//! with one cluster of 18 multiprocessors; so what it says is taken apart and put together again for the real number.
//!
//! The arithmetic was found by asking cuDNN 9.19 without a card, and held against what an H200 said of every kernel that
//! cuDNN proposed for 82 convolutions of public networks, forward and backward, in single precision, half precision and
//! bfloat16: of 10,149 that may cut tiles, 97.8 in 100 come out to the byte (`corpus/h200/extra_plan/cudnn_tiles.csv` has
//! every seventh), and the others are off by 8 MiB at most. Sums are counted in numbers, not in bytes; half precision is cut
//! as single precision is, and bfloat16 far less. Convolutions in groups were compared for 116 more shapes: a kernel that does
//! all groups deals out the tiles of all, with channels padded to a power of two; where groups have more than 256 channels,
//! each has a kernel and a part of the workspace of its own (there 131 bytes a group are sometimes too many). Where a number
//! cannot be taken apart (another version, another kind of kernel) it stays as it is; the error is then at most one tile a
//! multiprocessor, 8.25 MiB on an H200.

use std::collections::BTreeMap;
use std::ffi::c_int;

use crate::card::Card;

/// Blocks that cuDNN counts with when there is no card.
const SMS_WITHOUT_CARD: u64 = 18;
/// Clusters that an H200 runs at a time, one block a multiprocessor, by the blocks of a cluster: 1 to 16.
///
/// From `cudaOccupancyMaxActiveClusters` (`corpus/h200/extra_plan/clusters.jsonl`). A cluster lives inside one GPC, and
/// chips differ in what is switched off.
const CLUSTERS_OF_AN_H200: [u64; 16] = [132, 66, 39, 30, 22, 17, 15, 15, 9, 7, 7, 7, 7, 7, 7, 7];

/// Copies of tensors, and the parts of kernels that share a workspace, take multiples of this.
const COPIES_BYTES: u64 = 16;

/// A tile of 64 by 64.
const SMALL_TILE_BYTES: u64 = 16_384;

/// Bytes of both operands that a kernel reads in one step of the sum, by row.
pub(super) const STEP_BYTES: u64 = 128;

/// Where there is room for more parts than these, a long sum is cut into as many as that allows.
const FEW_PARTS: u64 = 8;
/// What is long, in units of 32 numbers.
const LONG_SUM: u64 = 256;
/// Each part then has more numbers than these.
const SHORTEST_PART: u64 = 1024;
/// No tile is cut into more parts.
const MOST_PARTS: u64 = 128;

const KNOB_TILE_SIZE: c_int = 2;
const KNOB_WORKSPACE: c_int = 25;
const KNOB_CLUSTER_M: c_int = 27;
const KNOB_CLUSTER_N: c_int = 28;

/// A convolution as the product of matrices that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Product {
    pub(super) rows: u64,
    pub(super) columns: u64,
    /// How often the columns come: the gradient of a filter has them once for every place of its window, and no tile
    /// reaches from one place into the next.
    pub(super) taps: u64,
    /// Steps of the sum that one block takes at a time (128 bytes of each operand).
    pub(super) steps: u64,
    /// Bytes of a number.
    pub(super) element_bytes: u64,
    pub(super) is_bfloat16: bool,
    /// How many such products one kernel does: the groups of a convolution, if it does them all.
    pub(super) together: u64,
    /// How many kernels there are, one after the other, each with a part of the workspace: one a group otherwise.
    pub(super) apart: u64,
}

/// The kernel that cuDNN chose, by its knobs.
pub(super) type Knobs = BTreeMap<c_int, i64>;

/// A workspace, and whether a card would have said the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Workspace {
    pub(super) bytes: u64,
    pub(super) is_exact: bool,
}

/// The workspace on the card, from the one that cuDNN names without it.
pub(super) fn on_card(bytes: u64, product: Option<Product>, knobs: &Knobs, card: &Card) -> Workspace {
    let may_cut = may_cut(knobs);
    match product.and_then(|product| put_together_again(bytes, product, knobs, card)) {
        Some(bytes) => Workspace { bytes, is_exact: !may_cut || has_measured_clusters(card) },
        None => Workspace { bytes, is_exact: !may_cut },
    }
}

/// Whether a kernel is of this family and may cut tiles. What others say does not depend on how many blocks run at a
/// time, but for a few bytes of counters.
fn may_cut(knobs: &Knobs) -> bool {
    knobs.contains_key(&KNOB_CLUSTER_M) && knobs.get(&KNOB_WORKSPACE) == Some(&0)
}

fn put_together_again(bytes: u64, product: Product, knobs: &Knobs, card: &Card) -> Option<u64> {
    let grid = Grid::of(product, knobs)?;
    let cluster = grid.cluster_m * grid.cluster_n;
    let scratch_bytes = |blocks| match product.apart {
        1 => grid.scratch_bytes(blocks),
        apart => apart * grid.scratch_bytes(blocks).next_multiple_of(COPIES_BYTES),
    };
    let rest = bytes.checked_sub(scratch_bytes(whole(SMS_WITHOUT_CARD, cluster)))?;
    // Copies of tensors come first, if there are any. Anything else was not taken apart rightly.
    (rest % COPIES_BYTES == 0).then(|| rest + scratch_bytes(resident_blocks(card, cluster)))
}

/// How a product is dealt out.
#[derive(Clone, Copy, Debug)]
struct Grid {
    tiles: u64,
    tile_bytes: u64,
    steps: u64,
    element_bytes: u64,
    is_bfloat16: bool,
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
        let down = product.rows.div_ceil(tile_m).next_multiple_of(cluster_m);
        let across = (product.columns.div_ceil(tile_n) * product.taps).next_multiple_of(cluster_n);
        let Product { steps, element_bytes, is_bfloat16, .. } = product;
        let tile_bytes = tile_m * tile_n * 4;
        Some(Self {
            tiles: down * across * product.together,
            tile_bytes,
            steps,
            element_bytes,
            is_bfloat16,
            cluster_m,
            cluster_n,
            is_cut,
        })
    }

    /// Parts of tiles and their counters, with so many blocks at a time.
    fn scratch_bytes(&self, blocks: u64) -> u64 {
        let left_over = self.tiles % blocks;
        let is_cut = self.is_cut && left_over > 0 && left_over <= blocks / 2;
        let parts = if is_cut { self.parts(left_over, blocks) } else { 1 };
        let many_waves = self.tiles > 2 * blocks;
        if parts == 1 {
            return if many_waves { 131 } else { 0 };
        }
        let counters = 4 * left_over * pairs(parts);
        left_over * parts * self.tile_bytes + counters + if many_waves { 163 } else { 159 }
    }

    /// Into how many parts a tile that is left over is cut.
    fn parts(&self, left_over: u64, blocks: u64) -> u64 {
        let most = blocks / left_over;
        let parts = if self.tiles > blocks {
            self.parts_after_a_wave(most)
        } else if most > FEW_PARTS && self.length() >= LONG_SUM {
            return (self.steps / (SHORTEST_PART * self.element_bytes / STEP_BYTES + 1)).clamp(1, most.min(MOST_PARTS));
        } else {
            self.parts_alone(most)
        };
        // Parts have whole steps, all but the last the same number.
        self.steps.div_ceil(self.steps.div_ceil(parts.max(1)).max(1)).max(1)
    }

    /// How long the sum is, in units of 32 numbers: the steps of single precision.
    fn length(&self) -> u64 {
        self.steps * 4 / self.element_bytes.max(1)
    }

    /// Where every tile is cut: adding up one level of pairs costs as much as some of the sum.
    fn parts_alone(&self, most: u64) -> u64 {
        let twice_level = self.slowed(match self.tile_bytes {
            0..=SMALL_TILE_BYTES => 52,
            16_385..=32_768 => 36,
            32_769..=65_536 => 28,
            _ => 23,
        });
        let cost =
            |parts: u64| 2 * self.length().div_ceil(parts) + twice_level * u64::from(parts.next_power_of_two().ilog2());
        // Of equals the one with more parts.
        (1..=most).rev().min_by_key(|parts| cost(*parts)).unwrap_or(1)
    }

    /// Where whole waves go before, which hide some of the cost.
    fn parts_after_a_wave(&self, most: u64) -> u64 {
        let pace = self.slowed(match self.tile_bytes {
            0..=SMALL_TILE_BYTES => 35,
            16_385..=32_768 => 22,
            _ => 20,
        });
        match self.length() * 20 / pace {
            0..14 => 1,
            length if length >= 5 * most + 14 => most,
            14..27 => most.min(2),
            27..42 => most.min(4),
            42..57 => most.min(8),
            _ => most.min(16),
        }
    }

    /// What takes the time of so much of a sum in single precision. Half precision is counted as that is, bfloat16 as
    /// though it were far faster.
    fn slowed(&self, length: u64) -> u64 {
        if self.is_bfloat16 { length * 23 / 3 } else { length }
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
        6 => Some((128, 256)),
        7 => Some((64, 128)),
        9 => Some((64, 256)),
        16 => Some((256, 32)),
        18 => Some((64, 192)),
        19 => Some((128, 192)),
        20 => Some((256, 96)),
        _ => None,
    }
}

fn whole(sms: u64, cluster: u64) -> u64 {
    (sms / cluster * cluster).max(1)
}

/// Whether the clusters that a card runs at a time are known, and not scaled from an H200's.
fn has_measured_clusters(card: &Card) -> bool {
    card.measured && u64::from(card.sms) == CLUSTERS_OF_AN_H200[0]
}

/// Blocks that a card runs at a time when they come in clusters, one a multiprocessor. Other cards are taken to lose as
/// many to the borders of their GPCs, in proportion, as an H200 does.
fn resident_blocks(card: &Card, cluster: u64) -> u64 {
    let place = usize::try_from(cluster).unwrap_or(usize::MAX).saturating_sub(1);
    let of_an_h200 = CLUSTERS_OF_AN_H200.get(place).copied().unwrap_or(1);
    let clusters = of_an_h200 * u64::from(card.sms) / CLUSTERS_OF_AN_H200[0];
    (clusters * cluster).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knobs(tile: i64, m: i64, n: i64) -> Knobs {
        BTreeMap::from([(KNOB_TILE_SIZE, tile), (KNOB_WORKSPACE, 0), (KNOB_CLUSTER_M, m), (KNOB_CLUSTER_N, n)])
    }

    fn exactly(bytes: u64) -> Workspace {
        Workspace { bytes, is_exact: true }
    }

    fn h200() -> &'static Card {
        &crate::card::cards()[0]
    }

    /// Convolutions of a ResNet-50 at batch 32, of a U-Net at batch 8 and of an `EfficientNet` at batch 24: copies of tensors,
    /// product, knobs, without a card, on an H200.
    #[test]
    fn workspaces_are_those_of_a_card() {
        let product = |rows, columns, taps, sum: u64| {
            let steps = sum.div_ceil(32);
            Product { rows, columns, taps, steps, element_bytes: 4, is_bfloat16: false, together: 1, apart: 1 }
        };
        let cases = [
            (15_859_728, product(512, 512, 9, 1568), knobs(0, 1, 1), 15_859_859, 21_365_247),
            (15_204_368, product(256, 256, 9, 6272), knobs(0, 1, 1), 15_204_368, 22_282_847),
            (26_279_952, product(128, 128, 9, 25_088), knobs(0, 1, 1), 27_459_795, 34_538_151),
            (51_527_696, product(64, 64, 9, 100_352), knobs(5, 1, 1), 51_822_803, 53_592_743),
            (38_535_184, product(512, 1024, 1, 6272), knobs(0, 1, 2), 38_535_184, 46_924_335),
            (77_070_352, product(1024, 512, 1, 6272), knobs(1, 1, 2), 77_070_483, 81_265_071),
            (154_140_688, product(512, 256, 1, 25_088), knobs(0, 1, 2), 155_189_455, 162_529_935),
            (16_056_336, product(2048, 512, 1, 1568), knobs(1, 1, 2), 16_515_307, 16_056_336),
            (64_815_120, product(25_088, 128, 1, 1152), knobs(0, 8, 1), 65_863_891, 64_815_120),
            (25_493_520, product(1568, 512, 1, 4608), knobs(9, 4, 1), 26_542_291, 32_833_935),
            (77_070_352, product(6272, 1024, 1, 512), knobs(0, 1, 2), 77_070_483, 77_070_483),
            (16_056_336, product(1568, 2048, 1, 512), knobs(0, 1, 4), 16_056_467, 16_056_336),
            (16_056_336, product(1568, 512, 1, 2048), knobs(1, 1, 3), 16_646_359, 16_056_336),
            (18_001_936, product(10_952, 128, 1, 2304), knobs(3, 4, 1), 18_002_067, 29_536_607),
            (24_789_008, product(10_952, 256, 1, 2304), knobs(3, 1, 2), 24_789_139, 24_789_008),
            (18_001_936, product(10_952, 256, 1, 1152), knobs(9, 4, 1), 18_002_067, 24_818_047),
            (70_299_664, product(45_000, 128, 1, 2304), knobs(0, 8, 1), 70_299_795, 70_299_795),
            (34_168_848, product(256, 512, 1, 10_952), knobs(1, 1, 2), 34_168_848, 38_363_759),
            (138_534_928, product(64, 128, 9, 180_000), knobs(7, 1, 2), 138_534_928, 142_795_487),
            (29_233_168, product(192, 48, 9, 18_816), knobs(4, 1, 2), 29_233_168, 37_753_567),
            (24_674_320, product(18_816, 64, 1, 2304), knobs(1, 5, 1), 24_674_451, 27_296_079),
            (7_225_360, product(1176, 256, 1, 1280), knobs(1, 1, 3), 7_815_419, 7_225_360),
            (13_500_432, product(3136, 256, 1, 6912), knobs(3, 1, 2), 15_597_775, 27_132_391),
            (7_274_512, product(256, 256, 9, 2400), knobs(0, 1, 1), 7_274_512, 11_993_407),
        ];
        for (copies, product, knobs, without, with) in cases {
            let grid = Grid::of(product, &knobs).unwrap();
            let cluster = grid.cluster_m * grid.cluster_n;
            assert_eq!(copies + grid.scratch_bytes(whole(SMS_WITHOUT_CARD, cluster)), without, "{product:?}");
            assert_eq!(on_card(without, Some(product), &knobs, h200()), exactly(with), "{product:?}");
        }
    }

    /// Convolutions of `SiamFC` in two groups: 192 channels are padded to 256 and 48 to 64.
    #[test]
    fn so_are_those_of_groups() {
        let in_two = |rows, columns, taps, steps| Product {
            together: 2,
            apart: 1,
            rows,
            columns,
            taps,
            steps,
            element_bytes: 4,
            is_bfloat16: false,
        };
        for (product, knobs, without, with) in [
            (in_two(512, 256, 1, 72), knobs(9, 4, 1), 7_405_584, 11_600_239),
            (in_two(288, 256, 1, 72), knobs(9, 4, 1), 6_357_008, 10_551_663),
            (in_two(128, 64, 25, 703), knobs(0, 1, 2), 52_904_083, 59_720_063),
        ] {
            assert_eq!(on_card(without, Some(product), &knobs, h200()), exactly(with), "{product:?}");
        }
        // A kernel for each: the parts of both begin at multiples of 16 bytes.
        let apart = Product { together: 1, apart: 2, ..in_two(512, 512, 9, 49) };
        let (without, with) = (15_859_728 + 2 * 144, 15_859_728 + 2 * 5_505_520);
        assert_eq!(on_card(without, Some(apart), &knobs(0, 1, 1), h200()), exactly(with));
    }

    /// In bfloat16 with the channels last nothing is copied: convolutions of a ResNet-152 at batch 16.
    #[test]
    fn so_are_those_in_half_precision() {
        let product = |rows, columns, taps, sum: u64| {
            let steps = sum.div_ceil(64);
            Product { rows, columns, taps, steps, element_bytes: 2, is_bfloat16: true, together: 1, apart: 1 }
        };
        for (product, knobs, without, with) in [
            (product(64, 64, 9, 50_176), knobs(5, 1, 3), 295_107, 1_917_591),
            (product(128, 128, 9, 12_544), knobs(5, 2, 4), 262_339, 0),
            (product(12_544, 128, 1, 1152), knobs(0, 1, 1), 131, 0),
            (product(3136, 256, 1, 2304), knobs(1, 1, 4), 131, 0),
            (product(256, 256, 9, 3136), knobs(1, 1, 3), 131, 0),
            (product(1024, 512, 1, 3136), knobs(7, 1, 4), 131, 0),
        ] {
            assert_eq!(on_card(without, Some(product), &knobs, h200()), exactly(with), "{product:?}");
        }
    }

    /// Kernels that cuDNN proposed for convolutions of public networks.
    #[test]
    fn nearly_all_that_a_card_was_asked_about_are_exact() {
        let (mut exact, mut all) = (0, 0);
        for line in include_str!("../../../../corpus/h200/extra_plan/cudnn_tiles.csv").lines().skip(1) {
            let numbers: Vec<u64> = line.split(',').map(|number| number.parse().unwrap()).collect();
            let [rows, columns, taps, steps, element_bytes, bfloat, together, apart, tile, m, n, without, with] =
                numbers[..]
            else {
                panic!("{line}");
            };
            let is_bfloat16 = bfloat == 1;
            let product = Product { rows, columns, taps, steps, element_bytes, is_bfloat16, together, apart };
            let knobs = knobs(tile.cast_signed(), m.cast_signed(), n.cast_signed());
            let bytes = on_card(without, Some(product), &knobs, h200()).bytes;
            // One tile for each multiprocessor.
            assert!(bytes.abs_diff(with) <= 132 * 65_536, "{line}: {bytes}");
            all += 1;
            exact += u64::from(bytes == with);
        }
        assert!(all == 1500 && 1000 * exact >= 975 * all, "{exact} of {all}");
    }

    #[test]
    fn clusters_are_those_that_were_measured() {
        for line in include_str!("../../../../corpus/h200/extra_plan/clusters.jsonl").lines() {
            let measured: serde_json::Value = serde_json::from_str(line).unwrap();
            let number = |name: &str| measured[name].as_u64();
            // With less shared memory two blocks share a multiprocessor; kernels of this family want most of it.
            if let (Some(bytes), Some(m), Some(n)) =
                (number("shared_memory_bytes"), number("cluster_m"), number("cluster_n"))
                && bytes > 128 << 10
            {
                assert_eq!(
                    Some(resident_blocks(h200(), m * n)),
                    number("clusters").map(|count| count * m * n),
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_taken_apart_stays() {
        let product = Some(Product {
            rows: 128,
            columns: 128,
            taps: 1,
            steps: 100,
            element_bytes: 4,
            is_bfloat16: false,
            together: 1,
            apart: 1,
        });
        let roughly = Workspace { bytes: 1001, is_exact: false };
        assert_eq!(on_card(1001, product, &knobs(0, 1, 1), h200()), roughly);
        assert_eq!(on_card(1001, product, &knobs(99, 1, 1), h200()), roughly);
        assert_eq!(on_card(1001, None, &knobs(0, 1, 1), h200()), roughly, "no convolution");
        assert_eq!(on_card(1001, product, &Knobs::new(), h200()), exactly(1001), "another kind of kernel");
    }

    #[test]
    fn other_cards_are_estimated() {
        let product = Product {
            rows: 512,
            columns: 512,
            taps: 9,
            steps: 49,
            element_bytes: 4,
            is_bfloat16: false,
            together: 1,
            apart: 1,
        };
        let other = Card { measured: false, ..h200().clone() };
        let on_other = on_card(15_859_859, Some(product), &knobs(0, 1, 1), &other);
        assert_eq!(on_other, Workspace { bytes: 21_365_247, is_exact: false });
    }
}
