//! The rules about a file itself and its comments to oomph. They look at what the other rules found, so they are not
//! in [`rules::ALL`], but they have names, pages and settings like the others.

use rustc_hash::FxHashSet;

use crate::finding::{Finding, Safety};
use crate::python::{SyntaxError, TextLen, TextRange, TextSize};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::rules;
use crate::selection::Choice;
use crate::size::{Amount, Size};
use crate::source::Source;

/// All of them.
pub static FILE_RULES: [&Rule; 3] = [&SYNTAX_ERROR, &UNKNOWN_IGNORE, &UNUSED_IGNORE];

/// Every rule there is: those of [`rules::ALL`] and those about the file itself.
#[must_use]
pub fn catalogue() -> Vec<&'static Rule> {
    rules::ALL.iter().copied().chain(FILE_RULES).collect()
}

/// The choices for [`FILE_RULES`], in that order.
pub(crate) type FileChoices = [Choice; FILE_RULES.len()];

/// Python that cannot be parsed.
pub(crate) static SYNTAX_ERROR: Rule = Rule {
    name: "syntax-error",
    group: Group::File,
    size: Size::failure(),
    is_opportunity: false,
    fix: None,
    summary: "The file is not Python that can be parsed.",
    why: "What cannot be parsed cannot be checked: bugs in the rest of the file may go unseen.",
    cost: "None by itself.",
    instead: "Mend the syntax. Python 2 code has to be converted first.",
    when_not: "Templates and test data that only look like Python: leave them out with `exclude`. Files that have \
               nothing to do with torch are not complained of: no memory bug can be missed in them.",
    programs: "\
# --- bad
import torch
for x in
# --- good
import torch
for x in []:
    pass
# --- silent
print 'no model here'
",
    check: |_, _| {},
};

/// An ignore comment with a name nobody knows.
pub(crate) static UNKNOWN_IGNORE: Rule = Rule {
    name: "unknown-ignore",
    group: Group::File,
    size: Size::once(Amount::Small).wasted(),
    is_opportunity: false,
    fix: Some(Safety::Unsafe),
    summary: "An ignore comment names a rule that does not exist.",
    why: "The comment ignores nothing: what it was meant for is reported, or will be.",
    cost: "None by itself.",
    instead: "Use the rule's name as the report spells it: `# oomph: ignore[retain-graph-true] two losses, one graph`.",
    when_not: "Never right: a name that was renamed or misspelt does nothing.",
    programs: "\
# --- bad
x = 1  # oomph: ignore[unused-ignroe]
# --- good
x = 1  # oomph: ignore[unused-ignore]
# --- silent
text = '# oomph: ignore[no-such-rule]'
# --- silent
# oomph: a tool that reads this
",
    check: |_, _| {},
};

/// An ignore comment without effect.
pub(crate) static UNUSED_IGNORE: Rule = Rule {
    name: "unused-ignore",
    group: Group::File,
    size: Size::once(Amount::Small),
    is_opportunity: true,
    fix: Some(Safety::Safe),
    summary: "An ignore comment ignores nothing.",
    why: "The code it was written for is gone or mended; the comment would hide the next bug on its line.",
    cost: "None by itself.",
    instead: "Remove the comment.",
    when_not: "Code that is generated with the comment in it.",
    programs: "# --- bad\nx = 1  # oomph: ignore\n# --- good\nx = 1\n",
    check: |_, _| {},
};

/// Adds one of the file rules' findings, as the user chose to see it.
pub(crate) fn report(
    choices: FileChoices,
    rule: &'static Rule,
    findings: &mut Vec<Finding>,
    say: impl FnOnce(&mut Report),
) {
    let index = FILE_RULES.iter().position(|known| known.name == rule.name);
    let choice = index.map_or(Choice::Off, |index| choices[index]);
    let mut report = Report::new(rule);
    say(&mut report);
    findings.extend(report.into_findings().into_iter().filter_map(|finding| choice.apply(finding)));
}

/// The first place the parser complained about, once a file or once a cell: one slip makes it complain of what follows.
/// Nothing where torch is not concerned: this is no linter of Python.
pub(crate) fn syntax_errors(source: &Source, choices: FileChoices, findings: &mut Vec<Finding>) {
    if !source.concerns_torch() {
        return;
    }
    let errors = source.syntax_errors();
    let mut seen = FxHashSet::default();
    let firsts = errors.iter().filter(|error| {
        let cell = source.position(error.range.start()).cell;
        seen.insert(cell) && !is_taken_by_notebook(source, cell)
    });
    report(choices, &SYNTAX_ERROR, findings, |report| {
        for first in firsts {
            let cell = source.position(first.range.start()).cell;
            let own = || errors.iter().filter(|error| source.position(error.range.start()).cell == cell);
            let older = own().find_map(|error| older_python(source, error));
            let (of, unit) = (older.unwrap_or("Python"), if cell.is_some() { "cell" } else { "file" });
            let rest = if source.is_walked() {
                format!("the rest of the {unit} is checked as far as it can be read")
            } else {
                format!("the {unit} is not checked")
            };
            report.add(&first.range, format!("Not valid {of}: {}; {rest}", first.message));
        }
    });
}

