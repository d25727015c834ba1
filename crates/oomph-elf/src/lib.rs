//! Libraries that are loaded into this process: where they lie, what they export, and how they reach other libraries.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `PT_LOAD` and `PT_DYNAMIC` of a program header.
const LOAD: u32 = libc::PT_LOAD;
const DYNAMIC: u32 = libc::PT_DYNAMIC;

const DT_NULL: u64 = 0;
const DT_PLTRELSZ: u64 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_JMPREL: u64 = 23;

/// The kinds of relocation that hold the address of a function.
#[cfg(target_arch = "x86_64")]
const FUNCTION_RELOCATIONS: [u32; 2] = [6, 7];
#[cfg(target_arch = "aarch64")]
const FUNCTION_RELOCATIONS: [u32; 2] = [1025, 1026];

/// A loaded library.
#[derive(Clone, Debug)]
pub struct Library {
    path: CString,
    base: usize,
    /// Where its parts lie, and whether each may be executed.
    parts: Vec<(Range<usize>, bool)>,
    dynamic: usize,
}

/// The loaded library with this file name.
#[must_use]
pub fn loaded(file_name: &str) -> Option<Library> {
    struct Search<'a> {
        file_name: &'a str,
        found: Option<Library>,
    }
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
        // SAFETY: the loader passes on what `dl_iterate_phdr` was called with, and its own record.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        if info.dlpi_name.is_null() {
            return 0;
        }
        // SAFETY: the loader's names end in a zero.
        let path = unsafe { CStr::from_ptr(info.dlpi_name) };
        if path.to_bytes().rsplit(|&byte| byte == b'/').next() != Some(search.file_name.as_bytes()) {
            return 0;
        }
        // SAFETY: the loader's record names that many headers.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        search.found = Some(Library::of_headers(path.to_owned(), info.dlpi_addr as usize, headers));
        1
    }
    let mut search = Search { file_name, found: None };
    // SAFETY: `visit` gets the search it expects, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

impl Library {
    fn of_headers(path: CString, base: usize, headers: &[libc::Elf64_Phdr]) -> Self {
        let start = |header: &libc::Elf64_Phdr| base + header.p_vaddr as usize;
        let part = |header: &libc::Elf64_Phdr| {
            (start(header)..start(header) + header.p_memsz as usize, header.p_flags & libc::PF_X != 0)
        };
        Self {
            path,
            base,
            parts: headers.iter().filter(|header| header.p_type == LOAD).map(part).collect(),
            dynamic: headers.iter().find(|header| header.p_type == DYNAMIC).map_or(0, start),
        }
    }

    /// Whether `bytes` bytes from an address lie in it.
    #[must_use]
    pub fn holds(&self, address: usize, bytes: usize) -> bool {
        let end = address.saturating_add(bytes);
        self.parts.iter().any(|(part, _)| part.contains(&address) && end <= part.end)
    }

    /// Whether an address is one of its instructions.
    #[must_use]
    pub fn executes(&self, address: usize) -> bool {
        self.parts.iter().any(|(part, executable)| *executable && part.contains(&address))
    }

    /// The word at an address in it.
    #[must_use]
    pub fn word(&self, address: usize) -> Option<usize> {
        if !self.holds(address, 8) || !address.is_multiple_of(8) {
            return None;
        }
        // SAFETY: it lies in a mapped part of the library, all of which can be read once it is loaded.
        Some(unsafe { (address as *const usize).read() })
    }

    /// The text at an address in it, up to a zero.
    #[must_use]
    pub fn text(&self, address: usize, max_bytes: usize) -> Option<Vec<u8>> {
        let byte = |at: usize| {
            // SAFETY: as above.
            self.holds(at, 1).then(|| unsafe { (at as *const u8).read() })
        };
        let bytes: Option<Vec<u8>> =
            (address..address.checked_add(max_bytes)?).map(byte).take_while(|byte| *byte != Some(0)).collect();
        bytes
    }

