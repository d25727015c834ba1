//! What holds the memory of a process: live blocks by category, line and module.

use std::collections::BTreeMap;

use oomph_box::{BlackBox, BoxFrame, Category, HOST, LiveBlock, StackNumber};
use oomph_explain::render::json::category_name;
use oomph_explain::source::Sources;
use oomph_job::Watched;
use oomph_job::category_of;
use oomph_trace::Interner;

use crate::verbs::top::scene::{Inside, LineShare, Share};

/// Lines and modules that a page shows.
const MOST: usize = 20;

/// Names of what nobody named.
const NO_MODULE: &str = "outside any module";

/// Where a block was allocated, as far as its stack says.
#[derive(Clone, Debug, Default)]
struct Place {
    line: Option<(String, u32, String)>,
    /// The innermost module whose call is on the stack.
    module_pointer: Option<u64>,
    /// Whether the forward or the backward pass of a model is on it.
    is_in_pass: bool,
}

/// Stacks that were read, and modules by number: both never change in a box.
#[derive(Default)]
pub(super) struct Places {
    stacks: BTreeMap<StackNumber, Place>,
    modules: Vec<String>,
    pointers: BTreeMap<u64, usize>,
}

impl Places {
    /// What holds memory now.
    pub(super) fn inside(&mut self, the_box: &BlackBox) -> Inside {
        let blocks: Vec<LiveBlock> = the_box.live_blocks().into_iter().filter(|block| block.device != HOST).collect();
        for block in &blocks {
            self.stacks.entry(block.stack).or_insert_with(|| Place::of(&the_box.stack(block.stack)));
        }
        if blocks.iter().any(|block| self.lacks_module(block)) {
            self.read_modules(the_box);
        }
        self.add_up(&blocks)
    }

    fn lacks_module(&self, block: &LiveBlock) -> bool {
        let pointer = self.stacks.get(&block.stack).and_then(|place| place.module_pointer);
        block.module as usize > self.modules.len() || pointer.is_some_and(|one| !self.pointers.contains_key(&one))
    }

    fn read_modules(&mut self, the_box: &BlackBox) {
        let facts = the_box.facts();
        // A fact that cannot be understood costs the names of modules, and nothing else.
        let Ok((watched, _)) = Watched::of_lines(facts.iter().map(String::as_str)) else { return };
        let name = |(label, path): &(String, String)| if path.is_empty() { label.clone() } else { path.clone() };
        self.modules = watched.modules.iter().map(name).collect();
        self.pointers = watched.module_pointers;
    }

    fn add_up(&self, blocks: &[LiveBlock]) -> Inside {
        let mut categories: BTreeMap<&str, u64> = BTreeMap::new();
        let mut modules: BTreeMap<&str, u64> = BTreeMap::new();
        let mut lines: BTreeMap<(&str, u32, &str), (u64, u64)> = BTreeMap::new();
        for block in blocks {
            let Some(place) = self.stacks.get(&block.stack) else { continue };
            *categories.entry(category(block.category, place)).or_default() += block.bytes;
            *modules.entry(self.module(block, place)).or_default() += block.bytes;
            if let Some((file, line, function)) = &place.line {
                let (bytes, count) = lines.entry((file, *line, function)).or_default();
                *bytes += block.bytes;
                *count += 1;
            }
        }
        let mut lines: Vec<LineShare> = lines
            .into_iter()
            .map(|((file, line, function), (bytes, blocks))| LineShare {
                file: file.to_owned(),
                line,
                function: function.to_owned(),
                bytes,
                blocks,
            })
            .collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.bytes));
        lines.truncate(MOST);
        if modules.keys().all(|&name| name == NO_MODULE) {
            modules.clear();
        }
        Inside { categories: largest_first(categories), lines, modules: largest_first(modules) }
    }

    fn module(&self, block: &LiveBlock, place: &Place) -> &str {
        let told = block.module.checked_sub(1).map(|number| number as usize);
        let called = || place.module_pointer.and_then(|pointer| self.pointers.get(&pointer).copied());
        let number = told.or_else(called);
        number.and_then(|number| self.modules.get(number)).map_or(NO_MODULE, String::as_str)
    }
}

