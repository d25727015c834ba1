//! What the steps of a job do, as far as it can be told without a card: arithmetic, bytes moved, and whose they are.

use oomph_card::Card;
use oomph_job::Watched;
use oomph_trace::Category;

use super::clock::{Clock, Stretch};
use super::spans::Spans;
use crate::survey::Model;

/// The forward pass is a third of a training step where nobody counted: the backward pass computes two products for each.
const FORWARD_SHARE: f64 = 1.0 / 3.0;
/// Products reach so much of what the card could do.
const ARITHMETIC_REACHED: f64 = 0.7;
/// Other kernels reach so much of the memory's bandwidth.
const BANDWIDTH_REACHED: f64 = 0.8;
/// Bytes moved for each byte that is allocated: it is written once, and as much is read to compute it and later from it.
const MOVED_BYTES: f64 = 3.0;

/// What an optimizer's step moves for each byte of weights, gradients and state: each is read, and most are written.
const UPDATED_BYTES: f64 = 2.0;
/// The host needs so long for an operator, most of which allocate one block: small models wait for it. On the machine of
/// an H200, three jobs that waited for it took 28 (`benches/on_card/host_times.py`), 35 (the small layers of `steps.py`)
/// and 38 microseconds a block (a Llama of 7 billion with adapters, `fit.py`).
const SECONDS_A_BLOCK: f64 = 34e-6;
/// The same in a forward pass that is recomputed, 55 in the first of these and 67 in the last: what it would keep goes
/// through Python on its way.
const SECONDS_A_BLOCK_RECOMPUTED: f64 = 61e-6;
/// Copies from and to pinned memory reach so much of what the bus promises.
const BUS_REACHED: f64 = 0.8;
/// Bytes a second that one process of several reaches in the host's memory.
const HOST_BANDWIDTH: f64 = 10e9;
/// The host needs so long to send a tensor away and to fetch it: Python's part, twice.
const SECONDS_A_TRIP: f64 = 100e-6;

/// Arithmetic and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Amount {
    /// In single precision, in TF32, in 16 bits.
    operations: [f64; 3],
    /// Bytes allocated on the way.
    bytes: f64,
    /// In so many blocks, without those that libraries work in.
    blocks: f64,
}

impl Amount {
    /// What takes longer: the host starts kernels while the card computes.
    fn seconds(&self, card: &Card) -> f64 {
        self.card_seconds(card).max(self.host_seconds())
    }

    fn host_seconds(&self) -> f64 {
        self.blocks * SECONDS_A_BLOCK
    }

    fn card_seconds(&self, card: &Card) -> f64 {
        let rates = [single_rate(card), tf32_rate(card), half_rate(card)];
        let arithmetic: f64 = self.operations.iter().zip(rates).map(|(operations, rate)| operations / rate).sum();
        arithmetic / ARITHMETIC_REACHED + MOVED_BYTES * self.bytes / (bandwidth(card) * BANDWIDTH_REACHED)
    }
}

/// Operations a second in single precision.
fn single_rate(card: &Card) -> f64 {
    let per_clock = if matches!((card.compute_capability.major, card.compute_capability.minor), (7, _) | (8, 0)) {
        128.0
    } else {
        256.0
    };
    per_clock * f64::from(card.sms) * f64::from(card.clock_khz) * 1e3
}

/// Operations a second on tensor cores in 16 bits, summed in single precision.
fn half_rate(card: &Card) -> f64 {
    let per_clock = match (card.compute_capability.major, card.compute_capability.minor) {
        (7, _) => 1024.0,
        (8, 0) => 2048.0,
        (8 | 12, _) => 512.0,
        (9, _) => 4096.0,
        (10 | 11, _) => 8192.0,
        _ => return single_rate(card),
    };
    per_clock * f64::from(card.sms) * f64::from(card.clock_khz) * 1e3
}

/// Operations a second on tensor cores in TF32.
fn tf32_rate(card: &Card) -> f64 {
    if card.compute_capability.major < 8 { single_rate(card) } else { half_rate(card) / 2.0 }
}

