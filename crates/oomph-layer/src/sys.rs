//! System calls, made directly.
//!
//! The functions of libc that do the same are the ones this library replaces, so calling them would come back here.
//! Nothing in this file touches `errno`.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;

use libc::{mode_t, stat as Stat, timespec};
use syscalls::Sysno;

/// What the kernel refused with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) c_int);

/// The value of a call, or why it was refused.
pub(crate) type Answer<T> = Result<T, Errno>;

/// Relative paths start at the working directory.
pub(crate) const CWD: c_int = libc::AT_FDCWD;

#[cfg(target_arch = "x86_64")]
const FSTATAT: Sysno = Sysno::newfstatat;
#[cfg(not(target_arch = "x86_64"))]
const FSTATAT: Sysno = Sysno::fstatat;

/// Any system call.
///
/// # Safety
/// As the call's own manual page says: pointers must be valid for what the kernel does with them.
pub(crate) unsafe fn raw(number: Sysno, args: [usize; 6]) -> Answer<usize> {
    let [first, second, third, fourth, fifth, sixth] = args;
    // SAFETY: the caller vouches for the arguments.
    unsafe { syscalls::syscall6(number, first, second, third, fourth, fifth, sixth) }
        .map_err(|errno| Errno(errno.into_raw()))
}

/// The kernel takes six arguments; the last of a call that has fewer says that it is ours.
fn padded<const N: usize>(given: [usize; N]) -> [usize; 6] {
    let mut all = [0, 0, 0, 0, 0, crate::trap::PASS];
    for (slot, value) in all.iter_mut().zip(given) {
        *slot = value;
    }
    all
}

macro_rules! call {
    ($name:ident $(, $arg:expr)*) => { call!(@ Sysno::$name $(, $arg)*) };
    (@ $number:expr $(, $arg:expr)*) => {{
        let args = padded([$($arg as usize),*]);
        // SAFETY: every pointer handed over here comes from a reference or a C string that outlives the call.
        unsafe { raw($number, args) }
    }};
}

/// Opens a file; the descriptor belongs to the caller.
pub(crate) fn open(path: &CStr, flags: c_int, mode: mode_t) -> Answer<c_int> {
    openat(CWD, path, flags, mode)
}

/// Opens a file relative to a folder.
pub(crate) fn openat(at: c_int, path: &CStr, flags: c_int, mode: mode_t) -> Answer<c_int> {
    call!(openat, at, path.as_ptr(), flags | libc::O_LARGEFILE, mode).map(|fd| fd as c_int)
}

/// Closes a descriptor that this library opened.
pub(crate) fn close(fd: c_int) {
    let _ = call!(close, fd);
}

/// A descriptor that is closed when it goes out of scope.
pub(crate) struct Fd(pub(crate) c_int);

impl Fd {
    /// Opens a file for this library's own use.
    pub(crate) fn open(path: &CStr, flags: c_int, mode: mode_t) -> Answer<Self> {
        open(path, flags | libc::O_CLOEXEC, mode).map(Self)
    }
}

impl Drop for Fd {
    fn drop(&mut self) {
        close(self.0);
    }
}

/// `fstatat`.
pub(crate) fn stat_at(at: c_int, path: &CStr, flags: c_int) -> Answer<Stat> {
    let mut stat = MaybeUninit::<Stat>::zeroed();
    call!(@ FSTATAT, at, path.as_ptr(), stat.as_mut_ptr(), flags)?;
    // SAFETY: zeroed is a valid `stat`, and the kernel filled it.
    Ok(unsafe { stat.assume_init() })
}

/// What stands at a path, a link being itself.
pub(crate) fn lstat(path: &CStr) -> Answer<Stat> {
    stat_at(CWD, path, libc::AT_SYMLINK_NOFOLLOW)
}

/// What an open descriptor stands for.
pub(crate) fn fstat(fd: c_int) -> Answer<Stat> {
    stat_at(fd, c"", libc::AT_EMPTY_PATH)
}

/// `statx`.
pub(crate) fn statx(at: c_int, path: &CStr, flags: c_int, mask: u32) -> Answer<libc::statx> {
    let mut found = MaybeUninit::<libc::statx>::zeroed();
    call!(statx, at, path.as_ptr(), flags, mask, found.as_mut_ptr())?;
    // SAFETY: zeroed is a valid `statx`, and the kernel filled it.
    Ok(unsafe { found.assume_init() })
}

/// May this process do that, asked with its effective ids.
pub(crate) fn access(path: &CStr, mode: c_int) -> Answer<()> {
    access_at(CWD, path, mode, libc::AT_EACCESS)
}

