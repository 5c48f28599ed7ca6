//! Reads a folder of schema, data and queries for one DBMS, and checks all that can be checked
//! without a server.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rqps_dbms::{Dialect, Lexis};
use rqps_plan::{Class, Dbms, ScaleFactor, suggestion};
use rqps_system::below;
use rqps_wire::{Connection, Error};

use super::csv::NamedColumns;
use super::dump::is_dump_folder;
use super::faults::{FaultNotes, FolderError, FolderFaults};
use super::lines::without_compression;
use super::loaded::{LoadedFile, RowsFile, RowsFormat};
use super::options::{Encoding, FolderOptions, NOT_UTF8};
use super::parameter::{QueryParameter, ValueSource};
use super::placeholders::{Bound, bind};
use super::query::{Entry, QueryOptions, SqlQuery, checked_id, header};
use super::refused::{NOT_IN_A_FOLDER, only_reads, refusal};
use super::script::SqlScript;
use super::single;
use super::statements::{SqlStatement, split};
use super::tokens::error;

/// Queries of a folder at most.
const MOST_QUERIES: usize = 4096;

/// A folder as one DBMS takes it.
#[derive(Clone, Debug)]
pub(crate) struct SqlFolder {
    pub(crate) name: String,
    pub(crate) days: Option<f64>,
    /// Run before the data are loaded, and after.
    pub(crate) schema: Option<SqlScript>,
    pub(crate) indexes: Option<SqlScript>,
    /// In their order.
    pub(crate) loads: Vec<LoadedFile>,
    /// Loaded after the files.
    pub(crate) rows: Option<MadeRows>,
    pub(crate) columns: BTreeMap<String, NamedColumns>,
    pub(crate) queries: Vec<SqlQuery>,
    /// The ids of queries that are for other DBMSs.
    pub(crate) left_out: Vec<String>,
}

/// The files of `params/`.
struct ParameterFiles {
    columns: BTreeMap<String, NamedColumns>,
    /// The names of those with faults.
    unread: Vec<String>,
}

/// A folder that rqps makes: its files by their paths, and rows that are in none of them.
pub(crate) struct MadeFolder {
    pub(crate) name: &'static str,
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) rows: MadeRows,
}

/// Rows that are made while they are loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MadeRows {
    pub(crate) scale: ScaleFactor,
    pub(crate) load: fn(ScaleFactor, &mut dyn Connection) -> Result<(), Error>,
}

const OPTIONS: &str = "workload.toml";
const QUERIES: &str = "queries";
const NOT_LOADED: &str =
    "it is not loaded. Write .sql or .csv, which may be compressed (.gz, .zst), .parquet or .dump";

/// How much of a folder is read: clients need no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderScope {
    Everything,
    WithoutData,
}

/// Reads a folder for a DBMS.
pub(crate) fn read(
    root: &Path,
    (dbms, dialect): (Dbms, Dialect),
    reading: FolderScope,
) -> Result<SqlFolder, FolderFaults> {
    let (encoding, files) = (Encoding::Utf8, None);
    let mut reader = Reader { root: root.to_path_buf(), dbms, dialect, encoding, files };
    if root.is_file() {
        return read_single(reader);
    }
    if !root.is_dir() {
        let what = format!("'{}' is not a folder, nor a file .toml", root.display());
        return Err(FolderError::new("", what).into());
    }
    let mut noted = FaultNotes::default();
    // A file that is wrong does not hide what is wrong in others.
    let options = noted.or_default(reader.options());
    reader.encoding = options.encoding;
    reader.read(&options, reading, noted)
}

/// Reads a folder that rqps makes for a DBMS.
pub(crate) fn read_made(
    made: MadeFolder,
    (dbms, dialect): (Dbms, Dialect),
) -> Result<SqlFolder, FolderFaults> {
    let MadeFolder { name, files, rows } = made;
    let (encoding, files) = (Encoding::Utf8, Some(files));
    let reader = Reader { root: PathBuf::from(name), dbms, dialect, encoding, files };
    let read =
        reader.read(&FolderOptions::default(), FolderScope::Everything, FaultNotes::default())?;
    Ok(SqlFolder { rows: Some(rows), ..read })
}

