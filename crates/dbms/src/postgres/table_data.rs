//! How the rows of a Postgres database are read in one snapshot.

use crate::table_data::{NameQuoting, TableReading};

pub(crate) static READING: TableReading = TableReading {
    // Names and functions of other users are not on the path, and rows that policies hide are an
    // error. Texts have the form that every release reads.
    begin: &[
        "begin isolation level repeatable read read only",
        "set local search_path = pg_catalog, pg_temp",
        "set local row_security = off",
        "set local lock_timeout = '10s'",
        "set local statement_timeout = 0",
        "set local datestyle = 'ISO, YMD'",
        "set local intervalstyle = 'postgres'",
        "set local extra_float_digits = 3",
        "set local bytea_output = 'hex'",
    ],
    end: "rollback",
    tables: TABLES,
    columns: COLUMNS,
    foreign_keys: FOREIGN_KEYS,
    names: |_| Ok(NameQuoting::Done),
    sampled: |key, share| {
        let key: Vec<String> = key.iter().map(|column| format!("{column}::text")).collect();
        format!(
            "('x' || substr(md5(concat_ws('|', {})), 1, 8))::bit(32)::bigint % 1000000 < {share}",
            key.join(", ")
        )
    },
};

/// Partitioned tables are read as one, with the sizes of all partitions. Tables of extensions come
/// with the extension.
const TABLES: &str = "\
    select c.oid, \
    case c.relkind when 'r' then 'only ' else '' end || quote_ident(n.nspname) || '.' || \
    quote_ident(c.relname), \
    case n.nspname when 'public' then '' else quote_ident(n.nspname) || '.' end || \
    quote_ident(c.relname), \
    (with recursive part(oid) as (select c.oid union all select i.inhrelid from pg_inherits i \
    join part on i.inhparent = part.oid where c.relkind = 'p') \
    select sum(pg_table_size(part.oid)) from part), \
    (select 'its identity column ' || quote_ident(min(a.attname::text)) || ' is GENERATED ALWAYS: \
    say BY DEFAULT in schema.sql' from pg_attribute a \
    where a.attrelid = c.oid and to_jsonb(a) ->> 'attidentity' = 'a' having count(*) > 0) \
    from pg_class c join pg_namespace n on n.oid = c.relnamespace \
    where c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence <> 't' \
    and n.nspname not in ('pg_catalog', 'information_schema') \
    and not exists (select 1 from pg_depend d where d.classid = 'pg_class'::regclass \
    and d.objid = c.oid and d.deptype = 'e') \
    order by 3";

/// Generated columns are computed again where the rows are loaded.
const COLUMNS: &str = "\
    select a.attrelid, quote_ident(a.attname), quote_ident(a.attname), quote_ident(a.attname), \
    (select array_position(i.indkey::int2[], a.attnum) from pg_index i \
    where i.indrelid = a.attrelid and i.indisprimary), null \
    from pg_attribute a join pg_class c on c.oid = a.attrelid \
    join pg_namespace n on n.oid = c.relnamespace \
    where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p') \
    and n.nspname not in ('pg_catalog', 'information_schema') \
    and coalesce(to_jsonb(a) ->> 'attgenerated', '') = '' \
    order by a.attrelid, a.attnum";

/// Without those that partitions have of their parents.
const FOREIGN_KEYS: &str = "\
    select f.oid, quote_ident(f.conname), f.conrelid, f.confrelid, quote_ident(c.attname), \
    quote_ident(p.attname) \
    from pg_constraint f \
    cross join lateral unnest(f.conkey, f.confkey) with ordinality as k(child, parent, place) \
    join pg_attribute c on c.attrelid = f.conrelid and c.attnum = k.child \
    join pg_attribute p on p.attrelid = f.confrelid and p.attnum = k.parent \
    where f.contype = 'f' and coalesce(to_jsonb(f) ->> 'conparentid', '0') = '0' \
    order by f.oid, k.place";
