//! Where more clients stop helping: the universal scalability law (Gunther 2007).

/// The rate of a number of clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub clients: f64,
    /// Operations per second.
    pub rate: f64,
}

/// rate(N) = l·N / (1 + s·(N − 1) + k·N·(N − 1)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// l: operations per second of one client.
    pub single: f64,
    /// s ≥ 0: the share of an operation's time in which it must be alone.
    pub contention: f64,
    /// k ≥ 0: the share that each pair of clients costs, in keeping their caches coherent.
    pub coherency: f64,
}

impl Law {
    /// The rate of `clients` clients.
    pub fn rate(&self, clients: f64) -> f64 {
        let others = clients - 1.0;
        self.single * clients / (1.0 + self.contention * others + self.coherency * clients * others)
    }

    /// The number of clients beyond which the rate falls: sqrt((1 − s) / k). None where it does
    /// not.
    pub fn knee(&self) -> Option<f64> {
        (self.coherency > 0.0 && self.contention < 1.0)
            .then(|| ((1.0 - self.contention) / self.coherency).sqrt())
    }

    /// The law that fits best, with s and k not negative; by the squares of the relative
    /// residuals of N / rate, since noise is a share of the rate. None for fewer than three numbers
    /// of clients, or rates that are not positive.
    ///
    /// N / rate = (1 + s·(N − 1) + k·N·(N − 1)) / l is linear in 1/l, s/l and k/l. A limit that the
    /// best fit would cross holds in the best fit that does not, so each set of limits is tried.
    pub fn fit(points: &[Point]) -> Option<Law> {
        let mut clients: Vec<f64> = points.iter().map(|point| point.clients).collect();
        clients.sort_by(f64::total_cmp);
        clients.dedup();
        let is_valid = |point: &Point| point.clients >= 1.0 && point.rate > 0.0;
        if clients.len() < 3 || !points.iter().all(is_valid) {
            return None;
        }
        const FREE: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[0]];
        FREE.iter()
            .filter_map(|free| solve(points, free))
            .filter(|solution| solution[0] > 0.0 && solution.iter().all(|value| *value >= 0.0))
            .min_by(|left, right| error(points, left).total_cmp(&error(points, right)))
            .map(|[time, contention, coherency]| Law {
                single: 1.0 / time,
                contention: contention / time,
                coherency: coherency / time,
            })
    }
}

/// The bounds of the rate with the most clients over that with the fewest, by which the posts (with
/// 48 clients and one) sort tests: more than 40, 30 to 40, 20 to 30, 10 to 20, and less.
const PUBLISHED_BOUNDS: [f64; 4] = [40.0, 30.0, 20.0, 10.0];
const PUBLISHED_CLIENTS: f64 = 48.0;

/// The posts' lower bounds, scaled to `ideal` times as many clients, the highest first.
pub fn bounds(ideal: f64) -> [f64; 4] {
    PUBLISHED_BOUNDS.map(|bound| bound * ideal / PUBLISHED_CLIENTS)
}

/// Which of the five buckets that the bounds make, counted from 0; a bound belongs to the higher.
pub fn bucket(relative: f64, ideal: f64) -> usize {
    bounds(ideal).iter().filter(|bound| relative < **bound).count()
}

/// The coefficients of 1/l, s/l and k/l in N / rate, times rate / N, so that the right side is 1.
fn row(point: &Point) -> [f64; 3] {
    let others = point.clients - 1.0;
    [1.0, others, point.clients * others].map(|term| term * point.rate / point.clients)
}

fn error(points: &[Point], solution: &[f64; 3]) -> f64 {
    let residual = |point: &Point| -> f64 {
        row(point).iter().zip(solution).map(|(term, value)| term * value).sum::<f64>() - 1.0
    };
    points.iter().map(|point| residual(point).powi(2)).sum()
}

