//! The pages of `oomph doc`, which are also the reference pages in `docs/`: one Markdown file a page.

/// What a page is about; the order is that of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A placement policy of `oomph replay`.
    Policy,
    /// A verdict class of `oomph explain`.
    Verdict,
    /// A word of the glossary.
    Term,
}

impl Kind {
    /// All kinds in order.
    pub(crate) const ALL: [Self; 3] = [Self::Policy, Self::Verdict, Self::Term];

    /// Its name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Verdict => "verdict",
            Self::Term => "term",
        }
    }

    /// The heading above its pages.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Policy => "Placement policies",
            Self::Verdict => "Verdict classes",
            Self::Term => "Glossary",
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
    /// Markdown: a heading, a paragraph of one sentence, then the rest.
    pub(crate) text: &'static str,
}

impl Page {
    /// The sentence under the heading.
    pub(crate) fn summary(&self) -> &'static str {
        self.text.split("\n\n").nth(1).unwrap_or_default()
    }
}

macro_rules! pages {
    ($($kind:ident $folder:literal: $($name:literal)*;)*) => {
        &[$($(Page { name: $name, kind: Kind::$kind, text: include_str!(concat!("pages/", $folder, "/", $name, ".md")) },)*)*]
    };
}

/// Every page, by kind.
pub(crate) const ALL: &[Page] = pages! {
    Policy "policies": "native" "expandable_segments" "ideal";
    Verdict "verdicts": "request_too_large" "too_big" "growth" "leak" "fragmentation" "delayed_free" "outside_pytorch"
        "other_process" "none";
    Term "terms": "allocated" "reserved" "device";
};

/// The page of that name; case and `-` for `_` do not matter.
pub(crate) fn find(name: &str) -> Option<&'static Page> {
    let wanted = normal(name);
    ALL.iter().find(|page| page.name == wanted)
}

/// The names most like `name`, best first, for "did you mean".
pub(crate) fn similar(name: &str) -> Vec<&'static str> {
    let wanted = normal(name);
    let mut scored: Vec<(usize, &str)> = ALL
        .iter()
        .map(|page| (strsim::damerau_levenshtein(&wanted, page.name), page.name))
        .filter(|&(distance, known)| {
            distance * 3 <= known.len().max(3) || (wanted.len() > 2 && known.contains(&wanted))
        })
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
    fn every_page_opens_with_its_name_and_one_sentence() {
        for page in ALL {
            assert!(page.text.starts_with(&format!("# {}\n\n", page.name)), "{}", page.name);
            let summary = page.summary();
            assert!(summary.ends_with('.') && !summary.contains('\n'), "{}: {summary}", page.name);
            assert!(summary.len() <= 120 && page.text.lines().all(|line| line.len() <= 120), "{}", page.name);
        }
    }

    #[test]
    fn pages_point_only_at_pages() {
        for page in ALL {
            let Some((_, links)) = page.text.split_once("## See also\n\n") else { continue };
            for link in links.trim().split(", ") {
                assert!(find(link.trim_matches('`')).is_some(), "{} points at {link}", page.name);
            }
        }
    }

    #[test]
    fn near_misses_are_recognised() {
        assert_eq!(similar("fragmentaton"), ["fragmentation"]);
        assert_eq!(similar("expandable"), ["expandable_segments"]);
        assert_eq!(similar("toobig"), ["too_big"]);
        assert!(similar("zzzz").is_empty());
        assert!(find("Expandable-Segments").is_some());
    }
}
