//! The status line's text: one line for a terminal of any width.

use oomph_explain::bytes::show;
use oomph_explain::forecast::Forecast;
use oomph_explain::render::table::shorten;

use super::status::Status;
use crate::numbers::{about, grouped};

/// A part of the line, and how much it matters: the less, the sooner it makes room.
type Part = (u8, String);

/// The line in at most `columns` columns; nothing where no process has used a card yet.
pub(super) fn text(status: &Status, columns: usize) -> Option<String> {
    let device = status.tightest()?;
    let mut parts: Vec<Part> = vec![
        (5, progress(status)),
        (4, format!("allocated {}", show(device.allocated_bytes))),
        (2, format!("reserved {}", show(device.reserved_bytes))),
    ];
    if let Some(used_bytes) = device.used_bytes {
        parts.push((1, format!("device {} of {}", show(used_bytes), show(device.total_bytes))));
    }
    parts.push((3, format!("{} left", show(device.left_bytes()))));
    if status.devices.len() > 1 {
        parts.push((0, format!("on cuda:{}", device.ordinal)));
    }
    parts.extend(status.forecast.map(|forecast| (6, warning(forecast))));
    while joined(&parts).chars().count() > columns && parts.len() > 1 {
        let least = parts.iter().map(|(weight, _)| *weight).min();
        parts.retain(|(weight, _)| Some(*weight) != least);
    }
    Some(shorten(&joined(&parts), columns, false))
}

fn joined(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
    format!("oomph  {}", texts.join(" · "))
}

fn progress(status: &Status) -> String {
    match (status.steps, status.batches) {
        (0, 0) => "before the first step".to_owned(),
        (0, batches) => format!("batch {}", grouped(batches)),
        (steps, _) => format!("step {}", grouped(steps)),
    }
}

/// What a steady rise leads to.
pub(super) fn warning(forecast: Forecast) -> String {
    format!("out of memory in about {} steps", grouped(about(forecast.steps_left)))
}

#[cfg(test)]
mod tests {
    use super::super::status::DeviceStatus;
    use super::*;

    const GIB: u64 = 1 << 30;

    fn status() -> Status {
        let device = DeviceStatus {
            allocated_bytes: 14 * GIB,
            reserved_bytes: 15 * GIB,
            used_bytes: Some(16 * GIB),
            total_bytes: 24 * GIB,
            ..DeviceStatus::default()
        };
        Status { steps: 1204, devices: vec![device], ..Status::default() }
    }

    #[test]
    fn a_wide_terminal_gets_all_of_it() {
        let expected =
            "oomph  step 1,204 · allocated 14.00GiB · reserved 15.00GiB · device 16.00GiB of 24.00GiB · 8.00GiB left";
        assert_eq!(text(&status(), 120).as_deref(), Some(expected));
        let forecast = Some(Forecast { steps_left: 3417, bytes_per_step: 1 });
        let warned = text(&Status { forecast, ..status() }, 160).expect("a line");
        assert_eq!(warned, format!("{expected} · out of memory in about 3,400 steps"));
    }

    #[test]
    fn narrow_terminals_get_what_matters_most() {
        for columns in 1..140 {
            let line = text(&status(), columns).expect("a line");
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        assert_eq!(text(&status(), 60).as_deref(), Some("oomph  step 1,204 · allocated 14.00GiB · 8.00GiB left"));
        let forecast = Some(Forecast { steps_left: 90, bytes_per_step: 1 });
        let warned = text(&Status { forecast, ..status() }, 45);
        assert_eq!(warned.as_deref(), Some("oomph  out of memory in about 90 steps"));
    }

    #[test]
    fn the_tightest_card_is_shown_and_nothing_before_there_is_one() {
        let mut two = status();
        two.devices.push(DeviceStatus { ordinal: 1, total_bytes: GIB, ..DeviceStatus::default() });
        let line = text(&two, 140).expect("a line");
        assert!(line.contains("1.00GiB left · on cuda:1"), "{line}");
        assert_eq!(text(&Status::default(), 80), None);
        let evaluation = text(&Status { steps: 0, batches: 3, ..status() }, 60).expect("a line");
        assert!(evaluation.starts_with("oomph  batch 3 · "), "{evaluation}");
    }
}
