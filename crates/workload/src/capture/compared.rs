//! Which column a placeholder is compared with. It knows the usual forms; of others it says that
//! it does not know.

use std::collections::BTreeSet;

use rqps_dbms::CatalogColumn;

use super::items::SqlItem;

/// What a placeholder stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlaceUse {
    pub(super) role: PlaceRole,
    /// `date $1`: only a literal can stand there.
    pub(super) is_typed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlaceRole {
    /// It is compared with a column, or assigned to it.
    Column(TableColumn, Side),
    /// A new row has it in this column.
    NewRow(TableColumn),
    Limit,
    Offset,
    /// For this reason it cannot be said.
    Unknown(&'static str),
}

/// Which end of a range a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Low,
    High,
    /// It is no range.
    Value,
}

/// Table and column as the statement has them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TableColumn {
    pub(super) table: String,
    pub(super) column: String,
}

/// A table of the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TableReference {
    /// As it is written, perhaps with its schema.
    table: String,
    /// Its last name, and its alias, without quotes.
    names: Vec<String>,
}

/// Words that end a table or stand before a column, so that they are neither alias nor column.
const KEYWORDS: [&str; 58] = [
    "all",
    "and",
    "any",
    "as",
    "asc",
    "between",
    "by",
    "case",
    "cross",
    "default",
    "desc",
    "distinct",
    "duplicate",
    "else",
    "end",
    "except",
    "exists",
    "for",
    "force",
    "from",
    "full",
    "group",
    "having",
    "ignore",
    "ilike",
    "in",
    "index",
    "inner",
    "intersect",
    "into",
    "is",
    "join",
    "key",
    "left",
    "like",
    "limit",
    "natural",
    "not",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "outer",
    "right",
    "rlike",
    "select",
    "set",
    "some",
    "tablesample",
    "then",
    "union",
    "use",
    "using",
    "values",
    "when",
    "where",
];

/// Words before a constant of a type, and before `(` where FROM is no clause.
const TYPES: [&str; 6] = ["date", "time", "timestamp", "timestamptz", "interval", "datetime"];
const WITH_FROM: [&str; 4] = ["extract", "substring", "trim", "overlay"];

pub(super) struct Comparisons<'a> {
    items: &'a [SqlItem],
    tables: Vec<TableReference>,
    /// Empty where the source has none.
    catalog: &'a [CatalogColumn],
    /// For each item, the item before the list of values that it is in: itself if it is none.
    lists: Vec<usize>,
    new_rows: Option<NewRows<'a>>,
}

/// The values of `insert into t (a, b) values ($1, $2)`.
struct NewRows<'a> {
    columns: Vec<&'a str>,
    /// For each item, the number of its column if it begins a value.
    numbers: Vec<Option<usize>>,
}

/// Tables and parts of a name at most: MySQL joins no more than 61.
const MOST_TABLES: usize = 64;
const MOST_PARTS: usize = 4;

