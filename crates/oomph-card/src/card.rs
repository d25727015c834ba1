//! One card, as everything in oomph sees it.

use serde::{Deserialize, Serialize};

use crate::capability::ComputeCapability;
use crate::source::{Figure, Source};

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
    /// Whether all figures were measured on a card by whoever wrote them down, context included.
    #[serde(default)]
    pub measured: bool,
    /// Total memory as CUDA reports it.
    pub memory_bytes: u64,
    /// What a CUDA context with PyTorch's kernels takes before the first tensor.
    pub context_bytes: u64,
    /// Version of the instruction set.
    pub compute_capability: ComputeCapability,
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
    /// Where the figures come from. Nobody who runs on a card asks, so it is not written out again.
    #[serde(default, skip_serializing)]
    pub sources: Vec<Source>,
}

impl Card {
    /// What cannot be true of any card, if there is something.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let ComputeCapability { major, minor } = self.compute_capability;
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
        let problem = rules.iter().find(|(holds, _)| !holds).map(|(_, problem)| *problem);
        problem.or_else(|| self.sources.iter().find_map(Source::fault)).map(str::to_owned)
    }

    /// Where a figure comes from, if its file says so.
    #[must_use]
    pub fn source_of(&self, figure: Figure) -> Option<&Source> {
        self.sources.iter().find(|source| source.figures.contains(&figure))
    }

    /// Whether a figure was measured on such a card, here or by somebody who published it.
    #[must_use]
    pub fn is_measured(&self, figure: Figure) -> bool {
        self.measured || self.source_of(figure).is_some_and(|source| source.measured)
    }

    /// What tensors can have of it.
    #[must_use]
    pub fn usable_bytes(&self) -> u64 {
        self.memory_bytes.saturating_sub(self.context_bytes)
    }

    /// Threads that the card holds at a time. What the driver keeps for each, such as stacks, grows with them.
    #[must_use]
    pub fn resident_threads(&self) -> u64 {
        u64::from(self.sms) * u64::from(self.max_threads_per_sm)
    }

    /// The name people use: the driver's, without the maker's.
    #[must_use]
    pub fn short_title(&self) -> &str {
        let title = self.title.strip_prefix("NVIDIA ").unwrap_or(&self.title);
        title.strip_prefix("GeForce ").or_else(|| title.strip_prefix("Tesla ")).unwrap_or(title)
    }

    /// Every name the card goes by, its own first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let own = [self.name.as_str(), self.title.as_str(), self.short_title()];
        own.into_iter().chain(self.aliases.iter().map(String::as_str))
    }

    /// Shared memory that a block gets without asking for more.
    #[must_use]
    pub fn shared_memory_per_block_bytes(&self) -> u64 {
        self.shared_memory_per_block_optin_bytes.min(48 << 10)
    }

    /// Shared memory that CUDA itself takes in every block.
    #[must_use]
    pub fn reserved_shared_memory_per_block_bytes(&self) -> u64 {
        if self.compute_capability.major >= 8 { 1024 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h200() -> Card {
        Card::named("h200").expect("it is in the catalogue")
    }

    #[test]
    fn json_and_toml_are_one_schema() {
        let text = serde_json::to_string(&h200()).expect("plain data");
        assert!(text.contains(r#""compute_capability":"9.0""#), "{text}");
        let without_sources = Card { sources: Vec::new(), ..h200() };
        assert_eq!(serde_json::from_str::<Card>(&text).expect("as it was written"), without_sources);
        let without = text.replace(r#""l2_bytes":62914560,"#, "");
        assert!(serde_json::from_str::<Card>(&without).expect_err("every figure is needed").to_string().contains("l2"));
    }

    #[test]
    fn titles_lose_what_everybody_leaves_out() {
        let titled = |title: &str| Card { title: title.to_owned(), ..h200() }.short_title().to_owned();
        assert_eq!(titled("NVIDIA GeForce RTX 4090"), "RTX 4090");
        assert_eq!(titled("Tesla V100-SXM2-16GB"), "V100-SXM2-16GB");
        assert_eq!(titled("NVIDIA H200"), "H200");
    }

    #[test]
    fn blocks_of_older_cards_keep_all_their_shared_memory() {
        let t4 = Card::named("t4").expect("it is in the catalogue");
        assert_eq!(t4.reserved_shared_memory_per_block_bytes(), 0);
        assert_eq!(h200().reserved_shared_memory_per_block_bytes(), 1024);
        assert_eq!(h200().shared_memory_per_block_bytes(), 48 << 10);
        assert_eq!(h200().usable_bytes(), h200().memory_bytes - (619 << 20));
    }
}
