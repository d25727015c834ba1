//! `oomph plan [OPTIONS] SCRIPT [ARGS…]`.

mod answer;
mod command;
mod json;
mod text;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use oomph_explain::bytes::show as show_bytes;
use oomph_explain::render::page;
use oomph_explain::{Options, Report};
use oomph_plan::{Card, Job, Launch, OutcomeKind, Run, cards};
use oomph_trace::Trace;

use self::answer::{Answer, Experiment};
use crate::args::GLOSSARY;
use crate::bytes::ByteCount;
use crate::error::Error;
use crate::output::{self, Drafts};
use crate::progress::Stage;
use crate::source_text;
use crate::verbs::Verdict;

/// Run a script on a GPU that is not there and say what its memory would be
///
/// SCRIPT runs as it is, with your own torch (a CUDA build) and your own arguments: PyTorch's own allocator serves
/// every request, the kernels do nothing, and the memory is counted but never touched. So the answer is the
/// allocator's own account: the peak, what it is made of, which lines hold it, and which cards it fits. The run ends by
/// itself after a few optimizer steps.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "oomph plan [OPTIONS] SCRIPT [ARGS]...\n       \
        oomph plan [OPTIONS] -m MODULE [ARGS]...\n       \
        oomph plan [OPTIONS] torchrun [OPTIONS] SCRIPT [ARGS]...",
    after_long_help = format!("Examples:\n  \
    oomph plan train.py --batch 64                       does it fit, and where?\n  \
    oomph plan --gpu rtx_4090 train.py --batch 64        on this card\n  \
    oomph plan --memory 24GiB --html plan.html train.py  a page to look around in\n  \
    oomph plan torchrun --nproc-per-node 8 train.py      one of eight processes\n\n\
    Exit codes:\n  \
    0   it fits\n  \
    1   it does not\n  \
    2   an error: no such card, no torch, the script itself failed\n\n{GLOSSARY}")
)]
pub(crate) struct Args {
    #[arg(
        long,
        value_name = "CARD",
        help = "The card, e.g. rtx_4090, or a file that describes one (mycard.toml); given again, whether it fits that one too [default: h100_sxm]"
    )]
    gpu: Vec<String>,

    /// The card's memory, e.g. 24GiB, in place of what the catalogue says
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteCount>,

    /// How many such cards the machine has [default: one a process]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    gpus: Option<u32>,

    /// End after so many optimizer steps; 0 runs the script to its end
    #[arg(long, value_name = "N", default_value_t = 3)]
    steps: u32,

    /// End after so many batches: outermost calls of a model, for jobs without an optimizer
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    batches: u32,

    /// How many processes the job has on a machine, as for torchrun
    #[arg(long, value_name = "N", visible_alias = "nproc_per_node", value_parser = clap::value_parser!(u32).range(1..=1024))]
    nproc_per_node: Option<u32>,

    /// How many machines the job has, as for torchrun
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    nnodes: u32,

    /// Which process to plan: a number, or 'all' for each in turn
    #[arg(long, value_name = "RANK", default_value = "0", value_parser = read_ranks)]
    ranks: Ranks,

    /// The interpreter [default: the active environment's, the one beside oomph, or python3]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,

    /// Pass on what the script prints, to stderr
    #[arg(long)]
    show_output: bool,

    /// How many lines each table shows
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,

    /// Also write a self-contained page to look around in
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,

    /// Also write the run as an oomph trace
    #[arg(long, value_name = "TRACE.oomph")]
    save: Option<PathBuf>,

    /// Run a module, as 'python -m' does; everything after its name is given to it
    #[arg(short = 'm', value_name = "MODULE", num_args = 1.., allow_hyphen_values = true)]
    module: Vec<OsString>,

    /// The script and its arguments, or a torchrun command
    #[arg(
        value_name = "SCRIPT",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present = "module"
    )]
    command: Vec<OsString>,
}

/// Which processes of a distributed job are planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ranks {
    One(u32),
    All,
}

fn read_ranks(text: &str) -> Result<Ranks, String> {
    if text == "all" {
        return Ok(Ranks::All);
    }
    text.parse().map(Ranks::One).map_err(|_| "give the number of a process, or 'all'".to_owned())
}

