//! Decisions on made-up jobs whose every set is known: a validator that looks at all of them says what was to be found.

use super::*;
use crate::search::sets::{joined, sets};

/// Numbers that look random and are the same in every run (`SplitMix64`).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn between(&mut self, least: f64, most: f64) -> f64 {
        let part = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        least + (most - least) * part
    }

    fn count(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }
}

/// One strength of a made-up remedy: what it leaves of each moment, really and on paper, and what it costs.
struct Strength {
    leaves: Vec<f64>,
    drawn: Vec<f64>,
    cost: f64,
}

/// A job with several moments at which much is live. Remedies work on some of them.
struct Made {
    moments: Vec<f64>,
    remedies: Vec<Vec<Strength>>,
    room_bytes: u64,
}

impl Made {
    /// A job whose sketches are wrong by so much of what a remedy saves, at most.
    fn new(chance: &mut Chance, error: f64) -> Self {
        let moments: Vec<f64> = (0..chance.count(1, 4)).map(|_| chance.between(4e9, 10e9)).collect();
        let remedies = (0..chance.count(3, 7)).map(|_| Self::remedy(chance, moments.len(), error)).collect();
        let mut made = Self { moments, remedies, room_bytes: 0 };
        made.room_bytes = whole(made.needed(&[]) as f64 * chance.between(0.15, 0.8));
        made
    }

    fn remedy(chance: &mut Chance, moments: usize, error: f64) -> Vec<Strength> {
        let count = [1, 1, 2, 4][usize::try_from(chance.count(0, 3)).expect("small")];
        let works: Vec<f64> =
            (0..moments).map(|_| if chance.count(0, 2) == 0 { 0.0 } else { chance.between(0.05, 0.7) }).collect();
        let wrong: Vec<f64> = (0..moments).map(|_| 1.0 + chance.between(-error, error)).collect();
        let dearest = [0.0, 0.05, 0.3, 1.0][usize::try_from(chance.count(0, 3)).expect("small")];
        let dearest = dearest * chance.between(0.5, 1.5);
        let strength = |at: i32| {
            let part = f64::from(at) / f64::from(count);
            let leaves = works.iter().map(|most| 1.0 - most * part);
            let drawn = works.iter().zip(&wrong).map(|(most, wrong)| 1.0 - (most * part * wrong).min(0.95));
            Strength { leaves: leaves.collect(), drawn: drawn.collect(), cost: dearest * part }
        };
        (1..=count).map(strength).collect()
    }

    fn choice(remedy: usize, strength: usize) -> RemedyChoice {
        RemedyChoice::new(&format!("made_{remedy}")).with("strength", strength)
    }

    fn strength(&self, choice: &RemedyChoice) -> &Strength {
        let remedy: usize = choice.name.strip_prefix("made_").and_then(|at| at.parse().ok()).expect("made here");
        let strength = choice.number("strength").and_then(|at| usize::try_from(at).ok()).expect("made here");
        &self.remedies[remedy][strength]
    }

    fn options(&self) -> Vec<Vec<RemedyChoice>> {
        let remedies = self.remedies.iter().enumerate();
        remedies.map(|(remedy, all)| (0..all.len()).map(|at| Self::choice(remedy, at)).collect()).collect()
    }

    /// What a set really needs.
    fn needed(&self, set: &[RemedyChoice]) -> u64 {
        let left = |at: usize| set.iter().map(|choice| self.strength(choice).leaves[at]).product::<f64>();
        let moments = self.moments.iter().enumerate().map(|(at, bytes)| bytes * left(at));
        whole(moments.fold(0.0, f64::max))
    }

    /// What it is on paper, drawn on another set that was run.
    fn drawn(&self, before: &[RemedyChoice], added: &[RemedyChoice]) -> u64 {
        let left = |at: usize| {
            let kept = before.iter().filter(|choice| names(added).all(|name| name != choice.name));
            let kept = kept.map(|choice| self.strength(choice).leaves[at]).product::<f64>();
            kept * added.iter().map(|choice| self.strength(choice).drawn[at]).product::<f64>()
        };
        let moments = self.moments.iter().enumerate().map(|(at, bytes)| bytes * left(at));
        whole(moments.fold(0.0, f64::max))
    }

    fn slowdown(&self, set: &[RemedyChoice]) -> f64 {
        1.0 + set.iter().map(|choice| self.strength(choice).cost).sum::<f64>()
    }

