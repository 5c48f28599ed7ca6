//! What the extension pg_stat_statements has counted.

use std::collections::BTreeMap;

use rqps_wire::{Connection, Row, scalar};

use crate::statement_statistics::{CountedStatement, StatementStatistics, StatisticsError, number};

/// What the view has in place of texts that a user may not see.
const HIDDEN: &str = "<insufficient privilege>";

/// Functions and operators that other users have made are not called: on the path of the server,
/// one whose arguments match better would run with the rights of the user who captures.
const OWN_FUNCTIONS: &str = "set local search_path = pg_catalog, pg_temp";

/// Each column with the number of unique indexes that it is the last column of.
pub(crate) const COLUMNS: &str = "\
    select c.relname, a.attname, pg_catalog.format_type(a.atttypid, null), \
    (select count(*) from pg_catalog.pg_index i where i.indrelid = c.oid and i.indisunique \
    and i.indkey[i.indnatts - 1] = a.attnum) \
    from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid \
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
    where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'f', 'v', 'm') \
    and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_toast%'";

pub(super) fn read(
    connection: &mut dyn Connection,
) -> Result<StatementStatistics, StatisticsError> {
    connection.run(OWN_FUNCTIONS)?;
    let schema = "select pg_catalog.quote_ident(n.nspname) from pg_catalog.pg_extension e \
                  join pg_catalog.pg_namespace n on n.oid = e.extnamespace \
                  where e.extname = 'pg_stat_statements'";
    let Some(schema) = scalar(connection, schema)? else {
        let database =
            scalar(connection, "select pg_catalog.current_database()")?.unwrap_or_default();
        let what = format!(
            "the database '{database}' does not have the extension pg_stat_statements. Put it into \
             shared_preload_libraries, restart the server, run 'create extension \
             pg_stat_statements' there, and let it count for a while"
        );
        return Err(StatisticsError::Missing(what));
    };
    let view = format!("{schema}.pg_stat_statements");
    let has = format!(
        "select attname from pg_catalog.pg_attribute where attrelid = '{}'::pg_catalog.regclass",
        view.replace('\'', "''")
    );
    let columns: Vec<String> = connection.query(&has)?.into_iter().flatten().flatten().collect();
    let has = |name: &str| columns.iter().any(|column| column == name);
    // Releases before 13 do not tell planning from executing.
    let time = if has("total_exec_time") { "total_exec_time" } else { "total_time" };
    let top = if has("toplevel") { " and toplevel" } else { "" };
    let examples = examples(connection)?;
    let statements = format!(
        "select query, pg_catalog.sum(calls), pg_catalog.sum({time}), pg_catalog.sum(rows), \
         pg_catalog.string_agg(queryid::pg_catalog.text, ' ') from {view} where dbid = (select oid \
         from pg_catalog.pg_database where datname = pg_catalog.current_database()){top} group by query"
    );
    let mut found = StatementStatistics { source: "pg_stat_statements", ..Default::default() };
    let mut lost = 0;
    for row in connection.query(&statements)? {
        let [text, calls, milliseconds, rows, ids] = &row[..] else { continue };
        let Some(text) = text.clone() else {
            lost += number::<u64>(calls.as_ref());
            continue;
        };
        if text == HIDDEN {
            return Err(denied(connection)?);
        }
        let example = ids.as_ref().and_then(|ids| ids.split(' ').find_map(|id| examples.get(id)));
        found.statements.push(CountedStatement {
            text,
            example: example.cloned(),
            calls: number(calls.as_ref()),
            seconds: number::<f64>(milliseconds.as_ref()) / 1e3,
            rows: number(rows.as_ref()),
        });
    }
    if found.statements.iter().any(|statement| statement.example.is_some()) {
        found.remarks.push(
            "pg_qualstats keeps the first execution of a statement: one set of values is no \
             distribution"
                .to_string(),
        );
    }
    if lost > 0 {
        found
            .remarks
            .push(format!("the server has lost the texts of statements with {lost} calls"));
    }
    if has("toplevel") {
        let info = format!(
            "select dealloc, stats_reset, \
             pg_catalog.date_part('epoch', pg_catalog.now() - stats_reset) / 86400 \
             from {schema}.pg_stat_statements_info"
        );
        let row = connection.query(&info)?.into_iter().next().unwrap_or_default();
        found.since = row.get(1).cloned().flatten();
        found.days = row.get(2).and_then(|days| days.as_ref()?.parse().ok());
        let forgotten = number::<u64>(row.first().and_then(Option::as_ref));
        if forgotten > 0 {
            found.remarks.push(format!(
                "the server has forgotten rare statements {forgotten} times, because \
                 pg_stat_statements.max is too small: shares leave them out"
            ));
        }
    }
    Ok(found)
}

/// By the ids of statements the first execution of each, as it was written, where the extension
/// pg_qualstats keeps it. A function of somebody else's under its name is not called.
fn examples(connection: &mut dyn Connection) -> Result<BTreeMap<String, String>, StatisticsError> {
    let function = "select pg_catalog.quote_ident(n.nspname) from pg_catalog.pg_extension e \
                    join pg_catalog.pg_depend d on d.refobjid = e.oid and d.deptype = 'e' \
                    and d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass \
                    and d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass \
                    join pg_catalog.pg_proc p on p.oid = d.objid \
                    join pg_catalog.pg_namespace n on n.oid = p.pronamespace \
                    where e.extname = 'pg_qualstats' and p.pronargs = 0 \
                    and p.proname = 'pg_qualstats_example_queries'";
    let Some(schema) = scalar(connection, function)? else { return Ok(BTreeMap::new()) };
    let query = format!("select queryid, query from {schema}.pg_qualstats_example_queries()");
    let rows = connection.query(&query)?.into_iter();
    let pair = |row: Row| {
        let [id, text] = <[Option<String>; 2]>::try_from(row).ok()?;
        Some((id?, text?))
    };
    Ok(rows.filter_map(pair).collect())
}

/// The statements of other users are hidden.
fn denied(connection: &mut dyn Connection) -> Result<StatisticsError, StatisticsError> {
    let user =
        scalar(connection, "select pg_catalog.quote_ident(current_user)")?.unwrap_or_default();
    Ok(StatisticsError::Missing(format!(
        "the server hides the statements of other users from {user}. Run there, as a superuser: \
         grant pg_read_all_stats to {user}"
    )))
}
