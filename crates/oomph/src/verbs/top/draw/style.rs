//! Colours and signs. Colour never says what the text does not.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// What the terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Look {
    pub(in super::super) is_coloured: bool,
    pub(in super::super) is_unicode: bool,
}

impl Look {
    pub(super) fn title(self) -> Style {
        self.colour(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    pub(super) fn dim(self) -> Style {
        self.colour(Color::Gray)
    }

    pub(super) fn good(self) -> Style {
        self.colour(Color::Green)
    }

    pub(super) fn warning(self) -> Style {
        self.colour(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    pub(super) fn bad(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn chosen() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// How full something is.
    pub(super) fn fullness(self, part: u64, whole: u64) -> Style {
        match part.saturating_mul(100).checked_div(whole) {
            Some(90..) => self.bad(),
            Some(75..) => self.warning(),
            _ => self.good(),
        }
    }

    fn colour(self, colour: Color) -> Style {
        if self.is_coloured { Style::new().fg(colour) } else { Style::new() }
    }
}

/// Replaces what a terminal without Unicode cannot show.
pub(super) fn make_ascii(buffer: &mut Buffer, area: Rect) {
    for place in area.positions() {
        let Some(cell) = buffer.cell_mut(place) else { continue };
        if !cell.symbol().is_ascii() {
            let sign = match cell.symbol() {
                "█" => "#",
                "▒" => "=",
                "░" | "·" => ".",
                "─" => "-",
                "│" => "|",
                "┌" | "┐" | "└" | "┘" => "+",
                "…" => "~",
                _ => "?",
            };
            cell.set_symbol(sign);
        }
    }
}
