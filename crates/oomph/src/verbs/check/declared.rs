//! Which versions of torch the project around a file declares, in whichever of the usual files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use oomph_check::TorchVersions;
use oomph_check::requirements::declares;

/// A folder of lists of requirements, beside the code.
const LISTS: &str = "requirements";

/// Finds what is declared for any folder; each folder is read once.
#[derive(Default)]
pub(crate) struct Declared {
    known: Mutex<HashMap<PathBuf, TorchVersions>>,
}

impl Declared {
    /// The versions declared for the files of a folder: by the nearest folder above that declares any, up to the root
    /// of the repository.
    pub(crate) fn of(&self, folder: &Path) -> TorchVersions {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(folder) {
            return *found;
        }
        let own = read_folder(folder);
        let is_root = folder.join(".git").exists();
        let above = folder.parent().filter(|_| own.is_empty() && !is_root);
        let found = above.map_or(own, |above| self.of(above));
        known().insert(folder.to_owned(), found);
        found
    }
}

fn read_folder(folder: &Path) -> TorchVersions {
    let files = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let own = files(folder).filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        declares(&name).then(|| (name, entry.path()))
    });
    // In a folder of lists every list counts, whatever it is called.
    let lists = files(&folder.join(LISTS)).map(|entry| (format!("{LISTS}.txt"), entry.path()));
    let lists = lists.filter(|(_, path)| path.extension().is_some_and(|ending| ending == "txt"));
    let read = |(name, path): (String, PathBuf)| {
        std::fs::read_to_string(path).map(|text| TorchVersions::declared_in(&name, &text)).unwrap_or_default()
    };
    own.chain(lists).map(read).fold(TorchVersions::default(), TorchVersions::and)
}
