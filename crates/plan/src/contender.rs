//! What is measured: `[LABEL=]<dbms>[@<build>][/<engine>][:<config>][?<setting>=<value>&…]`, or
//! `postgres://…`, `mysql://…` or `mariadb://…` for a remote server, with `set.<setting>=<value>`
//! for what its sessions set and `place=@<file>` for what changes its tables among the parameters.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::build::{Build, IMAGE, is_path, parse_build, parse_image, split_engine, split_part};
use crate::contender_error::ContenderError;
use crate::dbms::Dbms;
use crate::nearest::suggestion;

/// The beginning of a URL's parameter that each session sets.
const SET: &str = "set.";
/// The beginning of a URL's parameter with a file of statements for its tables.
const PLACE: &str = "place=";

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Contender {
    pub label: Option<String>,
    pub dbms: Dbms,
    pub build: Build,
    pub engine: Option<String>,
    /// A named config, or the path of one (it starts with `.` or `/`).
    pub config: Option<String>,
    /// Of the server, or, of a remote one, of each session: those as they stand in the URL.
    pub settings: Vec<(String, String)>,
    /// A file with statements that change the tables of a remote server after each load.
    pub place: Option<PathBuf>,
}

impl Contender {
    /// Whether rqps starts it as one or several processes of its own.
    pub fn has_own_processes(&self) -> bool {
        !self.dbms.is_embedded() && !self.is_remote()
    }

    /// Whether it is a server that rqps did not start.
    pub fn is_remote(&self) -> bool {
        matches!(self.build, Build::Server { .. })
    }

    /// Whether both are one server: they differ in settings of their sessions and in places alone.
    pub fn is_same_url(&self, other: &Contender) -> bool {
        match (&self.build, &other.build) {
            (Build::Server { url }, Build::Server { url: of_other }) => {
                without_password(url) == without_password(of_other)
            }
            _ => false,
        }
    }

    /// Its name in tables and reports: the label, or else the contender as written.
    pub fn name(&self) -> String {
        self.label.clone().unwrap_or_else(|| self.spec())
    }

    /// The contender without its label.
    pub fn spec(&self) -> String {
        if let Build::Server { url } = &self.build {
            let mut text = without_password(url);
            let set = self.settings.iter().map(|(name, value)| format!("{SET}{name}={value}"));
            let place = self.place.iter().map(|file| format!("{PLACE}@{}", file.display()));
            for parameter in set.chain(place) {
                text.push(if text.contains('?') { '&' } else { '?' });
                text.push_str(&parameter);
            }
            return text;
        }
        let mut text = format!("{}{}", self.dbms, self.build);
        for (mark, part) in [('/', &self.engine), (':', &self.config)] {
            if let Some(part) = part {
                text.push(mark);
                text.push_str(part);
            }
        }
        for (index, (name, value)) in self.settings.iter().enumerate() {
            text.push(if index == 0 { '?' } else { '&' });
            text.push_str(&format!("{name}={value}"));
        }
        text
    }
}

/// Refuses two contenders that would have the same name in every table.
pub fn check_names(contenders: &[Contender]) -> Result<(), ContenderError> {
    for (index, contender) in contenders.iter().enumerate() {
        if contenders[..index].iter().any(|earlier| earlier.name() == contender.name()) {
            return Err(ContenderError::Twice(contender.name()));
        }
    }
    Ok(())
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(label) = &self.label {
            write!(f, "{label}=")?;
        }
        f.write_str(&self.spec())
    }
}

impl From<Contender> for String {
    fn from(contender: Contender) -> String {
        contender.to_string()
    }
}

impl TryFrom<String> for Contender {
    type Error = ContenderError;
    fn try_from(text: String) -> Result<Self, ContenderError> {
        text.parse()
    }
}

impl FromStr for Contender {
    type Err = ContenderError;

