//! One line a finding, for `grep` and for editors that read compilers' output.

use std::fmt::Write as _;

use super::{Results, level_name, place};

/// `file:line:column: level rule: message`, and a closing sentence.
#[must_use]
pub fn render(results: &Results) -> String {
    let mut text = String::new();
    for entry in results.entries() {
        let finding = entry.finding;
        let at = place(entry.source, entry.span().start);
        let fixable = if entry.offered(results.unsafe_fixes).is_some() { " [fixable]" } else { "" };
        let _ = writeln!(text, "{at}: {} {}: {}{fixable}", level_name(finding.level), finding.rule, finding.message);
    }
    text.push_str(&super::text::closing(results, usize::MAX));
    text
}
