//! Signs of life on stderr, for people who wait.

use std::io::IsTerminal as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Shorter stages show nothing: a flicker would only disturb.
const PATIENCE: Duration = Duration::from_secs(1);

/// A stage of work; while it lives and once it has lasted a second, a terminal shows its name and a running clock.
pub(crate) struct Stage {
    done: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
}

impl Stage {
    /// Starts a stage; dropping it ends it and wipes its line.
    pub(crate) fn start(name: String) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { done: None, watcher: None };
        }
        let (done, finished) = mpsc::channel::<()>();
        let watcher = std::thread::spawn(move || {
            if finished.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let bar = ProgressBar::new_spinner().with_message(name).with_elapsed(PATIENCE);
                if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                    bar.set_style(style);
                }
                bar.enable_steady_tick(Duration::from_millis(100));
                // The other end never sends: it hangs up when the stage is over.
                let _ = finished.recv();
                bar.finish_and_clear();
            }
        });
        Self { done: Some(done), watcher: Some(watcher) }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}
