//! Classes of tests, by what their statements do.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What the statements of a test do. Tests of a class have much in common, such as their noise and
/// the causes of a slowdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Class {
    Point,
    /// Point queries of a few rows by all clients.
    HotPoint,
    Range,
    /// Of a whole table.
    Scan,
    /// A table and its indexes from nothing.
    Load,
    Insert,
    /// Inserts at one end of an index with deletes at the other.
    DeleteOldest,
    Update,
    /// All clients update the same row.
    HotUpdate,
    Delete,
    ReadWrite,
}

impl Class {
    pub const ALL: [Class; 11] = [
        Class::Point,
        Class::HotPoint,
        Class::Range,
        Class::Scan,
        Class::Load,
        Class::Insert,
        Class::DeleteOldest,
        Class::Update,
        Class::HotUpdate,
        Class::Delete,
        Class::ReadWrite,
    ];

    /// As it is stored, and shown.
    pub fn name(self) -> &'static str {
        match self {
            Class::Point => "point",
            Class::HotPoint => "hot point",
            Class::Range => "range",
            Class::Scan => "scan",
            Class::Load => "load",
            Class::Insert => "insert",
            Class::DeleteOldest => "queue",
            Class::Update => "update",
            Class::HotUpdate => "hot update",
            Class::Delete => "delete",
            Class::ReadWrite => "read-write",
        }
    }

    /// The name of its tests in the plural: `point queries`.
    pub fn title(self) -> &'static str {
        match self {
            Class::Point => "point queries",
            Class::HotPoint => "point queries of hot rows",
            Class::Range => "range queries",
            Class::Scan => "scans",
            Class::Load => "loads",
            Class::Insert => "inserts",
            Class::DeleteOldest => "deletes of the oldest rows",
            Class::Update => "updates",
            Class::HotUpdate => "updates of a hot row",
            Class::Delete => "deletes",
            Class::ReadWrite => "reads with writes",
        }
    }

    /// The class of that name; none if there is none, as in a run of a newer rqps.
    pub fn from_name(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == name)
    }

    /// Changes the tables.
    pub fn writes(self) -> bool {
        !matches!(self, Class::Point | Class::HotPoint | Class::Range | Class::Scan)
    }

    /// All clients use the same rows.
    pub fn is_hot(self) -> bool {
        matches!(self, Class::HotPoint | Class::HotUpdate)
    }

    /// Does a fixed amount of work, however long it takes.
    pub fn is_fixed_work(self) -> bool {
        matches!(self, Class::Load | Class::Insert | Class::DeleteOldest)
    }
}

impl From<Class> for &'static str {
    fn from(class: Class) -> Self {
        class.name()
    }
}

impl TryFrom<String> for Class {
    type Error = String;

    /// One of a newer rqps is no default: tests of it may write.
    fn try_from(name: String) -> Result<Class, String> {
        Class::from_name(&name).ok_or_else(|| {
            let all: Vec<&str> = Class::ALL.iter().map(|class| class.name()).collect();
            format!("unknown class '{name}' (there are: {})", all.join(", "))
        })
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_found_by_its_name_and_by_no_other() {
        for class in Class::ALL {
            assert_eq!(Class::from_name(class.name()), Some(class));
        }
        assert_eq!(Class::from_name("analytic"), None);
        assert_eq!(Class::from_name(""), None);
    }

    #[test]
    fn a_stored_class_that_is_not_known_is_an_error_and_no_default() {
        let stored = |class: &str| {
            let text = format!("id = 'q1'\nclass = '{class}'\n");
            toml::from_str::<crate::SqlTest>(&text)
        };
        let known = stored("hot point").unwrap();
        assert_eq!(known.class, Class::HotPoint);
        assert!(toml::to_string(&known).unwrap().contains("class = \"hot point\""));
        let error = stored("analytic").unwrap_err().to_string();
        assert!(error.contains("unknown class 'analytic' (there are: point, "), "{error}");
    }
}
