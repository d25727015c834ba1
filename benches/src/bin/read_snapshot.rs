//! Times every reader on the same generated snapshot, side by side: `read_snapshot [EVENTS] [ROUNDS]`.
//!
//! Each reader runs in a process of its own, in turn, `ROUNDS` times; the best time counts. Memory is the peak of
//! the process's anonymous memory (`RssAnon`, sampled each millisecond), which leaves out the mapped file but
//! counts one that was read into memory; the kernel's own peak of everything (`VmHWM`) stands beside it.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What the target allows: half the time of the best other reader, and this much memory beyond the mapped file.
const MAX_RATIO: f64 = 0.5;
const MAX_ANON_BYTES: u64 = 250 << 20;

#[derive(Clone, Copy, Default)]
struct Measured {
    seconds: f64,
    events: u64,
    anon_bytes: u64,
    peak_bytes: u64,
}

#[expect(clippy::print_stdout, reason = "this is a program whose output is its point")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|first| first == "--child").is_some() {
        return child(&arguments.next().ok_or("which reader?")?, &arguments.next().ok_or("which file?")?);
    }
    let events: usize = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let path = std::env::temp_dir().join(format!("oomph-bench-{}.pickle", std::process::id()));
    oomph_bench::generate(events, 45, 1500, 1, &mut BufWriter::with_capacity(1 << 20, File::create(&path)?))?;
    let file_bytes = path.metadata()?.len();
    println!(
        "{events} events, 45 frames each, 1500 distinct stacks, {:.0} MB; best of {rounds}",
        file_bytes as f64 / 1e6
    );
    let measured = measure_all(&path, rounds);
    std::fs::remove_file(&path)?;
    report(&measured?)
}

fn measure_all(path: &Path, rounds: usize) -> Result<Vec<(&'static str, Measured)>, Box<dyn Error>> {
    let readers = Path::new(env!("CARGO_MANIFEST_DIR")).join("readers");
    let own = std::env::current_exe()?;
    let commands: [(&str, Command); 4] = [
        ("python pickle", command("python3", &[&readers.join("pickle_load.py"), path])),
        ("node, as a page", command("node", &[&readers.join("page_style.js"), path])),
        ("plain Rust", command(&own, &[Path::new("--child"), Path::new("plain"), path])),
        ("oomph", command(&own, &[Path::new("--child"), Path::new("oomph"), path])),
    ];
    let mut measured = Vec::new();
    for (name, mut command) in commands {
        let mut best: Option<Measured> = None;
        for _ in 0..rounds {
            let child = match command.spawn() {
                Ok(child) => child,
                // Whoever has no node compares with the others.
                Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => break,
                Err(problem) => return Err(problem.into()),
            };
            let this = watch(child)?;
            best = Some(best.filter(|best| best.seconds <= this.seconds).unwrap_or(this));
        }
        measured.extend(best.map(|best| (name, best)));
    }
    Ok(measured)
}

#[expect(clippy::print_stdout, reason = "this is a program whose output is its point")]
fn report(measured: &[(&str, Measured)]) -> Result<(), Box<dyn Error>> {
    let (oomph, others) = measured.split_last().ok_or("nothing was measured")?;
    let best = others.iter().map(|(_, other)| other.seconds).fold(f64::INFINITY, f64::min);
    println!("{:<16} {:>8} {:>14} {:>13} {:>10}", "reader", "seconds", "oomph takes", "RssAnon MB", "VmHWM MB");
    for (name, one) in measured {
        let (anon, peak) = (one.anon_bytes as f64 / 1e6, one.peak_bytes as f64 / 1e6);
        let ratio = oomph.1.seconds / one.seconds;
        println!("{name:<16} {:>8.3} {ratio:>13.2}x {anon:>13.0} {peak:>10.0}", one.seconds);
    }
    if measured.iter().any(|(_, one)| one.events != oomph.1.events) {
        return Err("the readers do not agree on the number of events".into());
    }
    let ratio = oomph.1.seconds / best;
    println!("best other: oomph takes {ratio:.2}x its time (target: at most {MAX_RATIO}x)");
    if ratio > MAX_RATIO || oomph.1.anon_bytes > MAX_ANON_BYTES {
        return Err("target missed".into());
    }
    Ok(())
}

fn command(program: impl AsRef<std::ffi::OsStr>, arguments: &[&Path]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Waits until a reader has said its time, watching its memory.
fn watch(mut child: Child) -> Result<Measured, Box<dyn Error>> {
    let status = format!("/proc/{}/status", child.id());
    let done = AtomicBool::new(false);
    let (line, (anon_bytes, peak_bytes)) = std::thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut peaks = (0, 0);
            loop {
                let last = done.load(Ordering::Acquire);
                let text = std::fs::read_to_string(&status).unwrap_or_default();
                peaks = (field(&text, "RssAnon:").max(peaks.0), field(&text, "VmHWM:").max(peaks.1));
                if last {
                    return peaks;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut line = String::new();
        let read = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
        done.store(true, Ordering::Release);
        let peaks = sampler.join().unwrap_or_default();
        read.transpose().map(|_| (line, peaks))
    })?;
    drop(child.stdin.take());
    child.wait()?;
    let mut words = line.split_whitespace();
    let seconds = words.next().ok_or("a reader failed")?.parse()?;
    let events = words.next().ok_or("a reader failed")?.parse()?;
    Ok(Measured { seconds, events, anon_bytes, peak_bytes })
}

/// A field of `/proc/PID/status`, in bytes.
fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|text| text.trim().parse().ok()).unwrap_or(0) * 1024
}

/// Reads the file in this process and says how long it took.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn child(reader: &str, path: &str) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    if reader == "oomph" {
        let trace = oomph_trace::Trace::open(path)?;
        println!("{} {}", start.elapsed().as_secs_f64(), trace.event_count());
        return Ok(wait_for_parent()?);
    }
    let trace = oomph_bench::read_plain_file(path)?;
    println!("{} {}", start.elapsed().as_secs_f64(), trace.events.len());
    Ok(wait_for_parent()?)
}

fn wait_for_parent() -> std::io::Result<()> {
    std::io::stdin().read_to_end(&mut Vec::new()).map(drop)
}
