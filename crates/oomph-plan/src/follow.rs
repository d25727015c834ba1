//! Follows a job by what its processes write down: how far it is, and whether it is over.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use oomph_job::Watch;

/// The last fact of a process is not longer than this, as a rule; it is looked for at the end of the stream.
const TAIL_BYTES: u64 = 1 << 20;

/// Told how far the job is.
pub type Progress<'a> = &'a mut dyn FnMut(&str);

/// Looks into the folder of results.
pub(crate) struct Follow<'a> {
    results: &'a Path,
    progress: Progress<'a>,
    stage: String,
    /// The processes that have told their end.
    told: BTreeMap<PathBuf, Told>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// It ended like any other.
    End,
    /// It ran out of memory, and nothing caught that; or it was given up.
    Over,
}

impl<'a> Follow<'a> {
    pub(crate) fn new(results: &'a Path, progress: Progress<'a>) -> Self {
        Self { results, progress, stage: String::new(), told: BTreeMap::new() }
    }
}

impl Watch for Follow<'_> {
    fn look(&mut self) -> bool {
        let stage = std::fs::read_to_string(self.results.join("stage")).unwrap_or_default();
        if !stage.is_empty() && stage != self.stage {
            (self.progress)(&stage);
            self.stage = stage;
        }
        for folder in processes(self.results) {
            if let Some(told) = end_of(&folder) {
                self.told.insert(folder, told);
            }
        }
        // Launchers and parents may wait for ever for one that is gone.
        !self.told.values().any(|told| *told == Told::Over)
    }

    fn working(&self) -> Vec<u32> {
        let still = |folder: &PathBuf| !self.told.contains_key(folder) && end_of(folder).is_none();
        let number = |folder: PathBuf| folder.file_name()?.to_str()?.split_once('-')?.0.parse().ok();
        processes(self.results).into_iter().filter(still).filter_map(number).filter(|&pid| is_alive(pid)).collect()
    }
}

/// The folders of the processes that have told something.
pub(crate) fn processes(results: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(results.join("processes")) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

fn is_alive(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(')').is_some_and(|(_, rest)| !matches!(rest.trim_start().chars().next(), Some('Z' | 'X') | None))
}

fn end_of(folder: &Path) -> Option<Told> {
    let mut file = File::open(folder.join("facts.jsonl")).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).ok()?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail).ok()?;
    let text = String::from_utf8_lossy(&tail);
    let last = text.strip_suffix('\n')?.rsplit('\n').next()?;
    if !last.starts_with("[\"end\"") {
        return None;
    }
    let is_over = |kind: &str| last.contains(&format!("\"outcome\": {{\"kind\": \"{kind}\""));
    Some(if ["oom", "no_card", "card"].into_iter().any(is_over) { Told::Over } else { Told::End })
}
