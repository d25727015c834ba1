//! `oomph run [OPTIONS] SCRIPT [ARGS…]`.

mod account;
mod cards;
mod earlier;
mod fitting;
mod follow;
mod line;
mod metrics;
mod outcome;
mod row;
mod server;
mod status;
mod step_times;
mod terminal;
mod watched;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use oomph_job::jobs::{JobFolder, JobRecord, now_us};
use oomph_job::real::{RealEnd, RealRun, Wishes};
use oomph_plan::remedies::RemedyChoice;

use self::account::End;
use self::earlier::Earlier;
use self::follow::Following;
use self::outcome::Known;
use self::watched::Watched;
use crate::args::GLOSSARY;
use crate::bytes::ByteCount;
use crate::command_line::{self, JobWords, Verb};
use crate::error::Error;
use crate::output;
use crate::verbs::Verdict;
use crate::verbs::plan::Allow;

/// Run a script as it is, record its memory, and say what it came to
///
/// SCRIPT runs on the real card as it would under python: the same streams, arguments, environment, signals and exit
/// code. Every allocation is recorded from inside PyTorch's own allocator, into a file of fixed size that outlives the
/// process. When the job ends, a short account says what the peak was, when, and which lines held it; when memory runs
/// out, the line to blame and a proof come first, and PyTorch's own error carries the first sentence.
///
/// Stdout is the script's. The account goes to stderr, and where stderr is a terminal its last row shows how the job is
/// doing. What 'oomph plan' said of the same script and arguments is compared with what happened.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "oomph run [OPTIONS] SCRIPT [ARGS]...\n       \
        oomph run [OPTIONS] -m MODULE [ARGS]...\n       \
        oomph run [OPTIONS] torchrun [OPTIONS] SCRIPT [ARGS]...\n       \
        oomph run [OPTIONS] PROGRAM [ARGS]...",
    after_long_help = format!("Examples:\n  \
    oomph run train.py --batch 64                        and an account at the end\n  \
    oomph run --record run.oomph train.py                everything, for oomph explain\n  \
    oomph run --limit 20GiB --allocator auto train.py    in as little as it takes\n  \
    oomph run --metrics 9400 torchrun --nproc-per-node 8 train.py\n\n\
    Exit codes:\n  \
    the script's own; a signal that ends it ends oomph too\n  \
    2   an error before it was started: a bad option, no such script\n\n{GLOSSARY}")
)]
pub(crate) struct Args {
    /// The most that PyTorch may take of each card, e.g. 20GiB
    #[arg(long, value_name = "SIZE")]
    limit: Option<ByteCount>,

    /// How PyTorch's allocator is set up [default: as the script and its environment say]
    #[arg(long, value_name = "WHICH", value_enum)]
    allocator: Option<Allocator>,

    /// Put into the job what makes it fit this card: what 'oomph plan --fit' found, or finds now
    #[arg(long, conflicts_with = "plan")]
    fit: bool,

    /// Put into the job what a file of 'oomph plan --fit --save-plan' says
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    /// Put a remedy into the job by name, e.g. lora or lora:rank=8; may be given more than once
    #[arg(long, value_name = "REMEDY", value_parser = RemedyChoice::parse)]
    with: Vec<RemedyChoice>,

    /// With --fit, divide the job over so many cards of this machine [default: over all, where one is not enough]
    #[arg(long, value_name = "N", requires = "fit", value_parser = clap::value_parser!(u32).range(1..=64))]
    gpus: Option<u32>,

    /// With --fit, also try what changes the numbers a little
    #[arg(long, value_name = "WHAT", value_enum, requires = "fit")]
    allow: Option<Allow>,

    /// Write everything that was recorded as an oomph trace
    #[arg(long, value_name = "TRACE.oomph")]
    record: Option<PathBuf>,

    /// Write a self-contained page to look around in
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,

    /// Serve metrics for Prometheus on this port of 127.0.0.1; 0 takes any free one
    #[arg(long, value_name = "PORT")]
    metrics: Option<u16>,

    /// Write the account as JSON
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,

    /// The interpreter [default: the active environment's, the one beside oomph, or python3]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,

    #[command(flatten)]
    job: JobWords,
}

/// How PyTorch's allocator is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Allocator {
    /// As an earlier run or plan of this job needs least, by replay
    Auto,
    /// Ordinary segments
    Native,
    /// Segments that can grow
    Expandable,
    /// The driver's own allocator, cudaMallocAsync
    Async,
}

/// This verb, for messages about its options.
const RUN: Verb = Verb { name: "run", options: command_line::options_of::<Args> };

