//! The ranks of a job for people and for programs.

use std::fmt::Write as _;

use anstyle::Style;
use serde_json::{Value, json};

use super::table::{Align, table, wrap};
use crate::bytes::show;
use crate::ranks::{Rank, Ranks};

const BOLD: Style = Style::new().bold();

/// The ranks as text: who ran out first, the table, and whose report follows.
#[must_use]
pub fn text(ranks: &Ranks, width: usize) -> String {
    let mut out = wrap(&sentence(ranks), "", width);
    let _ = writeln!(out, "\n{BOLD}Ranks{BOLD:#}");
    let rows: Vec<Vec<String>> = ranks.ranks.iter().map(|rank| row(rank, ranks)).collect();
    let columns = [
        ("RAN OUT", Align::Right),
        ("ALLOCATED", Align::Right),
        ("PEAK", Align::Right),
        ("RESERVED", Align::Right),
        ("STEPS", Align::Right),
        ("VERDICT", Align::Left),
        ("FILE", Align::LeftKeepEnd),
    ];
    out.push_str(&table(&columns, &rows, width));
    let _ = writeln!(out, "\n{BOLD}{}{BOLD:#}", ranks.first().name);
    out
}

fn sentence(ranks: &Ranks) -> String {
    let first = ranks.first();
    let (count, failed) = (ranks.ranks.len(), ranks.failed_count());
    let who = match (first.ran_out, first.ran_out_at_us) {
        (false, _) => format!("None of the {count} ranks ran out of memory; {} held most.", first.name),
        (true, None) => format!(
            "{failed} of {count} ranks ran out of memory; their files do not say which was first. {} is explained.",
            first.name
        ),
        (true, Some(_)) if failed == 1 => format!("{} ran out of memory, the only one of {count} ranks.", first.name),
        (true, Some(_)) => format!("{} ran out of memory first; {failed} of {count} ranks did.", first.name),
    };
    let spread = ranks.peak_range().map_or_else(String::new, |(least, most)| {
        let peak = |rank: &Rank| show(rank.peak_allocated_bytes.unwrap_or(0));
        if least.peak_allocated_bytes == most.peak_allocated_bytes {
            format!(" All peaks are {}.", peak(most))
        } else {
            format!(" Peaks lie between {} ({}) and {} ({}).", peak(least), least.name, peak(most), most.name)
        }
    });
    who + &spread
}

fn row(rank: &Rank, ranks: &Ranks) -> Vec<String> {
    let unknown = || "-".to_owned();
    let bytes = |bytes: Option<u64>| bytes.map_or_else(unknown, show);
    let ran_out = match (rank.ran_out, rank.ran_out_at_us, ranks.first().ran_out_at_us) {
        (false, ..) => "no".to_owned(),
        (true, Some(at_us), Some(first_us)) if at_us > first_us => {
            format!("+{:.3}s", (at_us - first_us) as f64 / 1_000_000.0)
        }
        (true, Some(_), _) => "first".to_owned(),
        (true, None, _) => "yes".to_owned(),
    };
    vec![
        ran_out,
        bytes(rank.allocated_bytes),
        bytes(rank.peak_allocated_bytes),
        bytes(rank.peak_reserved_bytes),
        rank.steps.map_or_else(unknown, |steps| steps.to_string()),
        rank.class.to_owned(),
        rank.name.clone(),
    ]
}

/// The ranks as a list of JSON objects, in the order given.
#[must_use]
pub fn json(ranks: &Ranks) -> Value {
    let one = |(at, rank): (usize, &Rank)| {
        json!({
            "file": rank.name,
            "explained": at == ranks.chosen,
            "ran_out": rank.ran_out,
            "ran_out_at_us": rank.ran_out_at_us,
            "class": rank.class,
            "allocated_bytes": rank.allocated_bytes,
            "peak_allocated_bytes": rank.peak_allocated_bytes,
            "peak_reserved_bytes": rank.peak_reserved_bytes,
            "steps": rank.steps,
        })
    };
    ranks.ranks.iter().enumerate().map(one).collect()
}
