//! Devices, as the driver tells of them.

use std::ffi::{c_char, c_int, c_uint};

use crate::call::{driver, put, put_if_wanted};
use crate::cudart::put_text;
use crate::fault::Fault;
use crate::{attribute, card, device};

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: c_uint) -> c_int {
    driver(|| device::count().map(drop))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(out: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, device::count()? as c_int) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(out: *mut c_int, ordinal: c_int) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, device::checked(ordinal)? as c_int) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(out: *mut c_char, length: c_int, of: c_int) -> c_int {
    driver(|| {
        let card = device::card(device::checked(of)?)?;
        let room = usize::try_from(length).unwrap_or(0).saturating_sub(1);
        let title = card.title.get(..card.title.floor_char_boundary(room)).unwrap_or_default();
        // SAFETY: the caller's buffer of `length` bytes.
        unsafe { put_text(out, length, title) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetUuid_v2(out: *mut [u8; 16], of: c_int) -> c_int {
    driver(|| {
        let index = card::installed_index(device::checked(of)?).ok_or(Fault::INVALID_DEVICE)?;
        // SAFETY: the caller's 16 bytes.
        unsafe { put(out, card::uuid(index)) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetLuid(out: *mut [u8; 8], mask: *mut c_uint, _of: c_int) -> c_int {
    // SAFETY: the caller's pointers.
    driver(|| unsafe {
        put_if_wanted(mask, 0);
        put(out, [0; 8])
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(out: *mut usize, of: c_int) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, device::card(device::checked(of)?)?.memory_bytes as usize) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, of: c_int) -> c_int {
    driver(|| {
        let capability = device::card(device::checked(of)?)?.compute_capability;
        // SAFETY: the caller's pointers.
        unsafe { put(major, capability.major as c_int) }?;
        // SAFETY: the caller's pointers.
        unsafe { put(minor, capability.minor as c_int) }
    })
}

/// Unlike the runtime's, a failure here is nobody's last error.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(out: *mut c_int, number: c_int, of: c_int) -> c_int {
    driver(|| {
        let of = device::checked(of)?;
        let value = attribute::value(device::card(of)?, of, number).ok_or(Fault::INVALID_VALUE)?;
        // SAFETY: the caller's pointer.
        unsafe { put(out, value) }
    })
}
