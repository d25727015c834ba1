//! The rules about a file itself and its comments to oomph. They look at what the other rules found, so they are not
//! in [`rules::ALL`], but they have names, pages and settings like the others.

use crate::finding::{Finding, Level, Safety};
use crate::report::Report;
use crate::rule::{Example, Group, Rule};
use crate::rules;
use crate::selection::Choice;
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
    level: Level::Error,
    fix: None,
    summary: "The file is not Python that can be parsed.",
    why: "What cannot be parsed cannot be checked: bugs in the rest of the file may go unseen.",
    cost: "None by itself.",
    instead: "Mend the syntax. Python 2 code has to be converted first.",
    when_not: "Templates and test data that only look like Python: leave them out with `exclude`.",
    examples: &[Example { bad: "for x in\n", good: "for x in []:\n    pass\n" }],
    silent_on: &[],
    check: |_, _| {},
};

/// An ignore comment with a name nobody knows.
pub(crate) static UNKNOWN_IGNORE: Rule = Rule {
    name: "unknown-ignore",
    group: Group::File,
    level: Level::Warning,
    fix: Some(Safety::Unsafe),
    summary: "An ignore comment names a rule that does not exist.",
    why: "The comment ignores nothing: what it was meant for is reported, or will be.",
    cost: "None by itself.",
    instead: "Use the rule's name as the report spells it: `# oomph: ignore[retain-graph-true] two losses, one graph`.",
    when_not: "Never right: a name that was renamed or misspelt does nothing.",
    examples: &[Example {
        bad: "x = 1  # oomph: ignore[unused-ignroe]\n",
        good: "x = 1  # oomph: ignore[unused-ignore]\n",
    }],
    silent_on: &["text = '# oomph: ignore[no-such-rule]'\n", "# oomph: a tool that reads this\n"],
    check: |_, _| {},
};

/// An ignore comment without effect.
pub(crate) static UNUSED_IGNORE: Rule = Rule {
    name: "unused-ignore",
    group: Group::File,
    level: Level::Info,
    fix: Some(Safety::Safe),
    summary: "An ignore comment ignores nothing.",
    why: "The code it was written for is gone or mended; the comment would hide the next bug on its line.",
    cost: "None by itself.",
    instead: "Remove the comment.",
    when_not: "Code that is generated with the comment in it.",
    examples: &[Example { bad: "x = 1  # oomph: ignore\n", good: "x = 1\n" }],
    silent_on: &[],
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

/// Every place the parser complained about.
pub(crate) fn syntax_errors(source: &Source, choices: FileChoices, findings: &mut Vec<Finding>) {
    report(choices, &SYNTAX_ERROR, findings, |report| {
        for error in source.syntax_errors() {
            report.add(&error.range, format!("Not valid Python: {}", error.message));
        }
    });
}
