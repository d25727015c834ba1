//! NVML, the library behind `nvidia-smi`.
//!
//! Modelled: every installed card with its name, UUID, place on the bus, clocks and memory; what this process has on a
//! card, its context included, counts as used, and so does what others have that share a ledger with it
//! (`OOMPH_HOLLOW_LEDGER`). The card is idle, cool and healthy.
//! Not modelled: NVLink, MIG, fabric; such questions get "not supported".

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::call::{put as put_checked, put_if_wanted};
use crate::card::{self, Card};
use crate::cudart::{name, put_text};
use crate::{memory, process, version};

/// What an NVML function returns.
type Status = c_int;
const SUCCESS: Status = 0;
const INVALID_ARGUMENT: Status = 2;
const NOT_SUPPORTED: Status = 3;
const NOT_FOUND: Status = 6;
const INSUFFICIENT_SIZE: Status = 7;

/// Handles: this, and one step for each installed card. Apart from all other handles of this library.
const FIRST_HANDLE: usize = 0x0000_f00b_0000_0000;
const STEP: usize = 0x100;
const DRIVER_VERSION: &str = "580.95.05";

fn index_of(handle: usize) -> Option<usize> {
    let offset = handle.checked_sub(FIRST_HANDLE)?;
    (offset.is_multiple_of(STEP) && offset / STEP < card::installed().len()).then_some(offset / STEP)
}

fn card_of(handle: usize) -> Option<(usize, &'static Card)> {
    let index = index_of(handle)?;
    card::installed().get(index).map(|card| (index, card))
}

/// What is used of an installed card.
fn used_bytes(index: usize) -> u64 {
    memory::processes_on(index).iter().fold(0, |sum, (_, used_bytes)| sum.saturating_add(*used_bytes))
}

/// Hands a result over.
unsafe fn put<T>(out: *mut T, value: Option<T>) -> Status {
    let Some(value) = value else { return INVALID_ARGUMENT };
    // SAFETY: the caller's pointer.
    unsafe { put_checked(out, value) }.map_or(INVALID_ARGUMENT, |()| SUCCESS)
}