/// `faccessat`.
pub(crate) fn access_at(at: c_int, path: &CStr, mode: c_int, flags: c_int) -> Answer<()> {
    if flags == 0 {
        return call!(faccessat, at, path.as_ptr(), mode).map(drop);
    }
    match call!(faccessat2, at, path.as_ptr(), mode, flags) {
        // Kernels before 5.8 ask with the real ids.
        Err(Errno(libc::ENOSYS)) => call!(faccessat, at, path.as_ptr(), mode).map(drop),
        answer => answer.map(drop),
    }
}

/// The target of a link, into `into`; the number of bytes.
pub(crate) fn readlink_at(at: c_int, path: &CStr, into: &mut [MaybeUninit<u8>]) -> Answer<usize> {
    call!(readlinkat, at, path.as_ptr(), into.as_mut_ptr(), into.len())
}

/// `mkdir`, with the umask applied.
pub(crate) fn mkdir(path: &CStr, mode: mode_t) -> Answer<()> {
    call!(mkdirat, CWD, path.as_ptr(), mode).map(drop)
}

/// `unlinkat`.
pub(crate) fn unlink(path: &CStr, flags: c_int) -> Answer<()> {
    call!(unlinkat, CWD, path.as_ptr(), flags).map(drop)
}

/// `renameat2`.
pub(crate) fn rename(from: &CStr, to: &CStr, flags: c_uint) -> Answer<()> {
    call!(renameat2, CWD, from.as_ptr(), CWD, to.as_ptr(), flags).map(drop)
}

/// `linkat`.
pub(crate) fn link(at: c_int, from: &CStr, to: &CStr, flags: c_int) -> Answer<()> {
    call!(linkat, at, from.as_ptr(), CWD, to.as_ptr(), flags).map(drop)
}

/// `symlink`.
pub(crate) fn symlink(target: &CStr, path: &CStr) -> Answer<()> {
    call!(symlinkat, target.as_ptr(), CWD, path.as_ptr()).map(drop)
}

/// `mknod`, with the umask applied.
pub(crate) fn mknod(path: &CStr, mode: mode_t, device: u64) -> Answer<()> {
    call!(mknodat, CWD, path.as_ptr(), mode, device).map(drop)
}

/// `chmod` of what is not a link.
pub(crate) fn chmod(path: &CStr, mode: mode_t) -> Answer<()> {
    call!(fchmodat, CWD, path.as_ptr(), mode).map(drop)
}

/// `fchmod`.
pub(crate) fn fchmod(fd: c_int, mode: mode_t) -> Answer<()> {
    call!(fchmod, fd, mode).map(drop)
}

/// `lchown`.
pub(crate) fn lchown(path: &CStr, uid: u32, gid: u32) -> Answer<()> {
    call!(fchownat, CWD, path.as_ptr(), uid, gid, libc::AT_SYMLINK_NOFOLLOW).map(drop)
}

/// `fchown`.
pub(crate) fn fchown(fd: c_int, uid: u32, gid: u32) -> Answer<()> {
    call!(fchown, fd, uid, gid).map(drop)
}

/// `unlinkat`.
pub(crate) fn unlink_at(at: c_int, path: &CStr, flags: c_int) -> Answer<()> {
    call!(unlinkat, at, path.as_ptr(), flags).map(drop)
}

/// `mkdirat`.
pub(crate) fn mkdir_at(at: c_int, path: &CStr, mode: mode_t) -> Answer<()> {
    call!(mkdirat, at, path.as_ptr(), mode).map(drop)
}

/// `mknodat`.
pub(crate) fn mknod_at(at: c_int, path: &CStr, mode: mode_t, device: u64) -> Answer<()> {
    call!(mknodat, at, path.as_ptr(), mode, device).map(drop)
}

/// `symlinkat`.
pub(crate) fn symlink_at(target: &CStr, at: c_int, path: &CStr) -> Answer<()> {
    call!(symlinkat, target.as_ptr(), at, path.as_ptr()).map(drop)
}

/// `linkat`.
pub(crate) fn link_at(from_at: c_int, from: &CStr, at: c_int, to: &CStr, flags: c_int) -> Answer<()> {
    call!(linkat, from_at, from.as_ptr(), at, to.as_ptr(), flags).map(drop)
}

/// `renameat2`.
pub(crate) fn rename_at(from_at: c_int, from: &CStr, at: c_int, to: &CStr, flags: c_uint) -> Answer<()> {
    call!(renameat2, from_at, from.as_ptr(), at, to.as_ptr(), flags).map(drop)
}

/// `fchmodat`, as the kernel has it: links are followed.
pub(crate) fn chmod_at(at: c_int, path: &CStr, mode: mode_t) -> Answer<()> {
    call!(fchmodat, at, path.as_ptr(), mode).map(drop)
}

