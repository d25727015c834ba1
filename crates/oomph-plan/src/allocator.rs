//! Which allocator settings suit a job: the requests of an earlier run, replayed under each of a few settings.

use oomph_heap::{Backend, BumpSource, Config, Options, Order, Outcome, Requests, Timeline, policy, replay};
use oomph_trace::Trace;

/// Settings that are tried, the plainest first, with the first version of torch that knows them.
const CANDIDATES: [(&str, (u32, u32)); 6] = [
    ("", (0, 0)),
    ("expandable_segments:True", (2, 1)),
    ("expandable_segments:True,large_segment_size_mb:12", (2, 11)),
    ("max_split_size_mb:128", (1, 10)),
    ("max_split_size_mb:512", (1, 10)),
    ("garbage_collection_threshold:0.8", (1, 12)),
];
/// Less plain settings must save at least so many percent: that little, another run may take more or less of.
const SAVING_PERCENT: u64 = 1;

/// How much there is to be had.
#[derive(Clone, Copy, Debug, Default)]
pub struct Room {
    /// What the card has for PyTorch, where it is known.
    pub card_bytes: Option<u64>,
    /// The most that PyTorch may take, where the user says so.
    pub limit_bytes: Option<u64>,
}

/// What settings would have made of the earlier run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The settings, as `PYTORCH_CUDA_ALLOC_CONF` takes them; empty where they are PyTorch's defaults.
    pub conf: String,
    /// Peak of reserved bytes, on the device where it is highest.
    pub reserved_bytes: u64,
    /// How often the cache had to be given back to serve a request.
    pub retries: u64,
    /// Whether every request was served.
    pub fits: bool,
}

/// The settings chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What to run with.
    pub chosen: Tried,
    /// What the user's own settings, or PyTorch's defaults, would have come to.
    pub plain: Tried,
}

impl Choice {
    /// The settings that need least and never have to give the cache back, if some do; none where the user's own
    /// settings cannot be replayed. `conf` is what the user set, which is kept; `torch` the version, as `(2, 11)`.
    #[must_use]
    pub fn make(trace: &Trace, room: Room, torch: (u32, u32), conf: &str) -> Option<Self> {
        if Config::parse(conf).ok()?.backend != Backend::Native {
            return None;
        }
        let mut requests = requests(trace);
        let known = CANDIDATES.iter().filter(|(_, since)| torch >= *since);
        let mut confs: Vec<String> = known.map(|(candidate, _)| joined(conf, candidate)).collect();
        confs.dedup();
        let tried: Vec<Tried> = confs.iter().filter_map(|conf| Tried::of(conf, &mut requests, room)).collect();
        let plain = tried.first()?.clone();
        let chosen = tried.into_iter().reduce(|best, next| if next.is_better_than(&best) { next } else { best })?;
        Some(Self { chosen, plain })
    }
}

impl Tried {
    fn of(conf: &str, requests: &mut [Requests], room: Room) -> Option<Self> {
        let config = Config::parse(conf).ok()?;
        let name = if config.expandable_segments { "expandable_segments" } else { "native" };
        let policy = policy(name).ok()?;
        let mut tried = Self { conf: conf.to_owned(), reserved_bytes: 0, retries: 0, fits: true };
        for requests in requests {
            requests.config = config.clone();
            // What the earlier run was limited to is not what this one is.
            let limit_bytes = Some(room.limit_bytes.unwrap_or(u64::MAX));
            let options = Options { limit_bytes, stop_at_oom: true, request_ghosts: true };
            let mut source = BumpSource::new(Order::Driver, room.card_bytes);
            let replayed = replay(policy, requests, &mut source, &options);
            tried.reserved_bytes = tried.reserved_bytes.max(replayed.peak_reserved_bytes);
            tried.retries += replayed.retries;
            tried.fits &= matches!(replayed.outcome, Outcome::Ok);
        }
        Some(tried)
    }

    /// Whether it is worth leaving plainer settings for.
    fn is_better_than(&self, plainer: &Self) -> bool {
        let worth = |tried: &Self| (tried.fits, std::cmp::Reverse(tried.retries));
        let saves = self.reserved_bytes < plainer.reserved_bytes - plainer.reserved_bytes / 100 * SAVING_PERCENT;
        worth(self) > worth(plainer) || (worth(self) == worth(plainer) && self.fits && saves)
    }
}

/// What the user set in the environment.
#[must_use]
pub fn conf_of_user() -> String {
    let names = ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"];
    names.iter().find_map(|name| std::env::var(name).ok().filter(|text| !text.is_empty())).unwrap_or_default()
}

