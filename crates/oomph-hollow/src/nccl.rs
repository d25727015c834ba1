//! NCCL: one rank of a communicator of any size, without its peers.
//!
//! Collectives do nothing and complete at once, as if every peer had taken part: that is all that memory asks of them.
//! A communicator's peers are never waited for, so rank 0 of N runs alone. (What finds the peers before NCCL is asked,
//! PyTorch's `TCPStore`, does wait: a plan has to give the program another store.)
//!
//! What NCCL takes lies outside PyTorch's allocator. With one rank it was measured on an H200 with NCCL 2.28.9
//! (`benches/on_card/ranks/nccl_memory.py`), and is counted so: its kernels, once for a process and never given back; of
//! every channel three little things, each in a page of its own; one page more for each communicator there is. With
//! several ranks it is an estimate: kernels as measured with four processes that shared a card over the network, and at
//! the first use for every channel one buffer of each protocol (simple 4 MiB, LL128 4800 KiB, LL 512 KiB, NCCL's defaults).
//! One rank alone has 64 channels, several are taken to have 16, as on cards that NVLink connects; `NCCL_MIN_CTAS`,
//! `NCCL_MAX_CTAS`, their older names and `NCCL_BUFFSIZE` are honoured. All of it is physical memory without addresses that
//! PyTorch's would have to make room for, as NCCL maps its own.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::slice;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::estimate::{self, Estimate};
use crate::installed::Library;
use crate::lock::Guarded;
use crate::memory::{self, Location, PAGE_BYTES};
use crate::object::{Out, create, put};
use crate::{card, count, exchanged};

const SUCCESS: c_int = 0;
const UNHANDLED_CUDA_ERROR: c_int = 1;
const INVALID_ARGUMENT: c_int = 4;
/// `NCCL_SPLIT_NOCOLOR`: the caller is in none of the new communicators.
const NO_COLOR: c_int = -1;
/// The first reduction of a program's own, after those that NCCL has.
const OWN_REDUCTIONS: c_int = 5;

const CHANNELS_ALONE: u64 = 64;
const CHANNELS_OF_SEVERAL: u64 = 16;
const MOST_CHANNELS: u64 = 64;
/// Kernels, once for a process.
const KERNELS_ALONE_BYTES: u64 = 172 << 20;
const KERNELS_OF_SEVERAL_BYTES: u64 = 390 << 20;
/// Little things of a channel that take a page each.
const PAGES_OF_CHANNEL: u64 = 3;
const SIMPLE_BYTES: u64 = 4 << 20;
const LL_BYTES: u64 = 512 << 10;
const LL128_BYTES: u64 = 4800 << 10;
/// What was measured with one rank was this version, on this card.
const MEASURED: (c_int, &str) = (22_809, "h200");

unsafe extern "C" {
    fn cudaMalloc(pointer: *mut *mut c_void, size: usize) -> c_int;
    fn cudaFree(pointer: *mut c_void) -> c_int;
}

/// What communicators have on one device.
#[derive(Clone, Copy, Default)]
struct Taken {
    now_bytes: u64,
    most_bytes: u64,
    communicators: u64,
    has_kernels: bool,
}

static TAKEN: Guarded<BTreeMap<u32, Taken>> = Guarded::new(BTreeMap::new());

/// The most that communicators of this process have had on a device at one time.
pub(crate) fn most_bytes(device: u32) -> u64 {
    TAKEN.lock().get(&device).map_or(0, |taken| taken.most_bytes)
}

/// Takes physical memory of a device, and returns its handle.
fn take(device: u32, bytes: u64) -> Option<u64> {
    let bytes = bytes.next_multiple_of(PAGE_BYTES);
    let handle = memory::create_physical(bytes, Location::Device(device)).ok()?;
    let mut all = TAKEN.lock();
    let taken = all.entry(device).or_default();
    taken.now_bytes += bytes;
    taken.most_bytes = taken.most_bytes.max(taken.now_bytes);
    Some(handle)
}

