//! From a state to a screen. Nothing is decided here but where it stands and how it looks.

mod cards;
mod chart;
mod columns;
mod job;
mod list;
mod overlay;
mod style;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget as _};

use oomph_explain::bytes::show;

use super::layout;
use super::scene::Scene;
use super::state::{Page, State};
pub(super) use style::Look;

/// Draws the whole screen.
pub(super) fn draw(frame: &mut Frame, state: &State, look: Look) {
    let area = frame.area();
    render(frame.buffer_mut(), area, state, look);
}

/// The same, into any buffer.
pub(super) fn render(buffer: &mut Buffer, area: Rect, state: &State, look: Look) {
    if area.is_empty() {
        return;
    }
    let [first, last] = [area.y, area.bottom() - 1].map(|y| Rect { y, height: 1, ..area });
    first_line(&state.scene, usize::from(area.width), look).render(first, buffer);
    match &state.page {
        Page::Overview => {
            cards::render(buffer, layout::cards(state), &state.scene, look);
            list::render(buffer, layout::list(state), state, look);
        }
        Page::Job(_) => {
            let lines = job::lines(state, look);
            let scrolled = u16::try_from(state.scrolled).unwrap_or(u16::MAX);
            Paragraph::new(lines).scroll((scrolled, 0)).render(layout::body(area), buffer);
        }
    }
    if area.height > 1 {
        last_line(state, look).render(last, buffer);
    }
    overlay::render(buffer, area, state, look);
    if !look.is_unicode {
        style::make_ascii(buffer, area);
    }
}

/// The lines of the open job's page, whichever of them are seen.
pub(super) fn job_lines(state: &State) -> Vec<Line<'static>> {
    job::lines(state, Look::default())
}

/// Machine, time, driver and host memory.
fn first_line(scene: &Scene, width: usize, look: Look) -> Line<'static> {
    let mut parts = vec![scene.host_name.clone().unwrap_or_default(), clock(scene.at_us)];
    if let Some(system) = scene.system {
        let used_bytes = system.total_bytes.saturating_sub(system.available_bytes);
        parts.push(format!("host {} of {}", show(used_bytes), show(system.total_bytes)));
    }
    parts.extend(scene.driver.version.as_ref().map(|version| format!("driver {version}")));
    parts.extend(scene.driver.cuda.as_ref().map(|version| format!("CUDA {version}")));
    parts.retain(|part| !part.is_empty());
    while parts.len() > 1 && columns::width_of(&parts.join(" · ")) + 11 > width {
        parts.pop();
    }
    let name = Span::styled("oomph top", look.title());
    Line::from(vec![name, Span::raw("  "), Span::styled(parts.join(" · "), look.dim())])
}

/// The time of day, in UTC: what was recorded elsewhere is shown the same everywhere.
fn clock(at_us: u64) -> String {
    let seconds = at_us / 1_000_000 % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// What was just said, the filter, or the keys.
fn last_line(state: &State, look: Look) -> Line<'static> {
    if let Some(message) = &state.message {
        return Line::styled(message.clone(), look.warning());
    }
    if state.is_typing {
        return Line::from(vec![Span::styled("filter: ", look.title()), Span::raw(format!("{}_", state.filter))]);
    }
    let keys: &[(&str, &str)] = match state.page {
        Page::Overview => {
            &[("q", "quit"), ("Enter", "open"), ("/", "filter"), ("s", "sort"), ("t", "tree"), ("h", "help")]
        }
        Page::Job(_) => &[("Esc", "back"), ("q", "quit"), ("arrows", "scroll"), ("h", "help")],
    };
    let mut spans = Vec::new();
    for (key, does) in keys {
        spans.extend([Span::styled((*key).to_owned(), look.title()), Span::styled(format!(" {does}  "), look.dim())]);
    }
    if !state.filter.is_empty() {
        spans.insert(0, Span::styled(format!("filter: {}  ", state.filter), look.warning()));
    }
    Line::from(spans)
}
