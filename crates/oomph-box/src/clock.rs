//! Time stamps that cost a few nanoseconds: the processor's counter, with pairs of counter and clock to translate it.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::layout::word;
use crate::memory::Memory;

/// Events keep the counter without its lowest bits: some 20 ns a unit on a processor of 3 GHz.
pub(crate) const TICK_SHIFT: u32 = 6;

/// A pair is renewed after so many ticks: some 20 ms.
const RENEW_AFTER_TICKS: u64 = 1 << 26;

/// Long enough for a first estimate of the counter's rate.
const FIRST_ESTIMATE: Duration = Duration::from_micros(200);

/// The processor's counter: what time stamps are made of.
#[inline]
#[must_use]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and it touches no memory.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(target_arch = "aarch64")]
    {
        let value: u64;
        // SAFETY: Linux lets every process read the virtual counter; no memory is touched.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack, preserves_flags)) };
        return value;
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return now_us() * 1000;
}

/// Microseconds since 1970.
#[must_use]
pub(crate) fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

fn check(ticks: u64, us: u64) -> u64 {
    (ticks ^ us.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

/// Writes the first pair and, a moment later, the second.
pub(crate) fn start(memory: &Memory) {
    let began = Instant::now();
    memory.store(word::FIRST_CLOCK, ticks());
    memory.store(word::FIRST_CLOCK + 1, now_us());
    while began.elapsed() < FIRST_ESTIMATE {
        std::hint::spin_loop();
    }
    renew(memory, ticks());
}

/// Renews the second pair if it is old.
#[inline]
pub(crate) fn keep(memory: &Memory, ticks: u64) {
    if ticks.wrapping_sub(memory.load(word::LAST_CLOCK)) > RENEW_AFTER_TICKS {
        renew(memory, ticks);
    }
}

/// Two threads may do this at once: then the check fails until the next time.
#[cold]
fn renew(memory: &Memory, ticks: u64) {
    let us = now_us();
    if let Some([a, b, c]) = memory.record::<3>(word::LAST_CLOCK) {
        a.store(ticks, Relaxed);
        b.store(us, Relaxed);
        c.store(check(ticks, us), Relaxed);
    }
}

/// Translates ticks to microseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calibration {
    first_ticks: u64,
    first_us: u64,
    us_per_tick: f64,
}

impl Calibration {
    /// What the box's pairs say.
    pub(crate) fn of(memory: &Memory) -> Self {
        let first_ticks = memory.load(word::FIRST_CLOCK);
        let first_us = memory.load(word::FIRST_CLOCK + 1);
        let us_per_tick = last(memory)
            .filter(|&(ticks, us)| ticks > first_ticks && us > first_us)
            .map_or(0.0, |(ticks, us)| (us - first_us) as f64 / (ticks - first_ticks) as f64);
        Self { first_ticks, first_us, us_per_tick }
    }

    /// When an event with these shortened ticks happened.
    pub(crate) fn time_us(self, short_ticks: u64) -> u64 {
        let first = self.first_ticks >> TICK_SHIFT;
        let since = (short_ticks.wrapping_sub(first) & crate::event::TICKS_MASK) << TICK_SHIFT;
        // An event stamped just before the first pair was written.
        let before = since > crate::event::TICKS_MASK << (TICK_SHIFT - 1);
        let since = if before { 0 } else { since };
        self.first_us.saturating_add((since as f64 * self.us_per_tick) as u64)
    }
}

/// The second pair, unless it is being written each time this looks.
fn last(memory: &Memory) -> Option<(u64, u64)> {
    (0..100).find_map(|_| {
        let ticks = memory.load(word::LAST_CLOCK);
        let us = memory.load(word::LAST_CLOCK + 1);
        (memory.load(word::LAST_CLOCK + 2) == check(ticks, us)).then_some((ticks, us))
    })
}
