//! `cudaDeviceProp`, as CUDA 12 and CUDA 13 lay it out.
//!
//! Both are written down field by field into bytes: 13 left some fields out, and the rest moved up.

use crate::attribute;
use crate::card::{self, Card};

/// Sizes of the structure: what a caller has room for.
pub(crate) const BYTES_12: usize = 1032;
pub(crate) const BYTES_13: usize = 1008;

/// Bytes that grow by fields as a C compiler lays them out.
struct Layout(Vec<u8>);

impl Layout {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn int(&mut self, value: i32) {
        self.align(4);
        self.bytes(&value.to_ne_bytes());
    }

    fn size(&mut self, value: u64) {
        self.align(8);
        self.bytes(&value.to_ne_bytes());
    }

    fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }
}

/// The properties of a device, as a program of CUDA 13 (or 12) expects them.
pub(crate) fn of(card: &Card, device: u32, is_13: bool) -> Vec<u8> {
    let index = card::installed_index(device).unwrap_or(0);
    let get = |number: i32| attribute::value(card, device, number).unwrap_or(0);
    let put_ints = |layout: &mut Layout, numbers: &[i32]| numbers.iter().for_each(|&number| layout.int(get(number)));
    let only_12 = |layout: &mut Layout, number: i32| {
        if !is_13 {
            layout.int(get(number));
        }
    };
    let mut out = Layout(Vec::with_capacity(BYTES_12));
    let mut name = [0_u8; 256];
    for (to, from) in name[..255].iter_mut().zip(card.title.bytes()) {
        *to = from;
    }
    out.bytes(&name);
    out.bytes(&card::uuid(index));
    out.bytes(&[0; 8]); // luid
    out.int(0); // luidDeviceNodeMask
    out.size(card.memory_bytes);
    out.size(card.shared_memory_per_block_bytes());
    put_ints(&mut out, &[12, 10]);
    out.size(get(11) as u64); // memPitch
    put_ints(&mut out, &[1, 2, 3, 4, 5, 6, 7]);
    only_12(&mut out, 13); // clockRate
    out.size(get(9) as u64); // totalConstMem
    put_ints(&mut out, &[75, 76]);
    out.size(get(14) as u64); // textureAlignment
    out.size(get(51) as u64); // texturePitchAlignment
    only_12(&mut out, 15); // deviceOverlap
    out.int(get(16));
    only_12(&mut out, 17); // kernelExecTimeoutEnabled
    put_ints(&mut out, &[18, 19]);
    only_12(&mut out, 20); // computeMode
    put_ints(&mut out, &[21, 77]);
    only_12(&mut out, 69); // maxTexture1DLinear
    let textures = [22, 23, 73, 74, 70, 71, 72, 45, 46, 24, 25, 26, 47, 48, 49, 52, 42, 43, 27, 28, 29, 53, 54];
    put_ints(&mut out, &textures);
    put_ints(&mut out, &[55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68]); // surfaces
    out.size(get(30) as u64); // surfaceAlignment
    put_ints(&mut out, &[31, 32, 33, 34, 50, 35, 40, 41]);
    only_12(&mut out, 36); // memoryClockRate
    put_ints(&mut out, &[37, 38, 108, 39, 78, 79, 80]);
    out.size(card.shared_memory_per_sm_bytes);
    put_ints(&mut out, &[82, 83, 84, 85, 86]);
    only_12(&mut out, 87); // singleToDoublePrecisionPerfRatio
    put_ints(&mut out, &[88, 89, 90, 91, 95]);
    only_12(&mut out, 96); // cooperativeMultiDeviceLaunch
    out.size(card.shared_memory_per_block_optin_bytes);
    put_ints(&mut out, &[100, 101, 106, 109]);
    out.size(card.reserved_shared_memory_per_block_bytes());
    put_ints(&mut out, &[99, 112, 113, 114, 115, 116, 117, 118, 119, 121, 125, 120, 129]);
    if is_13 {
        put_ints(&mut out, &[130, 131, 133, 134, 139, 140, 143]);
    }
    out.0.resize(if is_13 { BYTES_13 } else { BYTES_12 }, 0);
    out.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int_at(bytes: &[u8], at: usize) -> i32 {
        i32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    fn size_at(bytes: &[u8], at: usize) -> u64 {
        u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    /// Offsets as `offsetof` gives them for the headers of CUDA 12.4 to 12.8 and of CUDA 13.0 to 13.2.
    #[test]
    fn fields_stand_where_the_headers_put_them() {
        let card = &card::installed()[0];
        let (old, new) = (of(card, 0, false), of(card, 0, true));
        assert_eq!((old.len(), new.len()), (BYTES_12, BYTES_13));
        for (bytes, offsets) in [
            (&old, [308, 360, 388, 584, 616, 624, 648, 712, 772]),
            (&new, [308, 360, 384, 568, 596, 604, 632, 688, 748]),
        ] {
            let found = offsets.map(|at| int_at(bytes, at));
            assert_eq!(found, [32, 9, 132, 1, 60 << 20, 2048, 65_536, 32, 1]);
        }
        for (bytes, offsets) in [(&old, [288, 352, 640, 696, 720]), (&new, [288, 352, 624, 672, 696])] {
            let found = offsets.map(|at| size_at(bytes, at));
            assert_eq!(found, [card.memory_bytes, 65_536, 233_472, 232_448, 1024]);
        }
        assert!(old.starts_with(b"NVIDIA H200\0"));
    }
}
