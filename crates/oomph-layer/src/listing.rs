//! Listing folders: the names in the layer, and those of the real tree that it neither replaces nor removes.

use std::ffi::{CStr, c_int};

use crate::layer::Layer;
use crate::sys::{self, Answer, Errno, Fd};
use crate::text::{Text, parent};
use crate::walk::{Last, Node, Place, locate_absolute};

/// Where a name starts in the kernel's record of an entry.
const NAME_OFFSET: usize = 19;
/// Bytes that are asked of the kernel at a time.
const CHUNK_BYTES: usize = 32 << 10;

/// One name in a folder.
pub(crate) struct Entry<'a> {
    /// The record as the kernel wrote it.
    pub(crate) record: &'a [u8],
    /// The name, without its NUL.
    pub(crate) name: &'a [u8],
}

impl<'a> Entry<'a> {
    /// The first record of a buffer, and how many bytes it takes.
    pub(crate) fn first(buffer: &'a [u8]) -> Option<(Self, usize)> {
        let len = usize::from(u16::from_ne_bytes(buffer.get(16..18)?.try_into().ok()?));
        let record = buffer.get(..len)?;
        let name = CStr::from_bytes_until_nul(record.get(NAME_OFFSET..)?).ok()?.to_bytes();
        Some((Self { record, name }, len))
    }

    fn is_dots(&self) -> bool {
        self.name == b"." || self.name == b".."
    }

    fn inode(&self) -> &'a [u8] {
        self.record.get(..8).unwrap_or_default()
    }

    fn is_dir(&self) -> bool {
        self.record.get(18) == Some(&libc::DT_DIR)
    }
}

/// The records of a buffer, one after another.
fn entries(mut buffer: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    std::iter::from_fn(move || {
        let (entry, len) = Entry::first(buffer)?;
        buffer = buffer.get(len..)?;
        Some(entry)
    })
}

