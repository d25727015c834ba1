//! Signs of life on stderr, for people who wait.

use std::io::IsTerminal as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output;

/// Shorter stages show nothing: a flicker would only disturb.
const PATIENCE: Duration = Duration::from_secs(1);
/// Where there is no terminal, a line is written when something has changed, and not more often than this: a log is read
/// later, so what takes seconds needs none.
const LINE_PAUSE: Duration = Duration::from_secs(10);

/// A stage of work. Once it has lasted a second, a terminal shows its name, how far it is, and a running clock;
/// elsewhere those who say how far they are write plain lines, once it has lasted longer.
pub(crate) struct Stage {
    name: String,
    told: Option<Sender<String>>,
    watcher: Option<JoinHandle<()>>,
    started: Instant,
    written: Option<Instant>,
}

impl Stage {
    /// Starts a stage; dropping it ends it and wipes its line.
    pub(crate) fn start(name: String) -> Self {
        let mut stage = Self { name, told: None, watcher: None, started: Instant::now(), written: None };
        if std::io::stderr().is_terminal() {
            let (told, messages) = mpsc::channel();
            let name = stage.name.clone();
            stage.told = Some(told);
            stage.watcher = Some(std::thread::spawn(move || show(&name, &messages)));
        }
        stage
    }

    /// Says how far the work is.
    pub(crate) fn say(&mut self, text: &str) {
        if let Some(told) = &self.told {
            // Nobody listens once the line is wiped.
            let _ = told.send(text.to_owned());
        } else if self.written.unwrap_or(self.started).elapsed() >= LINE_PAUSE {
            self.written = Some(Instant::now());
            output::note(&format!("{}: {text} ({} s)", self.name, self.started.elapsed().as_secs()));
        }
    }
}

/// Draws the line until the other end hangs up.
fn show(name: &str, messages: &mpsc::Receiver<String>) {
    let mut text = name.to_owned();
    let end = Instant::now() + PATIENCE;
    loop {
        match messages.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(message) => text = format!("{name}: {message}"),
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
    let bar = ProgressBar::new_spinner().with_message(text).with_elapsed(PATIENCE);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    while let Ok(message) = messages.recv() {
        bar.set_message(format!("{name}: {message}"));
    }
    bar.finish_and_clear();
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.told.take());
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}
