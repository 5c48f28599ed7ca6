//! The statements of an event as templates, and how their values are drawn.

use rqps_load::Statements;
use rqps_wire::Type;

use crate::Dialect;

/// The operation that a client repeats.
#[derive(Debug)]
pub struct Event {
    /// Between BEGIN and COMMIT.
    pub transaction: bool,
    pub parts: &'static [Part],
}

/// Statements on one table, which is drawn for each part.
#[derive(Debug)]
pub struct Part {
    pub statements: &'static [Template],
    /// How often all of them are sent, one after another.
    pub times: usize,
}

/// One statement.
#[derive(Debug)]
pub struct Template {
    /// `{table}` is a table's name, `?` a value, and `{list}` as many as the test's size.
    pub text: &'static str,
    /// The text for a DBMS where key 0 means the next key, if it differs: as in sysbench for MySQL.
    pub with_key: Option<&'static str>,
    /// In the order of the text.
    pub draws: &'static [Draw],
    pub does: Does,
    /// Sent as text with its values in it, rather than prepared.
    pub as_text: bool,
}

/// How one or more values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// A key by the test's distribution.
    Key,
    /// The previous key again.
    SameKey,
    /// A uniform start, and the end so that a full range has the test's size.
    Range,
    /// As many uniform keys as the test's size, repetition allowed.
    Keys,
    /// As many keys as the test's size, from the middle of the table on: always the same.
    HotKeys,
    /// A uniform value for the column k.
    K,
    /// A new text for the column c.
    C,
    /// A new text for the column pad.
    Pad,
}

impl Draw {
    /// The number of values that it gives to a test of a size.
    pub(super) fn values(self, size: usize) -> usize {
        match self {
            Draw::Range => 2,
            Draw::Keys | Draw::HotKeys => size,
            _ => 1,
        }
    }

    fn declared(self) -> Type {
        match self {
            Draw::C | Draw::Pad => Type::Varchar,
            _ => Type::Int8,
        }
    }
}

/// What a statement does to the rows that it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    Read,
    /// Adds 1 to k.
    AddToK,
    /// Sets another column than k.
    Set,
    Delete,
    Insert,
}

const fn template(text: &'static str, does: Does, draws: &'static [Draw]) -> Template {
    Template { text, with_key: None, draws, does, as_text: false }
}

const fn single(statements: &'static [Template]) -> Part {
    Part { statements, times: 1 }
}

const fn alone(parts: &'static [Part]) -> Event {
    Event { transaction: false, parts }
}

const POINT: Template = template("SELECT c FROM {table} WHERE id=?", Does::Read, &[Draw::Key]);
const IN_LIST: Template =
    template("SELECT c FROM {table} WHERE id IN ({list})", Does::Read, &[Draw::Keys]);
const SIMPLE: Template =
    template("SELECT c FROM {table} WHERE id BETWEEN ? AND ?", Does::Read, &[Draw::Range]);
const SUM: Template =
    template("SELECT SUM(k) FROM {table} WHERE id BETWEEN ? AND ?", Does::Read, &[Draw::Range]);
const ORDER: Template = template(
    "SELECT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c",
    Does::Read,
    &[Draw::Range],
);
const DISTINCT: Template = template(
    "SELECT DISTINCT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c",
    Does::Read,
    &[Draw::Range],
);
const COUNT: Template =
    template("SELECT count(c) FROM {table} WHERE id BETWEEN ? AND ?", Does::Read, &[Draw::Range]);
const SET_C: Template =
    template("UPDATE {table} SET c=? WHERE id=?", Does::Set, &[Draw::C, Draw::Key]);
const ADD_TO_K: Template =
    template("UPDATE {table} SET k=k+1 WHERE id=?", Does::AddToK, &[Draw::Key]);
pub(super) const DELETE: Template =
    template("DELETE FROM {table} WHERE id=?", Does::Delete, &[Draw::Key]);
