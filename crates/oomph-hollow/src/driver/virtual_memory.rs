//! Virtual memory management; what it is is in `memory/virtual_memory.rs`.
//!
//! Physical memory is shared with other processes by a file that says how large it is and on which device.

use std::ffi::{c_int, c_uint, c_void};
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::{FromRawFd as _, IntoRawFd as _};

use crate::call::{driver, put};
use crate::device;
use crate::fault::{Fault, Outcome};
use crate::memory::{self, Location, PAGE_BYTES};

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
const FILE_DESCRIPTOR: c_int = 1;
const MAGIC: u64 = u64::from_ne_bytes(*b"oomph-vm");

/// `CUmemAllocationProp`.
#[repr(C)]
#[derive(Clone, Copy)]
struct AllocationProperties {
    kind: c_int,
    handle_kinds: c_int,
    location_kind: c_int,
    location_id: c_int,
    windows: usize,
    flags: [u8; 8],
}

/// A device is 1; everything else is some part of the host.
fn location(properties: &AllocationProperties) -> Outcome<Location> {
    match properties.location_kind {
        1 => device::checked(properties.location_id).map(Location::Device),
        2..=4 => Ok(Location::Host),
        _ => Err(Fault::INVALID_VALUE),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetAllocationGranularity(
    out: *mut usize,
    _properties: *const AllocationProperties,
    _option: c_int,
) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, PAGE_BYTES as usize) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemCreate(
    out: *mut u64,
    bytes: usize,
    properties: *const AllocationProperties,
    _flags: u64,
) -> c_int {
    driver(|| {
        // SAFETY: the caller's pointer.
        let properties = unsafe { properties.as_ref() }.ok_or(Fault::INVALID_VALUE)?;
        let location = location(properties)?;
        if let Location::Device(device) = location {
            device::enter_device(device)?;
        }
        // SAFETY: the caller's pointer.
        unsafe { put(out, memory::create_physical(bytes as u64, location)?) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemRelease(handle: u64) -> c_int {
    driver(|| memory::release_physical(handle))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAddressReserve(
    out: *mut u64,
    bytes: usize,
    _alignment: usize,
    _wish: u64,
    _flags: u64,
) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, memory::reserve_addresses(bytes as u64)?) })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAddressFree(address: u64, bytes: usize) -> c_int {
    driver(|| memory::release_addresses(address, bytes as u64))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemMap(address: u64, bytes: usize, _offset: usize, handle: u64, _flags: u64) -> c_int {
    driver(|| memory::map(address, bytes as u64, handle))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemUnmap(address: u64, bytes: usize) -> c_int {
    driver(|| memory::unmap(address, bytes as u64))
}

/// Who may touch it does not matter: nobody does. It must be mapped, though.
#[unsafe(no_mangle)]
extern "C" fn cuMemSetAccess(address: u64, _bytes: usize, _descriptions: *const c_void, _count: usize) -> c_int {
    driver(|| memory::physical_at(address).map(drop))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetAccess(out: *mut u64, _location: *const c_void, address: u64) -> c_int {
    driver(|| {
        memory::physical_at(address)?;
        // Readable and writable. SAFETY: the caller's pointer.
        unsafe { put(out, 3) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemRetainAllocationHandle(out: *mut u64, address: u64) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, memory::retain_physical(address)?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetAllocationPropertiesFromHandle(out: *mut AllocationProperties, handle: u64) -> c_int {
    driver(|| {
        let (_, location) = memory::physical_bytes_and_location(handle)?;
        let (location_kind, location_id) = match location {
            Location::Device(device) | Location::Imported(device) => (1, device as c_int),
            Location::Host => (2, 0),
        };
        let properties = AllocationProperties {
            kind: 1,
            handle_kinds: FILE_DESCRIPTOR,
            location_kind,
            location_id,
            windows: 0,
            flags: [0; 8],
        };
        // SAFETY: the caller's structure.
        unsafe { put(out, properties) }
    })
}

/// A file in memory that says what a handle stands for.
fn describe(bytes: u64, location: Location) -> Option<c_int> {
    let device = match location {
        Location::Device(device) | Location::Imported(device) => u64::from(device),
        Location::Host => u64::MAX,
    };
    // SAFETY: the name is a C string, and the descriptor belongs to nobody else yet.
    let mut file = unsafe {
        let descriptor = libc::memfd_create(c"oomph-hollow".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return None;
        }
        File::from_raw_fd(descriptor)
    };
    let words = [MAGIC, bytes, device].map(u64::to_ne_bytes).concat();
    file.write_all(&words).ok()?;
    Some(file.into_raw_fd())
}

/// Reads such a file, and leaves it open: it is the caller's.
fn read_description(descriptor: c_int) -> Option<(u64, Location)> {
    // SAFETY: the caller's descriptor, which is not closed here.
    let mut file = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    let mut words = [0_u8; 24];
    file.rewind().ok()?;
    file.read_exact(&mut words).ok()?;
    let word = |index: usize| words.as_chunks::<8>().0.get(index).map(|word| u64::from_ne_bytes(*word));
    let (magic, bytes, device) = (word(0)?, word(1)?, word(2)?);
    let location = if device == u64::MAX { Location::Host } else { Location::Imported(device as u32) };
    (magic == MAGIC).then_some((bytes, location))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemExportToShareableHandle(out: *mut c_void, handle: u64, kind: c_int, _flags: u64) -> c_int {
    driver(|| {
        if kind != FILE_DESCRIPTOR {
            return Err(Fault::NOT_SUPPORTED);
        }
        let (bytes, location) = memory::physical_bytes_and_location(handle)?;
        let descriptor = describe(bytes, location).ok_or(Fault::OPERATING_SYSTEM)?;
        // SAFETY: for this kind of handle the caller's variable is an int.
        unsafe { put(out.cast::<c_int>(), descriptor) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemImportFromShareableHandle(out: *mut u64, handle: *mut c_void, kind: c_uint) -> c_int {
    driver(|| {
        if kind as c_int != FILE_DESCRIPTOR {
            return Err(Fault::NOT_SUPPORTED);
        }
        // For this kind the descriptor itself takes the place of a pointer.
        let (bytes, location) = read_description(handle as usize as c_int).ok_or(Fault::INVALID_VALUE)?;
        // SAFETY: the caller's pointer.
        unsafe { put(out, memory::create_physical(bytes, location)?) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_survives_the_file() {
        let descriptor = describe(42 << 21, Location::Device(3)).unwrap();
        assert_eq!(read_description(descriptor), Some((42 << 21, Location::Imported(3))));
        // SAFETY: made here, closed once.
        unsafe { libc::close(descriptor) };
    }
}
