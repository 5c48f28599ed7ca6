//! What an execution leaves in the tables.

use std::collections::BTreeMap;

use rqps_dbms::Dialect;
use rqps_wire::{Connection, Error};

use super::Exam;
use crate::answers::ArmRole;
use crate::sql::answer::Answer;
use crate::sql::likeness::{Likeness, likeness};
use crate::task::WorkloadError;

/// Of larger tables only the rows are counted.
const MOST_TABLE_ROWS: u64 = 1_000_000;

impl Exam<'_> {
    /// Compares what an execution left in the tables.
    pub(super) fn compare_tables(&mut self) -> Result<(), WorkloadError> {
        let names = self.table_names()?;
        for name in names[self.base].keys() {
            let Some(base) = self.table(self.base, &names, name)? else { return Ok(()) };
            self.answered.push((base.digest(), base.count));
            for place in 0..self.arms.len() {
                if place == self.base || self.arms[place].client.is_none() {
                    continue;
                }
                let Some(other) = self.table(place, &names, name)? else { continue };
                let found = self.likeness_of_tables(place, &base, &other);
                if self.arms[place].role == ArmRole::Control {
                    self.note_base_differs(&found, "the A/A control");
                }
                let table = told(name);
                self.note(place, found, false, &table, &format!("{}\n", table.trim_end()));
            }
        }
        Ok(())
    }

    /// Tables that differ although the query is undone did so before it.
    pub(super) fn compare_loads(&mut self) -> Result<(), WorkloadError> {
        let details: Vec<Option<String>> =
            self.arms.iter().map(|arm| arm.answers.detail.clone()).collect();
        let is_of = |detail: &Option<String>, name: &str| {
            detail.as_ref().is_some_and(|detail| detail.starts_with(&told(name)))
        };
        let is_table = |detail: &Option<String>| is_of(detail, "");
        if !details.iter().any(is_table) {
            return Ok(());
        }
        let names = self.table_names()?;
        for name in names[self.base].keys() {
            for (place, _) in details.iter().enumerate().filter(|(_, it)| is_of(it, name)) {
                let Some(base) = self.table(self.base, &names, name)? else { return Ok(()) };
                let Some(other) = self.table(place, &names, name)? else { continue };
                if self.likeness_of_tables(place, &base, &other) != Likeness::Same
                    && let Some(detail) = &mut self.arms[place].answers.detail
                {
                    detail.push_str(", after the load already");
                }
            }
        }
        Ok(())
    }

    fn likeness_of_tables(&self, place: usize, base: &Answer, other: &Answer) -> Likeness {
        match likeness(base, other, self.rule(place, None)) {
            // Between DBMSs, letters may be other ones in the same place.
            Likeness::Order => Likeness::Same,
            found => found,
        }
    }

    /// The names of the tables of all arms.
    fn table_names(&mut self) -> Result<Vec<BTreeMap<String, String>>, WorkloadError> {
        let mut names: Vec<BTreeMap<String, String>> = Vec::new();
        for place in 0..self.arms.len() {
            let arm = &mut self.arms[place];
            let dialect = arm.site.dialect;
            let found = arm.client.as_mut().map(|client| tables(client.connection(), dialect));
            names.push(match found {
                None => BTreeMap::new(),
                Some(Ok(tables)) => tables,
                Some(Err(error)) => {
                    self.fail(place, error, "")?;
                    BTreeMap::new()
                }
            });
        }
        Ok(names)
    }

    /// The rows of a table of an arm; none if it fails.
    fn table(
        &mut self,
        place: usize,
        names: &[BTreeMap<String, String>],
        name: &str,
    ) -> Result<Option<Answer>, WorkloadError> {
        let is_across = self.is_across;
        let Some(client) = &mut self.arms[place].client else { return Ok(None) };
        let Some(table) = names[place].get(name) else { return Ok(Some(Answer::new(is_across))) };
        match table_answer(client.connection(), table, is_across) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) => self.fail(place, error, "").map(|()| None),
        }
    }
}

/// How a difference in a table is told; of any table without a name.
fn told(name: &str) -> String {
    match name {
        "" => "table ".to_string(),
        name => format!("table {name}: "),
    }
}

/// The names of tables as SQL takes them, by their names without quotes and schema.
pub(super) fn tables(
    connection: &mut dyn Connection,
    dialect: Dialect,
) -> Result<BTreeMap<String, String>, Error> {
    let rows = connection.query(dialect.tables)?;
    let named = rows.into_iter().filter_map(|row| row.into_iter().next().flatten());
    let plain = |name: String| {
        let last = name.rsplit('.').next().unwrap_or(&name);
        (last.trim_matches(['"', '`']).to_lowercase(), name)
    };
    Ok(named.map(plain).collect())
}

/// The rows of a table, or their number alone.
pub(super) fn table_answer(
    connection: &mut dyn Connection,
    table: &str,
    is_across: bool,
) -> Result<Answer, Error> {
    let mut answer = Answer::new(is_across);
    let count = rqps_wire::scalar(connection, &format!("select count(*) from {table}"))?;
    let count: u64 = count.and_then(|count| count.parse().ok()).unwrap_or_default();
    if count > MOST_TABLE_ROWS {
        answer.count = count;
        answer.changed = count;
        return Ok(answer);
    }
    let statement = connection.prepare(&format!("select * from {table}"), &[])?;
    connection.visit(statement, &[], &mut answer)?;
    Ok(answer)
}
