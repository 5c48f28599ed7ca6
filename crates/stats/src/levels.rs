//! Steps between values whose errors are known and differ, such as releases that are compared with
//! one baseline: the best of all segmentations under the weighted sum of squares.

/// The places at which a new level begins. Each must lower the weighted sum of squares by more than
/// `penalty`; levels may have a single value.
pub fn level_changes(values: &[f64], errors: &[f64], penalty: f64) -> Vec<usize> {
    let weights = errors.iter().map(|error| 1.0 / (error * error).max(f64::MIN_POSITIVE));
    let mut sums = vec![(0.0, 0.0, 0.0)];
    for (value, weight) in values.iter().zip(weights) {
        let (w, x, xx) = sums[sums.len() - 1];
        sums.push((w + weight, x + weight * value, xx + weight * value * value));
    }
    let cost = |from: usize, to: usize| {
        let [a, b] = [sums[from], sums[to]];
        let (w, x, xx) = (b.0 - a.0, b.1 - a.1, b.2 - a.2);
        (xx - x * x / w).max(0.0)
    };
    // By end: the least cost up to there, and the place at which its last level begins.
    let mut best = vec![(-penalty, 0)];
    for end in 1..=values.len() {
        let totals = (0..end).map(|from| (best[from].0 + cost(from, end) + penalty, from));
        best.extend(totals.min_by(|a, b| a.0.total_cmp(&b.0)));
    }
    let mut changes = Vec::new();
    let mut end = values.len();
    while end > 0 && best[end].1 > 0 {
        end = best[end].1;
        changes.push(end);
    }
    changes.reverse();
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_counts_by_the_errors_of_its_values() {
        let values = [0.0, 0.001, -0.03, -0.031, -0.029];
        assert_eq!(level_changes(&values, &[0.002; 5], 6.0), [2]);
        assert_eq!(level_changes(&values, &[0.05; 5], 6.0), []);
        // One far value alone is a level of its own only if it is known well.
        let values = [0.0, 0.0, -0.03, 0.0, 0.0];
        assert_eq!(level_changes(&values, &[0.002; 5], 6.0), [2, 3]);
        assert_eq!(level_changes(&values, &[0.002, 0.002, 0.05, 0.002, 0.002], 6.0), []);
    }

    #[test]
    fn nothing_has_no_step() {
        assert_eq!(level_changes(&[], &[], 6.0), []);
        assert_eq!(level_changes(&[1.0], &[0.1], 6.0), []);
    }
}