/// `fchownat`.
pub(crate) fn chown_at(at: c_int, path: &CStr, uid: u32, gid: u32, flags: c_int) -> Answer<()> {
    call!(fchownat, at, path.as_ptr(), uid, gid, flags).map(drop)
}

/// `utimensat`.
pub(crate) fn set_times_at(at: c_int, path: &CStr, times: *const timespec, flags: c_int) -> Answer<()> {
    call!(utimensat, at, path.as_ptr(), times, flags).map(drop)
}

/// `truncate`.
pub(crate) fn truncate(path: &CStr, bytes: i64) -> Answer<()> {
    call!(truncate, path.as_ptr(), bytes).map(drop)
}

/// Sets access and modification time; now, where none are given.
pub(crate) fn set_times(path: &CStr, times: Option<&[timespec; 2]>) -> Answer<()> {
    let times = times.map_or(std::ptr::null(), std::ptr::from_ref);
    call!(utimensat, CWD, path.as_ptr(), times, libc::AT_SYMLINK_NOFOLLOW).map(drop)
}

/// `futimens`.
pub(crate) fn set_fd_times(fd: c_int, times: *const timespec) -> Answer<()> {
    call!(utimensat, fd, 0usize, times, 0).map(drop)
}

/// The access and modification time of a file, in the form that sets them.
pub(crate) fn times_of(stat: &Stat) -> [timespec; 2] {
    [
        timespec { tv_sec: stat.st_atime, tv_nsec: stat.st_atime_nsec },
        timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec },
    ]
}

/// `chdir`.
pub(crate) fn chdir(path: &CStr) -> Answer<()> {
    call!(chdir, path.as_ptr()).map(drop)
}

/// The kernel's working directory, with its NUL, into `into`; the number of bytes without it.
pub(crate) fn getcwd(into: &mut [MaybeUninit<u8>]) -> Answer<usize> {
    call!(getcwd, into.as_mut_ptr(), into.len()).map(|with_nul| with_nul.saturating_sub(1))
}

/// `execveat`, or `execve` where that says the same: kernels in containers may know only the older call.
pub(crate) fn execute(
    at: c_int,
    path: &CStr,
    argv: *const *const c_char,
    envp: *const *const c_char,
    flags: c_int,
) -> Answer<()> {
    if flags == 0 && (at == CWD || path.to_bytes().starts_with(b"/")) {
        return call!(execve, path.as_ptr(), argv, envp).map(drop);
    }
    call!(execveat, at, path.as_ptr(), argv, envp, flags).map(drop)
}

/// `ftruncate`.
pub(crate) fn ftruncate(fd: c_int, bytes: i64) -> Answer<()> {
    call!(ftruncate, fd, bytes).map(drop)
}

/// `lseek`.
pub(crate) fn seek(fd: c_int, offset: i64, whence: c_int) -> Answer<i64> {
    call!(lseek, fd, offset, whence).map(|offset| offset as i64)
}

/// Makes `into` share all blocks of `from`, where the file system can.
pub(crate) fn clone_file(into: c_int, from: c_int) -> Answer<()> {
    const FICLONE: u32 = 0x4004_9409;
    call!(ioctl, into, FICLONE, from).map(drop)
}

/// Copies bytes inside the kernel, both descriptors moving on.
pub(crate) fn copy_range(from: c_int, into: c_int, bytes: usize) -> Answer<usize> {
    call!(copy_file_range, from, 0usize, into, 0usize, bytes, 0)
}

/// `read`.
pub(crate) fn read(fd: c_int, into: &mut [u8]) -> Answer<usize> {
    call!(read, fd, into.as_mut_ptr(), into.len())
}

/// `write`.
pub(crate) fn write(fd: c_int, from: &[u8]) -> Answer<usize> {
    call!(write, fd, from.as_ptr(), from.len())
}

/// `pwrite`.
pub(crate) fn write_at(fd: c_int, from: &[u8], offset: usize) -> Answer<usize> {
    call!(pwrite64, fd, from.as_ptr(), from.len(), offset)
}

/// Directory entries in the kernel's form.
pub(crate) fn getdents(fd: c_int, into: &mut [u8]) -> Answer<usize> {
    call!(getdents64, fd, into.as_mut_ptr(), into.len())
}

/// Maps a file that all processes of a plan share.
pub(crate) fn map_shared(fd: c_int, bytes: usize) -> Answer<*mut c_void> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    call!(mmap, 0usize, bytes, protection, libc::MAP_SHARED, fd, 0).map(|address| address as *mut c_void)
}

/// `getxattr`, or `lgetxattr` for a link itself.
pub(crate) fn get_attribute(path: &CStr, name: &CStr, value: *mut c_void, bytes: usize, follow: bool) -> Answer<usize> {
    let number = if follow { Sysno::getxattr } else { Sysno::lgetxattr };
    call!(@ number, path.as_ptr(), name.as_ptr(), value, bytes)
}

