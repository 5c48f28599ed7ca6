//! Repositories of Debian packages that the user names in a file: `postgres@pgdg-17.6` is from the
//! one called `pgdg` there.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rqps_plan::{Dbms, SourceName, suggestion};
use rqps_system::{others_can_change, printable};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::catalog::{MAJOR, OPTIONAL, Package, Registry};
use super::error::{SourceError, at};
use super::repository::{ARMOURED, Repository, SCHEMES};
use super::store;
use crate::home::Home;

/// In rqps's home.
const FILE: &str = "sources.toml";
/// The keys of a repository, beside the packages of each DBMS.
const KEYS: [&str; 5] = ["uri", "suite", "components", "key", "base"];
/// The largest keyring.
const LARGEST_KEY: u64 = 1 << 20;

/// The file in which the user names repositories.
pub(super) fn file(home: &Home) -> PathBuf {
    home.root().join(FILE)
}

/// The packages of all repositories that the user named.
pub(super) fn packages(home: &Home) -> Result<Vec<Package>, SourceError> {
    let path = file(home);
    if !path.try_exists().map_err(at(&path))? {
        return Ok(Vec::new());
    }
    refuse_foreign(&path)?;
    let text = store::read_text(&path)?;
    let file = File { path: &path, text: &text };
    let mut packages = Vec::new();
    for repository in file.repositories()? {
        let repository = Arc::new(repository);
        packages.extend(repository.packages.iter().map(|(dbms, names)| Package {
            dbms: *dbms,
            registry: Registry::Named(repository.clone()),
            archs: &["x86_64", "aarch64"],
            name: names.join(" ").into(),
            series: None,
        }));
    }
    Ok(packages)
}

