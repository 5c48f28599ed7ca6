//! What a folder and the file of a place may do on a remote server: only what is in these lists,
//! and only to tables of rqps's own place, which names without a schema mean.

use std::fs;
use std::path::Path;

use rqps_dbms::Lexis;

use super::faults::{FaultNotes, FolderError, FolderFaults};
use super::folder::SqlFolder;
use super::loaded::LoadedFile;
use super::parameter::ValueSource;
use super::query::{Enclosing, SqlQuery};
use super::refused::only_reads;
use super::script::SqlScript;
use super::statements::{SqlStatement, split};
use super::tokens::{Part, SqlToken, Tokens};
use crate::Dialect;

/// First words of statements that change how tables are stored and found.
const STRUCTURE: [&[&str]; 15] = [
    &["create", "table"],
    &["create", "unlogged", "table"],
    &["create", "index"],
    &["create", "unique", "index"],
    &["create", "fulltext", "index"],
    &["create", "spatial", "index"],
    &["alter", "table"],
    &["alter", "index"],
    &["drop", "index"],
    &["analyze"],
    &["vacuum"],
    &["cluster"],
    &["reindex"],
    &["optimize", "table"],
    &["drop", "table"],
];

/// The same of statements that fill them, in the session of a load. `SET` could choose another
/// schema, but no other database of MySQL.
const CONTENT: [&[&str]; 6] =
    [&["truncate"], &["copy"], &["begin"], &["start", "transaction"], &["commit"], &["end"]];
/// Those that a query may have, too, if it is rolled back.
const ROWS: [&[&str]; 5] = [&["insert"], &["replace"], &["update"], &["delete"], &["merge"]];
const CONTENT_OF_MYSQL: [&[&str]; 3] = [&["set"], &["lock", "tables"], &["unlock", "tables"]];

/// Words with which such a statement reaches beyond the tables of its place.
const BEYOND: [&[&str]; 12] = [
    &["set", "schema"],
    &["owner", "to"],
    &["data", "directory"],
    &["index", "directory"],
    &["set", "global"],
    &["set", "persist"],
    &["set", "persist_only"],
    &["set", "password"],
    &["set", "role"],
    &["set", "default", "role"],
    &["set", "resource"],
    &["all", "in", "tablespace"],
];

/// Words between the first ones of a statement and the name that it is about.
const BEFORE_NAME: [&str; 30] = [
    "create",
    "unlogged",
    "table",
    "tables",
    "unique",
    "fulltext",
    "spatial",
    "index",
    "if",
    "not",
    "exists",
    "concurrently",
    "on",
    "alter",
    "drop",
    "only",
    "truncate",
    "insert",
    "ignore",
    "into",
    "replace",
    "update",
    "delete",
    "from",
    "merge",
    "copy",
    "analyze",
    "vacuum",
    "optimize",
    "lock",
];

/// What may be renamed: a table has the name under which it is removed.
const RENAMED: [&str; 4] = ["column", "index", "key", "constraint"];

/// Names before a point that are not those of a schema.
const NO_SCHEMA: [&str; 2] = ["pg_catalog", "excluded"];

/// The tables that a folder creates. An error for what it may not do on a remote server.
pub(super) fn tables(folder: &SqlFolder, lexis: Lexis) -> Result<Vec<String>, FolderFaults> {
    let (mut noted, mut made) = (FaultNotes::default(), Vec::new());
    let loads = folder.loads.iter();
    let loaded = loads.filter_map(|load| match load {
        LoadedFile::Sql(script) => Some(script),
        LoadedFile::Rows(_) => None,
    });
    for script in folder.schema.iter().chain(loaded).chain(&folder.indexes) {
        let lists: [&[&[&str]]; 4] = [&STRUCTURE, &CONTENT, &ROWS, &CONTENT_OF_MYSQL];
        let lists = if lexis.runs_comments { &lists[..] } else { &lists[..3] };
        let read = script.each::<FolderError>(lexis, &mut |statement, _| {
            let checked = check(statement, lists, lexis);
            let checked = checked.map_err(|what| fault(&script.file, statement, what));
            made.extend(noted.or_default(checked));
            Ok(())
        });
        noted.0.extend(read.err());
    }
    for load in &folder.loads {
        if let LoadedFile::Rows(rows) = load
            && rows.table.contains('.')
        {
            noted.0.push(FolderError::new(&rows.file, elsewhere(&rows.table)));
        }
    }
    for query in &folder.queries {
        for (line, text, may_write) in texts(query) {
            let wrong = |what| FolderError { file: query.file.clone(), line: Some(line), what };
            noted.or_default(leaves_rows(&text, may_write, lexis).map_err(wrong));
        }
    }
    if noted.0.is_empty() { Ok(made) } else { Err(FolderFaults(noted.0)) }
}

