//! The one place where a number of bytes becomes text.

const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// A size as oomph shows it: `512B`, `1.50MiB`, `24.00GiB`.
#[must_use]
pub fn show(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = 0;
    // 1023.996 would print as 1024.00, which is the next unit's 1.00.
    while value >= 1023.995 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes}B") } else { format!("{value:.2}{}", UNITS[unit]) }
}

/// A share of a whole as a percentage: `42%`, `<1%`.
#[must_use]
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 || part == 0 {
        return "0%".to_owned();
    }
    let share = 100.0 * part as f64 / whole as f64;
    if share < 1.0 { "<1%".to_owned() } else { format!("{share:.0}%") }
}

#[cfg(test)]
mod tests {
    use super::{percent, show};

    #[test]
    fn sizes_read_well_at_every_scale() {
        let shown: Vec<String> =
            [0, 511, 1000, 1024, 1536 << 10, 1023 << 20, 24 << 30, u64::MAX].into_iter().map(show).collect();
        assert_eq!(shown, ["0B", "511B", "1000B", "1.00KiB", "1.50MiB", "1023.00MiB", "24.00GiB", "16777216.00TiB"]);
    }

    #[test]
    fn shares_never_hide_a_small_part() {
        assert_eq!([percent(0, 9), percent(1, 1000), percent(1, 2)], ["0%", "<1%", "50%"]);
    }
}
