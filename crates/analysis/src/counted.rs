//! The operation of a table: what its tests count, and what their costs are divided by.

use rqps_plan::Counts;

/// The unit that a table has for all of its tests.
pub struct Counted {
    pub one: &'static str,
    pub many: &'static str,
    /// `a row inserted in l.i0; a query in the others`
    pub what: String,
}

/// Where tests count different things.
const NEUTRAL: [&str; 2] = ["operation", "operations"];

impl Counted {
    /// Of tests by their names.
    pub fn of<'t>(tests: impl Iterator<Item = (&'t str, Counts)>) -> Self {
        let mut kinds: Vec<(Counts, Vec<&str>)> = Vec::new();
        for (test, counts) in tests {
            match kinds.iter_mut().find(|(known, _)| *known == counts) {
                Some((_, tests)) => tests.push(test),
                None => kinds.push((counts, vec![test])),
            }
        }
        // The largest group comes last, as "the others".
        kinds.sort_by_key(|(_, tests)| tests.len());
        let mut all = kinds.iter().map(|(counts, _)| nouns(*counts));
        let one_for_all = all.next().filter(|first| all.all(|other| other == *first));
        let [one, many] = one_for_all.unwrap_or(NEUTRAL);
        let words = kinds.iter().enumerate().map(|(index, (counts, tests))| {
            match (kinds.len(), index + 1 == kinds.len()) {
                (1, _) => format!("a {}", counts.operation()),
                (_, true) => format!("a {} in the others", counts.operation()),
                (_, false) => format!("a {} in {}", counts.operation(), tests.join(", ")),
            }
        });
        let what = words.collect::<Vec<_>>().join("; ");
        Counted { one, many, what }
    }

    /// An explanation of units that do not name the operation.
    pub fn meaning(&self) -> Option<String> {
        let is_neutral = self.one == NEUTRAL[0] && !self.what.is_empty();
        is_neutral.then(|| format!("an operation is {}", self.what))
    }

    /// The same as a sentence that follows another one.
    pub fn here(&self) -> String {
        self.meaning().map_or(String::new(), |meaning| format!(" Here {meaning}."))
    }
}

/// Singular and plural.
fn nouns(counts: Counts) -> [&'static str; 2] {
    match counts {
        Counts::RowsInserted | Counts::RowsIndexed | Counts::RowsScanned => ["row", "rows"],
        Counts::Queries => ["query", "queries"],
        Counts::Statements => ["statement", "statements"],
        Counts::Transactions => ["transaction", "transactions"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_says_what_is_counted_only_where_that_is_true_of_all_tests() {
        let load = [("l.i0", Counts::RowsInserted), ("l.x", Counts::RowsIndexed)];
        let rows = Counted::of(load.into_iter());
        assert_eq!((rows.one, rows.many, rows.meaning()), ("row", "rows", None));
        assert_eq!(rows.what, "a row inserted in l.i0; a row indexed in the others");
        let queries = ["qr100", "qp100", "qr500"].map(|step| (step, Counts::Queries));
        let writes = [("l.i1", Counts::RowsInserted)];
        let all = Counted::of(load.into_iter().chain(writes).chain(queries));
        assert_eq!((all.one, all.many), ("operation", "operations"));
        let meaning = "an operation is a row indexed in l.x; a row inserted in l.i0, l.i1; a query \
                       in the others";
        assert_eq!(all.meaning().as_deref(), Some(meaning));
        let suite = Counted::of([("scan", Counts::Statements)].into_iter());
        assert_eq!((suite.many, suite.what.as_str()), ("statements", "a statement"));
        assert_eq!(Counted::of(std::iter::empty()).meaning(), None);
    }
}
