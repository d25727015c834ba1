//! What the user looks at, and how events change it. No clock, no terminal: a list of events gives one state.

use std::collections::BTreeMap;

use ratatui::crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::layout::{Position, Rect};

use super::history::History;
use super::layout;
use super::listing::{self, Row};
use super::scene::Scene;

/// What the screen shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Page {
    /// Cards, jobs and processes.
    #[default]
    Overview,
    /// One job, by its name.
    Job(String),
}

/// What lies over the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Overlay {
    /// The keys.
    Help,
    /// A question before a process is ended.
    End(Target),
}

/// A process that the user wants to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) pid: u32,
    /// Numbers are used again: the process must have been started then.
    pub(super) start_ticks: u64,
    pub(super) name: String,
}

/// By what processes are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    /// What they have on cards, most first.
    #[default]
    Device,
    /// What they have on the host, most first.
    Host,
    Pid,
    Command,
}

impl Sort {
    const ALL: [Self; 4] = [Self::Device, Self::Host, Self::Pid, Self::Command];

    /// In words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Device => "device memory",
            Self::Host => "host memory",
            Self::Pid => "PID",
            Self::Command => "command",
        }
    }

    fn next(self) -> Self {
        let at = Self::ALL.iter().position(|&one| one == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }
}

/// Something that happened.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// The machine was looked at.
    Seen(Box<Scene>),
    Key(KeyEvent),
    Mouse(MouseEvent),
    /// The terminal has this size now.
    Resized(Rect),
    /// Something to tell the user.
    Told(String),
}

/// What is to be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing but to draw.
    None,
    /// The user has seen enough.
    Quit,
    /// The user wants the shell for a while.
    Suspend,
    /// The user has confirmed that a process shall end.
    End(Target),
}

/// What the user looks at.
#[expect(clippy::struct_excessive_bools, reason = "switches that have nothing to do with one another")]
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) scene: Scene,
    pub(super) histories: BTreeMap<String, History>,
    pub(super) page: Page,
    pub(super) overlay: Option<Overlay>,
    pub(super) selected: Option<Row>,
    pub(super) filter: String,
    pub(super) is_typing: bool,
    pub(super) sort: Sort,
    pub(super) is_tree: bool,
    /// Whether jobs that ended long ago are listed too.
    pub(super) shows_all_jobs: bool,
    pub(super) allows_end: bool,
    pub(super) message: Option<String>,
    pub(super) area: Rect,
    /// Lines of a job's page that are scrolled away.
    pub(super) scrolled: usize,
    /// Which process of the job is shown.
    pub(super) process: usize,
}

impl State {
    /// What is seen at the start.
    pub(super) fn new(area: Rect, allows_end: bool) -> Self {
        Self { allows_end, area, ..Self::default() }
    }

    /// The job whose page is open.
    pub(super) fn open_job(&self) -> Option<&str> {
        match &self.page {
            Page::Overview => None,
            Page::Job(id) => Some(id),
        }
    }

    /// Takes an event, and says what is to be done.
    pub(super) fn update(&mut self, event: Event) -> Effect {
        match event {
            Event::Seen(scene) => self.see(*scene),
            Event::Resized(area) => self.area = area,
            Event::Told(message) => self.message = Some(message),
            Event::Mouse(mouse) => self.take_mouse(mouse),
            Event::Key(key) if key.kind == KeyEventKind::Release => {}
            Event::Key(key) => return self.take_key(key),
        }
        Effect::None
    }

    fn see(&mut self, scene: Scene) {
        self.histories.retain(|id, _| scene.job(id).is_some());
        for job in &scene.jobs {
            self.histories.entry(job.id.clone()).or_default().add(scene.at_us, job);
        }
        if self.open_job().is_some_and(|id| scene.job(id).is_none()) {
            self.page = Page::Overview;
            self.message = Some("that job is no longer kept".to_owned());
        }
        self.scene = scene;
        let rows = listing::rows(self);
        if !self.selected.as_ref().is_some_and(|row| rows.contains(row)) {
            self.selected = rows.first().cloned();
        }
    }

