//! What the screen shows at sizes people have. Snapshots hold text only; colours are looked at in the buffer.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use super::scenes;
use crate::verbs::top::draw::{self, Look};
use crate::verbs::top::scene::Scene;
use crate::verbs::top::state::{Event, State};
use crate::verbs::top::text;

const LOOK: Look = Look { is_coloured: true, is_unicode: true };
const SIZES: [(u16, u16); 3] = [(40, 10), (80, 24), (200, 50)];

fn state(scene: Scene, (width, height): (u16, u16)) -> State {
    let mut state = State::new(Rect::new(0, 0, width, height), true);
    state.update(Event::Seen(Box::new(scene)));
    state
}

fn press(state: &mut State, code: KeyCode) {
    state.update(Event::Key(KeyEvent::from(code)));
}

fn buffer(state: &State, look: Look) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(state.area.width, state.area.height)).unwrap();
    terminal.draw(|frame| draw::draw(frame, state, look)).unwrap();
    terminal.backend().buffer().clone()
}

fn screen(state: &State) -> String {
    let mut terminal = Terminal::new(TestBackend::new(state.area.width, state.area.height)).unwrap();
    terminal.draw(|frame| draw::draw(frame, state, LOOK)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn the_overview_at_every_size() {
    for size in SIZES {
        insta::assert_snapshot!(format!("overview_{}x{}", size.0, size.1), screen(&state(scenes::full(), size)));
    }
}

#[test]
fn a_job_s_page_at_every_size() {
    for size in SIZES {
        let mut state = state(scenes::full(), size);
        for second in 1..30 {
            let mut scene = scenes::full();
            scene.at_us += second * 1_000_000;
            scene.jobs[0].processes[0].devices[0].allocated_bytes = (1 + second % 10) * scenes::GIB;
            state.update(Event::Seen(Box::new(scene)));
        }
        press(&mut state, KeyCode::Enter);
        insta::assert_snapshot!(format!("job_{}x{}", size.0, size.1), screen(&state));
    }
}

#[test]
fn machines_unlike_others() {
    insta::assert_snapshot!("without_driver_80x24", screen(&state(scenes::without_driver(), (80, 24))));
    insta::assert_snapshot!("odd_cards_100x30", screen(&state(scenes::odd_cards(), (100, 30))));
    let cards = (0..16).map(|index| scenes::card(index, scenes::GIB)).collect();
    insta::assert_snapshot!("sixteen_cards_80x24", screen(&state(Scene { cards, ..scenes::full() }, (80, 24))));
}

#[test]
fn overlays() {
    let mut state = state(scenes::full(), (80, 24));
    press(&mut state, KeyCode::Char('h'));
    insta::assert_snapshot!("help_80x24", screen(&state));
    press(&mut state, KeyCode::Esc);
    press(&mut state, KeyCode::F(9));
    insta::assert_snapshot!("end_80x24", screen(&state));
}

#[test]
fn a_table_for_pipes() {
    insta::assert_snapshot!("table", text::table(scenes::full(), 80, true));
    let ascii = text::table(scenes::odd_cards(), 120, false);
    assert!(ascii.is_ascii(), "{ascii}");
    assert!(ascii.contains("[##") && ascii.contains("unified") && ascii.contains("fallen off the bus"), "{ascii}");
    assert!(!ascii.contains("quit"), "keys are of no use there: {ascii}");
}

#[test]
fn every_size_is_drawn() {
    for scene in [scenes::full(), scenes::without_driver(), scenes::odd_cards(), Scene::default()] {
        for (width, height) in [(0, 0), (1, 1), (2, 2), (5, 3), (13, 7), (39, 4), (300, 3), (20, 100)] {
            let mut state = state(scene.clone(), (width, height));
            for code in
                ['h', 'x', 't'].map(KeyCode::Char).into_iter().chain([KeyCode::Enter, KeyCode::Down, KeyCode::F(9)])
            {
                buffer(&state, LOOK);
                press(&mut state, code);
            }
            buffer(&state, LOOK);
        }
    }
}

#[test]
fn nothing_is_told_by_colour_alone_and_none_is_used_where_none_is_wanted() {
    let state = state(scenes::full(), (80, 24));
    let coloured = buffer(&state, LOOK);
    let plain = buffer(&state, Look { is_coloured: false, ..LOOK });
    let text = |buffer: &Buffer| buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect::<String>();
    assert_eq!(text(&coloured), text(&plain));
    assert!(coloured.content.iter().any(|cell| cell.fg == Color::Green));
    assert!(plain.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    let chosen =
        |buffer: &Buffer| buffer.content.iter().filter(|cell| cell.modifier.contains(Modifier::REVERSED)).count();
    assert_eq!((chosen(&plain), chosen(&coloured)), (80, 80), "the chosen line is seen either way");
}

#[test]
fn a_full_card_is_red_and_an_empty_one_green() {
    let colour = |used_bytes| {
        let cards = vec![scenes::card(0, used_bytes)];
        let buffer = buffer(&state(Scene { cards, ..scenes::full() }, (80, 24)), LOOK);
        buffer.content.iter().find(|cell| cell.symbol() == "█").map(|cell| cell.fg)
    };
    assert_eq!(
        [colour(scenes::GIB), colour(110 * scenes::GIB), colour(139 * scenes::GIB)],
        [Some(Color::Green), Some(Color::Yellow), Some(Color::Red)]
    );
}

#[test]
fn names_cannot_write_to_the_terminal() {
    let mut scene = scenes::full();
    scene.jobs[0].name = "\x1b[2J\x07evil\r\n".to_owned();
    scene.processes[1].command = "\x1b]0;evil\x07".to_owned();
    let shown = buffer(&state(scene.clone(), (80, 24)), LOOK);
    assert!(shown.content.iter().all(|cell| !cell.symbol().chars().any(char::is_control)));
    assert!(!text::table(scene, 80, true).contains('\x1b'));
}
