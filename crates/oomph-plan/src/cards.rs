//! The catalogue of cards, as data: one TOML file a card in `cards/`.

use std::path::Path;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;

/// Everything about a card that PyTorch's host code, the allocator or cuDNN asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// What `--gpu` takes: lower case, words joined by `_`.
    pub name: String,
    /// Other names `--gpu` takes.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The name the driver reports.
    pub title: String,
    /// Whether the figures were measured on a card, context included.
    #[serde(default)]
    pub measured: bool,
    /// Total memory as CUDA reports it.
    pub memory_bytes: u64,
    /// What a CUDA context with PyTorch's kernels takes before the first tensor.
    pub context_bytes: u64,
    /// Such as `9.0`.
    pub compute_capability: String,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Most shared memory one block can ask for.
    pub shared_memory_per_block_optin_bytes: u64,
    /// Shared memory of one multiprocessor.
    pub shared_memory_per_sm_bytes: u64,
    /// Second-level cache.
    pub l2_bytes: u64,
    /// Resident threads of one multiprocessor.
    pub max_threads_per_sm: u32,
    /// Resident blocks of one multiprocessor.
    pub max_blocks_per_sm: u32,
    /// 32-bit registers of one multiprocessor.
    pub registers_per_sm: u32,
    /// Peak clock.
    pub clock_khz: u32,
    /// Peak memory clock.
    pub memory_clock_khz: u32,
    /// Width of the memory bus.
    pub memory_bus_bits: u32,
}

/// The card a plan runs on when nobody says otherwise.
pub const DEFAULT: &str = "h100_sxm";

/// One line a card.
const FILES: [&str; 24] = [
    include_str!("../cards/h200.toml"),
    include_str!("../cards/h100_sxm.toml"),
    include_str!("../cards/h100_pcie.toml"),
    include_str!("../cards/h100_nvl.toml"),
    include_str!("../cards/a100_40gb.toml"),
    include_str!("../cards/a100_80gb.toml"),
    include_str!("../cards/b200.toml"),
    include_str!("../cards/gb200.toml"),
    include_str!("../cards/l40s.toml"),
    include_str!("../cards/l4.toml"),
    include_str!("../cards/a10g.toml"),
    include_str!("../cards/t4.toml"),
    include_str!("../cards/v100_16gb.toml"),
    include_str!("../cards/v100_32gb.toml"),
    include_str!("../cards/rtx_6000_ada.toml"),
    include_str!("../cards/rtx_5090.toml"),
    include_str!("../cards/rtx_5080.toml"),
    include_str!("../cards/rtx_4090.toml"),
    include_str!("../cards/rtx_4080.toml"),
    include_str!("../cards/rtx_4070.toml"),
    include_str!("../cards/rtx_3090.toml"),
    include_str!("../cards/rtx_3080.toml"),
    include_str!("../cards/rtx_3060.toml"),
    include_str!("../cards/rtx_2080_ti.toml"),
];

/// Every card known by name. A file that does not parse is left out, and a test fails.
pub static CATALOGUE: LazyLock<Vec<Card>> =
    LazyLock::new(|| FILES.iter().filter_map(|text| toml::from_str(text).ok()).collect());

impl Card {
    /// The card of that name, or the one a TOML file describes.
    ///
    /// # Errors
    /// If there is neither.
    pub fn named(name: &str) -> Result<Self, PlanError> {
        let path = Path::new(name);
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) {
            return Self::from_file(path);
        }
        let wanted = squash(name);
        let known = CATALOGUE.iter().find(|card| card.names().any(|known| squash(known) == wanted));
        known.cloned().ok_or_else(|| PlanError::UnknownCard { name: name.to_owned(), similar: similar(name) })
    }

    fn from_file(path: &Path) -> Result<Self, PlanError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| PlanError::CardFile { path: path.to_owned(), source })?;
        let card: Self = toml::from_str(&text).map_err(|problem| PlanError::CardText {
            path: path.to_owned(),
            // The parser draws the place over several lines; its message and line are enough here.
            problem: one_line(&text, &problem),
        })?;
        match card.fault() {
            None => Ok(card),
            Some(problem) => Err(PlanError::CardText { path: path.to_owned(), problem }),
        }
    }

    /// What cannot be true of any card, if there is something.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let capability = self.compute_capability.split_once('.');
        let numbers = capability.map(|(major, minor)| (major.parse::<u32>().ok(), minor.parse::<u32>().ok()));
        let Some((Some(major), Some(minor))) = numbers else {
            return Some("compute_capability must be two numbers, such as \"9.0\"".to_owned());
        };
        let rules = [
            ((5..=19).contains(&major) && minor <= 9, "compute_capability must lie between 5.0 and 19.9"),
            (self.context_bytes < self.memory_bytes, "context_bytes must be less than memory_bytes"),
            ((1..=1024).contains(&self.sms), "sms must lie between 1 and 1024"),
            (
                self.shared_memory_per_block_optin_bytes <= self.shared_memory_per_sm_bytes,
                "a block cannot have more shared memory than its multiprocessor",
            ),
            (self.shared_memory_per_block_optin_bytes >= 48 << 10, "every block can have 48 KiB of shared memory"),
            ((512..=4096).contains(&self.max_threads_per_sm), "max_threads_per_sm must lie between 512 and 4096"),
            ((1..=64).contains(&self.max_blocks_per_sm), "max_blocks_per_sm must lie between 1 and 64"),
            (self.registers_per_sm >= 1 << 15, "registers_per_sm must be at least 32768"),
            (!self.name.is_empty() && !self.title.is_empty(), "name and title must say something"),
        ];
        rules.iter().find(|(holds, _)| !holds).map(|(_, problem)| (*problem).to_owned())
    }

    /// What tensors can have of it.
    #[must_use]
    pub fn usable_bytes(&self) -> u64 {
        self.memory_bytes.saturating_sub(self.context_bytes)
    }

    /// The name people use: the driver's, without the maker's.
    #[must_use]
    pub fn short_title(&self) -> &str {
        let title = self.title.strip_prefix("NVIDIA ").unwrap_or(&self.title);
        title.strip_prefix("GeForce ").or_else(|| title.strip_prefix("Tesla ")).unwrap_or(title)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let own = [self.name.as_str(), self.title.as_str(), self.short_title()];
        own.into_iter().chain(self.aliases.iter().map(String::as_str))
    }
}

