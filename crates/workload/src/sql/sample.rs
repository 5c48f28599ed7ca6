//! A few sets of a query's values in place of all: those at the edges, and some in between.

use std::collections::BTreeMap;

use super::csv::Record;

/// The places of up to `most` sets that differ: the least, the greatest, the most frequent, one
/// with NULL, and others in the order in which they were drawn.
pub(super) fn sample(sets: &[Record], most: usize) -> Vec<usize> {
    let mut counts: BTreeMap<&Record, (usize, usize)> = BTreeMap::new();
    for (place, set) in sets.iter().enumerate() {
        counts.entry(set).or_insert((place, 0)).1 += 1;
    }
    let sorted = |one: &Record, other: &Record| {
        let order = |value: &Option<String>| {
            let number = value.as_deref().and_then(|value| value.parse::<f64>().ok());
            (number.unwrap_or(f64::NAN), value.clone())
        };
        let pairs = one.iter().map(order).zip(other.iter().map(order));
        let mut orders = pairs.map(|((one, text), (other, another))| {
            one.total_cmp(&other).then_with(|| text.cmp(&another))
        });
        orders.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    };
    let known = || counts.iter().filter(|(set, _)| set.iter().all(Option::is_some));
    let first_of = |set: &Record| counts[set].0;
    let least = known().min_by(|(one, _), (other, _)| sorted(one, other));
    let greatest = known().max_by(|(one, _), (other, _)| sorted(one, other));
    let frequent = counts.iter().max_by_key(|(_, (place, count))| (*count, sets.len() - place));
    let null = counts.iter().filter(|(set, _)| set.iter().any(Option::is_none));
    let null = null.min_by_key(|(_, (place, _))| *place);
    let edges = [least, greatest, frequent, null].into_iter().flatten();
    let mut chosen: Vec<usize> = Vec::new();
    for place in edges.map(|(set, _)| first_of(set)) {
        if chosen.len() < most && !chosen.contains(&place) {
            chosen.push(place);
        }
    }
    let mut others: Vec<usize> = counts.values().map(|(place, _)| *place).collect();
    others.retain(|place| !chosen.contains(place));
    others.sort_unstable();
    chosen.extend(others.into_iter().take(most - chosen.len()));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(values: &[Option<&str>]) -> Vec<Record> {
        values.iter().map(|value| vec![value.map(str::to_string)]).collect()
    }

    #[test]
    fn the_edges_come_first_and_no_set_twice() {
        let sets =
            sets(&[Some("9"), Some("10"), None, Some("5"), Some("5"), Some("7"), Some("-1")]);
        assert_eq!(sample(&sets, 20), [6, 1, 3, 2, 0, 5]);
        assert_eq!(sample(&sets, 3), [6, 1, 3]);
        assert_eq!(sample(&[vec![]], 20), [0], "a query without parameters has one set");
    }
}
