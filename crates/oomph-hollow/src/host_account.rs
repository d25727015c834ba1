//! What the real job would take of the host's memory, counted in the process of the plan.
//!
//! Exact are the tensors on the CPU and pinned memory: `libc10.so` takes the former with `posix_memalign` and gives them
//! back with `free`, and only the places where that library keeps the addresses of these two functions are changed;
//! the latter is asked from the hollow runtime. What else the process holds (Python's objects, libraries) is what the kernel
//! says is resident.
//!
//! A plan leaves large tensors unfilled, and their pages stay out of memory until they are written. The real job fills
//! them. So a moment of the real job is what is resident now, and the pages of tensors and pinned memory that are not.
//! Where the script runs as it is, without a card, nothing is left out, and what is resident is the whole of it.
//!
//! Looking at every page takes time. It is done when tensors and pinned memory have grown by a part since the last look,
//! and when Python asks; what they hold at most is counted with every block.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

use oomph_elf as elf;
use serde::Serialize;

use crate::aside;
use crate::lock::Guarded;

/// Smaller blocks lie on pages that others have written, or will be written at once.
const LARGE_BYTES: u64 = 1 << 20;
/// A look is taken when what is counted has grown by this part, and by so many bytes at least.
const GROWN_SHARE: u64 = 32;
const GROWN_BYTES: u64 = 8 << 20;
/// Pages that the kernel is asked about in one go.
const PAGES_AT_ONCE: usize = 1 << 16;

type Take = unsafe extern "C" fn(*mut *mut c_void, usize, usize) -> c_int;
type Give = unsafe extern "C" fn(*mut c_void);

static TAKE: AtomicUsize = AtomicUsize::new(0);
static GIVE: AtomicUsize = AtomicUsize::new(0);
/// Whether every tensor is filled as in the real job.
static IS_FILLED: AtomicBool = AtomicBool::new(false);

static TENSORS: Sum = Sum::new();
static PINNED: Sum = Sum::new();
/// What the plan keeps among the script's blocks.
static OWN: Sum = Sum::new();
/// Tensors and pinned memory together.
static COUNTED: Sum = Sum::new();
static ALLOCATED_BYTES: AtomicU64 = AtomicU64::new(0);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// What was counted when a look was last taken because of it.
static LOOKED_BYTES: AtomicU64 = AtomicU64::new(0);

/// Large blocks of tensors and pinned memory: where they begin, and how long they are.
static LARGE: Guarded<BTreeMap<u64, u64>> = Guarded::new(BTreeMap::new());
static SEEN: Guarded<Seen> = Guarded::new(Seen { whole: Moment::NONE, fullest: Moment::NONE });

/// Bytes now, and at most.
struct Sum {
    now: AtomicI64,
    most: AtomicU64,
}

impl Sum {
    const fn new() -> Self {
        Self { now: AtomicI64::new(0), most: AtomicU64::new(0) }
    }

    fn add(&self, bytes: u64) {
        let now = self.now.fetch_add(bytes as i64, Ordering::Relaxed) + bytes as i64;
        self.most.fetch_max(now.max(0) as u64, Ordering::Relaxed);
    }

    fn subtract(&self, bytes: u64) {
        self.now.fetch_sub(bytes as i64, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        // What was taken before anybody counted may be given back.
        self.now.load(Ordering::Relaxed).max(0) as u64
    }

    fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }
}

/// One look at the process.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[expect(clippy::struct_field_names, reason = "units stand last")]
struct Moment {
    /// Resident but for what is the plan's, and of that pages of files and shared memory.
    resident_bytes: u64,
    shared_bytes: u64,
    /// Of tensors and pinned memory: pages that the real job would have in memory, and this one has not.
    unfilled_bytes: u64,
    tensor_bytes: u64,
    pinned_bytes: u64,
}

impl Moment {
    const NONE: Self = Self { resident_bytes: 0, shared_bytes: 0, unfilled_bytes: 0, tensor_bytes: 0, pinned_bytes: 0 };

    fn now() -> Self {
        let (resident_bytes, shared_bytes) = resident().unwrap_or((0, 0));
        let resident_bytes = resident_bytes.saturating_sub(OWN.now() + aside::apart_bytes());
        let unfilled_bytes = if IS_FILLED.load(Ordering::Relaxed) { 0 } else { unfilled() };
        let (tensor_bytes, pinned_bytes) = (TENSORS.now(), PINNED.now());
        Self { resident_bytes, shared_bytes, unfilled_bytes, tensor_bytes, pinned_bytes }
    }

    fn whole_bytes(&self) -> u64 {
        self.resident_bytes + self.unfilled_bytes
    }

    fn counted_bytes(&self) -> u64 {
        self.tensor_bytes + self.pinned_bytes
    }
}