    fn from_str(text: &str) -> Result<Self, ContenderError> {
        if let Some(steering) = text.chars().find(|c| !is_printable(*c)) {
            return Err(ContenderError::Unprintable(steering));
        }
        let (label, spec) = split_label(text)?;
        if is_path(spec) {
            return Err(ContenderError::NoDbms(spec.to_string()));
        }
        if let Some((scheme, _)) = spec.split_once("://") {
            let dbms = Dbms::of_scheme(scheme)?;
            let (spec, place) = split_place(spec)?;
            let (url, settings) = split_session(&spec)?;
            return Ok(Contender {
                label,
                dbms,
                build: Build::Server { url },
                engine: None,
                config: None,
                settings,
                place,
            });
        }
        let (spec, settings) = match spec.split_once('?') {
            Some((spec, settings)) => (spec, parse_settings(settings)?),
            None => (spec, Vec::new()),
        };
        let (dbms, build, engine, config) = parts(spec)?;
        if config == Some("") || engine == Some("") {
            return Err(ContenderError::Empty(text.to_string()));
        }
        if let Some(engine) = engine
            && !dbms.engines().contains(&engine)
        {
            let hint = match dbms.engines() {
                [] => "it has only one engine, which is not named".to_string(),
                engines => suggestion(engine, engines.iter().copied()),
            };
            return Err(ContenderError::Engine { dbms, engine: engine.to_string(), hint });
        }
        Ok(Contender {
            label,
            dbms,
            build,
            engine: engine.map(str::to_string),
            config: config.map(str::to_string),
            settings,
            place: None,
        })
    }
}

/// Whether a line of a table can show it.
pub fn is_printable(c: char) -> bool {
    let mut buffer = [0; 4];
    let text: &str = c.encode_utf8(&mut buffer);
    !c.is_control() && rqps_system::printable(text) == text
}

/// `postgres://ann:secret@host/db` as `postgres://ann@host/db`.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_string() };
    let (user, rest) = match login_end(rest) {
        Some(end) => {
            let login = &rest[..end];
            (login.split_once(':').map_or(login, |(user, _)| user), &rest[end..])
        }
        None => ("", rest),
    };
    // Other clients have such parameters; rqps has not.
    let is_shown = |pair: &&str| !pair.split('=').next().is_some_and(|key| key.contains("pass"));
    let rest = match rest.split_once('?') {
        Some((address, query)) => {
            let shown: Vec<&str> = query.split('&').filter(is_shown).collect();
            let mark = if shown.is_empty() { "" } else { "?" };
            format!("{address}{mark}{}", shown.join("&"))
        }
        None => rest.to_string(),
    };
    format!("{scheme}://{user}{rest}")
}

/// A URL without the parameters that begin so, and the rest of each of these.
fn split_parameters<'a>(url: &'a str, start: &str) -> (String, Vec<&'a str>) {
    let whole = || (url.to_string(), Vec::new());
    let Some((address, query)) = url.split_once('?') else { return whole() };
    let (taken, others): (Vec<&str>, Vec<&str>) =
        query.split('&').partition(|pair| pair.starts_with(start));
    if taken.is_empty() {
        return whole();
    }
    let mark = if others.is_empty() { "" } else { "?" };
    let taken = taken.into_iter().map(|pair| &pair[start.len()..]).collect();
    (format!("{address}{mark}{}", others.join("&")), taken)
}

/// A URL without what its sessions set, and that.
fn split_session(url: &str) -> Result<(String, Vec<(String, String)>), ContenderError> {
    let (url, set) = split_parameters(url, SET);
    let settings = if set.is_empty() { Vec::new() } else { parse_settings(&set.join("&"))? };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    match settings.iter().find(|(name, _)| !name.chars().all(is_name)) {
        Some((name, _)) => Err(ContenderError::SettingName(name.clone())),
        None => Ok((url, settings)),
    }
}

/// A URL without the file of its place, and that.
fn split_place(url: &str) -> Result<(String, Option<PathBuf>), ContenderError> {
    let (url, places) = split_parameters(url, PLACE);
    match places.iter().map(|place| place.strip_prefix('@')).collect::<Vec<_>>()[..] {
        [] => Ok((url, None)),
        [Some(file)] if !file.is_empty() => Ok((url, Some(PathBuf::from(file)))),
        _ => Err(ContenderError::Place(places.join(" "))),
    }
}

/// Where user and password of a URL end, at the `@` before the host. Behind a password with a `/`,
/// `?` or `#` of its own it is further on: such a URL cannot be used, but its password must not be
/// shown.
fn login_end(rest: &str) -> Option<usize> {
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    authority.rfind('@').or_else(|| {
        let (_, port) = authority.split_once(':')?;
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        let within = if is_port { rest.split('?').next()? } else { rest };
        within.rfind('@')
    })
}

