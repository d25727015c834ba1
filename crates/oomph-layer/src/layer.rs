//! The layer of this plan: where it is and what it leaves alone. Read once from the environment.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use crate::state::State;
use crate::sys::{self, Answer, CWD};
use crate::text::{Text, below};

/// Folders of the kernel: nothing in them is a file of the user.
const KERNEL_FOLDERS: [&[u8]; 3] = [b"/dev", b"/proc", b"/sys"];

/// The variables that say where the layer is; every child gets them.
const OWN_VARIABLES: [&[u8]; 4] =
    [b"OOMPH_LAYER", b"OOMPH_LAYER_LIMIT_BYTES", b"OOMPH_LAYER_OPEN", b"OOMPH_LAYER_KEEP"];

/// A plan's private files.
pub(crate) struct Layer {
    /// The folder of the plan; programs do not see it.
    pub(crate) folder: Box<[u8]>,
    /// The upper tree: `root/home/me/x` stands for `/home/me/x`.
    pub(crate) root: Box<[u8]>,
    /// The tree of marks for what was removed: `removed/home/me/x`.
    pub(crate) removed: Box<[u8]>,
    /// Copies before they are complete.
    pub(crate) work: Box<[u8]>,
    /// Folders that are written through.
    open: Vec<Box<[u8]>>,
    /// What all processes share.
    pub(crate) state: State,
    /// How many bytes the layer may take.
    pub(crate) limit_bytes: u64,
    /// `NAME=value`, each with its NUL: what every child must have.
    pub(crate) kept: Vec<Box<CStr>>,
    /// `LD_PRELOAD=...` as this process was started with.
    pub(crate) preload: Option<Box<CStr>>,
}

static LAYER: OnceLock<Option<Layer>> = OnceLock::new();

/// The layer, unless this process has none.
pub(crate) fn layer() -> Option<&'static Layer> {
    LAYER.get_or_init(Layer::from_environment).as_ref()
}

/// The layer once something in it differs from the real tree; until then reading needs no care.
pub(crate) fn changed_layer() -> Option<&'static Layer> {
    layer().filter(|layer| layer.state.changed())
}

// Before the program can change its environment or make threads.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = {
    extern "C" fn at_load() {
        if layer().is_some() {
            crate::trap::install();
        }
    }
    at_load
};

impl Layer {
    fn from_environment() -> Option<Self> {
        let folder = variable(b"OOMPH_LAYER").filter(|folder| folder.starts_with(b"/"))?;
        let folder = canonical(trimmed(folder));
        let state = State::map(Text::from(&[&folder, b"/state"]).ok()?.c()).ok()?;
        let named = |name: &[u8]| [&folder, name].concat().into_boxed_slice();
        let (root, removed, work) = (named(b"/root"), named(b"/removed"), named(b"/work"));
        for part in [&root, &removed, &work] {
            let _ = sys::mkdir(Text::from(&[part]).ok()?.c(), 0o755);
        }
        let open = variable(b"OOMPH_LAYER_OPEN").unwrap_or_default();
        let open = open.split(|byte| *byte == b':').filter(|folder| folder.starts_with(b"/"));
        let limit = variable(b"OOMPH_LAYER_LIMIT_BYTES").and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
        let keep = variable(b"OOMPH_LAYER_KEEP").unwrap_or_default().split(|byte| *byte == b':');
        Some(Self {
            root,
            removed,
            work,
            open: open.map(|folder| canonical(trimmed(folder))).collect(),
            state,
            limit_bytes: limit.unwrap_or(u64::MAX),
            kept: OWN_VARIABLES.into_iter().chain(keep).filter_map(entry).map(Box::from).collect(),
            preload: entry(b"LD_PRELOAD").map(Box::from),
            folder,
        })
    }

    /// Is this canonical path written through for real?
    pub(crate) fn is_through(&self, path: &[u8]) -> bool {
        KERNEL_FOLDERS.iter().any(|folder| below(path, folder).is_some())
            || self.open.iter().any(|folder| below(path, folder).is_some())
    }

    /// Is this canonical path the plan's own folder, which programs do not see?
    pub(crate) fn is_hidden(&self, path: &[u8]) -> bool {
        *path == *self.folder && !self.open.iter().any(|open| below(open, path).is_some())
    }

    /// A path as the program may see it: one in the upper tree is the path that it stands for.
    pub(crate) fn visible<'a>(&self, path: &'a [u8]) -> &'a [u8] {
        match below(path, &self.root) {
            Some(b"") => b"/",
            Some(rest) => rest,
            None => path,
        }
    }

    /// The path of the mark for a canonical path.
    pub(crate) fn mark_of(&self, path: &[u8]) -> Answer<Text> {
        Text::from(&[&self.removed, path])
    }
}

/// Without the slashes at its end.
fn trimmed(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    path.get(..end).unwrap_or_default()
}

/// The folder's path without links, as the kernel knows it.
fn canonical(folder: &[u8]) -> Box<[u8]> {
    let known = || {
        let opened = sys::Fd::open(Text::from(&[folder]).ok()?.c(), libc::O_PATH | libc::O_DIRECTORY, 0).ok()?;
        Some(fd_path(opened.0).ok()?.bytes().into())
    };
    known().unwrap_or_else(|| folder.into())
}

/// The path of an open descriptor as the kernel knows it; `ENOTDIR` for what has none, such as a pipe.
pub(crate) fn fd_path(fd: i32) -> Answer<Text> {
    let mut digits = [0; 20];
    let link = Text::from(&[b"/proc/self/fd/", crate::text::decimal(u64::from(fd.unsigned_abs()), &mut digits)])?;
    let mut path = Text::new();
    match path.fill(|into| sys::readlink_at(CWD, link.c(), into)) {
        Err(_) => Err(sys::Errno(libc::EBADF)),
        Ok(()) if path.bytes().starts_with(b"/") => Ok(path),
        Ok(()) => Err(sys::Errno(libc::ENOTDIR)),
    }
}

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// The entry `NAME=value` of the environment.
pub(crate) fn entry(name: &[u8]) -> Option<&'static CStr> {
    // SAFETY: `environ` is libc's own.
    let start = unsafe { environ };
    entries(start).find(|entry| is_named(entry.to_bytes(), name))
}

/// Does an entry of the environment have this name?
pub(crate) fn is_named(entry: &[u8], name: &[u8]) -> bool {
    entry.strip_prefix(name).is_some_and(|rest| rest.starts_with(b"="))
}

/// The entries of an environment.
pub(crate) fn entries(start: *const *const c_char) -> impl Iterator<Item = &'static CStr> {
    let mut next = start;
    std::iter::from_fn(move || {
        if next.is_null() {
            return None;
        }
        // SAFETY: an environment is a list of C strings that a null pointer ends, and it is not read past that.
        unsafe {
            let text = *next;
            next = next.add(usize::from(!text.is_null()));
            (!text.is_null()).then(|| CStr::from_ptr(text))
        }
    })
}

fn variable(name: &[u8]) -> Option<&'static [u8]> {
    entry(name)?.to_bytes().get(name.len() + 1..)
}
