//! Every byte oomph writes: stdout for data, stderr for all else, files whole or not at all.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anstyle::{AnsiColor, Style};

use crate::error::Error;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Writes data to stdout; colour codes are dropped unless it is a terminal or `--color always` was given.
pub(crate) fn data(text: &str) -> Result<(), Error> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Error::stdout)
}

/// JSON as it is printed: indented, one newline at the end.
pub(crate) fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

/// Tells the user something that is not data.
pub(crate) fn note(text: &str) {
    // Nobody is left to tell when stderr is closed.
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Prints an error, its causes and the way out.
pub(crate) fn error(error: &Error) {
    let mut text = format!("{ERROR}error{ERROR:#}: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let _ = write!(text, "\n  cause: {inner}");
        cause = inner.source();
    }
    if let Some(hint) = error.hint() {
        let _ = write!(text, "\n{HINT}hint{HINT:#}: {hint}");
    }
    note(&text);
}

/// Writes a file so that it is either there whole or, on any failure, not there (or as it was before).
pub(crate) fn file(path: &Path, write: impl FnOnce(&mut std::fs::File) -> std::io::Result<()>) -> Result<(), Error> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let attempt = || {
        let mut draft = tempfile::Builder::new().prefix(".oomph-").tempfile_in(folder)?;
        write(draft.as_file_mut())?;
        draft.as_file_mut().flush()?;
        make_readable(draft.as_file())?;
        draft.persist(path)?;
        Ok(())
    };
    attempt().map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Gives a temporary file, which is private at first, the permissions of an ordinary one.
#[cfg(unix)]
fn make_readable(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_file: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}