/// Reads a workload in one file, of which all faults are.
fn read_single(mut reader: Reader) -> Result<SqlFolder, FolderFaults> {
    let path = std::mem::take(&mut reader.root);
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let file = file.unwrap_or_default();
    reader.root = path.parent().map(Path::to_path_buf).unwrap_or_default();
    let text = reader.text(&file)?;
    let (files, options) =
        single::read(&text).map_err(|wrong| FolderError::of_text(&file, wrong))?;
    reader.files = Some(files);
    let noted = FaultNotes::default();
    let mut read = reader.read(&options, FolderScope::Everything, noted).map_err(
        |FolderFaults(mut all)| {
            all.iter_mut().for_each(|one| one.file.clone_from(&file));
            FolderFaults(all)
        },
    )?;
    let scripts = read.schema.iter_mut().chain(&mut read.indexes);
    scripts.for_each(|script| script.file.clone_from(&file));
    for load in &mut read.loads {
        match load {
            LoadedFile::Sql(script) => script.file.clone_from(&file),
            // A workload in one file has no files of rows.
            LoadedFile::Rows(_) => {}
        }
    }
    read.queries.iter_mut().for_each(|query| query.file.clone_from(&file));
    if options.name.is_none() {
        read.name = file.strip_suffix(".toml").unwrap_or(&file).to_string();
    }
    Ok(read)
}

struct Reader {
    root: PathBuf,
    dbms: Dbms,
    dialect: Dialect,
    encoding: Encoding,
    /// The files of a folder that is in one file, or only in this process.
    files: Option<BTreeMap<String, String>>,
}

impl Reader {
    fn options(&self) -> Result<FolderOptions, FolderError> {
        if !self.has(OPTIONS) {
            return Ok(FolderOptions::default());
        }
        let text = self.text(OPTIONS)?;
        FolderOptions::read(&text).map_err(|wrong| FolderError::of_text(OPTIONS, wrong))
    }

    fn read(
        &self,
        options: &FolderOptions,
        reading: FolderScope,
        mut noted: FaultNotes,
    ) -> Result<SqlFolder, FolderFaults> {
        noted.or_default(self.check_names());
        let schema = noted.or_default(self.script("schema"));
        let indexes = noted.or_default(self.script("indexes"));
        let loads = match reading {
            FolderScope::Everything => noted.or_default(self.names("load")),
            FolderScope::WithoutData => Vec::new(),
        };
        let loads = noted.each(loads.into_iter().map(|name| self.load(name)));
        let params = noted.or_default(self.names("params"));
        let read = |name: &String| Ok((name.clone(), self.column(name)?));
        let columns: BTreeMap<_, _> = noted.each(params.iter().map(read)).into_iter().collect();
        // Queries may name columns of files that could not be read.
        let unread = params.into_iter().filter(|name| !columns.contains_key(name)).collect();
        let params = ParameterFiles { columns, unread };
        let read = self.queries(options, &params, &mut noted);
        let (queries, left_out) = noted.or_default(read);
        let columns = params.columns;
        if !noted.0.is_empty() {
            return Err(FolderFaults(noted.0));
        }
        let own = self.root.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = options.name.clone().or(own).unwrap_or_else(|| "sql".to_string());
        let (rows, days) = (None, options.days);
        Ok(SqlFolder { name, days, schema, indexes, loads, rows, columns, queries, left_out })
    }

