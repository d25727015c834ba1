//! `oomph plan [OPTIONS] SCRIPT [ARGS…]`.

mod answer;
mod command;
mod device_parts;
mod emit;
pub(crate) mod fitting;
mod host;
mod html;
mod json;
mod largest;
mod text;
mod unknown;
mod words;

use std::path::PathBuf;

use oomph_explain::bytes::show as show_bytes;
use oomph_explain::render::page;
use oomph_plan::promise::{self, Identity, Promise, Promises};
use oomph_plan::remedies::RemedyChoice;
use oomph_plan::search::Found;
use oomph_plan::values::DEFAULT_SECONDS;
use oomph_plan::{Card, Launch, Plan, PlanError, Question, Ranks, cards};

use self::answer::Answer;
use crate::args::GLOSSARY;
use crate::bytes::ByteCount;
use crate::command_line::JobWords;
use crate::error::Error;
use crate::output::{self, Drafts};
use crate::progress::Stage;
use crate::source_text;
use crate::verbs::Verdict;

/// Run a script on a GPU that is not there and say what its memory would be
///
/// SCRIPT runs as it is, with your own torch (a CUDA build) and your own arguments: PyTorch's own allocator serves
/// every request, the kernels do nothing, and the memory is counted but never touched. So the answer is the
/// allocator's own account: the peak, what it is made of, which lines hold it, and which cards it fits.
///
/// The whole script is walked: of each loop over data as many iterations as it takes until memory repeats. Nothing on
/// disk changes: what the job and its children write goes to a private layer that is thrown away.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "oomph plan [OPTIONS] SCRIPT [ARGS]...\n       \
        oomph plan [OPTIONS] -m MODULE [ARGS]...\n       \
        oomph plan [OPTIONS] torchrun [OPTIONS] SCRIPT [ARGS]...\n       \
        oomph plan [OPTIONS] PROGRAM [ARGS]...",
    after_long_help = format!("Examples:\n  \
    oomph plan train.py --batch 64                       does it fit, and where?\n  \
    oomph plan --gpu rtx_4090 train.py --batch 64        on this card\n  \
    oomph plan --memory 24GiB --html plan.html train.py  a page to look around in\n  \
    oomph plan torchrun --nproc-per-node 8 train.py      one of eight processes\n  \
    oomph plan accelerate launch train.py                whatever starts Python\n  \
    oomph plan notebook.ipynb                            the cells of a notebook\n  \
    oomph plan --host-memory 16GiB train.py              and on this machine\n\n\
    Exit codes:\n  \
    0   it fits every card named, and the machine of --host-memory\n  \
    1   it does not, or it grows until it does not\n  \
    2   an error: no such card, no torch, the script itself failed\n\n{GLOSSARY}")
)]
pub(crate) struct Args {
    #[arg(
        long,
        value_name = "CARD",
        help = "The card, e.g. rtx_4090, or a file that describes one (mycard.toml); may be given more than once; 'list' lists those known by name [default: h100_sxm]"
    )]
    gpu: Vec<String>,

    /// The card's memory, e.g. 24GiB, in place of what the catalogue says
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteCount>,

    /// The memory of the machine that the job is to run on, e.g. 64GiB: also say whether the host's share fits there
    #[arg(long, value_name = "SIZE")]
    host_memory: Option<ByteCount>,

    /// How many such cards the machine has [default: one a process]; with --fit, the job is divided over them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    gpus: Option<u32>,

    /// End after so many optimizer steps instead of walking the whole script; 0 runs every iteration of every loop
    #[arg(long, value_name = "N")]
    steps: Option<u32>,

    /// End after so many batches instead: outermost calls of a model
    #[arg(long, value_name = "N")]
    batches: Option<u32>,

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

    /// The most that the job may write to its private layer of files, e.g. 20GiB
    #[arg(long, value_name = "SIZE", default_value = "8GiB")]
    disk_limit: ByteCount,

    /// Pass on what the script prints, to stderr
    #[arg(long)]
    show_output: bool,

    /// Seconds that may be spent on the host on values that the card would compute, where something is decided by them;
    /// 0 takes them for the most there can be instead
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_SECONDS)]
    values: u32,

    /// Find what makes it fit the first card, without changing what it computes
    #[arg(long)]
    fit: bool,

    /// Also try what changes the numbers a little, e.g. 16-bit arithmetic
    #[arg(long, value_name = "WHAT", value_enum, requires = "fit")]
    allow: Option<Allow>,

    /// Write what makes it fit to a file, for 'oomph run --plan'
    #[arg(long, value_name = "OUT", requires = "fit")]
    save_plan: Option<PathBuf>,

    /// Put a remedy into the job by name, e.g. lora or lora:rank=8; may be given more than once
    #[arg(long, value_name = "REMEDY", value_parser = RemedyChoice::parse)]
    with: Vec<RemedyChoice>,

    /// Print what makes it fit as changes to the script instead
    #[arg(long, value_name = "WHAT", value_enum, requires = "fit", conflicts_with = "json")]
    emit: Option<Emit>,

    /// Put into the job what a file of --save-plan says, and plan it so
    #[arg(long, value_name = "FILE", conflicts_with = "fit")]
    plan: Option<PathBuf>,

    /// Find the largest value of an option of the script that fits the first card, e.g. batch; where the script has no
    /// such option, of its data loaders' batch size. With --fit, also with what makes more fit
    #[arg(long, value_name = "OPTION", conflicts_with_all = ["html", "save", "save_plan"])]
    max: Option<String>,

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

    #[command(flatten)]
    job: JobWords,
}