/// The files and cells that no interpreter takes, each with what is wrong in it: nothing that stands there runs. What an
/// older Python takes runs there, and lines for a notebook show that the file is run as one.
pub(crate) fn never_compiled(source: &Source) -> Vec<(TextRange, SyntaxError)> {
    let errors = source.syntax_errors();
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    for error in &errors {
        let number = source.position(error.range.start()).cell;
        if !seen.insert(number) || is_taken_by_notebook(source, number) {
            continue;
        }
        let cell = source.cells.iter().find(|cell| Some(cell.number) == number);
        let whole = cell.map_or(TextRange::new(TextSize::default(), source.text.text_len()), |cell| cell.range);
        let mut own = errors.iter().filter(|error| whole.contains_range(error.range));
        if !own.any(|error| older_python(source, error).is_some() || is_for_another_reader(source, error)) {
            found.push((whole, error.clone()));
        }
    }
    found
}

/// Whether a complaint is about a line for the shell or a notebook, or about tabs, which Python 2 counted otherwise.
fn is_for_another_reader(source: &Source, error: &SyntaxError) -> bool {
    let line = source.slice(source.line_range(source.line_of(error.range.start()))).trim_start();
    line.starts_with(['!', '%']) || error.message.contains("indent") && source.text.contains('\t')
}

/// Whether a cell runs all the same: notebooks take more than Python does.
fn is_taken_by_notebook(source: &Source, number: Option<usize>) -> bool {
    let cell = source.cells.iter().find(|cell| Some(cell.number) == number);
    cell.is_some_and(|cell| crate::jupyter::takes(source.slice(cell.range)))
}

/// What the line of a complaint shows the file to be written for, where that is not today's Python.
fn older_python(source: &Source, error: &SyntaxError) -> Option<&'static str> {
    const PYTHON_2: &str = "Python 3 (this looks like Python 2)";
    let line = source.slice(source.line_range(source.line_of(error.range.start()))).trim();
    let statement = |word: &str| {
        let rest = line.strip_prefix(word).filter(|rest| rest.starts_with([' ', '"', '\'', '`']));
        rest.is_some_and(|rest| !rest.trim_start().starts_with(['=', '.', ',', ':', '[', '-']))
    };
    let comma = line.starts_with("except ") || line.starts_with("raise ");
    if line.contains("async=") {
        return Some("Python since 3.7 (`async` is a keyword; torch calls it `non_blocking`)");
    }
    let old = statement("print") || statement("exec") || comma && line.contains(',') || line.contains("<>");
    (old || line.matches('`').count() == 2).then_some(PYTHON_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(source: &Source) -> Vec<String> {
        let mut findings = Vec::new();
        syntax_errors(source, FILE_RULES.map(|_| Choice::Selected), &mut findings);
        findings.into_iter().map(|finding| finding.message).collect()
    }

    fn told_of(text: &str) -> Vec<String> {
        told(&Source::parse("a.py", format!("import torch\n{text}")))
    }

    #[test]
    fn a_file_without_torch_is_not_complained_of() {
        assert!(told(&Source::parse("a.py", "print 'x'\n".to_owned())).is_empty());
        assert!(!told_of("print 'x'\n").is_empty());
    }

    #[test]
    fn a_file_is_complained_of_once() {
        let [only] = &told_of("x = (\ny = 1\nfor in z\nclass\n")[..] else { panic!("one finding") };
        assert!(only.starts_with("Not valid Python: "), "{only}");
        assert!(only.ends_with("; the rest of the file is checked as far as it can be read"), "{only}");
        assert!(told_of("print('fine')\n").is_empty());
    }

    #[test]
    fn each_cell_is_complained_of_once() {
        let cell = |text: &str| serde_json::json!({"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": null});
        let cells = [
            cell("for in torch\nclass\n"),
            cell("y = 1\n"),
            cell("print y\nprint y\n"),
            cell(" y = 2\n"),
            cell("ls *.pt\n"),
        ];
        let json = serde_json::json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
        let source = Source::parse_notebook("a.ipynb", &json.to_string()).expect("a notebook");
        let told = told(&source);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].ends_with("the rest of the cell is checked as far as it can be read"), "{told:?}");
        assert!(told[1].starts_with("Not valid Python 3 (this looks like Python 2): "), "{told:?}");
    }

    #[test]
    fn older_python_is_named() {
        let old =
            ["print x\n", "print 'x', y\n", "exec 'x'\n", "raise Value, 'x'\n", "y = `x`\n", "print >>f, x, y z\n"];
        for text in old {
            assert!(told_of(text)[0].contains("looks like Python 2"), "{text}: {:?}", told_of(text));
        }
        let call = told_of("x = x.cuda(async=True)\n");
        assert!(call[0].contains("`async` is a keyword"), "{call:?}");
        for text in ["printer x\n", "print = = 1\n", "!pip install torch\n", "exec -l $SHELL\n"] {
            assert!(!told_of(text)[0].contains("Python 2"), "{text}");
        }
    }
}
