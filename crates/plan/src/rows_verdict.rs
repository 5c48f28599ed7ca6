//! Whether a contender returns the rows that the baseline returns.

/// How the rows of an arm compare with those of the baseline, over all sets of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowsVerdict {
    #[default]
    Same,
    /// The same rows in another order, where the query has one.
    Order,
    /// Others, but the query leaves open which ones, and its query plan has changed.
    Ties,
    Different,
    /// The baseline differs from itself, so nothing is known of others.
    NotComparable,
    /// A statement failed.
    Fails,
}

impl RowsVerdict {
    pub const ALL: [RowsVerdict; 6] = [
        RowsVerdict::Same,
        RowsVerdict::Order,
        RowsVerdict::Ties,
        RowsVerdict::Different,
        RowsVerdict::NotComparable,
        RowsVerdict::Fails,
    ];

    pub fn name(self) -> &'static str {
        match self {
            RowsVerdict::Same => "same rows",
            RowsVerdict::Order => "order of ties or collation differs",
            RowsVerdict::Ties => "rows differ, ties possible",
            RowsVerdict::Different => "different rows",
            RowsVerdict::NotComparable => "not comparable",
            RowsVerdict::Fails => "fails",
        }
    }

    pub fn from_name(name: &str) -> Option<RowsVerdict> {
        RowsVerdict::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The contender answers wrongly or not at all, however fast it does so.
    pub fn is_wrong(self) -> bool {
        matches!(self, RowsVerdict::Different | RowsVerdict::Fails)
    }
}