/// Bytes a second of the card's memory, which moves data twice a clock.
fn bandwidth(card: &Card) -> f64 {
    2.0 * f64::from(card.memory_clock_khz) * 1e3 * f64::from(card.memory_bus_bits) / 8.0
}

/// Bytes a second over sixteen lanes, each way: both ways can be used at once.
fn bus(card: &Card) -> f64 {
    match card.compute_capability.major {
        ..=7 => 16e9,
        8 => 32e9,
        _ => 64e9,
    }
}

/// How long a copy between the card and pinned host memory takes, in one direction.
fn copy_seconds(card: &Card, bytes: u64) -> f64 {
    bytes as f64 / (bus(card) * BUS_REACHED)
}

/// The work of a job's steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// One whole step.
    step: Amount,
    /// Its forward pass.
    forward: Amount,
    /// The forward passes of its modules, each with everything inside, by their paths in the trace.
    by_module: Vec<(String, Amount)>,
    /// Whether the arithmetic was counted.
    is_counted: bool,
}

impl Work {
    /// Adds up what one step did: the last whole one.
    #[must_use]
    pub fn of(spans: &Spans, clock: &Clock, watched: &Watched) -> Self {
        let Some((step_number, from_us, until_us)) = clock.last_whole_step() else { return Self::default() };
        let counted = Counted { work: &watched.work };
        let of_step = |span: &&super::Span| span.step == step_number;
        let bytes = |stretch: Option<Stretch>| -> f64 {
            let inside =
                spans.all.iter().filter(of_step).filter(|span| stretch.is_none_or(|wanted| wanted == span.stretch));
            inside.map(|span| span.bytes as f64).sum()
        };
        let mut work = Self { is_counted: !watched.work.is_empty(), ..Self::default() };
        let is_operators = |span: &&super::Span| !span.is_scratch;
        let blocks = spans.all.iter().filter(of_step).filter(is_operators).count() as f64;
        let is_updated = |span: &&super::Span| {
            let is_state = matches!(span.category, Category::Parameter | Category::Gradient | Category::Optimizer);
            is_state && span.step <= step_number
        };
        let updated: u64 = spans.live_at(spans.peak().1).filter(is_updated).map(|span| span.bytes).sum();
        let moved = bytes(None) + UPDATED_BYTES / MOVED_BYTES * updated as f64;
        work.step = Amount { operations: counted.between(from_us, until_us), bytes: moved, blocks };
        let calls = inclusive_calls(watched, from_us, until_us);
        let mut by_module = std::collections::BTreeMap::<usize, Amount>::new();
        for call in &calls {
            let operations = counted.between(call.from_us, call.until_us);
            let amount = by_module.entry(call.module).or_default();
            (0..3).for_each(|units| amount.operations[units] += operations[units]);
            if call.depth == 0 {
                (0..3).for_each(|units| work.forward.operations[units] += operations[units]);
            }
        }
        work.forward.bytes = bytes(Some(Stretch::Forward));
        let forward = |span: &&super::Span| span.stretch == Stretch::Forward;
        work.forward.blocks = spans.all.iter().filter(of_step).filter(forward).filter(is_operators).count() as f64;
        let name = |module: usize| watched.modules.get(module).map_or(String::new(), |(label, path)| join(label, path));
        work.by_module = by_module.into_iter().map(|(module, amount)| (name(module), amount)).collect();
        for (name, amount) in &mut work.by_module {
            let inside = spans.all.iter().filter(of_step).filter(|span| span.stretch == Stretch::Forward);
            let own = inside.filter(|span| is_within(spans.path(span), name));
            let (bytes, blocks) =
                own.fold((0, 0), |sum, span| (sum.0 + span.bytes, sum.1 + u32::from(!span.is_scratch)));
            (amount.bytes, amount.blocks) = (bytes as f64, f64::from(blocks));
        }
        work
    }

