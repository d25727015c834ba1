//! What keys, the mouse and time do to the state.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;

use super::scenes;
use crate::verbs::top::layout;
use crate::verbs::top::listing::{self, Row};
use crate::verbs::top::state::{Effect, Event, Overlay, Page, State, Target};

fn state() -> State {
    let mut state = State::new(Rect::new(0, 0, 80, 24), true);
    state.update(Event::Seen(Box::new(scenes::full())));
    state
}

fn press(state: &mut State, code: KeyCode) -> Effect {
    state.update(Event::Key(KeyEvent::from(code)))
}

fn type_text(state: &mut State, text: &str) {
    for letter in text.chars() {
        press(state, KeyCode::Char(letter));
    }
}

fn pids(state: &State) -> Vec<u32> {
    let pid = |row: Row| if let Row::Process(pid) = row { Some(pid) } else { None };
    listing::rows(state).into_iter().filter_map(pid).collect()
}

#[test]
fn the_first_job_is_chosen_and_enter_opens_it() {
    let mut state = state();
    assert_eq!(state.selected, Some(Row::Job(scenes::job().id)));
    press(&mut state, KeyCode::Enter);
    assert_eq!(state.open_job(), Some(scenes::job().id.as_str()));
    press(&mut state, KeyCode::Esc);
    assert_eq!(state.page, Page::Overview);
    assert_eq!(press(&mut state, KeyCode::Char('q')), Effect::Quit);
    let ctrl = |letter| Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL));
    assert_eq!((state.update(ctrl('c')), state.update(ctrl('z'))), (Effect::Quit, Effect::Suspend));
}

#[test]
fn a_process_opens_its_job_and_others_say_why_not() {
    let mut state = state();
    state.selected = Some(Row::Process(4242));
    press(&mut state, KeyCode::Enter);
    assert_eq!(state.open_job(), Some(scenes::job().id.as_str()));
    press(&mut state, KeyCode::Backspace);
    state.selected = Some(Row::Process(99));
    press(&mut state, KeyCode::Enter);
    assert_eq!(state.page, Page::Overview);
    assert!(state.message.as_ref().is_some_and(|message| message.contains("oomph run")));
    press(&mut state, KeyCode::Down);
    assert_eq!(state.message, None, "said once");
}

#[test]
fn arrows_stop_at_the_ends() {
    let mut state = state();
    press(&mut state, KeyCode::Up);
    assert_eq!(state.selected, Some(Row::Job(scenes::job().id)));
    press(&mut state, KeyCode::End);
    assert_eq!(state.selected, listing::rows(&state).pop());
    press(&mut state, KeyCode::PageDown);
    assert_eq!(state.selected, listing::rows(&state).pop());
    press(&mut state, KeyCode::Char('g'));
    assert_eq!(state.selected, listing::rows(&state).first().cloned());
}

#[test]
fn a_filter_is_typed_and_dropped() {
    let mut state = state();
    type_text(&mut state, "/XORG");
    assert_eq!(pids(&state), [99]);
    press(&mut state, KeyCode::Enter);
    assert!(!state.is_typing);
    assert_eq!(press(&mut state, KeyCode::Char('x')), Effect::None, "keys are keys again");
    assert_eq!(state.filter, "XORG");
    press(&mut state, KeyCode::Esc);
    assert_eq!((state.filter.as_str(), pids(&state).len()), ("", 3));
    type_text(&mut state, "/9x");
    press(&mut state, KeyCode::Backspace);
    press(&mut state, KeyCode::Char('9'));
    assert_eq!(pids(&state), [99], "a number is a whole number");
}

#[test]
fn processes_are_sorted_by_the_next_column() {
    let mut state = state();
    assert_eq!(pids(&state), [4242, 31337, 99], "device memory");
    press(&mut state, KeyCode::Char('s'));
    assert_eq!(pids(&state), [99, 4242, 31337], "host memory");
    press(&mut state, KeyCode::Char('s'));
    assert_eq!(pids(&state), [99, 4242, 31337], "PID");
    press(&mut state, KeyCode::Char('s'));
    assert_eq!(pids(&state), [31337, 99, 4242], "command");
}

