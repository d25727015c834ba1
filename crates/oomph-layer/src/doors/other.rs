//! Functions that hand a path, or the environment, to the kernel by ways of their own.

use std::ffi::{c_char, c_int, c_long, c_void};

use libc::mode_t;

use super::{CText, Out, door, give, give_done, next};
use crate::exec;
use crate::layer::{fd_path, layer};
use crate::ops::open::{open, writes};
use crate::ops::read::real_path;
use crate::shared_memory;
use crate::sys::{self, Answer, CWD, Errno};
use crate::text::Text;

/// Calls the next library's function with the path by which the kernel finds a file.
fn on_real<T>(path: CText, run: impl FnOnce(CText) -> T) -> Answer<T> {
    let real = real_path(CWD, path.get()?, true)?;
    Ok(run(CText(real.c().as_ptr())))
}

/// A function of the next library; `ENOSYS` where there is none.
macro_rules! required {
    ($name:literal as $type:ty) => {
        next!($name as $type).ok_or(Errno(libc::ENOSYS))
    };
}

fn statvfs_of(path: CText, into: *mut c_void) -> Answer<c_int> {
    let real = required!("statvfs" as unsafe extern "C" fn(CText, *mut c_void) -> c_int)?;
    // SAFETY: a C string, and the caller's own memory.
    on_real(path, |path| unsafe { real(path, into) })
}

fn limit_of(path: CText, name: c_int) -> Answer<c_long> {
    let real = required!("pathconf" as unsafe extern "C" fn(CText, c_int) -> c_long)?;
    // SAFETY: a C string.
    on_real(path, |path| unsafe { real(path, name) })
}

fn open_later(actions: *mut c_void, fd: c_int, path: CText, flags: c_int, mode: mode_t) -> Answer<c_int> {
    type AddOpen = unsafe extern "C" fn(*mut c_void, c_int, CText, c_int, mode_t) -> c_int;
    let real = required!("posix_spawn_file_actions_addopen" as AddOpen)?;
    if layer().is_none() || !writes(flags) {
        // SAFETY: the caller's own actions, and a C string.
        return on_real(path, |path| unsafe { real(actions, fd, path, flags, mode) });
    }
    // The child opens it without us, so it is brought into the layer now.
    let opened = sys::Fd(open(CWD, path.get()?, flags | libc::O_CLOEXEC, mode)?);
    let known = fd_path(opened.0)?;
    let flags = flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC);
    // SAFETY: the caller's own actions, and a C string.
    Ok(unsafe { real(actions, fd, CText(known.c().as_ptr()), flags, mode) })
}

fn semaphore_path(name: CText) -> Answer<Text> {
    let name = name.get()?.to_bytes();
    Text::from(&[b"/dev/shm/sem.", name.strip_prefix(b"/").unwrap_or(name)])
}

fn open_semaphore(name: CText, flags: c_int, mode: mode_t, value: u32) -> Answer<*mut c_void> {
    let real = required!("sem_open" as unsafe extern "C" fn(CText, c_int, mode_t, u32) -> *mut c_void)?;
    if let (Some(layer), Ok(path), true) = (layer(), semaphore_path(name), flags & libc::O_CREAT != 0) {
        shared_memory::note_created(layer, path.bytes());
    }
    // SAFETY: the caller's own arguments.
    Ok(unsafe { real(name, flags, mode, value) })
}

fn remove_semaphore(name: CText) -> Answer<c_int> {
    let real = required!("sem_unlink" as unsafe extern "C" fn(CText) -> c_int)?;
    // SAFETY: the caller's own argument.
    let answer = unsafe { real(name) };
    if let (Some(layer), Ok(path), 0) = (layer(), semaphore_path(name), answer) {
        shared_memory::note_removed(layer, path.bytes());
    }
    Ok(answer)
}

fn shell(command: *const c_char) -> Answer<c_int> {
    let real = required!("system" as unsafe extern "C" fn(*const c_char) -> c_int)?;
    exec::restore_environment();
    // SAFETY: the caller's own argument.
    Ok(unsafe { real(command) })
}

fn piped_shell(command: *const c_char, mode: *const c_char) -> Answer<*mut libc::FILE> {
    let real = required!("popen" as unsafe extern "C" fn(*const c_char, *const c_char) -> *mut libc::FILE)?;
    exec::restore_environment();
    // SAFETY: the caller's own arguments.
    Ok(unsafe { real(command, mode) })
}

door! {
    /// About the file system of a path.
    statfs, statfs64 => (path: CText, into: Out<libc::statfs>) -> c_int {
        give_done(path.get().and_then(|path| into.put(sys::statfs(real_path(CWD, path, true)?.c())?)))
    }

    /// About the file system of a path, as POSIX has it.
    statvfs, statvfs64 => (path: CText, into: *mut c_void) -> c_int { give(statvfs_of(path, into)) }

    /// A limit that holds for a path.
    pathconf => (path: CText, name: c_int) -> c_long { give(limit_of(path, name).map(|limit| limit as isize)) as c_long }

    /// Watches a file or folder for changes.
    inotify_add_watch => (fd: c_int, path: CText, mask: u32) -> c_int {
        let follow = mask & libc::IN_DONT_FOLLOW == 0;
        give(path.get().and_then(|path| sys::watch(fd, real_path(CWD, path, follow)?.c(), mask)))
    }

    /// A file that a child is to open.
    posix_spawn_file_actions_addopen =>
        (actions: *mut c_void, fd: c_int, path: CText, flags: c_int, mode: mode_t) -> c_int {
        open_later(actions, fd, path, flags, mode).unwrap_or_else(|errno| errno.0)
    }

    /// The folder that a child is to work in.
    posix_spawn_file_actions_addchdir_np => (actions: *mut c_void, path: CText) -> c_int {
        type AddChdir = unsafe extern "C" fn(*mut c_void, CText) -> c_int;
        let real = required!("posix_spawn_file_actions_addchdir_np" as AddChdir);
        // SAFETY: the caller's own actions, and a C string.
        let answer = real.and_then(|real| on_real(path, |path| unsafe { real(actions, path) }));
        answer.unwrap_or_else(|errno| errno.0)
    }

    /// Opens a semaphore by its name.
    sem_open => (name: CText, flags: c_int, mode: mode_t, value: u32) -> *mut c_void {
        give(open_semaphore(name, flags, mode, value))
    }

    /// Removes a semaphore's name.
    sem_unlink => (name: CText) -> c_int { give(remove_semaphore(name)) }

    /// Runs a command.
    system => (command: *const c_char) -> c_int { give(shell(command)) }

    /// Runs a command whose input or output is a stream.
    popen => (command: *const c_char, mode: *const c_char) -> *mut libc::FILE { give(piped_shell(command, mode)) }
}