impl Place {
    fn of(frames: &[BoxFrame]) -> Self {
        let mut interner = Interner::new();
        let calls: Vec<_> =
            frames.iter().map(|frame| interner.intern_call(&frame.function, &frame.file, frame.line)).collect();
        let stack = interner.intern_stack(&calls);
        let table = interner.into_table();
        let sources = Sources::of(&table);
        let line = sources.line_to_name(stack).map(|line| {
            let (file, number) = sources.place(line);
            (file.to_owned(), number, sources.function(line).to_owned())
        });
        let is_backward = |frame: &BoxFrame| frame.file.ends_with("torch/autograd/__init__.py");
        let module_pointer = frames.iter().map(|frame| frame.module_pointer).find(|&pointer| pointer != 0);
        Self { line, module_pointer, is_in_pass: module_pointer.is_some() || frames.iter().any(is_backward) }
    }
}

/// As `--json` of every verb calls them. What nobody told and a pass made is an activation.
fn category(told: Category, place: &Place) -> &'static str {
    let is_activation = told == Category::Unknown && place.is_in_pass;
    category_name(category_of(if is_activation { Category::Activation } else { told }))
}

fn largest_first(shares: BTreeMap<&str, u64>) -> Vec<Share> {
    let mut found: Vec<Share> =
        shares.into_iter().map(|(name, bytes)| Share { name: name.to_owned(), bytes }).collect();
    found.sort_by_key(|share| std::cmp::Reverse(share.bytes));
    found.truncate(MOST);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(file: &str, function: &str, line: u32, module_pointer: u64) -> BoxFrame {
        BoxFrame { file: file.to_owned(), function: function.to_owned(), line, module_pointer }
    }

    fn block(stack: u32, bytes: u64, category: Category, module: u32) -> LiveBlock {
        LiveBlock {
            device: 0,
            address: 0,
            bytes,
            stack: StackNumber(stack),
            lane: 0,
            category,
            module,
            birth: 0,
            free_requested: false,
        }
    }

    #[test]
    fn blocks_are_added_up_by_the_user_s_line_and_the_module() {
        let torch = "/x/lib/python3.12/site-packages/torch/nn/modules";
        let in_model = [
            frame(&format!("{torch}/linear.py"), "forward", 125, 0),
            frame(&format!("{torch}/module.py"), "_call_impl", 1500, 77),
            frame("/home/me/train.py", "train", 9, 0),
        ];
        let plain = [frame("/home/me/train.py", "main", 3, 0)];
        let mut places = Places { modules: vec!["Net".into(), "layers.0".into()], ..Places::default() };
        places.pointers.insert(77, 1);
        places.stacks.insert(StackNumber(1), Place::of(&in_model));
        places.stacks.insert(StackNumber(2), Place::of(&plain));
        let blocks = [
            block(1, 10, Category::Unknown, 0),
            block(1, 5, Category::Unknown, 0),
            block(2, 40, Category::Parameter, 1),
            block(2, 1, Category::Unknown, 0),
        ];
        let inside = places.add_up(&blocks);
        let shares = |shares: &[Share]| shares.iter().map(|one| (one.name.clone(), one.bytes)).collect::<Vec<_>>();
        let expected = [("parameters", 40), ("activations", 15), ("other", 1)].map(|(a, b)| (a.to_owned(), b));
        assert_eq!(shares(&inside.categories), expected);
        let expected = [("Net", 40), ("layers.0", 15), (NO_MODULE, 1)].map(|(a, b)| (a.to_owned(), b));
        assert_eq!(shares(&inside.modules), expected);
        let lines: Vec<_> = inside.lines.iter().map(|one| (one.line, one.bytes, one.blocks)).collect();
        assert_eq!(lines, [(3, 41, 2), (9, 15, 2)]);
        assert!(places.lacks_module(&block(1, 1, Category::Other, 3)));
        assert!(!places.lacks_module(&block(1, 1, Category::Other, 2)));
    }
}