const PUT_BACK: Template = template(
    "INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)",
    Does::Insert,
    &[Draw::SameKey, Draw::K, Draw::C, Draw::Pad],
);

const POINTS: Part = Part { statements: &[POINT], times: 10 };
const CHANGES: [Part; 3] = [single(&[ADD_TO_K]), single(&[SET_C]), single(&[DELETE, PUT_BACK])];

pub(super) const POINT_QUERY: Event = alone(&[single(&[POINT])]);
pub(super) const RANDOM_POINTS: Event = alone(&[single(&[IN_LIST])]);
pub(super) const HOT_POINTS: Event =
    alone(&[single(&[Template { draws: &[Draw::HotKeys], ..IN_LIST }])]);

/// The tests that read by id or by k, and select the indexed column alone, or also c.
macro_rules! by_column {
    ($points:ident, $ranges:ident, $columns:literal, $column:literal) => {
        pub(super) const $points: Event = alone(&[single(&[template(
            concat!("SELECT ", $columns, " FROM {table} WHERE ", $column, " IN ({list})"),
            Does::Read,
            &[Draw::Keys],
        )])]);
        pub(super) const $ranges: Event = alone(&[single(&[template(
            concat!("SELECT ", $columns, " FROM {table} WHERE ", $column, " BETWEEN ? AND ?"),
            Does::Read,
            &[Draw::Range],
        )])]);
    };
}
by_column!(POINTS_COVERED_PK, RANGE_COVERED_PK, "id", "id");
by_column!(POINTS_NOTCOVERED_PK, RANGE_NOTCOVERED_PK, "id, c", "id");
by_column!(POINTS_COVERED_SI, RANGE_COVERED_SI, "k", "k");
by_column!(POINTS_NOTCOVERED_SI, RANGE_NOTCOVERED_SI, "k, c", "k");

pub(super) const SCAN: Event = alone(&[single(&[Template {
    as_text: true,
    ..template("SELECT * from {table} WHERE LENGTH(c) < 0", Does::Read, &[])
}])]);

pub(super) const READ_ONLY: Event = Event {
    transaction: true,
    parts: &[POINTS, single(&[SIMPLE]), single(&[SUM]), single(&[ORDER]), single(&[DISTINCT])],
};
pub(super) const READ_ONLY_SIMPLE: Event =
    Event { transaction: true, parts: &[POINTS, single(&[SIMPLE])] };
pub(super) const READ_ONLY_SUM: Event =
    Event { transaction: true, parts: &[POINTS, single(&[SUM])] };
pub(super) const READ_ONLY_ORDER: Event =
    Event { transaction: true, parts: &[POINTS, single(&[ORDER])] };
pub(super) const READ_ONLY_DISTINCT: Event =
    Event { transaction: true, parts: &[POINTS, single(&[DISTINCT])] };
pub(super) const READ_ONLY_COUNT: Event = alone(&[single(&[COUNT])]);

pub(super) const UPDATE_INLIST: Event = alone(&[single(&[template(
    "UPDATE {table} set c=? WHERE id IN ({list})",
    Does::Set,
    &[Draw::C, Draw::Keys],
)])]);
pub(super) const UPDATE_INDEX: Event = alone(&[single(&[ADD_TO_K])]);
pub(super) const UPDATE_NONINDEX: Event = alone(&[single(&[SET_C])]);
pub(super) const WRITE_ONLY: Event = Event { transaction: true, parts: &CHANGES };
pub(super) const READ_WRITE: Event = Event {
    transaction: true,
    parts: &[
        POINTS,
        single(&[SIMPLE]),
        single(&[SUM]),
        single(&[ORDER]),
        single(&[DISTINCT]),
        single(&[ADD_TO_K]),
        single(&[SET_C]),
        single(&[DELETE, PUT_BACK]),
    ],
};
pub(super) const DELETE_ROWS: Event = alone(&[single(&[DELETE])]);
pub(super) const INSERT: Event = alone(&[single(&[Template {
    with_key: Some("INSERT INTO {table} (id, k, c, pad) VALUES (0, ?, '?', '?')"),
    as_text: true,
    ..template(
        "INSERT INTO {table} (k, c, pad) VALUES (?, '?', '?')",
        Does::Insert,
        &[Draw::K, Draw::C, Draw::Pad],
    )
}])]);