/// Least squares in the `free` coefficients, the others being zero: the normal equations by
/// elimination with pivoting. None where they have no single solution.
fn solve(points: &[Point], free: &[usize]) -> Option<[f64; 3]> {
    let size = free.len();
    let mut system = vec![vec![0.0; size + 1]; size];
    for row in points.iter().map(row) {
        for (equation, left) in system.iter_mut().zip(free) {
            for (cell, right) in equation.iter_mut().zip(free) {
                *cell += row[*left] * row[*right];
            }
            equation[size] += row[*left];
        }
    }
    for column in 0..size {
        let pivot = (column..size).max_by(|left, right| {
            system[*left][column].abs().total_cmp(&system[*right][column].abs())
        })?;
        system.swap(column, pivot);
        let head = system[column].clone();
        if head[column] == 0.0 {
            return None;
        }
        for (index, equation) in system.iter_mut().enumerate() {
            if index != column {
                let factor = equation[column] / head[column];
                equation.iter_mut().zip(&head).for_each(|(cell, above)| *cell -= factor * above);
            }
        }
    }
    let mut solution = [0.0; 3];
    for (index, coefficient) in free.iter().enumerate() {
        solution[*coefficient] = system[index][size] / system[index][index];
    }
    solution.iter().all(|value| value.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENTS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 48.0];

    fn points(law: &Law) -> Vec<Point> {
        CLIENTS.map(|clients| Point { clients, rate: law.rate(clients) }).to_vec()
    }

    #[test]
    fn a_law_without_noise_is_found_again() {
        for (contention, coherency) in [(0.05, 0.001), (0.0, 0.002), (0.1, 0.0), (0.0, 0.0)] {
            let law = Law { single: 1000.0, contention, coherency };
            let found = Law::fit(&points(&law)).unwrap();
            assert!((found.single / 1000.0 - 1.0).abs() < 1e-6, "{found:?}");
            assert!((found.contention - contention).abs() < 1e-8, "{found:?}");
            assert!((found.coherency - coherency).abs() < 1e-8, "{found:?}");
        }
    }

    #[test]
    fn the_rate_is_highest_at_the_knee() {
        let law = Law { single: 1000.0, contention: 0.05, coherency: 0.0066 };
        let knee = law.knee().unwrap();
        assert!((knee - (0.95_f64 / 0.0066).sqrt()).abs() < 1e-12);
        assert!(law.rate(knee) > law.rate(knee * 1.05) && law.rate(knee) > law.rate(knee / 1.05));
        assert_eq!(Law { coherency: 0.0, ..law }.knee(), None);
    }

    #[test]
    fn better_than_linear_is_a_law_without_losses() {
        let rates = [1000.0, 2100.0, 4400.0, 9000.0];
        let points: Vec<Point> =
            CLIENTS.into_iter().zip(rates).map(|(clients, rate)| Point { clients, rate }).collect();
        let law = Law::fit(&points).unwrap();
        assert_eq!((law.contention, law.coherency), (0.0, 0.0));
        assert!((1000.0..1130.0).contains(&law.single), "{law:?}");
    }

    #[test]
    fn buckets_are_those_published_for_48_clients_and_in_proportion_for_others() {
        let of_48: Vec<usize> = [41.0, 40.0, 35.0, 20.0, 19.9, 9.0].map(|r| bucket(r, 48.0)).into();
        assert_eq!(of_48, [0, 0, 1, 2, 3, 4]);
        assert_eq!(bounds(24.0), [20.0, 15.0, 10.0, 5.0]);
        assert_eq!([3.9, 2.6, 0.7].map(|relative| bucket(relative, 4.0)), [0, 1, 4]);
    }

    #[test]
    fn two_numbers_of_clients_are_no_law() {
        let point = |clients, rate| Point { clients, rate };
        assert_eq!(Law::fit(&[point(1.0, 1e3), point(2.0, 2e3), point(2.0, 1.9e3)]), None);
        assert_eq!(Law::fit(&[point(1.0, 1e3), point(2.0, 2e3), point(4.0, 0.0)]), None);
    }
}
