//! The rounds over a project: look over, walk to learn, walk to record.

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::outline::Outline;
use super::tables::Tables;
use super::walk::Walker;
use crate::facts::Facts;
use crate::python::Stmt;
use crate::source::Source;

/// Works out the facts of every file and hands each file's to `visit`, in parallel.
pub(crate) fn analyse<T: Send>(sources: &[Source], visit: impl Fn(usize, &Facts<'_>) -> T + Sync) -> Vec<Option<T>> {
    let mut relevant: Vec<bool> = sources.par_iter().map(Source::concerns_torch).collect();
    let mut tables = Tables::link(outlines(sources, &relevant));
    let with_torch = tables.files_with_torch();
    for (relevant, with_torch) in relevant.iter_mut().zip(&with_torch) {
        *relevant &= with_torch;
    }
    let files = || (0..sources.len()).into_par_iter();
    let outlined = |file: usize| !tables.outlines[file].module.is_empty();
    let learnt = files()
        .map(|file| if outlined(file) { Some(walker(&tables, file, sources, false).walk_file().0) } else { None });
    let learnt = learnt.collect::<Vec<_>>().into_iter().map(Option::unwrap_or_default).collect();
    tables.absorb(learnt);
    // A meter that never says `torch` is given tensors all the same.
    for file in tables.files_given_graphs() {
        relevant[file as usize] = with_torch[file as usize];
    }
    files()
        .map(|file| {
            relevant[file].then(|| {
                let (_, log, names) = walker(&tables, file, sources, true).walk_file();
                visit(file, &Facts::new(&sources[file], file as u32, &tables, log, names))
            })
        })
        .collect()
}

fn walker<'a, 't>(tables: &'t Tables<'a>, file: usize, sources: &'a [Source], record: bool) -> Walker<'a, 't> {
    Walker::new(tables, file as u32, &sources[file], record)
}

/// Outlines of the files that have to do with torch, of those they may import, and of those that may import them: a
/// script that only says `Trainer(model, steps=1).fit()` never names torch.
fn outlines<'a>(sources: &'a [Source], relevant: &[bool]) -> Vec<Outline<'a>> {
    let files = sources.par_iter().zip(relevant);
    let mut outlines: Vec<Option<Outline<'a>>> =
        files.map(|(source, relevant)| relevant.then(|| Outline::of(source))).collect();
    let mut imported: FxHashSet<&str> = FxHashSet::default();
    for outline in outlines.iter().flatten() {
        #[expect(clippy::iter_over_hash_type, reason = "a set is made of it")]
        for full in outline.imports.values() {
            imported.extend(full.rsplit('.').take(2));
        }
        imported.extend(outline.stars.iter().filter_map(|module| module.rsplit('.').next()));
    }
    let own = sources.iter().zip(relevant).filter(|(_, relevant)| **relevant).map(|(source, _)| stem(&source.name));
    let own: FxHashSet<&str> = own.collect();
    let is_tied = |source: &Source| imported.contains(stem(&source.name)) || imports_any(source, &own);
    let missing: Vec<usize> = (0..sources.len()).filter(|&file| !relevant[file] && is_tied(&sources[file])).collect();
    let found: Vec<Outline<'a>> = missing.par_iter().map(|&file| Outline::of(&sources[file])).collect();
    for (file, outline) in missing.into_iter().zip(found) {
        outlines[file] = Some(outline);
    }
    outlines.into_iter().map(Option::unwrap_or_default).collect()
}

/// Whether the body of a file imports one of these modules, by the last part of its name.
fn imports_any(source: &Source, modules: &FxHashSet<&str>) -> bool {
    let is_one = |name: &str| name.rsplit('.').next().is_some_and(|last| modules.contains(last));
    source.body().iter().any(|stmt| match stmt {
        Stmt::Import(import) => import.names.iter().any(|alias| is_one(alias.name.as_str())),
        Stmt::ImportFrom(import) => {
            let from = import.module.as_ref().is_some_and(|module| is_one(module.as_str()));
            from || import.names.iter().any(|alias| modules.contains(alias.name.as_str()))
        }
        _ => false,
    })
}

fn stem(path: &str) -> &str {
    let path = path.strip_suffix(".py").unwrap_or(path);
    let path = path.strip_suffix("/__init__").unwrap_or(path);
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use crate::{Project, RuleSet, Selection, Source, check};

    #[test]
    fn a_script_that_never_names_torch_says_what_it_starts_with() {
        let trainer = "import torch


class Trainer:
    def __init__(self, loader, every: int = 1):
        self.loader = loader
        self.every = every
        self.net = torch.nn.Linear(8, 8)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def fit(self):
        for step, x in enumerate(self.loader, start=1):
            (self.net(x).sum() / self.every).backward()
            if step % self.every == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
";
        let told = |every: u32| {
            let start =
                format!("from data import loader\nfrom trainer import Trainer\n\nTrainer(loader, every={every})\n");
            let sources = [("trainer.py", trainer.to_owned()), ("start.py", start)];
            let sources = sources.map(|(name, text)| Source::parse(name, text));
            let found = check(&Project::new(sources.into()), &Selection::same(RuleSet::defaults()));
            found[0].iter().filter(|finding| finding.rule == "last-micro-batches-not-stepped").count()
        };
        assert_eq!((told(1), told(4)), (0, 1));
    }
}
