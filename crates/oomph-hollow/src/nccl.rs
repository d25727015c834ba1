//! NCCL: one rank of a communicator of any size, without its peers.
//!
//! Collectives do nothing and complete at once, as if every peer had taken part: that is all that memory asks of them.
//! A communicator's peers are never waited for, so rank 0 of N runs alone. (What finds the peers before NCCL is asked,
//! PyTorch's `TCPStore`, does wait: a plan has to give the program another store.)
//!
//! A communicator of several ranks takes memory outside PyTorch's allocator when it is first used. It is counted as an
//! estimate: for every channel one buffer of each protocol (simple 4 MiB, LL128 4800 KiB, LL 512 KiB, NCCL's defaults),
//! and 16 channels, as on cards that NVLink connects; `NCCL_MIN_NCHANNELS` and `NCCL_BUFFSIZE` are honoured.

use std::env;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use crate::estimate::{self, Estimate};
use crate::installed::Library;
use crate::object::{Out, create, put};
use crate::{count, exchanged};

const SUCCESS: c_int = 0;
const UNHANDLED_CUDA_ERROR: c_int = 1;
const INVALID_ARGUMENT: c_int = 4;
/// `NCCL_SPLIT_NOCOLOR`: the caller is in none of the new communicators.
const NO_COLOR: c_int = -1;
/// The first reduction of a program's own, after those that NCCL has.
const OWN_REDUCTIONS: c_int = 5;

const DEFAULT_CHANNELS: usize = 16;
const SIMPLE_BYTES: usize = 4 << 20;
const LL_BYTES: usize = 512 << 10;
const LL128_BYTES: usize = 4800 << 10;

unsafe extern "C" {
    fn cudaMalloc(pointer: *mut *mut c_void, size: usize) -> c_int;
    fn cudaFree(pointer: *mut c_void) -> c_int;
}

/// What names a communicator to all its ranks.
#[repr(C)]
pub(crate) struct UniqueId([c_char; 128]);

/// One rank's end of a communicator.
pub(crate) struct Communicator {
    ranks: c_int,
    rank: c_int,
    device: c_int,
    buffers: *mut c_void,
}

impl Communicator {
    fn new(ranks: c_int, rank: c_int) -> Self {
        Self { ranks, rank, device: crate::device::current() as c_int, buffers: ptr::null_mut() }
    }

    /// Takes the buffers of a communicator's channels, at its first use.
    fn connect(&mut self) -> c_int {
        if self.ranks < 2 || !self.buffers.is_null() {
            return SUCCESS;
        }
        estimate::note(Estimate::Communicator, ptr::from_ref(self).addr());
        // SAFETY: the variable takes an address.
        match unsafe { cudaMalloc(&raw mut self.buffers, buffer_bytes()) } {
            0 => SUCCESS,
            _ => UNHANDLED_CUDA_ERROR,
        }
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        if !self.buffers.is_null() {
            // SAFETY: taken by `connect`, and given back once.
            unsafe { cudaFree(self.buffers) };
        }
    }
}

/// Buffers of one communicator.
fn buffer_bytes() -> usize {
    let setting = |name: &str| env::var(name).ok().and_then(|text| text.trim().parse::<usize>().ok());
    let channels = setting("NCCL_MIN_NCHANNELS").map_or(DEFAULT_CHANNELS, |channels| channels.clamp(1, 64));
    let simple = setting("NCCL_BUFFSIZE").unwrap_or(SIMPLE_BYTES);
    channels * (simple + LL_BYTES + LL128_BYTES)
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
    static VERSION: OnceLock<c_int> = OnceLock::new();
    exchanged::begin();
    let version_number = *VERSION.get_or_init(|| {
        Library::loaded("libnccl.so").and_then(|library| library.number_by_pointer(c"ncclGetVersion")).unwrap_or(22_809)
    });
    done(put(version, version_number))
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
    done(create(communicator, Communicator::new(ranks, rank)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommInitRankConfig(
    communicator: Out<'_, *mut Communicator>,
    ranks: c_int,
    _id: UniqueId,
    rank: c_int,
    _config: *mut c_void,
) -> c_int {
    done(create(communicator, Communicator::new(ranks, rank)))
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
    done(create(communicator, Communicator::new(ranks, rank)))
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
        create(Some(place), Communicator { device, ..Communicator::new(count, rank as c_int) });
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
    done(create(made, Communicator::new(communicator.ranks, communicator.rank)))
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
    done(create(made, Communicator::new(ranks, communicator.rank.min(ranks - 1))))
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
    communicator.map_or(INVALID_ARGUMENT, |communicator| done(put(device, communicator.device)))
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
    c"".as_ptr()
}

/// # Safety
///
/// `pointer` is null or a variable of the caller's.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclMemAlloc(pointer: *mut *mut c_void, size: usize) -> c_int {
    // SAFETY: the caller's variable.
    if unsafe { cudaMalloc(pointer, size) } == 0 { SUCCESS } else { UNHANDLED_CUDA_ERROR }
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

    #[test]
    fn a_communicator_knows_its_size_and_its_rank() {
        let mut communicator = Communicator::new(8, 3);
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
        assert_eq!(buffer_bytes(), 16 * 9_633_792);
    }

    #[test]
    fn one_rank_alone_takes_no_buffers() {
        let mut alone = Communicator::new(1, 0);
        assert_eq!(collective(Some(&mut alone)), SUCCESS);
        assert!(alone.buffers.is_null());
    }
}