    /// The least time of all sets that fit: the slow way, by looking at every one.
    fn optimum(&self) -> Option<f64> {
        let mut all: Vec<Vec<RemedyChoice>> = vec![Vec::new()];
        for choices in self.options() {
            let with = all.iter().flat_map(|set| choices.iter().map(|one| [set.clone(), vec![one.clone()]].concat()));
            let with: Vec<_> = with.collect();
            all.extend(with);
        }
        let fitting = all.iter().filter(|set| self.needed(set) <= self.room_bytes);
        fitting.map(|set| self.slowdown(set)).min_by(f64::total_cmp)
    }

    /// What the decisions lead to: the time of the set that is found, and how many sets were run for it.
    fn search(&self) -> (Option<f64>, usize) {
        let mut ledger = Ledger::default();
        let mut sets_run: Vec<Vec<RemedyChoice>> = Vec::new();
        let mut asked: Option<Draft> = None;
        loop {
            let set = asked.as_ref().map(|draft| draft.whole.clone()).unwrap_or_default();
            let at = ledger.note(self.shown(&set), asked.as_ref());
            sets_run.push(set);
            if !self.shown(&sets_run[at]).fits && ledger.is_closer(at) {
                ledger.offer(self.drafts(at, &sets_run[at]));
            }
            asked = ledger.next(self.room_bytes, &|draft| self.drawn(&sets_run[draft.origin], &draft.added));
            if asked.is_none() {
                break;
            }
        }
        let found = ledger.cheapest_fitting().map(|at| self.slowdown(&sets_run[at]));
        (found, sets_run.len() - 1)
    }

    fn shown(&self, set: &[RemedyChoice]) -> Shown {
        let needed_bytes = self.needed(set);
        Shown {
            choices: set.to_vec(),
            slowdown: self.slowdown(set),
            peak_bytes: needed_bytes,
            needed_bytes,
            grows: false,
            fits: needed_bytes <= self.room_bytes,
        }
    }

    fn drafts(&self, origin: usize, before: &[RemedyChoice]) -> Vec<Draft> {
        let mut options = self.options();
        for choices in &mut options {
            choices.retain(|choice| !before.contains(choice));
        }
        let draft = |added: Vec<RemedyChoice>| {
            let whole = joined(before, &added);
            Draft { origin, slowdown: self.slowdown(&whole), added, whole }
        };
        sets(&options).into_iter().map(draft).collect()
    }
}

/// How searches of many made-up jobs went.
#[derive(Debug, Default)]
struct Tally {
    jobs: usize,
    missed: usize,
    /// By what the time that was found is more than the least, in order.
    factors: Vec<f64>,
    /// Sets that were run, in order.
    runs: Vec<usize>,
}

impl Tally {
    fn of(seed: u64, jobs: usize, error: f64) -> Self {
        let mut chance = Chance(seed);
        let mut tally = Self::default();
        while tally.jobs < jobs {
            let made = Made::new(&mut chance, error);
            let (found, runs) = made.search();
            assert!(runs <= RUNS_MAX);
            let Some(optimum) = made.optimum() else {
                assert_eq!(found, None, "nothing fits, and nothing else may be said");
                continue;
            };
            // What one free remedy settles shows nothing.
            if optimum < 1.02 {
                continue;
            }
            tally.jobs += 1;
            tally.runs.push(runs);
            match found {
                Some(found) => tally.factors.push(found / optimum),
                None => tally.missed += 1,
            }
        }
        tally.factors.sort_by(f64::total_cmp);
        tally.runs.sort_unstable();
        tally
    }

    fn factor_at(&self, percent: usize) -> f64 {
        self.factors[(self.factors.len() - 1) * percent / 100]
    }

    fn runs_at(&self, percent: usize) -> usize {
        self.runs[(self.runs.len() - 1) * percent / 100]
    }
}

#[test]
fn what_is_found_is_nearly_the_cheapest_of_all_and_takes_few_runs() {
    // Wrong by a tenth of what each remedy saves, and by as much as three tenths.
    for (error, factor) in [(0.1, 1.02), (0.3, 1.10)] {
        let tally = Tally::of(7, 120, error);
        assert!(tally.missed <= 1, "{error}: {} of {} jobs were not made to fit", tally.missed, tally.jobs);
        assert!(tally.factor_at(95) <= factor, "{error}: {} times the least in 95 of 100 jobs", tally.factor_at(95));
        assert!(tally.runs_at(50) <= 2 && tally.runs_at(95) <= RUNS_USUAL, "{error}: {:?}", tally.runs);
    }
}

