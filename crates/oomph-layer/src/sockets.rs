//! Sockets with a path. The kernel takes only 107 bytes of it, and a path in the layer is longer than the one it stands
//! for: where it does not fit, a short link in `s/` stands for the folder.

use std::ffi::{CStr, c_int};

use crate::layer::{Layer, changed_layer, layer};
use crate::state::PathHash;
use crate::sys::{self, Answer, Errno, Fd};
use crate::text::{Text, below, decimal, parent};
use crate::upper::prepare;
use crate::walk::{Last, Node, Place, locate, read_link};

/// Bytes before the path in an address.
const FAMILY_BYTES: usize = size_of::<libc::sa_family_t>();

/// A socket's address as C has it.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    /// Null, or valid for `bytes`.
    pub(crate) start: *const libc::sockaddr,
    /// Its length.
    pub(crate) bytes: usize,
}

impl Address {
    /// The path of a socket that has one.
    fn path(&self) -> Option<Text> {
        if self.start.is_null() || self.bytes <= FAMILY_BYTES {
            return None;
        }
        // SAFETY: the caller says that so many bytes are there.
        let bytes = unsafe { std::slice::from_raw_parts(self.start.cast::<u8>(), self.bytes) };
        let (family, path) = bytes.split_at_checked(FAMILY_BYTES)?;
        let is_local = family == (libc::AF_UNIX as libc::sa_family_t).to_ne_bytes();
        let path = path.split(|byte| *byte == 0).next().filter(|path| is_local && !path.is_empty())?;
        Text::from(&[path]).ok()
    }
}

/// An address with another path.
fn address_of(path: &[u8]) -> Answer<libc::sockaddr_un> {
    let mut address = libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
    if path.len() >= address.sun_path.len() {
        return Err(Errno(libc::ENAMETOOLONG));
    }
    for (slot, byte) in address.sun_path.iter_mut().zip(path) {
        *slot = (*byte).cast_signed() as libc::c_char;
    }
    Ok(address)
}

/// `bind`: the socket's name is made in the layer.
pub(crate) fn bind(fd: c_int, address: Address) -> Answer<()> {
    let Some((layer, path)) = layer().zip(address.path()) else {
        return sys::bind(fd, address.start, address.bytes);
    };
    let place = locate(layer, sys::CWD, path.bytes(), Last::Named)?;
    match place.node {
        Node::Through => return sys::bind(fd, address.start, address.bytes),
        Node::Absent => {}
        _ => return Err(Errno(libc::EADDRINUSE)),
    }
    prepare(layer, &place)?;
    let short = address_of(short_path(layer, &place)?.bytes())?;
    sys::bind(fd, (&raw const short).cast(), size_of::<libc::sockaddr_un>())
}

/// `connect`.
pub(crate) fn connect(fd: c_int, address: Address) -> Answer<()> {
    let Some((layer, path)) = changed_layer().zip(address.path()) else {
        return sys::connect(fd, address.start, address.bytes);
    };
    let place = locate(layer, sys::CWD, path.bytes(), Last::Followed)?;
    match place.node {
        Node::Upper(_) => {}
        Node::Absent => return Err(Errno(libc::ENOENT)),
        _ => return sys::connect(fd, address.start, address.bytes),
    }
    let short = address_of(short_path(layer, &place)?.bytes())?;
    sys::connect(fd, (&raw const short).cast(), size_of::<libc::sockaddr_un>())
}

/// Where the short links are.
const LINKS: &[u8] = b"/s";

/// A path in the layer that is short enough for an address.
fn short_path(layer: &Layer, place: &Place) -> Answer<Text> {
    let whole = Text::from(&[place.upper().to_bytes()])?;
    if address_of(whole.bytes()).is_ok() {
        return Ok(whole);
    }
    let folder = parent(place.path());
    let name = place.path().get(folder.len()..).unwrap_or_default();
    let linked = Text::from(&[link_to(layer, folder)?.bytes(), name])?;
    if address_of(linked.bytes()).is_ok() {
        return Ok(linked);
    }
    // The plan's own folder is too deep: through a descriptor that stays open, so that the address can be read back.
    let opened = Fd::open(Text::from(&[&layer.root, folder])?.c(), libc::O_PATH | libc::O_DIRECTORY, 0)?;
    let mut digits = [0; 20];
    let number = decimal(u64::from(opened.0.unsigned_abs()), &mut digits);
    std::mem::forget(opened);
    Text::from(&[b"/proc/self/fd/", number, name])
}

/// A short link to a folder of the upper tree; one that another folder has taken is passed over.
fn link_to(layer: &Layer, folder: &[u8]) -> Answer<Text> {
    let links = Text::from(&[&layer.folder, LINKS])?;
    let _ = sys::mkdir(links.c(), 0o700);
    let target = Text::from(&[&layer.root, folder])?;
    for attempt in 0..100 {
        let mut digits = [0; 20];
        let number = decimal(PathHash::of(folder).mixed().wrapping_add(attempt) % 1_000_000, &mut digits);
        let link = Text::from(&[links.bytes(), b"/", number])?;
        match sys::symlink(target.c(), link.c()) {
            Ok(()) => return Ok(link),
            Err(Errno(libc::EEXIST)) if read_link(link.c())?.bytes() == target.bytes() => return Ok(link),
            Err(Errno(libc::EEXIST)) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno(libc::ENAMETOOLONG))
}

/// An address that the kernel gave, as the program may see it; none where that is the same.
pub(crate) fn seen(address: Address) -> Option<libc::sockaddr_un> {
    let (layer, path) = changed_layer().zip(address.path())?;
    if let Some(rest) = below(path.bytes(), &layer.root) {
        return address_of(rest).ok();
    }
    let links = Text::from(&[&layer.folder, LINKS]).ok()?;
    let is_ours = [links.bytes(), b"/proc/self/fd"].iter().any(|folder| below(path.bytes(), folder).is_some());
    let link = Text::from(&[parent(path.bytes())]).ok().filter(|_| is_ours)?;
    let folder = read_link(link.c()).ok()?;
    let name = path.bytes().get(link.len()..)?;
    address_of(Text::from(&[below(folder.bytes(), &layer.root)?, name]).ok()?.bytes()).ok()
}

/// Bytes of an address with a path, as the kernel counts them.
pub(crate) fn length_of(address: &libc::sockaddr_un) -> usize {
    // SAFETY: the path ends in a NUL, as `address_of` made it.
    FAMILY_BYTES + unsafe { CStr::from_ptr(address.sun_path.as_ptr()) }.count_bytes() + 1
}
