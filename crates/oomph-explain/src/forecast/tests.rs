//! Forecasts against jobs that are played to their end.

use proptest::prelude::*;

use super::*;

const MIB: u64 = 1 << 20;

/// A job whose lows are known: what it always holds, what a batch leaves behind, what every step keeps.
#[derive(Clone, Copy, Debug)]
struct Job {
    base_bytes: u64,
    ragged_bytes: u64,
    kept_bytes: u64,
    leak_from_step: u64,
    seed: u64,
}

impl Job {
    fn low_bytes(&self, step: u64) -> u64 {
        let ragged = noise(self.seed, step) % self.ragged_bytes.max(1);
        self.base_bytes + ragged + self.kept_bytes * step.saturating_sub(self.leak_from_step)
    }

    /// The slow way: goes on step by step until nothing more fits.
    fn steps_until_full(&self, from_step: u64, capacity_bytes: u64) -> u64 {
        (from_step..1_000_000).find(|&step| self.low_bytes(step) > capacity_bytes).map_or(0, |step| step - from_step)
    }

    /// The forecast after so many steps.
    fn forecast_after(&self, steps: u64, capacity_bytes: u64) -> Option<Forecast> {
        let mut lows = Lows::default();
        (0..=steps).for_each(|step| lows.note(step, self.low_bytes(step)));
        lows.forecast(capacity_bytes.saturating_sub(self.low_bytes(steps)))
    }

    /// The first forecast of its first steps, with the step it was made in; room is counted from what is held then.
    fn first_forecast(&self, steps: u64, capacity_bytes: u64) -> Option<(u64, Forecast)> {
        let mut lows = Lows::default();
        for step in 0..steps {
            lows.note(step, self.low_bytes(step) + 5 * MIB);
            lows.note(step, self.low_bytes(step));
            let room_bytes = capacity_bytes.saturating_sub(self.low_bytes(step));
            if let Some(forecast) = lows.forecast(room_bytes) {
                return Some((step, forecast));
            }
        }
        None
    }
}

/// Numbers without order (splitmix64).
fn noise(seed: u64, at: u64) -> u64 {
    let mut x = seed.wrapping_add(at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ragged_healthy_jobs_raise_no_alarm(
        seed in any::<u64>(), ragged_mib in 0_u64..8000, base_mib in 1_u64..60_000, steps in 50_u64..700,
    ) {
        let (base_bytes, ragged_bytes) = (base_mib * MIB, ragged_mib * MIB);
        let job = Job { base_bytes, ragged_bytes, kept_bytes: 0, leak_from_step: 0, seed };
        prop_assert_eq!(job.first_forecast(steps, 80_000 * MIB), None);
    }

    #[test]
    fn leaks_are_told_of_in_time_and_about_right(
        seed in any::<u64>(), kept_mib in 1_u64..50, ragged_mib in 0_u64..40, leak_from_step in 0_u64..100,
    ) {
        let job = Job {
            base_bytes: 2000 * MIB, ragged_bytes: ragged_mib * MIB, kept_bytes: kept_mib * MIB, leak_from_step, seed,
        };
        let capacity_bytes = 2100 * MIB + 500 * kept_mib * MIB;
        let told = job.first_forecast(500, capacity_bytes);
        prop_assert!(told.is_some(), "nothing was told of {:?}", job);
        if let Some((step, forecast)) = told {
            // Noise as large as some steps' leak takes some more steps to see through.
            let patience = 40 + 4 * ragged_mib / kept_mib;
            prop_assert!(step <= leak_from_step + patience, "told in step {step}: {job:?}");
            let truth = job.steps_until_full(step, capacity_bytes) as f64;
            let ratio = forecast.steps_left as f64 / truth;
            prop_assert!((0.4..2.5).contains(&ratio), "{forecast:?}, really {truth}: {job:?}");
            let later_step = leak_from_step + 250;
            let truth = job.steps_until_full(later_step, capacity_bytes) as f64;
            let later = job.forecast_after(later_step, capacity_bytes);
            let ratio = later.map_or(0.0, |forecast| forecast.steps_left as f64 / truth);
            prop_assert!((0.6..1.6).contains(&ratio), "{later:?}, really {truth} in step {later_step}: {job:?}");
        }
    }
}

#[test]
fn a_leak_without_noise_is_told_of_within_30_steps() {
    let job = Job { base_bytes: 1 << 30, ragged_bytes: 0, kept_bytes: MIB, leak_from_step: 0, seed: 0 };
    let (step, forecast) = job.first_forecast(100, 2 << 30).expect("told");
    assert!(step <= 30, "{step}");
    assert_eq!(forecast.bytes_per_step, MIB);
    assert!((990..=1000).contains(&forecast.steps_left), "{forecast:?}");
}

#[test]
fn a_cache_that_fills_is_no_leak_once_it_is_full() {
    let mut lows = Lows::default();
    for step in 0..400 {
        lows.note(step, (1 << 30) + 10 * MIB * step.min(40));
    }
    assert_eq!(lows.forecast(1 << 30), None);
}

#[test]
fn evaluation_every_now_and_then_changes_nothing() {
    let mut lows = Lows::default();
    for step in 0..1000 {
        let extra = if step % 50 == 49 { 700 * MIB } else { 0 };
        lows.note(step, (1 << 30) + extra);
        assert_eq!(lows.forecast(1 << 30), None, "step {step}");
    }
}

#[test]
fn a_slow_leak_is_seen_in_a_long_history() {
    let job = Job { base_bytes: 8 << 30, ragged_bytes: 300 * MIB, kept_bytes: MIB, leak_from_step: 0, seed: 7 };
    let (step, forecast) = job.first_forecast(6000, 80 << 30).expect("told");
    assert!(step < 2000, "{step}");
    let truth = job.steps_until_full(step, 80 << 30);
    assert!(forecast.steps_left.abs_diff(truth) < truth / 3, "{forecast:?} {truth}");
}

#[test]
fn nothing_is_said_of_a_future_too_far_away() {
    let job = Job { base_bytes: 1 << 30, ragged_bytes: 0, kept_bytes: 512, leak_from_step: 0, seed: 0 };
    assert_eq!(job.first_forecast(500, 80 << 30), None);
}
