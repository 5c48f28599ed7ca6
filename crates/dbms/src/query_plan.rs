//! What the DBMSs have in common where their query plans are read as trees.

use rqps_plan::{IndexUsed, QueryPlan};
use rqps_wire::{Connection, Error, query_if_allowed};

/// The text of an answer that has one field; none where the DBMS does not know this form, or cannot
/// explain this statement.
pub(crate) fn asked_for_text(
    connection: &mut dyn Connection,
    explain: &str,
) -> Result<Option<String>, Error> {
    let rows = query_if_allowed(connection, explain)?.unwrap_or_default();
    let mut fields = rows.into_iter().flatten();
    Ok(fields.next().flatten().filter(|_| fields.next().is_none()))
}

/// Adds the definitions of the indexes that a plan reads. `query` returns table, index and
/// definition of each that an unqualified name may mean.
pub(crate) fn define_indexes(
    connection: &mut dyn Connection,
    plan: &mut QueryPlan,
    query: &str,
) -> Result<(), Error> {
    if plan.nodes().iter().all(|node| node.index.is_none()) {
        return Ok(());
    }
    let rows = query_if_allowed(connection, query)?.unwrap_or_default();
    plan.each_index(&mut |table, index| {
        let definition = rows.iter().find_map(|row| match row.as_slice() {
            [Some(of), Some(name), Some(definition)] => {
                let is_it = *name == index.name && table.is_none_or(|table| table == of);
                is_it.then(|| definition.clone())
            }
            _ => None,
        });
        index.definition = definition;
    });
    Ok(())
}

/// Whether a character may be in a name without quotes.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// An index by its name, if it has one.
pub(crate) fn index(name: Option<&str>) -> Option<IndexUsed> {
    name.map(IndexUsed::named)
}

/// Each column once, in the order of the alphabet, without those of `known`.
pub(crate) fn distinct(mut columns: Vec<String>, known: &[String]) -> Vec<String> {
    columns.sort();
    columns.dedup();
    columns.retain(|column| !known.contains(column));
    columns
}

#[cfg(test)]
mod tests;