/// A user who can change the source of programs, or the keys for them, decides what runs.
fn refuse_foreign(path: &Path) -> Result<(), SourceError> {
    match others_can_change(path) {
        Some(found) => Err(SourceError::ForeignSources { file: path.to_path_buf(), found }),
        None => Ok(()),
    }
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

type Item<'a> = (&'a Spanned<Cow<'a, str>>, &'a Spanned<DeValue<'a>>);

impl File<'_> {
    fn repositories(&self) -> Result<Vec<Repository>, SourceError> {
        let table = DeTable::parse(self.text).map_err(|error| {
            self.error(error.span().unwrap_or_default(), error.message().to_string())
        })?;
        let mut all: Vec<Item> = table.get_ref().iter().collect();
        all.sort_by_key(|(name, _)| name.span().start);
        all.into_iter().map(|item| self.repository(item)).collect()
    }

    fn repository(&self, (name, value): Item) -> Result<Repository, SourceError> {
        let at = name.span();
        let name = SourceName::new(name.get_ref())
            .map_err(|error| self.error(at.clone(), error.to_string()))?;
        let Some(table) = value.get_ref().as_table() else {
            let reason = format!("the settings of a source belong below [{}]", name.as_str());
            return Err(self.error(at, reason));
        };
        let dbms = |key: &str| Dbms::ALL.into_iter().find(|dbms| dbms.name() == key);
        let served = || Dbms::ALL.into_iter().filter(|dbms| !dbms.is_embedded());
        for (key, _) in table {
            let is_dbms = dbms(key.get_ref()).is_some_and(|dbms| !dbms.is_embedded());
            if !is_dbms && !KEYS.contains(&&**key.get_ref()) {
                let known = KEYS.into_iter().chain(served().map(Dbms::name));
                let hint = suggestion(key.get_ref(), known);
                let reason = format!("unknown key '{}': {hint}", shown(key.get_ref()));
                return Err(self.error(key.span(), reason));
            }
        }
        let missing = |key| self.error(at.clone(), format!("[{}] has no {key}", name.as_str()));
        let one = |key| table.get(key).map(|value| self.text_of(value, key)).transpose();
        let (uri, span) = one("uri")?.ok_or_else(|| missing("uri"))?;
        self.check_uri(&uri, span)?;
        let (suite, span) = one("suite")?.ok_or_else(|| missing("suite"))?;
        self.check(&suite, span.clone(), is_word)?;
        let components = self.list(table, "components")?;
        for (component, span) in &components {
            self.check(component, span.clone(), is_word)?;
        }
        if components.is_empty() != suite.ends_with('/') {
            let reason = "a suite needs components, as in components = [\"main\"]; one that ends with \
                          a slash is a folder and has none";
            return Err(self.error(span, reason.to_string()));
        }
        let base = one("base")?;
        if let Some((base, span)) = &base {
            self.check(base, span.clone(), is_word)?;
        }
        let (key, span) = one("key")?.ok_or_else(|| missing("key"))?;
        let key = self.key(&key, span)?;
        let mut packages = Vec::new();
        for dbms in served() {
            let names = self.list(table, dbms.name())?;
            for (index, (package, span)) in names.iter().enumerate() {
                self.check(package, span.clone(), |name| is_package(name, index == 0))?;
            }
            if !names.is_empty() {
                packages.push((dbms, names.into_iter().map(|(name, _)| name).collect()));
            }
        }
        if packages.is_empty() {
            let reason = format!(
                "[{}] has no packages of a DBMS. Name them, as in postgres = \
                 [\"postgresql-{MAJOR}\", \"postgresql-client-{MAJOR}\"]",
                name.as_str()
            );
            return Err(self.error(at, reason));
        }
        let components = components.into_iter().map(|(component, _)| component).collect();
        let base = base.map(|(base, _)| base);
        Ok(Repository { name, uri, suite, components, key, base, packages })
    }

    fn text_of(
        &self,
        value: &Spanned<DeValue>,
        key: &str,
    ) -> Result<(String, Range<usize>), SourceError> {
        match value.get_ref() {
            DeValue::String(text) => Ok((text.to_string(), value.span())),
            _ => Err(self.error(value.span(), format!("{key} must be a string in quotes"))),
        }
    }

    fn list(&self, table: &DeTable, key: &str) -> Result<Vec<(String, Range<usize>)>, SourceError> {
        let Some(value) = table.get(key) else { return Ok(Vec::new()) };
        match value.get_ref() {
            DeValue::Array(list) => list.iter().map(|one| self.text_of(one, key)).collect(),
            _ => {
                Err(self.error(value.span(), format!("{key} must be a list of strings in quotes")))
            }
        }
    }

    /// The contents of the key file, whose path is relative to this file.
    fn key(&self, key: &str, span: Range<usize>) -> Result<Vec<u8>, SourceError> {
        let path = self.path.with_file_name(key);
        let failed = |reason: String| {
            self.error(span.clone(), format!("the key '{}' {reason}", path.display()))
        };
        let opened = fs::File::open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed("does not exist".to_string()),
            _ => failed(format!("cannot be read: {error}")),
        })?;
        refuse_foreign(&path)?;
        let mut bytes = Vec::new();
        let read = opened.take(LARGEST_KEY).read_to_end(&mut bytes);
        read.map_err(|error| failed(format!("cannot be read: {error}")))?;
        // RFC 9580, 4.2: the first bit of a packet is set, and the next bits have its kind, in two
        // ways.
        let kind = bytes.first().map(|first| match first & 0xC0 {
            0xC0 => first & 0x3F,
            0x80 => (first >> 2) & 0x0F,
            _ => 0,
        });
        const PUBLIC_KEY: u8 = 6;
        match bytes.starts_with(ARMOURED) || kind == Some(PUBLIC_KEY) {
            true => Ok(bytes),
            false => Err(failed(
                "is not an OpenPGP public key. 'gpg --export' writes one; published .asc and .gpg files \
                 are such keys"
                    .to_string(),
            )),
        }
    }

    fn check_uri(&self, uri: &str, span: Range<usize>) -> Result<(), SourceError> {
        let is_known = SCHEMES.iter().any(|(scheme, _)| uri.starts_with(scheme));
        if !is_known {
            let reason =
                format!("'{}' does not begin with https://, http:// or file:/", shown(uri));
            return Err(self.error(span, reason));
        }
        let authority = uri.split_once("://").map_or("", |(_, rest)| rest);
        if authority.split('/').next().is_some_and(|host| host.contains('@')) {
            let reason =
                "the address contains a login, which would be shown. Put it in apt's auth.conf"
                    .to_string();
            return Err(self.error(span, reason));
        }
        self.check(uri, span, |uri| uri.chars().all(|c| c.is_ascii_graphic()))
    }

    fn check(
        &self,
        text: &str,
        span: Range<usize>,
        is_allowed: impl Fn(&str) -> bool,
    ) -> Result<(), SourceError> {
        match is_allowed(text) {
            true => Ok(()),
            false => {
                let reason = format!("'{}' is not a value that apt takes here", shown(text));
                Err(self.error(span, reason))
            }
        }
    }

    fn error(&self, span: Range<usize>, reason: String) -> SourceError {
        let before = self.text.bytes().take(span.start);
        let line = 1 + before.filter(|byte| *byte == b'\n').count();
        SourceError::Sources { file: self.path.to_path_buf(), line, reason }
    }
}

/// Printable, in one line.
fn shown(text: &str) -> String {
    let in_line = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    printable(&text.chars().map(in_line).collect::<String>()).to_string()
}

/// A suite or a component.
fn is_word(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._/~+:-".contains(c);
    !text.is_empty() && text.chars().all(is_allowed)
}

/// A package's name (Debian Policy, 5.6.1), with the placeholder for a part of it. The server's
/// package cannot be optional.
fn is_package(name: &str, is_servers: bool) -> bool {
    let name = name.strip_suffix(OPTIONAL).filter(|_| !is_servers).unwrap_or(name);
    let plain = name.replacen(MAJOR, "0", 1);
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
    plain.starts_with(|c: char| c.is_ascii_alphanumeric()) && plain.chars().all(is_allowed)
}
