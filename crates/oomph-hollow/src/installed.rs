//! The vendor's libraries that the program has loaded: never used for work, asked for what they know without a card,
//! such as their version.

use std::env;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

/// A library of the vendor's, kept open for the life of the process.
#[derive(Clone, Copy)]
pub(crate) struct Library(NonNull<c_void>);

// SAFETY: a handle of the loader's can be used from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// The library that is loaded from a file whose name begins so, such as `libcublas.so`.
    pub(crate) fn loaded(prefix: &str) -> Option<Self> {
        Self::open(&loaded_file(prefix)?)
    }

    /// Loads a library from a file, for this crate alone: its names are not offered to other libraries.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let name = CString::new(path.as_os_str().as_bytes()).ok()?;
        // SAFETY: a vendor's library, as the program itself loads it.
        NonNull::new(unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }).map(Self)
    }

    /// The address of one of its functions.
    pub(crate) fn symbol(self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is open, the name ends with a zero.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }

    /// What a function without parameters says, such as `cublasLtGetVersion`.
    pub(crate) fn number(self, name: &CStr) -> Option<usize> {
        let function = self.symbol(name)?;
        // SAFETY: the caller names a function with this signature.
        let function = unsafe { std::mem::transmute::<NonNull<c_void>, extern "C" fn() -> usize>(function) };
        Some(function())
    }

    /// What a function says through its only parameter, such as `ncclGetVersion`.
    pub(crate) fn number_by_pointer(self, name: &CStr) -> Option<c_int> {
        let function = self.symbol(name)?;
        // SAFETY: the caller names a function with this signature.
        let function = unsafe { std::mem::transmute::<NonNull<c_void>, extern "C" fn(&mut c_int) -> c_int>(function) };
        let mut number = 0;
        (function(&mut number) == 0).then_some(number)
    }

    /// A version by its parts, from a function such as `cusparseGetProperty`.
    pub(crate) fn property(self, name: &CStr, which: c_int) -> Option<c_int> {
        let function = self.symbol(name)?;
        // SAFETY: the caller names a function with this signature.
        let function =
            unsafe { std::mem::transmute::<NonNull<c_void>, extern "C" fn(c_int, &mut c_int) -> c_int>(function) };
        let mut number = 0;
        (function(which, &mut number) == 0).then_some(number)
    }
}

/// The file of a library that is loaded, by how its name begins.
pub(crate) fn loaded_file(prefix: &str) -> Option<PathBuf> {
    struct Search<'a> {
        prefix: &'a [u8],
        found: Option<PathBuf>,
    }
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
        // SAFETY: `data` is the search below, which outlives the walk.
        let search = unsafe { &mut *data.cast::<Search<'_>>() };
        // SAFETY: the loader hands over a valid entry, whose name ends with a zero.
        let name = unsafe { CStr::from_ptr((*info).dlpi_name) }.to_bytes();
        let file = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if file.starts_with(search.prefix) {
            search.found = Some(PathBuf::from(std::ffi::OsStr::from_bytes(name)));
        }
        c_int::from(search.found.is_some())
    }
    let mut search = Search { prefix: prefix.as_bytes(), found: None };
    // SAFETY: `look` matches the signature, and `search` lives until the walk ends.
    unsafe { libc::dl_iterate_phdr(Some(look), ptr::from_mut(&mut search).cast()) };
    search.found
}

/// The folder of the user's cuDNN: as told, or where the one stands that the program has loaded.
pub(crate) fn cudnn_folder() -> Option<PathBuf> {
    if let Some(told) = env::var_os("OOMPH_HOLLOW_CUDNN_DIR") {
        return Some(PathBuf::from(told));
    }
    loaded_file("libcudnn.so").or_else(|| loaded_file("libcudnn_graph.so"))?.parent().map(Path::to_path_buf)
}

/// The file this crate's library was loaded from.
pub(crate) fn own_file() -> Option<CString> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    let own = own_file as fn() -> Option<CString>;
    // SAFETY: the address is one of this library's, and `info` can be written.
    if unsafe { libc::dladdr(own as *const c_void, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: `dladdr` succeeded, so it filled `info`.
    let name: *const c_char = unsafe { info.assume_init() }.dli_fname;
    // SAFETY: the loader's name of a loaded library ends with a zero and stays.
    NonNull::new(name.cast_mut()).map(|name| unsafe { CStr::from_ptr(name.as_ptr()) }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loaded_library_is_found_and_asked() {
        let file = loaded_file("libc.so").unwrap();
        assert!(file.is_absolute());
        let library = Library::loaded("libc.so").unwrap();
        assert!(library.symbol(c"strlen").is_some());
        assert!(library.symbol(c"no such function").is_none());
        assert!(Library::loaded("libno-such-library.so").is_none());
    }
}