#[test]
fn with_exact_sketches_the_first_run_is_the_cheapest_set_that_fits() {
    let tally = Tally::of(5, 60, 0.0);
    assert!(tally.missed == 0 && tally.factor_at(98) <= 1.0, "{:?}", tally.factors);
}

/// A job of 40 GiB for a card of 20: the strengths of one remedy, and another that costs much more.
struct Ladder;

impl Ladder {
    const ROOM_BYTES: u64 = 20 << 30;

    fn set(blocks: u64, is_offloaded: bool) -> Vec<RemedyChoice> {
        let blocks = (blocks > 0).then(|| RemedyChoice::new("made_blocks").with("count", blocks));
        blocks.into_iter().chain(is_offloaded.then(|| RemedyChoice::new("made_offload"))).collect()
    }

    fn shown(blocks: u64, gib: f64) -> Shown {
        let needed_bytes = whole(gib * f64::from(1 << 30));
        let fits = needed_bytes <= Self::ROOM_BYTES;
        let choices = Self::set(blocks, false);
        let slowdown = Self::slowdown(blocks, false);
        Shown { choices, slowdown, peak_bytes: needed_bytes, needed_bytes, grows: false, fits }
    }

    fn slowdown(blocks: u64, is_offloaded: bool) -> f64 {
        1.0 + blocks as f64 / 100.0 + if is_offloaded { 0.8 } else { 0.0 }
    }

    fn drafts(origin: usize, before: u64) -> Vec<Draft> {
        let sets = [6, 12, 18, 24].into_iter().filter(|blocks| *blocks > before).chain([before]);
        let all = sets.flat_map(|blocks| [(blocks, false), (blocks, true)]).filter(|set| *set != (before, false));
        let draft = |(blocks, is_offloaded): (u64, bool)| {
            let whole = Self::set(blocks, is_offloaded);
            let added = whole.iter().filter(|choice| !Self::set(before, false).contains(choice)).cloned().collect();
            Draft { origin, added, whole, slowdown: Self::slowdown(blocks, is_offloaded) }
        };
        all.map(draft).collect()
    }

    fn drawn(draft: &Draft, gib_a_block: f64) -> u64 {
        let blocks = draft.whole.iter().find_map(|choice| choice.number("count")).unwrap_or(0);
        let is_offloaded = names(&draft.whole).any(|name| name == "made_offload");
        let gib = 40.0 - gib_a_block * blocks as f64 - if is_offloaded { 15.0 } else { 0.0 };
        whole(gib * f64::from(1 << 30))
    }
}

#[test]
fn a_near_miss_takes_more_of_a_remedy_before_one_that_costs_more() {
    let mut ledger = Ledger::default();
    ledger.note(Ladder::shown(0, 40.0), None);
    ledger.offer(Ladder::drafts(0, 0));
    let paper = |draft: &Draft| Ladder::drawn(draft, 1.15);
    let first = ledger.next(Ladder::ROOM_BYTES, &paper).expect("a set");
    assert_eq!(first.whole, Ladder::set(18, false), "the cheapest that should fit");
    // It needs a little more than there is. What is left for it is drawn on the job as it is and on this run.
    let missed = ledger.note(Ladder::shown(18, 20.5), Some(&first));
    ledger.offer(Ladder::drafts(missed, 18));
    let second = ledger.next(Ladder::ROOM_BYTES, &paper).expect("a set");
    assert_eq!((second.whole.clone(), second.origin), (Ladder::set(24, false), missed));
    ledger.note(Ladder::shown(24, 14.0), Some(&second));
    assert!(ledger.next(Ladder::ROOM_BYTES, &paper).is_none(), "nothing cheaper should fit");
}

#[test]
fn what_runs_show_corrects_what_is_expected_of_their_like() {
    let mut ledger = Ledger::default();
    ledger.note(Ladder::shown(0, 40.0), None);
    ledger.offer(Ladder::drafts(0, 0));
    // On paper 12 blocks are nearly enough; really they save half of that, which is not worth drawing on.
    let paper = |draft: &Draft| Ladder::drawn(draft, 1.7);
    let first = ledger.next(Ladder::ROOM_BYTES, &paper).expect("a set");
    assert_eq!(first.whole, Ladder::set(12, false));
    ledger.note(Ladder::shown(12, 29.8), Some(&first));
    let second = ledger.next(Ladder::ROOM_BYTES, &paper).expect("a set");
    assert_eq!(second.whole, Ladder::set(24, false), "18 blocks should save half as much as was drawn, too");
}

