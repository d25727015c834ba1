//! Fixes that are offered never hurt: on every program of the corpus and on programs put together here, what a fix leaves
//! parses, needs no further fix, and reads no name that is gone. What rules propose before the gate does hurt, which shows
//! that these tests can fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oomph_check::python::ast::Identifier;
use oomph_check::python::ast::visitor::source_order::{SourceOrderVisitor, walk_expr};
use oomph_check::python::{Expr, Stmt};
use oomph_check::rules::ALL;
use oomph_check::settings::{Options, Selector, Settings};
use oomph_check::{
    Choices, Edit, Envelope, Finding, Kind, Project, RuleSet, Selection, Source, TorchVersions, catalogue, check,
    fixes, lint,
};
use proptest::prelude::*;

/// What is offered on a file alone, every rule selected.
fn offered(source: Source, torch: TorchVersions) -> (Project, Vec<Finding>) {
    let options = Options { select: Some(vec![Selector::All]), ..Options::default() };
    let settings = Arc::new(Settings::new(PathBuf::from("/"), &[&options], &catalogue()));
    let mut choices = Choices::default();
    choices.push(&settings, Path::new("/program.py"));
    let project = Project::new(vec![source]);
    let findings = lint(&project, &choices, |_| torch).remove(0).findings;
    (project, findings)
}

/// What every rule says of a file alone, with the fixes it proposes.
fn found(source: Source) -> Vec<Finding> {
    check(&Project::new(vec![source]), &Selection::same(RuleSet::all())).remove(0)
}

fn open(name: &str, text: &str) -> Option<(Envelope, Source)> {
    let kind =
        if Path::new(name).extension().is_some_and(|ending| ending == "ipynb") { Kind::Notebook } else { Kind::Script };
    Envelope::open(name, text.as_bytes().to_vec(), kind).ok()
}

/// The file after one fix, or after all that go together.
fn after(name: &str, text: &str, findings: &[Finding], project: &Project, torch: TorchVersions) -> Option<String> {
    let (envelope, source) = open(name, text)?;
    let fixed = fixes::round(&source, &envelope, findings.iter(), true, project.surroundings(torch))?;
    Some(fixed.envelope.seal(&fixed.source))
}

fn fixable(findings: &[Finding], rule: &str) -> usize {
    findings.iter().filter(|finding| finding.rule == rule && finding.fix.is_some()).count()
}

/// The keyword that some call has twice.
fn twice(body: &[Stmt]) -> Option<String> {
    struct Calls(Option<String>);
    impl<'a> SourceOrderVisitor<'a> for Calls {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Call(call) = expr {
                let names: Vec<&str> = call
                    .arguments
                    .keywords
                    .iter()
                    .filter_map(|word| word.arg.as_ref())
                    .map(Identifier::as_str)
                    .collect();
                let again = (1..names.len()).find(|at| names[..*at].contains(&names[*at]));
                self.0 = self.0.take().or(again.map(|at| names[at].to_owned()));
            }
            walk_expr(self, expr);
        }
    }
    let mut calls = Calls(None);
    calls.visit_body(body);
    calls.0
}

/// Checks every fix that is offered on a file, one by one; says how many there are.
fn judge(name: &str, text: &str) -> usize {
    let Some((_, source)) = open(name, text) else { return 0 };
    let torch = TorchVersions::default();
    let (project, findings) = offered(source, torch);
    let fixes: Vec<&Finding> = findings.iter().filter(|finding| finding.fix.is_some()).collect();
    let all = if fixes.is_empty() { Vec::new() } else { found(project.sources()[0].alone()) };
    for finding in &fixes {
        let told = || format!("{} in {name}: {}", finding.rule, finding.message);
        let alone = [(*finding).clone()];
        let Some(result) = after(name, text, &alone, &project, torch) else { panic!("not made: {}", told()) };
        assert_ne!(result, text, "{}", told());
        let (_, source) = open(name, &result).expect("a file");
        assert!(source.syntax_errors().is_empty(), "no Python after {}\n{result}", told());
        assert_eq!(twice(source.body()), None, "{}", told());
        let again = found(source);
        let (left, had) = (fixable(&again, finding.rule), fixable(&all, finding.rule));
        assert!(left == 0 || left < had, "again: {}\n{result}", told());
    }
    fixes.len()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "py" || ending == "ipynb") {
            files.push(path);
        }
    }
}

