//! Memory pools; what they are is in `memory/pool.rs`. Sharing pools between processes is not modelled.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

use crate::call::{put, runtime};
use crate::fault::{Fault, Outcome};
use crate::lock::Guarded;
use crate::memory::{self, PoolAttribute};
use crate::{device, stream};

/// Pools that programs set in the place of a device's own.
static CURRENT: Guarded<BTreeMap<u32, usize>> = Guarded::new(BTreeMap::new());

/// The pool that a device's requests go to.
pub(crate) fn current_pool(device: u32) -> usize {
    let chosen = CURRENT.lock().get(&device).copied();
    chosen.filter(|&pool| memory::is_pool(pool)).unwrap_or_else(|| memory::default_pool(device))
}

/// Sets the pool that a device's requests go to.
pub(crate) fn set_current_pool(device: u32, pool: usize) -> Outcome {
    if !memory::is_pool(pool) {
        return Err(Fault::INVALID_VALUE);
    }
    CURRENT.lock().insert(device, pool);
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocAsync(out: *mut u64, bytes: usize, on: usize) -> c_int {
    runtime(|| {
        device::enter()?;
        let pool = current_pool(stream::get(on)?.device);
        // SAFETY: the caller's pointer.
        unsafe { put(out, memory::allocate_from_pool(pool, bytes as u64)?) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocFromPoolAsync(out: *mut u64, bytes: usize, pool: usize, _on: usize) -> c_int {
    runtime(|| {
        device::enter()?;
        // SAFETY: the caller's pointer.
        unsafe { put(out, memory::allocate_from_pool(pool, bytes as u64)?) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaFreeAsync(address: u64, _on: usize) -> c_int {
    runtime(|| memory::free(address))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetDefaultMemPool(out: *mut usize, of: c_int) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, memory::default_pool(device::checked(of)?)) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetMemPool(out: *mut usize, of: c_int) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, current_pool(device::checked(of)?)) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSetMemPool(of: c_int, pool: usize) -> c_int {
    runtime(|| set_current_pool(device::checked(of)?, pool))
}

/// `cudaMemLocation`: 1 is a device.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Location {
    kind: c_int,
    id: c_int,
}

impl Location {
    /// The device it names; memory of the host belongs to the first.
    pub(crate) fn device(self) -> Outcome<u32> {
        if self.kind == 1 { device::checked(self.id) } else { Ok(0) }
    }
}

unsafe fn device_at(location: *const Location) -> Outcome<u32> {
    // SAFETY: the caller's pointer.
    unsafe { location.as_ref() }.ok_or(Fault::INVALID_VALUE)?.device()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemGetDefaultMemPool(out: *mut usize, at: *const Location, _kind: c_int) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put(out, memory::default_pool(device_at(at)?)) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemGetMemPool(out: *mut usize, at: *const Location, _kind: c_int) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put(out, current_pool(device_at(at)?)) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemSetMemPool(at: *const Location, _kind: c_int, pool: usize) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| set_current_pool(unsafe { device_at(at) }?, pool))
}

/// The beginning of `cudaMemPoolProps`.
#[repr(C)]
pub(crate) struct PoolProperties {
    allocation_kind: c_int,
    handle_kinds: c_int,
    location: Location,
}

/// A new pool where its properties say.
///
/// # Safety
///
/// `properties` is null or points to such.
pub(crate) unsafe fn create(properties: *const PoolProperties) -> Outcome<usize> {
    // SAFETY: the caller's pointer.
    let properties = unsafe { properties.as_ref() }.ok_or(Fault::INVALID_VALUE)?;
    let device = properties.location.device()?;
    device::enter_device(device)?;
    Ok(memory::create_pool(device))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemPoolCreate(out: *mut usize, properties: *const PoolProperties) -> c_int {
    // SAFETY: the caller's pointers.
    runtime(|| unsafe { put(out, create(properties)?) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemPoolDestroy(pool: usize) -> c_int {
    runtime(|| memory::destroy_pool(pool))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemPoolTrimTo(pool: usize, keep_bytes: usize) -> c_int {
    runtime(|| memory::trim_pool(pool, keep_bytes as u64))
}

/// Reads an attribute: policies are ints, the rest are 64 bits wide.
///
/// # Safety
///
/// `out` has room for the attribute.
pub(crate) unsafe fn get_attribute(pool: usize, number: c_int, out: *mut c_void) -> Outcome {
    let attribute = PoolAttribute::from_number(number).ok_or(Fault::INVALID_VALUE)?;
    let value = memory::pool_attribute(pool, attribute)?;
    match attribute {
        // SAFETY: the caller's int.
        PoolAttribute::Reuse(_) => unsafe { put(out.cast::<c_int>(), value as c_int) },
        // SAFETY: the caller's 64 bits.
        _ => unsafe { put(out.cast::<u64>(), value) },
    }
}

/// Sets an attribute.
///
/// # Safety
///
/// `value` is null or points to the attribute.
pub(crate) unsafe fn set_attribute(pool: usize, number: c_int, value: *const c_void) -> Outcome {
    let attribute = PoolAttribute::from_number(number).ok_or(Fault::INVALID_VALUE)?;
    if value.is_null() {
        return Err(Fault::INVALID_VALUE);
    }
    let value = match attribute {
        // SAFETY: the caller's int.
        PoolAttribute::Reuse(_) => unsafe { value.cast::<c_int>().read() as u64 },
        // SAFETY: the caller's 64 bits.
        _ => unsafe { value.cast::<u64>().read() },
    };
    memory::set_pool_attribute(pool, attribute, value)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemPoolGetAttribute(pool: usize, number: c_int, out: *mut c_void) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { get_attribute(pool, number, out) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemPoolSetAttribute(pool: usize, number: c_int, value: *const c_void) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { set_attribute(pool, number, value) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemPoolSetAccess(pool: usize, _descriptions: *const c_void, _count: usize) -> c_int {
    runtime(|| memory::pool_device(pool).map(drop))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemPoolGetAccess(out: *mut c_int, pool: usize, _location: *const Location) -> c_int {
    runtime(|| {
        memory::pool_device(pool)?;
        // Read and write. SAFETY: the caller's pointer.
        unsafe { put(out, 3) }
    })
}
