//! The files of a run: read, checked, fixed, and written back.

use std::path::Path;

use oomph_check::fixes::{self, Fixed};
use oomph_check::render::Failure;
use oomph_check::{Checked, Choices, Envelope, Finding, Project, Source, lint};
use rayon::prelude::*;

use super::discover::File;
use crate::error::Error;
use crate::output::Drafts;

/// After so many rounds fixes that still make work for others are left to the user.
const ROUNDS_MAX: usize = 10;

/// Files that could be read, with what is around them on disk.
pub(crate) struct Batch {
    pub(crate) files: Vec<File>,
    pub(crate) project: Project,
    envelopes: Vec<Envelope>,
    pub(crate) failures: Vec<Failure>,
}

/// A file taken apart, or why it could not be.
type Opened = Result<(Envelope, Source), Error>;

/// What fixing came to.
#[derive(Default)]
pub(crate) struct Mended {
    /// How many findings are gone.
    pub(crate) fixed: usize,
    /// The files that changed, as they were before, by their place in the batch.
    pub(crate) before: Vec<(usize, Source)>,
    /// Fixes that would have broken a file: file and rule.
    pub(crate) refused: Vec<(String, &'static str)>,
}

impl Batch {
    /// Reads every file; what cannot be read is a failure.
    pub(crate) fn read(files: Vec<File>) -> Self {
        let read = |file: File| {
            let opened = std::fs::read(&file.path)
                .map_err(|source| Error::Read { path: Path::new(&file.name).to_owned(), source })
                .and_then(|bytes| Ok(Envelope::open(&file.name, bytes, file.kind)?));
            (file, opened)
        };
        Self::assemble(files.into_par_iter().map(read).collect())
    }

    /// A batch of one file with this text.
    pub(crate) fn of_text(file: File, bytes: Vec<u8>) -> Self {
        let opened = Envelope::open(&file.name, bytes, file.kind).map_err(Error::from);
        Self::assemble(vec![(file, opened)])
    }

    fn assemble(opened: Vec<(File, Opened)>) -> Self {
        let (mut files, mut envelopes, mut sources, mut failures) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (file, opened) in opened {
            match opened {
                Ok((envelope, source)) => {
                    files.push(file);
                    envelopes.push(envelope);
                    sources.push(source);
                }
                Err(error) => failures.push(Failure { file: file.name, message: error.to_string() }),
            }
        }
        Self { files, project: Project::new(sources), envelopes, failures }
    }

    /// What there is to say about every file.
    pub(crate) fn check(&self) -> Vec<Checked> {
        let mut choices = Choices::default();
        for file in &self.files {
            choices.push(&file.settings, &file.path);
        }
        lint(&self.project, &choices)
    }

    /// Checks and fixes until nothing changes any more, in memory; the last word of the check comes back too.
    pub(crate) fn mend(&mut self, risky: bool) -> (Vec<Checked>, Mended) {
        let mut mended = Mended::default();
        let mut checked = self.check();
        let mut idle: Vec<(usize, &'static str)> = Vec::new();
        for _ in 0..ROUNDS_MAX {
            let files = self.project.sources().par_iter().zip(&self.envelopes).zip(&checked).enumerate();
            let rounds: Vec<_> = files
                .map(|(index, ((source, envelope), checked))| {
                    let is_wanted = |finding: &&Finding| !idle.contains(&(index, finding.rule));
                    fixes::round(source, envelope, checked.findings.iter().filter(is_wanted), risky)
                })
                .collect();
            let mut changed = Vec::new();
            for (index, round) in rounds.into_iter().enumerate() {
                for rule in round.refused {
                    let refusal = (self.files[index].name.clone(), rule);
                    if !mended.refused.contains(&refusal) {
                        mended.refused.push(refusal);
                    }
                }
                changed.extend(round.fixed.map(|fixed| (index, fixed)));
            }
            if changed.is_empty() {
                break;
            }
            let applied: Vec<(usize, &'static str)> =
                changed.iter().flat_map(|(index, fixed)| fixed.rules.iter().map(|rule| (*index, *rule))).collect();
            self.replace(changed, &mut mended);
            let before = std::mem::replace(&mut checked, self.check());
            // A fix after which its rule says as much as before is not made again and again.
            idle.extend(applied.into_iter().filter(|(index, rule)| {
                let count = |checked: &Checked| checked.findings.iter().filter(|finding| finding.rule == *rule).count();
                count(&checked[*index]) >= count(&before[*index])
            }));
        }
        mended.before.sort_by_key(|(index, _)| *index);
        (checked, mended)
    }

    fn replace(&mut self, changed: Vec<(usize, Fixed)>, mended: &mut Mended) {
        let mut sources = std::mem::replace(&mut self.project, Project::new(Vec::new())).into_sources();
        for (index, fixed) in changed {
            mended.fixed += fixed.rules.len();
            let old = std::mem::replace(&mut sources[index], fixed.source);
            self.envelopes[index] = fixed.envelope;
            if !mended.before.iter().any(|(known, _)| *known == index) {
                mended.before.push((index, old));
            }
        }
        self.project = Project::new(sources);
    }

    /// A file as it is to be written.
    pub(crate) fn text(&self, index: usize) -> String {
        self.envelopes[index].seal(&self.project.sources()[index])
    }

    /// Writes the files that changed, each whole, with the permissions it had.
    pub(crate) fn write(&self, mended: &Mended) -> Result<(), Error> {
        let mut drafts = Drafts::default();
        for (index, _) in &mended.before {
            drafts.replace(&self.files[*index].path, self.text(*index).as_bytes())?;
        }
        drafts.publish_quietly()
    }
}
