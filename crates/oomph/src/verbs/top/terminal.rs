//! The terminal: taken for as long as the view is there, and given back whatever happens.

use std::io::{self, Stdout, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, raise};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::Rect;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};

use super::collect::Detail;
use super::draw::{self, Look};
use super::kill;
use super::record::Recording;
use super::source::Source;
use super::state::{Effect, Event, State};
use crate::error::Error;

/// Signals are noticed after so long at most.
const NOTICE: Duration = Duration::from_millis(100);

/// What the view is made of.
pub(super) struct View {
    pub(super) source: Source,
    pub(super) recording: Option<Recording>,
    pub(super) interval: Duration,
    pub(super) look: Look,
    pub(super) allows_end: bool,
}

/// Signals that came since they were last asked about.
struct Signals {
    quit: Arc<AtomicBool>,
    suspend: Arc<AtomicBool>,
    continued: Arc<AtomicBool>,
}

impl Signals {
    fn watch() -> io::Result<Self> {
        let flag = || Arc::new(AtomicBool::new(false));
        let found = Self { quit: flag(), suspend: flag(), continued: flag() };
        for signal in [SIGTERM, SIGHUP, SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&found.quit))?;
        }
        signal_hook::flag::register(SIGTSTP, Arc::clone(&found.suspend))?;
        signal_hook::flag::register(SIGCONT, Arc::clone(&found.continued))?;
        Ok(found)
    }
}

/// The terminal while it is ours.
struct Screen(Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    fn take() -> io::Result<Self> {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            give_back();
            previous(info);
        }));
        enter()?;
        Ok(Self(Terminal::new(CrosstermBackend::new(io::stdout()))?))
    }

    fn area(&self) -> io::Result<Rect> {
        self.0.size().map(|size| Rect::new(0, 0, size.width, size.height))
    }

    /// Gives the terminal to the shell until this process is told to go on.
    fn suspend(&mut self) -> io::Result<()> {
        give_back();
        raise(Signal::SIGSTOP)?;
        self.resume()
    }

    fn resume(&mut self) -> io::Result<()> {
        enter()?;
        // Ratatui's own way to clear asks the terminal where its cursor is, and not every terminal answers.
        self.0 = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, Clear(ClearType::All), EnableMouseCapture, cursor::Hide)
}

/// Leaves the terminal as it was. A terminal that is gone needs nothing.
fn give_back() {
    let _ = execute!(io::stdout(), DisableMouseCapture, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
    let _ = io::stdout().flush();
}

/// Shows the view until the user has seen enough.
pub(super) fn show(mut view: View) -> Result<(), Error> {
    let signals = Signals::watch().map_err(Error::stdout)?;
    let mut screen = Screen::take().map_err(Error::stdout)?;
    let mut state = State::new(screen.area().map_err(Error::stdout)?, view.allows_end);
    let mut next_look = Instant::now();
    let mut looked_into: Option<String> = None;
    loop {
        let opened = state.open_job().map(str::to_owned);
        if Instant::now() >= next_look || opened != looked_into {
            next_look = Instant::now() + view.interval;
            looked_into = opened;
            view.see(&mut state)?;
        }
        state.update(Event::Resized(screen.area().map_err(Error::stdout)?));
        screen.0.draw(|frame| draw::draw(frame, &state, view.look)).map_err(Error::stdout)?;
        match wait(&mut state, &signals, next_look).map_err(Error::stdout)? {
            Effect::None => {}
            Effect::Quit => return Ok(()),
            Effect::Suspend => {
                screen.suspend().map_err(Error::stdout)?;
                signals.continued.store(false, Ordering::Relaxed);
            }
            Effect::End(target) => drop(state.update(Event::Told(kill::end(&target)))),
        }
        // Somebody stopped this process without asking it: the shell has used the terminal meanwhile.
        if signals.continued.swap(false, Ordering::Relaxed) {
            screen.resume().map_err(Error::stdout)?;
        }
    }
}

impl View {
    /// Looks again.
    fn see(&mut self, state: &mut State) -> Result<(), Error> {
        let detail = match (&self.recording, state.open_job()) {
            (Some(_), _) => Detail::All,
            (None, Some(id)) => Detail::Job(id),
            (None, None) => Detail::Few,
        };
        match self.source.next(detail)? {
            Some(scene) => {
                if let Some(recording) = &mut self.recording {
                    recording.add(&scene)?;
                }
                state.update(Event::Seen(Box::new(scene)));
            }
            None => drop(state.update(Event::Told("this is the end of the recording".to_owned()))),
        }
        Ok(())
    }
}

/// Waits until something happened that changes the screen, or it is time to look again.
fn wait(state: &mut State, signals: &Signals, next_look: Instant) -> io::Result<Effect> {
    loop {
        let left = next_look.saturating_duration_since(Instant::now());
        if event::poll(left.min(NOTICE))? {
            // A size that changes step by step, or a wheel that turns, is drawn once.
            loop {
                let effect = take(state, &event::read()?);
                if effect != Effect::None || !event::poll(Duration::ZERO)? {
                    return Ok(effect);
                }
            }
        }
        if signals.quit.load(Ordering::Relaxed) {
            return Ok(Effect::Quit);
        }
        if signals.suspend.swap(false, Ordering::Relaxed) {
            return Ok(Effect::Suspend);
        }
        if signals.continued.load(Ordering::Relaxed) || Instant::now() >= next_look {
            return Ok(Effect::None);
        }
    }
}

fn take(state: &mut State, event: &event::Event) -> Effect {
    match *event {
        event::Event::Key(key) => state.update(Event::Key(key)),
        event::Event::Mouse(mouse) => state.update(Event::Mouse(mouse)),
        event::Event::Resize(width, height) => state.update(Event::Resized(Rect::new(0, 0, width, height))),
        _ => Effect::None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::process::Command;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

    use super::*;

    /// Run by the test below, in a process and on a terminal of its own.
    #[test]
    #[ignore = "it takes the terminal and panics"]
    fn panic_on_the_screen() {
        let mut screen = Screen::take().unwrap();
        screen.0.draw(|frame| frame.render_widget("drawn", frame.area())).unwrap();
        panic!("on purpose");
    }

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_says_anything() {
        let keeper = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keeper).unwrap();
        unlockpt(&keeper).unwrap();
        let path = ptsname(&keeper, Vec::new()).unwrap();
        let terminal =
            File::options().read(true).write(true).open(std::ffi::OsStr::from_bytes(path.to_bytes())).unwrap();
        tcsetwinsize(&terminal, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let same = || terminal.try_clone().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "verbs::top::terminal::tests::panic_on_the_screen", "--nocapture"])
            .stdin(same())
            .stdout(same())
            .stderr(same())
            .spawn()
            .unwrap();
        assert!(!child.wait().unwrap().success());
        let modes = tcgetattr(&terminal).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "{modes:?}");
        drop(terminal);
        let mut printed = Vec::new();
        // Reading ends in an error once nobody has the terminal open any more.
        let _ = File::from(keeper).read_to_end(&mut printed);
        let printed = String::from_utf8_lossy(&printed).into_owned();
        let places = ["\x1b[?1049h", "drawn", "\x1b[?1049l", "on purpose"].map(|part| printed.find(part));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {printed:?}");
    }
}
