//! Starting programs: the file is found in the layer, and the child gets the layer too, whatever environment it is
//! given.
//!
//! Programs call these functions between `vfork` and `exec`, in memory that they share with their parent: everything
//! here lives on the stack.

use std::ffi::{CStr, c_char, c_int};

use crate::layer::{Layer, changed_layer, entries, is_named, layer};
use crate::ops::read;
use crate::sys::{self, Answer, CWD, Errno, Fd};
use crate::text::Text;
use crate::walk::{Last, Node, locate};

/// A list of C strings that a null pointer ends: arguments or an environment.
pub(crate) type List = *const *const c_char;

/// Pointers that fit on the stack; longer lists are allocated.
const LIST_MAX: usize = 2048;

/// As much of a script's first line as the kernel reads.
const FIRST_LINE_BYTES: usize = 256;

/// Calls `start` with the program's real path, its arguments and its environment.
pub(crate) fn prepared<T>(
    at: c_int,
    path: &CStr,
    argv: List,
    envp: List,
    start: impl FnOnce(&CStr, List, List) -> T,
) -> Answer<T> {
    let real = read::real_path(at, path, true)?;
    let script = changed_layer().map_or(Ok(None), |layer| Script::at(layer, at, path))?;
    with_environment(envp, |envp| match &script {
        None => Ok(start(real.c(), argv, envp)),
        Some(script) => {
            let interpreter = read::real_path(CWD, script.interpreter.c(), true)?;
            with_list(script.arguments(path, argv), |argv| Ok(start(interpreter.c(), argv, envp)))
        }
    })
}

/// A script in the layer: its interpreter must be told the path that the program knows, not the layer's.
struct Script {
    interpreter: Text,
    argument: Option<Text>,
}

impl Script {
    fn at(layer: &Layer, at: c_int, path: &CStr) -> Answer<Option<Self>> {
        if path.is_empty() {
            return Ok(None);
        }
        let place = locate(layer, at, path.to_bytes(), Last::Followed)?;
        let Node::Upper(_) = place.node else { return Ok(None) };
        sys::access(place.upper(), libc::X_OK)?;
        let Ok(file) = Fd::open(place.upper(), libc::O_RDONLY, 0) else { return Ok(None) };
        let mut line = [0u8; FIRST_LINE_BYTES];
        let read = sys::read(file.0, &mut line)?;
        Self::parse(line.get(..read).unwrap_or_default())
    }

    fn parse(start: &[u8]) -> Answer<Option<Self>> {
        let Some(line) = start.strip_prefix(b"#!") else { return Ok(None) };
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
        let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        let (interpreter, argument) = line.split_at_checked(end).unwrap_or_default();
        if interpreter.is_empty() {
            return Err(Errno(libc::ENOEXEC));
        }
        let argument = argument.trim_ascii();
        let argument = if argument.is_empty() { None } else { Some(Text::from(&[argument])?) };
        Ok(Some(Self { interpreter: Text::from(&[interpreter])?, argument }))
    }

    /// The interpreter, its argument, the script, and the script's own arguments.
    fn arguments<'a>(&'a self, path: &'a CStr, argv: List) -> impl Iterator<Item = *const c_char> + 'a {
        let head = [Some(self.interpreter.c()), self.argument.as_ref().map(Text::c), Some(path)];
        head.into_iter().flatten().map(CStr::as_ptr).chain(entries(argv).skip(1).map(CStr::as_ptr))
    }
}

/// Calls `run` with an environment that has everything a child of this plan needs.
pub(crate) fn with_environment<T>(envp: List, run: impl FnOnce(List) -> T) -> T {
    let Some(layer) = layer() else { return run(envp) };
    let theirs = entries(envp).find(|entry| is_named(entry.to_bytes(), b"LD_PRELOAD"));
    let merged = layer.preload.as_deref().map(|ours| merged_preload(ours, theirs));
    let preload = merged.as_ref().map(|merged| merged.as_ref().map_or(c"", Text::c));
    let missing = layer.kept.iter().filter(|kept| !has_name_of(envp, kept)).map(|kept| kept.as_ptr());
    let others = entries(envp).filter(|entry| preload.is_none() || !is_named(entry.to_bytes(), b"LD_PRELOAD"));
    with_list(others.map(CStr::as_ptr).chain(missing).chain(preload.map(CStr::as_ptr)), run)
}

fn has_name_of(envp: List, kept: &CStr) -> bool {
    let name = kept.to_bytes().split(|byte| *byte == b'=').next().unwrap_or_default();
    entries(envp).any(|entry| is_named(entry.to_bytes(), name))
}

/// `LD_PRELOAD` with everything that this process was started with, then what the program added.
fn merged_preload(ours: &CStr, theirs: Option<&CStr>) -> Answer<Text> {
    let mut merged = Text::from(&[ours.to_bytes()])?;
    let added = theirs.and_then(|theirs| theirs.to_bytes().strip_prefix(b"LD_PRELOAD=")).unwrap_or_default();
    for name in libraries(added) {
        let known = ours.to_bytes().strip_prefix(b"LD_PRELOAD=").unwrap_or_default();
        if libraries(known).all(|library| library != name) {
            merged.push(b":")?;
            merged.push(name)?;
        }
    }
    Ok(merged)
}

