//! `oomph doc [NAME]`.

use std::fmt::Write as _;

use anstyle::Style;

use crate::error::Error;
use crate::output;
use crate::pages::{self, Kind, Page};

/// Show the page of a policy, a verdict class or a word
///
/// Every name that oomph prints has a page: what it means, when it happens, what to do about it. Without a name,
/// lists all pages.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  \
    oomph doc                  all pages\n  \
    oomph doc leak             a verdict class\n  \
    oomph doc native           a placement policy\n\n\
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
        let all: Vec<_> = pages::ALL.iter().map(json).collect();
        return output::data(&if args.json { output::pretty(&serde_json::json!({ "pages": all })) } else { list() });
    };
    let unknown = || Error::UnknownPage { name: name.clone(), similar: pages::similar(name) };
    let page = pages::find(name).ok_or_else(unknown)?;
    output::data(&if args.json { output::pretty(&json(page)) } else { styled(page.text) })
}

/// All names with their sentences, under a heading a kind.
fn list() -> String {
    let name_width = pages::ALL.iter().map(|page| page.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for kind in Kind::ALL {
        let _ = writeln!(text, "{BOLD}{}{BOLD:#}", kind.title());
        for page in pages::ALL.iter().filter(|page| page.kind == kind) {
            let _ = writeln!(text, "  {:name_width$}  {}", page.name, page.summary());
        }
        text.push('\n');
    }
    text.push_str("'oomph doc NAME' shows a page.\n");
    text
}

/// Markdown reads well as it is; only its headings are made bold.
fn styled(markdown: &str) -> String {
    let mut text = String::new();
    for line in markdown.lines() {
        let _ = if line.starts_with('#') { writeln!(text, "{BOLD}{line}{BOLD:#}") } else { writeln!(text, "{line}") };
    }
    text
}

fn json(page: &Page) -> serde_json::Value {
    serde_json::json!({
        "name": page.name,
        "kind": page.kind.name(),
        "summary": page.summary(),
        "text": page.text,
    })
}
