//! `--watch`: checks again whenever a file changes.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use notify::{Event, RecursiveMode, Watcher as _};

use super::discover::{File, kind};
use super::{Args, run_once};
use crate::error::Error;
use crate::output;
use crate::settings::FILE_NAME;
use crate::verbs::Verdict;

/// Editors write a file in several steps: what follows this soon belongs to the same change.
const PATIENCE: Duration = Duration::from_millis(50);

/// Clears the screen and what was scrolled off it, and goes to its top.
const CLEAR: &str = "\x1b[2J\x1b[3J\x1b[H";

/// Runs until interrupted.
pub(super) fn run(args: &Args) -> Result<Verdict, Error> {
    let (sender, changes) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(sender)?;
    let mut known = BTreeSet::new();
    loop {
        if std::io::stdout().is_terminal() {
            output::data(CLEAR)?;
        }
        // A mistake in a file, or in the settings, may be mended by the next change.
        let files = match run_once(args) {
            Ok((_, files)) => files,
            Err(Error::ClosedPipe) => return Ok(Verdict::Yes),
            Err(error) => {
                output::error(&error);
                Vec::new()
            }
        };
        for folder in folders(args, &files).difference(&known.clone()) {
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
            known.insert(folder.clone());
        }
        output::note("watching for changes; interrupt to stop");
        wait(&changes);
    }
}

/// The folders whose changes matter: those with files in them. Watching all folders of an environment would exhaust the
/// system.
fn folders(args: &Args, files: &[File]) -> BTreeSet<PathBuf> {
    let parents = files.iter().filter_map(|file| file.path.parent().map(Path::to_owned));
    let roots = args.roots().into_iter().filter_map(|root| {
        let full = root.canonicalize().ok()?;
        if full.is_dir() { Some(full) } else { full.parent().map(Path::to_owned) }
    });
    parents.chain(roots).collect()
}

/// Returns when something that may change the answer has changed, and it has been quiet since.
fn wait(changes: &Receiver<notify::Result<Event>>) {
    while let Ok(change) = changes.recv() {
        if change.is_ok_and(|event| matters(&event)) {
            break;
        }
    }
    while changes.recv_timeout(PATIENCE).is_ok() {}
}

fn matters(event: &Event) -> bool {
    let is_folder = |path: &PathBuf| path.is_dir();
    let is_read = |path: &PathBuf| kind(path).is_some() || path.file_name().is_some_and(|name| name == FILE_NAME);
    !event.kind.is_access() && event.paths.iter().any(|path| is_read(path) || is_folder(path))
}