/// The names most like `name`, best first.
fn similar(name: &str) -> Vec<&'static str> {
    let wanted = squash(name);
    let mut scored: Vec<(usize, &'static str)> = CATALOGUE
        .iter()
        .filter_map(|card| {
            let best = card.names().map(|known| distance(&wanted, &squash(known))).min()?;
            (best * 3 <= wanted.len().max(3)).then_some((best, card.name.as_str()))
        })
        .collect();
    scored.sort_unstable();
    scored.into_iter().take(3).map(|(_, known)| known).collect()
}

/// How far a name is from a known one; a part of it is near.
fn distance(wanted: &str, known: &str) -> usize {
    if wanted.len() > 2 && known.contains(wanted) { 1 } else { strsim::damerau_levenshtein(wanted, known) }
}

/// Letters and digits alone: `RTX 4090`, `rtx-4090` and `rtx_4090` are the same.
fn squash(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

fn one_line(text: &str, problem: &toml::de::Error) -> String {
    let line = problem.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let message = problem.message().trim().replace('\n', ", ");
    line.map_or_else(|| message.clone(), |line| format!("line {line}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_card() {
        for text in FILES {
            let card: Card = toml::from_str(text).expect(text);
            assert_eq!(card.fault(), None, "{}", card.name);
            assert!(card.memory_bytes >= 8 << 30 && card.memory_bytes < 1 << 40, "{}", card.name);
            assert!((128 << 20..2 << 30).contains(&card.context_bytes), "{}", card.name);
        }
    }

    #[test]
    fn names_are_unique_and_well_formed() {
        let mut names: Vec<String> = CATALOGUE
            .iter()
            .flat_map(|card| card.names().map(squash).collect::<std::collections::BTreeSet<_>>())
            .collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "two cards share a name");
        for card in CATALOGUE.iter() {
            let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
            assert!(card.name.chars().all(plain), "{}", card.name);
        }
    }

    #[test]
    fn cards_go_by_many_names() {
        for name in ["rtx_4090", "RTX 4090", "4090", "rtx-4090", "NVIDIA GeForce RTX 4090"] {
            assert_eq!(Card::named(name).expect(name).name, "rtx_4090");
        }
        assert_eq!(Card::named("H100").expect("h100").name, "h100_sxm");
        assert_eq!(Card::named(DEFAULT).expect("the default").name, DEFAULT);
    }

    #[test]
    fn near_misses_are_recognised() {
        let Err(PlanError::UnknownCard { similar, .. }) = Card::named("rtx 4900") else { panic!("found") };
        assert_eq!(similar.first(), Some(&"rtx_4090"));
        let Err(PlanError::UnknownCard { similar, .. }) = Card::named("zzzzzzzz") else { panic!("found") };
        assert!(similar.is_empty());
    }

    #[test]
    fn the_measured_card_is_as_measured() {
        let card = Card::named("h200").expect("h200");
        assert_eq!((card.memory_bytes, card.sms, card.measured), (150_109_880_320, 132, true));
        assert_eq!(card.context_bytes, 619 << 20);
    }

    #[test]
    fn cards_of_ones_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mine.toml");
        let text = FILES[0].replace("name = \"h200\"", "name = \"mine\"");
        std::fs::write(&path, &text).expect("written");
        assert_eq!(Card::named(path.to_str().expect("a path")).expect("a card").name, "mine");
        for (old, new, wanted) in [
            ("sms = 132", "sms = 0", "sms must"),
            ("sms = 132", "smz = 132", "unknown field"),
            ("\"9.0\"", "\"nine\"", "compute_capability must"),
            ("memory_bytes = 150109880320", "memory_bytes = 5", "context_bytes must be less"),
        ] {
            std::fs::write(&path, text.replace(old, new)).expect("written");
            let problem = Card::named(path.to_str().expect("a path")).expect_err(new).to_string();
            assert!(problem.contains(wanted), "{problem}");
        }
    }
}
