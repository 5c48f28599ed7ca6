//! Whether groups of observations have one mean, such as the rounds of several merged runs.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::estimate::{mean, variance};

/// The p-value of "all groups have the same mean", by the F test of a one-way analysis of variance
/// (Fisher 1925). Groups without a value are left out. None for fewer than two groups, or if none
/// has two values.
pub fn one_mean(groups: &[Vec<f64>]) -> Option<f64> {
    let groups: Vec<&Vec<f64>> = groups.iter().filter(|group| !group.is_empty()).collect();
    let all: Vec<f64> = groups.iter().copied().flatten().copied().collect();
    let (between, within) = (groups.len().checked_sub(1)?, all.len() - groups.len());
    if between == 0 || within == 0 {
        return None;
    }
    let overall = mean(&all);
    let squares_between: f64 =
        groups.iter().map(|group| group.len() as f64 * (mean(group) - overall).powi(2)).sum();
    let squares_within: f64 = groups
        .iter()
        .filter(|group| group.len() > 1)
        .map(|group| variance(group) * (group.len() - 1) as f64)
        .sum();
    if squares_within == 0.0 {
        return Some(if squares_between == 0.0 { 1.0 } else { 0.0 });
    }
    let ratio = squares_between / between as f64 / (squares_within / within as f64);
    let f = FisherSnedecor::new(between as f64, within as f64).ok()?;
    // Nothing is known of values that are none.
    (!ratio.is_nan()).then(|| f.sf(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student 1908, as in R's `t.test(extra ~ group, data = sleep, var.equal = TRUE)`: t = -1.8608
    /// on 18, p = .07919. Of two groups F is the square of t.
    #[test]
    fn two_groups_are_the_test_of_student() {
        let first = vec![0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = vec![1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let p = one_mean(&[first, second]).unwrap();
        assert!((p - 0.07919).abs() < 5e-6, "{p}");
    }

    /// R's data set `PlantGrowth` (Dobson 1983) and its `anova(lm(weight ~ group))`: F = 4.8461 on
    /// 2 and 27, p = .01591.
    #[test]
    fn three_groups_are_those_of_a_textbook() {
        let control = vec![4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14];
        let first = vec![4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69];
        let second = vec![6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26];
        let p = one_mean(&[control, first, second]).unwrap();
        assert!((p - 0.01591).abs() < 5e-6, "{p}");
    }

    #[test]
    fn what_has_no_spread_is_taken_at_its_word_and_too_little_tells_nothing() {
        assert_eq!(one_mean(&[vec![1.0, 1.0], vec![1.0]]), Some(1.0));
        assert_eq!(one_mean(&[vec![1.0, 1.0], vec![2.0]]), Some(0.0));
        assert_eq!(one_mean(&[vec![1.0], vec![2.0]]), None);
        assert_eq!(one_mean(&[vec![1.0, 2.0], Vec::new()]), None);
        assert_eq!(one_mean(&[]), None);
    }
}