#[test]
fn fixes_of_the_corpus_settle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["corpus/check", "samples", "tests/python/safe_fixes", "crates/oomph-check/tests"] {
        collect(&root.join(folder), &mut files);
    }
    let judged: usize = files
        .iter()
        .flat_map(|path| {
            let text = fs::read_to_string(path).expect("UTF-8");
            // Some files hold several programs.
            text.split("# ---\n").map(|program| judge(&path.to_string_lossy(), program)).collect::<Vec<_>>()
        })
        .sum();
    assert!(judged > 300, "{judged} fixes");
}

#[test]
fn fixes_of_examples_settle() {
    let examples = ALL.iter().flat_map(|rule| {
        let bad = rule.examples().map(|example| example.bad);
        bad.chain(rule.silent_on())
    });
    let fixes: usize = examples.map(|text| judge("example.py", text)).sum();
    assert!(fixes > 60, "{fixes} fixes");
}

/// A program with a name that a fix would delete, and something that reads the name another way.
const READERS: &[&str] = &[
    "show = lambda: ckpt['epoch']",
    "def show():\n    return ckpt['epoch']",
    "def show():\n    def inner():\n        nonlocal ckpt\n        ckpt = None\n    return inner",
    "epochs = (ckpt[key] for key in sorted(ckpt))",
    "class Settings:\n    def epoch(self):\n        return ckpt['epoch']",
    "exec('print(ckpt)')",
    "print(eval('ckpt'))",
    "print(sorted(locals()))",
    "match path:\n    case str():\n        show = lambda: f'{ckpt}'",
    "async def show():\n    return ckpt",
];

fn checkpoint_program(reader: &str, nested: bool) -> String {
    let reader = if reader.is_empty() { String::new() } else { format!("{reader}\n") };
    let body = format!(
        "ckpt = torch.load(path, map_location='cuda')\nmodel.load_state_dict(ckpt['model'])\n{reader}for x, y in \
         loader:\n    optimizer.zero_grad()\n    loss = criterion(model(x), y)\n    loss.backward()\n    \
         optimizer.step()\n"
    );
    let indent = |text: &str| text.lines().flat_map(|line| ["    ", line, "\n"]).collect::<String>();
    let train = format!("def train(model, loader, optimizer, criterion, path):\n{}", indent(&body));
    let train = if nested { format!("def outer():\n{}    return train\n", indent(&train)) } else { train };
    format!("import torch\n\n\n{train}")
}

/// What suspends a function in the middle of a loop that evaluates.
const SUSPENSIONS: &[&str] = &["yield out", "yield from out", "got = yield out", "await log(out)", "(yield)"];

fn evaluation_program(suspension: &str, in_branch: bool) -> String {
    let is_async = suspension.starts_with("await");
    let inner = match (suspension, in_branch) {
        ("", _) => String::new(),
        (text, true) => format!("        if correct:\n            {text}\n"),
        (text, false) => format!("        {text}\n"),
    };
    format!(
        "import torch\n\n\n{}def evaluate(model, loader):\n    model.eval()\n    correct = 0\n    for x, y in loader:\n        \
         out = model(x.cuda())\n        correct += (out.argmax(1) == y.cuda()).sum().item()\n{inner}    print(correct)\n",
        if is_async { "async " } else { "" }
    )
}

/// For each line that suspends: the lines that open the blocks around it.
fn around_suspensions(text: &str) -> Vec<Vec<String>> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_suspension = |line: &&str| line.contains("yield") || line.contains("await ");
    let around = |(at, line): (usize, &&str)| {
        let mut width = indent(line);
        let mut found = Vec::new();
        for above in lines[..at].iter().rev().filter(|above| !above.trim().is_empty()) {
            if indent(above) < width {
                width = indent(above);
                found.push(above.trim().to_owned());
            }
        }
        found
    };
    lines.iter().enumerate().filter(|(_, line)| is_suspension(line)).map(around).collect()
}

/// A use of mixed precision under one of the names it can have.
fn amp_program(import: &str, call: &str, argument: &str) -> String {
    format!(
        "import torch\n{import}\n\n\ndef step(model, x, amp, options):\n    with {call}({argument}):\n        \
         return model(x)\n"
    )
}

const AMP: &[(&str, &str)] = &[
    ("from torch.cuda.amp import autocast", "autocast"),
    ("from torch.cuda.amp import autocast as cast", "cast"),
    ("from torch.cuda import amp as mixed", "mixed.autocast"),
    ("import torch.cuda.amp as mixed", "mixed.autocast"),
    ("import torch as t", "t.cuda.amp.autocast"),
    ("from torch import cuda", "cuda.amp.autocast"),
];
const ARGUMENTS: &[&str] = &["", "amp", "enabled=amp", "amp, dtype=torch.float16", "**options", "amp, **options"];