    /// By how much of its time a step gets longer if the forward pass of the modules at these paths is recomputed. Where
    /// the card waits for the host, it is the host's time that counts, of which the forward pass is a larger part.
    #[must_use]
    pub fn recomputed_share(&self, model: &Model, paths: &[&str], card: &Card) -> f64 {
        let is_one = |name: &str| paths.iter().any(|path| model.is_at(path, name));
        let modules = self.by_module.iter().filter(|(name, _)| is_one(name));
        if self.is_counted {
            let (on_card, on_host) = modules.fold((0.0, 0.0), |(on_card, on_host), (_, amount)| {
                (on_card + amount.card_seconds(card), on_host + amount.blocks * SECONDS_A_BLOCK_RECOMPUTED)
            });
            let longer = (self.step.card_seconds(card) + on_card).max(self.step.host_seconds() + on_host);
            let step = self.step_seconds(card);
            return (longer - step).max(0.0) / step;
        }
        let bytes: f64 = modules.map(|(_, amount)| amount.bytes).sum();
        if self.forward.bytes > 0.0 { FORWARD_SHARE * bytes / self.forward.bytes } else { 0.0 }
    }

    /// The part of a step's time that its forward pass takes.
    #[must_use]
    pub fn whole_forward_share(&self, card: &Card) -> f64 {
        if self.is_counted { self.forward.seconds(card) / self.step_seconds(card) } else { FORWARD_SHARE }
    }

    /// How long a step takes on a card, about.
    #[must_use]
    pub fn step_seconds(&self, card: &Card) -> f64 {
        self.step.seconds(card).max(1e-3)
    }

    /// By what the time of a step is multiplied if tensors leave the card during the forward pass and come back during
    /// the rest of the step: copies run beside the computation, and whichever takes longer is waited for.
    #[must_use]
    pub fn with_trips_to_host(&self, card: &Card, bytes: u64, tensors: u64) -> f64 {
        let step = self.step_seconds(card);
        let forward = step * self.whole_forward_share(card).min(1.0);
        let copy = copy_seconds(card, bytes);
        (forward.max(copy) + (step - forward).max(copy) + tensors as f64 * SECONDS_A_TRIP) / step
    }

    /// By what the time of a step is multiplied if so much visits the card while nothing else runs there: what comes
    /// and what goes are under way at once, but for the first part that comes and the last that goes.
    #[must_use]
    pub fn with_visits_to_card(&self, card: &Card, bytes: u64, part_bytes: u64) -> f64 {
        1.0 + copy_seconds(card, bytes + part_bytes) / self.step_seconds(card)
    }

    /// How long a step takes that gathers all parameters from other cards before the forward and the backward pass, and
    /// sends its part of every gradient, beside the computation and over the bus: faster links are not known of.
    #[must_use]
    pub fn seconds_among_cards(&self, card: &Card, parameter_bytes: u64, cards: u32) -> f64 {
        let step = self.step_seconds(card);
        let forward = step * self.whole_forward_share(card).min(1.0);
        let others = f64::from(cards.saturating_sub(1)) / f64::from(cards.max(1));
        let gather = copy_seconds(card, parameter_bytes) * others;
        forward.max(gather) + (step - forward).max(2.0 * gather)
    }

    /// By what the time of a step is multiplied if its parameters lie on the host: they come before each pass, gradients
    /// go there, and the host takes the optimizer's step.
    #[must_use]
    pub fn with_steps_on_host(&self, card: &Card, parameter_bytes: u64, state_bytes: u64) -> f64 {
        let step = self.step_seconds(card);
        let forward = step * self.whole_forward_share(card).min(1.0);
        let copy = copy_seconds(card, parameter_bytes);
        let updated = UPDATED_BYTES * (2 * parameter_bytes + state_bytes) as f64 / HOST_BANDWIDTH;
        (forward.max(copy) + (step - forward).max(copy) + updated) / step
    }
}

/// What was counted by when.
struct Counted<'a> {
    work: &'a [(u64, [u64; 3])],
}

impl Counted<'_> {
    fn at(&self, time_us: u64) -> [u64; 3] {
        let after = self.work.partition_point(|(when, _)| *when <= time_us);
        if after == 0 { [0; 3] } else { self.work[after - 1].1 }
    }

    fn between(&self, from_us: u64, until_us: u64) -> [f64; 3] {
        let (from, until) = (self.at(from_us), self.at(until_us));
        std::array::from_fn(|units| until[units].saturating_sub(from[units]) as f64)
    }
}

