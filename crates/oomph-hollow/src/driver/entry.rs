//! How programs find the driver's functions: by name and version.
//!
//! Only functions that are modelled, or that fail cleanly, are found. cuDNN's engines bring a runtime of their own that
//! asks for hundreds and trusts what it gets; to be told "not found" is an answer it can live with. The driver's private
//! tables are likewise not there.

use std::ffi::{c_char, c_int, c_void};

use crate::call::{driver, put, put_if_wanted};
use crate::cudart::name;
use crate::fault::{Fault, Outcome, words};
use crate::long_tail::DRIVER;
use crate::version;

/// What a search for a function comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Function(*const c_void),
    Nothing,
    /// There is one, in a newer version of CUDA than the caller names.
    TooNew,
}

/// Functions whose parameters changed: the versions of CUDA from which each applies.
const VERSIONS: &[(&str, &[(c_int, &str)])] = &[
    ("cuCtxCreate", &[(3020, "cuCtxCreate_v2"), (11_040, "cuCtxCreate_v3"), (12_050, "cuCtxCreate_v4")]),
    ("cuCtxGetDevice", &[(2000, "cuCtxGetDevice"), (13_000, "cuCtxGetDevice_v2")]),
    ("cuCtxSynchronize", &[(2000, "cuCtxSynchronize"), (13_000, "cuCtxSynchronize_v2")]),
    ("cuGetProcAddress", &[(11_030, "cuGetProcAddress"), (12_000, "cuGetProcAddress_v2")]),
    ("cuGraphAddNode", &[(12_020, "cuGraphAddNode"), (12_030, "cuGraphAddNode_v2")]),
    ("cuGraphGetEdges", &[(10_000, "cuGraphGetEdges"), (12_030, "cuGraphGetEdges_v2")]),
    ("cuGraphInstantiate", &[(10_000, "cuGraphInstantiate"), (12_000, "cuGraphInstantiateWithFlags")]),
    (
        "cuGraphNodeGetDependencies",
        &[(10_000, "cuGraphNodeGetDependencies"), (12_030, "cuGraphNodeGetDependencies_v2")],
    ),
    (
        "cuGraphNodeGetDependentNodes",
        &[(10_000, "cuGraphNodeGetDependentNodes"), (12_030, "cuGraphNodeGetDependentNodes_v2")],
    ),
    ("cuMulticastBindMem", &[(12_010, "cuMulticastBindMem"), (13_010, "cuMulticastBindMem_v2")]),
    (
        "cuStreamGetCaptureInfo",
        &[
            (10_010, "cuStreamGetCaptureInfo"),
            (11_030, "cuStreamGetCaptureInfo_v2"),
            (12_030, "cuStreamGetCaptureInfo_v3"),
        ],
    ),
    ("cuStreamGetCtx", &[(9020, "cuStreamGetCtx"), (12_050, "cuStreamGetCtx_v2")]),
    (
        "cuStreamUpdateCaptureDependencies",
        &[(11_030, "cuStreamUpdateCaptureDependencies"), (12_030, "cuStreamUpdateCaptureDependencies_v2")],
    ),
];

fn exact(symbol: &str) -> Option<*const c_void> {
    let at = DRIVER.binary_search_by(|(known, _)| (*known).cmp(symbol)).ok()?;
    DRIVER.get(at).map(|(_, function)| *function as *const c_void)
}

/// Looks a function up as a program of a version of CUDA means it.
pub(crate) fn find(symbol: &[u8], cuda_version: c_int) -> Found {
    let Ok(symbol) = std::str::from_utf8(symbol) else { return Found::Nothing };
    if let Some((_, versions)) = VERSIONS.iter().find(|(known, _)| *known == symbol) {
        let suitable = versions.iter().rev().find(|(since, _)| *since <= cuda_version);
        return match suitable {
            Some((_, symbol)) => exact(symbol).map_or(Found::Nothing, Found::Function),
            None => Found::TooNew,
        };
    }
    // Where versions differ in the width of a number or not at all, the newest is meant.
    let newest = (2..=4).rev().find_map(|version| exact(&format!("{symbol}_v{version}")));
    newest.or_else(|| exact(symbol)).map_or(Found::Nothing, Found::Function)
}

unsafe fn put_address(symbol: *const c_char, out: *mut *const c_void, version: c_int, status: *mut c_int) -> Outcome {
    // SAFETY: the caller's string.
    let found = find(unsafe { name(symbol) }?, version);
    let (address, result) = match found {
        Found::Function(address) => (address, 0),
        Found::Nothing => (std::ptr::null(), 1),
        Found::TooNew => (std::ptr::null(), 2),
    };
    // SAFETY: the caller's pointers.
    unsafe { put(out, address) }?;
    // SAFETY: the caller's pointers.
    unsafe { put_if_wanted(status, result) };
    if result == 0 { Ok(()) } else { Err(Fault::NOT_FOUND) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetProcAddress(
    symbol: *const c_char,
    out: *mut *const c_void,
    version: c_int,
    _flags: u64,
) -> c_int {
    // SAFETY: the caller's pointers.
    driver(|| unsafe { put_address(symbol, out, version, std::ptr::null_mut()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetProcAddress_v2(
    symbol: *const c_char,
    out: *mut *const c_void,
    version: c_int,
    _flags: u64,
    status: *mut c_int,
) -> c_int {
    // SAFETY: the caller's pointers.
    driver(|| unsafe { put_address(symbol, out, version, status) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetExportTable(out: *mut *const c_void, _id: *const [u8; 16]) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { put_if_wanted(out, std::ptr::null()) };
    Fault::NOT_FOUND.0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(out: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    driver(|| unsafe { put(out, version::driver()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(error: c_int, out: *mut *const c_char) -> c_int {
    driver(|| {
        let text = words(error).map(|words| words.text.as_ptr());
        // SAFETY: the caller's pointer.
        unsafe { put(out, text.unwrap_or(std::ptr::null())) }?;
        text.map(drop).ok_or(Fault::INVALID_VALUE)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(error: c_int, out: *mut *const c_char) -> c_int {
    driver(|| {
        let text = words(error).map(|words| words.driver_name.as_ptr());
        // SAFETY: the caller's pointer.
        unsafe { put(out, text.unwrap_or(std::ptr::null())) }?;
        text.map(drop).ok_or(Fault::INVALID_VALUE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_name_and_version() {
        assert!(DRIVER.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(find(b"cuMemAlloc", 12_000), Found::Function(exact("cuMemAlloc_v2").unwrap()));
        assert_eq!(find(b"cuCtxCreate", 11_000), Found::Function(exact("cuCtxCreate_v2").unwrap()));
        assert_eq!(find(b"cuCtxCreate", 13_000), Found::Function(exact("cuCtxCreate_v4").unwrap()));
        assert_eq!(find(b"cuStreamGetCtx", 9000), Found::TooNew);
        assert_eq!(find(b"cuNoSuchThing", 13_000), Found::Nothing);
        assert_eq!(find(b"\xff", 13_000), Found::Nothing);
    }

    #[test]
    fn every_version_that_is_named_exists() {
        for (_, symbol) in VERSIONS.iter().flat_map(|(_, versions)| *versions) {
            assert!(exact(symbol).is_some(), "{symbol}");
        }
    }
}