/// The looks worth keeping: the one that shows most, and the one when tensors and pinned memory were most.
struct Seen {
    whole: Moment,
    fullest: Moment,
}

/// What is told at the end.
#[derive(Debug, Serialize)]
pub(crate) struct Account {
    tensor_peak_bytes: u64,
    pinned_peak_bytes: u64,
    /// Of both together.
    counted_peak_bytes: u64,
    whole: Moment,
    fullest: Moment,
}

/// Begins to count, once PyTorch's library is loaded; `is_filled` where every tensor is filled as in the real job.
pub(crate) fn watch(is_filled: bool) -> bool {
    IS_FILLED.store(is_filled, Ordering::Relaxed);
    if TAKE.load(Ordering::Acquire) != 0 {
        return true;
    }
    redirect().is_some()
}

fn redirect() -> Option<()> {
    let c10 = elf::loaded("libc10.so")?;
    let original = |name: &CStr| elf::global_symbol(name);
    let (takes, gives) = (c10.imports(c"posix_memalign"), c10.imports(c"free"));
    if takes.is_empty() || gives.is_empty() {
        return None;
    }
    GIVE.store(original(c"free")?, Ordering::Release);
    TAKE.store(original(c"posix_memalign")?, Ordering::Release);
    // Frees first: a block that was counted must not be missed when it goes.
    for (places, function) in [(gives, give_back as *const () as usize), (takes, take_block as *const () as usize)] {
        for place in places {
            // SAFETY: places that the library's own table names, and functions of the same kind as those there.
            if !unsafe { elf::redirect(place, function) } {
                return None;
            }
        }
    }
    Some(())
}

unsafe extern "C" fn take_block(block: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    if let Some(address) = aside::take(bytes) {
        // SAFETY: PyTorch's own code gives a place for the address; pages are aligned to more than it asks for.
        unsafe { *block = address as *mut c_void };
        return 0;
    }
    // SAFETY: set before this function could be called, to the C library's own.
    let take: Take = unsafe { std::mem::transmute(TAKE.load(Ordering::Acquire)) };
    // SAFETY: the caller's arguments, passed on.
    let code = unsafe { take(block, alignment, bytes) };
    if code == 0 {
        // SAFETY: it succeeded, so the address is there, and the block is one of the C library's.
        let (address, size) = unsafe { (*block as u64, libc::malloc_usable_size(*block) as u64) };
        if aside::is_own(address, size) {
            OWN.add(size);
            return code;
        }
        ALLOCATED_BYTES.fetch_add(size, Ordering::Relaxed);
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        TENSORS.add(size);
        taken(address, size);
    }
    code
}

unsafe extern "C" fn give_back(block: *mut c_void) {
    if aside::give_back(block as u64) {
        return;
    }
    if let Some(size) = aside::forget_own(block as u64) {
        OWN.subtract(size);
    } else if !block.is_null() {
        // SAFETY: the caller owns the block, which is still there.
        let size = unsafe { libc::malloc_usable_size(block) } as u64;
        TENSORS.subtract(size);
        given_back(block as u64, size);
    }
    // SAFETY: set before this function could be called, to the C library's own.
    let give: Give = unsafe { std::mem::transmute(GIVE.load(Ordering::Acquire)) };
    // SAFETY: the caller's argument, passed on.
    unsafe { give(block) };
}

/// Pinned memory was given out: all of it is resident in the real job from the start. Call it with no lock held.
pub(crate) fn pinned(address: u64, bytes: u64) {
    PINNED.add(bytes);
    taken(address, bytes);
}

/// Pinned memory came back. Call it with no lock held.
pub(crate) fn unpinned(address: u64, bytes: u64) {
    PINNED.subtract(bytes);
    given_back(address, bytes);
}

/// Tensors that oomph's own Python makes outside of PyTorch's allocator; negative where they go.
pub(crate) fn add_unfilled_tensor(address: u64, bytes: i64) {
    if bytes >= 0 {
        TENSORS.add(bytes as u64);
        taken(address, bytes as u64);
    } else {
        TENSORS.subtract(bytes.unsigned_abs());
        given_back(address, bytes.unsigned_abs());
    }
}

fn taken(address: u64, bytes: u64) {
    if bytes >= LARGE_BYTES {
        LARGE.lock().insert(address, bytes);
    }
    COUNTED.add(bytes);
    let (now, looked) = (COUNTED.now(), LOOKED_BYTES.load(Ordering::Relaxed));
    if now > looked + (looked / GROWN_SHARE).max(GROWN_BYTES) {
        LOOKED_BYTES.store(now, Ordering::Relaxed);
        look();
    }
}

