//! The sentences of an account, the same in text and JSON.

use std::fmt::Write as _;

use oomph_explain::bytes::show;

use super::{Account, End, Promised, Share, StepTime};
use crate::numbers::grouped;

/// How the job ended and what it took, in one sentence.
pub(super) fn summary(account: &Account) -> String {
    let mut text = ended(account);
    if let Some(share) = account.main_share() {
        let when = moment(account).map_or_else(String::new, |moment| format!(" {moment}"));
        let [allocated, reserved, total] = [share.allocated_bytes, share.reserved_bytes, share.total_bytes].map(show);
        let _ = write!(text, "; at most {allocated} allocated{when}, {reserved} reserved of {total}");
    }
    text + "."
}

fn ended(account: &Account) -> String {
    let how = match account.end {
        End::Code(0) => "ran to its end".to_owned(),
        End::Code(code) => format!("ended with exit code {code}"),
        End::Signal(signal) => format!("was ended by signal {signal}{}", signal_name(signal)),
    };
    format!("{} {how} after {}", account.job, duration(account.seconds))
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        2 => " (SIGINT)",
        6 => " (SIGABRT)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

/// `42 s`, `3 min 5 s`, `2 h 10 min`.
fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", grouped(seconds / 3600), seconds % 3600 / 60),
    }
}

/// Where in the job the moment lies that the tables describe.
pub(super) fn moment(account: &Account) -> Option<String> {
    let phase = &account.explained.as_ref()?.phase;
    Some(match (phase.step, phase.name) {
        (_, "evaluation") => "in evaluation".to_owned(),
        (0, _) => "before the first step".to_owned(),
        (step, "optimizer") => format!("in the optimizer step {}", grouped(step.into())),
        (step, name) => format!("in the {name} pass of step {}", grouped(step.into())),
    })
}

/// What a process is called where there are several.
pub(super) fn name(share: &Share) -> String {
    match share.rank {
        Some(rank) => format!("rank {rank} on cuda:{}", share.device),
        None => format!("process {} on cuda:{}", share.pid, share.device),
    }
}

/// Retries and failed requests, if there were any.
pub(super) fn trouble(share: &Share) -> Option<String> {
    let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{} times", grouped(count)) };
    let caught = share.ooms - u64::from(share.ran_out).min(share.ooms);
    let mut said = Vec::new();
    if share.retries > 0 {
        said.push(format!("PyTorch gave its cache back to the driver {} to serve a request", times(share.retries)));
    }
    if caught > 0 {
        said.push(format!("a request failed {} and the failure was caught", times(caught)));
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// What the plan had promised, and by how much it was off.
pub(super) fn compared(promised: &Promised, share: &Share) -> String {
    let peaks = &promised.peaks;
    if !promised.fits {
        let came = if share.ran_out { "and it did not" } else { "but it ran" };
        return format!("the plan said that it does not fit the {}, {came}", promised.card);
    }
    format!(
        "the plan for {} promised {} allocated ({}) and {} reserved ({})",
        promised.card,
        show(peaks.allocated_bytes),
        off(peaks.allocated_bytes, share.allocated_bytes),
        show(peaks.reserved_bytes),
        off(peaks.reserved_bytes, share.reserved_bytes)
    )
}

/// How the time of a step compares with what was promised; none where nothing was.
pub(super) fn step_time(step: &StepTime) -> Option<String> {
    let took = milliseconds(step.median_us);
    let promised = f64::from(step.promised_percent?) / 100.0;
    Some(match step.plain_us.zip(step.slowdown()) {
        Some((plain_us, slowdown)) => format!(
            "a step took {took}, {slowdown:.2} times the {} of the last run without remedies ({promised:.2} times was promised)",
            milliseconds(plain_us)
        ),
        None => format!(
            "a step took {took}; {promised:.2} times the time without remedies was promised, of which no run is known"
        ),
    })
}

fn milliseconds(us: u64) -> String {
    let digits = usize::from(us < 100_000);
    format!("{:.digits$} ms", us as f64 / 1000.0)
}

/// How much more or less something is than what was promised.
fn off(promised_bytes: u64, real_bytes: u64) -> String {
    if promised_bytes == real_bytes {
        return "exactly so".to_owned();
    }
    let percent = 100.0 * promised_bytes.abs_diff(real_bytes) as f64 / promised_bytes.max(1) as f64;
    let word = if real_bytes > promised_bytes { "more" } else { "less" };
    if percent < 0.05 { format!("less than 0.1% {word}") } else { format!("really {percent:.1}% {word}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        assert_eq!([duration(0), duration(61), duration(7860)], ["0 s", "1 min 1 s", "2 h 11 min"]);
    }

    #[test]
    fn how_far_off_a_promise_was() {
        assert_eq!(
            [off(1000, 1000), off(1000, 1100), off(1000, 995)],
            ["exactly so", "really 10.0% more", "really 0.5% less"]
        );
        assert_eq!(off(1_000_000, 1_000_001), "less than 0.1% more");
        assert!(off(0, 5).ends_with("more"));
    }

    #[test]
    fn caught_failures_are_told_apart_from_the_last() {
        let share = Share { ooms: 3, ran_out: true, ..Share::default() };
        assert_eq!(trouble(&share).as_deref(), Some("a request failed 2 times and the failure was caught"));
        assert_eq!(trouble(&Share { ooms: 1, ran_out: true, ..Share::default() }), None);
        let share = Share { retries: 1, ..Share::default() };
        assert_eq!(
            trouble(&share).as_deref(),
            Some("PyTorch gave its cache back to the driver once to serve a request")
        );
    }
}