/// `LABEL=` is a label only before every part that can contain an equals sign.
fn split_label(text: &str) -> Result<(Option<String>, &str), ContenderError> {
    let Some((label, spec)) = text.split_once('=') else { return Ok((None, text)) };
    if label.contains(['@', '/', ':', '?']) {
        return Ok((None, text));
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || ".+-_".contains(c);
    if label.is_empty() || !label.chars().all(allowed) {
        return Err(ContenderError::Label(label.to_string()));
    }
    Ok((Some(label.to_string()), spec))
}

/// A DBMS, a build of it, an engine and a config.
type Parts<'a> = (Dbms, Build, Option<&'a str>, Option<&'a str>);

fn parts(spec: &str) -> Result<Parts<'_>, ContenderError> {
    if let Some((dbms, image)) = spec.split_once(IMAGE) {
        let dbms = dbms.parse()?;
        let (build, engine, config) = parse_image(dbms, image)?;
        return Ok((dbms, build, engine, config));
    }
    let (spec, config) = split_part(spec, ':');
    Ok(match spec.split_once('@') {
        Some((dbms, build)) => {
            let dbms = dbms.parse()?;
            let (build, engine) = split_engine(dbms, build);
            (dbms, parse_build(dbms, build)?, engine, config)
        }
        None => {
            let (dbms, engine) = split_part(spec, '/');
            (dbms.parse()?, Build::Any, engine, config)
        }
    })
}

