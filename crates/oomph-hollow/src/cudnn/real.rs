//! The user's own cuDNN, asked without a card.
//!
//! From 9.8 on cuDNN answers for a card that is described to it (`CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR`): which engines
//! take a convolution, in which order it would try them, how much workspace each wants. Nothing is compiled or run.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use crate::card::{Card, cards};
use crate::installed::{self, Library};

/// The first version that answers without a card.
const DEVICELESS_SINCE: usize = 90_800;
/// `CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR`.
const DEVICE_DESCRIPTOR: c_int = 38;
/// `CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION`.
const DEVICE_JSON: c_int = 2702;
/// `CUDNN_TYPE_CHAR`.
const TYPE_CHAR: c_int = 24;

/// The functions of cuDNN's graph API.
#[derive(Clone, Copy)]
pub(super) struct Api {
    pub(super) create: unsafe extern "C" fn(c_int, *mut *mut c_void) -> c_int,
    pub(super) destroy: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub(super) finalize: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub(super) get: unsafe extern "C" fn(*mut c_void, c_int, c_int, i64, *mut i64, *mut c_void) -> c_int,
    pub(super) set: unsafe extern "C" fn(*mut c_void, c_int, c_int, i64, *const c_void) -> c_int,
    pub(super) last_error: unsafe extern "C" fn(*mut c_char, usize),
}

/// The user's cuDNN, whatever its version.
pub(super) fn library() -> Option<Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        let folder = installed::cudnn_folder()?;
        ["libcudnn_graph.so.9", "libcudnn.so.9"].iter().find_map(|name| Library::open(&folder.join(Path::new(name))))
    })
}

/// Its version, such as 91900; 0 where there is none.
pub(super) fn version() -> usize {
    static VERSION: OnceLock<usize> = OnceLock::new();
    *VERSION.get_or_init(|| library().and_then(|library| library.number(c"cudnnGetVersion")).unwrap_or(0))
}

/// Its graph API, where it answers without a card.
pub(super) fn api() -> Option<&'static Api> {
    static API: OnceLock<Option<Api>> = OnceLock::new();
    API.get_or_init(|| if version() < DEVICELESS_SINCE { None } else { load(library()?) }).as_ref()
}

fn load(library: Library) -> Option<Api> {
    /// # Safety
    ///
    /// `F` is the type of the function that has this name.
    unsafe fn function<F: Copy>(library: Library, name: &CStr) -> Option<F> {
        let address: NonNull<c_void> = library.symbol(name)?;
        // SAFETY: a function pointer is as wide as an address, and the caller vouches for the signature.
        Some(unsafe { std::mem::transmute_copy::<NonNull<c_void>, F>(&address) })
    }
    // SAFETY: the signatures are those of cuDNN's manual.
    unsafe {
        Some(Api {
            create: function(library, c"cudnnBackendCreateDescriptor")?,
            destroy: function(library, c"cudnnBackendDestroyDescriptor")?,
            finalize: function(library, c"cudnnBackendFinalize")?,
            get: function(library, c"cudnnBackendGetAttribute")?,
            set: function(library, c"cudnnBackendSetAttribute")?,
            last_error: function(library, c"cudnnGetLastErrorString")?,
        })
    }
}

/// The descriptor of a card for cuDNN, made once.
pub(super) fn device(api: &Api, number: u32) -> Option<*mut c_void> {
    static DEVICES: OnceLock<Vec<OnceLock<usize>>> = OnceLock::new();
    let devices = DEVICES.get_or_init(|| cards().iter().map(|_| OnceLock::new()).collect());
    let number = number as usize;
    let (slot, card) = (devices.get(number)?, cards().get(number)?);
    let address = *slot.get_or_init(|| describe(api, card).map_or(0, <*mut c_void>::expose_provenance));
    (address != 0).then(|| ptr::with_exposed_provenance_mut(address))
}

fn describe(api: &Api, card: &Card) -> Option<*mut c_void> {
    let mut json = properties(card).into_bytes();
    json.push(0);
    let mut descriptor = ptr::null_mut();
    // SAFETY: cuDNN writes the address of a new descriptor, takes a text of the length given, and keeps a copy.
    let failed = unsafe {
        (api.create)(DEVICE_DESCRIPTOR, &raw mut descriptor) != 0
            || (api.set)(descriptor, DEVICE_JSON, TYPE_CHAR, json.len() as i64, json.as_ptr().cast()) != 0
            || (api.finalize)(descriptor) != 0
    };
    if failed {
        crate::process::say(&format!("cuDNN does not take the properties of {}: {}", card.title, last_error(api)));
        return None;
    }
    Some(descriptor)
}

/// What cuDNN has to know about a card.
fn properties(card: &Card) -> String {
    let runtime = library().and_then(|library| library.number(c"cudnnGetCudartVersion")).unwrap_or(13_000);
    serde_json::json!({
        "cudaDeviceId": 0,
        "deviceName": card.title,
        "deviceVer": card.compute_capability.major * 100 + card.compute_capability.minor * 10,
        "driverVer": runtime,
        "maxGridSize": [2_147_483_647, 65_535, 65_535],
        "maxBlockSize": [1024, 1024, 64],
        "regsPerBlock": 65_536,
        "multiProcessorCount": card.sms,
        "warpSize": 32,
        "maxSharedMemoryPerBlock": card.shared_memory_per_block_bytes(),
        "maxSharedMemoryPerBlockOptin": card.shared_memory_per_block_optin_bytes,
        "reservedSharedMemoryPerBlock": card.reserved_shared_memory_per_block_bytes(),
        "maxRegistersPerSM": card.registers_per_sm,
        "maxCtasPerSM": card.max_blocks_per_sm,
        "maxThreadsPerBlock": 1024,
        "maxThreadsPerSM": card.max_threads_per_sm,
        "totalGlobalMem": card.memory_bytes,
        "pciDeviceId": 0,
        "isTccDriver": 0,
        "supportCoopLaunch": 1,
        "smClockRateKHz": card.clock_khz,
        "memClockRateKHz": card.memory_clock_khz,
        "l2CacheSize": card.l2_bytes,
    })
    .to_string()
}

/// What cuDNN says about the last call that failed on this thread.
pub(super) fn last_error(api: &Api) -> String {
    let mut text = [0_u8; 512];
    // SAFETY: cuDNN writes a text with its closing zero, no longer than the buffer.
    unsafe { (api.last_error)(text.as_mut_ptr().cast(), text.len()) };
    CStr::from_bytes_until_nul(&text).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}
