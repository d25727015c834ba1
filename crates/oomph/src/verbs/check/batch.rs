//! The files of a run: read, checked, fixed, and written back.

use std::collections::HashSet;
use std::path::Path;

use oomph_check::fixes::{self, Fixed};
use oomph_check::render::Failure;
use oomph_check::{Checked, Choices, Envelope, Finding, Project, Source, TorchVersions, lint};
use rayon::prelude::*;

use super::declared::Declared;
use super::discover::File;
use crate::error::Error;
use crate::output::Drafts;

/// After so many rounds fixes that still make work for others are left to the user.
const ROUNDS_MAX: usize = 50;

/// Files that could be read, with what is around them on disk.
pub(crate) struct Batch {
    pub(crate) files: Vec<File>,
    pub(crate) project: Project,
    envelopes: Vec<Envelope>,
    pub(crate) failures: Vec<Failure>,
    declared: Declared,
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
}

/// A fix of a rule in a file, by its place in the batch.
type Made = (usize, &'static str);

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
        Self { files, project: Project::new(sources), envelopes, failures, declared: Declared::default() }
    }

    /// What there is to say about every file.
    pub(crate) fn check(&self) -> Vec<Checked> {
        let mut choices = Choices::default();
        for file in &self.files {
            choices.push(&file.settings, &file.path);
        }
        lint(&self.project, &choices, |file| self.torch(file))
    }

    /// The versions of torch that the project of a file declares.
    fn torch(&self, file: usize) -> TorchVersions {
        self.files[file].path.parent().map(|folder| self.declared.of(folder)).unwrap_or_default()
    }

    /// Checks and fixes until nothing changes any more, in memory; the last word of the check comes back too.
    pub(crate) fn mend(&mut self, risky: bool) -> (Vec<Checked>, Mended) {
        let mut mended = Mended::default();
        let mut checked = self.check();
        // Fixes after which their rule has as much to fix as before: made once more, they would be made for ever.
        let mut idle: Vec<Made> = Vec::new();
        let mut seen: HashSet<(usize, String)> = HashSet::new();
        for _ in 0..ROUNDS_MAX {
            let changed = self.round(&checked, &idle, risky);
            if changed.is_empty() {
                break;
            }
            let made: Vec<Made> =
                changed.iter().flat_map(|(index, fixed)| fixed.rules.iter().map(|rule| (*index, *rule))).collect();
            let old = self.replace(changed, &mut mended);
            seen.extend(old.iter().map(|(index, fixed)| (*index, fixed.source.text.clone())));
            let now = self.check();
            let fixable = |checked: &Checked, rule: &str| {
                checked.findings.iter().filter(|finding| finding.rule == rule && finding.fix.is_some()).count()
            };
            let is_idle = |(index, rule): &Made| fixable(&now[*index], rule) >= fixable(&checked[*index], rule);
            // Two rules may undo what the other did.
            let is_back = |index: usize| seen.contains(&(index, self.project.sources()[index].text.clone()));
            let stuck: Vec<Made> = made.into_iter().filter(|made| is_idle(made) || is_back(made.0)).collect();
            checked = if stuck.is_empty() {
                now
            } else {
                let back = old.into_iter().filter(|(index, _)| stuck.iter().any(|(file, _)| file == index)).collect();
                self.put_back(back, &mut mended);
                idle.extend(stuck);
                self.check()
            };
        }
        for (index, checked) in checked.iter_mut().enumerate() {
            let stuck = checked.findings.iter_mut().filter(|finding| idle.contains(&(index, finding.rule)));
            stuck.for_each(|finding| finding.fix = None);
        }
        mended.before.retain(|(index, before)| before.text != self.project.sources()[*index].text);
        mended.before.sort_by_key(|(index, _)| *index);
        (checked, mended)
    }

    /// The files that change in one round of fixes.
    fn round(&self, checked: &[Checked], idle: &[Made], risky: bool) -> Vec<(usize, Fixed)> {
        let files = self.project.sources().par_iter().zip(&self.envelopes).zip(checked).enumerate();
        let fixed = files.filter_map(|(index, ((source, envelope), checked))| {
            let is_wanted = |finding: &&Finding| finding.fix.is_some() && !idle.contains(&(index, finding.rule));
            let mut wanted = checked.findings.iter().filter(is_wanted).peekable();
            wanted.peek()?;
            let surroundings = self.project.surroundings(self.torch(index));
            Some((index, fixes::round(source, envelope, wanted, risky, surroundings)?))
        });
        fixed.collect()
    }

    /// Puts changed files in the place of what they were, which comes back.
    fn replace(&mut self, changed: Vec<(usize, Fixed)>, mended: &mut Mended) -> Vec<(usize, Fixed)> {
        let mut sources = std::mem::replace(&mut self.project, Project::new(Vec::new())).into_sources();
        let mut old = Vec::with_capacity(changed.len());
        for (index, fixed) in changed {
            mended.fixed += fixed.rules.len();
            let source = std::mem::replace(&mut sources[index], fixed.source);
            let envelope = std::mem::replace(&mut self.envelopes[index], fixed.envelope);
            if !mended.before.iter().any(|(known, _)| *known == index) {
                mended.before.push((index, source.alone()));
            }
            old.push((index, Fixed { source: source.alone(), envelope, rules: fixed.rules }));
        }
        self.project = Project::new(sources.into_iter().map(|source| source.alone()).collect());
        old
    }

    /// Takes a round back: files are what they were before it.
    fn put_back(&mut self, old: Vec<(usize, Fixed)>, mended: &mut Mended) {
        let mut sources = std::mem::replace(&mut self.project, Project::new(Vec::new())).into_sources();
        for (index, fixed) in old {
            mended.fixed -= fixed.rules.len();
            sources[index] = fixed.source;
            self.envelopes[index] = fixed.envelope;
        }
        self.project = Project::new(sources.into_iter().map(|source| source.alone()).collect());
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
