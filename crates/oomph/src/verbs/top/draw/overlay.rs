//! What lies over a page: the keys, and the question before a process is ended.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Widget as _};

use super::columns::{cell, cut, width_of};
use super::style::Look;
use crate::verbs::top::state::{Overlay, State};

const KEYS: [(&str, &str); 12] = [
    ("q, Ctrl-C", "quit"),
    ("arrows, j k", "choose a line, or scroll"),
    ("Enter, click", "open a job"),
    ("Esc", "go back, drop the filter"),
    ("left, right", "next process of a job"),
    ("/", "filter by command, user, PID"),
    ("s", "sort by the next column"),
    ("t", "tree of processes"),
    ("e", "jobs that ended long ago"),
    ("K, F9", "end a process (--allow-kill)"),
    ("Ctrl-Z", "back to the shell; fg returns"),
    ("h, ?", "this help"),
];

pub(super) fn render(buffer: &mut Buffer, area: Rect, state: &State, look: Look) {
    let (title, lines) = match &state.overlay {
        None => return,
        Some(Overlay::Help) => (format!(" Keys, sorted by {} ", state.sort.words()), help()),
        Some(Overlay::End(target)) => {
            let question = format!("End process {} ({})?", target.pid, cut(&target.name, 40));
            let keys = "y sends SIGTERM, any other key goes back".to_owned();
            (" End a process ".to_owned(), vec![question, keys])
        }
    };
    let wanted = lines.iter().map(|line| width_of(line)).max().unwrap_or(0).max(width_of(&title)) + 4;
    let (width, height) = (wanted.min(usize::from(area.width)) as u16, (lines.len() as u16 + 2).min(area.height));
    let place = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    Clear.render(place, buffer);
    let block = Block::bordered().title(title).border_style(look.title());
    let inside = block.inner(place);
    block.render(place, buffer);
    let lines: Vec<Line> = lines.into_iter().map(Line::raw).collect();
    Paragraph::new(lines).render(inside, buffer);
}

fn help() -> Vec<String> {
    KEYS.iter().map(|(keys, does)| format!(" {} {does}", cell(keys, 13, false))).collect()
}
