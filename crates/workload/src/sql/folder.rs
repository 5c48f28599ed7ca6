//! Reads a folder of schema, data and queries for one DBMS, and checks all that can be checked
//! without a server.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rqps_dbms::Dialect;
use rqps_plan::{Class, Dbms, suggestion};
use rqps_system::{below, printable};

use super::csv::NamedColumns;
use super::options::{Encoding, FolderOptions};
use super::parameter::{QueryParameter, ValueSource};
use super::placeholders::{Bound, bind};
use super::query::{Entry, QueryOptions, SqlQuery, checked_id, header};
use super::refused::{only_reads, refusal};
use super::statements::{SqlStatement, StatementReader, split};
use super::tokens::{SqlTextError, error};

/// Queries of a folder at most.
const MOST_QUERIES: usize = 4096;

/// A folder as one DBMS takes it.
#[derive(Clone, Debug)]
pub(crate) struct SqlFolder {
    pub(crate) name: String,
    /// Run before the data are loaded, and after.
    pub(crate) schema: Option<SqlScript>,
    pub(crate) indexes: Option<SqlScript>,
    /// In their order.
    pub(crate) loads: Vec<LoadedFile>,
    pub(crate) columns: BTreeMap<String, NamedColumns>,
    pub(crate) queries: Vec<SqlQuery>,
    /// The ids of queries that are for other DBMSs.
    pub(crate) left_out: Vec<String>,
}

/// A file of SQL, below the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SqlScript {
    pub(crate) file: String,
    pub(crate) text: String,
}

/// A file of `load/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoadedFile {
    Sql(SqlScript),
    Csv { file: String, table: String, rows: NamedColumns },
}

/// What is wrong in a folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FolderError {
    /// Below the folder; empty for the folder.
    pub(crate) file: String,
    /// Counted from 1.
    pub(crate) line: Option<u32>,
    pub(crate) what: String,
}

impl std::fmt::Display for FolderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (file, what) = (printable(&self.file), printable(&self.what));
        match self.line {
            Some(line) => write!(f, "{file}:{line}: {what}"),
            None if file.is_empty() => write!(f, "{what}"),
            None => write!(f, "{file}: {what}"),
        }
    }
}

impl FolderError {
    pub(super) fn new(file: &str, what: impl Into<String>) -> FolderError {
        FolderError { file: file.to_string(), line: None, what: what.into() }
    }

    fn of_text(file: &str, SqlTextError { line, what }: SqlTextError) -> FolderError {
        FolderError { file: file.to_string(), line: Some(line), what }
    }
}

const OPTIONS: &str = "workload.toml";
const QUERIES: &str = "queries";

/// Reads a folder for a DBMS.
pub(crate) fn read(root: &Path, dbms: Dbms, dialect: Dialect) -> Result<SqlFolder, FolderError> {
    let mut reader = Reader { root: root.to_path_buf(), dbms, dialect, encoding: Encoding::Utf8 };
    if !root.is_dir() {
        let what = format!("'{}' is not a folder", root.display());
        return Err(FolderError::new("", what));
    }
    let options = match root.join(OPTIONS).symlink_metadata() {
        Ok(_) => {
            let text = reader.text(OPTIONS)?;
            FolderOptions::read(&text).map_err(|wrong| FolderError::of_text(OPTIONS, wrong))?
        }
        Err(_) => FolderOptions::default(),
    };
    reader.encoding = options.encoding;
    reader.check_names()?;
    let schema = reader.script("schema")?;
    let indexes = reader.script("indexes")?;
    let loads = reader.loads()?;
    let columns = reader.columns()?;
    let (queries, left_out) = reader.queries(&options, &columns)?;
    let own = root.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = options.name.clone().or(own).unwrap_or_else(|| "sql".to_string());
    Ok(SqlFolder { name, schema, indexes, loads, columns, queries, left_out })
}

struct Reader {
    root: PathBuf,
    dbms: Dbms,
    dialect: Dialect,
    encoding: Encoding,
}