/// Hands a text over.
unsafe fn put_string(out: *mut c_char, room: c_uint, text: Option<&str>) -> Status {
    let Some(text) = text else { return INVALID_ARGUMENT };
    // SAFETY: the caller's buffer of `room` bytes.
    match unsafe { put_text(out, c_int::try_from(room).unwrap_or(c_int::MAX), text) } {
        Ok(()) => SUCCESS,
        Err(_) if out.is_null() => INVALID_ARGUMENT,
        Err(_) => INSUFFICIENT_SIZE,
    }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> Status {
    process::used();
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> Status {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(status: Status) -> *const c_char {
    let text: &CStr = match status {
        SUCCESS => c"Success",
        1 => c"Uninitialized",
        INVALID_ARGUMENT => c"Invalid Argument",
        NOT_SUPPORTED => c"Not Supported",
        NOT_FOUND => c"Not Found",
        INSUFFICIENT_SIZE => c"Insufficient Size",
        _ => c"Unknown Error",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetDriverVersion(out: *mut c_char, room: c_uint) -> Status {
    // SAFETY: the caller's buffer.
    unsafe { put_string(out, room, Some(DRIVER_VERSION)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetNVMLVersion(out: *mut c_char, room: c_uint) -> Status {
    // SAFETY: the caller's buffer.
    unsafe { put_string(out, room, Some(&format!("13.{DRIVER_VERSION}"))) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(out: *mut c_int) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { put(out, Some(version::driver())) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetProcessName(pid: c_uint, out: *mut c_char, room: c_uint) -> Status {
    let Ok(path) = std::fs::read_link(format!("/proc/{pid}/exe")) else { return NOT_FOUND };
    // SAFETY: the caller's buffer.
    unsafe { put_string(out, room, Some(&path.to_string_lossy())) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCount_v2(out: *mut c_uint) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { put(out, Some(card::installed().len() as c_uint)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, out: *mut usize) -> Status {
    let index = index as usize;
    let handle = (index < card::installed().len()).then_some(FIRST_HANDLE + index * STEP);
    // SAFETY: the caller's pointer.
    unsafe { put(out, handle) }
}

/// The handle of the card whose text is the one given.
unsafe fn find(text: *const c_char, out: *mut usize, texts: impl Fn(usize) -> [String; 2]) -> Status {
    // SAFETY: the caller's string.
    let Ok(wanted) = (unsafe { name(text) }) else { return INVALID_ARGUMENT };
    let same = |index: &usize| texts(*index).iter().any(|text| text.as_bytes().eq_ignore_ascii_case(wanted));
    match (0..card::installed().len()).find(same) {
        // SAFETY: the caller's pointer.
        Some(index) => unsafe { put(out, Some(FIRST_HANDLE + index * STEP)) },
        None => NOT_FOUND,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByUUID(text: *const c_char, out: *mut usize) -> Status {
    // SAFETY: the caller's pointers.
    unsafe { find(text, out, |index| [card::uuid_text(index), String::new()]) }
}

/// NVML writes the domain with eight digits, CUDA with four.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(text: *const c_char, out: *mut usize) -> Status {
    // SAFETY: the caller's pointers.
    unsafe { find(text, out, |index| [card::pci_text(index), format!("0000{}", card::pci_text(index))]) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetName(handle: usize, out: *mut c_char, room: c_uint) -> Status {
    // SAFETY: the caller's buffer.
    unsafe { put_string(out, room, card_of(handle).map(|(_, card)| card.title.as_str())) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetUUID(handle: usize, out: *mut c_char, room: c_uint) -> Status {
    // SAFETY: the caller's buffer.
    unsafe { put_string(out, room, index_of(handle).map(card::uuid_text).as_deref()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetIndex(handle: usize, out: *mut c_uint) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { put(out, index_of(handle).map(|index| index as c_uint)) }
}

/// `nvmlMemory_t`.
#[expect(clippy::struct_field_names, reason = "units last")]
#[repr(C)]
struct Memory {
    total_bytes: u64,
    free_bytes: u64,
    used_bytes: u64,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMemoryInfo(handle: usize, out: *mut Memory) -> Status {
    let info = card_of(handle).map(|(index, card)| {
        let used = used_bytes(index);
        Memory { total_bytes: card.memory_bytes, free_bytes: card.memory_bytes.saturating_sub(used), used_bytes: used }
    });
    // SAFETY: the caller's pointer.
    unsafe { put(out, info) }
}

/// `nvmlMemory_v2_t`.
#[repr(C)]
struct Memory2 {
    version: c_uint,
    total_bytes: u64,
    reserved_bytes: u64,
    free_bytes: u64,
    used_bytes: u64,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(handle: usize, out: *mut Memory2) -> Status {
    // SAFETY: the caller's pointer.
    let Some(version) = (unsafe { out.as_ref() }).map(|info| info.version) else { return INVALID_ARGUMENT };
    let info = card_of(handle).map(|(index, card)| {
        let used = used_bytes(index);
        Memory2 {
            version,
            total_bytes: card.memory_bytes,
            reserved_bytes: 0,
            free_bytes: card.memory_bytes.saturating_sub(used),
            used_bytes: used,
        }
    });
    // SAFETY: the caller's pointer.
    unsafe { put(out, info) }
}

/// `nvmlProcessInfo_v1_t`.
#[repr(C)]
struct Process {
    pid: c_uint,
    used_bytes: u64,
}

/// `nvmlProcessInfo_v2_t`.
#[repr(C)]
struct Process2 {
    pid: c_uint,
    used_bytes: u64,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

/// The processes on a card: this one, once it has something there, and those that share a ledger with it.
unsafe fn put_processes<T>(handle: usize, count: *mut c_uint, out: *mut T, make: impl Fn(u32, u64) -> T) -> Status {
    let Some(index) = index_of(handle) else { return INVALID_ARGUMENT };
    // SAFETY: the caller's pointer.
    let Some(count) = (unsafe { count.as_mut() }) else { return INVALID_ARGUMENT };
    let processes = memory::processes_on(index);
    let room = std::mem::replace(count, processes.len() as c_uint) as usize;
    if processes.is_empty() {
        return SUCCESS;
    }
    if room < processes.len() || out.is_null() {
        return INSUFFICIENT_SIZE;
    }
    for (at, (pid, used_bytes)) in processes.into_iter().enumerate() {
        // SAFETY: the caller's array has room for all of them.
        unsafe { out.add(at).write(make(pid, used_bytes)) };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses(
    handle: usize,
    count: *mut c_uint,
    out: *mut Process,
) -> Status {
    // SAFETY: the caller's pointers.
    unsafe { put_processes(handle, count, out, |pid, used_bytes| Process { pid, used_bytes }) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    handle: usize,
    count: *mut c_uint,
    out: *mut Process2,
) -> Status {
    let make = |pid, used_bytes| Process2 { pid, used_bytes, gpu_instance: c_uint::MAX, compute_instance: c_uint::MAX };
    // SAFETY: the caller's pointers.
    unsafe { put_processes(handle, count, out, make) }
}

/// Nobody draws.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetGraphicsRunningProcesses(
    _handle: usize,
    count: *mut c_uint,
    _out: *mut c_void,
) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { put(count, Some(0)) }
}

/// `nvmlPciInfo_t`.
#[repr(C)]
struct Pci {
    old_id: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    device_id: c_uint,
    subsystem_id: c_uint,
    id: [c_char; 32],
}

fn chars<const ROOM: usize>(text: &str) -> [c_char; ROOM] {
    let mut out = [0; ROOM];
    for (to, from) in out[..ROOM - 1].iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
    out
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(handle: usize, out: *mut Pci) -> Status {
    let info = index_of(handle).map(|index| Pci {
        old_id: chars(&card::pci_text(index)),
        domain: 0,
        bus: card::pci_bus(index),
        device: 0,
        device_id: 0x10de,
        subsystem_id: 0x10de,
        id: chars(&format!("0000{}", card::pci_text(index))),
    });
    // SAFETY: the caller's pointer.
    unsafe { put(out, info) }
}

/// `nvmlUtilization_t`: nothing runs.
#[repr(C)]
struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetUtilizationRates(handle: usize, out: *mut Utilization) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { put(out, index_of(handle).map(|_| Utilization { gpu: 0, memory: 0 })) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCudaComputeCapability(handle: usize, major: *mut c_int, minor: *mut c_int) -> Status {
    let capability = card_of(handle).map(|(_, card)| card.compute_capability);
    // SAFETY: the caller's pointers.
    unsafe { put_if_wanted(minor, capability.map_or(0, |found| found.minor as c_int)) };
    // SAFETY: the caller's pointers.
    unsafe { put(major, capability.map(|found| found.major as c_int)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMemoryBusWidth(handle: usize, out: *mut c_uint) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { put(out, card_of(handle).map(|(_, card)| card.memory_bus_bits as c_uint)) }
}

/// Clocks of graphics, multiprocessors, memory, video; in MHz.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMaxClockInfo(handle: usize, which: c_int, out: *mut c_uint) -> Status {
    let clock = card_of(handle).map(|(_, card)| if which == 2 { card.memory_clock_khz } else { card.clock_khz });
    // SAFETY: the caller's pointer.
    unsafe { put(out, clock.map(|khz| (khz / 1000) as c_uint)) }
}

/// In degrees Celsius.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetTemperature(handle: usize, _sensor: c_int, out: *mut c_uint) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { put(out, index_of(handle).map(|_| 30)) }
}

/// In milliwatts.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetPowerUsage(handle: usize, out: *mut c_uint) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { put(out, index_of(handle).map(|_| 50_000)) }
}

/// In milliwatts.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetEnforcedPowerLimit(handle: usize, out: *mut c_uint) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { put(out, index_of(handle).map(|_| 700_000)) }
}

/// In millijoules since the driver was loaded.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetTotalEnergyConsumption(handle: usize, out: *mut u64) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { put(out, index_of(handle).map(|_| 0)) }
}

/// Modes of computing, of persistence, and the like: the default one.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetComputeMode(handle: usize, out: *mut c_int) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { put(out, index_of(handle).map(|_| 0)) }
}

/// The processors near a card: all of them.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCpuAffinity(handle: usize, words: c_uint, out: *mut usize) -> Status {
    if index_of(handle).is_none() || out.is_null() || words == 0 {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller's array of `words`.
    unsafe { out.write_bytes(0xff, words as usize) };
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_stand_for_installed_cards() {
        assert_eq!(index_of(FIRST_HANDLE), Some(0));
        assert_eq!(index_of(FIRST_HANDLE + 1), None);
        assert_eq!(index_of(FIRST_HANDLE + 100 * STEP), None);
        assert_eq!(index_of(7), None);
    }

    #[test]
    fn a_card_is_found_by_its_place_on_the_bus() {
        let mut handle = 0;
        // SAFETY: a C string and a variable.
        let status = unsafe { nvmlDeviceGetHandleByPciBusId_v2(c"00000000:01:00.0".as_ptr(), &raw mut handle) };
        assert_eq!((status, handle), (SUCCESS, FIRST_HANDLE));
        // SAFETY: as above.
        let status = unsafe { nvmlDeviceGetHandleByPciBusId_v2(c"0000:77:00.0".as_ptr(), &raw mut handle) };
        assert_eq!(status, NOT_FOUND);
    }

    #[test]
    fn structures_have_the_sizes_of_the_header() {
        assert_eq!(size_of::<Memory>(), 24);
        assert_eq!(size_of::<Memory2>(), 40);
        assert_eq!(size_of::<Process>(), 16);
        assert_eq!(size_of::<Process2>(), 24);
        assert_eq!(size_of::<Pci>(), 68);
    }
}
