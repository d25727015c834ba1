//! Which files are checked: those named, and the Python files under the folders named.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::{WalkBuilder, WalkState};
use oomph_check::Kind;
use oomph_check::settings::Settings;

use crate::error::Error;
use crate::settings::Resolver;

/// A file to check.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// As the user would write it.
    pub(crate) name: String,
    /// Where it is, links resolved.
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) settings: Arc<Settings>,
}

/// Every file under `paths`, each once, in order. A file that is named is taken whatever it is called.
pub(crate) fn discover(paths: &[PathBuf], resolver: &Resolver) -> Result<Vec<File>, Error> {
    let mut files = Vec::new();
    for path in paths {
        let unreadable = |source| Error::Read { path: path.clone(), source };
        let full = path.canonicalize().map_err(unreadable)?;
        if full.is_dir() {
            let (mut found, skipped) = walk(path, &full, resolver, true);
            if found.is_empty() && skipped {
                // The folder itself is ignored, as `.venv` is: whoever names it wants it checked.
                (found, _) = walk(path, &full, resolver, false);
            }
            files.append(&mut found);
        } else {
            let settings = resolver.of(full.parent().unwrap_or(&full));
            files.push(File { name: name(path), kind: kind(&full).unwrap_or(Kind::Script), path: full, settings });
        }
    }
    if let Some(fault) = resolver.fault() {
        return Err(fault);
    }
    files.sort_by(|a, b| (&a.path, &a.name).cmp(&(&b.path, &b.name)));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(files)
}

/// The Python files under a folder, and whether ignore files of version control were looked at.
fn walk(root: &Path, full: &Path, resolver: &Resolver, respect_ignores: bool) -> (Vec<File>, bool) {
    let found = Mutex::new(Vec::new());
    let walker = WalkBuilder::new(root)
        .standard_filters(respect_ignores)
        .hidden(false)
        .threads(std::thread::available_parallelism().map_or(1, usize::from))
        .build_parallel();
    walker.run(|| {
        Box::new(|entry| {
            let Ok(entry) = entry else { return WalkState::Continue };
            let path = full.join(entry.path().strip_prefix(root).unwrap_or(entry.path()));
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            if entry.depth() == 0 || (!is_folder && kind(&path).is_none()) {
                return WalkState::Continue;
            }
            let settings = resolver.of(path.parent().unwrap_or(full));
            if settings.excludes(&path) {
                return WalkState::Skip;
            }
            if let Some(kind) = kind(&path)
                && path.is_file()
            {
                // Written to by its own name: a link stays a link, and what it leads to is checked once.
                let path = if entry.path_is_symlink() { path.canonicalize().unwrap_or(path) } else { path };
                let file = File { name: name(entry.path()), path, kind, settings };
                found.lock().unwrap_or_else(PoisonError::into_inner).push(file);
            }
            WalkState::Continue
        })
    });
    (found.into_inner().unwrap_or_else(PoisonError::into_inner), respect_ignores)
}

/// What a file is by its name. Stubs (`.pyi`) hold no code that runs.
pub(crate) fn kind(path: &Path) -> Option<Kind> {
    match path.extension()?.to_str()? {
        "py" | "pyw" => Some(Kind::Script),
        "ipynb" => Some(Kind::Notebook),
        _ => None,
    }
}

/// A path without a leading `./`.
fn name(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).to_string_lossy().into_owned()
}