    fn take_key(&mut self, key: KeyEvent) -> Effect {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Effect::Quit,
                KeyCode::Char('z') => Effect::Suspend,
                _ => Effect::None,
            };
        }
        self.message = None;
        if let Some(overlay) = self.overlay.take() {
            return match (overlay, key.code) {
                (Overlay::End(target), KeyCode::Char('y' | 'Y')) => Effect::End(target),
                _ => Effect::None,
            };
        }
        if self.is_typing {
            self.type_filter(key.code);
            return Effect::None;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::F(10) => return Effect::Quit,
            KeyCode::Char('h' | '?') | KeyCode::F(1) => self.overlay = Some(Overlay::Help),
            KeyCode::Char('K') | KeyCode::F(9) => self.ask_to_end(),
            code if self.open_job().is_some() => self.take_key_of_job(code),
            code => self.take_key_of_overview(code),
        }
        Effect::None
    }

    fn take_key_of_overview(&mut self, code: KeyCode) {
        let page = isize::from(layout::list(self).height.cast_signed()).max(1);
        match code {
            KeyCode::Up | KeyCode::Char('k') => self.move_by(-1),
            KeyCode::Down | KeyCode::Char('j') => self.move_by(1),
            KeyCode::PageUp => self.move_by(-page),
            KeyCode::PageDown => self.move_by(page),
            KeyCode::Home | KeyCode::Char('g') => self.move_by(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.move_by(isize::MAX),
            KeyCode::Enter => self.open(),
            KeyCode::Esc => self.set_filter(String::new()),
            KeyCode::Char('/') | KeyCode::F(4) => self.is_typing = true,
            KeyCode::Char('s') | KeyCode::F(6) => self.sort = self.sort.next(),
            KeyCode::Char('t') | KeyCode::F(5) => self.set_tree(!self.is_tree),
            KeyCode::Char('e') => self.shows_all_jobs = !self.shows_all_jobs,
            _ => {}
        }
    }

    fn take_key_of_job(&mut self, code: KeyCode) {
        match code {
            KeyCode::Esc | KeyCode::Backspace => self.page = Page::Overview,
            KeyCode::Up | KeyCode::Char('k') => self.scrolled = self.scrolled.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.scroll_by(1),
            KeyCode::PageUp => self.scrolled = self.scrolled.saturating_sub(usize::from(self.area.height)),
            KeyCode::PageDown => self.scroll_by(usize::from(self.area.height)),
            KeyCode::Home | KeyCode::Char('g') => self.scrolled = 0,
            KeyCode::Left => self.process = self.process.saturating_sub(1),
            KeyCode::Right => {
                let count = self.open_job().and_then(|id| self.scene.job(id)).map_or(0, |job| job.processes.len());
                self.process = (self.process + 1).min(count.saturating_sub(1));
            }
            _ => {}
        }
    }

    fn take_mouse(&mut self, mouse: MouseEvent) {
        if self.overlay.is_some() {
            return;
        }
        let is_overview = self.open_job().is_none();
        match mouse.kind {
            MouseEventKind::ScrollUp if is_overview => self.move_by(-1),
            MouseEventKind::ScrollDown if is_overview => self.move_by(1),
            MouseEventKind::ScrollUp => self.scrolled = self.scrolled.saturating_sub(1),
            MouseEventKind::ScrollDown => self.scroll_by(1),
            MouseEventKind::Down(MouseButton::Left) if is_overview => {
                self.click(Position::new(mouse.column, mouse.row));
            }
            _ => {}
        }
    }

    /// A click chooses a line; on the one that is chosen already it opens it.
    fn click(&mut self, place: Position) {
        let area = layout::list(self);
        if !area.contains(place) {
            return;
        }
        let at = layout::first_line(self, area) + usize::from(place.y - area.y);
        let Some(row) = listing::lines(self).get(at).and_then(listing::ListLine::row) else { return };
        if self.selected.as_ref() == Some(&row) {
            self.open();
        } else {
            self.selected = Some(row);
        }
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.set_filter(String::new());
            }
            KeyCode::Backspace => {
                let mut filter = std::mem::take(&mut self.filter);
                filter.pop();
                self.set_filter(filter);
            }
            KeyCode::Char(letter) => self.set_filter(format!("{}{letter}", self.filter)),
            _ => {}
        }
    }

    fn set_filter(&mut self, filter: String) {
        self.filter = filter;
        self.keep_selection();
    }

    fn set_tree(&mut self, is_tree: bool) {
        self.is_tree = is_tree;
        self.keep_selection();
    }

    fn keep_selection(&mut self) {
        let rows = listing::rows(self);
        if !self.selected.as_ref().is_some_and(|row| rows.contains(row)) {
            self.selected = rows.first().cloned();
        }
    }

    fn move_by(&mut self, lines: isize) {
        let rows = listing::rows(self);
        let at = rows.iter().position(|row| self.selected.as_ref() == Some(row)).unwrap_or(0);
        let at = at.saturating_add_signed(lines).min(rows.len().saturating_sub(1));
        self.selected = rows.get(at).cloned();
    }

    /// A page's length is known when it is drawn; until then its height bounds what is scrolled away.
    fn scroll_by(&mut self, lines: usize) {
        let most = layout::job_length(self).saturating_sub(usize::from(layout::body(self.area).height));
        self.scrolled = (self.scrolled + lines).min(most);
    }

    fn open(&mut self) {
        let job = match &self.selected {
            Some(Row::Job(id)) => Some(id.clone()),
            Some(Row::Process(pid)) => {
                self.scene.processes.iter().find(|process| process.pid == *pid).and_then(|process| process.job.clone())
            }
            None => None,
        };
        if let Some(id) = job {
            (self.page, self.scrolled, self.process) = (Page::Job(id), 0, 0);
        } else if self.selected.is_some() {
            self.message = Some("only jobs that 'oomph run' started can be looked into".to_owned());
        }
    }

    fn ask_to_end(&mut self) {
        if !self.allows_end {
            self.message = Some("start 'oomph top' with --allow-kill to end processes".to_owned());
            return;
        }
        let target = match (self.open_job(), &self.selected) {
            (Some(id), _) => self.target_of_job(id),
            (None, Some(Row::Job(id))) => self.target_of_job(id),
            (None, Some(Row::Process(pid))) => self.target_of_process(*pid),
            (None, None) => return,
        };
        match target {
            Ok(target) => self.overlay = Some(Overlay::End(target)),
            Err(reason) => self.message = Some(reason.to_owned()),
        }
    }

    fn target_of_job(&self, id: &str) -> Result<Target, &'static str> {
        let job = self.scene.job(id).ok_or("there is no such job any more")?;
        if job.ended_us.is_some() {
            return Err("that job has ended");
        }
        Ok(Target { pid: job.pid, start_ticks: job.start_ticks, name: job.name.clone() })
    }

    fn target_of_process(&self, pid: u32) -> Result<Target, &'static str> {
        let found = self.scene.processes.iter().find(|process| process.pid == pid);
        let process = found.ok_or("there is no such process any more")?;
        match process.start_ticks {
            None => Err("that process cannot be seen from here: it is in another container"),
            Some(_) if !process.is_own => Err("that process is another user's"),
            Some(start_ticks) => Ok(Target { pid, start_ticks, name: process.command.clone() }),
        }
    }
}
