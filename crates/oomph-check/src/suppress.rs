//! Comments that silence rules: `# oomph: ignore[rule-a, rule-b] reason`, `# oomph: ignore-file[rule]`.

mod comment;
mod statement;

use crate::file_rules::{self, FileChoices, UNKNOWN_IGNORE, UNUSED_IGNORE, catalogue};
use crate::finding::{Edit, Finding};
use crate::python::{TextRange, TextSize};
use crate::rule::Rule;
use crate::selection::{Choice, RuleSet};
use crate::settings::{Selector, did_you_mean};
use crate::source::Source;

use comment::{Name, Scope};

/// An ignore comment of a file.
#[derive(Debug)]
struct Ignore<'a> {
    /// From its `#` to its end.
    range: TextRange,
    line: usize,
    /// Nothing but the comment stands on its line.
    alone: bool,
    scope: Scope,
    /// Empty for "everything".
    names: Vec<(Name<'a>, Result<Selector, Vec<&'static str>>)>,
    malformed: bool,
    /// Whether it silenced anything, by name; one entry for "everything".
    used: Vec<bool>,
}

/// Takes out of `findings` what comments silence, and adds what is wrong with the comments themselves. Says how many
/// were silenced.
pub(crate) fn apply(source: &Source, rules: &RuleSet, choices: FileChoices, findings: &mut Vec<Finding>) -> usize {
    if !source.text.contains("oomph:") {
        return 0;
    }
    let known = catalogue();
    let mut ignores = ignores(source, &known);
    let before = findings.len();
    findings.retain(|finding| !silence(source, &mut ignores, finding, &known));
    let silenced = before - findings.len();
    for ignore in &ignores {
        report_unknown(ignore, choices, findings);
        report_unused(source, ignore, rules, choices, &known, findings);
    }
    silenced
}

fn ignores<'a>(source: &'a Source, known: &[&'static Rule]) -> Vec<Ignore<'a>> {
    let mut ignores = Vec::new();
    for range in source.comments() {
        for directive in comment::read(source.slice(range), range.start()) {
            let line = source.line_of(range.start());
            let before = TextRange::new(source.line_range(line).start(), range.start());
            let resolve = |name: Name<'a>| {
                let selector = Selector::parse(name.text, known);
                (name, selector)
            };
            let names: Vec<_> = directive.names.into_iter().map(resolve).collect();
            ignores.push(Ignore {
                range: TextRange::new(directive.start, range.end()),
                line,
                alone: source.slice(before).trim().is_empty(),
                scope: directive.scope,
                used: vec![false; names.len().max(1)],
                names,
                malformed: directive.malformed,
            });
        }
    }
    ignores
}

/// Whether some comment silences the finding; notes which.
fn silence(source: &Source, ignores: &mut [Ignore], finding: &Finding, known: &[&'static Rule]) -> bool {
    let Some(rule) = known.iter().find(|rule| rule.name == finding.rule) else { return false };
    let mut places = None;
    let mut silenced = false;
    for index in 0..ignores.len() {
        let applies = match ignores[index].scope {
            Scope::File => true,
            Scope::Line => {
                let lines = *places.get_or_insert_with(|| statement::lines_at(source, finding.range.start()));
                let line = ignores[index].line;
                (lines.0..=lines.1).contains(&line) || is_above(ignores, index, lines.0, source)
            }
        };
        silenced |= applies && ignores[index].covers(rule);
    }
    silenced
}

/// Whether an ignore stands alone on a line above `line` with nothing but comments between.
fn is_above(ignores: &[Ignore], index: usize, line: usize, source: &Source) -> bool {
    let ignore = &ignores[index];
    let is_comment = |between: usize| source.slice(source.line_range(between)).trim_start().starts_with('#');
    ignore.alone && ignore.line < line && (ignore.line + 1..line).all(is_comment)
}

impl Ignore<'_> {
    /// Whether it names the rule, and if so, notes that it was of use.
    fn covers(&mut self, rule: &Rule) -> bool {
        if self.malformed {
            return false;
        }
        if self.names.is_empty() {
            self.used[0] = true;
            return true;
        }
        let mut covers = false;
        for ((_, selector), used) in self.names.iter().zip(&mut self.used) {
            let fits = selector.as_ref().is_ok_and(|selector| selector.covers(rule));
            *used |= fits;
            covers |= fits;
        }
        covers
    }
}