/// An error for what a folder may not do where nothing is made: anything but queries that plainly
/// read, of whatever tables.
pub(super) fn check_reading(folder: &SqlFolder, lexis: Lexis) -> Result<(), FolderFaults> {
    let mut noted = FaultNotes::default();
    let loaded = folder.loads.iter().map(|load| match load {
        LoadedFile::Sql(script) => &script.file,
        LoadedFile::Rows(rows) => &rows.file,
    });
    let scripts = folder.schema.iter().chain(&folder.indexes).map(|script| &script.file);
    for file in scripts.chain(loaded) {
        let what = "with --read-only nothing is made or loaded: the tables are those that the server \
                    has. Leave this out";
        noted.0.push(FolderError::new(file, what));
    }
    for query in &folder.queries {
        let writes = |line| FolderError {
            file: query.file.clone(),
            line,
            what: format!(
                "'{}' does not plainly read, and with --read-only nothing else is executed. Leave it out",
                query.id
            ),
        };
        if query.class.writes() {
            noted.0.push(writes(None));
            continue;
        }
        for (line, text, _) in texts(query) {
            match split(&text, lexis) {
                Ok(all) if all.iter().all(only_reads) => {}
                _ => noted.0.push(writes(Some(line))),
            }
        }
    }
    if noted.0.is_empty() { Ok(()) } else { Err(FolderFaults(noted.0)) }
}

/// The functions that queries may call, each with the first query that does.
pub(super) fn calls(folder: &SqlFolder, lexis: Lexis) -> Vec<(String, String)> {
    let mut calls: Vec<(String, String)> = Vec::new();
    for query in &folder.queries {
        for (_, text, _) in texts(query) {
            for statement in split(&text, lexis).unwrap_or_default() {
                let tokens = tokens(&statement, lexis).unwrap_or_default();
                for pair in tokens.windows(2) {
                    if !is_name(&pair[0], lexis) || !is_symbol(pair.get(1), '(') {
                        continue;
                    }
                    let name = plain(&pair[0]);
                    if calls.iter().all(|(known, _)| *known != name) {
                        calls.push((name, query.id.clone()));
                    }
                }
            }
        }
    }
    calls
}

/// The texts of a query with their lines, those that draw its values first, and whether what they
/// do is undone.
fn texts(query: &SqlQuery) -> impl Iterator<Item = (u32, String, bool)> + '_ {
    let drawn = query.options.parameters.iter().filter_map(|it| match &it.source {
        ValueSource::Select(sql) => Some((1, sql.clone(), false)),
        _ => None,
    });
    let is_undone = query.options.transaction == Enclosing::Rollback;
    let bound = query.statements.iter();
    drawn.chain(bound.map(move |it| (it.line, it.filled(|_| "null".to_string()), is_undone)))
}

/// The file that makes a place another than those of other contenders: its statements with their
/// lines, and the tables that it creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceFile {
    pub statements: Vec<(u32, String)>,
    pub(crate) tables: Vec<String>,
}

/// Reads the file of a place.
pub fn place_file(path: &Path, dialect: Dialect) -> Result<PlaceFile, FolderFaults> {
    let file = path.display().to_string();
    let text = fs::read_to_string(path)
        .map_err(|error| FolderError::new(&file, format!("cannot read it: {error}")))?;
    let script = SqlScript::of_text(file, text);
    let (mut noted, mut read) =
        (FaultNotes::default(), PlaceFile { statements: Vec::new(), tables: Vec::new() });
    let whole = script.each::<FolderError>(dialect.lexis, &mut |statement, _| {
        let checked = check(statement, &[&STRUCTURE], dialect.lexis);
        let checked = checked.map_err(|what| fault(&script.file, statement, what));
        read.tables.extend(noted.or_default(checked));
        read.statements.push((statement.line, statement.text.to_string()));
        Ok(())
    });
    noted.0.extend(whole.err());
    if noted.0.is_empty() && read.statements.is_empty() {
        let what = "it has no statement, so that its place would be as loaded";
        noted.0.push(FolderError::new(&script.file, what));
    }
    if noted.0.is_empty() { Ok(read) } else { Err(FolderFaults(noted.0)) }
}