/// `listxattr`, or `llistxattr` for a link itself.
pub(crate) fn list_attributes(path: &CStr, value: *mut c_void, bytes: usize, follow: bool) -> Answer<usize> {
    let number = if follow { Sysno::listxattr } else { Sysno::llistxattr };
    call!(@ number, path.as_ptr(), value, bytes)
}

/// `setxattr`, or `lsetxattr` for a link itself.
pub(crate) fn set_attribute(
    path: &CStr,
    name: &CStr,
    value: *mut c_void,
    bytes: usize,
    flags: c_int,
    follow: bool,
) -> Answer<()> {
    let number = if follow { Sysno::setxattr } else { Sysno::lsetxattr };
    call!(@ number, path.as_ptr(), name.as_ptr(), value, bytes, flags).map(drop)
}

/// `removexattr`, or `lremovexattr` for a link itself.
pub(crate) fn remove_attribute(path: &CStr, name: &CStr, follow: bool) -> Answer<()> {
    let number = if follow { Sysno::removexattr } else { Sysno::lremovexattr };
    call!(@ number, path.as_ptr(), name.as_ptr()).map(drop)
}

/// `fsetxattr`.
pub(crate) fn set_fd_attribute(fd: c_int, name: &CStr, value: *mut c_void, bytes: usize, flags: c_int) -> Answer<()> {
    call!(fsetxattr, fd, name.as_ptr(), value, bytes, flags).map(drop)
}

/// `fremovexattr`.
pub(crate) fn remove_fd_attribute(fd: c_int, name: &CStr) -> Answer<()> {
    call!(fremovexattr, fd, name.as_ptr()).map(drop)
}

/// `bind`.
pub(crate) fn bind(fd: c_int, address: *const libc::sockaddr, bytes: usize) -> Answer<()> {
    call!(bind, fd, address, bytes).map(drop)
}

/// `connect`.
pub(crate) fn connect(fd: c_int, address: *const libc::sockaddr, bytes: usize) -> Answer<()> {
    call!(connect, fd, address, bytes).map(drop)
}

/// `getsockname`.
pub(crate) fn own_address(fd: c_int, address: *mut libc::sockaddr, length: *mut libc::socklen_t) -> Answer<()> {
    call!(getsockname, fd, address, length).map(drop)
}

/// `getpeername`.
pub(crate) fn peer_address(fd: c_int, address: *mut libc::sockaddr, length: *mut libc::socklen_t) -> Answer<()> {
    call!(getpeername, fd, address, length).map(drop)
}

/// `statfs`.
pub(crate) fn statfs(path: &CStr) -> Answer<libc::statfs> {
    let mut found = MaybeUninit::<libc::statfs>::zeroed();
    call!(statfs, path.as_ptr(), found.as_mut_ptr())?;
    // SAFETY: zeroed is a valid `statfs`, and the kernel filled it.
    Ok(unsafe { found.assume_init() })
}

/// `inotify_add_watch`.
pub(crate) fn watch(fd: c_int, path: &CStr, mask: u32) -> Answer<c_int> {
    call!(inotify_add_watch, fd, path.as_ptr(), mask).map(|watch| watch as c_int)
}

/// Promises that no child gains rights, which the kernel asks of whoever sets a filter.
pub(crate) fn forbid_new_privileges() -> Answer<()> {
    call!(prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).map(drop)
}

/// Sets a filter for system calls, for all threads of this process.
pub(crate) fn set_filter(flags: usize, filter: &libc::sock_fprog) -> Answer<()> {
    call!(seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, std::ptr::from_ref(filter)).map(drop)
}

/// Fills a buffer with random bytes, as far as the kernel gives them.
pub(crate) fn random(into: &mut [u8]) {
    let _ = call!(getrandom, into.as_mut_ptr(), into.len(), 0);
}

/// The effective user.
pub(crate) fn euid() -> u32 {
    call!(geteuid).map_or(0, |uid| uid as u32)
}

/// This process.
pub(crate) fn pid() -> c_int {
    call!(getpid).map_or(0, |pid| pid as c_int)
}

/// This thread.
pub(crate) fn tid() -> c_int {
    call!(gettid).map_or(0, |tid| tid as c_int)
}

/// Ends this process at once.
pub(crate) fn end_process() {
    let _ = call!(kill, pid(), libc::SIGKILL);
}

/// A C string of the caller, or `EFAULT` for none.
///
/// # Safety
/// `text` is null or points to bytes that end in a NUL and stay as they are for `'a`.
pub(crate) unsafe fn c_str<'a>(text: *const c_char) -> Answer<&'a CStr> {
    if text.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: not null, and the caller vouches for the rest.
    Ok(unsafe { CStr::from_ptr(text) })
}
