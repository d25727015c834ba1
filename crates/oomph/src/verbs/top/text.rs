//! One table, for where there is no terminal: the overview as the screen shows it, all of it and without keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::draw::{self, Look};
use super::listing;
use super::scene::Scene;
use super::state::{Event, State};

/// The overview in lines of at most so many columns.
pub(super) fn table(scene: Scene, width: usize, is_unicode: bool) -> String {
    let width = u16::try_from(width).unwrap_or(u16::MAX);
    let mut state = State::new(Rect::new(0, 0, width, 0), false);
    state.update(Event::Seen(Box::new(scene)));
    state.selected = None;
    let cards = state.scene.cards.len().max(1);
    // The first and the last line, room for all cards, which get half of it, and for all of the list.
    let height = 2 + (2 * cards).max(cards + 1 + listing::lines(&state).len());
    state.area.height = u16::try_from(height).unwrap_or(u16::MAX);
    let mut buffer = Buffer::empty(state.area);
    draw::render(&mut buffer, state.area, &state, Look { is_coloured: false, is_unicode });
    lines(&buffer, state.area.height.saturating_sub(1))
}

/// The first lines of a buffer as text.
fn lines(buffer: &Buffer, count: u16) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let rows = buffer.content.chunks(width).take(usize::from(count));
    let text: Vec<String> = rows.map(row_text).collect();
    text.join("\n").trim_end().to_owned() + "\n"
}

fn row_text(cells: &[ratatui::buffer::Cell]) -> String {
    let mut text = String::new();
    let mut covered = 0;
    for cell in cells {
        // A wide letter covers the cell after it, which then holds nothing of its own.
        if covered == 0 {
            text.push_str(cell.symbol());
            covered = unicode_width::UnicodeWidthStr::width(cell.symbol());
        }
        covered = covered.saturating_sub(1);
    }
    text.trim_end().to_owned()
}