fn fault(file: &str, statement: &SqlStatement<'_>, what: String) -> FolderError {
    FolderError { file: file.to_string(), line: Some(statement.line), what }
}

fn elsewhere(name: &str) -> String {
    format!(
        "'{name}' may be in another schema or database. On a remote server, write names of tables \
         without one: they are in rqps's own"
    )
}

/// The table that an allowed statement creates.
fn check(
    statement: &SqlStatement<'_>,
    allowed: &[&[&[&str]]],
    lexis: Lexis,
) -> Result<Option<String>, String> {
    let first: Vec<String> = statement.words.iter().take(3).map(|it| it.to_uppercase()).collect();
    let first = first.join(" ");
    if !allowed.iter().any(|list| list.iter().any(|words| statement.begins_with(words))) {
        return Err(format!(
            "'{first} …' is none of the statements that may be run here on a remote server, where rqps \
             must be able to remove what is made"
        ));
    }
    if let Some(words) = BEYOND.iter().find(|words| statement.has_words(words)) {
        let words = words.join(" ").to_uppercase();
        return Err(format!("'{words}' reaches beyond rqps's own tables on a remote server"));
    }
    let mut pairs = statement.words.windows(2);
    let renames_table = |pair: &[&str]| {
        let is = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
        is(pair[0], "rename") && !RENAMED.iter().any(|kind| is(pair[1], kind))
    };
    if statement.begins_with(&["alter"]) && pairs.any(renames_table) {
        return Err(
            "on a remote server a table keeps its name, by which it is removed. For columns write \
             RENAME COLUMN"
                .to_string(),
        );
    }
    let tokens = tokens(statement, lexis)?;
    let subject = tokens.iter().position(|token| is_name(token, lexis) && !is_before_name(token));
    if let Some(place) = subject
        && is_point(tokens.get(place + 1))
    {
        return Err(elsewhere(&dotted(&tokens[place..])));
    }
    check_names(&tokens, lexis)?;
    let creates = ["table", "unlogged"].iter().any(|it| statement.begins_with(&["create", it]));
    let Some(subject) = subject.filter(|_| creates).map(|place| &tokens[place]) else {
        return Ok(None);
    };
    let name = plain(subject);
    match name.contains(['"', '`', '\\', '\'']) {
        true => Err(format!("the name {} has quotes in it", subject.text)),
        false => Ok(Some(name)),
    }
}

/// Refuses a query after which its tables may have other rows, or that is about others.
fn leaves_rows(text: &str, may_write: bool, lexis: Lexis) -> Result<(), String> {
    for statement in split(text, lexis).map_err(|error| error.what)? {
        let writes = ROWS.iter().any(|words| statement.begins_with(words));
        match only_reads(&statement) {
            true => check_names(&tokens(&statement, lexis)?, lexis)?,
            false if may_write && writes => drop(check(&statement, &[&ROWS], lexis)?),
            false => {
                return Err(
                    "it does not plainly leave the tables as they are. On a remote server, only \
                     queries that read are measured, and those with transaction = rollback"
                        .to_string(),
                );
            }
        }
    }
    Ok(())
}

fn tokens<'a>(statement: &SqlStatement<'a>, lexis: Lexis) -> Result<Vec<SqlToken<'a>>, String> {
    let mut reader = Tokens::new(statement.text, lexis);
    let mut all = Vec::new();
    while let Some(token) = reader.next().map_err(|error| error.what)? {
        all.push(token);
    }
    Ok(all)
}

fn is_name(token: &SqlToken<'_>, lexis: Lexis) -> bool {
    let is_quoted = || lexis.has_dollar_quotes && token.text.starts_with('"');
    matches!(token.part, Part::Word | Part::Name) || token.part == Part::Literal && is_quoted()
}

fn is_before_name(token: &SqlToken<'_>) -> bool {
    token.part == Part::Word && BEFORE_NAME.iter().any(|it| token.text.eq_ignore_ascii_case(it))
}

fn is_symbol(token: Option<&SqlToken<'_>>, symbol: char) -> bool {
    token.is_some_and(|token| token.part == Part::Symbol(symbol))
}

