//! `oomph top`.
//!
//! What is seen at one moment is a [`scene::Scene`]; collectors make one, everything else reads one. The screen is a
//! function of a [`state::State`], which events change. So a recording shows what the machine showed.

mod collect;
mod draw;
mod history;
mod kill;
mod layout;
mod listing;
mod record;
mod scene;
mod source;
mod state;
mod terminal;
#[cfg(test)]
mod tests;
mod text;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;

use self::collect::Detail;
use self::draw::Look;
use self::record::Recording;
use self::source::Source;
use self::terminal::View;
use crate::args::GLOSSARY;
use crate::error::Error;
use crate::output;

/// Show cards, processes and the inside of the jobs that oomph runs
///
/// Cards and processes are what the NVIDIA driver tells of them. A job that 'oomph run' started has a page of its own:
/// what its memory is made of, which lines and modules hold most of it, its step and phase, how much is left and, where
/// it rises steadily, when it runs out. Nothing is changed in the job: what is read is the file that it records itself
/// to.
///
/// Where stdout is no terminal, one table is printed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("Examples:\n  \
    oomph top                              look, until q is pressed\n  \
    oomph top --json                       one look, for programs\n  \
    oomph top --json --watch               one line of JSON a second\n  \
    oomph top --record seen.jsonl.zst      keep what is seen\n  \
    oomph top --replay seen.jsonl.zst      look at it again, anywhere\n\n{}\n\n{GLOSSARY}", crate::args::EXIT_CODES))]
pub(crate) struct Args {
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = read_interval)]
    interval: Duration,

    /// Print JSON instead: one look
    #[arg(long)]
    json: bool,

    /// With --json: look again and again, one line each
    #[arg(long, requires = "json")]
    watch: bool,

    /// Also keep what is seen, one line of JSON a look; compressed where the name ends in .zst
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    record: Option<PathBuf>,

    /// Show what was recorded instead of this machine
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,

    /// Let keys end processes of your own; each is asked about first
    #[arg(long, conflicts_with = "replay")]
    allow_kill: bool,
}

fn read_interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "give a number of seconds".to_owned())?;
    if (0.1..=3600.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("give between 0.1 and 3600 seconds".to_owned())
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let source = Source::open(args.replay.as_deref())?;
    let recording = args.record.as_deref().map(Recording::create).transpose()?;
    if args.json {
        return print_json(args, source, recording);
    }
    if !can_draw() {
        return print_table(source, recording);
    }
    let look = Look { is_coloured: is_coloured(), is_unicode: is_unicode() };
    terminal::show(View { source, recording, interval: args.interval, look, allows_end: args.allow_kill })
}

fn print_json(args: &Args, mut source: Source, mut recording: Option<Recording>) -> Result<(), Error> {
    if !args.watch {
        let scene = source.last()?;
        recording.as_mut().map_or(Ok(()), |recording| recording.add(&scene))?;
        return output::data(&output::pretty(&scene));
    }
    while let Some(scene) = source.next(Detail::All)? {
        recording.as_mut().map_or(Ok(()), |recording| recording.add(&scene))?;
        // Only a map with keys that are no strings can fail, and there is none.
        output::data(&(serde_json::to_string(&scene).unwrap_or_default() + "\n"))?;
        if source.is_live() {
            std::thread::sleep(args.interval);
        }
    }
    Ok(())
}

fn print_table(mut source: Source, recording: Option<Recording>) -> Result<(), Error> {
    let scene = source.last()?;
    recording.map_or(Ok(()), |mut recording| recording.add(&scene))?;
    output::data(&text::table(scene, output::width(), is_unicode()))
}

/// Whether there is a terminal at both ends that can be drawn on.
fn can_draw() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !is_dumb
}

fn is_coloured() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}

/// Whether the locale's letters are Unicode's: the first of the usual variables that is set decides.
fn is_unicode() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let locale = locale.to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}
