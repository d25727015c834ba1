//! `oomph doc [NAME]`.

use std::fmt::Write as _;

use anstyle::Style;
use serde::Serialize;
use textwrap::WordSplitter;

use crate::error::Error;
use crate::output;
use crate::pages::{self, Kind, Page};

/// Show the page of a verdict, a remedy, an allocator, a card, a rule or a word
///
/// Every name that oomph prints has a page: what it means, when it happens, what to do about it. Without a name, lists
/// all pages by kind.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  \
    oomph doc                  all pages\n  \
    oomph doc verdicts         the pages of one kind: verdicts, remedies, policies,\n                             \
    words, cards, rules\n  \
    oomph doc leak             a verdict\n  \
    oomph doc lazy_logits      a remedy\n  \
    oomph doc native           an allocator\n  \
    oomph doc rtx_4090         a card\n  \
    oomph doc retain-graph-true\n\n\
    Exit codes:\n  \
    0   the page is on stdout\n  \
    2   there is no such page")]
pub(crate) struct Args {
    /// Which page, e.g. fragmentation, native, reserved; or a kind, e.g. cards
    name: Option<String>,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

const BOLD: Style = Style::new().bold();

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let width = output::width();
    let Some(name) = &args.name else { return output::data(&listing(&Kind::ALL, args.json, width)) };
    if let Some(kind) = Kind::of_plural(name) {
        return output::data(&listing(&[kind], args.json, width));
    }
    let unknown = || Error::UnknownPage { name: name.clone(), similar: pages::similar(name) };
    let page = pages::find(name).ok_or_else(unknown)?;
    output::data(&if args.json { output::pretty(&PageJson::of(&page)) } else { styled(&page.markdown(), width) })
}

/// The pages of some kinds.
fn listing(kinds: &[Kind], as_json: bool, width: usize) -> String {
    let all = pages::all();
    if as_json {
        let listed = kinds.iter().flat_map(|&kind| all.iter().filter(move |page| page.kind == kind));
        return output::pretty(&PagesJson { pages: listed.map(PageJson::of).collect() });
    }
    list(kinds, &all, width)
}

/// Names with their sentences, under a heading for each kind.
fn list(kinds: &[Kind], all: &[Page], width: usize) -> String {
    let mut text = String::new();
    for &kind in kinds {
        let pages = || all.iter().filter(move |page| page.kind == kind);
        let name_width = pages().map(|page| page.name.len()).max().unwrap_or(0);
        let hang = " ".repeat(name_width + 4);
        let _ = writeln!(text, "{BOLD}{}{BOLD:#}", kind.title());
        for page in pages() {
            let name = format!("  {:name_width$}  ", page.name);
            let options = textwrap::Options::new(width).initial_indent(&name).subsequent_indent(&hang);
            let _ = writeln!(text, "{}", textwrap::fill(page.summary, options));
        }
        text.push('\n');
    }
    text.push_str("'oomph doc NAME' shows a page.\n");
    text
}

/// Markdown reads well as it is: headings are made bold, paragraphs and lists wrapped, code and tables left alone.
fn styled(markdown: &str, width: usize) -> String {
    let mut blocks: Vec<String> = Vec::new();
    let mut fence_open = false;
    for block in markdown.trim_end().split("\n\n") {
        // Code may hold empty lines: it goes on until its fence closes.
        let is_code = fence_open || block.starts_with("```");
        fence_open ^= block.lines().filter(|line| line.starts_with("```")).count() % 2 == 1;
        blocks.push(if is_code { block.to_owned() } else { styled_block(block, width) });
    }
    blocks.join("\n\n") + "\n"
}

fn styled_block(block: &str, width: usize) -> String {
    if block.starts_with('#') {
        format!("{BOLD}{block}{BOLD:#}")
    } else if block.starts_with("    ") || block.starts_with('|') {
        block.to_owned()
    } else if let Some(items) = block.strip_prefix("- ") {
        let item = |item: &str| fill(item, textwrap::Options::new(width).initial_indent("- ").subsequent_indent("  "));
        items.split("\n- ").map(item).collect::<Vec<_>>().join("\n")
    } else {
        fill(block, textwrap::Options::new(width))
    }
}

/// Lays words out anew, whatever their line breaks were. Addresses stay whole, so that they can be followed.
fn fill(paragraph: &str, options: textwrap::Options) -> String {
    let splitter = WordSplitter::Custom(|word| {
        if word.contains("://") { Vec::new() } else { WordSplitter::HyphenSplitter.split_points(word) }
    });
    textwrap::fill(&paragraph.split_whitespace().collect::<Vec<_>>().join(" "), options.word_splitter(splitter))
}

/// A page as `--json` prints it.
#[derive(Serialize)]
struct PageJson {
    name: &'static str,
    kind: &'static str,
    summary: &'static str,
    text: String,
}

impl PageJson {
    fn of(page: &Page) -> Self {
        Self { name: page.name, kind: page.kind.name(), summary: page.summary, text: page.markdown() }
    }
}

/// The list of pages as `--json` prints it.
#[derive(Serialize)]
struct PagesJson {
    pages: Vec<PageJson>,
}
