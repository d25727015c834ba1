//! `oomph replay FILE --policy A,B`.

mod text;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use oomph_heap::{
    Backend, BumpSource, Config, Options, Order, POLICIES, Replay, Requests, Timeline, TraceSource, policy, replay,
    validate,
};
use oomph_trace::DeviceTrace;
use serde::Serialize;

use crate::args::{EXIT_CODES, GLOSSARY};
use crate::bytes::ByteCount;
use crate::error::Error;
use crate::progress::Stage;
use crate::{output, source};

/// Run the same requests through several allocators, side by side
///
/// Every allocator gets exactly the requests the job made, in the same order, and the table shows what each would have
/// needed at its peak. PyTorch's own allocator is replicated exactly, with and without expandable segments, and 'ideal' is the
/// lower bound. A job that ran out of memory is replayed under the limit it ran into, unless --memory says otherwise.
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("Examples:\n  \
    oomph replay snapshot.pickle\n  \
    oomph replay snapshot.pickle --memory 24GiB               on a smaller card?\n  \
    oomph replay snapshot.pickle --conf max_split_size_mb:64  does a setting help?\n\n\
    {EXIT_CODES}\n\n{GLOSSARY}"))]
pub(crate) struct Args {
    /// A PyTorch snapshot (.pickle, also .gz or .zst), an oomph trace, or - for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Which allocators, separated by commas; 'oomph doc NAME' tells what each is
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "native,expandable_segments,ideal",
        value_parser = PossibleValuesParser::new(POLICIES.iter().map(|policy| policy.page().name))
    )]
    policy: Vec<String>,

    /// The most the allocator may take, e.g. 24GiB [default: the recorded limit, if any]
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteCount>,

    #[arg(
        long,
        value_name = "KEY:VALUE,...",
        help = "Allocator settings, as in PYTORCH_CUDA_ALLOC_CONF [default: the recorded ones]"
    )]
    conf: Option<String>,

    /// Replay this device [default: the one that ran out of memory, or has most events]
    #[arg(long, value_name = "N")]
    device: Option<u32>,

    /// Also check every placement with an independent, slower implementation
    #[arg(long)]
    validate: bool,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Table {
    /// Events of the device's history.
    events: usize,
    /// The device's ordinal.
    device: u32,
    policies: Vec<Row>,
}

/// What one policy came to.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    peak_allocated_bytes: u64,
    peak_reserved_bytes: u64,
    /// Least and most, where the driver's choice of addresses decides; both ends equal where it does not matter.
    peak_reserved_bytes_range: [u64; 2],
    /// Segments and mappings obtained from the driver.
    segments: u64,
    outcome: Ended,
    /// The first request that failed, if one did.
    failed_request_bytes: Option<u64>,
    /// What was reserved then.
    failed_reserved_bytes: Option<u64>,
    /// Whether the independent checker has judged it (and found nothing, or there would be no table).
    validated: bool,
}

/// How a replay ended.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Ended {
    Ok,
    Oom,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let config = args.conf.as_deref().map(read_conf).transpose()?;
    let trace = source::read(&args.file)?;
    if let Some(truncation) = trace.truncated {
        let (file, lost_bytes) = (args.file.display(), truncation.lost_bytes);
        output::warning(&format!(
            "{file} ends in the middle: the last {lost_bytes} bytes could not be read, the rest was"
        ));
    }
    let device = source::device(&trace, &args.file, args.device)?;
    // A newer PyTorch may know settings this oomph does not; what was recorded is still worth replaying.
    let recorded_config = Config::from_settings(&trace.settings).unwrap_or_default();
    let mut requests = Requests::of(device, &Timeline::with_config(device, &recorded_config));
    let mut exact_policy = Some(requests.recorded_policy());
    if let Some(config) = config {
        requests.config = config;
        exact_policy = None;
    }
    let mut policies = Vec::new();
    for name in &args.policy {
        let _stage = Stage::start(format!("replaying through {name}"));
        policies.push(Row::of(name, device, &requests, exact_policy == Some(name), args)?);
    }
    let table = Table { events: device.events.len(), device: device.ordinal, policies };
    output::data(&if args.json { output::pretty(&table) } else { text::render(&table, output::width()) })
}

fn read_conf(text: &str) -> Result<Config, Error> {
    let config = Config::parse(text)?;
    if config.backend == Backend::Native { Ok(config) } else { Err(Error::AsyncBackend) }
}

impl Row {
    /// Replays once where the recorded addresses apply, else by the driver's rule, with two others for the range.
    fn of(name: &str, device: &DeviceTrace, requests: &Requests, exact: bool, args: &Args) -> Result<Self, Error> {
        let policy = policy(name)?;
        let card_bytes = if args.memory.is_none() { requests.card_bytes() } else { None };
        let limit_bytes = args.memory.map(|memory| memory.0);
        let options = Options {
            limit_bytes,
            // On the recorded card the job went on after a failure, if it did; on another nobody knows.
            stop_at_oom: args.memory.is_some(),
            request_ghosts: !exact,
        };
        let replays = if exact {
            vec![replay(policy, requests, &mut TraceSource::of(device, card_bytes), &options)]
        } else {
            let by_rule = |order| replay(policy, requests, &mut BumpSource::new(order, card_bytes), &options);
            [Order::Driver, Order::Ascending, Order::Descending].map(by_rule).to_vec()
        };
        if args.validate {
            for replay in &replays {
                judge(requests, replay, card_bytes, limit_bytes)?;
            }
        }
        let mut row = Self::new(&replays[0], limit_bytes);
        for other in &replays[1..] {
            let [least, most] = row.peak_reserved_bytes_range;
            let peak_bytes = other.peak_reserved_bytes;
            row.peak_reserved_bytes_range = [least.min(peak_bytes), most.max(peak_bytes)];
        }
        row.validated = args.validate;
        Ok(row)
    }

    fn new(replay: &Replay, limit_bytes: Option<u64>) -> Self {
        let failure = replay.ooms.first().map(|oom| oom.detail);
        // The lower bound places nothing, so it never fails by itself.
        let beyond_limit = limit_bytes.is_some_and(|limit| replay.peak_reserved_bytes > limit);
        Self {
            name: replay.policy,
            peak_allocated_bytes: replay.peak_allocated_bytes,
            peak_reserved_bytes: replay.peak_reserved_bytes,
            peak_reserved_bytes_range: [replay.peak_reserved_bytes; 2],
            segments: replay.segment_count,
            outcome: if failure.is_some() || beyond_limit { Ended::Oom } else { Ended::Ok },
            failed_request_bytes: failure.map(|failure| failure.rounded_bytes),
            failed_reserved_bytes: failure.map(|failure| failure.reserved_bytes),
            validated: false,
        }
    }
}

/// Lets the independent checker look at a replay; any complaint is an error.
fn judge(
    requests: &Requests,
    replay: &Replay,
    capacity_bytes: Option<u64>,
    limit_bytes: Option<u64>,
) -> Result<(), Error> {
    let violations = validate(requests, replay, capacity_bytes, limit_bytes);
    let Some(first) = violations.first() else { return Ok(()) };
    Err(Error::Invalid { policy: replay.policy, count: violations.len(), first: first.problem.clone() })
}
