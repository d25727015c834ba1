//! Puts things into the layer: folders as they are in the real tree, copies of files, marks for what was removed.
//!
//! Everything appears whole: copies are made in `work/` and renamed into place, so a process can die at any moment and
//! two can do the same at once.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

use libc::stat as Stat;

use crate::layer::Layer;
use crate::limit;
use crate::state::PathHash;
use crate::sys::{self, Answer, Errno, Fd};
use crate::text::{Text, decimal, parent};
use crate::walk::{Node, Place, is_dir, read_link};

/// Permission bits and those for set-id and sticky.
const MODE_BITS: u32 = 0o7777;

/// Is the content of a file wanted in its copy?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// All of it.
    Copied,
    /// None: the file is about to be truncated.
    Dropped,
}

/// Makes a folder of the merged tree, and all above it, exist in the layer as they are in the real tree.
pub(crate) fn ensure_folder(layer: &Layer, path: &[u8]) -> Answer<()> {
    let mut full = Text::from(&[&layer.root, path])?;
    if sys::lstat(full.c()).is_ok() {
        return Ok(());
    }
    full.truncate(layer.root.len());
    let mut hash = PathHash::ROOT;
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        let above = sys::lstat(full.c())?;
        let above_end = full.len();
        full.push(b"/")?;
        full.push(name)?;
        hash = hash.then(b"/").then(name);
        layer.state.add(hash);
        match sys::mkdir(full.c(), 0o700) {
            Ok(()) => {
                if let Ok(real) = sys::lstat(full.c_from(layer.root.len())) {
                    dress(full.c(), &real);
                }
                full.truncate(above_end);
                // Nothing changed in the folder above, as far as the program can know.
                let _ = sys::set_times(full.c(), Some(&sys::times_of(&above)));
                full.push(b"/")?;
                full.push(name)?;
            }
            Err(Errno(libc::EEXIST)) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Gives a new folder or link owner, mode and times of the real one, as far as this user may.
fn dress(path: &CStr, real: &Stat) {
    let _ = sys::lchown(path, real.st_uid, real.st_gid);
    if is_dir(real) {
        let _ = sys::chmod(path, real.st_mode & MODE_BITS);
    }
    let _ = sys::set_times(path, Some(&sys::times_of(real)));
}

/// Makes the place ready for a new entry: may the program make one here, and is the folder there to take it?
pub(crate) fn prepare(layer: &Layer, place: &Place) -> Answer<()> {
    limit::check(layer);
    may_change_folder(layer, place)?;
    ensure_folder(layer, parent(place.path()))?;
    layer.state.add(PathHash::of(place.path()));
    Ok(())
}

/// Would the real tree let this user add and remove names in the folder of this place?
pub(crate) fn may_change_folder(layer: &Layer, place: &Place) -> Answer<()> {
    if !place.folder.lower {
        // Only in the layer: the kernel will check the real thing.
        return Ok(());
    }
    let folder = parent(place.path());
    let upper = Text::from(&[&layer.root, folder])?;
    let lower = Text::from(&[if folder.is_empty() { b"/" } else { folder }])?;
    if place.folder.upper
        && let (Ok(above), Ok(real)) = (sys::lstat(upper.c()), sys::lstat(lower.c()))
        && (above.st_mode ^ real.st_mode) & MODE_BITS != 0
        && !folder.is_empty()
    {
        return sys::access(upper.c(), libc::W_OK | libc::X_OK);
    }
    sys::access(lower.c(), libc::W_OK | libc::X_OK)
}

/// In a folder like `/tmp` only the owner removes or renames a file.
pub(crate) fn may_remove(place: &Place) -> Answer<()> {
    let user = sys::euid();
    if let Node::Lower(stat) | Node::Merged { lower: stat, .. } = &place.node
        && user != 0
        && stat.st_uid != user
    {
        let folder = parent(place.path());
        let folder = Text::from(&[if folder.is_empty() { b"/" } else { folder }])?;
        if sys::lstat(folder.c()).is_ok_and(|folder| folder.st_mode & libc::S_ISVTX != 0 && folder.st_uid != user) {
            return Err(Errno(libc::EPERM));
        }
    }
    Ok(())
}

/// Says that the real file of this path is not to be seen any more, nor anything below it.
pub(crate) fn mark_removed(layer: &Layer, path: &[u8]) -> Answer<()> {
    // A folder that is in the layer is listed with care; one that is not shows all real names.
    ensure_folder(layer, parent(path))?;
    layer.state.add(PathHash::of(path));
    let mut mark = Text::from(&[&layer.removed])?;
    for name in parent(path).split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        mark.push(b"/")?;
        mark.push(name)?;
        ignore_existing(sys::mkdir(mark.c(), 0o700))?;
    }
    let mark = layer.mark_of(path)?;
    match sys::mkdir(mark.c(), 0o700 | libc::S_ISVTX) {
        Err(Errno(libc::EEXIST)) => sys::chmod(mark.c(), 0o700 | libc::S_ISVTX),
        answer => answer,
    }
}

/// Takes a mark back.
pub(crate) fn unmark(layer: &Layer, path: &[u8]) -> Answer<()> {
    sys::chmod(layer.mark_of(path)?.c(), 0o700)
}

/// A name was added to or removed from the folder of this path: its modification time says so.
pub(crate) fn touch_folder(layer: &Layer, path: &[u8]) -> Answer<()> {
    ensure_folder(layer, parent(path))?;
    sys::set_times(Text::from(&[&layer.root, parent(path)])?.c(), None)
}

/// Brings a file of the real tree into the layer, so that it can be changed there.
pub(crate) fn copy_up(layer: &Layer, place: &Place, content: Content) -> Answer<()> {
    let Node::Lower(real) = &place.node else { return Ok(()) };
    if is_dir(real) {
        return ensure_folder(layer, place.path());
    }
    limit::check(layer);
    ensure_folder(layer, parent(place.path()))?;
    layer.state.add(PathHash::of(place.path()));
    let copy = work_name(layer)?;
    match real.st_mode & libc::S_IFMT {
        libc::S_IFREG => copy_file(layer, place, real, copy.c(), content)?,
        libc::S_IFLNK => sys::symlink(read_link(place.lower())?.c(), copy.c())?,
        kind => sys::mknod(copy.c(), kind | (real.st_mode & MODE_BITS), real.st_rdev)?,
    }
    if real.st_mode & libc::S_IFMT != libc::S_IFREG {
        dress(copy.c(), real);
    }
    publish(layer, copy.c(), place)
}

/// Renames a finished copy into its place, unless another process was quicker.
fn publish(layer: &Layer, copy: &CStr, place: &Place) -> Answer<()> {
    let folder = Text::from(&[&layer.root, parent(place.path())])?;
    let before = sys::lstat(folder.c());
    let placed = match sys::rename(copy, place.upper(), libc::RENAME_NOREPLACE) {
        // File systems without that flag.
        Err(Errno(libc::EINVAL)) => sys::link(sys::CWD, copy, place.upper(), 0).inspect(|()| {
            let _ = sys::unlink(copy, 0);
        }),
        answer => answer,
    };
    if placed.is_err() {
        let _ = sys::unlink(copy, 0);
    }
    ignore_existing(placed)?;
    if let Ok(before) = before {
        let _ = sys::set_times(folder.c(), Some(&sys::times_of(&before)));
    }
    Ok(())
}

fn copy_file(layer: &Layer, place: &Place, real: &Stat, copy: &CStr, content: Content) -> Answer<()> {
    let into = Fd::open(copy, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 0o600)?;
    let copied = match content {
        Content::Copied => copy_content(layer, place, real, into.0),
        Content::Dropped => Ok(()),
    };
    if copied.is_err() {
        let _ = sys::unlink(copy, 0);
        return copied;
    }
    let _ = sys::fchown(into.0, real.st_uid, real.st_gid);
    let _ = sys::fchmod(into.0, real.st_mode & MODE_BITS);
    sys::set_fd_times(into.0, sys::times_of(real).as_ptr())
}

fn copy_content(layer: &Layer, place: &Place, real: &Stat, into: i32) -> Answer<()> {
    // Whoever may only write a file still needs its content in the copy.
    let from = Fd::open(place.lower(), libc::O_RDONLY, 0)?;
    if sys::clone_file(into, from.0).is_ok() {
        return Ok(());
    }
    let bytes = (real.st_blocks as u64 * 512).min(real.st_size as u64);
    limit::take(layer, place.path(), bytes)?;
    let mut data = 0;
    while let Ok(start) = sys::seek(from.0, data, libc::SEEK_DATA) {
        let end = sys::seek(from.0, start, libc::SEEK_HOLE).unwrap_or(real.st_size);
        sys::seek(from.0, start, libc::SEEK_SET)?;
        sys::seek(into, start, libc::SEEK_SET)?;
        copy_span(from.0, into, (end - start) as usize)?;
        data = end;
    }
    sys::ftruncate(into, sys::fstat(from.0)?.st_size)
}

/// Copies that many bytes, or as many as there are.
fn copy_span(from: i32, into: i32, mut bytes: usize) -> Answer<()> {
    while bytes > 0 {
        match sys::copy_range(from, into, bytes) {
            Ok(0) => return Ok(()),
            Ok(copied) => bytes -= copied.min(bytes),
            // Not between these file systems: by hand.
            Err(_) => return copy_by_hand(from, into, bytes),
        }
    }
    Ok(())
}

fn copy_by_hand(from: i32, into: i32, mut bytes: usize) -> Answer<()> {
    let mut buffer = [0u8; 16 << 10];
    while bytes > 0 {
        let wanted = bytes.min(buffer.len());
        let got = sys::read(from, buffer.get_mut(..wanted).unwrap_or_default())?;
        if got == 0 {
            return Ok(());
        }
        let mut rest = buffer.get(..got).unwrap_or_default();
        while !rest.is_empty() {
            let written = sys::write(into, rest)?;
            rest = rest.get(written..).unwrap_or_default();
        }
        bytes -= got;
    }
    Ok(())
}

/// A name in `work/` that no other thread of the plan uses.
pub(crate) fn work_name(layer: &Layer) -> Answer<Text> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let (mut thread, mut count, mut random) = ([0; 20], [0; 20], [0; 20]);
    let mut salt = [0; 4];
    sys::random(&mut salt);
    Text::from(&[
        &layer.work,
        b"/",
        decimal(u64::from(sys::tid().unsigned_abs()), &mut thread),
        b".",
        decimal(COUNT.fetch_add(1, Ordering::Relaxed), &mut count),
        b".",
        decimal(u64::from(u32::from_ne_bytes(salt)), &mut random),
    ])
}

/// That it is already there is as good as having made it.
fn ignore_existing(answer: Answer<()>) -> Answer<()> {
    match answer {
        Err(Errno(libc::EEXIST)) => Ok(()),
        answer => answer,
    }
}
