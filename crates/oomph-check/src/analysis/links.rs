//! Which files of a project run together: who imports whom.

use super::tables::Tables;

impl Tables<'_> {
    /// The files that may run in one process with this one, itself first: those that import it, and all they import.
    #[must_use]
    pub fn files_of_process(&self, file: u32) -> Vec<u32> {
        let imported = self.imported.get_or_init(|| self.import_graph());
        closure(self.files_above(file), |of| imported[of as usize].clone())
    }

    /// A file and all that import it, themselves or through others: whoever may call what it defines.
    #[must_use]
    pub fn files_above(&self, file: u32) -> Vec<u32> {
        let imported = self.imported.get_or_init(|| self.import_graph());
        let importers = |of: u32| {
            let all = imported.iter().enumerate();
            all.filter(move |(_, imports)| imports.contains(&of)).map(|(index, _)| index as u32).collect()
        };
        closure(vec![file], importers)
    }

    /// A file and all that it imports, itself or through others: whatever may run when what it defines is called.
    #[must_use]
    pub fn files_below(&self, file: u32) -> Vec<u32> {
        let imported = self.imported.get_or_init(|| self.import_graph());
        closure(vec![file], |of| imported[of as usize].clone())
    }

    /// The files next to one: those it imports, those that import it, and what these import.
    #[must_use]
    pub fn files_around(&self, file: u32) -> Vec<u32> {
        let imported = self.imported.get_or_init(|| self.import_graph());
        let importers = imported.iter().enumerate().filter(|(_, imports)| imports.contains(&file));
        let mut found: Vec<u32> =
            importers.flat_map(|(of, imports)| imports.iter().copied().chain([of as u32])).collect();
        found.extend(imported[file as usize].iter().copied().chain([file]));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Which files have to do with torch: they import it or a library that stands on it, or are imported by such a
    /// file or import one, themselves or through others. Those written for another library have not.
    pub(crate) fn files_with_torch(&self) -> Vec<bool> {
        let foreign = |file: usize| self.outlines[file].is_for_another_library();
        let has = |own: &super::outline::Outline<'_>| own.imports_torch || own.names_torch;
        let own: Vec<bool> = self.outlines.iter().enumerate().map(|(file, own)| has(own) && !foreign(file)).collect();
        if own.iter().all(|own| *own) {
            return own;
        }
        let imported = self.imported.get_or_init(|| self.import_graph());
        let mut importers: Vec<Vec<u32>> = vec![Vec::new(); imported.len()];
        for (file, imports) in imported.iter().enumerate() {
            for of in imports {
                importers[*of as usize].push(file as u32);
            }
        }
        let (below, above) = (spread(&own, imported), spread(&own, &importers));
        (0..own.len()).map(|file| (below[file] || above[file]) && !foreign(file)).collect()
    }

    /// Whether another file of the project imports this one.
    #[must_use]
    pub fn is_imported(&self, file: u32) -> bool {
        let imported = self.imported.get_or_init(|| self.import_graph());
        imported.iter().enumerate().any(|(of, imports)| of != file as usize && imports.contains(&file))
    }

    /// The project's files that a file imports.
    #[must_use]
    pub fn imports_of(&self, file: u32) -> &[u32] {
        &self.imported.get_or_init(|| self.import_graph())[file as usize]
    }

    /// The file a name of several parts means where a script puts a folder on the path: `core.engine` is
    /// `lib/core/engine.py`. Of several the nearest, if one is.
    pub(super) fn find_on_path(&self, name: &str, from: u32, candidates: &[u32]) -> Option<u32> {
        if !name.contains('.') {
            return None;
        }
        let here = &self.outlines[from as usize].module;
        let far = |file: u32| {
            let before = self.outlines[file as usize].module.strip_suffix(name)?.strip_suffix('.')?;
            let shared = before.split('.').zip(here.split('.')).take_while(|(theirs, mine)| theirs == mine).count();
            Some((before.split('.').count() - shared, shared))
        };
        // The fewest folders apart from those around both, then the most of these.
        let mut found: Vec<_> = candidates
            .iter()
            .filter(|file| **file != from)
            .filter_map(|&file| far(file).map(|(apart, shared)| (apart, usize::MAX - shared, file)))
            .collect();
        found.sort_unstable();
        match found[..] {
            [(_, _, only)] => Some(only),
            [first, second, ..] if (first.0, first.1) != (second.0, second.1) => Some(first.2),
            _ => None,
        }
    }

    fn import_graph(&self) -> Vec<Vec<u32>> {
        let of_file = |(file, outline): (usize, &super::outline::Outline<'_>)| {
            let names = outline.imports.values().chain(&outline.stars);
            let found = names.filter_map(|full| {
                let holder = || full.rsplit_once('.').and_then(|(module, _)| self.find_module(module, file as u32));
                self.find_module(full, file as u32).or_else(holder)
            });
            let mut found: Vec<u32> = found.collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        self.outlines.iter().enumerate().map(of_file).collect()
    }
}

/// Marks everything that can be reached from what is marked.
fn spread(marked: &[bool], next: &[Vec<u32>]) -> Vec<bool> {
    let mut found = marked.to_vec();
    let mut open: Vec<usize> = (0..found.len()).filter(|file| found[*file]).collect();
    while let Some(file) = open.pop() {
        for &other in &next[file] {
            if !std::mem::replace(&mut found[other as usize], true) {
                open.push(other as usize);
            }
        }
    }
    found
}

/// Everything that can be reached, in the order it is found.
fn closure(mut found: Vec<u32>, next: impl Fn(u32) -> Vec<u32>) -> Vec<u32> {
    let mut at = 0;
    while let Some(&file) = found.get(at) {
        for other in next(file) {
            if !found.contains(&other) {
                found.push(other);
            }
        }
        at += 1;
    }
    found
}
