//! `oomph explain FILE...`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use oomph_explain::host::HostVerdict;
use oomph_explain::log::Log;
use oomph_explain::ranks::{Rank, Ranks};
use oomph_explain::render::text::Settings;
use oomph_explain::render::{self, page};
use oomph_explain::{Options, Report};

use crate::args::{EXIT_CODES, GLOSSARY};
use crate::bytes::ByteCount;
use crate::error::Error;
use crate::output::{self, Drafts};
use crate::progress::Stage;
use crate::source::{self, Source};
use crate::source_text;

/// Say why memory ran out: the line to blame, the bytes, and a proof
///
/// FILE is a PyTorch memory snapshot (torch 2.1 or newer, plain, gzip or zstd), an oomph trace, the black box of a process
/// that ran under oomph run, or the log of a job that died. The first sentence is the verdict: what went wrong, and which line of your code holds the bytes that stood in
/// the way. The evidence follows: what was live at that moment, what grew from step to step, how much of the reserved
/// memory was in use. The verdict is proved by a replay of the run without those bytes: the failed request then fits.
///
/// Several files are the ranks of one job: oomph says which ran out of memory first and how they differ, and explains
/// that one. From a log, only a first verdict can be given, from the figures in PyTorch's message.
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("PyTorch records a snapshot like this:\n\n    \
    torch.cuda.memory._record_memory_history(max_entries=100_000)\n    \
    try:\n        \
        train()\n    \
    except torch.OutOfMemoryError:\n        \
        rank = os.environ.get(\"RANK\", 0)\n        \
        torch.cuda.memory._dump_snapshot(f\"snapshot-rank{{rank}}.pickle\")\n        \
        raise\n\n\
    Examples:\n  \
    oomph explain snapshot.pickle\n  \
    oomph explain snapshot-rank*.pickle                the ranks of one job\n  \
    oomph explain slurm-4711.log                       a first verdict from the log\n  \
    kubectl logs job/train | oomph explain -           the same, from a pipe\n  \
    oomph explain snapshot.pickle.gz --html report.html\n  \
    oomph explain snapshot.pickle --json | jq .verdict\n  \
    oomph explain snapshot.pickle --save run.oomph     smaller, and faster to read\n\n\
    {EXIT_CODES}\n\n{GLOSSARY}"))]
pub(crate) struct Args {
    /// A snapshot (.pickle, also .gz or .zst), an oomph trace, a black box (.box), a log, or - for stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,

    /// Also write the report as one self-contained page
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,

    /// Look at this device [default: the one that ran out of memory, or held most]
    #[arg(long, value_name = "N")]
    device: Option<u32>,

    /// Look at the moment after this event [default: the failed request, or the peak]
    #[arg(long, value_name = "EVENT")]
    at: Option<u32>,

    /// How many lines each table shows
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// The card's memory, e.g. 24GiB, where the file does not say
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteCount>,

    /// Also write what was read as an oomph trace
    #[arg(long, value_name = "TRACE.oomph")]
    save: Option<PathBuf>,

    /// Also write what was read as a snapshot for PyTorch's own tools
    #[arg(long, value_name = "SNAPSHOT.pickle")]
    export: Option<PathBuf>,
}