impl<'a> Comparisons<'a> {
    pub(super) fn new(items: &'a [SqlItem], catalog: &'a [CatalogColumn]) -> Comparisons<'a> {
        let tables = tables(items);
        let new_rows = tables.first().and_then(|table| NewRows::new(items, table, catalog));
        let mut lists: Vec<usize> = Vec::with_capacity(items.len());
        for (place, item) in items.iter().enumerate() {
            let is_in = matches!(item, SqlItem::Place(_) | SqlItem::Symbol(',') | SqlItem::Other);
            lists.push(match lists.last() {
                Some(before) if is_in => *before,
                _ => place,
            });
        }
        Comparisons { items, tables, catalog, lists, new_rows }
    }

    /// What the place at an item stands for.
    pub(super) fn place_use(&self, at: usize) -> PlaceUse {
        let mut from = at;
        let is_typed = self.before(from).is_some_and(|item| is_one(item, &TYPES));
        from -= usize::from(is_typed);
        // `cast($1 as int)` and `($1)` stand for what is in them.
        while self.before(from) == Some(&SqlItem::Symbol('(')) {
            match from.checked_sub(2).and_then(|place| self.items.get(place)) {
                Some(item) if item.is_word("cast") => from -= 2,
                _ => break,
            }
        }
        PlaceUse { role: self.role(from, at), is_typed }
    }

    fn before(&self, place: usize) -> Option<&SqlItem> {
        place.checked_sub(1).and_then(|place| self.items.get(place))
    }

    fn role(&self, from: usize, at: usize) -> PlaceRole {
        let Some(last) = self.before(from) else { return PlaceRole::Unknown(NOWHERE) };
        if last.is_word("limit") || last.is_word("first") || last.is_word("next") {
            // `limit 10, 20` of MySQL: what is skipped, and how many.
            let is_offset = self.items.get(at + 1) == Some(&SqlItem::Symbol(','));
            return if is_offset { PlaceRole::Offset } else { PlaceRole::Limit };
        }
        if last.is_word("offset") {
            return PlaceRole::Offset;
        }
        if last == &SqlItem::Symbol(',')
            && from.checked_sub(3).is_some_and(|place| self.items[place].is_word("limit"))
        {
            return PlaceRole::Limit;
        }
        if let Some(role) = self.of_new_row(from) {
            return role;
        }
        if let Some((end, side)) = self.operator_before(from)
            && let Some(column) = self.column_that_ends(end)
        {
            return self.resolved(&column, side);
        }
        if let Some((begin, side)) = self.operator_after(at)
            && let Some(column) = self.column_that_begins(begin)
        {
            return self.resolved(&column, side);
        }
        PlaceRole::Unknown(NOWHERE)
    }

    /// The end of the left side of the comparison that a value is the right side of.
    fn operator_before(&self, from: usize) -> Option<(usize, Side)> {
        let last = self.before(from)?;
        if is_one(last, &["like", "ilike", "rlike", "regexp"]) {
            return Some((self.without_not(from - 1), Side::Value));
        }
        if last.is_word("between") {
            return Some((self.without_not(from - 1), Side::Low));
        }
        // `a between $1 and $2`
        if last.is_word("and")
            && matches!(self.items.get(from.checked_sub(2)?), Some(SqlItem::Place(_)))
        {
            let mut place = from - 2;
            place -= usize::from(self.before(place).is_some_and(|item| is_one(item, &TYPES)));
            let is_between = self.before(place).is_some_and(|item| item.is_word("between"));
            return is_between.then(|| (self.without_not(place - 1), Side::High));
        }
        // `a in ($1, $2)`
        if matches!(last, SqlItem::Symbol('(' | ',')) {
            let place = *self.lists.get(from - 1)?;
            let is_list = self.items.get(place) == Some(&SqlItem::Symbol('('));
            let is_in = is_list && self.before(place).is_some_and(|item| item.is_word("in"));
            return is_in.then(|| (self.without_not(place - 1), Side::Value));
        }
        let mut place = from;
        let mut side = Side::Value;
        while let Some(SqlItem::Symbol(symbol)) = self.before(place)
            && "=<>!~+-".contains(*symbol)
        {
            side = match symbol {
                // `->` and `->>` take what is within a value.
                '-' if side == Side::Low => return None,
                '<' if side == Side::Value => Side::High,
                '>' if side == Side::Value => Side::Low,
                // `<>`
                '<' => Side::Value,
                _ => side,
            };
            place -= 1;
        }
        (place < from).then_some((place, side))
    }

    fn without_not(&self, end: usize) -> usize {
        end - usize::from(self.before(end).is_some_and(|item| item.is_word("not")))
    }

    /// The begin of the right side of the comparison that a value is the left side of.
    fn operator_after(&self, at: usize) -> Option<(usize, Side)> {
        let mut place = at + 1;
        let mut side = Side::Value;
        while let Some(SqlItem::Symbol(symbol)) = self.items.get(place)
            && "=<>!".contains(*symbol)
        {
            side = match symbol {
                '<' => Side::Low,
                '>' if side == Side::Value => Side::High,
                '>' => Side::Value,
                _ => side,
            };
            place += 1;
        }
        (place > at + 1).then_some((place, side))
    }

    /// The dotted name whose last item stands before a place.
    fn column_that_ends(&self, end: usize) -> Option<Vec<&'a SqlItem>> {
        let mut place = end.checked_sub(1)?;
        let mut parts = vec![self.column_name(place)?];
        while place >= 2
            && parts.len() < MOST_PARTS
            && self.items[place - 1] == SqlItem::Symbol('.')
            && let Some(part) = self.column_name(place - 2)
        {
            parts.insert(0, part);
            place -= 2;
        }
        Some(parts)
    }

    /// The dotted name that begins at a place, and is no function.
    fn column_that_begins(&self, begin: usize) -> Option<Vec<&'a SqlItem>> {
        let mut place = begin;
        let mut parts = vec![self.column_name(place)?];
        while parts.len() < MOST_PARTS
            && self.items.get(place + 1) == Some(&SqlItem::Symbol('.'))
            && let Some(part) = self.column_name(place + 2)
        {
            parts.push(part);
            place += 2;
        }
        (self.items.get(place + 1) != Some(&SqlItem::Symbol('('))).then_some(parts)
    }

    fn column_name(&self, place: usize) -> Option<&'a SqlItem> {
        let item = self.items.get(place)?;
        let is_keyword = matches!(item, SqlItem::Word(_)) && is_one(item, &KEYWORDS);
        (item.name().is_some() && !is_keyword).then_some(item)
    }

    /// The table of a column.
    fn resolved(&self, parts: &[&SqlItem], side: Side) -> PlaceRole {
        let [qualifiers @ .., column] = parts else { return PlaceRole::Unknown(NOWHERE) };
        let (Some(name), Some(written)) = (column.name(), column.written()) else {
            return PlaceRole::Unknown(NOWHERE);
        };
        if self.tables.len() > MOST_TABLES {
            return PlaceRole::Unknown("its statement names more than 64 tables");
        }
        let has = |reference: &&TableReference| {
            let table = reference.names.first();
            self.catalog.is_empty()
                || self.catalog.iter().any(|it| {
                    table.is_some_and(|table| it.table.eq_ignore_ascii_case(table))
                        && it.name.eq_ignore_ascii_case(name)
                })
        };
        let qualifier = qualifiers.last().and_then(|item| item.name());
        let is_meant = |reference: &&TableReference| match qualifier {
            Some(qualifier) => reference.names.iter().any(|it| it.eq_ignore_ascii_case(qualifier)),
            None => true,
        };
        let mut tables: Vec<&str> = Vec::new();
        for reference in self.tables.iter().filter(is_meant).filter(has) {
            if !tables.contains(&reference.table.as_str()) {
                tables.push(&reference.table);
            }
        }
        match tables[..] {
            [table] => {
                let (table, column) = (table.to_string(), written.to_string());
                PlaceRole::Column(TableColumn { table, column }, side)
            }
            [] => PlaceRole::Unknown("its column is in no table of the statement"),
            _ => PlaceRole::Unknown("its column may be in several tables"),
        }
    }

    /// The column of a value in `insert into t (a, b) values ($1, $2)`.
    fn of_new_row(&self, from: usize) -> Option<PlaceRole> {
        // An expression of its own would not be a value of the column.
        if !matches!(self.before(from), Some(SqlItem::Symbol('(' | ','))) {
            return None;
        }
        let NewRows { columns, numbers } = self.new_rows.as_ref()?;
        let column = columns.get((*numbers.get(from)?)?)?.to_string();
        let table = self.tables.first()?.table.clone();
        Some(PlaceRole::NewRow(TableColumn { table, column }))
    }
}

