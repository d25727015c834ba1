//! What became of the remedies that somebody asked for, as the job's processes told it.

use crate::facts::RemedyFact;

/// One remedy in a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedied {
    /// Its name.
    pub name: String,
    /// Whether it changed anything.
    pub is_applied: bool,
    /// What it refused and what else it had to say, a sentence each.
    pub sentences: Vec<String>,
}

impl Remedied {
    /// What became of each remedy that was asked for, in that order.
    pub fn all<'a>(asked: impl Iterator<Item = &'a str>, told: &[RemedyFact]) -> Vec<Self> {
        asked.map(|name| Self::of(name, told)).collect()
    }

    fn of(name: &str, told: &[RemedyFact]) -> Self {
        let own = || told.iter().filter(|fact| fact.name == name);
        let mut sentences: Vec<String> = Vec::new();
        for fact in own().filter(|fact| !fact.text().is_empty()) {
            if !sentences.iter().any(|known| known == fact.text()) {
                sentences.push(fact.text().to_owned());
            }
        }
        Self { name: name.to_owned(), is_applied: own().any(|fact| fact.kind == "applied"), sentences }
    }

    /// What to say of it in one line: what it did not do where it could not, and what else there is to know.
    #[must_use]
    pub fn sentence(&self) -> String {
        match (self.is_applied, self.sentences.is_empty()) {
            (true, true) => "applied".to_owned(),
            (true, false) => format!("applied; {}", self.sentences.join(" ")),
            (false, true) => "not applied: nothing that it is for came up".to_owned(),
            (false, false) => format!("not applied: {}", self.sentences.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(name: &str, kind: &str, details: Value) -> RemedyFact {
        RemedyFact::from((name.to_owned(), kind.to_owned(), details))
    }

    #[test]
    fn each_remedy_is_answered_for() {
        let facts = [
            told("lazy_logits", "applied", json!({ "layer": "head" })),
            told("micro_batches", "refused", json!("The loop cannot be divided.")),
            told("chunk_calls", "applied", json!({ "parts": 4 })),
            told("chunk_calls", "refused", json!("A layer norms whole batches.")),
            told("chunk_calls", "refused", json!("A layer norms whole batches.")),
        ];
        let asked = ["lazy_logits", "micro_batches", "chunk_calls", "offload_activations"];
        let found = Remedied::all(asked.into_iter(), &facts);
        let sentences: Vec<String> = found.iter().map(Remedied::sentence).collect();
        assert_eq!(
            sentences,
            [
                "applied",
                "not applied: The loop cannot be divided.",
                "applied; A layer norms whole batches.",
                "not applied: nothing that it is for came up",
            ]
        );
    }
}
