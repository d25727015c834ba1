//! What oomph's own Python asks of the library, by `ctypes` on the copy that is already loaded.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde::Serialize;

use crate::aside::{self, Doing};
use crate::{answer, count, cudnn, estimate, host_account, host_exit, memory, nccl, process, work};

/// The version of the library, as a C string.
#[unsafe(no_mangle)]
extern "C" fn oomph_hollow_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Copies from the device to the host so far.
#[unsafe(no_mangle)]
extern "C" fn oomph_hollow_reads() -> u64 {
    count::READS.get()
}

/// Has a function called on every copy from the device to the host, on the thread that copies; null for none.
///
/// # Safety
///
/// The function can be called from any thread until another one, or none, is named.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_hollow_on_read(callback: Option<count::ReadCallback>) {
    count::on_read(callback);
}

/// Has the next copy from the device to the host on this thread give `len` bytes and then zeros; none with null.
///
/// # Safety
///
/// `bytes` is null or points to `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_hollow_answer(bytes: *const u8, len: usize) {
    // SAFETY: the caller's bytes.
    let told = (!bytes.is_null()).then(|| unsafe { std::slice::from_raw_parts(bytes, len) }.to_vec());
    answer::tell(told);
}

/// What this process has on a device, its context included.
#[unsafe(no_mangle)]
extern "C" fn oomph_hollow_device_bytes(device: c_int) -> u64 {
    u32::try_from(device).map_or(0, memory::device_bytes)
}

/// The most that this process has had on a device, its context included.
#[unsafe(no_mangle)]
extern "C" fn oomph_hollow_peak_device_bytes(device: c_int) -> u64 {
    let device = usize::try_from(device).unwrap_or(usize::MAX);
    memory::peak_device_bytes().get(device).copied().unwrap_or(0)
}

/// The most that NCCL has had on a device for this process, which is part of what the device has had.
#[unsafe(no_mangle)]
extern "C" fn oomph_hollow_nccl_bytes(device: c_int) -> u64 {
    u32::try_from(device).map_or(0, nccl::most_bytes)
}

/// Writes the arithmetic of products and convolutions so far: in single precision, on tensor cores in TF32, in 16 bits.
///
/// # Safety
///
/// `counts` is null or points to three numbers.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_hollow_work(counts: *mut u64) {
    if !counts.is_null() {
        // SAFETY: not null, so the caller's three numbers.
        unsafe { counts.cast::<[u64; 3]>().write_unaligned(work::operations()) };
    }
}

/// Writes unmodelled calls as a JSON object `{name: count}` and a closing zero to a buffer of `len` bytes, if they fit
/// there, and returns how many bytes they take.
///
/// # Safety
///
/// `buf` is null or points to `len` bytes that can be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_hollow_unmodelled(buf: *mut c_char, len: usize) -> usize {
    // SAFETY: the caller's buffer.
    unsafe { put_json(&count::unmodelled_calls(), buf, len) }
}

/// Writes the answers that were estimates as a JSON list `[{"what": sentence, "count": number}]`, in the same way.
///
/// # Safety
///
/// `buf` is null or points to `len` bytes that can be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_hollow_estimates(buf: *mut c_char, len: usize) -> usize {
    // SAFETY: the caller's buffer.
    unsafe { put_json(&estimate::noted(), buf, len) }
}

/// Writes the sizes of the workspaces that cuDNN's convolutions may have asked for as a JSON list, in the same way.
///
/// # Safety
///
/// `buf` is null or points to `len` bytes that can be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_hollow_workspaces(buf: *mut c_char, len: usize) -> usize {
    // SAFETY: the caller's buffer.
    unsafe { put_json(&cudnn::workspaces(), buf, len) }
}

/// Begins to count the host's memory, once PyTorch is loaded; `is_filled` is 1 where the script computes every value.
/// Returns 1, or 0 where this build of PyTorch takes the memory of CPU tensors in another way.
#[unsafe(no_mangle)]
extern "C" fn oomph_hollow_watch_host(is_filled: c_int) -> c_int {
    c_int::from(host_account::watch(is_filled != 0))
}

/// Notes a tensor on the host that PyTorch's allocator did not make, or with negative bytes that it goes.
#[unsafe(no_mangle)]
extern "C" fn oomph_hollow_host_tensor(address: u64, bytes: i64) {
    host_account::add_unfilled_tensor(address, bytes);
}

/// Takes a look at the host's memory.
#[unsafe(no_mangle)]
extern "C" fn oomph_hollow_host_look() {
    host_account::look();
}

/// Writes what CPU tensors hold, and what was allocated for them so far and in how many blocks.
///
/// # Safety
///
/// `numbers` is null or points to three numbers.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_hollow_host_numbers(numbers: *mut u64) {
    if !numbers.is_null() {
        // SAFETY: not null, so the caller's three numbers.
        unsafe { numbers.cast::<[u64; 3]>().write_unaligned(host_account::numbers()) };
    }
}

/// Says what the calling thread does from now on, and returns what it did so far: 0 the script's work, 1 work beside the
/// script, 2 keep something for the plan.
#[unsafe(no_mangle)]
extern "C" fn oomph_hollow_aside(doing: c_int) -> c_int {
    let all = [Doing::Script, Doing::Aside, Doing::Keeping];
    let before = aside::set(usize::try_from(doing).ok().and_then(|at| all.get(at).copied()).unwrap_or(Doing::Script));
    all.iter().position(|doing| *doing == before).map_or(0, |at| at as c_int)
}

/// What the C library has given out and not got back.
#[unsafe(no_mangle)]
extern "C" fn oomph_hollow_host_heap() -> u64 {
    host_account::heap_bytes()
}

/// Writes what was seen of the host's memory as a JSON object, in the same way.
///
/// # Safety
///
/// `buf` is null or points to `len` bytes that can be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_hollow_host(buf: *mut c_char, len: usize) -> usize {
    // SAFETY: the caller's buffer.
    unsafe { put_json(&host_account::account(), buf, len) }
}

/// Has the most that was resident of this process told at its very end, as a line of the file of this name.
///
/// # Safety
///
/// `path` is null or a text that ends in a zero.
#[unsafe(no_mangle)]
unsafe extern "C" fn oomph_hollow_host_tell_exit(path: *const c_char) {
    if !path.is_null() {
        // SAFETY: not null, so the caller's text.
        let path = unsafe { CStr::from_ptr(path) };
        host_exit::tell(PathBuf::from(OsStr::from_bytes(path.to_bytes())));
    }
}

/// # Safety
///
/// `buf` is null or points to `len` bytes that can be written.
unsafe fn put_json(value: &impl Serialize, buf: *mut c_char, len: usize) -> usize {
    let mut text = serde_json::to_vec(value).unwrap_or_default();
    text.push(0);
    if !buf.is_null() && text.len() <= len {
        // SAFETY: the caller's buffer has room for `len` bytes, the text is not longer.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buf, text.len()) };
    }
    text.len()
}

/// Writes the report of this process now.
#[unsafe(no_mangle)]
extern "C" fn oomph_hollow_report() {
    process::report();
}
