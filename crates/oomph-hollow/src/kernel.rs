//! Kernels: what programs register, and what is known of one without a card.
//!
//! Modelled: the architecture that a kernel was compiled for, read from the fat binary it came in, since code on the
//! host (CUB) chooses by it; limits of a launch; occupancy from the card's properties.
//! Not modelled: registers and shared memory of each kernel. All are taken to use [`REGISTERS`] registers a thread and
//! no static shared memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::card::Card;
use crate::estimate::{self, Estimate};
use crate::fat_binary::{self, Image};
use crate::fault::{Fault, Outcome};
use crate::lock::Guarded;
use crate::{device, memory};

/// Registers a thread, taken for every kernel.
pub(crate) const REGISTERS: u32 = 32;
/// The most threads of a block.
pub(crate) const MAX_THREADS: u32 = 1024;

/// Devices on which a module that can call the system was loaded, one bit each for the first 64.
static WITH_LARGE_STACKS: AtomicU64 = AtomicU64::new(0);

static KERNELS: Guarded<Kernels> = Guarded::new(Kernels::new());

struct Kernels {
    /// Host functions and the fat binaries they came in, in the order of registration until someone asks.
    functions: Vec<(usize, usize)>,
    is_sorted: bool,
    /// Variables by their host address: bytes, and where they lie once someone has asked.
    variables: BTreeMap<usize, (u64, Option<u64>)>,
    /// Dynamic shared memory that programs asked for, by kernel.
    shared_bytes: BTreeMap<usize, u32>,
    /// Fat binaries of which a kernel was launched, by device.
    loaded: BTreeSet<(u32, usize)>,
}

impl Kernels {
    const fn new() -> Self {
        Self {
            functions: Vec::new(),
            is_sorted: true,
            variables: BTreeMap::new(),
            shared_bytes: BTreeMap::new(),
            loaded: BTreeSet::new(),
        }
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
    let code = fat_binary_of(function).map(|fat_binary| Code::of(card, fat_binary));
    code.and_then(|code| code.image).map_or_else(|| own_architecture(card), |image| image.architecture)
}

fn own_architecture(card: &Card) -> u32 {
    card.compute_capability.major * 10 + card.compute_capability.minor
}

/// The code that kernels of a fat binary came with, as a card sees it.
struct Code {
    /// What the card runs.
    image: Option<Image>,
    /// Whether there is code, and none that the card can run.
    is_for_others: bool,
}

impl Code {
    fn of(card: &Card, fat_binary: usize) -> Self {
        // SAFETY: registered as a fat binary, which stays as long as its library.
        let images = unsafe { fat_binary::images(fat_binary as *const u32) };
        let image = fat_binary::chosen(&images, own_architecture(card)).copied();
        Self { image, is_for_others: image.is_none() && !images.is_empty() }
    }
}

/// What a launch brings about besides the kernel: the driver loads the kernel's module, and the first one that can call
/// the system (fail an assertion, or print) makes it give kernels larger stacks, for which it moves
/// ([`memory::grow_stacks`]). A card would refuse a module without code for it; the plan goes on and says so.
pub(crate) fn load(function: usize) -> Outcome {
    let device = device::current();
    if LAUNCHED.has(device, function) {
        return Ok(());
    }
    let Some(fat_binary) = newly_loaded(device, function) else { return Ok(()) };
    let code = Code::of(device::card(device)?, fat_binary);
    if code.is_for_others {
        estimate::note(Estimate::MissingKernels, fat_binary);
    }
    let bit = 1_u64.checked_shl(device).unwrap_or(0);
    let has_large_stacks = WITH_LARGE_STACKS.load(Ordering::Relaxed) & bit != 0;
    if !has_large_stacks && code.image.is_some_and(|image| image.calls_system()) {
        WITH_LARGE_STACKS.fetch_or(bit, Ordering::Relaxed);
        device::enter_device(device)?;
        memory::grow_stacks(device)?;
    }
    Ok(())
}

/// The fat binary of a kernel, if no kernel of it was launched on a device before.
fn newly_loaded(device: u32, function: usize) -> Option<usize> {
    let fat_binary = fat_binary_of(function)?;
    KERNELS.lock().loaded.insert((device, fat_binary)).then_some(fat_binary)
}

/// Kernels that were launched lately, to know most of them again without looking them up: one place for all that share
/// some bits of their address.
struct Launched([AtomicUsize; 1024]);

static LAUNCHED: Launched = Launched([const { AtomicUsize::new(0) }; 1024]);

impl Launched {
    /// Whether a kernel was launched on a device before, as far as is remembered; it is from now on.
    fn has(&self, device: u32, function: usize) -> bool {
        // Addresses have no more than 56 bits.
        let known = function | (device as usize + 1) << 56;
        let place = self.0.get((function >> 4) % self.0.len());
        place.is_some_and(|place| place.swap(known, Ordering::Relaxed) == known)
    }

    fn clear(&self) {
        self.0.iter().for_each(|place| place.store(0, Ordering::Relaxed));
    }
}

/// In a child after a fork: nothing is loaded.
pub(crate) fn forked() {
    WITH_LARGE_STACKS.store(0, Ordering::Relaxed);
    LAUNCHED.clear();
    KERNELS.lock().loaded.clear();
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
    fn a_kernel_runs_as_the_newest_image_for_the_card() {
        let (_data, wrapper) = fat_binary::tests::build(&[(2, 80, 0, b""), (1, 90, 0, b"")]);
        register(4711, wrapper.as_ptr() as usize);
        assert_eq!(architecture(&installed()[0], 4711), 90);
        assert_eq!(architecture(&installed()[0], 4712), 90);
        assert!(!Code::of(&installed()[0], wrapper.as_ptr() as usize).is_for_others);
        assert!(newly_loaded(0, 4711).is_some());
        assert!(newly_loaded(0, 4711).is_none());
        assert!(newly_loaded(1, 4711).is_some());
    }

    #[test]
    fn code_for_other_generations_is_no_code() {
        let (_data, wrapper) = fat_binary::tests::build(&[(2, 100, 0, b""), (1, 120, 0, b"")]);
        let code = Code::of(&installed()[0], wrapper.as_ptr() as usize);
        assert!(code.is_for_others && code.image.is_none());
        register(4713, wrapper.as_ptr() as usize);
        assert_eq!(architecture(&installed()[0], 4713), 90);
    }

    #[test]
    fn launches_are_remembered_by_device() {
        let launched = Launched([const { AtomicUsize::new(0) }; 1024]);
        assert!(!launched.has(0, 0x4000));
        assert!(launched.has(0, 0x4000));
        assert!(!launched.has(1, 0x4000));
        launched.clear();
        assert!(!launched.has(1, 0x4000));
    }
}
