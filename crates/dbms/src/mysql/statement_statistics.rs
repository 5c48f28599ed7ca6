//! What the performance schema has counted by digests.

use rqps_wire::{Connection, Error, ErrorClass, query_if_allowed, scalar};

use crate::statement_statistics::{CountedStatement, StatementStatistics, StatisticsError, number};

const DIGESTS: &str = "performance_schema.events_statements_summary_by_digest";

/// Each column with the number of unique indexes that it is the last column of.
pub(crate) const COLUMNS: &str = "\
    select c.table_name, c.column_name, c.data_type, (select count(*) \
    from information_schema.statistics s where s.table_schema = c.table_schema \
    and s.table_name = c.table_name and s.column_name = c.column_name and s.non_unique = 0 \
    and not exists (select 1 from information_schema.statistics l \
    where l.table_schema = s.table_schema and l.table_name = s.table_name \
    and l.index_name = s.index_name and l.seq_in_index > s.seq_in_index)) \
    from information_schema.columns c where c.table_schema = database()";

pub(super) fn read(
    connection: &mut dyn Connection,
) -> Result<StatementStatistics, StatisticsError> {
    let missing = |what: String| Err(StatisticsError::Missing(what));
    if scalar(connection, "select database()")?.is_none() {
        return missing(format!(
            "the URL names no database. Add one of those with statements: {}",
            databases(connection)?
        ));
    }
    if scalar(connection, "select @@performance_schema")?.as_deref() != Some("1") {
        return missing(
            "the server counts no statements: performance_schema is OFF. Start it with \
             performance_schema=ON and let it count for a while, or capture a slow log"
                .to_string(),
        );
    }
    let consumer = "select enabled from performance_schema.setup_consumers \
                    where name = 'statements_digest'";
    if scalar(connection, consumer).map_err(|error| denied(connection, error))?.as_deref()
        == Some("NO")
    {
        return missing(
            "the server counts no statements: the consumer statements_digest is off. Run there: \
             update performance_schema.setup_consumers set enabled = 'YES' where name = \
             'statements_digest'"
                .to_string(),
        );
    }
    // Counts are of 64 bits without a sign, times in picoseconds.
    let query = |example: &str| {
        format!(
            "select digest_text, {example}, count_star, sum_timer_wait, \
             sum_rows_sent + sum_rows_affected from {DIGESTS} \
             where schema_name = database() and digest_text is not null"
        )
    };
    // MariaDB and MySQL before 8.0 keep no example.
    let rows = match query_if_allowed(connection, &query("query_sample_text"))? {
        Some(rows) => rows,
        None => connection.query(&query("null"))?,
    };
    let mut found =
        StatementStatistics { source: "performance_schema digests", ..Default::default() };
    for row in rows {
        let [text, example, calls, picoseconds, rows] = &row[..] else { continue };
        found.statements.push(CountedStatement {
            text: text.clone().unwrap_or_default(),
            example: example.clone(),
            calls: number(calls.as_ref()),
            seconds: number::<f64>(picoseconds.as_ref()) / 1e12,
            rows: number(rows.as_ref()),
        });
    }
    let rest = format!(
        "select min(first_seen), sum(if(digest is null, count_star, 0)), \
             timestampdiff(second, min(first_seen), now()) / 86400 from {DIGESTS}"
    );
    let row = connection.query(&rest)?.into_iter().next().unwrap_or_default();
    found.since = row.first().cloned().flatten();
    found.days = row.get(2).and_then(|days| days.as_ref()?.parse().ok());
    let beyond = number::<u64>(row.get(1).and_then(Option::as_ref));
    if beyond > 0 {
        found.remarks.push(format!(
            "{beyond} calls have no digest, because performance_schema_digests_size is too small: \
             shares leave them out"
        ));
    }
    Ok(found)
}

fn databases(connection: &mut dyn Connection) -> Result<String, StatisticsError> {
    let query = format!(
        "select schema_name from {DIGESTS} where schema_name is not null \
         group by 1 order by sum(sum_timer_wait) desc limit 12"
    );
    let rows = connection.query(&query).map_err(|error| denied(connection, error))?;
    let names: Vec<String> = rows.into_iter().flatten().flatten().collect();
    Ok(if names.is_empty() { "none".to_string() } else { names.join(", ") })
}

/// An error with what the user may lack.
fn denied(connection: &mut dyn Connection, error: Error) -> StatisticsError {
    let Error::Server { message, class: ErrorClass::Stop, .. } = &error else {
        return error.into();
    };
    let user = scalar(connection, "select current_user()").ok().flatten().unwrap_or_default();
    let (name, host) = user.rsplit_once('@').unwrap_or((user.as_str(), "%"));
    StatisticsError::Missing(format!(
        "{message}. Run there, as an administrator: grant select on performance_schema.* to \
         '{name}'@'{host}'"
    ))
}