    /// Where an exported symbol lies.
    #[must_use]
    pub fn symbol(&self, name: &CStr) -> Option<usize> {
        // SAFETY: the path is the loader's own, and nothing is loaded anew.
        let handle = unsafe { libc::dlopen(self.path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            return None;
        }
        // SAFETY: the handle is open; giving it back keeps the library, which was loaded before.
        let address = unsafe {
            let address = libc::dlsym(handle, name.as_ptr());
            libc::dlclose(handle);
            address
        };
        Some(address as usize).filter(|&address| address != 0)
    }

    /// The places where it keeps the address of a function of another library.
    #[must_use]
    pub fn imports(&self, function: &CStr) -> Vec<usize> {
        let entries = self.dynamic_entries();
        let entry = |tag: u64| entries.iter().find(|(found, _)| *found == tag).map(|&(_, value)| value as usize);
        let (Some(strings), Some(symbols)) = (entry(DT_STRTAB), entry(DT_SYMTAB)) else { return Vec::new() };
        let tables = [(entry(DT_JMPREL), entry(DT_PLTRELSZ)), (entry(DT_RELA), entry(DT_RELASZ))];
        let relocations = tables.into_iter().flat_map(|(start, bytes)| {
            let (start, bytes) = (start.unwrap_or(0), bytes.unwrap_or(0));
            (start..start.saturating_add(bytes)).step_by(24)
        });
        let wanted = |at: usize| {
            let (offset, info) = (self.word(at)?, self.word(at + 8)?);
            if !FUNCTION_RELOCATIONS.contains(&(info as u32)) {
                return None;
            }
            let name = self.word(symbols + (info >> 32) * 24)? as u32 as usize;
            (self.text(strings + name, 64)? == function.to_bytes()).then_some(self.base + offset)
        };
        relocations.filter_map(wanted).collect()
    }

    /// Tags and values; glibc has turned offsets into addresses.
    fn dynamic_entries(&self) -> Vec<(u64, u64)> {
        let entry = |at: usize| Some((self.word(at)? as u64, self.word(at + 8)? as u64));
        (0..256).map_while(|index| entry(self.dynamic + index * 16).filter(|&(tag, _)| tag != DT_NULL)).collect()
    }
}

/// The name of the exported symbol that begins at an address, and its size.
#[must_use]
pub fn symbol_at(address: usize) -> Option<(Vec<u8>, usize)> {
    // SAFETY: an all-zero record is a valid one to be filled.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let mut symbol: *const libc::Elf64_Sym = std::ptr::null();
    // SAFETY: any address may be asked about; the loader fills both records or says 0.
    let found = unsafe { dladdr1(address as *const c_void, &raw mut info, (&raw mut symbol).cast(), DL_SYMENT) };
    if found == 0 || symbol.is_null() || info.dli_sname.is_null() || info.dli_saddr as usize != address {
        return None;
    }
    // SAFETY: both belong to the library's own tables, which stay as long as it is loaded.
    Some(unsafe { (CStr::from_ptr(info.dli_sname).to_bytes().to_vec(), (*symbol).st_size as usize) })
}

const DL_SYMENT: c_int = 1;

unsafe extern "C" {
    fn dladdr1(address: *const c_void, info: *mut libc::Dl_info, extra: *mut *mut c_void, flags: c_int) -> c_int;
}

/// The address of a symbol of any library that the program sees.
#[must_use]
pub fn global_symbol(name: &CStr) -> Option<usize> {
    // SAFETY: a search by name among what is loaded.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    Some(address as usize).filter(|&address| address != 0)
}

/// Sets one of the places of [`Library::imports`] to another function; the loader may have made its page read-only.
/// Returns whether that could be done.
///
/// # Safety
/// The place is one where a loaded library keeps the address of a function, and the new function takes and gives what
/// the one there did.
#[must_use]
pub unsafe fn redirect(place: usize, function: usize) -> bool {
    // SAFETY: a question without side effects.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as usize;
    let (start, access) = ((place & !(page - 1)) as *mut c_void, libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: pages of the library's own data; making them writable takes nothing away from anybody.
    if unsafe { libc::mprotect(start, page, access) } != 0 {
        return false;
    }
    // SAFETY: an aligned word that holds the address of a function; other threads read it whole.
    unsafe { (*(place as *const AtomicUsize)).store(function, Ordering::Release) };
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libc_is_loaded_and_exports_what_it_does() {
        let libc = loaded("libc.so.6").expect("every test is linked to it");
        let address = libc.symbol(c"getpid").expect("exported");
        assert!(libc.executes(address) && libc.holds(address, 1));
        assert!(symbol_at(address).is_some_and(|(name, bytes)| name.ends_with(b"getpid") && bytes > 0));
        assert_eq!(libc.symbol(c"no_such_function_anywhere"), None);
        assert!(!libc.holds(8, 8));
        assert_eq!(libc.word(8), None);
        assert!(loaded("no-such-library.so").is_none());
    }
}
