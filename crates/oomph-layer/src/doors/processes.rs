//! `exec` and `posix_spawn`, with all their spellings.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::{CText, door, give_done, next};
use crate::exec::{self, List};
use crate::sys::{Answer, CWD, Errno};

unsafe extern "C" {
    static environ: List;
}

fn own_environment() -> List {
    // SAFETY: `environ` is libc's own.
    unsafe { environ }
}

fn run(at: c_int, path: CText, argv: List, envp: List, flags: c_int) -> c_int {
    give_done(path.get().and_then(|path| exec::execute(at, path, argv, envp, flags)))
}

fn run_command(name: CText, argv: List, envp: List) -> c_int {
    give_done(name.get().and_then(|name| exec::search(name, |path| exec::execute_or_shell(path, argv, envp))))
}

/// What `posix_spawn` takes besides the program.
#[derive(Clone, Copy)]
struct Spawn {
    pid: *mut libc::pid_t,
    actions: *const c_void,
    attributes: *const c_void,
    argv: List,
    envp: List,
}

impl Spawn {
    fn start(self, path: &CStr) -> Answer<()> {
        type PosixSpawn =
            unsafe extern "C" fn(*mut libc::pid_t, *const c_char, *const c_void, *const c_void, List, List) -> c_int;
        let real = next!("posix_spawn" as PosixSpawn).ok_or(Errno(libc::ENOSYS))?;
        let errno = exec::prepared(CWD, path, self.argv, self.envp, |path, argv, envp| {
            // SAFETY: the caller's own arguments, and lists that end in null.
            unsafe { real(self.pid, path.as_ptr(), self.actions, self.attributes, argv, envp) }
        })?;
        if errno == 0 { Ok(()) } else { Err(Errno(errno)) }
    }
}

/// `posix_spawn` returns its error.
fn give_errno(answer: Answer<()>) -> c_int {
    answer.map_or_else(|errno| errno.0, |()| 0)
}

door! {
    /// Becomes another program.
    execve => (path: CText, argv: List, envp: List) -> c_int { run(CWD, path, argv, envp, 0) }

    /// Becomes another program with this environment.
    execv => (path: CText, argv: List) -> c_int { run(CWD, path, argv, own_environment(), 0) }

    /// Becomes the program that a command names.
    execvp => (name: CText, argv: List) -> c_int { run_command(name, argv, own_environment()) }

    /// Becomes the program that a command names, with another environment.
    execvpe => (name: CText, argv: List, envp: List) -> c_int { run_command(name, argv, envp) }

    /// Becomes the program that is open.
    fexecve => (fd: c_int, argv: List, envp: List) -> c_int {
        run(fd, CText(c"".as_ptr()), argv, envp, libc::AT_EMPTY_PATH)
    }

    /// Becomes another program, relative to a folder.
    execveat => (at: c_int, path: CText, argv: List, envp: List, flags: c_int) -> c_int {
        run(at, path, argv, envp, flags)
    }

    /// Starts another program.
    posix_spawn => (
        pid: *mut libc::pid_t,
        path: CText,
        actions: *const c_void,
        attributes: *const c_void,
        argv: List,
        envp: List,
    ) -> c_int {
        let spawn = Spawn { pid, actions, attributes, argv, envp };
        give_errno(path.get().and_then(|path| spawn.start(path)))
    }

    /// Starts the program that a command names.
    posix_spawnp => (
        pid: *mut libc::pid_t,
        name: CText,
        actions: *const c_void,
        attributes: *const c_void,
        argv: List,
        envp: List,
    ) -> c_int {
        let spawn = Spawn { pid, actions, attributes, argv, envp };
        give_errno(name.get().and_then(|name| exec::search(name, |path| spawn.start(path))))
    }
}
