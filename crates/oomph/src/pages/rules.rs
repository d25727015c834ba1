//! The pages of rules, made by `oomph-check` from what each rule says of itself.

use std::sync::LazyLock;

use oomph_check::catalogue;

use super::{Kind, Page};

/// Name, summary and text of every rule.
static TEXTS: LazyLock<Vec<(&'static str, String, String)>> =
    LazyLock::new(|| catalogue().iter().map(|rule| (rule.name, summary(rule.summary), rule.page())).collect());

/// One page a rule, by group.
pub(super) fn pages() -> impl Iterator<Item = Page> {
    TEXTS.iter().map(|(name, summary, text)| Page { name, kind: Kind::Rule, summary, text })
}

/// A sentence as a list shows it: without capital and full stop.
fn summary(sentence: &str) -> String {
    let sentence = sentence.trim().trim_end_matches('.');
    let mut letters = sentence.chars();
    let first: String = letters.next().map_or(String::new(), |letter| letter.to_lowercase().collect());
    // An abbreviation keeps its capitals.
    if letters.as_str().starts_with(|letter: char| letter.is_uppercase()) {
        return sentence.to_owned();
    }
    format!("{first}{}", letters.as_str())
}
