//! Everything [`explain`] found, ready to be shown.

use oomph_trace::Trace;

use crate::analyses::fragmentation::{self, Fragmentation};
use crate::analyses::lines::{self, LineRow};
use crate::analyses::modules::{self, ModuleHeld};
use crate::analyses::peak::{self, Holders};
use crate::analyses::retention::{self, Retention};
use crate::analyses::shortage::{self, Shortage};
use crate::case::{Case, Options};
use crate::error::ExplainError;
use crate::verdict::leak::ALARM_STEPS;
use crate::verdict::{self, Evidence, Verdict};

/// What was found out about one device of a trace.
#[derive(Debug)]
pub struct Report<'a> {
    /// The job as it was read.
    pub case: Case<'a>,
    /// Who is to blame.
    pub verdict: Verdict,
    /// The failed request's account.
    pub shortage: Option<Shortage>,
    /// Who held the bytes at the moment looked at: the failure, the peak, or the event asked for.
    pub holders: Holders,
    /// The lines that held them, as a tree, with the verdict's line always among them.
    pub lines: Vec<LineRow>,
    /// Which modules of the model held them; empty where the trace does not say.
    pub modules: Vec<ModuleHeld>,
    /// Everything that is kept from iteration to iteration, most bytes first.
    pub retained: Vec<Retention>,
    /// What is kept from iteration to iteration and weighs enough to be told.
    pub leaks: Vec<Retention>,
    /// How the segments were filled at that moment.
    pub fragmentation: Fragmentation,
}

/// What one line keeps from every iteration of the loop that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept<'a> {
    /// `leak` or `growth`, as verdicts are called.
    pub class: &'static str,
    /// The file of the line to blame.
    pub file: &'a str,
    /// Its number.
    pub line: u32,
    /// Bytes that every iteration adds.
    pub bytes: u64,
    /// Iterations that were seen to leave something behind.
    pub iterations: usize,
}

impl<'a> Report<'a> {
    /// What each line keeps from every iteration of the loop, most bytes first, however little: whether that matters
    /// depends on how often the loop runs, which a trace does not know.
    #[must_use]
    pub fn kept_per_iteration(&self) -> Vec<Kept<'a>> {
        let kept = |retention: &Retention| {
            let (file, line) = self.case.sources.place(retention.line?);
            let class = retention.kind.class();
            Some(Kept { class, file, line, bytes: retention.bytes_per_step, iterations: retention.steps })
        };
        let mut kept: Vec<Kept> = self.retained.iter().filter_map(kept).collect();
        kept.sort_by_key(|kept| std::cmp::Reverse(kept.bytes));
        kept
    }
}

/// Retentions below this part of the peak are not shown: a scalar kept from every step is not worth a row. Halved or
/// doubled, no report of the corpus shows a row more or less.
const TELLING_SHARE: f64 = 0.01;

/// Explains one device of a trace.
///
/// # Errors
/// If there is no such device or event in it, or nothing was recorded.
pub fn explain<'a>(trace: &'a Trace, options: &Options) -> Result<Report<'a>, ExplainError> {
    let case = Case::open(trace, options)?;
    let shortage = shortage::shortage(&case);
    let retained = retention::retained(&case);
    let judged_at = options.at.or(case.oom.as_ref().map(|oom| oom.event)).unwrap_or(case.timeline.peak_allocated.event);
    let mut holders = peak::holders_at(&case, judged_at);
    let mut fragmentation = fragmentation::measure(&case.timeline, judged_at);
    let verdict = verdict::judge(&Evidence {
        case: &case,
        shortage: shortage.as_ref(),
        retained: &retained,
        fragmentation: &fragmentation,
        holders: &holders,
    });
    // A warning speaks of the moment up to which something was kept, so the tables do too.
    let is_open = options.at.is_none() && !options.is_about_peak;
    if shortage.is_none() && verdict.accusation.line.is_some() && is_open {
        holders = peak::holders_at(&case, case.moment);
        fragmentation = fragmentation::measure(&case.timeline, case.moment);
    }
    let floor = TELLING_SHARE * case.timeline.peak_allocated.bytes as f64;
    let telling = |retention: &Retention| {
        retention.bytes as f64 >= floor && (shortage.is_some() || retention.steps >= ALARM_STEPS)
    };
    let leaks = retained.iter().filter(|retention| telling(retention)).cloned().collect();
    let lines = lines::tree(&holders, &verdict.accusation);
    let modules = modules::modules_at(&case, holders.at);
    Ok(Report { case, verdict, shortage, holders, lines, modules, retained, leaks, fragmentation })
}
