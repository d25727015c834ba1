//! The timeline of a job: allocated memory filled, reserved memory above it.

use oomph_explain::bytes::show;
use ratatui::text::{Line, Span};

use super::columns::cell;
use super::style::Look;
use crate::verbs::top::history::{History, Point};

/// Room for the scale at the left.
const SCALE: usize = 11;

/// The chart in so many lines, with a scale and a line below it.
pub(super) fn lines(history: &History, width: usize, height: usize, look: Look) -> Vec<Line<'static>> {
    let points = history.columns(width.saturating_sub(SCALE));
    let top_bytes = points.iter().map(|point| point.reserved_bytes.max(point.allocated_bytes)).max().unwrap_or(0);
    let mut lines: Vec<Line> = (0..height)
        .map(|row| {
            let scale = match row {
                0 => show(top_bytes),
                row if row + 1 == height => "0".to_owned(),
                _ => String::new(),
            };
            let mut spans = vec![Span::styled(cell(&scale, SCALE - 1, true) + " ", look.dim())];
            spans.extend(runs(&points, height - row, height, top_bytes, look));
            Line::from(spans)
        })
        .collect();
    let text = format!("{}allocated (full), reserved (shaded), last {}", " ".repeat(SCALE), span(history.seconds()));
    lines.push(Line::styled(text, look.dim()));
    lines
}

/// One row of the chart: columns that look alike share a span.
fn runs(points: &[Point], level: usize, height: usize, top_bytes: u64, look: Look) -> Vec<Span<'static>> {
    let reaches = |bytes: u64| {
        // A column shows in a row if it reaches into it; the lowest row shows anything at all.
        let floor = u128::from(top_bytes) * (level as u128 - 1);
        u128::from(bytes) * height as u128 > floor && bytes > 0
    };
    let sign = |point: &Point| match (reaches(point.allocated_bytes), reaches(point.reserved_bytes)) {
        (true, _) => '█',
        (false, true) => '░',
        (false, false) => ' ',
    };
    let signs: Vec<char> = points.iter().map(sign).collect();
    let alike = signs.chunk_by(|a, b| a == b);
    alike
        .map(|run| {
            let style = if run.first() == Some(&'█') { look.good() } else { look.dim() };
            Span::styled(run.iter().collect::<String>(), style)
        })
        .collect()
}

/// A stretch of time in words.
pub(super) fn span(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_of_time_have_two_units_at_most() {
        assert_eq!([span(59), span(60), span(3599), span(7260)], ["59 s", "1 min", "59 min", "2 h 1 min"]);
    }
}
