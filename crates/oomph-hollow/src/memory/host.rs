//! Host memory that CUDA gives or knows: pinned, registered, managed; and the operating system's side of addresses.

use std::ptr;

use super::{Kind, PAGE_BYTES, ledger};
use crate::fault::{Fault, Outcome};
use crate::host_account;

const HOST_PAGE_BYTES: u64 = 4096;
/// Copies at least this large look for pages that need no zeros.
const LARGE_COPY_BYTES: usize = 1 << 20;

/// Reserves addresses that cannot be touched, from a multiple of `alignment_bytes` on.
///
/// Asks for as much more as the driver does, so that they fit into the same holes between other mappings.
pub(super) fn reserve(bytes: u64, alignment_bytes: u64) -> Option<u64> {
    let padded = usize::try_from(bytes.checked_add(alignment_bytes - HOST_PAGE_BYTES)?).ok()?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
    let start = unsafe { libc::mmap(ptr::null_mut(), padded, libc::PROT_NONE, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    let (start, aligned) = (start as u64, (start as u64).next_multiple_of(alignment_bytes));
    unmap(start, aligned - start);
    unmap(aligned + bytes, start + padded as u64 - aligned - bytes);
    Some(aligned)
}

/// Gives addresses back to the operating system.
pub(super) fn unmap(address: u64, bytes: u64) {
    if bytes > 0 {
        // SAFETY: callers pass mappings, or whole pages at the ends of mappings, that were made here and that nobody
        // else knows.
        unsafe { libc::munmap(address as *mut _, bytes as usize) };
    }
}

fn map_anonymous(bytes: u64) -> Option<u64> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
    let start = unsafe { libc::mmap(ptr::null_mut(), usize::try_from(bytes).ok()?, protection, flags, -1, 0) };
    (start != libc::MAP_FAILED).then_some(start as u64)
}

fn allocate_mapped(device: u32, bytes: u64, kind: Kind) -> Outcome<u64> {
    let whole = bytes.max(1).checked_next_multiple_of(HOST_PAGE_BYTES).ok_or(Fault::OUT_OF_MEMORY)?;
    let address = map_anonymous(whole).ok_or(Fault::OUT_OF_MEMORY)?;
    ledger().note(address, bytes, kind, device);
    Ok(address)
}

/// Pinned host memory: pages that become real when the program touches them. Large requests get addresses from the
/// device's arenas, as the driver does it.
pub(crate) fn allocate_host(device: u32, bytes: u64) -> Outcome<u64> {
    let address = take_host(device, bytes)?;
    host_account::pinned(address, bytes);
    Ok(address)
}

fn take_host(device: u32, bytes: u64) -> Outcome<u64> {
    if bytes < PAGE_BYTES {
        return allocate_mapped(device, bytes, Kind::Host);
    }
    let whole = bytes.checked_next_multiple_of(PAGE_BYTES).ok_or(Fault::OUT_OF_MEMORY)?;
    let mut ledger = ledger();
    let address = ledger.device_mut(device)?.take_host_pages(whole)?;
    if !protect(address, whole, libc::PROT_READ | libc::PROT_WRITE) {
        ledger.device_mut(device)?.return_host_pages(address, whole);
        return Err(Fault::OUT_OF_MEMORY);
    }
    ledger.note(address, bytes, Kind::Host, device);
    Ok(address)
}

/// Maps fresh pages over reserved addresses.
fn protect(address: u64, bytes: u64, protection: i32) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: callers pass addresses that a device's arena reserved and that no request has.
    let start = unsafe { libc::mmap(address as *mut _, bytes as usize, protection, flags, -1, 0) };
    start != libc::MAP_FAILED
}

/// Memory that host and device share. It stays on the host here.
pub(crate) fn allocate_managed(device: u32, bytes: u64) -> Outcome<u64> {
    allocate_mapped(device, bytes, Kind::Managed)
}

/// Gives pinned memory back.
pub(crate) fn free_host(address: u64) -> Outcome {
    if address == 0 {
        return Ok(());
    }
    let ledger = ledger();
    let range = ledger.range_starting_at(address).filter(|range| range.kind == Kind::Host);
    let range = range.ok_or(Fault::INVALID_VALUE)?;
    drop(ledger);
    // Before its pages go: whoever looks asks for them.
    host_account::unpinned(address, range.bytes);
    if range.bytes < PAGE_BYTES {
        return free_mapped(address);
    }
    let mut ledger = self::ledger();
    let whole = range.bytes.next_multiple_of(PAGE_BYTES);
    ledger.remove(address);
    protect(address, whole, libc::PROT_NONE);
    ledger.device_mut(range.device)?.return_host_pages(address, whole);
    Ok(())
}

