//! The cumulative statistics of Postgres.

use rqps_observe::Meaning;
use rqps_wire::{Target, scalar};

use crate::error::DbmsError;
use crate::meter::EngineMeter;

/// A view of statistics: its numeric columns, summed over the rows that concern the benchmark.
struct View {
    name: &'static str,
    /// Which rows; `v` is the view.
    rows: &'static str,
    /// The key of its rows, as a part of the counter's name.
    part: &'static str,
    /// Has columns that are read once a second.
    is_lane: bool,
}

const ALL_ROWS: &str = "true";
const OWN_TABLES: &str = "v.schemaname = pg_catalog.current_schema()";
const NO_PART: &str = "''";

const VIEWS: [View; 9] = [
    view("pg_stat_bgwriter", ALL_ROWS, NO_PART, true),
    view("pg_stat_checkpointer", ALL_ROWS, NO_PART, true),
    view("pg_stat_wal", ALL_ROWS, NO_PART, true),
    view("pg_stat_user_tables", OWN_TABLES, NO_PART, true),
    view("pg_stat_database", "v.datname = pg_catalog.current_database()", NO_PART, false),
    view("pg_statio_user_tables", OWN_TABLES, NO_PART, false),
    view("pg_statio_user_indexes", OWN_TABLES, NO_PART, false),
    view("pg_stat_user_indexes", OWN_TABLES, NO_PART, false),
    view(
        "pg_stat_io",
        ALL_ROWS,
        "v.backend_type || '.' || v.object || '.' || v.context || '.'",
        false,
    ),
];

const fn view(name: &'static str, rows: &'static str, part: &'static str, is_lane: bool) -> View {
    View { name, rows, part, is_lane }
}

/// Columns that are gauges; the others only increase.
const GAUGES: [&str; 5] =
    ["numbackends", "n_live_tup", "n_dead_tup", "n_mod_since_analyze", "n_ins_since_vacuum"];
/// Columns of background work: log, checkpoints, the background writer, vacuum.
const LANES: [&str; 16] = [
    "autovacuum_count",
    "buffers_alloc",
    "buffers_backend",
    "buffers_checkpoint",
    "buffers_clean",
    "buffers_written",
    "checkpoints_req",
    "checkpoints_timed",
    "n_dead_tup",
    "num_requested",
    "num_timed",
    "sync_time",
    "wal_buffers_full",
    "wal_bytes",
    "wal_fpi",
    "write_time",
];
/// The meanings of columns.
pub(super) const MEANINGS: [(&str, Meaning); 13] = [
    ("wal_bytes", Meaning::LogBytes),
    ("wal_sync", Meaning::LogFlushes),
    // Before 17 in pg_stat_bgwriter, then in pg_stat_checkpointer.
    ("buffers_checkpoint", Meaning::CheckpointPages),
    ("pg_stat_checkpointer.buffers_written", Meaning::CheckpointPages),
    ("buffers_clean", Meaning::PagesWritten),
    ("checkpoints_timed", Meaning::CheckpointsTimed),
    ("num_timed", Meaning::CheckpointsTimed),
    ("checkpoints_req", Meaning::CheckpointsRequested),
    ("num_requested", Meaning::CheckpointsRequested),
    ("blks_hit", Meaning::CacheHits),
    ("autovacuum_count", Meaning::TablesVacuumed),
    ("n_dead_tup", Meaning::RowVersionsLeft),
    ("wal_buffers_full", Meaning::WriterWaits),
];
/// Numeric columns that count nothing.
const NOT_COUNTS: [&str; 5] = ["datid", "relid", "indexrelid", "op_bytes", "datname"];

impl View {
    /// Reads the columns that the server has, so that every version gives all of its own.
    fn sql(&self, columns: &str) -> String {
        let View { name, rows, part, .. } = self;
        format!(
            "select '{name}.' || {part} || key, pg_catalog.sum(value::pg_catalog.numeric) from pg_catalog.{name} v, \
             lateral pg_catalog.jsonb_each_text(pg_catalog.to_jsonb(v)) \
             where {rows} and {columns} and value ~ '^[0-9]+([.][0-9]+)?$' group by 1"
        )
    }
}

/// The last part of a name is the column's.
fn column(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The name of sessions that stay open while those of clients are counted.
pub(super) const CONTROL: &str = "set application_name = 'rqps control'";

/// Sessions are counted when they end, and before 15 a reading may be half a second old. Sessions
/// of others are ignored.
pub(super) const UNCOUNTED: &str = "select pg_catalog.count(*) from pg_catalog.pg_stat_activity \
     where usename = current_user and application_name = 'rqps' \
     and pid <> pg_catalog.pg_backend_pid() \
     or pg_catalog.pg_stat_get_snapshot_timestamp() < pg_catalog.now() - interval '5 ms'";

pub(super) fn meter(target: &Target) -> Result<EngineMeter, DbmsError> {
    let mut connection = target.connect()?;
    connection.run(CONTROL)?;
    let found = connection.query(
        "select relname from pg_catalog.pg_class \
         where relnamespace = 'pg_catalog'::pg_catalog.regnamespace and relname like 'pg_stat%'",
    )?;
    let found: Vec<String> = found.into_iter().flatten().flatten().collect();
    let there = || VIEWS.iter().filter(|view| found.iter().any(|name| name == view.name));
    // Before 14 the log position is the only count of log bytes.
    let position = ["pg_current_wal_insert_lsn", "pg_current_xlog_insert_location"];
    let difference = ["pg_wal_lsn_diff", "pg_xlog_location_diff"];
    let mut wal = Vec::new();
    for (position, difference) in position.into_iter().zip(difference) {
        let sql = format!("select pg_catalog.to_regproc('pg_catalog.{position}')");
        if scalar(&mut *connection, &sql)?.is_some() {
            wal.push(format!(
                "select '{position}', pg_catalog.{difference}(pg_catalog.{position}(), '0/0')"
            ));
        }
    }
    let lanes = format!("key in ('{}')", LANES.join("', '"));
    let meter = EngineMeter {
        connection,
        sources: there().map(|view| view.sql("true")).chain(wal).collect(),
        lanes: there().filter(|view| view.is_lane).map(|view| view.sql(&lanes)).collect(),
        is_gauge: |name| GAUGES.contains(&column(name)),
        is_wanted: |name| !NOT_COUNTS.contains(&column(name)),
        uncounted: Some(UNCOUNTED.to_string()),
    };
    meter.keep_readable()
}