fn is_point(token: Option<&SqlToken<'_>>) -> bool {
    is_symbol(token, '.')
}

/// A name as the DBMS has it: without quotes, in small letters if it has none.
fn plain(token: &SqlToken<'_>) -> String {
    match token.part {
        Part::Word => token.text.to_lowercase(),
        _ => token.text[1..token.text.len() - 1].to_string(),
    }
}

/// A name with what follows its points.
fn dotted(tokens: &[SqlToken<'_>]) -> String {
    let mut text = tokens[0].text.to_string();
    for pair in tokens[1..].chunks(2) {
        match pair {
            [point, name] if is_point(Some(point)) => text += &format!(".{}", name.text),
            _ => break,
        }
    }
    text
}

/// Refuses `a.b` where `a` stands for itself nowhere in the statement, so that it is no table and
/// no other name for one.
fn check_names(tokens: &[SqlToken<'_>], lexis: Lexis) -> Result<(), String> {
    let before = |place: usize| place.checked_sub(1).and_then(|place| tokens.get(place));
    let is_first = |place: usize| !is_point(before(place)) && !is_symbol(before(place), '@');
    let names = || (0..tokens.len()).filter(|place| is_name(&tokens[*place], lexis));
    let alone: Vec<String> = names()
        .filter(|place| is_first(*place) && !is_point(tokens.get(place + 1)))
        .map(|place| plain(&tokens[place]).to_lowercase())
        .collect();
    let is_foreign = |place: &usize| {
        let name = plain(&tokens[*place]).to_lowercase();
        is_first(*place)
            && is_point(tokens.get(place + 1))
            && !alone.contains(&name)
            && !NO_SCHEMA.contains(&name.as_str())
    };
    match names().find(is_foreign) {
        Some(place) => Err(elsewhere(&dotted(&tokens[place..]))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::sql::folder::{FolderScope, read, read_made};
    use crate::sql::tests::folders::folder;
    use crate::sql::tpch;

    fn made(files: &[(&str, &str)], dbms: &str) -> Result<Vec<String>, String> {
        let folder = folder(files);
        let dialect = if dbms == "postgres" { Dialect::POSTGRES } else { Dialect::INNODB };
        let of = (dbms.parse().unwrap(), dialect);
        let read = read(folder.path(), of, FolderScope::Everything).unwrap();
        tables(&read, dialect.lexis).map_err(|faults| faults.to_string())
    }

    fn with(schema: &str, query: &str) -> [(&'static str, String); 2] {
        [("schema.sql", schema.to_string()), ("queries/q.sql", query.to_string())]
    }

    fn of(schema: &str, query: &str, dbms: &str) -> Result<Vec<String>, String> {
        let files = with(schema, query);
        made(&files.each_ref().map(|(name, text)| (*name, text.as_str())), dbms)
    }

    const CREATE: &str = "create table T (id int primary key, b int);";

    #[test]
    fn the_tables_that_a_folder_creates_are_known_before_it_is_loaded() {
        let schema = "drop table if exists t; create table if not exists T (id int, n bigint);
             create unlogged table \"Odd one\" (id int); create index i on t (id);
             insert into t select a.id, 1 from \"Odd one\" a; analyze t;";
        let query = "select x.id, count(*) from t x join \"Odd one\" on x.id = \"Odd one\".id
             where extract(epoch from now()) > 1.5 group by x.id";
        assert_eq!(of(schema, query, "postgres").unwrap(), ["t", "Odd one"]);
        let dump = "/*!40101 SET NAMES utf8mb4 */; create table `T` (`id` int) engine=InnoDB;
             LOCK TABLES `T` WRITE; insert into `T` values (1); UNLOCK TABLES;";
        assert_eq!(of(dump, "select `T`.id from `T`", "mysql").unwrap(), ["T"]);
    }

    #[test]
    fn what_reaches_beyond_rqps_s_own_place_is_named_with_its_line() {
        for (schema, says) in [
            ("create table public.t (id int);", "schema.sql:1: 'public.t' may be in another"),
            ("\ninsert into other.t values (1);", "schema.sql:2: 'other.t' may be in another"),
            ("create table t as select id from other.t;", "'other.t' may be in another"),
            ("drop table t, public.u;", "'public.u' may be in another"),
            ("create view v as select 1;", "'CREATE VIEW V …' is none of the statements"),
            ("create extension hstore;", "is none of the statements"),
            ("create function f() returns int language sql as 'select 1';", "is none of"),
            ("create temp table t (id int);", "is none of the statements"),
            ("set search_path = public;", "'SET SEARCH_PATH PUBLIC …' is none"),
            ("grant all on t to public;", "is none of the statements"),
            ("alter table t set schema public;", "'SET SCHEMA' reaches beyond"),
            ("alter table t owner to other;", "'OWNER TO' reaches beyond"),
            ("alter table t rename to u;", "a table keeps its name"),
        ] {
            let error = of(schema, "select 1", "postgres").unwrap_err();
            assert!(error.contains(says), "{schema}: {error}");
        }
        for (schema, says) in [
            ("create database other;", "is none of the statements"),
            ("set global max_connections = 1;", "'SET GLOBAL' reaches beyond"),
            ("use other;", "is none of the statements"),
        ] {
            let error = of(schema, "select 1", "mysql").unwrap_err();
            assert!(error.contains(says), "{schema}: {error}");
        }
        assert!(of("alter table t rename column a to b;", "select 1", "postgres").is_ok());
    }

    #[test]
    fn queries_read_tables_of_their_own_place_only() {
        for (query, says) in [
            ("select * from public.t", "queries/q.sql:1: 'public.t' may be in another"),
            ("select * from t join other.u on t.id = 1", "'other.u' may be in another"),
            ("select * from \"Other\".\"T\"", "may be in another"),
            ("update t set b = 1", "only queries that read are measured"),
            ("select 1; select 2 into u", "only queries that read are measured"),
            ("-- rqps: transaction = rollback\ntruncate t", "only queries that read"),
            ("-- rqps: transaction = rollback\nupdate other.t set b = 1", "may be in another"),
        ] {
            let error = of(CREATE, query, "postgres").unwrap_err();
            assert!(error.contains(says), "{query}: {error}");
        }
        let own =
            "with c as (select 1 as id) select c.id, pg_catalog.now() from c, t where t.b = 1";
        assert_eq!(of(CREATE, own, "postgres").unwrap(), ["t"]);
        let undone = "-- rqps: transaction = rollback\nupdate t set b = 1 where t.id = 1";
        assert!(of(CREATE, undone, "postgres").is_ok());
    }

    #[test]
    fn what_rqps_makes_of_tpc_h_fits() {
        for (dbms, dialect) in [("postgres", Dialect::POSTGRES), ("mysql", Dialect::INNODB)] {
            let of = (dbms.parse().unwrap(), dialect);
            let folder = read_made(tpch::made("0.01".parse().unwrap()), of).unwrap();
            assert_eq!(tables(&folder, dialect.lexis).unwrap().len(), 8, "{dbms}");
        }
    }

    fn file(text: &str) -> Result<PlaceFile, String> {
        let folder = folder(&[("place.sql", text)]);
        place_file(&folder.path().join("place.sql"), Dialect::POSTGRES)
            .map_err(|faults| faults.to_string())
    }

    #[test]
    fn a_place_changes_structure_and_nothing_else() {
        let read = file("-- Without it.\ndrop index i;\nalter table t set (fillfactor = 50);");
        let read = read.unwrap();
        let lines: Vec<u32> = read.statements.iter().map(|(line, _)| *line).collect();
        assert_eq!((lines, read.statements[0].1.as_str()), (vec![2, 3], "drop index i"));
        for (text, says) in [
            ("", "it has no statement"),
            ("-- nothing", "it has no statement"),
            ("begin; drop index i;", "'BEGIN …' is none of the statements"),
            ("set search_path = public;", "is none of the statements"),
            ("delete from t;", "is none of the statements"),
            ("create view v as select 1;", "is none of the statements"),
            ("drop index public.i;", "may be in another schema"),
            ("drop index i", "place.sql:2"),
        ] {
            match file(text) {
                Ok(_) => assert_eq!(text, "drop index i"),
                Err(error) => assert!(error.contains(says), "{text}: {error}"),
            }
        }
        let missing = place_file(&PathBuf::from("/no/such.sql"), Dialect::POSTGRES).unwrap_err();
        assert!(missing.to_string().contains("/no/such.sql: cannot read it"), "{missing}");
    }
}
