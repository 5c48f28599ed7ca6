//! Which cells of a table stand out: the colour rules of the summary tables and of the
//! `max` column of the histogram tables.

/// Low values span the bottom quarter of a column's range, high ones the top quarter.
const QUARTER: f64 = 0.25;
/// A column whose smallest value is at least this share of its largest has no bad values.
const CLOSE: f64 = 0.8;
/// Whole percent of the baseline above which a relative value is faster, and below which slower.
const FASTER_ABOVE: f64 = 105.0;
const SLOWER_BELOW: f64 = 95.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// The good quarter of the range; green.
    Good,
    /// The bad quarter of the range; red.
    Bad,
    /// Not to be compared, since the step did not sustain its write rate; grey.
    Ignored,
    Plain,
}

/// One cell of a throughput column: whole operations per second, and whether the step kept its
/// promised write rate (always true where nothing is promised).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throughput {
    pub rate: u64,
    pub sustained: bool,
}

/// The bands of one column of the table of absolute throughput.
///
/// Over min = smallest rate of all and max = largest rate that was sustained, with a quarter of
/// their distance rounded down, the first that holds: rate ≤ min + quarter → bad; not sustained →
/// ignored; rate ≥ max − quarter → good. Nothing is bad when min ≥ 0.8 max.
///
/// The original calls everything good when all values are equal, a single row too. Here a column
/// without a range has no good or bad values.
pub fn throughput(column: &[Throughput]) -> Vec<Band> {
    let min = column.iter().map(|cell| cell.rate).min();
    let max = column.iter().filter(|cell| cell.sustained).map(|cell| cell.rate).max();
    let range = min.zip(max).filter(|(min, max)| min < max).map(Range::new);
    column
        .iter()
        .map(|cell| match range {
            Some(range) if !range.is_close && cell.rate <= range.bottom => Band::Bad,
            _ if !cell.sustained => Band::Ignored,
            Some(range) if cell.rate >= range.top => Band::Good,
            _ => Band::Plain,
        })
        .collect()
}

/// The bands of the `max` column of a histogram table, in whole milliseconds: the top quarter of
/// the range is bad, the bottom quarter good.
///
/// The original suppresses the good cells when all values are close and keeps the bad ones,
/// contrary to its own text; here nothing is bad when min ≥ 0.8 max.
pub fn longest_response(milliseconds: &[u64]) -> Vec<Band> {
    let min = milliseconds.iter().min().copied();
    let max = milliseconds.iter().max().copied();
    let range = min.zip(max).filter(|(min, max)| min < max).map(Range::new);
    milliseconds
        .iter()
        .map(|&value| match range {
            Some(range) if !range.is_close && value >= range.top => Band::Bad,
            Some(range) if value <= range.bottom => Band::Good,
            _ => Band::Plain,
        })
        .collect()
}

#[derive(Clone, Copy)]
struct Range {
    bottom: u64,
    top: u64,
    is_close: bool,
}

impl Range {
    fn new((min, max): (u64, u64)) -> Self {
        let quarter = (QUARTER * (max - min) as f64).floor() as u64;
        let is_close = min as f64 >= CLOSE * max as f64;
        Range { bottom: min + quarter, top: max - quarter, is_close }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relative {
    /// More than 1.05 of the baseline; blue.
    Faster,
    /// Less than 0.95 of the baseline; yellow.
    Slower,
    Same,
}

/// `value` as a share of `base`; none if the baseline did nothing.
pub fn relative(value: f64, base: f64) -> Option<f64> {
    (base > 0.0).then(|| value / base)
}

/// How a share of the baseline is marked in the tables of the microbenchmarks, where 1.05 and 0.95
/// themselves, as printed, are marked.
pub fn published_band(share: f64) -> Relative {
    match (share * 100.0).round() {
        percent if percent >= FASTER_ABOVE => Relative::Faster,
        percent if percent <= SLOWER_BELOW => Relative::Slower,
        _ => Relative::Same,
    }
}

/// The colour of a share of the baseline. The whole percent is compared, as it is printed: 1.05 and
/// 0.95 themselves count as the same.
pub fn relative_band(share: f64) -> Relative {
    match (share * 100.0).round() {
        percent if percent > FASTER_ABOVE => Relative::Faster,
        percent if percent < SLOWER_BELOW => Relative::Slower,
        _ => Relative::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sustained(rates: &[u64]) -> Vec<Throughput> {
        rates.iter().map(|&rate| Throughput { rate, sustained: true }).collect()
    }

    #[test]
    fn a_failed_sla_is_ignored_but_bad_comes_first() {
        let mut column = sustained(&[100, 800, 1000, 990]);
        column[0].sustained = false;
        column[3].sustained = false;
        assert_eq!(throughput(&column), [Band::Bad, Band::Good, Band::Good, Band::Ignored]);
    }

    #[test]
    fn the_largest_value_counts_only_if_it_was_sustained() {
        let mut column = sustained(&[100, 150, 10_000]);
        column[2].sustained = false;
        assert_eq!(throughput(&column), [Band::Bad, Band::Good, Band::Ignored]);
    }

    #[test]
    fn values_within_80_percent_have_no_bad_ones() {
        assert_eq!(throughput(&sustained(&[80, 100])), [Band::Plain, Band::Good]);
        assert_eq!(throughput(&sustained(&[79, 100])), [Band::Bad, Band::Good]);
    }

    #[test]
    fn a_column_without_a_range_has_no_bands() {
        assert_eq!(throughput(&sustained(&[0, 0])), [Band::Plain; 2]);
        assert_eq!(throughput(&sustained(&[7])), [Band::Plain]);
        assert_eq!(throughput(&[Throughput { rate: 7, sustained: false }]), [Band::Ignored]);
        assert_eq!(throughput(&[]), []);
        assert_eq!(longest_response(&[5]), [Band::Plain]);
        assert_eq!(longest_response(&[0, 0, 0]), [Band::Plain; 3]);
    }

    #[test]
    fn a_long_response_is_bad_and_a_short_one_good() {
        let bands = longest_response(&[100, 175, 300, 325, 400]);
        assert_eq!(bands, [Band::Good, Band::Good, Band::Plain, Band::Bad, Band::Bad]);
    }

    #[test]
    fn relative_values_are_judged_as_printed() {
        for (share, band) in [
            (1.054, Relative::Same),
            (1.056, Relative::Faster),
            (0.946, Relative::Same),
            (0.944, Relative::Slower),
            (1.0, Relative::Same),
        ] {
            assert_eq!(relative_band(share), band, "{share}");
        }
        assert_eq!(relative(5.0, 0.0), None);
        for (share, band) in [
            (1.044, Relative::Same),
            (1.046, Relative::Faster),
            (0.956, Relative::Same),
            (0.954, Relative::Slower),
        ] {
            assert_eq!(published_band(share), band, "{share}");
        }
    }
}
