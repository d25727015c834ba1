//! The one place where a count becomes text.

/// A number with its digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number that is not known exactly: its first two digits.
pub(crate) fn about(number: u64) -> u64 {
    let scale = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(1));
    number / scale * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([grouped(7), grouped(1250), grouped(1_234_567)], ["7", "1,250", "1,234,567"]);
    }

    #[test]
    fn what_is_not_known_exactly_is_not_shown_so() {
        assert_eq!(
            [about(0), about(7), about(99), about(1250), about(u64::MAX)],
            [0, 7, 99, 1200, 18 * 10_u64.pow(18)]
        );
    }
}
