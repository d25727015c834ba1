//! The memory of all processes of a job at its fullest, pages that they share counted once.
//!
//! Of the process that does the work the rest is known from within; here it is about those beside it: workers that were
//! forked, and what they copied of what they shared. Shared pages are told apart by the kernel's proportional counts:
//! what all processes have together of pages that belong to no file, less what the main process has, is what the others
//! add.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::family::Family;

/// How often the job is looked at.
const LOOK: Duration = Duration::from_millis(40);
/// Reading may take this part of the time.
const SHARE: u32 = 4;

/// One process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    pid: u32,
    /// Pages that belong to no file, those that are shared in proportion; all of them; and shared memory in proportion.
    proportional_bytes: u64,
    resident_bytes: u64,
    shared_memory_bytes: u64,
}

/// What the processes beside one of a job took at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// How many there were at that moment.
    pub processes: u32,
    /// Memory of theirs that they do not share with the process.
    pub bytes: u64,
    /// Shared memory that they have mapped.
    pub shared_memory_bytes: u64,
}

/// Looks at the processes below this one until it is asked what it has seen.
#[derive(Debug)]
pub struct PeakWatch {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Vec<Held>>>,
}

impl PeakWatch {
    /// Begins to look, on a thread of its own.
    #[must_use]
    pub fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        Self { is_over, thread: std::thread::spawn(move || watch(&told)) }
    }

    /// What was seen.
    #[must_use]
    pub fn end(self) -> Seen {
        self.is_over.store(true, Ordering::Relaxed);
        // A thread that died has seen nothing, which is what is known then.
        Seen { looks: self.thread.join().unwrap_or_default() }
    }
}

/// All looks at a job that found more than one process.
#[derive(Debug, Default)]
pub struct Seen {
    looks: Vec<Vec<Held>>,
}

impl Seen {
    /// What the others took at most while the process with this number was there.
    #[must_use]
    pub fn beside(&self, main: u32) -> Beside {
        let mut most = Beside::default();
        for look in &self.looks {
            let Some(own) = look.iter().find(|held| held.pid == main) else { continue };
            let sum: u64 = look.iter().map(|held| held.proportional_bytes).sum();
            let bytes = sum.saturating_sub(own.resident_bytes);
            let others = look.iter().filter(|held| held.pid != main);
            let shared_memory_bytes: u64 = others.map(|held| held.shared_memory_bytes).sum();
            let processes = u32::try_from(look.len()).unwrap_or(u32::MAX).saturating_sub(1);
            if bytes > most.bytes {
                (most.bytes, most.processes) = (bytes, processes);
            }
            most.shared_memory_bytes = most.shared_memory_bytes.max(shared_memory_bytes);
        }
        most
    }
}

fn watch(is_over: &AtomicBool) -> Vec<Vec<Held>> {
    let mut family = Family::new(0);
    family.adopt(std::process::id());
    let mut looks = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let began = Instant::now();
        let pids: Vec<u32> = family.look().running.into_iter().map(|(stat, _)| stat.pid).collect();
        if pids.len() > 1 {
            looks.push(pids.into_iter().filter_map(held).collect());
        }
        std::thread::sleep(LOOK.max(began.elapsed() * SHARE));
    }
    looks
}

fn held(pid: u32) -> Option<Held> {
    let text = std::fs::read_to_string(PathBuf::from(format!("/proc/{pid}/smaps_rollup"))).ok()?;
    let bytes = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next() == Some(name))?;
        Some(line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
    };
    Some(Held {
        pid,
        proportional_bytes: bytes("Pss_Anon")?,
        resident_bytes: bytes("Anonymous")?,
        shared_memory_bytes: bytes("Pss_Shmem")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(pid: u32, proportional_bytes: u64, resident_bytes: u64, shared_memory_bytes: u64) -> Held {
        Held { pid, proportional_bytes, resident_bytes, shared_memory_bytes }
    }

    #[test]
    fn pages_that_are_shared_count_once() {
        // The worker has copied 30 of 100 pages; 70 are still shared.
        let looks = vec![vec![held(1, 65, 100, 4), held(2, 65, 100, 6)], vec![held(2, 500, 500, 0)]];
        let beside = Seen { looks }.beside(1);
        assert_eq!(beside, Beside { processes: 1, bytes: 30, shared_memory_bytes: 6 });
    }

    #[test]
    fn this_process_is_read() {
        let own = super::held(std::process::id());
        assert!(own.is_none_or(|own| own.resident_bytes > 0), "{own:?}");
    }
}