/// In a child after a fork: the parent's communicators are not the child's.
pub(crate) fn forked() {
    TAKEN.lock().clear();
}

/// What names a communicator to all its ranks.
#[repr(C)]
pub(crate) struct UniqueId([c_char; 128]);

/// One rank's end of a communicator.
pub(crate) struct Communicator {
    ranks: c_int,
    rank: c_int,
    device: u32,
    /// Whether it was used.
    is_connected: bool,
    /// Physical memory that goes with it: handle and bytes.
    held: Vec<(u64, u64)>,
}

impl Communicator {
    /// None where the device is full.
    fn open(ranks: c_int, rank: c_int, device: u32) -> Option<Self> {
        let mut made = Self { ranks, rank, device, is_connected: false, held: Vec::new() };
        let (ordinal, needs_kernels) = {
            let mut all = TAKEN.lock();
            let taken = all.entry(device).or_default();
            taken.communicators += 1;
            (taken.communicators, !std::mem::replace(&mut taken.has_kernels, true))
        };
        if needs_kernels {
            take(device, if ranks < 2 { KERNELS_ALONE_BYTES } else { KERNELS_OF_SEVERAL_BYTES })?;
        }
        made.hold((channels(ranks) * PAGES_OF_CHANNEL + ordinal) * PAGE_BYTES)?;
        if ranks > 1 || !is_as_measured(device) {
            let estimate = if ranks > 1 { Estimate::Communicator } else { Estimate::CommunicatorAlone };
            estimate::note(estimate, (device, ordinal));
        }
        Some(made)
    }

    fn hold(&mut self, bytes: u64) -> Option<()> {
        self.held.push((take(self.device, bytes)?, bytes.next_multiple_of(PAGE_BYTES)));
        Some(())
    }

    /// Takes the buffers that lead to other ranks, at the first use.
    fn connect(&mut self) -> c_int {
        if self.ranks < 2 || std::mem::replace(&mut self.is_connected, true) {
            return SUCCESS;
        }
        if self.hold(buffer_bytes(self.ranks)).is_some() { SUCCESS } else { short() }
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        for &(handle, bytes) in &self.held {
            // A handle from before a fork is no longer known.
            let is_given_back = memory::release_physical(handle).is_ok();
            if let Some(taken) = TAKEN.lock().get_mut(&self.device).filter(|_| is_given_back) {
                taken.now_bytes = taken.now_bytes.saturating_sub(bytes);
            }
        }
        if let Some(taken) = TAKEN.lock().get_mut(&self.device) {
            taken.communicators = taken.communicators.saturating_sub(1);
        }
    }
}

/// Whether what one rank takes was measured with this library on such a card.
fn is_as_measured(device: u32) -> bool {
    let card = card::cards().get(device as usize);
    MEASURED.0 == version() && card.is_some_and(|card| card.name == MEASURED.1)
}

fn setting(names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| env::var(name).ok()?.trim().parse().ok())
}

/// Channels of a communicator.
fn channels(ranks: c_int) -> u64 {
    let least = setting(&["NCCL_MIN_CTAS", "NCCL_MIN_NCHANNELS"]).unwrap_or(1);
    let most = setting(&["NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS"]).unwrap_or(MOST_CHANNELS);
    let usual = if ranks < 2 { CHANNELS_ALONE } else { CHANNELS_OF_SEVERAL };
    usual.max(least).min(most).clamp(1, MOST_CHANNELS)
}

/// Buffers of one communicator that lead to other ranks.
fn buffer_bytes(ranks: c_int) -> u64 {
    channels(ranks) * (setting(&["NCCL_BUFFSIZE"]).unwrap_or(SIMPLE_BYTES) + LL_BYTES + LL128_BYTES)
}

/// Makes a communicator on the device that the calling thread has chosen.
fn open(communicator: Out<'_, *mut Communicator>, ranks: c_int, rank: c_int) -> c_int {
    match Communicator::open(ranks, rank, crate::device::current()) {
        Some(made) => done(create(communicator, made)),
        None => short(),
    }
}

