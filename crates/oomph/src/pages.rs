//! The pages of `oomph doc`, which are also the reference pages in `docs/`. Rules, policies, remedies and verdict
//! classes bring their own, those of cards are made from the catalogue; the words of the glossary are here.

mod cards;
mod rules;

use oomph_explain::verdict::CLASSES;
use oomph_heap::POLICIES;
use oomph_plan::remedies::REMEDIES;

/// What a page is about; the order is that of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A rule of `oomph check`.
    Rule,
    /// A placement policy of `oomph replay`.
    Policy,
    /// A verdict class of `oomph explain`.
    Verdict,
    /// A remedy of `oomph plan --fit`.
    Remedy,
    /// A card of `oomph plan`.
    Card,
    /// A word of the glossary.
    Term,
}

impl Kind {
    /// All kinds in order.
    pub(crate) const ALL: [Self; 6] = [Self::Verdict, Self::Remedy, Self::Policy, Self::Term, Self::Card, Self::Rule];

    /// The kind that a plural names: `oomph doc verdicts` lists them.
    pub(crate) fn of_plural(plural: &str) -> Option<Self> {
        let plural = normal(plural);
        Self::ALL.into_iter().find(|kind| kind.plural() == plural)
    }

    /// What to type after `oomph doc` to list its pages.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Rule => "rules",
            Self::Policy => "policies",
            Self::Verdict => "verdicts",
            Self::Remedy => "remedies",
            Self::Card => "cards",
            Self::Term => "words",
        }
    }

    /// Its name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Policy => "policy",
            Self::Verdict => "verdict",
            Self::Remedy => "remedy",
            Self::Card => "card",
            Self::Term => "term",
        }
    }

    /// The heading above its pages.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Rule => "Rules of oomph check",
            Self::Policy => "Allocators of oomph replay",
            Self::Verdict => "Verdicts of oomph explain",
            Self::Remedy => "Remedies of oomph plan --fit",
            Self::Card => "Cards of oomph plan",
            Self::Term => "Words",
        }
    }
}

/// One page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// What to type after `oomph doc`.
    pub(crate) name: &'static str,
    /// What it is about.
    pub(crate) kind: Kind,
    /// One sentence, without capital and full stop.
    pub(crate) summary: &'static str,
    /// What its owner wrote, in Markdown; a text without a title gets one, and the summary below it.
    text: &'static str,
}

impl Page {
    /// The whole page in Markdown, from its title on.
    pub(crate) fn markdown(&self) -> String {
        if self.text.starts_with("# ") {
            return self.text.to_owned();
        }
        let mut letters = self.summary.chars();
        let first = letters.next().map_or(String::new(), |letter| letter.to_uppercase().collect());
        format!("# {}\n\n{first}{}.\n\n{}\n", self.name, letters.as_str(), self.text.trim())
    }
}

/// The words that numbers in oomph's output are labelled with.
const TERMS: [Page; 3] = [
    Page {
        name: "allocated",
        kind: Kind::Term,
        summary: "bytes in blocks that tensors hold: torch.cuda.memory_allocated()",
        text: "Blocks are rounded up to 512 bytes, and a block that is not worth splitting is handed out whole, so this \
            is a little more than the tensors asked for (the *requested* bytes).",
    },
    Page {
        name: "reserved",
        kind: Kind::Term,
        summary: "bytes PyTorch took from the driver: torch.cuda.memory_reserved()",
        text: "It is `allocated` plus what the allocator keeps cached. The difference at the peak is what fragmentation \
            and caching cost.",
    },
    Page {
        name: "device",
        kind: Kind::Term,
        summary: "bytes used on the card by everything: what NVML and nvidia-smi show",
        text: "It is `reserved` of every process, plus their CUDA contexts, plus what libraries took from the driver \
            themselves. On an H200 with PyTorch 2.11 the context and libraries took 619 MiB after the first tensor, \
            685 MiB after the first matrix multiplication and 701 MiB after the first convolution.",
    },
];

/// Every page, by kind.
pub(crate) fn all() -> Vec<Page> {
    let policies = POLICIES.iter().map(|policy| {
        let page = policy.page();
        Page { name: page.name, kind: Kind::Policy, summary: page.summary, text: page.page }
    });
    let verdicts = CLASSES.iter().map(|class| Page {
        name: class.name(),
        kind: Kind::Verdict,
        summary: class.summary(),
        text: class.page(),
    });
    let remedies = REMEDIES.iter().map(|remedy| Page {
        name: remedy.name(),
        kind: Kind::Remedy,
        summary: remedy.summary(),
        text: remedy.page(),
    });
    rules::pages().chain(policies).chain(verdicts).chain(remedies).chain(cards::pages()).chain(TERMS).collect()
}

/// The page of that name; case and `-` for `_` do not matter.
pub(crate) fn find(name: &str) -> Option<Page> {
    let wanted = normal(name);
    all().into_iter().find(|page| normal(page.name) == wanted)
}

/// The names most like `name`, best first, for "did you mean".
pub(crate) fn similar(name: &str) -> Vec<&'static str> {
    let wanted = normal(name);
    let is_like = |distance: usize, known: &str| {
        distance * 3 <= known.len().max(3) || (wanted.len() > 2 && normal(known).contains(&wanted))
    };
    let names = all().into_iter().map(|page| page.name).chain(Kind::ALL.map(Kind::plural));
    let mut scored: Vec<(usize, &str)> = names
        .map(|known| (strsim::damerau_levenshtein(&wanted, &normal(known)), known))
        .filter(|&(distance, known)| is_like(distance, known))
        .collect();
    scored.sort_unstable();
    scored.into_iter().take(3).map(|(_, known)| known).collect()
}

fn normal(name: &str) -> String {
    name.trim().to_lowercase().replace(['-', ' '], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_sentence_and_something_to_say() {
        for page in all() {
            assert!(!page.summary.ends_with('.') && !page.summary.contains('\n'), "{}: {}", page.name, page.summary);
            let spelling =
                if page.kind == Kind::Rule { normal(page.name).replace('_', "-") } else { normal(page.name) };
            assert_eq!(page.name, spelling);
            assert!(page.summary.len() <= 100, "{} is summed up in {} letters", page.name, page.summary.len());
            assert!(
                page.text.len() > 80 && page.markdown().starts_with(&format!("# {}\n\n", page.name)),
                "{} says nothing",
                page.name
            );
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = all().iter().map(|page| page.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
    }

    #[test]
    fn near_misses_are_recognised() {
        assert_eq!(similar("fragmentaton"), ["fragmentation"]);
        assert_eq!(similar("expandable"), ["expandable_segments"]);
        assert_eq!(similar("toobig"), ["too_big"]);
        assert_eq!(similar("unknown_ignroe"), ["unknown-ignore"]);
        assert_eq!(similar("verdict"), ["verdicts"]);
        assert_eq!(Kind::of_plural("Cards"), Some(Kind::Card));
        assert!(similar("zzzz").is_empty());
        assert!(find("Expandable-Segments").is_some());
    }
}
