//! The catalogue of cards, as data: one TOML file a card in `cards/`.

use std::path::Path;
use std::sync::LazyLock;

use crate::card::Card;
use crate::error::CardError;

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
    pub fn named(name: &str) -> Result<Self, CardError> {
        let path = Path::new(name);
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) {
            return Self::from_file(path);
        }
        let wanted = squash(name);
        let known = CATALOGUE.iter().find(|card| card.names().any(|known| squash(known) == wanted));
        known.cloned().ok_or_else(|| CardError::Unknown { name: name.to_owned(), similar: similar(name) })
    }

    fn from_file(path: &Path) -> Result<Self, CardError> {
        let text = std::fs::read_to_string(path).map_err(|source| CardError::File { path: path.to_owned(), source })?;
        let card: Self = toml::from_str(&text).map_err(|problem| CardError::Text {
            path: path.to_owned(),
            // The parser draws the place over several lines; its message and line are enough here.
            problem: one_line(&text, &problem),
        })?;
        match card.fault() {
            None => Ok(card),
            Some(problem) => Err(CardError::Text { path: path.to_owned(), problem }),
        }
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
    use crate::source::{Figure, Kind};

    #[test]
    fn every_file_is_a_card() {
        for text in FILES {
            let card: Card = toml::from_str(text).expect(text);
            assert_eq!(card.fault(), None, "{}", card.name);
            assert!(card.memory_bytes >= 8 << 30 && card.memory_bytes < 1 << 40, "{}", card.name);
            assert!((64 << 20..2 << 30).contains(&card.context_bytes), "{}", card.name);
        }
    }

    #[test]
    fn every_figure_has_a_source() {
        for card in CATALOGUE.iter() {
            for figure in Figure::ALL {
                let source = card.source_of(figure).unwrap_or_else(|| panic!("{}: {figure}", card.name));
                assert_eq!(source.kind == Kind::MeasuredHere, card.measured, "{}: {figure}", card.name);
                if source.kind == Kind::Reported {
                    let places = ["https://", "a public repository"];
                    let is_found = places.iter().any(|place| source.from.starts_with(place));
                    assert!(is_found && !source.says.is_empty(), "{}: {figure}", card.name);
                }
            }
        }
    }

    #[test]
    fn memory_is_reported_and_never_taken_from_a_data_sheet() {
        for card in CATALOGUE.iter() {
            let source = card.source_of(Figure::MemoryBytes).expect("every figure has one");
            assert_ne!(source.kind, Kind::Derived, "{}", card.name);
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
        let Err(CardError::Unknown { similar, .. }) = Card::named("rtx 4900") else { panic!("found") };
        assert_eq!(similar.first(), Some(&"rtx_4090"));
        let Err(CardError::Unknown { similar, .. }) = Card::named("zzzzzzzz") else { panic!("found") };
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
            ("kind = \"measured_here\"", "kind = \"guessed\"", "unknown variant"),
            ("\"sms\",", "\"smz\",", "unknown variant"),
            ("kind = \"measured_here\"", "kind = \"derived\"", "cannot have measured"),
        ] {
            std::fs::write(&path, text.replace(old, new)).expect("written");
            let problem = Card::named(path.to_str().expect("a path")).expect_err(new).to_string();
            assert!(problem.contains(wanted), "{problem}");
        }
    }
}
