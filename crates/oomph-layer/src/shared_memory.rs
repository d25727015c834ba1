//! POSIX shared memory is not layered: other processes must find it. What is left of it is written down, so that the
//! plan can remove it: the file `shm`, one name a line.

use std::ffi::{CStr, c_int};

use libc::mode_t;

use crate::layer::{Layer, layer};
use crate::sys::{self, Answer, Errno, Fd};
use crate::text::{Text, below};

const FOLDER: &[u8] = b"/dev/shm";

/// `shm_open`.
pub(crate) fn open(name: &CStr, flags: c_int, mode: mode_t) -> Answer<c_int> {
    let path = path_of(name)?;
    let fd = sys::open(path.c(), flags | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK, mode)?;
    if flags & libc::O_CREAT != 0
        && let Some(layer) = layer()
    {
        note_created(layer, path.bytes());
    }
    Ok(fd)
}

/// `shm_unlink`.
pub(crate) fn unlink(name: &CStr) -> Answer<()> {
    let path = path_of(name)?;
    let answer = sys::unlink(path.c(), 0);
    if answer.is_ok()
        && let Some(layer) = layer()
    {
        note_removed(layer, path.bytes());
    }
    // As the manual has it.
    answer.map_err(|errno| if errno == Errno(libc::EPERM) { Errno(libc::EACCES) } else { errno })
}

fn path_of(name: &CStr) -> Answer<Text> {
    let bytes = name.to_bytes();
    let bytes = bytes.get(bytes.iter().position(|byte| *byte != b'/').unwrap_or(bytes.len())..).unwrap_or_default();
    if bytes.is_empty() || bytes.contains(&b'/') {
        return Err(Errno(libc::EINVAL));
    }
    Text::from(&[FOLDER, b"/", bytes])
}

/// Writes down that a program made a file, if it is one of shared memory.
pub(crate) fn note_created(layer: &Layer, path: &[u8]) {
    let Some(name) = below(path, FOLDER).and_then(|name| name.strip_prefix(b"/")) else { return };
    let _ = Text::from(&[name, b"\n"]).and_then(|line| {
        let list = open_list(layer, libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT)?;
        sys::write(list.0, line.bytes())
    });
}

/// Blanks a name out: bytes of the same number, so that nobody who appends meanwhile is disturbed.
pub(crate) fn note_removed(layer: &Layer, path: &[u8]) {
    let Some(name) = below(path, FOLDER).and_then(|name| name.strip_prefix(b"/")) else { return };
    let _ = blank(layer, name);
}

fn blank(layer: &Layer, name: &[u8]) -> Answer<()> {
    let list = open_list(layer, libc::O_RDWR)?;
    let mut text = vec![0; sys::fstat(list.0)?.st_size as usize];
    let read = sys::read(list.0, &mut text)?;
    let mut start = 0;
    for line in text.get(..read).unwrap_or_default().split(|byte| *byte == b'\n') {
        if line == name {
            sys::write_at(list.0, &vec![b'\n'; line.len()], start)?;
        }
        start += line.len() + 1;
    }
    Ok(())
}

fn open_list(layer: &Layer, flags: c_int) -> Answer<Fd> {
    Fd::open(Text::from(&[&layer.folder, b"/shm"])?.c(), flags, 0o600)
}
