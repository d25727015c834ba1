//! The pages of cards, made from the catalogue: every field a card's own file has, with what it means.

use std::fmt::Write as _;
use std::sync::LazyLock;

use oomph_explain::bytes::show;
use oomph_plan::Card;
use oomph_plan::cards::{self, CATALOGUE, Source};

use super::{Kind, Page};

/// Name, summary and text of every card.
static TEXTS: LazyLock<Vec<(&'static str, String, String)>> =
    LazyLock::new(|| CATALOGUE.iter().map(|card| (card.name.as_str(), summary(card), text(card))).collect());

/// One page a card, in the catalogue's order.
pub(super) fn pages() -> impl Iterator<Item = Page> {
    TEXTS.iter().map(|(name, summary, text)| Page { name, kind: Kind::Card, summary, text })
}

fn summary(card: &Card) -> String {
    format!("{}: {}, compute capability {}", card.title, show(card.memory_bytes), card.compute_capability)
}

fn text(card: &Card) -> String {
    let mut text = match card.aliases.as_slice() {
        [] => String::new(),
        names => {
            let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            format!("Also known as {names}.\n\n")
        }
    };
    text.push_str("Where the figures come from:\n\n");
    for source in &card.sources {
        let _ = writeln!(text, "- {}", line(source));
    }
    text.push_str("\nA card of your own is a file with these fields, given as `--gpu ./mycard.toml`:\n\n```toml\n");
    let _ = writeln!(text, "name = {:?}", card.name);
    let _ = writeln!(text, "title = {:?}  # as the driver names it", card.title);
    let _ = writeln!(text, "memory_bytes = {}  # torch.cuda.mem_get_info()[1]", card.memory_bytes);
    let _ = writeln!(text, "context_bytes = {}  # taken before the first tensor", card.context_bytes);
    let _ = writeln!(text, "compute_capability = \"{}\"", card.compute_capability);
    let _ = writeln!(text, "sms = {}", card.sms);
    let _ = writeln!(text, "shared_memory_per_block_optin_bytes = {}", card.shared_memory_per_block_optin_bytes);
    let _ = writeln!(text, "shared_memory_per_sm_bytes = {}", card.shared_memory_per_sm_bytes);
    let _ = writeln!(text, "l2_bytes = {}", card.l2_bytes);
    let _ = writeln!(text, "max_threads_per_sm = {}", card.max_threads_per_sm);
    let _ = writeln!(text, "max_blocks_per_sm = {}", card.max_blocks_per_sm);
    let _ = writeln!(text, "registers_per_sm = {}", card.registers_per_sm);
    let _ = writeln!(text, "clock_khz = {}", card.clock_khz);
    let _ = writeln!(text, "memory_clock_khz = {}", card.memory_clock_khz);
    let _ = writeln!(text, "memory_bus_bits = {}", card.memory_bus_bits);
    text.push_str("```");
    text
}

/// What some figures rest on.
fn line(source: &Source) -> String {
    let figures = source.figures.iter().map(|figure| format!("`{figure}`")).collect::<Vec<_>>().join(", ");
    let kind = match (source.kind, source.measured) {
        (cards::Kind::MeasuredHere, _) => "measured on",
        (cards::Kind::Reported, true) => "measured and published by others:",
        (cards::Kind::Reported, false) => "published by others:",
        (cards::Kind::Derived, _) => "derived from",
    };
    let says = if source.says.is_empty() { String::new() } else { format!(" ({})", source.says) };
    format!("{figures}: {kind} {}{says}.", source.from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a page shows can be saved and used as it stands.
    #[test]
    fn every_page_holds_a_card_file() {
        for (card, page) in CATALOGUE.iter().zip(TEXTS.iter()) {
            let file = page.2.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect(page.0);
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("card.toml");
            std::fs::write(&path, file).expect("written");
            let read = Card::named(path.to_str().expect("a path")).expect(page.0);
            assert_eq!((read.memory_bytes, read.sms, read.title), (card.memory_bytes, card.sms, card.title.clone()));
        }
    }
}