struct Call {
    module: usize,
    from_us: u64,
    until_us: u64,
    depth: usize,
}

/// The calls of modules in a stretch of time, each with when it returned.
fn inclusive_calls(watched: &Watched, from_us: u64, until_us: u64) -> Vec<Call> {
    let mut running: Vec<(usize, u64)> = Vec::new();
    let mut found = Vec::new();
    for &(time_us, called) in watched.calls.iter().filter(|(time_us, _)| (from_us..until_us).contains(time_us)) {
        match called {
            Some(module) => running.push((module, time_us)),
            None => {
                if let Some((module, from_us)) = running.pop() {
                    found.push(Call { module, from_us, until_us: time_us, depth: running.len() });
                }
            }
        }
    }
    found
}

fn join(label: &str, path: &str) -> String {
    if path.is_empty() { label.to_owned() } else { format!("{label}.{path}") }
}

/// Whether a module of a trace, by its path there, is one or within one by its whole path.
fn is_within(path: &str, whole: &str) -> bool {
    let short = whole.split_once('.').map_or("", |(_, rest)| rest);
    [whole, short]
        .into_iter()
        .filter(|outer| !outer.is_empty())
        .any(|outer| path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step of a second on an H200, a third of it the forward pass, bound by memory.
    fn work(card: &Card) -> Work {
        let amount = |seconds: f64| {
            let bytes = seconds * bandwidth(card) * BANDWIDTH_REACHED / MOVED_BYTES;
            Amount { bytes, ..Amount::default() }
        };
        Work { step: amount(1.0), forward: amount(1.0 / 3.0), is_counted: true, ..Work::default() }
    }

    #[test]
    fn copies_that_are_hidden_cost_nothing_and_others_what_they_take_longer() {
        let card = Card::named("h200").expect("h200");
        let work = work(&card);
        let a_second = crate::numbers::whole(bus(&card) * BUS_REACHED);
        let factor = |bytes: u64| work.with_trips_to_host(&card, bytes, 0);
        assert!((factor(a_second / 4) - 1.0).abs() < 1e-6, "less than the forward pass");
        assert!(
            (factor(a_second / 2) - 1.0 - (0.5 - 1.0 / 3.0)).abs() < 1e-6,
            "the forward pass waits, the rest does not"
        );
        assert!((factor(a_second * 2) - 4.0).abs() < 1e-6, "both wait");
        assert!(work.with_trips_to_host(&card, 0, 1000) > 1.05, "tensors cost the host time");
        assert!((work.with_visits_to_card(&card, a_second, a_second / 4) - 2.25).abs() < 1e-6);
    }

    #[test]
    fn what_is_recomputed_takes_the_time_of_whoever_is_waited_for() {
        let card = Card::named("h200").expect("h200");
        let model = Model { label: "Net".to_owned(), blocks: vec!["block".to_owned()], ..Model::default() };
        let share = |blocks: f64| {
            let plain = work(&card);
            let step = Amount { blocks, ..plain.step };
            let forward = Amount { blocks: blocks / 2.0, ..plain.forward };
            let work = Work { step, forward, by_module: vec![("Net.block".to_owned(), forward)], ..plain };
            work.recomputed_share(&model, &["block"], &card)
        };
        assert!((share(0.0) - 1.0 / 3.0).abs() < 1e-6, "the card's time");
        // The host needs two seconds for a step of which the card computes one: half of it in the forward pass.
        let blocks = 2.0 / SECONDS_A_BLOCK;
        let again = SECONDS_A_BLOCK_RECOMPUTED / SECONDS_A_BLOCK / 2.0;
        assert!((share(blocks) - again).abs() < 1e-6, "the host's time: {}", share(blocks));
        // Not waited for as it is, but once it has more to do.
        assert!(share(0.9 / SECONDS_A_BLOCK) > 0.6);
    }

    #[test]
    fn newer_buses_are_faster() {
        let rate = |name: &str| bus(&Card::named(name).expect(name));
        assert!(rate("t4") < rate("rtx_4090") && rate("rtx_4090") < rate("h200"));
    }
}