/// All records of a folder, as the kernel has them.
fn records(folder: &CStr) -> Answer<Vec<u8>> {
    let fd = Fd::open(folder, libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
    let mut all = Vec::new();
    loop {
        let filled = all.len();
        all.resize(filled + CHUNK_BYTES, 0);
        let got = sys::getdents(fd.0, all.get_mut(filled..).unwrap_or_default())?;
        all.truncate(filled + got);
        if got == 0 {
            return Ok(all);
        }
    }
}

/// The names of the real tree that were removed from a folder, sorted.
fn removed_names(layer: &Layer, path: &[u8]) -> Answer<Vec<Vec<u8>>> {
    let marks = match layer.mark_of(path).and_then(|folder| records(folder.c())) {
        Ok(marks) => marks,
        Err(Errno(libc::ENOENT)) => return Ok(Vec::new()),
        Err(errno) => return Err(errno),
    };
    let marked = |name: &[u8]| {
        let mark = Text::from(&[&layer.removed, path, b"/", name]).and_then(|mark| sys::lstat(mark.c()));
        mark.is_ok_and(|mark| mark.st_mode & libc::S_ISVTX != 0)
    };
    let marks = entries(&marks).filter(|mark| !mark.is_dots() && marked(mark.name));
    let mut names: Vec<_> = marks.map(|mark| mark.name.to_vec()).collect();
    names.sort_unstable();
    Ok(names)
}

/// Is the layer to be asked what this folder shows, or are the kernel's records all there is to it?
fn is_mixed(layer: &Layer, place: &Place) -> bool {
    matches!(place.node, Node::Merged { .. }) || place.path() == parent(&layer.folder)
}

/// The records of everything that a folder shows.
fn merged_records(layer: &Layer, place: &Place) -> Answer<Vec<u8>> {
    let mut upper = match place.node {
        Node::Upper(_) | Node::Merged { .. } => records(place.upper())?,
        _ => Vec::new(),
    };
    if let Node::Upper(_) = place.node {
        return Ok(upper);
    }
    let lower = records(place.lower())?;
    let mut replaced: Vec<(Vec<u8>, usize)> = Vec::new();
    let mut offset = 0;
    while let Some((entry, len)) = Entry::first(upper.get(offset..).unwrap_or_default()) {
        replaced.push((entry.name.to_vec(), offset));
        offset += len;
    }
    replaced.sort_unstable();
    let removed = removed_names(layer, place.path())?;
    let hidden = |name: &[u8]| Text::from(&[place.path(), b"/", name]).is_ok_and(|path| layer.is_hidden(path.bytes()));
    let mut shown = Vec::new();
    for entry in entries(&lower) {
        let gone = removed.binary_search_by(|name| name.as_slice().cmp(entry.name)).is_ok();
        match replaced.binary_search_by(|(name, _)| name.as_slice().cmp(entry.name)) {
            // One folder in both trees: listed once, with the identity that `stat` gives it.
            Ok(found) if !gone && entry.is_dir() => {
                let offset = replaced.get(found).map_or(usize::MAX, |(_, offset)| *offset);
                set_inode(&mut upper, offset, &entry);
            }
            Ok(_) => {}
            Err(_) if gone || hidden(entry.name) => {}
            Err(_) => shown.extend_from_slice(entry.record),
        }
    }
    upper.append(&mut shown);
    Ok(upper)
}

/// Gives the record at an offset the inode of another, if it is of a folder.
fn set_inode(records: &mut [u8], offset: usize, of: &Entry) {
    let Some(record) = records.get_mut(offset..) else { return };
    if record.get(18) == Some(&libc::DT_DIR)
        && let Some(inode) = record.get_mut(..8)
    {
        inode.copy_from_slice(of.inode());
    }
}

/// Does a folder show no names?
pub(crate) fn is_empty(layer: &Layer, place: &Place) -> Answer<bool> {
    let records = merged_records(layer, place)?;
    Ok(entries(&records).all(|entry| entry.is_dots()))
}

/// Calls `visit` with everything that a folder shows.
pub(crate) fn for_each_child(layer: &Layer, place: &Place, visit: &mut dyn FnMut(Place) -> Answer<()>) -> Answer<()> {
    let records = merged_records(layer, place)?;
    for entry in entries(&records).filter(|entry| !entry.is_dots()) {
        visit(locate_absolute(layer, Text::from(&[place.path(), b"/", entry.name])?, Last::Kept)?)?;
    }
    Ok(())
}

/// An open folder that is being listed: what a `DIR` points to.
pub(crate) struct Stream {
    /// The open folder, closed by [`Stream::close`].
    pub(crate) fd: c_int,
    /// Records, 8-byte aligned as C wants them.
    buffer: Vec<u64>,
    filled: usize,
    at: usize,
    /// Everything is in the buffer, and positions are offsets in it.
    whole: bool,
    /// The kernel's position of what comes next.
    next_position: i64,
}

impl Stream {
    /// A stream over an open folder, starting where the descriptor stands.
    pub(crate) fn new(layer: &Layer, fd: c_int, place: Option<&Place>) -> Answer<Self> {
        let mut stream = Self { fd, buffer: Vec::new(), filled: 0, at: 0, whole: false, next_position: 0 };
        stream.start(layer, place)?;
        Ok(stream)
    }

    /// Starts anew with what the folder shows now.
    pub(crate) fn start(&mut self, layer: &Layer, place: Option<&Place>) -> Answer<()> {
        (self.filled, self.at, self.next_position) = (0, 0, 0);
        let mixed = place.filter(|place| is_mixed(layer, place));
        self.whole = mixed.is_some();
        if let Some(place) = mixed {
            let records = merged_records(layer, place)?;
            self.buffer = vec![0; records.len().div_ceil(8)];
            self.bytes_mut().get_mut(..records.len()).unwrap_or_default().copy_from_slice(&records);
            self.filled = records.len();
        }
        Ok(())
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: any eight bytes are a `u64` and the other way round.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.as_mut_ptr().cast(), self.buffer.len() * 8) }
    }

    /// The next record, valid until the next call; none at the end.
    pub(crate) fn next(&mut self) -> Answer<Option<*mut libc::dirent64>> {
        if self.at >= self.filled {
            if self.whole {
                return Ok(None);
            }
            self.buffer.resize(CHUNK_BYTES / 8, 0);
            let fd = self.fd;
            self.filled = sys::getdents(fd, self.bytes_mut())?;
            self.at = 0;
        }
        let (at, filled, whole) = (self.at, self.filled, self.whole);
        let record = self.bytes_mut().get_mut(at..filled).unwrap_or_default();
        let Some((_, len)) = Entry::first(record) else { return Ok(None) };
        let after = at + len;
        if whole && let Some(position) = record.get_mut(8..16) {
            position.copy_from_slice(&(after as i64).to_ne_bytes());
        }
        let position = record.get(8..16).and_then(|bytes| bytes.try_into().ok()).map_or(0, i64::from_ne_bytes);
        let pointer = record.as_mut_ptr().cast();
        (self.at, self.next_position) = (after, position);
        Ok(Some(pointer))
    }

    /// Where the next record is.
    pub(crate) fn position(&self) -> i64 {
        self.next_position
    }

    /// Goes to a position that [`Stream::position`] gave.
    pub(crate) fn seek(&mut self, position: i64) {
        self.next_position = position;
        if self.whole {
            self.at = usize::try_from(position).unwrap_or(usize::MAX).min(self.filled);
        } else {
            let _ = sys::seek(self.fd, position, libc::SEEK_SET);
            (self.at, self.filled) = (0, 0);
        }
    }
}