/// A file's content, explained.
enum Explained<'a> {
    Trace(Box<Report<'a>>),
    Log(&'a Log),
    Host(&'a HostVerdict),
}

impl Explained<'_> {
    fn rank(&self, path: &Path) -> Rank {
        let name = name_of(path);
        match self {
            Self::Trace(report) => Rank::of_report(name, report),
            Self::Log(log) => Rank::of_log(name, log),
            Self::Host(_) => Rank::of_host(name),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let sources = args.files.iter().map(|file| read(file, args)).collect::<Result<Vec<_>, _>>()?;
    let explained = {
        let _stage = Stage::start("looking for the cause".into());
        sources.iter().map(|source| explain(source, args)).collect::<Result<Vec<_>, _>>()?
    };
    let ranks = explained.iter().zip(&args.files).map(|(explained, file)| explained.rank(file)).collect();
    let ranks = Ranks::compare(ranks).filter(|ranks| ranks.ranks.len() > 1);
    let chosen = ranks.as_ref().map_or(0, |ranks| ranks.chosen);
    write_files(args, &args.files[chosen], &explained[chosen])?;
    output::data(&show(args, &explained[chosen], ranks.as_ref()))
}

/// A box is about its card where that is asked for, whatever ended the job.
fn read(file: &Path, args: &Args) -> Result<Source, Error> {
    let is_about_card = args.device.is_some() || args.at.is_some() || !wanted_files(args).is_empty();
    if is_about_card && oomph_box::BlackBox::is_one(file) {
        return Ok(Source::Trace(Box::new(source::read(file)?)));
    }
    source::read_any(file)
}

fn wanted_files(args: &Args) -> Vec<&PathBuf> {
    [&args.html, &args.save, &args.export].into_iter().flatten().collect()
}

fn explain<'a>(source: &'a Source, args: &Args) -> Result<Explained<'a>, Error> {
    Ok(match source {
        Source::Trace(trace) => {
            let total_bytes = args.memory.map(|memory| memory.0);
            let options = Options { device: args.device, at: args.at, total_bytes, ..Options::default() };
            Explained::Trace(Box::new(oomph_explain::explain(trace, &options)?))
        }
        Source::Log(log) => Explained::Log(log),
        Source::Host(verdict) => Explained::Host(verdict),
    })
}

fn show(args: &Args, explained: &Explained, ranks: Option<&Ranks>) -> String {
    let (width, top) = (output::width(), args.top);
    if args.json {
        let mut value = match explained {
            Explained::Trace(report) => render::json::render(report, top),
            Explained::Log(log) => render::log::json(log),
            Explained::Host(verdict) => render::host::json(verdict),
        };
        value["ranks"] = ranks.map_or(serde_json::Value::Null, render::ranks::json);
        return output::pretty(&value);
    }
    let one = match explained {
        Explained::Trace(report) => render::text::render(report, Settings { width, top }),
        Explained::Log(log) => render::log::text(log, width, top),
        Explained::Host(verdict) => render::host::text(verdict, width, top),
    };
    ranks.map_or_else(String::new, |ranks| render::ranks::text(ranks, width)) + &one
}

/// Writes every file the user asked for, all or none, about the file that is explained.
fn write_files(args: &Args, file: &Path, explained: &Explained) -> Result<(), Error> {
    let report = match explained {
        Explained::Trace(report) => report,
        Explained::Log(_) | Explained::Host(_) => {
            let problem = |path: &&PathBuf| Error::NoHistory { path: (*path).clone(), log: file.to_owned() };
            return wanted_files(args).first().map_or(Ok(()), |path| Err(problem(path)));
        }
    };
    let _stage = Stage::start("writing".into());
    let mut drafts = Drafts::default();
    if let Some(path) = &args.html {
        let name = name_of(file);
        let settings =
            page::Settings { source_name: &name, top: args.top, plan: None, read_source: &source_text::read };
        drafts.add(path, |file| page::write(report, &settings, file))?;
    }
    let trace = report.case.trace;
    if let Some(path) = &args.save {
        drafts.add(path, |file| oomph_trace::write_oomph_trace(trace, file).map_err(std::io::Error::other))?;
    }
    if let Some(path) = &args.export {
        drafts.add(path, |file| oomph_trace::write_torch_snapshot(trace, file).map_err(std::io::Error::other))?;
    }
    drafts.publish()
}

fn name_of(path: &Path) -> String {
    let name = if path.as_os_str() == "-" { OsStr::new("stdin") } else { path.file_name().unwrap_or(path.as_os_str()) };
    name.to_string_lossy().into_owned()
}