impl Reader {
    /// The text of a file below the folder.
    fn text(&self, file: &str) -> Result<String, FolderError> {
        let wrong = |what: String| FolderError::new(file, what);
        let path = below(&self.root, Path::new(file)).map_err(|error| wrong(error.to_string()))?;
        let is_file = path.metadata().map_err(|error| wrong(format!("cannot read it: {error}")))?;
        if !is_file.is_file() {
            return Err(wrong("it is not a file".to_string()));
        }
        let bytes = fs::read(&path).map_err(|error| wrong(format!("cannot read it: {error}")))?;
        match self.encoding {
            Encoding::Latin1 => Ok(bytes.into_iter().map(char::from).collect()),
            Encoding::Utf8 => match String::from_utf8(bytes) {
                Ok(text) => Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text)),
                Err(error) => Err(wrong(format!(
                    "byte {} is not UTF-8. Convert the file, or set encoding = \"latin1\" in {OPTIONS}",
                    error.utf8_error().valid_up_to() + 1
                ))),
            },
        }
    }

    /// The names in a folder below, sorted, without hidden ones; none if there is no such folder.
    fn names(&self, folder: &str) -> Result<Vec<String>, FolderError> {
        let wrong = |what: String| FolderError::new(folder, what);
        let path = match folder {
            "" => self.root.clone(),
            folder => below(&self.root, Path::new(folder)).map_err(|it| wrong(it.to_string()))?,
        };
        if !path.exists() {
            return Ok(Vec::new());
        }
        let cannot = |error: std::io::Error| wrong(format!("cannot list it: {error}"));
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(cannot)? {
            let name = entry.map_err(cannot)?.file_name();
            let name =
                name.to_str().ok_or_else(|| wrong(format!("{name:?} is no name in UTF-8")))?;
            if !name.starts_with('.') {
                names.push(name.to_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Refuses a file of the folder that nothing reads but that looks as if it should be read.
    fn check_names(&self) -> Result<(), FolderError> {
        for name in self.names("")? {
            let known = ["schema.sql", "indexes.sql", OPTIONS];
            let is_for_dbms = |stem: &str| {
                let dbms = name.strip_prefix(stem).and_then(|rest| rest.strip_suffix(".sql"));
                dbms.is_some_and(|dbms| Dbms::ALL.iter().any(|known| known.name() == dbms))
            };
            let is_meant = name.ends_with(".sql") || name.ends_with(".toml");
            if is_meant
                && !known.contains(&name.as_str())
                && !["schema.", "indexes."].into_iter().any(is_for_dbms)
            {
                let all = ["schema", "indexes"]
                    .into_iter()
                    .flat_map(|stem| Dbms::ALL.map(|dbms| format!("{stem}.{dbms}.sql")));
                let all: Vec<String> = known.map(str::to_string).into_iter().chain(all).collect();
                let hint = suggestion(&name, all.iter().map(String::as_str));
                return Err(FolderError::new(&name, format!("nothing reads this file: {hint}")));
            }
        }
        Ok(())
    }

    /// What follows the name of a file that is for this DBMS, the first wins.
    fn suffixes(&self) -> Vec<String> {
        let names = [Some(self.dbms.name()), self.dbms.resembles()].into_iter().flatten();
        names.map(|name| format!(".{name}")).chain([String::new()]).collect()
    }

    /// `schema.sql`, or the one for this DBMS.
    fn script(&self, stem: &str) -> Result<Option<SqlScript>, FolderError> {
        let files = self.suffixes().into_iter().map(|suffix| format!("{stem}{suffix}.sql"));
        let found = files.into_iter().find(|it| self.root.join(it).symlink_metadata().is_ok());
        found.map(|file| self.checked_script(file)).transpose()
    }

    fn checked_script(&self, file: String) -> Result<SqlScript, FolderError> {
        let text = self.text(&file)?;
        for statement in StatementReader::new(&text, self.dialect.lexis) {
            let statement = statement.map_err(|wrong| FolderError::of_text(&file, wrong))?;
            check_allowed(&file, &statement)?;
            if let Some((placeholder, _)) = statement.placeholders.first() {
                let what = format!("'{placeholder}' is a placeholder, which only queries have");
                return Err(FolderError::of_text(&file, error(statement.line, &what)));
            }
        }
        Ok(SqlScript { file, text })
    }

    fn loads(&self) -> Result<Vec<LoadedFile>, FolderError> {
        let load = |name: String| {
            let file = format!("load/{name}");
            match name.rsplit_once('.') {
                Some((_, "sql")) => self.checked_script(file).map(LoadedFile::Sql),
                Some((stem, "csv")) => {
                    let rows = self.named_columns(&file)?;
                    Ok(LoadedFile::Csv { table: table(stem).to_string(), rows, file })
                }
                _ => Err(FolderError::new(&file, "it is not loaded. Write a file .sql or .csv")),
            }
        };
        self.names("load")?.into_iter().map(load).collect()
    }

    fn named_columns(&self, file: &str) -> Result<NamedColumns, FolderError> {
        NamedColumns::read(&self.text(file)?).map_err(|wrong| FolderError::of_text(file, wrong))
    }

    fn columns(&self) -> Result<BTreeMap<String, NamedColumns>, FolderError> {
        let read = |name: String| match name.ends_with(".csv") {
            true => Ok((name.clone(), self.named_columns(&format!("params/{name}"))?)),
            false => Err(FolderError::new(&format!("params/{name}"), "it is not a file .csv")),
        };
        self.names("params")?.into_iter().map(read).collect()
    }

    /// The queries for this DBMS, and the ids of others.
    fn queries(
        &self,
        options: &FolderOptions,
        columns: &BTreeMap<String, NamedColumns>,
    ) -> Result<(Vec<SqlQuery>, Vec<String>), FolderError> {
        let mut by_id: BTreeMap<String, Vec<Option<Dbms>>> = BTreeMap::new();
        for name in self.names(QUERIES)? {
            let wrong = |what: String| FolderError::new(&format!("{QUERIES}/{name}"), what);
            let stem = name.strip_suffix(".sql");
            let stem = stem.ok_or_else(|| wrong("it is not a file .sql".to_string()))?;
            let (id, dbms) = match stem.rsplit_once('.').map(|(id, name)| (id, name.parse())) {
                Some((id, Ok(dbms))) => (id, Some(dbms)),
                _ => (stem, None),
            };
            by_id.entry(checked_id(id).map_err(wrong)?.to_string()).or_default().push(dbms);
        }
        if by_id.is_empty() {
            return Err(FolderError::new(
                "",
                format!("'{}' has no queries/ID.sql", self.root.display()),
            ));
        }
        if by_id.len() > MOST_QUERIES {
            let what = format!("{} queries, but at most {MOST_QUERIES} are measured", by_id.len());
            return Err(FolderError::new(QUERIES, what));
        }
        let (mut queries, mut left_out): (Vec<SqlQuery>, Vec<String>) = Default::default();
        for (id, variants) in by_id {
            let suffix = self.suffixes().into_iter().find(|suffix| {
                let dbms = suffix.strip_prefix('.').and_then(|name| name.parse().ok());
                variants.contains(&dbms)
            });
            match suffix {
                Some(suffix) => {
                    let query =
                        self.query(&id, &format!("{QUERIES}/{id}{suffix}.sql"), options, columns)?;
                    match query.options.is_for(self.dbms, None) {
                        true => queries.push(query),
                        false => left_out.push(query.id),
                    }
                }
                None => left_out.push(id),
            }
        }
        check_together(options, &queries, &left_out)?;
        Ok((queries, left_out))
    }

    fn query(
        &self,
        name: &str,
        file: &str,
        options: &FolderOptions,
        columns: &BTreeMap<String, NamedColumns>,
    ) -> Result<SqlQuery, FolderError> {
        let wrong = |wrong| FolderError::of_text(file, wrong);
        let text = self.text(file)?;
        let mut own = QueryOptions::default();
        for entry in header(&text).map_err(wrong)? {
            own.set(&entry).map_err(wrong)?;
        }
        let id = own.id.clone().unwrap_or_else(|| name.to_string());
        let overrides: &[Entry] = options.queries.get(&id).map_or(&[], Vec::as_slice);
        for entry in overrides {
            own.set(entry).map_err(|wrong| FolderError::of_text(OPTIONS, wrong))?;
        }
        let statements = split(&text, self.dialect.lexis).map_err(wrong)?;
        if statements.is_empty() {
            return Err(FolderError::new(file, "it has no statement"));
        }
        for statement in &statements {
            check_allowed(file, statement)?;
        }
        let names: Vec<&str> = own.parameters.iter().map(|it| it.name.as_str()).collect();
        let bound = bind(&statements, &names).map_err(wrong)?;
        check_parameters(file, &own.parameters, &bound, columns)?;
        let class = own.class.unwrap_or_else(|| class(&statements));
        Ok(SqlQuery { id, file: file.to_string(), statements: bound, class, options: own })
    }
}

fn check_allowed(file: &str, statement: &SqlStatement<'_>) -> Result<(), FolderError> {
    match refusal(statement) {
        None => Ok(()),
        Some(what) => Err(FolderError::of_text(file, error(statement.line, &what))),
    }
}

/// The table of a file of rows: its name, without a number before it that orders the files.
fn table(stem: &str) -> &str {
    let rest = stem.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix(['-', '_']) {
        Some(name) if rest.len() < stem.len() && !name.is_empty() => name,
        _ => stem,
    }
}

/// What is not plainly one query counts as writing.
fn class(statements: &[SqlStatement<'_>]) -> Class {
    match statements {
        [one] if only_reads(one) => Class::Range,
        [one] if one.begins_with(&["insert"]) => Class::Insert,
        [one] if one.begins_with(&["update"]) => Class::Update,
        [one] if one.begins_with(&["delete"]) => Class::Delete,
        _ => Class::ReadWrite,
    }
}

/// Each parameter is used, and its values are of its type.
fn check_parameters(
    file: &str,
    parameters: &[QueryParameter],
    statements: &[Bound],
    columns: &BTreeMap<String, NamedColumns>,
) -> Result<(), FolderError> {
    for (place, parameter) in parameters.iter().enumerate() {
        let wrong = |what: &str| FolderError::of_text(file, error(parameter.line, what));
        let names = |later: &QueryParameter| match &later.source {
            ValueSource::Computed(expression) => {
                expression.variables().contains(&parameter.name.as_str())
            }
            _ => false,
        };
        let is_used = statements.iter().any(|statement| statement.parameters.contains(&place))
            || parameters[place + 1..].iter().any(names);
        if !is_used {
            return Err(wrong(&format!("the parameter '{}' is not used", parameter.name)));
        }
        match &parameter.source {
            ValueSource::Computed(expression) => {
                let known = parameters[..place].iter().map(|it| it.name.as_str());
                let known: Vec<&str> = known.chain(["default_seed"]).collect();
                if let Some(unknown) =
                    expression.variables().into_iter().find(|name| !known.contains(name))
                {
                    let hint = suggestion(unknown, known.iter().copied());
                    return Err(wrong(&format!(
                        "':{unknown}' is no parameter before this: {hint}"
                    )));
                }
            }
            ValueSource::Column { file: table, column } => {
                let rows = columns.get(table).ok_or_else(|| {
                    let hint = suggestion(table, columns.keys().map(String::as_str));
                    wrong(&format!("params/ has no file '{table}': {hint}"))
                })?;
                let column =
                    rows.names.iter().position(|name| name == column).ok_or_else(|| {
                        let hint = suggestion(column, rows.names.iter().map(String::as_str));
                        wrong(&format!("params/{table} has no column '{column}': {hint}"))
                    })?;
                let values =
                    rows.rows.iter().filter_map(|(line, row)| Some((line, row[column].as_ref()?)));
                let kind = parameter.kind;
                if let Some((line, value)) =
                    values.into_iter().find(|(_, value)| !kind.accepts(value))
                {
                    let what = format!("'{value}' is no value of type {}", kind.name());
                    return Err(FolderError::of_text(
                        &format!("params/{table}"),
                        error(*line, &what),
                    ));
                }
                if rows.rows.is_empty() {
                    return Err(FolderError::new(&format!("params/{table}"), "it has no rows"));
                }
            }
            ValueSource::Select(_) | ValueSource::Constant(_) => {}
        }
    }
    Ok(())
}

/// What can only be said of all queries together.
fn check_together(
    options: &FolderOptions,
    queries: &[SqlQuery],
    left_out: &[String],
) -> Result<(), FolderError> {
    let mut files: BTreeMap<String, &SqlQuery> = BTreeMap::new();
    for query in queries {
        if let Some(other) = files.insert(query.id.to_lowercase(), query) {
            let what = format!("its id '{}' is that of {}", query.id, other.file);
            return Err(FolderError::new(&query.file, what));
        }
    }
    let ids = || queries.iter().map(|query| &query.id).chain(left_out).map(String::as_str);
    if let Some(unknown) = options.queries.keys().find(|id| !ids().any(|known| known == *id)) {
        let what = format!("[query.{unknown}]: {}", suggestion(unknown, ids()));
        return Err(FolderError::new(OPTIONS, what));
    }
    match queries.iter().all(|query| query.options.weight == 0.0) && !queries.is_empty() {
        true => Err(FolderError::new(QUERIES, "all weights are 0. Then nothing is measured")),
        false => Ok(()),
    }
}
