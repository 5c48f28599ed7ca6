//! The groups of the published tables of the microbenchmarks.

/// In the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Point,
    Range,
    Aggregate,
    Write,
}

impl Group {
    pub const ALL: [Group; 4] = [Group::Point, Group::Range, Group::Aggregate, Group::Write];

    /// The name that selects it.
    pub fn name(self) -> &'static str {
        match self {
            Group::Point => "point",
            Group::Range => "range",
            Group::Aggregate => "aggregate",
            Group::Write => "write",
        }
    }

    /// The heading of its table in the posts.
    pub fn title(self) -> &'static str {
        match self {
            Group::Point => "Point queries",
            Group::Range => "Range queries without aggregation",
            Group::Aggregate => "Range queries with aggregation",
            Group::Write => "Writes",
        }
    }

    /// Its place in the order of the tables, by its title; others follow.
    pub fn place(title: &str) -> usize {
        let known = Group::ALL.iter().position(|group| group.title() == title);
        known.unwrap_or(Group::ALL.len())
    }
}
