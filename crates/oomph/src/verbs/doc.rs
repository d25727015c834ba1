//! `oomph doc [NAME]`.

use std::fmt::Write as _;

use anstyle::Style;
use serde::Serialize;

use crate::error::Error;
use crate::output;
use crate::pages::{self, Kind, Page};

/// Show the page of a rule, a policy, a verdict class, a card or a word
///
/// Every name that oomph prints has a page: what it means, when it happens, what to do about it. Without a name,
/// lists all pages.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  \
    oomph doc                  all pages\n  \
    oomph doc retain-graph-true\n  \
    oomph doc leak             a verdict class\n  \
    oomph doc native           a placement policy\n  \
    oomph doc rtx_4090         a card\n\n\
    Exit codes:\n  \
    0   the page is on stdout\n  \
    2   there is no such page")]
pub(crate) struct Args {
    /// Which page, e.g. fragmentation, native, reserved
    name: Option<String>,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

const BOLD: Style = Style::new().bold();

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let Some(name) = &args.name else {
        let all = pages::all();
        let shown = if args.json {
            output::pretty(&PagesJson { pages: all.iter().map(PageJson::of).collect() })
        } else {
            list(&all, output::width())
        };
        return output::data(&shown);
    };
    let unknown = || Error::UnknownPage { name: name.clone(), similar: pages::similar(name) };
    let page = pages::find(name).ok_or_else(unknown)?;
    output::data(&if args.json {
        output::pretty(&PageJson::of(&page))
    } else {
        styled(&page.markdown(), output::width())
    })
}

/// All names with their sentences, under a heading a kind.
fn list(all: &[Page], width: usize) -> String {
    let name_width = all.iter().map(|page| page.name.len()).max().unwrap_or(0);
    let hang = " ".repeat(name_width + 4);
    let mut text = String::new();
    for kind in Kind::ALL {
        let _ = writeln!(text, "{BOLD}{}{BOLD:#}", kind.title());
        for page in all.iter().filter(|page| page.kind == kind) {
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

/// Lays words out anew, whatever their line breaks were.
fn fill(paragraph: &str, options: textwrap::Options) -> String {
    textwrap::fill(&paragraph.split_whitespace().collect::<Vec<_>>().join(" "), options)
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