    /// The text of a file below the folder.
    fn text(&self, file: &str) -> Result<String, FolderError> {
        if let Some(text) = self.files.as_ref().and_then(|files| files.get(file)) {
            return Ok(text.clone());
        }
        let wrong = |what: String| FolderError::new(file, what);
        let bytes = fs::read(self.path(file)?);
        let bytes = bytes.map_err(|error| wrong(format!("cannot read it: {error}")))?;
        match self.encoding {
            Encoding::Latin1 => Ok(bytes.into_iter().map(char::from).collect()),
            Encoding::Utf8 => match String::from_utf8(bytes) {
                Ok(text) => Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text)),
                Err(error) => {
                    let byte = error.utf8_error().valid_up_to() + 1;
                    Err(wrong(format!("byte {byte} {NOT_UTF8}")))
                }
            },
        }
    }

    /// The path of a file below the folder.
    fn path(&self, file: &str) -> Result<PathBuf, FolderError> {
        let wrong = |what: String| FolderError::new(file, what);
        let path = below(&self.root, Path::new(file)).map_err(|error| wrong(error.to_string()))?;
        let is_file = path.metadata().map_err(|error| wrong(format!("cannot read it: {error}")))?;
        match is_file.is_file() {
            true => Ok(path),
            false => Err(wrong("it is not a file".to_string())),
        }
    }

    /// Whether there is such a file, or a symbolic link, which is then refused.
    fn has(&self, file: &str) -> bool {
        match &self.files {
            Some(files) => files.contains_key(file),
            None => self.root.join(file).symlink_metadata().is_ok(),
        }
    }

    /// The names in a folder below, sorted, without hidden ones; none if there is no such folder.
    fn names(&self, folder: &str) -> Result<Vec<String>, FolderError> {
        if let Some(files) = &self.files {
            let is_here = |file: &&String| file.rsplit_once('/').map_or("", |it| it.0) == folder;
            let name = |file: &String| file.rsplit('/').next().unwrap_or(file).to_string();
            return Ok(files.keys().filter(is_here).map(name).collect());
        }
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
            let ends = [".sql", ".toml"].into_iter().any(|end| name.ends_with(end));
            let begins = ["schema.", "indexes.", "workload."].into_iter();
            if (ends || begins.into_iter().any(|begin| name.starts_with(begin)))
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
        let found = files.into_iter().find(|file| self.has(file));
        found.map(|file| self.checked_script(file)).transpose()
    }

    fn checked_script(&self, file: String) -> Result<SqlScript, FolderError> {
        let made = self.files.as_ref().and_then(|files| files.get(&file));
        if let Some(text) = made {
            return self.checked(SqlScript::of_text(file, text.clone()));
        }
        let path = self.path(&file)?;
        self.checked(SqlScript::of_file(file, path, self.encoding))
    }

    /// It is read whole once, so that what is wrong in it is told before anything is loaded.
    fn checked(&self, mut script: SqlScript) -> Result<SqlScript, FolderError> {
        let lexis = self.dialect.lexis;
        script.bytes = script.each(lexis, &mut |statement, _| {
            check_allowed(&script.file, statement, lexis)?;
            let Some((placeholder, _)) = statement.placeholders.first() else { return Ok(()) };
            let what = format!("'{placeholder}' is a placeholder, which only queries have");
            Err(FolderError::of_text(&script.file, error(statement.line, &what)))
        })?;
        Ok(script)
    }

    fn load(&self, name: String) -> Result<LoadedFile, FolderError> {
        let file = format!("load/{name}");
        match without_compression(&name).rsplit_once('.') {
            _ if self.is_dump(&file) => self.restored(file).map(LoadedFile::Sql),
            Some((_, "sql")) => self.checked_script(file).map(LoadedFile::Sql),
            Some((stem, "csv")) => self.rows(file, stem, RowsFormat::Csv(self.encoding)),
            Some((stem, end @ "parquet")) if name.ends_with(end) => {
                self.rows(file, stem, RowsFormat::Parquet)
            }
            _ => Err(FolderError::new(&file, NOT_LOADED)),
        }
    }

    fn rows(&self, file: String, stem: &str, of: RowsFormat) -> Result<LoadedFile, FolderError> {
        let (path, table) = (self.path(&file)?, table(stem).to_string());
        RowsFile::checked((file, path), table, of).map(LoadedFile::Rows)
    }

    /// Whether it is in a format of pg_dump's own: a file, or a folder.
    fn is_dump(&self, file: &str) -> bool {
        file.ends_with(".dump") || is_dump_folder(&self.root.join(file))
    }

    fn restored(&self, file: String) -> Result<SqlScript, FolderError> {
        let wrong = |what: String| FolderError::new(&file, what);
        if self.dialect != Dialect::POSTGRES {
            return Err(wrong("only Postgres loads dumps of pg_restore".to_string()));
        }
        let path = below(&self.root, Path::new(&file)).map_err(|error| wrong(error.to_string()))?;
        self.checked(SqlScript::of_dump(file, path, self.encoding))
    }

    fn named_columns(&self, file: &str) -> Result<NamedColumns, FolderError> {
        NamedColumns::read(&self.text(file)?).map_err(|wrong| FolderError::of_text(file, wrong))
    }

    fn column(&self, name: &str) -> Result<NamedColumns, FolderError> {
        match name.ends_with(".csv") {
            true => self.named_columns(&format!("params/{name}")),
            false => Err(FolderError::new(&format!("params/{name}"), "it is not a file .csv")),
        }
    }

    /// The queries for this DBMS, and the ids of others.
    fn queries(
        &self,
        options: &FolderOptions,
        columns: &ParameterFiles,
        noted: &mut FaultNotes,
    ) -> Result<(Vec<SqlQuery>, Vec<String>), FolderError> {
        let names = self.names(QUERIES)?;
        let mut by_id: BTreeMap<String, Vec<Option<Dbms>>> = BTreeMap::new();
        for (id, dbms) in noted.each(names.iter().map(|name| id_and_dbms(name))) {
            by_id.entry(id.to_string()).or_default().push(dbms);
        }
        if names.is_empty() {
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
        let before = noted.0.len();
        for (id, variants) in by_id {
            let suffix = self.suffixes().into_iter().find(|suffix| {
                let dbms = suffix.strip_prefix('.').and_then(|name| name.parse().ok());
                variants.contains(&dbms)
            });
            match suffix {
                Some(suffix) => {
                    let file = format!("{QUERIES}/{id}{suffix}.sql");
                    let query = self.query(&id, &file, options, columns, noted);
                    for query in noted.each([query]) {
                        match query.options.is_for(self.dbms, None) {
                            true => queries.push(query),
                            false => left_out.push(query.id),
                        }
                    }
                }
                None => left_out.push(id),
            }
        }
        // What is missing would be taken for what was never there.
        if noted.0.len() == before {
            check_together(options, &queries, &left_out)?;
        }
        Ok((queries, left_out))
    }

    fn query(
        &self,
        name: &str,
        file: &str,
        options: &FolderOptions,
        columns: &ParameterFiles,
        noted: &mut FaultNotes,
    ) -> Result<SqlQuery, FolderError> {
        let wrong = |wrong| FolderError::of_text(file, wrong);
        let text = self.text(file)?;
        let mut own = QueryOptions::default();
        let before = noted.0.len();
        for entry in header(&text).map_err(wrong)? {
            noted.or_default(own.set(&entry).map_err(wrong));
        }
        // What follows would be told of a parameter that could not be read.
        if noted.0.len() > before
            && let Some(last) = noted.0.pop()
        {
            return Err(last);
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
        let lexis = self.dialect.lexis;
        let allowed = statements.iter().map(|statement| check_allowed(file, statement, lexis));
        noted.each(allowed);
        let names: Vec<&str> = own.parameters.iter().map(|it| it.name.as_str()).collect();
        let bound = bind(&statements, &names).map_err(wrong)?;
        check_parameters(file, &own.parameters, &bound, columns)?;
        let class = own.class.unwrap_or_else(|| class(&statements));
        Ok(SqlQuery { id, file: file.to_string(), statements: bound, class, options: own })
    }
}

/// What the name of a query's file says.
fn id_and_dbms(name: &str) -> Result<(&str, Option<Dbms>), FolderError> {
    let wrong = |what: String| FolderError::new(&format!("{QUERIES}/{name}"), what);
    let stem = name.strip_suffix(".sql");
    let stem = stem.ok_or_else(|| wrong("it is not a file .sql".to_string()))?;
    let (id, dbms) = match stem.rsplit_once('.').map(|(id, name)| (id, name.parse::<Dbms>())) {
        Some((id, Ok(dbms))) => (id, Some(dbms)),
        Some((_, Err(_))) => {
            let (_, suffix) = stem.rsplit_once('.').unwrap_or_default();
            let hint = suggestion(suffix, Dbms::ALL.map(Dbms::name));
            // Ids may have points, but not the name of a DBMS that is written wrongly.
            if hint.starts_with("did you mean") {
                return Err(wrong(format!("'{suffix}' is no DBMS: {hint}")));
            }
            (stem, None)
        }
        None => (stem, None),
    };
    Ok((checked_id(id).map_err(wrong)?, dbms))
}

fn check_allowed(
    file: &str,
    statement: &SqlStatement<'_>,
    lexis: Lexis,
) -> Result<(), FolderError> {
    let Some(what) = refusal(statement, lexis) else { return Ok(()) };
    Err(FolderError::of_text(file, error(statement.line, &format!("{what}{NOT_IN_A_FOLDER}"))))
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
    params: &ParameterFiles,
) -> Result<(), FolderError> {
    let columns = &params.columns;
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
            ValueSource::Column { file, .. } if params.unread.contains(file) => {}
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
