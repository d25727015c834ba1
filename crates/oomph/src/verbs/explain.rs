//! `oomph explain FILE`.

use std::path::PathBuf;

use oomph_explain::render::text::Settings;
use oomph_explain::render::{json, page, text};
use oomph_explain::{Options, Report};
use oomph_trace::Trace;

use crate::args::{EXIT_CODES, GLOSSARY};
use crate::bytes::ByteCount;
use crate::error::Error;
use crate::output::{self, Drafts};
use crate::progress::Stage;
use crate::{source, source_text};

/// Say why memory ran out: the line to blame, the bytes, and a proof
///
/// FILE is a PyTorch memory snapshot (torch 2.1 or newer, plain, gzip or zstd) or an oomph trace. The first sentence is
/// the verdict: what went wrong and which line of your code holds the bytes that stood in the way. The evidence
/// follows: what was live at that moment, what grew from step to step, how much of the reserved memory was in use.
/// The verdict is proved by replaying the run without the accused bytes: the failed request then fits.
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("Examples:\n  \
    oomph explain snapshot.pickle\n  \
    oomph explain snapshot.pickle.gz --html report.html\n  \
    oomph explain snapshot.pickle --json | jq .verdict\n  \
    oomph explain snapshot.pickle --save run.oomph     smaller, and faster to read\n\n\
    {EXIT_CODES}\n\n{GLOSSARY}"))]
pub(crate) struct Args {
    /// A PyTorch snapshot (.pickle, also .gz or .zst) or an oomph trace
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,

    /// Also write a self-contained page to look around in
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,

    /// Look at this device [default: the one that ran out of memory, or held most]
    #[arg(long, value_name = "N")]
    device: Option<u32>,

    /// Look at the moment after this event [default: the failed request, or the end]
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

    /// Also write what was read as a snapshot for PyTorch's own viewers
    #[arg(long, value_name = "SNAPSHOT.pickle")]
    export: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let trace = source::read(&args.file)?;
    let report = {
        let _stage = Stage::start("looking for the cause".into());
        let options = Options {
            device: args.device,
            at: args.at,
            total_bytes: args.memory.map(|memory| memory.0),
            ..Options::default()
        };
        oomph_explain::explain(&trace, &options)?
    };
    let shown = if args.json {
        output::pretty(&json::render(&report, args.top))
    } else {
        text::render(&report, Settings { width: output::width(), top: args.top })
    };
    write_files(args, &trace, &report)?;
    output::data(&shown)
}

/// Writes every file the user asked for, all or none.
fn write_files(args: &Args, trace: &Trace, report: &Report) -> Result<(), Error> {
    let _stage = Stage::start("writing".into());
    let mut drafts = Drafts::default();
    if let Some(path) = &args.html {
        let name = args.file.file_name().unwrap_or(args.file.as_os_str()).to_string_lossy();
        let settings =
            page::Settings { source_name: &name, top: args.top, plan: None, read_source: &source_text::read };
        drafts.add(path, |file| page::write(report, &settings, file))?;
    }
    if let Some(path) = &args.save {
        drafts.add(path, |file| oomph_trace::write_oomph_trace(trace, file).map_err(std::io::Error::other))?;
    }
    if let Some(path) = &args.export {
        drafts.add(path, |file| oomph_trace::write_torch_snapshot(trace, file).map_err(std::io::Error::other))?;
    }
    drafts.publish()
}
