//! Kernels: what programs register, and what is known of one without a card.
//!
//! Modelled: the architecture that a kernel was compiled for, read from the fat binary it came in, since code on the
//! host (CUB) chooses by it; limits of a launch; occupancy from the card's properties.
//! Not modelled: registers and shared memory of each kernel. All are taken to use [`REGISTERS`] registers a thread and
//! no static shared memory.

use std::collections::BTreeMap;

use crate::card::Card;
use crate::fault::{Fault, Outcome};
use crate::lock::Guarded;
use crate::memory;

/// Registers a thread, taken for every kernel.
pub(crate) const REGISTERS: u32 = 32;
/// The most threads of a block.
pub(crate) const MAX_THREADS: u32 = 1024;

static KERNELS: Guarded<Kernels> = Guarded::new(Kernels::new());

struct Kernels {
    /// Host functions and the fat binaries they came in, in the order of registration until someone asks.
    functions: Vec<(usize, usize)>,
    is_sorted: bool,
    /// Variables by their host address: bytes, and where they lie once someone has asked.
    variables: BTreeMap<usize, (u64, Option<u64>)>,
    /// Dynamic shared memory that programs asked for, by kernel.
    shared_bytes: BTreeMap<usize, u32>,
}

impl Kernels {
    const fn new() -> Self {
        Self { functions: Vec::new(), is_sorted: true, variables: BTreeMap::new(), shared_bytes: BTreeMap::new() }
    }
}

/// Notes that a host function stands for a kernel of a fat binary. Libraries register tens of thousands when they are
/// loaded, so this must cost next to nothing.
pub(crate) fn register(function: usize, fat_binary: usize) {
    let mut kernels = KERNELS.lock();
    kernels.functions.push((function, fat_binary));
    kernels.is_sorted = false;
}

/// Notes a variable of `bytes` on the device.
pub(crate) fn register_variable(variable: usize, bytes: u64) {
    KERNELS.lock().variables.insert(variable, (bytes, None));
}

/// Where a variable lies, and its bytes.
pub(crate) fn variable(variable: usize, device: u32) -> Outcome<(u64, u64)> {
    let (bytes, known) = KERNELS.lock().variables.get(&variable).copied().ok_or(Fault(13))?;
    if let Some(address) = known {
        return Ok((address, bytes));
    }
    // Part of the loaded module, so of the context: it has an address and costs nothing.
    let address = memory::import(device, bytes.max(1))?;
    KERNELS.lock().variables.insert(variable, (bytes, Some(address)));
    Ok((address, bytes))
}

fn fat_binary_of(function: usize) -> Option<usize> {
    let mut kernels = KERNELS.lock();
    if !kernels.is_sorted {
        kernels.functions.sort_unstable();
        kernels.is_sorted = true;
    }
    let at = kernels.functions.partition_point(|&(known, _)| known < function);
    kernels.functions.get(at).filter(|(known, _)| *known == function).map(|&(_, fat_binary)| fat_binary)
}

/// The architecture whose code a card runs for a kernel, such as 90; the card's own if that cannot be told.
pub(crate) fn architecture(card: &Card, function: usize) -> u32 {
    let own = card.compute_capability.major * 10 + card.compute_capability.minor;
    let Some(fat_binary) = fat_binary_of(function) else { return own };
    // SAFETY: registered as a fat binary, which stays as long as its library.
    let images = unsafe { images(fat_binary as *const u32) };
    let newest = |kind: u16| images.iter().filter(|image| image.0 == kind && image.1 <= own).map(|image| image.1).max();
    newest(ELF).filter(|found| found / 10 == own / 10).or_else(|| newest(PTX)).unwrap_or(own)
}

const WRAPPER_MAGIC: u32 = 0x4662_43b1;
const FAT_BINARY_MAGIC: u32 = 0xba55_ed50;
const PTX: u16 = 1;
const ELF: u16 = 2;
/// No compiler puts more images into one fat binary; a limit for ones that are not what they seem.
const MAX_IMAGES: usize = 64;

/// Kind and architecture of every image in a fat binary.
///
/// # Safety
///
/// `wrapper` is null or points to what a compiler gives `__cudaRegisterFatBinary`.
unsafe fn images(wrapper: *const u32) -> Vec<(u16, u32)> {
    let mut found = Vec::new();
    // SAFETY: a wrapper begins with its magic number, a version and the address of the fat binary.
    let data: *const u8 = unsafe {
        if wrapper.is_null() || wrapper.read_unaligned() != WRAPPER_MAGIC {
            return found;
        }
        wrapper.add(2).cast::<*const u8>().read_unaligned()
    };
    // SAFETY: a fat binary begins with its magic number, the size of its header (16) and that of all its images.
    let (magic, header_bytes, bytes) = unsafe {
        if data.is_null() {
            return found;
        }
        let word = |at: usize| data.add(at);
        (
            word(0).cast::<u32>().read_unaligned(),
            word(6).cast::<u16>().read_unaligned() as usize,
            word(8).cast::<u64>().read_unaligned() as usize,
        )
    };
    if magic != FAT_BINARY_MAGIC {
        return found;
    }
    let (mut at, end) = (header_bytes, header_bytes.saturating_add(bytes));
    while at + 32 <= end && found.len() < MAX_IMAGES {
        // SAFETY: an image begins with a header of at least 32 bytes, inside the fat binary's size.
        let (kind, image_header_bytes, image_bytes, architecture) = unsafe {
            let word = |offset: usize| data.add(at + offset);
            (
                word(0).cast::<u16>().read_unaligned(),
                word(4).cast::<u32>().read_unaligned() as usize,
                word(8).cast::<u64>().read_unaligned() as usize,
                word(28).cast::<u32>().read_unaligned(),
            )
        };
        found.push((kind, architecture));
        match at.checked_add(image_header_bytes.saturating_add(image_bytes)) {
            Some(next) if next > at => at = next,
            _ => break,
        }
    }
    found
}