/// Whether the card had no room for what NCCL wanted, which is what went wrong last.
static IS_SHORT: AtomicBool = AtomicBool::new(false);

/// What NCCL returns where the card has no room: its last error says why.
fn short() -> c_int {
    IS_SHORT.store(true, Ordering::Relaxed);
    UNHANDLED_CUDA_ERROR
}

fn done(written: bool) -> c_int {
    if written { SUCCESS } else { INVALID_ARGUMENT }
}

/// A collective or a message: nothing moves.
fn collective(communicator: Option<&mut Communicator>) -> c_int {
    count::LAUNCHES.add_one();
    communicator.map_or(INVALID_ARGUMENT, Communicator::connect)
}

/// Bytes of an element, by `ncclDataType_t`.
fn element_bytes(data_type: c_int) -> usize {
    match data_type {
        0 | 1 | 10 | 11 => 1,
        6 | 9 => 2,
        4 | 5 | 8 => 8,
        _ => 4,
    }
}

/// The first that PyTorch calls when a program makes a group of ranks; its communicator comes with the first collective.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclGetVersion(version: Out<'_, c_int>) -> c_int {
    exchanged::begin();
    done(put(version, self::version()))
}

/// The version of the user's library.
fn version() -> c_int {
    static VERSION: OnceLock<c_int> = OnceLock::new();
    *VERSION.get_or_init(|| {
        let library = Library::loaded("libnccl.so");
        library.and_then(|library| library.number_by_pointer(c"ncclGetVersion")).unwrap_or(MEASURED.0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclGetUniqueId(id: Out<'_, UniqueId>) -> c_int {
    done(put(id, UniqueId([1; 128])))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommInitRank(
    communicator: Out<'_, *mut Communicator>,
    ranks: c_int,
    _id: UniqueId,
    rank: c_int,
) -> c_int {
    open(communicator, ranks, rank)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommInitRankConfig(
    communicator: Out<'_, *mut Communicator>,
    ranks: c_int,
    _id: UniqueId,
    rank: c_int,
    _config: *mut c_void,
) -> c_int {
    open(communicator, ranks, rank)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommInitRankScalable(
    communicator: Out<'_, *mut Communicator>,
    ranks: c_int,
    rank: c_int,
    _id_count: c_int,
    _ids: *mut UniqueId,
    _config: *mut c_void,
) -> c_int {
    open(communicator, ranks, rank)
}

/// All devices of one process.
///
/// # Safety
///
/// `communicators` has room for `count` addresses; `devices` is null or has as many numbers.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommInitAll(
    communicators: *mut MaybeUninit<*mut Communicator>,
    count: c_int,
    devices: *const c_int,
) -> c_int {
    let (Ok(number), false) = (usize::try_from(count), communicators.is_null()) else { return INVALID_ARGUMENT };
    // SAFETY: the caller's array.
    let places = unsafe { slice::from_raw_parts_mut(communicators, number) };
    for (rank, place) in places.iter_mut().enumerate() {
        // SAFETY: null or an array of as many numbers.
        let device = if devices.is_null() { rank as c_int } else { unsafe { *devices.add(rank) } };
        let Ok(device) = u32::try_from(device) else { return INVALID_ARGUMENT };
        let Some(made) = Communicator::open(count, rank as c_int, device) else { return short() };
        create(Some(place), made);
    }
    SUCCESS
}

/// Which colors the other ranks have is not known here, so everyone is taken to come along.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommSplit(
    communicator: Option<&mut Communicator>,
    color: c_int,
    _key: c_int,
    made: Out<'_, *mut Communicator>,
    _config: *mut c_void,
) -> c_int {
    let Some(communicator) = communicator else { return INVALID_ARGUMENT };
    if color == NO_COLOR {
        return done(put(made, ptr::null_mut()));
    }
    open(made, communicator.ranks, communicator.rank)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommShrink(
    communicator: Option<&mut Communicator>,
    _excluded: *const c_int,
    excluded_count: c_int,
    made: Out<'_, *mut Communicator>,
    _config: *mut c_void,
    _flags: c_int,
) -> c_int {
    let Some(communicator) = communicator else { return INVALID_ARGUMENT };
    let ranks = (communicator.ranks - excluded_count).max(1);
    open(made, ranks, communicator.rank.min(ranks - 1))
}

/// `ncclCommAbort` is another name for this in the list.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommDestroy(communicator: Option<Box<Communicator>>) -> c_int {
    drop(communicator);
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommGetAsyncError(_communicator: Option<&mut Communicator>, error: Out<'_, c_int>) -> c_int {
    done(put(error, SUCCESS))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommCount(communicator: Option<&mut Communicator>, ranks: Out<'_, c_int>) -> c_int {
    communicator.map_or(INVALID_ARGUMENT, |communicator| done(put(ranks, communicator.ranks)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommUserRank(communicator: Option<&mut Communicator>, rank: Out<'_, c_int>) -> c_int {
    communicator.map_or(INVALID_ARGUMENT, |communicator| done(put(rank, communicator.rank)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommCuDevice(communicator: Option<&mut Communicator>, device: Out<'_, c_int>) -> c_int {
    communicator.map_or(INVALID_ARGUMENT, |communicator| done(put(device, communicator.device as c_int)))
}

#[unsafe(no_mangle)]
extern "C" fn ncclGetErrorString(status: c_int) -> *const c_char {
    let text: &CStr = match status {
        SUCCESS => c"no error",
        UNHANDLED_CUDA_ERROR => c"unhandled cuda error",
        2 => c"unhandled system error",
        3 => c"internal error",
        INVALID_ARGUMENT => c"invalid argument",
        5 => c"invalid usage",
        6 => c"remote process exited or there was a network error",
        7 => c"NCCL operation in progress",
        _ => c"unknown result code",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn ncclGetLastError(_communicator: *mut c_void) -> *const c_char {
    if IS_SHORT.load(Ordering::Relaxed) { c"Cuda failure 2 'out of memory'".as_ptr() } else { c"".as_ptr() }
}

/// # Safety
///
/// `pointer` is null or a variable of the caller's.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclMemAlloc(pointer: *mut *mut c_void, size: usize) -> c_int {
    // SAFETY: the caller's variable.
    if unsafe { cudaMalloc(pointer, size) } == 0 { SUCCESS } else { short() }
}

/// # Safety
///
/// `pointer` is null or from [`ncclMemAlloc`].
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclMemFree(pointer: *mut c_void) -> c_int {
    // SAFETY: the caller's memory.
    if unsafe { cudaFree(pointer) } == 0 { SUCCESS } else { UNHANDLED_CUDA_ERROR }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommRegister(
    _communicator: *mut c_void,
    buffer: *mut c_void,
    _size: usize,
    handle: Out<'_, *mut c_void>,
) -> c_int {
    done(put(handle, buffer))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommWindowRegister(
    _communicator: *mut c_void,
    buffer: *mut c_void,
    _size: usize,
    window: Out<'_, *mut c_void>,
    _flags: c_int,
) -> c_int {
    done(put(window, buffer))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclRedOpCreatePreMulSum(
    operation: Out<'_, c_int>,
    _scalar: *mut c_void,
    _data_type: c_int,
    _residence: c_int,
    _communicator: *mut c_void,
) -> c_int {
    done(put(operation, OWN_REDUCTIONS))
}

/// `ncclReduceScatter`, `ncclGather` and `ncclScatter` are other names for this in the list: the communicator is sixth.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclAllReduce(
    _send: *const c_void,
    _receive: *mut c_void,
    _elements: usize,
    _data_type: c_int,
    _operation: c_int,
    communicator: Option<&mut Communicator>,
    _stream: *mut c_void,
) -> c_int {
    collective(communicator)
}

/// Every rank is taken to have what this one has.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclAllGather(
    send: *const c_void,
    receive: *mut c_void,
    elements: usize,
    data_type: c_int,
    communicator: Option<&mut Communicator>,
    _stream: *mut c_void,
) -> c_int {
    let ranks = communicator.as_ref().map_or(1, |communicator| communicator.ranks.unsigned_abs() as usize);
    exchanged::exchanged(
        receive.addr() as u64,
        send.addr() as u64,
        elements.saturating_mul(element_bytes(data_type)),
        ranks,
    );
    collective(communicator)
}

/// The root is taken to have what this rank has.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclBroadcast(
    send: *const c_void,
    receive: *mut c_void,
    elements: usize,
    data_type: c_int,
    _root: c_int,
    communicator: Option<&mut Communicator>,
    _stream: *mut c_void,
) -> c_int {
    exchanged::exchanged(
        receive.addr() as u64,
        send.addr() as u64,
        elements.saturating_mul(element_bytes(data_type)),
        1,
    );
    collective(communicator)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclReduce(
    _send: *const c_void,
    _receive: *mut c_void,
    _elements: usize,
    _data_type: c_int,
    _operation: c_int,
    _root: c_int,
    communicator: Option<&mut Communicator>,
    _stream: *mut c_void,
) -> c_int {
    collective(communicator)
}

/// In place.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclBcast(
    buffer: *mut c_void,
    elements: usize,
    data_type: c_int,
    _root: c_int,
    communicator: Option<&mut Communicator>,
    _stream: *mut c_void,
) -> c_int {
    exchanged::exchanged(
        buffer.addr() as u64,
        buffer.addr() as u64,
        elements.saturating_mul(element_bytes(data_type)),
        1,
    );
    collective(communicator)
}

/// `ncclRecv` and `ncclAlltoAll` are other names for this in the list: the communicator is fifth.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclSend(
    _buffer: *const c_void,
    _elements: usize,
    _data_type: c_int,
    _peer: c_int,
    communicator: Option<&mut Communicator>,
    _stream: *mut c_void,
) -> c_int {
    collective(communicator)
}

/// `ncclSimInfo_t`: what `ncclGroupSimulateEnd` says.
#[repr(C)]
pub(crate) struct SimulationInfo {
    size: usize,
    magic: c_uint,
    version: c_uint,
    estimated_time: f32,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclGroupSimulateEnd(info: Option<&mut SimulationInfo>) -> c_int {
    if let Some(info) = info {
        info.estimated_time = 0.0;
    }
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unopened(device: u32) -> Communicator {
        Communicator { ranks: 8, rank: 3, device, is_connected: true, held: Vec::new() }
    }

    #[test]
    fn a_communicator_knows_its_size_and_its_rank() {
        let mut communicator = unopened(7);
        let (mut ranks, mut rank) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: a communicator that lives, places for results, and nothing.
        unsafe {
            assert_eq!(ncclCommCount(Some(&mut communicator), Some(&mut ranks)), SUCCESS);
            assert_eq!(ncclCommUserRank(Some(&mut communicator), Some(&mut rank)), SUCCESS);
            assert_eq!(ncclCommCount(None, None), INVALID_ARGUMENT);
        }
        // SAFETY: both calls succeeded.
        assert_eq!(unsafe { (ranks.assume_init(), rank.assume_init()) }, (8, 3));
    }

    #[test]
    fn buffers_are_those_of_sixteen_channels() {
        assert_eq!(buffer_bytes(2), 16 * 9_633_792);
    }

    /// As an H200 had it: 558 MiB with the first communicator of one rank, 388 and 390 more with two others.
    #[test]
    fn one_rank_alone_takes_what_was_measured() {
        let outside = || TAKEN.lock().get(&0).map_or(0, |taken| taken.now_bytes >> 20);
        let mut first = Communicator::open(1, 0, 0).unwrap();
        assert_eq!((collective(Some(&mut first)), outside()), (SUCCESS, 558));
        let others = [Communicator::open(1, 0, 0), Communicator::open(1, 0, 0)];
        assert_eq!(outside(), 558 + 388 + 390);
        drop((first, others));
        assert_eq!((outside(), most_bytes(0) >> 20), (172, 1336));
    }
}