pub(crate) fn run(args: &Args) -> Result<Verdict, Error> {
    let mut command = command_line::command(RUN, args.python.as_deref(), &args.job.module, &args.job.command)?;
    command.check()?;
    let name = command.name();
    for path in args.record.iter().chain(&args.html).chain(&args.json) {
        output::check_place(path)?;
    }
    command_line::warn_of_misplaced_options(RUN, &command);
    let mut earlier = Earlier::find(&args.job.module, &args.job.command);
    let mut chosen = earlier.settings(args.allocator, args.limit.map(|limit| limit.0));
    if let Some(reason) = &chosen.reason {
        output::note(&format!("oomph: {reason}"));
    }
    let mut wishes =
        Wishes { limit_bytes: args.limit.map(|limit| limit.0), allocator: chosen.conf.take(), remedies: Vec::new() };
    wishes.remedies = fitting::as_json(&args.with);
    if let Some(fitted) = fitting::fitted(args, &command)? {
        output::note(&format!("oomph: {}", fitting::sentence(&fitted)));
        wishes.allocator = wishes.allocator.or_else(|| fitted.allocator.clone());
        wishes.remedies = fitting::as_json(&fitted.remedies);
        if let Some(gpus) = fitted.gpus {
            command = fitting::in_processes(&command, &args.job, gpus)?;
        }
        earlier.promise = Some(fitted);
    }
    let mut record = RealRun::describe(&command, &wishes);
    record.name.clone_from(&name);
    record.promise = earlier.promise.as_ref().and_then(|promise| serde_json::to_value(promise).ok());
    let started = Instant::now();
    let mut real = RealRun::start(&command, &wishes, JobFolder::create(&record), &mut |problem| {
        output::warning(&problem);
    })?;
    let mut following = Following::new(args, &name, real.pid(), real.folder().map(JobFolder::path));
    let end = real.follow(&mut following)?;
    let seen = following.finish(ended(&end), started.elapsed());
    let remedies = record.remedies.clone();
    let known = Known {
        promise: earlier.promise.as_ref(),
        plain_step_us: if remedies.is_empty() { None } else { earlier.plain_step_us() },
        allocator: chosen.reason.as_deref(),
        remedies: &remedies,
    };
    record.step_us = seen.processes.iter().find_map(Watched::step_us);
    tell_the_folder(real.folder(), record, &end);
    outcome::tell(args, &name, &seen, &known);
    Ok(verdict(&end))
}

/// Describes how the job ended to whoever looks at it later.
fn tell_the_folder(folder: Option<&JobFolder>, mut record: JobRecord, end: &RealEnd) {
    let Some(folder) = folder else { return };
    record.ended_us = Some(now_us());
    (record.exit_code, record.signal) = (end.status.code(), end.signal());
    // The boxes tell the rest.
    let _ = folder.write(&record);
}

/// How the script ended is how we end.
fn verdict(end: &RealEnd) -> Verdict {
    match ended(end) {
        End::Code(code) => Verdict::Script(u8::try_from(code).unwrap_or(1)),
        End::Signal(signal) => Verdict::Signal(signal),
    }
}

fn ended(end: &RealEnd) -> End {
    end.signal().map_or_else(|| End::Code(end.status.code().unwrap_or(1)), End::Signal)
}

/// A file beside another for a further process: `run-rank1.oomph` for `run.oomph`.
fn beside(path: &Path, name: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-{name}{ending}"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Verb as Verbs};

    fn read(line: &str) -> Args {
        let cli = Cli::try_parse_from(line.split_whitespace()).expect(line);
        let Verbs::Run(args) = cli.verb else { panic!("{line}") };
        args
    }

    #[test]
    fn options_stand_before_the_script() {
        let args = read("oomph run --limit 20GiB --json out.json train.py --limit 3 --json");
        assert_eq!((args.limit, args.json), (Some(ByteCount(20 << 30)), Some("out.json".into())));
        assert_eq!(args.job.command, ["train.py", "--limit", "3", "--json"]);
        let args = read("oomph run --allocator auto --metrics 0 -m pkg.train --metrics 1");
        assert_eq!((args.allocator, args.metrics), (Some(Allocator::Auto), Some(0)));
        assert_eq!(args.job.module, ["pkg.train", "--metrics", "1"]);
        assert!(Cli::try_parse_from(["oomph", "run"]).is_err(), "there is nothing to run");
    }

    #[test]
    fn further_processes_get_files_of_their_own() {
        assert_eq!(beside(Path::new("a/run.oomph"), "rank1"), Path::new("a/run-rank1.oomph"));
        assert_eq!(beside(Path::new("run"), "7"), Path::new("run-7"));
    }
}
