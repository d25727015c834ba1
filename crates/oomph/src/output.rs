//! Every byte oomph writes: stdout for data, stderr for all else, files whole or not at all.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::json;
use tempfile::NamedTempFile;

use crate::error::Error;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Writes data to stdout; colour codes are dropped unless it is a terminal or `--color always` was given.
pub(crate) fn data(text: &str) -> Result<(), Error> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Error::stdout)
}

/// JSON as it is printed: indented, one newline at the end.
pub(crate) fn pretty(value: &impl Serialize) -> String {
    // Only a map with keys that are no strings can fail, and there is none.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// Writes what was found beside a script's own output, which has stdout: as it is, to stderr.
pub(crate) fn aside(text: &str) {
    // Nobody is left to tell when stderr is closed.
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Tells the user something that is not data.
pub(crate) fn note(text: &str) {
    // Nobody is left to tell when stderr is closed.
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Tells the user what to be careful about.
pub(crate) fn warning(text: &str) {
    note(&format!("{WARNING}warning{WARNING:#}: {text}"));
}

/// Tells the user what went wrong where the rest of the work goes on.
pub(crate) fn failure(text: &str) {
    note(&format!("{ERROR}error{ERROR:#}: {text}"));
}

/// Prints an error (whose text includes its causes) and the way out.
pub(crate) fn error(error: &Error) {
    if let Some(evidence) = error.evidence() {
        note(evidence);
    }
    let mut text = format!("{ERROR}error{ERROR:#}: {error}");
    if let Some(hint) = error.hint() {
        let _ = write!(text, "\n{HINT}hint{HINT:#}: {hint}");
    }
    note(&text);
}

/// Prints an error for programs, on stdout where they look for the answer.
pub(crate) fn error_as_json(message: &str, hint: Option<&str>, evidence: Option<&str>) {
    let mut error = json!({ "message": message, "hint": hint });
    if let Some(evidence) = evidence {
        error["evidence"] = evidence.into();
    }
    // The same error follows on stderr, and the exit code tells of it, even if stdout is closed.
    let _ = data(&pretty(&json!({ "error": error })));
}

/// Files that appear together, whole, or not at all: each is written beside its place and renamed at the end.
#[derive(Default)]
pub(crate) struct Drafts(Vec<(NamedTempFile, PathBuf)>);

impl Drafts {
    /// Writes one file for `path`, which stays as it is until [`Drafts::publish`].
    pub(crate) fn add(
        &mut self,
        path: &Path,
        write: impl FnOnce(&mut BufWriter<&File>) -> std::io::Result<()>,
    ) -> Result<(), Error> {
        let attempt = || {
            let draft = draft(path)?;
            let mut buffer = BufWriter::with_capacity(1 << 20, draft.as_file());
            write(&mut buffer)?;
            buffer.flush()?;
            drop(buffer);
            make_readable(draft.as_file())?;
            Ok(draft)
        };
        let draft = attempt().map_err(|source| Error::Write { path: path.to_owned(), source })?;
        self.0.push((draft, path.to_owned()));
        Ok(())
    }

    /// Writes a file that is there already anew; who may read and write it stays as it is.
    pub(crate) fn replace(&mut self, path: &Path, content: &[u8]) -> Result<(), Error> {
        self.add(path, |file| file.write_all(content))?;
        let keep = |draft: &NamedTempFile| draft.as_file().set_permissions(std::fs::metadata(path)?.permissions());
        let kept = self.0.last().map_or(Ok(()), |(draft, _)| keep(draft));
        kept.map_err(|source| Error::Write { path: path.to_owned(), source })
    }

    /// Puts every file in its place and says where it is.
    pub(crate) fn publish(self) -> Result<(), Error> {
        let paths: Vec<PathBuf> = self.0.iter().map(|(_, path)| path.clone()).collect();
        self.publish_quietly()?;
        for path in paths {
            note(&format!("wrote {}", path.display()));
        }
        Ok(())
    }

    /// Puts every file in its place.
    pub(crate) fn publish_quietly(self) -> Result<(), Error> {
        for (draft, path) in self.0 {
            draft.persist(&path).map_err(|failure| Error::Write { path, source: failure.error })?;
        }
        Ok(())
    }
}

/// Fails now if a file could not be written later, for verbs that work for long before they write.
pub(crate) fn check_place(path: &Path) -> Result<(), Error> {
    draft(path).map(drop).map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// An empty file beside the one that will be written.
fn draft(path: &Path) -> std::io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if path.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    std::fs::metadata(folder)?;
    // The error's own text would name the draft, of which nobody has heard.
    tempfile::Builder::new().prefix(".oomph-").tempfile_in(folder).map_err(|problem| problem.kind().into())
}

/// Gives a temporary file, which is private at first, the permissions of an ordinary one.
#[cfg(unix)]
fn make_readable(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_file: &File) -> std::io::Result<()> {
    Ok(())
}

/// Columns to lay text out for where stdout is no terminal: in a file it is read in one of any width.
const WIDTH_ELSEWHERE: usize = 80;

/// Lines of text are hard to follow beyond this.
const WIDTH_MAX: usize = 120;

/// Columns to lay text out for: the terminal's, or 80 where stdout is none.
pub(crate) fn width() -> usize {
    width_of(terminal_size::terminal_size_of(std::io::stdout()))
}

/// The same for text that goes to stderr.
pub(crate) fn width_aside() -> usize {
    width_of(terminal_size::terminal_size_of(std::io::stderr()))
}

fn width_of(terminal: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    let columns = terminal.map(|(columns, _)| usize::from(columns.0));
    columns.map_or(WIDTH_ELSEWHERE, |columns| columns.clamp(40, WIDTH_MAX))
}