fn libraries(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| matches!(byte, b':' | b' ')).filter(|name| !name.is_empty())
}

/// Calls `run` with a list for C.
fn with_list<T>(items: impl Iterator<Item = *const c_char>, run: impl FnOnce(List) -> T) -> T {
    let mut list = [std::ptr::null::<c_char>(); LIST_MAX];
    let mut items = items.peekable();
    for slot in list.iter_mut().take(LIST_MAX - 1) {
        match items.next() {
            Some(item) => *slot = item,
            None => return run(list.as_ptr()),
        }
    }
    if items.peek().is_none() {
        return run(list.as_ptr());
    }
    let mut long: Vec<_> = list.iter().copied().take(LIST_MAX - 1).chain(items).collect();
    long.push(std::ptr::null());
    run(long.as_ptr())
}

/// Puts back what the program has taken out of its own environment, before libc starts a shell with it.
pub(crate) fn restore_environment() {
    let Some(layer) = layer() else { return };
    for kept in &layer.kept {
        let name = kept.to_bytes().split(|byte| *byte == b'=').next().unwrap_or_default();
        if crate::layer::entry(name).is_none() {
            // SAFETY: the text lives as long as the process.
            unsafe { libc::putenv(kept.as_ptr().cast_mut()) };
        }
    }
    let merged = layer.preload.as_deref().map(|ours| merged_preload(ours, crate::layer::entry(b"LD_PRELOAD")));
    if let Some(Ok(merged)) = merged {
        // SAFETY: two C strings, which libc copies.
        unsafe { libc::setenv(c"LD_PRELOAD".as_ptr(), merged.c_from(c"LD_PRELOAD=".count_bytes()).as_ptr(), 1) };
    }
}

/// `execveat`.
pub(crate) fn execute(at: c_int, path: &CStr, argv: List, envp: List, flags: c_int) -> Answer<()> {
    if path.is_empty() {
        return with_environment(envp, |envp| sys::execute(at, path, argv, envp, flags));
    }
    // Without a layer a path stays relative to its folder.
    let at_start = if changed_layer().is_some() { CWD } else { at };
    prepared(at, path, argv, envp, |path, argv, envp| sys::execute(at_start, path, argv, envp, flags))?
}

/// Calls `attempt` with every path that a name may stand for, until one is there: what a shell does with a command.
pub(crate) fn search(name: &CStr, mut attempt: impl FnMut(&CStr) -> Answer<()>) -> Answer<()> {
    if name.is_empty() {
        return Err(Errno(libc::ENOENT));
    }
    if name.to_bytes().contains(&b'/') {
        return attempt(name);
    }
    let path = crate::layer::entry(b"PATH").and_then(|entry| entry.to_bytes().strip_prefix(b"PATH="));
    let mut refused = Errno(libc::ENOENT);
    for folder in path.unwrap_or(b"/bin:/usr/bin").split(|byte| *byte == b':') {
        let slash: &[u8] = if folder.is_empty() { b"" } else { b"/" };
        let Ok(candidate) = Text::from(&[folder, slash, name.to_bytes()]) else { continue };
        match attempt(candidate.c()) {
            Err(Errno(libc::EACCES)) => refused = Errno(libc::EACCES),
            Err(Errno(libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT)) => {}
            answer => return answer,
        }
    }
    Err(refused)
}

/// Runs a file that is no program as a script of `/bin/sh`, as `execvp` does.
pub(crate) fn execute_or_shell(path: &CStr, argv: List, envp: List) -> Answer<()> {
    match execute(CWD, path, argv, envp, 0) {
        Err(Errno(libc::ENOEXEC)) => {
            let head = [c"/bin/sh".as_ptr(), path.as_ptr()].into_iter();
            let list = head.chain(entries(argv).skip(1).map(CStr::as_ptr));
            with_list(list, |argv| execute(CWD, c"/bin/sh", argv, envp, 0))
        }
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scrubbed_preload_comes_back_and_additions_stay() {
        let merged = |theirs| merged_preload(c"LD_PRELOAD=/a.so:/b.so", theirs).map(|text| text.bytes().to_vec());
        assert_eq!(merged(None).as_deref(), Ok(b"LD_PRELOAD=/a.so:/b.so".as_slice()));
        let added = merged(Some(c"LD_PRELOAD=/c.so /a.so"));
        assert_eq!(added.as_deref(), Ok(b"LD_PRELOAD=/a.so:/b.so:/c.so".as_slice()));
    }

    #[test]
    fn the_first_line_of_a_script() {
        let parsed = |text| Script::parse(text).ok().flatten();
        assert!(parsed(b"\x7fELF").is_none());
        let script = parsed(b"#! /usr/bin/env -S python -u \nprint()");
        assert_eq!(script.as_ref().map(|script| script.interpreter.bytes()), Some(b"/usr/bin/env".as_slice()));
        let argument = script.as_ref().and_then(|script| script.argument.as_ref()).map(Text::bytes);
        assert_eq!(argument, Some(b"-S python -u".as_slice()));
    }

    #[test]
    fn a_list_longer_than_the_stack_takes_is_whole() {
        let many = std::iter::repeat_n(c"x".as_ptr(), LIST_MAX + 5);
        assert_eq!(with_list(many, |list| entries(list).count()), LIST_MAX + 5);
    }
}