pub(crate) fn run(args: &Args) -> Result<Verdict, Error> {
    let cards = cards(args)?;
    let mut job = command::job(args)?;
    for path in args.html.iter().chain(&args.save) {
        output::check_place(path)?;
    }
    let processes = job.launch.processes_per_node;
    let ranks = match args.ranks {
        Ranks::All => 0..processes.unwrap_or(1),
        Ranks::One(rank) if rank < processes.unwrap_or(1) => rank..rank + 1,
        Ranks::One(rank) => return Err(Error::UnknownRank { rank, processes }),
    };
    let mut worst: Option<Experiment> = None;
    let mut peaks = Vec::new();
    for rank in ranks {
        job.launch.rank = rank;
        let experiment = experiment(&job, &cards[0], args, rank)?;
        peaks.extend(experiment.peaks(&cards[0]).map(|peaks| (rank, peaks)));
        if worst.as_ref().is_none_or(|worst| experiment.weight() > worst.weight()) {
            worst = Some(experiment);
        }
    }
    // A range of ranks is never empty; an error here would be a defect of oomph.
    let Some(mut experiment) = worst else { return Ok(Verdict::No) };
    experiment.ranks = peaks;
    show(&experiment, &cards, args)
}

fn show(experiment: &Experiment, cards: &[Card], args: &Args) -> Result<Verdict, Error> {
    let total_bytes = Some(cards[0].memory_bytes);
    // Where one ran out of memory, that one is found by itself.
    let device = if experiment.ran_out() { None } else { experiment.fullest_device() };
    let report = oomph_explain::explain(&experiment.run.trace, &Options { total_bytes, device, ..Options::default() })?;
    let answer = Answer::of(experiment, &report, cards);
    let shown = if args.json {
        output::pretty(&json::render(&answer, &report, args.top))
    } else {
        text::render(&answer, &report, args.top, output::width())
    };
    write_files(args, &experiment.run.trace, &report)?;
    output::data(&shown)?;
    Ok(if answer.fits { Verdict::Yes } else { Verdict::No })
}

/// Runs the script once; where it runs out of memory, again on a card without end, to learn what it needs.
fn experiment(job: &Job, card: &Card, args: &Args, rank: u32) -> Result<Experiment, Error> {
    let count = args.gpus.or(job.launch.processes_per_node).unwrap_or(1);
    let run_on = |card: &Card| -> Result<Run, Error> {
        let on = vec![card.clone(); count as usize];
        Ok(job.run(&on)?)
    };
    let _stage = Stage::start(format!("running {} on a hollow {}", name_of(job), card.short_title()));
    let run = run_on(card)?;
    let mut endless = None;
    if run.facts.outcome.kind == OutcomeKind::Oom {
        let roomy = Card { memory_bytes: ENDLESS_BYTES, ..card.clone() };
        // What it needs is worth knowing, but not at any price: a script may fail later for a reason of its own.
        endless = run_on(&roomy).ok().filter(|run| run.facts.outcome.kind != OutcomeKind::Oom);
    }
    Ok(Experiment { run, endless, rank, ranks: Vec::new() })
}

/// More memory than any job has: what addresses of 47 bits leave room for.
const ENDLESS_BYTES: u64 = 1 << 45;

fn name_of(job: &Job) -> String {
    match &job.target {
        oomph_plan::Target::Script(path) => path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
        oomph_plan::Target::Module(name) => name.clone(),
    }
}

/// The cards asked for, the first of which is run on.
fn cards(args: &Args) -> Result<Vec<Card>, Error> {
    let mut cards = Vec::new();
    for name in &args.gpu {
        cards.push(Card::named(name)?);
    }
    if cards.is_empty() {
        cards.push(Card::named(cards::DEFAULT)?);
    }
    if let Some(memory) = args.memory {
        let card = &mut cards[0];
        let size = show_bytes(memory.0);
        if memory.0 <= card.context_bytes {
            let (context, card) = (show_bytes(card.context_bytes), card.short_title().to_owned());
            return Err(Error::NoMemoryLeft { given: size, context, card });
        }
        card.memory_bytes = memory.0;
        card.title =
            if args.gpu.is_empty() { format!("{size} card") } else { format!("{} with {size}", card.short_title()) };
    }
    Ok(cards)
}

/// Writes every file the user asked for, all or none.
fn write_files(args: &Args, trace: &Trace, report: &Report) -> Result<(), Error> {
    let _stage = Stage::start("writing".into());
    let mut drafts = Drafts::default();
    if let Some(path) = &args.html {
        let name = args.command.first().or(args.module.first()).map(Path::new);
        let name = name.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let settings =
            page::Settings { source_name: &name, top: args.top, plan: None, read_source: &source_text::read };
        drafts.add(path, |file| page::write(report, &settings, file))?;
    }
    if let Some(path) = &args.save {
        drafts.add(path, |file| oomph_trace::write_oomph_trace(trace, file).map_err(std::io::Error::other))?;
    }
    drafts.publish()
}

/// The processes the options name; `torchrun` on the command line may name them too.
fn launch(args: &Args) -> Launch {
    Launch { processes_per_node: args.nproc_per_node, nodes: args.nnodes, rank: 0 }
}
