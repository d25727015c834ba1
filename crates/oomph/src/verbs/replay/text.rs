//! The answer of a replay for people: a sentence, then a table of at most 80 columns.

use std::fmt::Write as _;

use anstyle::Style;
use oomph_explain::bytes::{percent, show};

use super::{Ended, Row, Table};

const BOLD: Style = Style::new().bold();
/// The policy that is a bound rather than an allocator.
const BOUND: &str = "ideal";

/// All of it: what the first policy needs and how far the others would get, then every figure.
pub(super) fn render(table: &Table, width: usize) -> String {
    let rows = &table.policies;
    let mut text = format!("{BOLD}{}{BOLD:#}\n\n", textwrap::fill(&sentence(rows), width));
    let name_width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max("policy".len());
    let _ = writeln!(text, "{:name_width$}  allocated   reserved  overhead  segments  outcome", "policy");
    for row in rows {
        let overhead = row.peak_reserved_bytes.saturating_sub(row.peak_allocated_bytes);
        let _ = writeln!(
            text,
            "{:name_width$}  {:>9}  {:>9}  {:>8}  {:>8}  {}",
            row.name,
            show(row.peak_allocated_bytes),
            show(row.peak_reserved_bytes),
            percent(overhead, row.peak_reserved_bytes),
            row.segments,
            if row.outcome == Ended::Ok { "ok" } else { "oom" },
        );
    }
    let _ = writeln!(text, "\nPeaks over {} events on device {}.", table.events, table.device);
    if rows.iter().all(|row| row.validated) {
        text.push_str("An independent implementation checked every placement and found nothing wrong.\n");
    }
    for row in rows {
        let [least, most] = row.peak_reserved_bytes_range;
        if least < most {
            let range = format!("{} reserves {} to {}", row.name, show(least), show(most));
            let _ = writeln!(text, "{range}, depending on the addresses the driver picks.");
        }
    }
    text
}

/// The answer in one sentence.
fn sentence(rows: &[Row]) -> String {
    let mut clauses = Vec::new();
    for row in rows {
        let first = clauses.is_empty();
        let (name, reserved) = (row.name, show(row.peak_reserved_bytes));
        clauses.push(match (row.outcome, row.failed_request_bytes, row.failed_reserved_bytes) {
            _ if name == BOUND => format!("the lower bound is {reserved}"),
            (Ended::Oom, Some(request), Some(held)) if first => {
                format!("{name} runs out of memory: it cannot serve {} with {} reserved", show(request), show(held))
            }
            (Ended::Oom, ..) => format!("{name} would run out of memory"),
            (Ended::Ok, ..) if first => {
                format!("{name} needs {reserved} for {} of live tensors", show(row.peak_allocated_bytes))
            }
            (Ended::Ok, ..) => format!("{name} would need {reserved}"),
        });
    }
    clauses.join("; ") + "."
}