#[test]
fn the_tree_has_everything_below_a_job() {
    let mut state = state();
    press(&mut state, KeyCode::Char('t'));
    let depths: Vec<(u32, usize)> = listing::lines(&state)
        .iter()
        .filter_map(|line| {
            if let listing::ListLine::Process(process, depth) = line { Some((process.pid, *depth)) } else { None }
        })
        .collect();
    assert_eq!(depths, [(31337, 0), (99, 0), (4200, 0), (4242, 1), (4243, 2)]);
}

#[test]
fn jobs_that_ended_long_ago_are_listed_when_asked_for() {
    let mut state = state();
    let jobs = |state: &State| listing::rows(state).iter().filter(|row| matches!(row, Row::Job(_))).count();
    assert_eq!(jobs(&state), 2);
    press(&mut state, KeyCode::Char('e'));
    assert_eq!(jobs(&state), 3);
}

#[test]
fn nothing_is_ended_without_a_yes() {
    let mut state = state();
    press(&mut state, KeyCode::F(9));
    let target = Target { pid: 4200, start_ticks: 70, name: "train.py".to_owned() };
    assert_eq!(state.overlay, Some(Overlay::End(target.clone())));
    assert_eq!(press(&mut state, KeyCode::Enter), Effect::None, "Enter is no yes");
    assert_eq!(state.overlay, None);
    press(&mut state, KeyCode::Char('K'));
    assert_eq!(press(&mut state, KeyCode::Char('y')), Effect::End(target));
    for (pid, reason) in [(99, "another user's"), (31337, "another container")] {
        state.selected = Some(Row::Process(pid));
        press(&mut state, KeyCode::F(9));
        assert!(state.overlay.is_none() && state.message.as_ref().is_some_and(|text| text.contains(reason)));
    }
    state.selected = Some(Row::Job(scenes::ended_job().id));
    press(&mut state, KeyCode::F(9));
    assert!(state.overlay.is_none() && state.message.as_ref().is_some_and(|text| text.contains("has ended")));
    state.allows_end = false;
    state.selected = Some(Row::Process(4242));
    press(&mut state, KeyCode::F(9));
    assert!(state.overlay.is_none() && state.message.as_ref().is_some_and(|text| text.contains("--allow-kill")));
}

#[test]
fn a_click_chooses_and_another_opens() {
    let mut state = state();
    let list = layout::list(&state);
    let click = |row| {
        let kind = MouseEventKind::Down(MouseButton::Left);
        Event::Mouse(MouseEvent { kind, column: 3, row, modifiers: KeyModifiers::NONE })
    };
    // A heading, then the jobs.
    state.update(click(list.y + 2));
    assert_eq!(state.selected, Some(Row::Job(scenes::ended_job().id)));
    state.update(click(list.y));
    state.update(click(0));
    assert_eq!(state.selected, Some(Row::Job(scenes::ended_job().id)), "headings cannot be chosen");
    state.update(click(list.y + 2));
    assert_eq!(state.open_job(), Some(scenes::ended_job().id.as_str()));
}

#[test]
fn what_is_chosen_stays_chosen_and_what_is_gone_is_left() {
    let mut state = state();
    state.selected = Some(Row::Process(99));
    state.update(Event::Seen(Box::new(scenes::full())));
    assert_eq!(state.selected, Some(Row::Process(99)));
    press(&mut state, KeyCode::Char('g'));
    press(&mut state, KeyCode::Enter);
    assert!(state.open_job().is_some());
    state.update(Event::Seen(Box::default()));
    assert_eq!((state.page.clone(), state.selected.clone()), (Page::Overview, None));
    assert!(state.message.is_some() && state.histories.is_empty());
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    assert_eq!(press(&mut state, KeyCode::F(9)), Effect::None);
}

#[test]
fn a_page_scrolls_to_its_end_and_no_further() {
    let mut state = state();
    press(&mut state, KeyCode::Enter);
    state.update(Event::Resized(Rect::new(0, 0, 40, 10)));
    for _ in 0..100 {
        press(&mut state, KeyCode::Down);
    }
    assert_eq!(state.scrolled, layout::job_length(&state) - 8);
    press(&mut state, KeyCode::Home);
    assert_eq!(state.scrolled, 0);
    press(&mut state, KeyCode::Right);
    assert_eq!(state.process, 0, "there is one process only");
}