fn parse_settings(text: &str) -> Result<Vec<(String, String)>, ContenderError> {
    let mut settings: Vec<(String, String)> = Vec::new();
    for setting in text.split('&') {
        let (name, value) = match setting.split_once('=') {
            Some((name, value)) if !name.is_empty() => (name, value),
            _ => return Err(ContenderError::SettingWithoutValue(setting.to_string())),
        };
        if settings.iter().any(|(earlier, _)| earlier == name) {
            return Err(ContenderError::SettingTwice(name.to_string()));
        }
        settings.push((name.to_string(), value.to_string()));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    fn parse(text: &str) -> Contender {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn error(text: &str) -> String {
        text.parse::<Contender>().expect_err(text).to_string()
    }

    #[test]
    fn every_form_of_the_design_parses_and_prints_itself() {
        for text in [
            "sqlite",
            "sqlite?journal_mode=wal",
            "postgres",
            "postgres@system",
            "postgres@18.0",
            "postgres@maven-9.6.24",
            "postgres@18.0:x10d",
            "postgres@17.6:x10a?wal_compression=on&work_mem=64MB",
            "postgres@17.6:./my.conf",
            "postgres@/opt/pg/head",
            "again=postgres@17.6",
            "postgres://user@host:5432/db?connect_timeout=3",
            "big=postgres://user@host/db?set.work_mem=64MB",
            "mysql://root@h/?ssl-ca=ca.pem&set.sort_buffer_size=4194304&set.a=x=on,y=off",
            "noidx=postgres://user@host/db?sslmode=disable&set.jit=off&place=@./noidx.sql",
            "mysql@8.0.33",
            "mysql@5.6.14",
            "mysql@8.0.33/innodb:z12a",
            "mariadb/rocksdb",
            "mariadb@11.4.5",
            "mariadb@10.11/rocksdb:za1",
            "mariadb@debian-10.11/rocksdb",
            "mysql@/opt/mysql/8.0/rocksdb",
            "mysql://root@127.0.0.1:3306/test",
            "mariadb://root@localhost/test",
        ] {
            assert_eq!(parse(text).to_string(), text);
        }
    }

    #[test]
    fn the_parts_are_told_apart() {
        let contender = parse("pglz=postgres@npm-17.6:x10a?wal_compression=pglz");
        assert_eq!(contender.label.as_deref(), Some("pglz"));
        assert_eq!(contender.dbms, Dbms::Postgres);
        let version = "17.6".to_string();
        assert_eq!(contender.build, Build::Version { source: Some(Source::Npm), version });
        assert_eq!(contender.config.as_deref(), Some("x10a"));
        assert_eq!(contender.settings, [("wal_compression".to_string(), "pglz".to_string())]);
    }

    #[test]
    fn an_unknown_engine_is_answered_with_the_nearest() {
        assert_eq!(
            error("mysql@8.0.33/rocks"),
            "'mysql' has no engine 'rocks': did you mean 'rocksdb'? (there are: innodb, rocksdb)"
        );
    }

    #[test]
    fn the_scheme_of_a_url_is_its_dbms() {
        for (url, dbms) in [
            ("postgresql://host/db", Dbms::Postgres),
            ("mysql://ann:s3cret@host/db", Dbms::Mysql),
            ("mariadb://host:3307/db", Dbms::Mariadb),
        ] {
            let contender = parse(url);
            assert_eq!(contender.dbms, dbms);
            assert_eq!(contender.build, Build::Server { url: url.to_string() });
        }
        assert_eq!(parse("mysql://ann:s3cret@host/db").to_string(), "mysql://ann@host/db");
    }

    #[test]
    fn a_password_is_kept_and_not_shown() {
        let contender = parse("prod=postgres://ann:s3cret@host:5432/db?sslmode=disable");
        let shown = "prod=postgres://ann@host:5432/db?sslmode=disable";
        assert_eq!(contender.to_string(), shown);
        assert!(matches!(contender.build, Build::Server { url } if url.contains("s3cret")));
        for (url, shown) in [
            ("postgres://h/a:b@c", "postgres://h/a:b@c"),
            ("postgres://h:5432/d?host=/run/pg@16", "postgres://h:5432/d?host=/run/pg@16"),
            ("mysql://ann:s3/cret@host/db", "mysql://ann@host/db"),
            ("mysql://ann:s3?cr@et@host/db", "mysql://ann@host/db"),
            ("mysql://ann:5/cret@host/db", "mysql://ann@host/db"),
            ("postgres://ann@host/db?password=s3cret", "postgres://ann@host/db"),
        ] {
            assert_eq!(parse(url).to_string(), shown);
        }
    }

    #[test]
    fn what_sessions_set_and_a_place_are_no_part_of_the_url() {
        let text = "postgres://ann:s3cret@h/db?set.work_mem=64MB&sslmode=disable&set.jit=off";
        let contender = parse(text);
        let url = "postgres://ann:s3cret@h/db?sslmode=disable".to_string();
        assert_eq!(contender.build, Build::Server { url });
        let settings = [("work_mem", "64MB"), ("jit", "off")];
        assert_eq!(contender.settings, settings.map(|(a, b)| (a.to_string(), b.to_string())));
        let shown = "postgres://ann@h/db?sslmode=disable&set.work_mem=64MB&set.jit=off";
        assert_eq!(contender.to_string(), shown);
        let other = parse("postgres://ann@h/db?sslmode=disable");
        assert!(contender.is_same_url(&other) && !contender.is_same_url(&parse("postgres")));
        let place = parse("postgres://ann@h/db?place=@no idx.sql&sslmode=disable");
        assert!(place.is_same_url(&other) && place.place == Some(PathBuf::from("no idx.sql")));
        assert!(!other.is_same_url(&parse("postgres://ann@h/other?sslmode=disable")));
        for (text, says) in [
            ("postgres://h/d?set.jit", "no value"),
            ("postgres://h/d?set.=1", "no value"),
            ("postgres://h/d?set.jit=on&set.jit=off", "twice"),
            ("postgres://h/d?set.a;b=1", "only letters"),
            ("postgres://h/d?place=b.sql", "place=@FILE once"),
            ("postgres://h/d?place=@", "place=@FILE once"),
            ("postgres://h/d?place=@a&place=@b", "place=@FILE once"),
        ] {
            assert!(error(text).contains(says), "{text}: {}", error(text));
        }
    }

    #[test]
    fn an_unknown_dbms_is_answered_with_the_nearest() {
        assert_eq!(
            error("postgers@17.6"),
            "unknown DBMS 'postgers': did you mean 'postgres'? \
             (there are: sqlite, postgres, mysql, mariadb, rocksdb)"
        );
    }

    #[test]
    fn malformed_contenders_are_refused() {
        assert!(error("postgres@").contains("empty part"));
        assert!(error("postgres:").contains("empty part"));
        assert!(error("postgres@17.6/heap").contains("only one engine"));
        assert!(error("sqlite?journal_mode").contains("no value"));
        assert!(error("sqlite?cache_size=1&cache_size=2").contains("twice"));
        assert!(error("sqlite@3.50").contains("part of rqps"));
        assert!(error("a b=sqlite").contains("label"));
        assert!(error("=sqlite").contains("label"));
        assert!(error("a=/opt/pg").contains("'/opt/pg' names no DBMS"));
        for text in ["a\x1b=sqlite", "sqlite?x=\n", "postgres@/opt/\u{202e}gp", "postgres://h/\x07"]
        {
            assert!(error(text).contains("which no table can show"));
        }
    }

    #[test]
    fn two_contenders_need_two_names() {
        let same = [parse("sqlite"), parse("sqlite")];
        assert!(check_names(&same).unwrap_err().to_string().contains("again=sqlite"));
        let labelled = [parse("sqlite"), parse("again=sqlite")];
        assert_eq!(check_names(&labelled), Ok(()));
    }
}
