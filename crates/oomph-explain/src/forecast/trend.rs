//! Whether a series rises steadily, and how fast.

/// Fewer points show nothing.
const POINTS_MIN: usize = 24;
/// How far beyond chance the order of the points must be, in standard deviations: one in a thousand million.
const BEYOND_CHANCE: f64 = 6.0;
/// A rise at one rate differs by less than this many percent between the first half of the time and the second.
const RATE_PERCENT_MAX: u64 = 160;

/// Bytes that every point adds to the one before, where that is beyond chance and goes on at one rate.
pub(crate) fn rise_per_point(points: &[u64]) -> Option<u64> {
    if points.len() < POINTS_MIN || order(points) < BEYOND_CHANCE {
        return None;
    }
    let third = points.len() / 3;
    let [first, middle, last] =
        [&points[..third], &points[third..points.len() - third], &points[points.len() - third..]].map(median);
    let (earlier, later) = (middle.checked_sub(first)?, last.checked_sub(middle)?);
    let is_one_rate = earlier.max(later).saturating_mul(100) <= earlier.min(later).saturating_mul(RATE_PERCENT_MAX);
    // From the middle of the first third to the middle of the last.
    let distance = (points.len() - third) as u64;
    is_one_rate.then(|| (last - first) / distance)
}

/// How much more often a later point lies above an earlier one than below it, in standard deviations of what chance
/// does (Mann and Kendall's test).
fn order(points: &[u64]) -> f64 {
    let mut score = 0_i64;
    for (at, earlier) in points.iter().enumerate() {
        for later in &points[at + 1..] {
            score += later.cmp(earlier) as i64;
        }
    }
    let count = points.len() as f64;
    score as f64 / (count * (count - 1.0) * (2.0 * count + 5.0) / 18.0).sqrt()
}

fn median(points: &[u64]) -> u64 {
    let mut sorted = points.to_vec();
    sorted.sort_unstable();
    u64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_rises_at_its_own_rate() {
        let line: Vec<u64> = (0..60).map(|at| 1000 + 7 * at).collect();
        assert_eq!(rise_per_point(&line), Some(7));
    }

    #[test]
    fn no_step_up_and_no_curve_that_flattens_is_steady() {
        let step_up: Vec<u64> = (0..60).map(|at| if at < 30 { 10 } else { 1000 }).collect();
        let flattens: Vec<u64> = (0..60).map(|at| 1000 - 1000 / (at + 1)).collect();
        let falls: Vec<u64> = (0..60).map(|at| 1000 - at).collect();
        assert_eq!([step_up, flattens, falls].map(|points| rise_per_point(&points)), [None; 3]);
    }
}
