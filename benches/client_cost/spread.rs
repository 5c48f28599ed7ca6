//! Summaries of several rounds.

/// Median, lowest and highest of some figures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    low: f64,
    high: f64,
    count: usize,
}

impl Spread {
    /// `figures` are not empty.
    pub(crate) fn of(figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = |index: usize| sorted[index];
        let count = sorted.len();
        let median = (middle((count - 1) / 2) + middle(count / 2)) / 2.0;
        Spread { median, low: sorted[0], high: sorted[count - 1], count }
    }

    /// The ratios of the figures of one client to those of another; none where the other has
    /// zeroes.
    pub(crate) fn of_ratios(one: &[f64], other: &[f64]) -> Option<Self> {
        let ratios: Vec<f64> = one.iter().zip(other).map(|(one, other)| one / other).collect();
        ratios.iter().all(|ratio| ratio.is_finite()).then(|| Spread::of(&ratios))
    }

    pub(crate) fn show(&self, decimals: usize) -> String {
        let Spread { median, low, high, count } = self;
        match count {
            1 => format!("{median:.decimals$}"),
            _ => format!("{median:.decimals$} ({low:.decimals$}–{high:.decimals$})"),
        }
    }
}