/// The dynamic shared memory that a kernel may have: what the program asked for, or what every block gets.
pub(crate) fn dynamic_shared_bytes(card: &Card, function: usize) -> u32 {
    let asked = KERNELS.lock().shared_bytes.get(&function).copied();
    asked.unwrap_or(card.shared_memory_per_block_bytes() as u32)
}

/// A kernel asks for more dynamic shared memory than every block gets.
pub(crate) fn set_dynamic_shared_bytes(card: &Card, function: usize, bytes: i32) -> Outcome {
    let bytes = u32::try_from(bytes).map_err(|_| Fault::INVALID_VALUE)?;
    if u64::from(bytes) > card.shared_memory_per_block_optin_bytes {
        return Err(Fault::INVALID_VALUE);
    }
    KERNELS.lock().shared_bytes.insert(function, bytes);
    Ok(())
}

/// Whether a grid and a block can be launched at all.
pub(crate) fn check_launch(grid: [u32; 3], block: [u32; 3], shared_bytes: usize) -> Outcome {
    let threads = block.iter().fold(1_u64, |product, &side| product.saturating_mul(u64::from(side)));
    let blocks_fit = grid.iter().all(|&side| side > 0) && grid[1] <= 65_535 && grid[2] <= 65_535;
    let threads_fit = (1..=u64::from(MAX_THREADS)).contains(&threads) && block[2] <= 64;
    // No card has more shared memory than this for a block.
    let shared_fits = shared_bytes <= 1 << 20;
    if blocks_fit && threads_fit && shared_fits { Ok(()) } else { Err(Fault::INVALID_CONFIGURATION) }
}

/// How many blocks of a kernel a multiprocessor holds at a time.
pub(crate) fn blocks_per_sm(card: &Card, threads: u32, shared_bytes: u64) -> u32 {
    if threads == 0 || threads > MAX_THREADS {
        return 0;
    }
    let warps = threads.div_ceil(32);
    let by_threads = card.max_threads_per_sm / 32 / warps;
    // Registers are given by warp, 256 at a time.
    let by_registers = card.registers_per_sm / ((REGISTERS * 32).next_multiple_of(256) * warps);
    let a_block = (shared_bytes + card.reserved_shared_memory_per_block_bytes()).next_multiple_of(128);
    let by_shared = card.shared_memory_per_sm_bytes.checked_div(a_block).unwrap_or(u64::MAX);
    card.max_blocks_per_sm.min(by_threads).min(by_registers).min(u32::try_from(by_shared).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::installed;

    #[test]
    fn occupancy_follows_from_the_scarcest_resource() {
        let card = &installed()[0];
        assert_eq!(blocks_per_sm(card, 32, 0), 32, "blocks");
        assert_eq!(blocks_per_sm(card, 128, 0), 16, "threads");
        assert_eq!(blocks_per_sm(card, 1024, 0), 2, "threads");
        assert_eq!(blocks_per_sm(card, 128, 100 << 10), 2, "shared memory");
        assert_eq!(blocks_per_sm(card, 128, 227 << 10), 1, "shared memory");
        assert_eq!(blocks_per_sm(card, 128, 300 << 10), 0, "shared memory");
        assert_eq!(blocks_per_sm(card, 2048, 0), 0, "too many threads");
    }

    #[test]
    fn impossible_launches_are_refused() {
        assert!(check_launch([1, 1, 1], [1024, 1, 1], 0).is_ok());
        assert!(check_launch([0, 1, 1], [1024, 1, 1], 0).is_err());
        assert!(check_launch([1, 65_536, 1], [1, 1, 1], 0).is_err());
        assert!(check_launch([1, 1, 1], [1024, 2, 1], 0).is_err());
        assert!(check_launch([1, 1, 1], [0, 1, 1], 0).is_err());
    }

    #[test]
    fn images_of_a_fat_binary_are_found() {
        let mut data = Vec::new();
        data.extend(FAT_BINARY_MAGIC.to_ne_bytes());
        data.extend([1_u16, 16].map(u16::to_ne_bytes).concat());
        data.extend((2_u64 * (64 + 8)).to_ne_bytes());
        for (kind, architecture) in [(ELF, 80_u32), (PTX, 90)] {
            let mut image = vec![0_u8; 64 + 8];
            image[..2].copy_from_slice(&kind.to_ne_bytes());
            image[4..8].copy_from_slice(&64_u32.to_ne_bytes());
            image[8..16].copy_from_slice(&8_u64.to_ne_bytes());
            image[28..32].copy_from_slice(&architecture.to_ne_bytes());
            data.extend(image);
        }
        let wrapper = [u64::from(WRAPPER_MAGIC), data.as_ptr() as u64];
        // SAFETY: built as a compiler builds one, and alive until the end.
        assert_eq!(unsafe { images(wrapper.as_ptr().cast()) }, [(ELF, 80), (PTX, 90)]);
        // SAFETY: null and other bytes are what it must withstand.
        assert!(unsafe { images([7_u64, 7].as_ptr().cast()) }.is_empty());
        register(4711, wrapper.as_ptr() as usize);
        assert_eq!(architecture(&installed()[0], 4711), 90);
        assert_eq!(architecture(&installed()[0], 4712), 90);
    }
}