impl<'a> NewRows<'a> {
    fn new(
        items: &'a [SqlItem],
        table: &TableReference,
        catalog: &'a [CatalogColumn],
    ) -> Option<NewRows<'a>> {
        let insert = |item: &SqlItem| item.is_word("insert") || item.is_word("replace");
        let start = items.iter().position(insert)?;
        let values = start + items[start..].iter().position(|it| it.is_word("values"))?;
        let mut numbers = vec![None; items.len()];
        // In which tuple, and at which place of it.
        let (mut depth, mut column) = (0, 0);
        for (place, item) in items.iter().enumerate().skip(values + 1) {
            numbers[place] = (depth == 1).then_some(column);
            match item {
                SqlItem::Symbol('(') => {
                    depth += 1;
                    column = if depth == 1 { 0 } else { column };
                }
                SqlItem::Symbol(')') => depth -= 1,
                SqlItem::Symbol(',') if depth == 1 => column += 1,
                SqlItem::Word(_) if depth == 0 => break,
                _ => {}
            }
        }
        let names = &items[start..values];
        let open = names.iter().rposition(|item| item == &SqlItem::Symbol('('));
        let columns = match open {
            Some(open) => names[open..].iter().filter_map(SqlItem::written).collect(),
            None => {
                let name = table.names.first()?;
                let is_of = |it: &&CatalogColumn| it.table.eq_ignore_ascii_case(name);
                catalog.iter().filter(is_of).map(|it| it.name.as_str()).collect()
            }
        };
        Some(NewRows { columns, numbers })
    }
}