fn report_unknown(ignore: &Ignore, choices: FileChoices, findings: &mut Vec<Finding>) {
    file_rules::report(choices, &UNKNOWN_IGNORE, findings, |report| {
        if ignore.malformed {
            let message = "This comment ignores nothing: write it like '# oomph: ignore[retain-graph-true] why'";
            report.add(&ignore.range, message);
        }
        for (name, selector) in &ignore.names {
            let Err(similar) = selector else { continue };
            let hint = did_you_mean(similar, "'oomph doc' lists all rules");
            let draft = report.add(&name.range, format!("There is no rule named '{}': {hint}", name.text));
            if let [only] = similar.as_slice() {
                draft.unsafe_fix(format!("Ignore {only} instead"), vec![Edit::replace(name.range, *only)]);
            }
        }
    });
}

fn report_unused(
    source: &Source,
    ignore: &Ignore,
    rules: &RuleSet,
    choices: FileChoices,
    known: &[&'static Rule],
    findings: &mut Vec<Finding>,
) {
    // What is off finds nothing, so nobody can say that its ignore is of no use.
    let ran = |selector: &Selector| {
        let runs = |rule: &&&'static Rule| rules.choice(rule.name) != Choice::Off;
        known.iter().filter(|rule| selector.covers(rule)).any(|rule| runs(&rule))
    };
    let is_unused = |(name, used): (&(Name, Result<Selector, _>), &bool)| !used && name.1.as_ref().is_ok_and(ran);
    let unused: Vec<&str> =
        ignore.names.iter().zip(&ignore.used).filter(|pair| is_unused(*pair)).map(|(name, _)| name.0.text).collect();
    let whole = if ignore.names.is_empty() { !ignore.used[0] } else { unused.len() == ignore.names.len() };
    if ignore.malformed || (unused.is_empty() && !whole) {
        return;
    }
    file_rules::report(choices, &UNUSED_IGNORE, findings, |report| {
        if whole {
            let draft = report.add(&ignore.range, "This comment ignores nothing: no rule has anything to say here");
            draft.safe_fix("Remove the comment", vec![Edit::delete(removal(source, ignore))]);
        } else {
            let kept = ignore.names.iter().map(|(name, _)| name.text).filter(|name| !unused.contains(name));
            let names = TextRange::new(
                ignore.names.first().map_or(ignore.range.start(), |(name, _)| name.range.start()),
                ignore.names.last().map_or(ignore.range.end(), |(name, _)| name.range.end()),
            );
            let draft = report.add(&ignore.range, format!("Nothing to ignore here for {}", unused.join(", ")));
            let kept = kept.collect::<Vec<_>>().join(", ");
            draft.safe_fix(format!("Ignore only {kept}"), vec![Edit::replace(names, kept)]);
        }
    });
}

/// The comment with the blanks before it; its whole line where nothing else is on it.
fn removal(source: &Source, ignore: &Ignore) -> TextRange {
    let line = source.line_range(ignore.line);
    let before = source.slice(TextRange::new(line.start(), ignore.range.start()));
    if before.trim().is_empty() {
        return line;
    }
    let blanks = before.len() - before.trim_end().len();
    TextRange::new(ignore.range.start() - TextSize::of(&before[before.len() - blanks..]), ignore.range.end())
}

/// What makes a comment ignore this finding: its rule's name added to a comment that is there, or a new comment behind
/// the statement.
#[must_use]
pub fn ignore_edit(source: &Source, finding: &Finding) -> Edit {
    let (first, last) = statement::lines_at(source, finding.range.start());
    let there = ignores(source, &catalogue()).into_iter();
    let mut there = there.filter(|ignore| ignore.scope == Scope::Line && (first..=last).contains(&ignore.line));
    if let Some((name, _)) = there.find_map(|ignore| ignore.names.last().cloned()) {
        return Edit::insert(name.range.end(), format!(", {}", finding.rule));
    }
    let line = source.line_range(last);
    let code = source.slice(line).trim_end();
    let end = line.start() + TextSize::of(code);
    let gap = if code.is_empty() { "" } else { "  " };
    Edit::insert(end, format!("{gap}# oomph: ignore[{}]", finding.rule))
}

#[cfg(test)]
mod tests;
