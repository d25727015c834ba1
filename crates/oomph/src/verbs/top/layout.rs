//! Where things stand on the screen: drawing and the mouse ask the same functions.

use ratatui::layout::Rect;

use super::draw;
use super::listing;
use super::state::State;

/// Everything between the first and the last line.
pub(super) fn body(area: Rect) -> Rect {
    let height = area.height.saturating_sub(2);
    Rect { y: area.y + area.height.min(1), height, ..area }
}

/// The cards: at most half of the screen.
pub(super) fn cards(state: &State) -> Rect {
    let body = body(state.area);
    let wanted = state.scene.cards.len().max(1).min(usize::from(u16::MAX)) as u16;
    Rect { height: wanted.min((body.height / 2).max(1)).min(body.height), ..body }
}

/// The list of jobs and processes: what the cards leave, after an empty line where there is room for one.
pub(super) fn list(state: &State) -> Rect {
    let (body, cards) = (body(state.area), cards(state));
    let gap = u16::from(body.height > cards.height + 8);
    let taken = (cards.height + gap).min(body.height);
    Rect { y: body.y + taken, height: body.height - taken, ..body }
}

/// The first line of the list that is seen: the chosen one stays in the middle as far as possible.
pub(super) fn first_line(state: &State, area: Rect) -> usize {
    let lines = listing::lines(state);
    let chosen = lines.iter().position(|line| line.row().is_some() && line.row() == state.selected).unwrap_or(0);
    let height = usize::from(area.height);
    chosen.saturating_sub(height / 2).min(lines.len().saturating_sub(height))
}

/// How many lines the page of the open job has.
pub(super) fn job_length(state: &State) -> usize {
    draw::job_lines(state).len()
}