/// What remedies may do beyond saving memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Allow {
    /// Round otherwise: bfloat16, optimizer state in 8 bits
    Numerics,
}

/// What is printed in place of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Emit {
    /// A unified diff of the script, for 'patch' or 'git apply'
    Diff,
}

fn read_ranks(text: &str) -> Result<Ranks, String> {
    if text == "all" {
        return Ok(Ranks::All);
    }
    text.parse().map(Ranks::One).map_err(|_| "give the number of a process, or 'all'".to_owned())
}

pub(crate) fn run(args: &Args) -> Result<Verdict, Error> {
    if args.gpu.iter().any(|name| name == "list") {
        return list_cards(args.json);
    }
    let cards = cards(args)?;
    let mut job = command::job(args)?;
    job.remedies.clone_from(&args.with);
    if let Some(path) = &args.plan {
        command::follow(fitting::read(path)?, &mut job, args)?;
    }
    for path in args.html.iter().chain(&args.save).chain(&args.save_plan) {
        output::check_place(path)?;
    }
    let processes = job.launch.processes_per_node.map(|_| job.launch.world_size());
    if let Ranks::One(rank) = args.ranks
        && rank >= processes.unwrap_or(1)
    {
        return Err(Error::UnknownRank { rank, processes });
    }
    command::warn_of_misplaced_options(&job);
    let question = Question { job, cards, card_count: args.gpus, ranks: args.ranks };
    if let Some(option) = &args.max {
        return largest::run(&question, option, args).map_err(|error| match error {
            Error::Plan(PlanError::NoCuda) => Error::NeedsCard { option: "--max" },
            error => error,
        });
    }
    let plan = match (make(&question), about_a_card(args)) {
        (Err(PlanError::NoCuda), Some(option)) => return Err(Error::NeedsCard { option }),
        (Err(PlanError::NoCuda), None) => match host::run(&question, args) {
            Err(Error::Plan(PlanError::UsesCard)) => make(&question.patient())?,
            told => return told,
        },
        (made, _) => made?,
    };
    let identity = identity(args);
    // A comparison that cannot be made later is no fault of this plan.
    let promise = Promise::of(&plan, fitting::made_us());
    let _ = Promises::of_user().keep(&identity, &promise, promise::trace_to_keep(&plan));
    let found = if args.fit {
        fitting::find(&plan, &question, fitting::allowed(args.allow, command::cards(args, &question.job)))?
    } else {
        None
    };
    if args.fit
        && args.with.is_empty()
        && let Some(promise) = fitting::plan_file(&plan, found.as_ref(), &args.with)
    {
        fitting::keep(&identity, &promise, found.as_ref(), &plan);
    }
    if args.emit == Some(Emit::Diff) {
        return emit_diff(&plan, found.as_ref());
    }
    show(&plan, found.as_ref(), &question, args)
}

/// The option that means nothing for a script without a card, if there is one.
fn about_a_card(args: &Args) -> Option<&'static str> {
    let options = [("--fit", args.fit), ("--save", args.save.is_some()), ("--save-plan", args.save_plan.is_some())];
    options.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
}

fn make(question: &Question) -> Result<Plan, PlanError> {
    let mut stage = Stage::start(format!("planning {}", question.job.command.name()));
    Plan::make(question, &mut |text| stage.say(text))
}

/// Prints the changes; what they leave out goes to stderr.
fn emit_diff(plan: &Plan, found: Option<&Found>) -> Result<Verdict, Error> {
    let changes = found.map(|found| emit::changes(found, source_text::read)).unwrap_or_default();
    for sentence in &changes.missing {
        output::note(&format!("oomph: {sentence}"));
    }
    output::data(&changes.diff)?;
    let fits = plan.fits() || found.is_some_and(|found| found.chosen().is_some());
    Ok(if fits { Verdict::Yes } else { Verdict::No })
}

