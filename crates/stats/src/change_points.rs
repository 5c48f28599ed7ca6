//! Where the level of a series changes: the best of all segmentations under the L2 cost and a
//! penalty for each change, as PELT finds it (Killick, Fearnhead, Eckley 2012). Its pruning saves
//! time only for series far longer than the few hundred bins of a run, so there is none (Jackson
//! and others 2005).

/// The first index of every segment but the first. Each change must lower the sum of squares by
/// more than `penalty`, and no segment is shorter than `least` values.
pub fn change_points(series: &[f64], penalty: f64, least: usize) -> Vec<usize> {
    best_cuts(&Cost::new(series), series.len(), penalty, least)
}

/// The same for values whose variances are known: squares are divided by them, so the penalty is
/// in units of one variance.
pub fn weighted_change_points(
    series: &[f64],
    variances: &[f64],
    penalty: f64,
    least: usize,
) -> Vec<usize> {
    best_cuts(&Cost::weighted(series, variances), series.len(), penalty, least)
}

fn best_cuts(cost: &Cost, length: usize, penalty: f64, least: usize) -> Vec<usize> {
    let least = least.max(1);
    // best[end]: the least cost of the series up to `end`; last[end]: where its last segment
    // starts.
    let mut best = vec![f64::INFINITY; length + 1];
    let mut last = vec![0; length + 1];
    best[0] = -penalty;
    for end in least..=length {
        for start in 0..=end - least {
            let total = best[start] + cost.of(start, end) + penalty;
            if total < best[end] {
                best[end] = total;
                last[end] = start;
            }
        }
    }
    let mut changes = Vec::new();
    let mut end = length;
    while end > 0 && last[end] > 0 {
        end = last[end];
        changes.push(end);
    }
    changes.reverse();
    changes
}

/// Sums of squares around the mean of any stretch, in constant time.
pub(crate) struct Cost {
    weights: Vec<f64>,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Cost {
    pub(crate) fn new(series: &[f64]) -> Cost {
        Cost::weighted(series, &vec![1.0; series.len()])
    }

    fn weighted(series: &[f64], variances: &[f64]) -> Cost {
        // Around the mean of all, so that little is lost to cancellation.
        let center = crate::estimate::mean(series);
        let running = |value: fn(f64) -> f64| {
            let mut sum = 0.0;
            let mut sums = vec![0.0];
            sums.extend(series.iter().zip(variances).map(|(x, variance)| {
                sum += value(x - center) / variance;
                sum
            }));
            sums
        };
        Cost { weights: running(|_| 1.0), sums: running(|x| x), squares: running(|x| x * x) }
    }

    /// Of the values from `start` to before `end`.
    pub(crate) fn of(&self, start: usize, end: usize) -> f64 {
        let within = |sums: &[f64]| sums[end] - sums[start];
        let sum = within(&self.sums);
        (within(&self.squares) - sum * sum / within(&self.weights)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::simulation::normals;

    fn levels(random: &mut Xoshiro256PlusPlus, levels: &[(usize, f64)]) -> Vec<f64> {
        levels
            .iter()
            .flat_map(|(count, level)| {
                normals(random, *count).into_iter().map(|x| x + *level).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn a_change_of_level_is_found_where_it_is() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
        let series = levels(&mut random, &[(40, 0.0), (30, 5.0), (50, -2.0)]);
        let found = change_points(&series, 3.0 * (120.0_f64).ln(), 2);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].abs_diff(40) <= 1 && found[1].abs_diff(70) <= 1, "{found:?}");
    }

    #[test]
    fn noise_alone_has_no_changes() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
        let wrong = (0..200)
            .filter(|_| {
                !change_points(&normals(&mut random, 120), 3.0 * 120.0_f64.ln(), 2).is_empty()
            })
            .count();
        assert!(wrong <= 10, "{wrong} of 200");
    }

    /// Every segmentation, one by one.
    fn best_by_enumeration(series: &[f64], penalty: f64, least: usize) -> f64 {
        let cost = Cost::new(series);
        (0..1u32 << (series.len() - 1))
            .filter_map(|cuts| {
                let mut bounds: Vec<usize> =
                    (1..series.len()).filter(|at| cuts >> (at - 1) & 1 == 1).collect();
                bounds.push(series.len());
                let mut start = 0;
                let mut total = 0.0;
                for end in bounds {
                    if end - start < least {
                        return None;
                    }
                    total += cost.of(start, end) + penalty;
                    start = end;
                }
                Some(total - penalty)
            })
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_segmentation_is_the_best_of_all() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(10);
        for (penalty, least) in [(1.0, 1), (2.0, 2), (0.5, 3)] {
            for _ in 0..20 {
                let series = normals(&mut random, 12);
                let cost = Cost::new(&series);
                let mut bounds = vec![0];
                bounds.extend(change_points(&series, penalty, least));
                bounds.push(12);
                let total: f64 =
                    bounds.windows(2).map(|pair| cost.of(pair[0], pair[1]) + penalty).sum();
                let best = best_by_enumeration(&series, penalty, least);
                assert!((total - penalty - best).abs() < 1e-9, "{bounds:?} {best}");
            }
        }
    }

    /// A value that is known four times as well counts as four values.
    #[test]
    fn a_value_weighs_as_much_as_it_is_known() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        for _ in 0..20 {
            let series = normals(&mut random, 12);
            let times = |at: &usize| if at.is_multiple_of(3) { 4 } else { 1 };
            let variances: Vec<f64> = (0..12).map(|at| 1.0 / times(&at) as f64).collect();
            let repeated = (0..12).flat_map(|at| vec![series[at]; times(&at)]);
            let long: Vec<f64> = repeated.collect();
            let places: Vec<usize> = weighted_change_points(&series, &variances, 1.5, 1)
                .into_iter()
                .map(|cut| (0..cut).map(|at| times(&at)).sum())
                .collect();
            // Equal values are never cut apart.
            assert_eq!(places, change_points(&long, 1.5, 1));
        }
        let series = [0.0, 0.0, 3.0];
        assert_eq!(weighted_change_points(&series, &[1.0; 3], 8.0, 1), []);
        assert_eq!(weighted_change_points(&series, &[1.0, 1.0, 0.01], 8.0, 1), [2]);
    }

    #[test]
    fn what_is_too_short_for_two_segments_has_no_change() {
        assert_eq!(change_points(&[], 1.0, 2), []);
        assert_eq!(change_points(&[1.0], 1.0, 2), []);
        assert_eq!(change_points(&[1.0, 9.0, 9.0], 1.0, 2), []);
        assert_eq!(change_points(&[1.0, 1.0, 9.0, 9.0], 1.0, 2), [2]);
    }

    #[test]
    fn a_step_counts_by_the_variances_of_its_values() {
        let changes = |values: &[f64], errors: &[f64]| {
            let variances: Vec<f64> = errors.iter().map(|error| error * error).collect();
            weighted_change_points(values, &variances, 6.0, 1)
        };
        let values = [0.0, 0.001, -0.03, -0.031, -0.029];
        assert_eq!(changes(&values, &[0.002; 5]), [2]);
        assert_eq!(changes(&values, &[0.05; 5]), []);
        // One far value alone is a level of its own only if it is known well.
        let values = [0.0, 0.0, -0.03, 0.0, 0.0];
        assert_eq!(changes(&values, &[0.002; 5]), [2, 3]);
        assert_eq!(changes(&values, &[0.002, 0.002, 0.05, 0.002, 0.002]), []);
        assert_eq!(changes(&[], &[]), []);
    }
}
