//! The service times of the transactions by their kind.

use std::sync::{Mutex, PoisonError};

use hdrhistogram::Histogram;

use super::statements::TransactionKind;

/// Percentiles that are told, and their names.
const TOLD: [(f64, &str); 3] = [(0.5, "median"), (0.95, "95 %"), (0.99, "99 %")];

/// Nanoseconds of all clients, in the order of [`TransactionKind::ALL`].
pub(super) struct TransactionTimes(Mutex<[Histogram<u64>; 5]>);

impl Default for TransactionTimes {
    fn default() -> Self {
        TransactionTimes(Mutex::new(empty()))
    }
}

fn empty() -> [Histogram<u64>; 5] {
    // 1 µs to 1 h, with two digits.
    let histogram = Histogram::new_with_bounds(1_000, 3_600_000_000_000, 2);
    let histogram = histogram.expect("the bounds are in order");
    std::array::from_fn(|_| histogram.clone())
}

impl TransactionTimes {
    pub(super) fn record(&self, kind: TransactionKind, nanos: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all[kind as usize].saturating_record(nanos);
    }

    pub(super) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = empty();
    }

    /// `service times in ms (median, 95 %, 99 %): new-order 1.20, 2.10, 3.40; …`; none if there are
    /// no transactions.
    pub(super) fn told(&self) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |kind: TransactionKind| {
            let times = Some(&all[kind as usize]).filter(|times| !times.is_empty())?;
            let told = TOLD.map(|(share, _)| times.value_at_quantile(share) as f64 / 1e6);
            let told = told.map(|millis| format!("{millis:.2}")).join(", ");
            Some(format!("{} {told}", kind.name()))
        };
        let kinds: Vec<String> = TransactionKind::ALL.into_iter().filter_map(of).collect();
        let names = TOLD.map(|(_, name)| name).join(", ");
        (!kinds.is_empty()).then(|| format!("service times in ms ({names}): {}", kinds.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_by_kind_and_without_the_warm_up() {
        let times = TransactionTimes::default();
        assert_eq!(times.told(), None);
        times.record(TransactionKind::Payment, 90_000_000);
        times.forget();
        (1..=100).for_each(|millis| times.record(TransactionKind::Delivery, millis * 1_000_000));
        times.record(TransactionKind::NewOrder, 2_000_000);
        let told = times.told().unwrap();
        let names = "service times in ms (median, 95 %, 99 %): ";
        let (new_order, delivery) = told.strip_prefix(names).unwrap().split_once("; ").unwrap();
        assert!(new_order.starts_with("new-order 2.0"), "{told}");
        assert!(delivery.starts_with("delivery 50.") && !told.contains("payment"), "{told}");
    }
}
