//! The files that are checked together.

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::domain::FuncRef;
use crate::flow::Flow;
use crate::hints::Ducks;
use crate::ir::{Block, Function, Name, Op, Reg, Unit, Var, lower};
use crate::syntax::Source;

/// What is read once of a function's graph.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Order and loops.
    pub flow: Flow,
    /// For each register its place among those that outlive their block, if it does.
    pub shared: Vec<Option<u32>>,
    /// How many outlive their block.
    pub shared_count: usize,
    /// For each block the registers that hold a method which is called there and nowhere else kept.
    pub methods_called: Vec<Vec<Reg>>,
}

/// One file, lowered.
#[derive(Debug)]
pub(crate) struct File {
    /// Its text.
    pub source: Source,
    /// Its functions.
    pub unit: Unit,
    /// What uses say of its variables.
    pub ducks: Ducks,
    /// Names of variables and attributes that anything in it reads.
    pub names_read: FxHashSet<Name>,
    plans: Vec<OnceLock<Plan>>,
}

impl File {
    /// Lowers a source.
    pub(crate) fn new(source: Source) -> Self {
        let unit = lower(&source);
        let ducks = Ducks::of(&unit);
        let plans = unit.functions.iter().map(|_| OnceLock::new()).collect();
        let ops = unit.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.insts);
        let names_read = ops.filter_map(|inst| match &inst.op {
            Op::Load(Var::Global(name) | Var::Cell(_, name)) | Op::Attr(_, name) => Some(name.clone()),
            _ => None,
        });
        let names_read = names_read.collect();
        Self { source, unit, ducks, names_read, plans }
    }

    /// The graph of a function.
    pub(crate) fn plan(&self, function: usize) -> &Plan {
        self.plans[function].get_or_init(|| Plan::of(&self.unit.functions[function]))
    }
}

impl Plan {
    fn of(function: &Function) -> Self {
        let mut home: Vec<Option<u32>> = vec![None; function.regs as usize];
        let mut is_shared = vec![false; function.regs as usize];
        for (number, block) in function.blocks.iter().enumerate() {
            for inst in &block.insts {
                home[inst.dst as usize] = Some(number as u32);
            }
        }
        for (number, block) in function.blocks.iter().enumerate() {
            let mut read = |reg: Reg| is_shared[reg as usize] |= home[reg as usize] != Some(number as u32);
            block.insts.iter().for_each(|inst| inst.op.reads(&mut read));
            block.term.reads(&mut read);
        }
        let methods_called = function.blocks.iter().map(|block| methods_called(block, &is_shared)).collect();
        let mut shared_count = 0;
        let shared = is_shared.into_iter().map(|is_shared| {
            is_shared.then(|| {
                shared_count += 1;
                shared_count - 1
            })
        });
        let shared = shared.collect();
        Self { flow: Flow::of(function), shared, shared_count: shared_count as usize, methods_called }
    }
}

fn methods_called(block: &Block, is_shared: &[bool]) -> Vec<Reg> {
    let mut methods: Vec<Reg> =
        block.insts.iter().filter(|inst| matches!(inst.op, Op::Attr(..))).map(|inst| inst.dst).collect();
    methods.retain(|reg| !is_shared[*reg as usize]);
    for inst in &block.insts {
        match &inst.op {
            Op::Call { func, args } if args.iter().all(|arg| arg.value != *func) => {
                inst.op.reads(&mut |read| methods.retain(|reg| *reg != read || *reg == *func));
            }
            op => op.reads(&mut |read| methods.retain(|reg| *reg != read)),
        }
    }
    block.term.reads(&mut |read| methods.retain(|reg| *reg != read));
    methods
}

/// All files, and how they are imported.
#[derive(Debug)]
pub(crate) struct Program {
    /// In the order they were given.
    pub files: Vec<File>,
    by_module: FxHashMap<String, Vec<u32>>,
}

impl Program {
    /// Puts files together.
    pub(crate) fn new(files: Vec<File>) -> Self {
        let mut by_module: FxHashMap<String, Vec<u32>> = FxHashMap::default();
        for (number, file) in files.iter().enumerate() {
            if let Some(last) = module_words(&file.source.name).last() {
                by_module.entry(last.clone()).or_default().push(number as u32);
            }
        }
        Self { files, by_module }
    }

    /// The function behind a reference.
    pub(crate) fn function(&self, func: FuncRef) -> &Function {
        &self.files[func.file as usize].unit.functions[func.function as usize]
    }

    /// The file that `module` means where `importer` imports it: the longest common folder wins.
    pub(crate) fn resolve(&self, importer: u32, module: &str, level: u32) -> Option<u32> {
        let wanted: Vec<&str> = module.split('.').filter(|word| !word.is_empty()).collect();
        let last = wanted.last()?;
        let own = module_words(&self.files[importer as usize].source.name);
        let folder = &own[..own.len().saturating_sub(level.max(1) as usize)];
        let fits = |candidate: &&u32| {
            let words = module_words(&self.files[**candidate as usize].source.name);
            **candidate != importer
                && words.len() >= wanted.len()
                && words.iter().rev().zip(wanted.iter().rev()).all(|(a, b)| a == b)
        };
        let nearness = |candidate: &&u32| {
            let words = module_words(&self.files[**candidate as usize].source.name);
            let common = words.iter().zip(folder).take_while(|(a, b)| a == b).count();
            (common, std::cmp::Reverse(words.len()), std::cmp::Reverse(**candidate))
        };
        let found = self.by_module.get(*last)?.iter().filter(fits).max_by_key(nearness)?;
        let words = module_words(&self.files[*found as usize].source.name);
        // A module of the same name in a folder that has nothing to do with this one is another.
        let is_near = words.len() == wanted.len()
            || words.starts_with(folder)
            || (0..folder.len()).any(|at| words.len() == at + wanted.len() && words.starts_with(&folder[..at]));
        is_near.then_some(*found)
    }

    /// The files that a file imports.
    pub(crate) fn imports_of(&self, file: u32) -> Vec<u32> {
        let unit = &self.files[file as usize].unit;
        let ops = unit.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.insts);
        let mut found: Vec<u32> = ops
            .filter_map(|inst| match &inst.op {
                Op::Import(path) => self.resolve(file, path, 0),
                Op::ImportFrom { module, name, level } => self
                    .resolve(file, &format!("{module}.{name}"), *level)
                    .or_else(|| self.resolve(file, module, *level)),
                _ => None,
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// `a`, `b` of `a/b.py` and of `a/b/__init__.py`.
fn module_words(name: &str) -> Vec<String> {
    let stem = name.strip_suffix(".py").or_else(|| name.strip_suffix(".ipynb")).unwrap_or(name);
    let words = stem.split(['/', '\\']).filter(|word| !word.is_empty() && *word != "." && *word != "__init__");
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{File, Program};
    use crate::syntax::Source;

    #[test]
    fn imports_find_the_nearest_file() {
        let names = ["a/train.py", "a/utils.py", "b/utils.py"];
        let files = names.iter().map(|name| File::new(Source::read(name, "").expect("read")));
        let program = Program::new(files.collect());
        assert_eq!(program.resolve(0, "utils", 0), Some(1));
        assert_eq!(program.resolve(0, "numpy", 0), None);
        assert_eq!(program.resolve(0, "a.utils", 0), Some(1));
    }
}
