//! The page about a job that uses no card: a few tables, which need no script to draw themselves.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::document::escaped_html;
use super::input::BytesOf;
use crate::bytes::{percent, show};

/// Nothing may be loaded from anywhere, whatever the data says.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}\
    h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}\
    td{padding:.2rem .6rem;text-align:right;white-space:nowrap}td:last-child{text-align:left;white-space:normal;width:100%}\
    .bar{display:block;height:.4rem;background:#4a7dbd;border-radius:.2rem}p,li{overflow-wrap:anywhere}";

/// The answer of a plan for the host alone, ready to be shown.
#[derive(Clone, Debug, Default)]
pub struct HostPage {
    /// What the reader calls the job: a file name.
    pub source_name: String,
    /// The answer in one sentence.
    pub sentence: String,
    /// How much of the job was run.
    pub seen: String,
    /// All of the host's memory at its peak.
    pub peak_bytes: u64,
    /// What that is made of, the largest first.
    pub categories: Vec<BytesOf>,
    /// What else is to be said, one sentence each.
    pub notes: Vec<String>,
    /// The command that makes this plan again.
    pub command_line: String,
}

/// Writes the page.
///
/// # Errors
/// Only what `out` itself answers.
pub fn write_host(page: &HostPage, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(document(page).as_bytes())
}

fn document(page: &HostPage) -> String {
    let text = |text: &str| escaped_html(text);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{name} – oomph</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{name} {sentence}</h1>\n\
         <p>Seen: {seen}</p>\n<h2>Host memory at its peak: {peak}</h2>\n<table>\n",
        name = text(&page.source_name),
        sentence = text(&page.sentence),
        seen = text(&page.seen),
        peak = show(page.peak_bytes),
    );
    for part in &page.categories {
        let share = part.bytes.saturating_mul(100).checked_div(page.peak_bytes).unwrap_or(0);
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}<span class=\"bar\" style=\"width:{share}%\"></span></td></tr>",
            show(part.bytes),
            percent(part.bytes, page.peak_bytes),
            text(&part.what),
        );
    }
    out.push_str("</table>\n");
    if !page.notes.is_empty() {
        out.push_str("<ul>\n");
        for note in &page.notes {
            let _ = writeln!(out, "<li>{}</li>", text(note));
        }
        out.push_str("</ul>\n");
    }
    let _ = writeln!(out, "<p><code>{}</code></p>\n</main>\n</body>\n</html>", text(&page.command_line));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_said_and_nothing_is_taken_for_html() {
        let page = HostPage {
            source_name: "a<b>.py".into(),
            sentence: "uses no card".into(),
            seen: "3 of 10 steps".into(),
            peak_bytes: 4 << 30,
            categories: vec![BytesOf { what: "parameters".into(), bytes: 1 << 30 }],
            notes: vec!["the loop at a.py:3 keeps 1 MiB".into()],
            command_line: "oomph plan a.py".into(),
        };
        let html = document(&page);
        for part in ["a&lt;b&gt;.py uses no card", "4.00GiB", "parameters", "width:25%", "a.py:3", "oomph plan a.py"] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!html.contains("<b>") && !html.contains("<script"));
    }
}