const NOWHERE: &str = "it is compared with no column";

fn is_one(item: &SqlItem, words: &[&str]) -> bool {
    words.iter().any(|word| item.is_word(word))
}

/// The tables that a statement names, without those that it defines itself.
fn tables(items: &[SqlItem]) -> Vec<TableReference> {
    let mut found = Vec::new();
    // The words before the open parentheses.
    let mut open: Vec<Option<&SqlItem>> = Vec::new();
    let mut place = 0;
    while place < items.len() {
        let item = &items[place];
        let before = place.checked_sub(1).map(|place| &items[place]);
        match item {
            SqlItem::Symbol('(') => open.push(before),
            SqlItem::Symbol(')') => drop(open.pop()),
            _ => {}
        }
        let is_in_function =
            open.last().copied().flatten().is_some_and(|it| is_one(it, &WITH_FROM));
        let begins = is_one(item, &["from", "join", "update", "into"])
            && !is_in_function
            && !before.is_some_and(|it| is_one(it, &["distinct", "for", "key"]));
        place += 1;
        if !begins {
            continue;
        }
        loop {
            while items.get(place).is_some_and(|it| is_one(it, &["only", "lateral", "ignore"])) {
                place += 1;
            }
            let Some((reference, next)) = reference(items, place) else { break };
            found.push(reference);
            place = next;
            match items.get(place) {
                Some(SqlItem::Symbol(',')) => place += 1,
                _ => break,
            }
        }
    }
    let defined = defined(items);
    found.retain(|it: &TableReference| !defined.contains(&it.table.to_ascii_lowercase()));
    found
}

/// A table with its alias that begins at a place, and the place behind it.
fn reference(items: &[SqlItem], begin: usize) -> Option<(TableReference, usize)> {
    let name = |place: usize| items.get(place).filter(|it| !is_keyword(it)).and_then(SqlItem::name);
    let mut place = begin;
    let mut table = items.get(place)?.written()?.to_string();
    let mut last = name(place)?;
    place += 1;
    while items.get(place) == Some(&SqlItem::Symbol('.'))
        && let Some(part) = name(place + 1)
    {
        table += ".";
        table += items[place + 1].written()?;
        last = part;
        place += 2;
    }
    // A function that returns rows is no table.
    let is_insert = begin.checked_sub(1).is_some_and(|it| items[it].is_word("into"));
    if items.get(place) == Some(&SqlItem::Symbol('(')) && !is_insert {
        return None;
    }
    let mut names = vec![last.to_string()];
    if items.get(place).is_some_and(|it| it.is_word("as")) {
        place += 1;
    }
    if let Some(alias) = name(place) {
        names.push(alias.to_string());
        place += 1;
    }
    Some((TableReference { table, names }, place))
}

fn is_keyword(item: &SqlItem) -> bool {
    matches!(item, SqlItem::Word(_)) && is_one(item, &KEYWORDS)
}

/// The names of `with NAME as (…)`.
fn defined(items: &[SqlItem]) -> BTreeSet<String> {
    let is_with = items.iter().any(|item| item.is_word("with"));
    let windows = items.windows(3).filter(|window| {
        let opens = matches!(&window[2], SqlItem::Symbol('('))
            || is_one(&window[2], &["materialized", "not"]);
        is_with && window[1].is_word("as") && opens
    });
    windows.filter_map(|window| window[0].name().map(str::to_ascii_lowercase)).collect()
}

#[cfg(test)]
mod tests;
