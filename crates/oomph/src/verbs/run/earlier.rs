//! What is known of a job from before: the last plan of it, and its last run.

use std::ffi::OsString;

use oomph_box::BlackBox;
use oomph_device::Monitor;
use oomph_explain::bytes::show;
use oomph_job::{Recorded, jobs};
use oomph_plan::allocator::{self, Choice, Room};
use oomph_plan::promise::{Identity, Promise, Promises};
use oomph_trace::Trace;

use super::Allocator;

/// What a CUDA context takes of a card, about.
const CONTEXT_BYTES: u64 = 600 << 20;
/// Settings are chosen among those of this version of PyTorch where it is not known.
const TORCH: (u32, u32) = (2, 6);

/// A job as it was seen before.
pub(super) struct Earlier {
    job: Identity,
    /// What the last plan promised.
    pub(super) promise: Option<Promise>,
}

/// Allocator settings, and why they were chosen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// As `PYTORCH_CUDA_ALLOC_CONF` takes them; none where nothing is to be changed.
    pub(super) conf: Option<String>,
    pub(super) reason: Option<String>,
}

/// An earlier run, and what to call it.
struct Run {
    trace: Trace,
    name: &'static str,
    torch: Option<String>,
}

impl Earlier {
    /// Looks the job up that a command line is.
    pub(super) fn find(module: &[OsString], words: &[OsString]) -> Self {
        let job = Identity::new(module, words, &std::env::current_dir().unwrap_or_default());
        let promise = Promises::of_user().find(&job);
        Self { job, promise }
    }

    /// The settings for what the user asked for.
    pub(super) fn settings(&self, wanted: Option<Allocator>, limit_bytes: Option<u64>) -> Settings {
        let fixed = |conf: &str| Settings { conf: Some(conf.to_owned()), reason: None };
        match wanted {
            None => Settings::default(),
            Some(Allocator::Native) => fixed("expandable_segments:False"),
            Some(Allocator::Expandable) => fixed("expandable_segments:True"),
            Some(Allocator::Async) => fixed("backend:cudaMallocAsync"),
            Some(Allocator::Auto) => match self.last_run() {
                Some(run) => chosen(&run, limit_bytes),
                None => Settings {
                    conf: None,
                    reason: Some(
                        "no earlier run or plan of this job is known, so PyTorch's allocator was left as it is; \
                         'oomph plan' makes one without a GPU"
                            .to_owned(),
                    ),
                },
            },
        }
    }

    /// The last real run that came to its end, else the last plan.
    fn last_run(&self) -> Option<Run> {
        self.last_real_run().or_else(|| {
            let trace = Promises::of_user().trace(&self.job)?;
            Some(Run { trace, name: "the last plan", torch: self.promise.as_ref()?.torch.clone() })
        })
    }

    /// Whether a run was one of this job, and came to its end.
    fn is_of(&self, record: &jobs::JobRecord) -> bool {
        let words: Vec<OsString> = record.command.iter().map(OsString::from).collect();
        record.exit_code == Some(0) && Identity::new(&[], &words, record.cwd.as_ref()) == self.job
    }

    /// What a step took in the last run of this job that nothing was put into.
    pub(super) fn plain_step_us(&self) -> Option<u64> {
        let is_plain = |record: &jobs::JobRecord| record.remedies.is_empty() && self.is_of(record);
        jobs::all().into_iter().filter(|(_, record)| is_plain(record)).find_map(|(_, record)| record.step_us)
    }

    fn last_real_run(&self) -> Option<Run> {
        let (folder, _) = jobs::all().into_iter().find(|(_, record)| self.is_of(record))?;
        let boxes = folder.boxes();
        let recorded = boxes.iter().filter_map(|path| Recorded::of(&BlackBox::open(path).ok()?).ok());
        let largest = recorded.max_by_key(|recorded| recorded.trace.event_count())?;
        let torch = largest.watched.process.torch.clone();
        (largest.trace.event_count() > 0).then_some(Run { trace: largest.trace, name: "the last run", torch })
    }
}

/// What replays of an earlier run choose.
fn chosen(run: &Run, limit_bytes: Option<u64>) -> Settings {
    let room = Room { card_bytes: smallest_card_bytes(), limit_bytes };
    let torch = run.torch.as_deref().and_then(allocator::version).unwrap_or(TORCH);
    match Choice::make(&run.trace, room, torch, &allocator::conf_of_user()) {
        None => Settings {
            conf: None,
            reason: Some(
                "the allocator settings in the environment cannot be replayed and were left as they are".to_owned(),
            ),
        },
        Some(choice) => Settings {
            conf: Some(choice.chosen.conf.clone()).filter(|_| choice.chosen != choice.plain),
            reason: Some(reason(&choice, run.name)),
        },
    }
}

fn reason(choice: &Choice, run: &str) -> String {
    let (chosen, plain) = (&choice.chosen, &choice.plain);
    let retries = |count: u64| match count {
        0 => "without giving its cache back once".to_owned(),
        1 => "giving its cache back once".to_owned(),
        count => format!("giving its cache back {count} times"),
    };
    let takes = |bytes: u64, count: u64| format!("{} reserved {}", show(bytes), retries(count));
    if chosen == plain {
        let what =
            if plain.fits { takes(plain.reserved_bytes, plain.retries) } else { "no settings tried fit".to_owned() };
        return format!("the allocator was left as it is: in a replay of {run}, {what}");
    }
    let before = if plain.fits { takes(plain.reserved_bytes, plain.retries) } else { "out of memory".to_owned() };
    format!(
        "the allocator runs with {}: in a replay of {run}, {}; as it was, {before}",
        chosen.conf,
        takes(chosen.reserved_bytes, chosen.retries)
    )
}

/// What the smallest card has for PyTorch; none where no driver tells.
fn smallest_card_bytes() -> Option<u64> {
    let cards = Monitor::open().ok()?.cards().ok()?;
    let bytes = cards.iter().filter_map(|card| card.memory.total_bytes()).min()?;
    Some(bytes.saturating_sub(CONTEXT_BYTES))
}

#[cfg(test)]
mod tests {
    use oomph_plan::allocator::Tried;

    use super::*;

    fn tried(conf: &str, gib: u64, retries: u64, fits: bool) -> Tried {
        Tried { conf: conf.to_owned(), reserved_bytes: gib << 30, retries, fits }
    }

    #[test]
    fn a_choice_says_why() {
        let chosen = tried("expandable_segments:True", 15, 0, true);
        let choice = Choice { chosen, plain: tried("", 27, 2, true) };
        assert_eq!(
            reason(&choice, "the last plan"),
            "the allocator runs with expandable_segments:True: in a replay of the last plan, 15.00GiB reserved without \
             giving its cache back once; as it was, 27.00GiB reserved giving its cache back 2 times"
        );
        let plain = tried("", 3, 0, true);
        let same = Choice { chosen: plain.clone(), plain };
        assert!(reason(&same, "the last run").starts_with("the allocator was left as it is"), "{same:?}");
    }

    #[test]
    fn fixed_settings_need_no_earlier_run() {
        let earlier = Earlier { job: Identity::new(&[], &["nowhere.py".into()], "/".as_ref()), promise: None };
        let conf = |wanted| earlier.settings(Some(wanted), None).conf;
        assert_eq!(conf(Allocator::Async).as_deref(), Some("backend:cudaMallocAsync"));
        assert_eq!(conf(Allocator::Expandable).as_deref(), Some("expandable_segments:True"));
        assert_eq!(earlier.settings(None, None), Settings::default());
    }
}