fn given_back(address: u64, bytes: u64) {
    if bytes >= LARGE_BYTES {
        LARGE.lock().remove(&address);
    }
    COUNTED.subtract(bytes);
}

/// Takes a look.
pub(crate) fn look() {
    let moment = Moment::now();
    let mut seen = SEEN.lock();
    if moment.whole_bytes() > seen.whole.whole_bytes() {
        seen.whole = moment;
    }
    if moment.counted_bytes() >= seen.fullest.counted_bytes() {
        seen.fullest = moment;
    }
}

/// What tensors hold, what was allocated for them so far, and in how many blocks.
pub(crate) fn numbers() -> [u64; 3] {
    let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
    [TENSORS.now(), load(&ALLOCATED_BYTES), load(&ALLOCATIONS)]
}

/// Everything that was seen.
pub(crate) fn account() -> Account {
    look();
    let seen = SEEN.lock();
    Account {
        tensor_peak_bytes: TENSORS.most(),
        pinned_peak_bytes: PINNED.most(),
        counted_peak_bytes: COUNTED.most(),
        whole: seen.whole,
        fullest: seen.fullest,
    }
}

/// What the C library has given out and not got back; 0 where it is too old to say. It goes through all of its free blocks
/// for that, which takes milliseconds once there are many: not for every iteration of a loop.
pub(crate) fn heap_bytes() -> u64 {
    let Some(address) = elf::global_symbol(c"mallinfo2") else { return 0 };
    // SAFETY: the C library's function of this name has this type.
    let ask: extern "C" fn() -> libc::mallinfo2 = unsafe { std::mem::transmute(address) };
    let answer = ask();
    (answer.uordblks + answer.hblkhd) as u64
}

/// Resident bytes of this process, and of these the pages of files and of shared memory. Allocates nothing: blocks of
/// tensors are taken where anything may be going on.
fn resident() -> Option<(u64, u64)> {
    let mut text = [0_u8; 128];
    // SAFETY: a path that ends in a zero, and a buffer of the length that is given; the file is closed again.
    let length = unsafe {
        let file = libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        usize::try_from(length).ok()?
    };
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    let mut pages = text.split_ascii_whitespace().skip(1).map_while(|word| word.parse::<u64>().ok());
    Some((pages.next()? * page_bytes(), pages.next()? * page_bytes()))
}

fn page_bytes() -> u64 {
    // SAFETY: a question without side effects.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as u64
}

/// Bytes of large blocks that are not in memory.
fn unfilled() -> u64 {
    let page = page_bytes();
    let mut flags = vec![0_u8; PAGES_AT_ONCE];
    let large = LARGE.lock();
    large.iter().map(|(&start, &bytes)| unfilled_between(start, start + bytes, page, &mut flags)).sum()
}

/// Whole pages of a range that are not in memory; what the kernel does not say counts as filled.
fn unfilled_between(start: u64, end: u64, page: u64, flags: &mut [u8]) -> u64 {
    let (mut at, end) = (start.next_multiple_of(page), end / page * page);
    let mut missing = 0;
    while at < end {
        let pages = ((end - at) / page).min(flags.len() as u64);
        // SAFETY: the block is mapped until its owner gives it back, which waits for the lock that is held here; there
        // is a byte for each page.
        let known = unsafe { libc::mincore(at as *mut c_void, (pages * page) as usize, flags.as_mut_ptr()) } == 0;
        if known {
            missing += flags.iter().take(pages as usize).filter(|&&flag| flag & 1 == 0).count() as u64 * page;
        }
        at += pages * page;
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_nobody_wrote_are_unfilled() {
        let (page, pages) = (page_bytes(), 64);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let length = (pages * page) as usize;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        let look = || unfilled_between(start as u64, start as u64 + pages * page, page, &mut [0; 16]);
        assert_eq!(look(), pages * page);
        // SAFETY: the first three pages of the mapping.
        unsafe { std::ptr::write_bytes(start.cast::<u8>(), 1, 3 * page as usize) };
        assert_eq!(look(), (pages - 3) * page);
        // SAFETY: the mapping made above.
        unsafe { libc::munmap(start, length) };
    }

    #[test]
    fn this_process_is_resident_and_has_a_heap() {
        let (resident, shared) = resident().expect("readable");
        assert!(resident > shared && shared > 0);
        let block = vec![1_u8; 3 << 20];
        assert!(heap_bytes() >= block.len() as u64);
    }

    #[test]
    fn what_was_taken_before_anybody_counted_does_not_go_below_nothing() {
        let sum = Sum::new();
        sum.subtract(10);
        assert_eq!((sum.now(), sum.most()), (0, 0));
        sum.add(30);
        assert_eq!((sum.now(), sum.most()), (20, 20));
    }
}