/// Which job the command line is.
fn identity(args: &Args) -> Identity {
    Identity::new(&args.job.module, &args.job.command, &std::env::current_dir().unwrap_or_default())
}

fn show(plan: &Plan, found: Option<&Found>, question: &Question, args: &Args) -> Result<Verdict, Error> {
    let report = answer::explain(plan)?;
    let answer = Answer::of(plan, question, &report)?;
    let shown = if args.json {
        let mut shown = json::render(&answer, args.top);
        let machine_bytes = args.host_memory.map(|memory| memory.0);
        let held = answer.trial.host.as_ref();
        shown["host"] = held.map_or(serde_json::Value::Null, |held| host::json(held, machine_bytes));
        if !fits_host(&answer, args) {
            shown["fits"] = false.into();
        }
        if args.fit {
            shown["fit"] = fitting::json(plan, found);
        }
        output::pretty(&shown)
    } else {
        let width = output::width();
        let fitting = found.map(|found| fitting::text(found, &answer, width)).unwrap_or_default();
        let machine_bytes = args.host_memory.map(|memory| memory.0);
        let mut shown = fitting + &text::render(&answer, args.top, width, machine_bytes);
        if !args.fit {
            shown.push_str(&text::way_to_fit(&answer, &args.gpu, args.memory.map(|memory| memory.0)));
        }
        shown
    };
    write_files(args, &answer, found)?;
    output::data(&shown)?;
    let fits = answer.fits() || found.is_some_and(|found| found.chosen().is_some());
    let fits = fits && fits_host(&answer, args);
    Ok(if fits { Verdict::Yes } else { Verdict::No })
}

/// Whether the machine that is named has room for the host's share.
fn fits_host(answer: &Answer, args: &Args) -> bool {
    let (Some(memory), Some(plan)) = (args.host_memory, &answer.trial.host) else { return true };
    plan.fits(memory.0)
}

/// What `--gpu` knows by name.
fn list_cards(as_json: bool) -> Result<Verdict, Error> {
    let text = if as_json { output::pretty(&*cards::CATALOGUE) } else { text::catalogue(output::width()) };
    output::data(&text)?;
    Ok(Verdict::Yes)
}

/// The cards asked for, each of which is run on.
fn cards(args: &Args) -> Result<Vec<Card>, Error> {
    let mut cards = Vec::new();
    for name in &args.gpu {
        cards.push(Card::named(name).map_err(oomph_plan::PlanError::from)?);
    }
    if cards.is_empty() {
        cards.push(Card::named(cards::DEFAULT).map_err(oomph_plan::PlanError::from)?);
    }
    if let Some(memory) = args.memory {
        let card = &mut cards[0];
        let size = show_bytes(memory.0);
        if memory.0 <= card.context_bytes {
            let (context, card) = (show_bytes(card.context_bytes), card.short_title().to_owned());
            return Err(Error::NoMemoryLeft { given: size, context, card });
        }
        card.memory_bytes = memory.0;
        // The size is said wherever the card is.
        card.title = if args.gpu.is_empty() { "card".to_owned() } else { card.short_title().to_owned() };
    }
    Ok(cards)
}

/// Writes every file the user asked for, all or none.
fn write_files(args: &Args, answer: &Answer, found: Option<&Found>) -> Result<(), Error> {
    let _stage = Stage::start("writing".into());
    let mut drafts = Drafts::default();
    if let Some(path) = &args.html {
        let page = html::page(answer, found, args.top);
        let name = answer.question.job.command.name();
        let settings =
            page::Settings { source_name: &name, top: args.top, plan: Some(&page), read_source: &source_text::read };
        drafts.add(path, |file| page::write(answer.report, &settings, file))?;
    }
    if let Some(path) = &args.save {
        let trace = &answer.process.trace;
        drafts.add(path, |file| oomph_trace::write_oomph_trace(trace, file).map_err(std::io::Error::other))?;
    }
    if let (Some(path), Some(promise)) = (&args.save_plan, fitting::plan_file(answer.plan, found, &args.with)) {
        let promise = output::pretty(&promise);
        drafts.add(path, |file| std::io::Write::write_all(file, promise.as_bytes()))?;
    }
    drafts.publish()
}

/// The processes the options name; `torchrun` on the command line may name them too.
fn launch(args: &Args) -> Launch {
    Launch { processes_per_node: args.nproc_per_node, nodes: args.nnodes, rank: 0 }
}