#[test]
fn what_fails_its_proof_is_not_chosen_again() {
    let mut ledger = Ledger::default();
    let first = ledger.note(Ladder::shown(0, 19.9), None);
    assert_eq!(ledger.cheapest_fitting(), Some(first));
    ledger.does_not_fit(first, Ladder::ROOM_BYTES);
    ledger.offer(Ladder::drafts(first, 0));
    assert_eq!(ledger.cheapest_fitting(), None);
    let paper = |draft: &Draft| Ladder::drawn(draft, 1.7) / 2;
    let next = ledger.next(Ladder::ROOM_BYTES / 100 * 98, &paper).expect("a set");
    assert_eq!(next.whole, Ladder::set(6, false));
}

#[test]
fn what_was_refused_is_not_offered_again() {
    let mut ledger = Ledger::default();
    ledger.note(Ladder::shown(0, 40.0), None);
    ledger.offer(Ladder::drafts(0, 0));
    ledger.refuse(["made_blocks".to_owned()]);
    let next = ledger.next(Ladder::ROOM_BYTES, &|draft| Ladder::drawn(draft, 1.0)).expect("a set");
    assert_eq!(next.whole, Ladder::set(0, true));
}

#[test]
fn a_search_that_comes_no_closer_is_given_up() {
    let mut ledger = Ledger::default();
    ledger.note(Ladder::shown(0, 40.0), None);
    // Remedies that have nothing in common, so that no run says anything about the others: on paper each of them fits.
    let draft = |at: usize| {
        let whole = vec![RemedyChoice::new(&format!("made_{at}"))];
        Draft { origin: 0, added: whole.clone(), whole, slowdown: 1.1 }
    };
    ledger.offer((0..RUNS_MAX).map(draft).collect());
    let paper = |_: &Draft| Ladder::ROOM_BYTES / 2;
    let mut runs = 0;
    while let Some(next) = ledger.next(Ladder::ROOM_BYTES, &paper) {
        // What runs really take stays where the first of them got to.
        let shown = Shown { choices: next.whole.clone(), ..Ladder::shown(6, 30.0 - 0.05 * runs as f64) };
        ledger.note(shown, Some(&next));
        runs += 1;
    }
    assert_eq!(runs, 1 + GIVEN_UP_RUNS);
}

#[test]
fn where_what_should_just_fit_does_not_something_stronger_is_tried_before_giving_up() {
    let mut ledger = Ledger::default();
    ledger.note(Ladder::shown(0, 40.0), None);
    let draft = |name: String, slowdown: f64| {
        let whole = vec![RemedyChoice::new(&name)];
        Draft { origin: 0, added: whole.clone(), whole, slowdown }
    };
    let mild = (0..RUNS_MAX).map(|at| draft(format!("made_mild_{at}"), 1.1));
    ledger.offer(mild.chain([draft("made_strong".into(), 2.0)]).collect());
    let paper = |draft: &Draft| {
        let is_strong = draft.whole[0].name == "made_strong";
        if is_strong { Ladder::ROOM_BYTES / 2 } else { Ladder::ROOM_BYTES / 100 * 99 }
    };
    for _ in 0..=STALLED_RUNS {
        let next = ledger.next(Ladder::ROOM_BYTES, &paper).expect("a set");
        assert_eq!(next.slowdown.to_bits(), 1.1_f64.to_bits(), "the cheapest that should fit");
        ledger.note(Shown { choices: next.whole.clone(), ..Ladder::shown(6, 24.5) }, Some(&next));
    }
    let last = ledger.next(Ladder::ROOM_BYTES, &paper).expect("a set");
    assert_eq!(last.whole[0].name, "made_strong");
}

#[test]
fn what_lies_idle_is_compared_only_where_what_is_live_has_room() {
    let gib = |gib: f64| whole(gib * f64::from(1 << 30));
    let shown = |peak: f64, needed: f64| Shown {
        peak_bytes: gib(peak),
        needed_bytes: gib(needed),
        fits: false,
        ..Ladder::shown(0, needed)
    };
    // Live 20.6 GiB have no room; 18 have, with so much between them that 28 or 22 are needed.
    let (too_large, scattered, less_scattered) = (shown(20.6, 20.6), shown(18.0, 28.0), shown(17.0, 22.0));
    assert!(scattered.is_closer_than(&too_large) && !too_large.is_closer_than(&scattered));
    assert!(less_scattered.is_closer_than(&scattered) && !scattered.is_closer_than(&less_scattered));
}