/// `(2, 11)` of `2.11.0+cu130`.
#[must_use]
pub fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// What the earlier run asked for, by device.
fn requests(trace: &Trace) -> Vec<Requests> {
    let config = Config::from_settings(&trace.settings).unwrap_or_default();
    let of = |device| Requests::of(device, &Timeline::with_config(device, &config));
    trace.devices.iter().map(of).collect()
}

/// The user's settings with those of a candidate that the user did not make.
fn joined(conf: &str, candidate: &str) -> String {
    let is_new = |setting: &&str| setting.split(':').next().is_some_and(|key| !key.is_empty() && !conf.contains(key));
    let own = Some(conf.trim_end_matches(',')).filter(|own| !own.is_empty());
    own.into_iter().chain(candidate.split(',').filter(is_new)).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use oomph_trace::{Origin, TraceBuilder};

    use super::*;

    const GIB: u64 = 1 << 30;
    const NEW: (u32, u32) = (2, 11);

    /// Blocks that grow from step to step: every one needs a new segment, all others stay cached.
    fn ragged() -> Trace {
        let mut job = TraceBuilder::new(Origin::RealRun);
        for at in 1..=10 {
            let bytes = GIB + at * (GIB / 8);
            job.segment_alloc(at * 8 * GIB, bytes, &[]).alloc(at * 8 * GIB, bytes, &[]).free(at * 8 * GIB, bytes, &[]);
        }
        job.finish()
    }

    /// One block that is there from the beginning to the end.
    fn plain() -> Trace {
        let mut job = TraceBuilder::new(Origin::RealRun);
        job.segment_alloc(8 * GIB, GIB, &[]).alloc(8 * GIB, GIB, &[]);
        job.finish()
    }

    fn choose(trace: &Trace, room: Room, torch: (u32, u32), conf: &str) -> Choice {
        Choice::make(trace, room, torch, conf).expect("something can be replayed")
    }

    #[test]
    fn what_grows_gets_segments_that_can_and_what_stays_is_left_alone() {
        let choice = choose(&ragged(), Room::default(), NEW, "");
        assert!(choice.chosen.conf.starts_with("expandable_segments:True"), "{choice:?}");
        assert!(choice.chosen.reserved_bytes * 3 < choice.plain.reserved_bytes, "{choice:?}");
        let choice = choose(&plain(), Room::default(), NEW, "");
        assert_eq!((choice.chosen.conf.as_str(), &choice.chosen), ("", &choice.plain));
    }

    #[test]
    fn no_retries_count_more_than_few_bytes() {
        let room = Room { card_bytes: Some(3 * GIB), limit_bytes: None };
        let choice = choose(&ragged(), room, (2, 0), "");
        assert!(choice.plain.retries > 0 && choice.plain.fits, "{choice:?}");
        let choice = choose(&ragged(), room, NEW, "");
        assert_eq!((choice.chosen.retries, choice.chosen.fits), (0, true), "{choice:?}");
        let limited = Room { card_bytes: None, limit_bytes: Some(GIB) };
        let choice = choose(&ragged(), limited, NEW, "");
        assert_eq!((choice.chosen.fits, choice.chosen.conf.as_str()), (false, ""), "nothing helps: {choice:?}");
    }

    #[test]
    fn versions_are_read() {
        assert_eq!([version("2.11.0+cu130"), version("2.6"), version("x")], [Some((2, 11)), Some((2, 6)), None]);
    }

    #[test]
    fn what_the_user_set_is_kept() {
        let choice = choose(&ragged(), Room::default(), NEW, "expandable_segments:False,max_split_size_mb:64,");
        assert_eq!(choice.chosen.conf, "expandable_segments:False,max_split_size_mb:64");
        let choice = choose(&ragged(), Room::default(), (2, 10), "roundup_power2_divisions:[256:1,512:2]");
        assert_eq!(choice.chosen.conf, "roundup_power2_divisions:[256:1,512:2],expandable_segments:True");
        assert_eq!(Choice::make(&plain(), Room::default(), NEW, "backend:cudaMallocAsync"), None);
        assert_eq!(Choice::make(&plain(), Room::default(), NEW, "no_such_key:1"), None);
    }

    #[test]
    fn an_old_torch_gets_no_settings_it_does_not_know() {
        let choice = choose(&ragged(), Room::default(), (2, 0), "");
        assert!(!choice.chosen.conf.contains("expandable"), "{choice:?}");
    }
}
