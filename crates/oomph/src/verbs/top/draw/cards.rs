//! One line a card.

use oomph_device::{Card, Memory};
use oomph_explain::bytes::show;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;

use super::columns::{cell, cut, width_of};
use super::style::Look;
use crate::verbs::top::scene::Scene;

/// The narrowest bar that says anything.
const BAR_MIN: usize = 6;
/// What matters less makes room for a bar of this width.
const BAR_WANTED: usize = 14;
/// Wider bars say no more.
const BAR_MAX: usize = 60;

pub(super) fn render(buffer: &mut Buffer, area: Rect, scene: &Scene, look: Look) {
    let (width, room) = (usize::from(area.width), usize::from(area.height));
    let mut lines: Vec<Line> = scene.cards.iter().map(|card| line(card, width, look)).collect();
    if let Some(problem) = &scene.driver.problem {
        lines = vec![no_driver(problem, scene.driver.hint.as_deref(), width, look)];
    } else if lines.is_empty() {
        lines.push(Line::styled("no card", look.dim()));
    } else if lines.len() > room {
        let more = lines.len() + 1 - room.max(1);
        lines.truncate(room.saturating_sub(1));
        lines.push(Line::styled(format!("and {more} more cards"), look.dim()));
    }
    for (line, row) in lines.into_iter().zip(area.rows()) {
        line.render(row, buffer);
    }
}

fn no_driver(problem: &str, hint: Option<&str>, width: usize, look: Look) -> Line<'static> {
    let text = hint.map_or(problem.to_owned(), |hint| format!("{problem}; {hint}"));
    let text = if width_of(&text) > width { problem.to_owned() } else { text };
    Line::styled(cut(&text, width), look.warning())
}

/// Number, name, bar, memory, and as much of the rest as there is room for.
fn line(card: &Card, width: usize, look: Look) -> Line<'static> {
    let number = card.instance.map_or(card.index.to_string(), |instance| format!("{}:{instance}", card.index));
    let head = cell(&number, 4, false);
    if let Some(problem) = &card.problem {
        return Line::from(vec![Span::raw(head), Span::styled(cut(problem, width.saturating_sub(4)), look.bad())]);
    }
    let name_width = if width >= 100 {
        24
    } else if width >= 64 {
        14
    } else {
        0
    };
    let name = card.name.as_deref().unwrap_or("unnamed card");
    let name = cell(name.strip_prefix("NVIDIA ").unwrap_or(name), name_width, false);
    let memory = memory_text(&card.memory);
    let mut rest: Vec<String> = rest(card);
    let fixed = |rest: &[String]| {
        let rest: usize = rest.iter().map(|text| width_of(text) + 2).sum();
        4 + name_width + usize::from(name_width > 0) + width_of(&memory) + 1 + rest
    };
    while !rest.is_empty() && fixed(&rest) + BAR_WANTED + 2 > width {
        rest.pop();
    }
    let bar_width = width.saturating_sub(fixed(&rest) + 2).min(BAR_MAX);
    let mut spans = vec![Span::styled(head, look.title())];
    if name_width > 0 {
        spans.push(Span::raw(name + " "));
    }
    if let (Some(used), Some(total), true) = (card.memory.used_bytes(), card.memory.total_bytes(), bar_width >= BAR_MIN)
    {
        spans.extend(bar(used, total, bar_width, look));
    }
    spans.push(Span::raw(memory));
    spans.extend(rest.into_iter().map(|text| Span::styled(format!("  {text}"), look.dim())));
    Line::from(spans)
}

/// A bar between brackets, and a space after it.
fn bar(part: u64, whole: u64, width: usize, look: Look) -> Vec<Span<'static>> {
    let filled = (u128::from(part) * width as u128).div_ceil(u128::from(whole.max(1))).min(width as u128) as usize;
    vec![
        Span::raw("["),
        Span::styled("█".repeat(filled), look.fullness(part, whole)),
        Span::styled("░".repeat(width - filled), look.dim()),
        Span::raw("] "),
    ]
}

fn memory_text(memory: &Memory) -> String {
    match memory {
        Memory::Unknown => "memory not told".to_owned(),
        Memory::Own { total_bytes, used_bytes, .. } => format!("{:>9} of {}", show(*used_bytes), show(*total_bytes)),
        Memory::Unified { total_bytes, used_bytes, .. } => {
            format!("{:>9} of {}, unified", show(*used_bytes), show(*total_bytes))
        }
    }
}

/// What matters most comes first: the last ones make room.
fn rest(card: &Card) -> Vec<String> {
    let watts = |milliwatts: u32| milliwatts.div_ceil(1000);
    let power = match (card.power_mw, card.power_limit_mw) {
        (Some(power), Some(limit)) => Some(format!("{:>3} of {}W", watts(power), watts(limit))),
        (Some(power), None) => Some(format!("{}W", watts(power))),
        (None, _) => None,
    };
    let divided = card.is_divided.then(|| "divided (MIG)".to_owned());
    let parts = [
        divided,
        card.busy_percent.map(|percent| format!("busy {percent:>3}%")),
        card.temperature_c.map(|degrees| format!("{degrees}C")),
        power,
        card.clock_mhz.map(|clock| format!("{clock}MHz")),
        card.fan_percent.map(|percent| format!("fan {percent}%")),
    ];
    parts.into_iter().flatten().collect()
}