impl Template {
    /// The text with its table and its list, and `?` for every value.
    pub(super) fn for_table(&self, dialect: Dialect, size: usize, table: &str) -> String {
        self.with_list(dialect, &vec!["?"; size].join(", "), table)
    }

    /// The same for people: a long list is shortened to its first value and its length.
    pub(super) fn shown(&self, dialect: Dialect, size: usize, table: &str) -> String {
        match size {
            0..=3 => self.for_table(dialect, size, table),
            _ => self.with_list(dialect, &format!("?, … {size} values"), table),
        }
    }

    fn with_list(&self, dialect: Dialect, list: &str, table: &str) -> String {
        let text = self.with_key.filter(|_| dialect.zero_is_next_key).unwrap_or(self.text);
        text.replace("{table}", table).replace("{list}", list)
    }

    /// What is prepared: the text in the syntax of the DBMS, and the types of its parameters.
    /// Numbers are 64-bit and texts are varchar, as sysbench declares them.
    pub fn prepared_form(&self, dialect: Dialect, size: usize, table: &str) -> (String, Vec<Type>) {
        let mut text = String::new();
        for (index, piece) in self.for_table(dialect, size, table).split('?').enumerate() {
            if index > 0 {
                text.push_str(&dialect.placeholder(index));
            }
            text.push_str(piece);
        }
        let declared = |draw: &Draw| std::iter::repeat_n(draw.declared(), draw.values(size));
        (text, self.draws.iter().flat_map(declared).collect())
    }
}

impl Event {
    pub(super) fn templates(&self) -> impl Iterator<Item = &'static Template> {
        let repeated = |part: &'static Part| std::iter::repeat_n(part.statements, part.times);
        self.parts.iter().flat_map(repeated).flatten()
    }

    /// The statements of an event that finds every row, as sysbench counts them.
    pub fn statements(&self) -> Statements {
        let (mut reads, mut writes) = (0, 0);
        for template in self.templates() {
            match template.does {
                Does::Read => reads += 1,
                _ => writes += 1,
            }
        }
        Statements { reads, writes, others: if self.transaction { 2 } else { 0 } }
    }

    pub(super) fn does(&self, what: Does) -> bool {
        self.templates().any(|template| template.does == what)
    }

    pub fn writes(&self) -> bool {
        self.statements().writes > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_written_in_the_notation_of_the_dbms() {
        let text = |dialect| SET_C.prepared_form(dialect, 1, "sbtest3").0;
        assert_eq!(text(Dialect::POSTGRES), "UPDATE sbtest3 SET c=$1 WHERE id=$2");
        assert_eq!(text(Dialect::INNODB), "UPDATE sbtest3 SET c=? WHERE id=?");
        let list = IN_LIST.prepared_form(Dialect::POSTGRES, 3, "sbtest1").0;
        assert_eq!(list, "SELECT c FROM sbtest1 WHERE id IN ($1, $2, $3)");
    }

    #[test]
    fn every_placeholder_has_a_value() {
        let events = [&READ_WRITE, &RANDOM_POINTS, &HOT_POINTS, &UPDATE_INLIST, &INSERT, &SCAN];
        for template in events.into_iter().flat_map(Event::templates) {
            for dialect in [Dialect::POSTGRES, Dialect::INNODB, Dialect::SQLITE] {
                let placeholders = template.for_table(dialect, 7, "t").matches('?').count();
                let values: usize = template.draws.iter().map(|draw| draw.values(7)).sum();
                assert_eq!(placeholders, values, "{}", template.text);
            }
        }
    }
}