/// All fixes, round after round, as `--fix --unsafe-fixes` makes them.
fn mended(text: &str, torch: TorchVersions) -> String {
    let mut text = text.to_owned();
    for _ in 0..20 {
        let (_, source) = open("program.py", &text).expect("a file");
        let (project, findings) = offered(source, torch);
        match after("program.py", &text, &findings, &project, torch) {
            Some(next) => text = next,
            None => return text,
        }
    }
    panic!("does not settle:\n{text}");
}

/// The same without the gate: every fix that a rule proposes, alone.
fn proposed(text: &str) -> Vec<String> {
    let project = Project::new(vec![Source::parse("program.py", text.to_owned())]);
    let found = check(&project, &Selection::same(RuleSet::all())).remove(0);
    let apply = |edits: &[Edit]| {
        let mut ordered = edits.to_vec();
        ordered.sort_by_key(|edit| std::cmp::Reverse((edit.range.start(), edit.range.end())));
        let mut result = text.to_owned();
        for edit in ordered {
            result.replace_range(edit.range.start().to_usize()..edit.range.end().to_usize(), &edit.text);
        }
        result
    };
    found.iter().filter_map(|finding| Some(apply(&finding.fix.as_ref()?.edits))).collect()
}

#[test]
fn plain_programs_are_still_fixed() {
    let none = TorchVersions::default();
    assert!(mended(&checkpoint_program("", false), none).contains("del ckpt"));
    assert!(mended(&evaluation_program("", false), none).contains("with torch.no_grad():"));
    assert!(mended(&amp_program(AMP[0].0, AMP[0].1, "amp"), none).contains("autocast(\"cuda\", enabled=amp)"));
}

#[test]
fn without_the_gate_fixes_hurt() {
    let deletes = READERS.iter().flat_map(|reader| proposed(&checkpoint_program(reader, false)));
    assert!(deletes.filter(|text| text.contains("del ckpt")).count() > 0, "a name is taken from its readers");
    let suspends = SUSPENSIONS.iter().filter(|suspension| {
        let text = evaluation_program(suspension, false);
        proposed(&text).iter().any(|after| around_suspensions(after) != around_suspensions(&text))
    });
    assert!(suspends.count() > 0, "a mode is switched across a yield");
}

#[test]
fn fixes_need_no_newer_torch_than_is_declared() {
    let text = amp_program("from torch.cuda.amp import GradScaler", "torch.no_grad", "")
        .replace("    with", "    scaler = GradScaler()\n    with");
    let under = |declared: &str| mended(&text, TorchVersions::declared_in("requirements.txt", declared));
    assert!(under("torch\n").contains("torch.amp"));
    assert!(under("torch>=2.4\n").contains("torch.amp"));
    assert_eq!(under("torch>=1.13\n"), text);
    assert_eq!(under("torch<2\n"), text);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn names_stay_while_something_reads_them(which in 0..READERS.len(), other in 0..READERS.len(), nested: bool) {
        let reader = if which == other { READERS[which].to_owned() } else { format!("{}\n{}", READERS[which], READERS[other]) };
        let text = checkpoint_program(&reader, nested);
        prop_assert!(Source::parse("program.py", text.clone()).syntax_errors().is_empty(), "{}", text);
        let result = mended(&text, TorchVersions::default());
        prop_assert!(!result.contains("del ckpt"), "{}", result);
    }

    #[test]
    fn modes_are_not_switched_across_suspensions(which in 0..SUSPENSIONS.len(), in_branch: bool) {
        let text = evaluation_program(SUSPENSIONS[which], in_branch);
        let result = mended(&text, TorchVersions::default());
        prop_assert_eq!(around_suspensions(&result), around_suspensions(&text), "{}", result);
    }

    #[test]
    fn arguments_are_given_once(which in 0..AMP.len(), given in 0..ARGUMENTS.len()) {
        let text = amp_program(AMP[which].0, AMP[which].1, ARGUMENTS[given]);
        let result = mended(&text, TorchVersions::default());
        let source = Source::parse("program.py", result.clone());
        prop_assert!(source.syntax_errors().is_empty(), "{}", result);
        prop_assert_eq!(twice(source.body()), None, "{}", result);
        prop_assert!(result.matches("enabled=").count() <= 1, "{}", result);
        prop_assert_eq!(mended(&result, TorchVersions::default()), result);
    }
}