/// Gives back memory that [`allocate_host`] or [`allocate_managed`] made.
pub(super) fn free_mapped(address: u64) -> Outcome {
    let range = ledger().remove(address).ok_or(Fault::INVALID_VALUE)?;
    unmap(address, range.bytes.max(1).next_multiple_of(HOST_PAGE_BYTES));
    Ok(())
}

/// Notes that the program registered memory of its own.
pub(crate) fn register_host(device: u32, address: u64, bytes: u64) -> Outcome {
    if address == 0 || bytes == 0 || address.checked_add(bytes).is_none() {
        return Err(Fault::INVALID_VALUE);
    }
    let mut ledger = ledger();
    if ledger.overlaps(address, bytes) {
        return Err(Fault::HOST_MEMORY_ALREADY_REGISTERED);
    }
    ledger.note(address, bytes, Kind::Registered, device);
    Ok(())
}

/// Forgets memory that the program registered.
pub(crate) fn unregister_host(address: u64) -> Outcome {
    let mut ledger = ledger();
    match ledger.range_starting_at(address) {
        Some(range) if range.kind == Kind::Registered => {
            ledger.remove(address);
            Ok(())
        }
        _ => Err(Fault::HOST_MEMORY_NOT_REGISTERED),
    }
}

/// Fills host memory with zeros. Pages that were never touched are zero already and stay out of memory, so that a
/// copy of a large model to the host costs nothing either.
///
/// # Safety
///
/// `bytes` at `to` can be written.
pub(crate) unsafe fn zero(to: *mut u8, bytes: usize) {
    let page = HOST_PAGE_BYTES as usize;
    let lead = to.align_offset(page);
    if bytes < LARGE_COPY_BYTES || lead >= bytes {
        // SAFETY: the caller vouches for all of it.
        unsafe { ptr::write_bytes(to, 0, bytes) };
        return;
    }
    let pages = (bytes - lead) / page;
    let tail = lead + pages * page;
    // SAFETY: the three parts make up the caller's range: what lies before the first whole page, whole pages, the rest.
    unsafe {
        ptr::write_bytes(to, 0, lead);
        zero_pages(to.add(lead), pages);
        ptr::write_bytes(to.add(tail), 0, bytes - tail);
    }
}

/// Zeros whole pages, those that are in memory.
///
/// # Safety
///
/// `pages` whole pages at `to` can be written.
unsafe fn zero_pages(to: *mut u8, pages: usize) {
    let page = HOST_PAGE_BYTES as usize;
    let mut resident = vec![0_u8; pages.min(1 << 16)];
    let mut done = 0;
    while done < pages {
        let count = resident.len().min(pages - done);
        // SAFETY: `done + count` does not exceed `pages`.
        let start = unsafe { to.add(done * page) };
        // SAFETY: the range is mapped, since it can be written, and `resident` has a byte for each page.
        let known = unsafe { libc::mincore(start.cast(), count * page, resident.as_mut_ptr()) } == 0;
        for (index, flags) in resident.iter().take(count).enumerate() {
            if !known || flags & 1 != 0 {
                // SAFETY: the page at `index` lies in the range.
                unsafe { ptr::write_bytes(start.add(index * page), 0, page) };
            }
        }
        done += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_reach_every_byte_of_a_large_range() {
        let mut buffer = vec![7_u8; (3 << 20) + 123];
        // SAFETY: the range lies inside the buffer.
        unsafe { zero(buffer.as_mut_ptr().add(5), (3 << 20) + 100) };
        assert_eq!(buffer[..5], [7; 5]);
        assert!(buffer[5..(3 << 20) + 105].iter().all(|&byte| byte == 0));
        assert_eq!(buffer[(3 << 20) + 105..], [7; 18]);
    }

    #[test]
    fn a_range_cannot_be_registered_twice() {
        let buffer = vec![0_u8; 1 << 16];
        let address = buffer.as_ptr() as u64;
        register_host(0, address, 4096).unwrap();
        assert_eq!(register_host(0, address + 1, 10), Err(Fault::HOST_MEMORY_ALREADY_REGISTERED));
        unregister_host(address).unwrap();
        assert_eq!(unregister_host(address), Err(Fault::HOST_MEMORY_NOT_REGISTERED));
    }
}
