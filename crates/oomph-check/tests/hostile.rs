//! Nothing a file can hold makes the check panic or hang.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use oomph_check::{Project, RuleSet, Selection, Source, check};
use proptest::prelude::*;

fn survive(text: String) {
    let start = Instant::now();
    let source = Source::parse("hostile.py", text);
    let errors = source.syntax_errors();
    let project = Project::new(vec![source]);
    for finding in check(&project, &Selection::same(RuleSet::all())).into_iter().flatten() {
        let text = &project.sources()[0].text;
        let (start, end) = (finding.range.start().to_usize(), finding.range.end().to_usize());
        assert!(text.get(start..end).is_some(), "{} points outside the text", finding.rule);
        for edit in finding.fix.iter().flat_map(|fix| &fix.edits) {
            assert!(text.get(edit.range.start().to_usize()..edit.range.end().to_usize()).is_some());
        }
    }
    assert!(start.elapsed() < Duration::from_mins(1), "took {:?} ({} syntax errors)", start.elapsed(), errors.len());
}

/// Code that exercises every rule: the marked files and all examples.
fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/flow");
    let files = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let texts = files.filter(|path| path.is_file()).map(|path| fs::read_to_string(path).expect("readable"));
    let examples =
        oomph_check::rules::ALL.iter().flat_map(|rule| rule.examples().map(|example| example.bad.to_owned()));
    texts.chain(examples).collect()
}

#[test]
fn deep_nesting() {
    let deep = 10_000;
    survive(format!("import torch\nx = {}1{}\n", "(".repeat(deep), ")".repeat(deep)));
    survive(format!("import torch\nx = {}1{}\n", "[".repeat(deep), "]".repeat(deep)));
    survive(format!("import torch\nx = {}1\n", "-".repeat(deep)));
    survive(format!("import torch\nx = {}1\n", "not ".repeat(deep)));
    survive(format!("import torch\nx = {}1\n", "1 + ".repeat(deep)));
    survive(format!("import torch\nx = a{}\n", ".b".repeat(deep)));
    survive(format!("import torch\nx = a{}\n", "()".repeat(deep)));
    survive(format!("import torch\nx = a{}\n", "[0]".repeat(deep)));
    survive(format!("import torch\nx = {}1\n", "lambda: ".repeat(deep)));
    survive(format!("import torch\nx = {}1\n", "a if b else ".repeat(deep)));
    survive(format!("import torch\nx = {}", "f(".repeat(deep)));
    let blocks = (0..300).map(|depth| format!("{}for i in loader:", " ".repeat(depth))).collect::<Vec<_>>().join("\n");
    survive(format!("import torch\n{blocks}\n{}x = 1\n", " ".repeat(300)));
    let branches = format!("if a:\n    pass\n{}", "elif b:\n    x = 1\n".repeat(deep));
    survive(format!("import torch\n{branches}"));
}

#[test]
fn long_files() {
    let body = "for x, y in loader:\n    loss = model(x)\n    total += loss\n    if a:\n        break\n".repeat(3_000);
    survive(format!("import torch\nmodel = torch.nn.Linear(1, 1)\n{body}"));
    let names = (0..20_000).map(|n| format!("x{n} = x{} + 1", n / 2)).collect::<Vec<_>>().join("\n");
    survive(format!("import torch\n{names}\n"));
    let nested =
        (0..20).map(|depth| format!("{}for i{depth} in loader:", "  ".repeat(depth))).collect::<Vec<_>>().join("\n");
    survive(format!("import torch\n{nested}\n{}total = model(total)\n", "  ".repeat(20)));
}

#[test]
fn circles() {
    let sources = vec![
        Source::parse("p/a.py", "import torch\nfrom .b import *\nfrom .b import B\nclass A(B): pass\ndef f(x): return g(x)\n".into()),
        Source::parse("p/b.py", "import torch\nfrom .a import *\nfrom .a import A\nclass B(A): pass\ndef g(x): return f(x)\nB().forward(1)\n".into()),
        Source::parse("p/__init__.py", "from .a import f\nfrom . import a, b\nimport torch\nclass C(C): pass\nC()()\n".into()),
    ];
    let found = check(&Project::new(sources), &Selection::same(RuleSet::all()));
    assert_eq!(found.len(), 3);
    survive("import torch\ndef f(x): return f(f(x))\ndef g(): return h()\ndef h(): return g()\nx = f(g())\n".into());
}

#[test]
fn odd_bytes() {
    for text in [
        "",
        "\n",
        "\u{feff}import torch",
        "import torch\r\nx = 1\r\n",
        "import torch\rx = 1",
        "\0",
        "torch \\",
        "é = torch.cat([é, 1]) # ü",
    ] {
        survive(text.to_owned());
    }
}

#[test]
fn calls_that_nothing_closes() {
    for call in
        ["torch.load", "DataLoader", "torch.cuda.memory._record_memory_history", "checkpoint", "optimizer.zero_grad"]
    {
        for rest in ["(", "(open('x')", "(x", "(x,", "(f(g(1)", "(x, y=1"] {
            survive(format!("import torch\nfrom torch.utils.checkpoint import checkpoint\nx = {call}{rest}"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn truncated_and_mutated_code(
        which in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), "[ -~\n]{0,3}", 0_usize..6), 0..8),
    ) {
        let corpus = corpus();
        let mut text = which.get(&corpus).clone();
        let boundary = |text: &str, index: &prop::sample::Index| {
            let mut at = index.index(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        for (index, insert, remove) in &changes {
            let start = boundary(&text, index);
            let mut end = (start + remove).min(text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            text.replace_range(start..end, insert);
        }
        if changes.len() % 2 == 0 {
            let at = boundary(&text, &cut);
            text.truncate(at);
        }
        survive(text);
    }
}
