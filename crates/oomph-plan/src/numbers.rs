//! Numbers that are rounded where only whole ones will do.

/// The whole part of a number; 0 for less.
#[expect(clippy::cast_sign_loss, reason = "it is not negative")]
pub(crate) fn whole(number: f64) -> u64 {
    number.max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_whole_number_is_cut() {
        assert_eq!([whole(2.9), whole(-3.0), whole(f64::NAN)], [2, 0, 0]);
    }
}
