//! How a contender names a build, behind the `@`.

use std::fmt;
use std::path::PathBuf;

use crate::contender_error::ContenderError;
use crate::dbms::Dbms;
use crate::source::Source;

/// What stands before an image.
pub(crate) const IMAGE: &str = "@image:";

/// A build of a DBMS as the user names it, before it is looked up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Build {
    /// None is named: that of the system, else the newest that can be fetched.
    Any,
    /// The version that the operating system has installed.
    System,
    /// A version, from a given source or from the first that has it.
    Version { source: Option<Source>, version: String },
    /// A directory of the user's own with `bin/` in it.
    Path(PathBuf),
    /// A container's image: the path of a file with it (it starts as paths do), or its name in an
    /// engine.
    Image(String),
    /// A remote server, to which rqps only connects. The URL may hold a password, which is never
    /// printed or stored. The settings of its sessions are not part of it.
    Server { url: String },
}

/// As in a contender, with the mark before it; nothing for a server, whose contender is its URL.
impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Build::Any | Build::Server { .. } => Ok(()),
            Build::System => f.write_str("@system"),
            Build::Version { source: None, version } => write!(f, "@{version}"),
            Build::Version { source: Some(source), version } => write!(f, "@{source}-{version}"),
            Build::Path(path) => write!(f, "@{}", path.display()),
            Build::Image(image) => write!(f, "{IMAGE}{image}"),
        }
    }
}

/// Whether a build or config is given as a path rather than by name.
pub fn is_path(name: &str) -> bool {
    name.starts_with(['/', '.', '~'])
}

/// A path contains slashes, so only the name of a known engine ends it.
pub(crate) fn split_engine(dbms: Dbms, build: &str) -> (&str, Option<&str>) {
    match is_path(build) {
        true => split_known_engine(dbms, build),
        false => split_part(build, '/'),
    }
}

fn split_known_engine(dbms: Dbms, build: &str) -> (&str, Option<&str>) {
    match build.rsplit_once('/') {
        Some((build, engine)) if dbms.engines().contains(&engine) => (build, Some(engine)),
        _ => (build, None),
    }
}

pub(crate) fn parse_build(dbms: Dbms, build: &str) -> Result<Build, ContenderError> {
    if build.is_empty() {
        return Err(ContenderError::Empty(format!("{dbms}@")));
    }
    if is_path(build) {
        return Ok(Build::Path(PathBuf::from(build)));
    }
    if build == Source::System.name() {
        return Ok(Build::System);
    }
    // No registry has libraries of it.
    if dbms.is_bundled() && !build.starts_with("src-") {
        return Err(ContenderError::SqliteBuild(build.to_string()));
    }
    // Sources are looked up later, since a file defines those of the user. In front of a name that
    // is no version, only a built-in source can be meant.
    if let Some((name, version)) = build.split_once('-')
        && let Ok(source) = name.parse::<Source>()
        && (!matches!(source, Source::Named(_))
            || version.starts_with(|c: char| c.is_ascii_digit()))
    {
        if source == Source::Image {
            return Err(ContenderError::ImageVersion(version.to_string()));
        }
        return Ok(Build::Version { source: Some(source), version: version.to_string() });
    }
    Ok(Build::Version { source: None, version: build.to_string() })
}

/// An image with the engine and the config behind it. A path ends as those of builds do. In a name
/// the first colon is before the tag, or before the port of a registry.
pub(crate) fn parse_image(
    dbms: Dbms,
    text: &str,
) -> Result<(Build, Option<&str>, Option<&str>), ContenderError> {
    if !dbms.has_server() {
        let servers = Dbms::ALL.into_iter().filter(|dbms| dbms.has_server()).map(Dbms::name);
        return Err(ContenderError::NoServer(dbms, servers.collect::<Vec<_>>().join(", ")));
    }
    let end = if is_path(text) { text.find(':') } else { name_end(dbms, text) };
    let (image, rest) = text.split_at(end.unwrap_or(text.len()));
    let (image, engine) = split_known_engine(dbms, image);
    let config = rest.strip_prefix(':');
    if image.is_empty() || !(is_path(image) || is_name(image)) {
        return Err(ContenderError::Image(image.to_string()));
    }
    Ok((Build::Image(image.to_string()), engine, config))
}

/// Where `[HOST[:PORT]/]NAME[:TAG][@DIGEST][/ENGINE]` ends; none at the end of the text.
fn name_end(dbms: Dbms, text: &str) -> Option<usize> {
    let (first, rest) = text.split_once('/').unwrap_or((text, ""));
    let is_port = |(_, port): (&str, &str)| port.bytes().all(|byte| byte.is_ascii_digit());
    let is_engine = |name: &str| dbms.engines().contains(&name);
    let has_port = first.split_once(':').is_some_and(is_port)
        && !rest.is_empty()
        && !is_engine(rest.split(':').next().unwrap_or_default());
    let start = if has_port { first.len() + 1 } else { 0 };
    let is_digest = |at: usize| text[..at].ends_with("@sha256");
    let colons = text[start..].match_indices(':').map(|(at, _)| start + at);
    let mut colons = colons.filter(|at| !is_digest(*at));
    // Behind a digest, a colon begins the config; else the first one begins the tag.
    let tag = colons.next()?;
    match text[..tag].contains("@sha256:") {
        true => Some(tag),
        false => colons.next(),
    }
}

/// Whether an engine can have an image of this name (distribution's grammar of references, which
/// has more rules); it is never taken for an option.
fn is_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(is_allowed)
}

pub(crate) fn split_part(text: &str, mark: char) -> (&str, Option<&str>) {
    match text.split_once(mark) {
        Some((head, tail)) => (head, Some(tail)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::Contender;
    use crate::source::SourceName;

    fn parse(text: &str) -> Contender {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_source_is_what_stands_before_the_first_dash_and_a_digit() {
        let named = |name| Some(Source::Named(SourceName::new(name).unwrap()));
        for (build, source, version) in [
            ("src-17.6", Some(Source::Src), "17.6"),
            ("debian-15.18", Some(Source::Debian), "15.18"),
            ("pgdg-17.6", named("pgdg"), "17.6"),
            ("pgdg-17.6-1", named("pgdg"), "17.6-1"),
            ("p2-17", named("p2"), "17"),
            ("17.6-beta.1", None, "17.6-beta.1"),
            ("7zip-17", None, "7zip-17"),
            ("pgdg-head", None, "pgdg-head"),
            ("PGDG-17", None, "PGDG-17"),
            ("pg.dg-17", None, "pg.dg-17"),
        ] {
            let version = version.to_string();
            let contender = parse(&format!("postgres@{build}"));
            assert_eq!(contender.build, Build::Version { source, version }, "{build}");
            assert_eq!(contender.to_string(), format!("postgres@{build}"));
        }
    }

    #[test]
    fn an_engine_is_told_from_the_end_of_a_path() {
        let version = |version: &str| Build::Version { source: None, version: version.to_string() };
        let path = |path: &str| Build::Path(PathBuf::from(path));
        for (text, build, engine) in [
            ("mariadb@10.11/rocksdb:za1", version("10.11"), Some("rocksdb")),
            ("mysql@8.0.33", version("8.0.33"), None),
            ("mysql/rocksdb", Build::Any, Some("rocksdb")),
            ("mysql@/opt/mysql/8.0/rocksdb", path("/opt/mysql/8.0"), Some("rocksdb")),
            ("mysql@/opt/mysql/8.0/rocks", path("/opt/mysql/8.0/rocks"), None),
        ] {
            let contender = parse(text);
            assert_eq!((contender.build, contender.engine.as_deref()), (build, engine), "{text}");
        }
        assert_eq!(parse("mariadb@10.11/rocksdb:za1").config.as_deref(), Some("za1"));
    }

    #[test]
    fn an_image_is_told_from_the_engine_and_the_config_behind_it() {
        for (text, image, engine, config) in [
            ("postgres@image:./pg 17.tar", "./pg 17.tar", None, None),
            ("postgres@image:/srv/pg.tar:x10a", "/srv/pg.tar", None, Some("x10a")),
            (
                "mariadb@image:~/m.tar/rocksdb:./my.cnf",
                "~/m.tar",
                Some("rocksdb"),
                Some("./my.cnf"),
            ),
            ("postgres@image:postgres", "postgres", None, None),
            ("postgres@image:postgres:17.6", "postgres:17.6", None, None),
            ("postgres@image:postgres:17.6:x10a", "postgres:17.6", None, Some("x10a")),
            ("postgres@image:postgres:17:./my.conf", "postgres:17", None, Some("./my.conf")),
            ("mariadb@image:mariadb/rocksdb", "mariadb", Some("rocksdb"), None),
            ("mariadb@image:mariadb:11/rocksdb", "mariadb:11", Some("rocksdb"), None),
            ("mariadb@image:m:11/rocksdb:za1", "m:11", Some("rocksdb"), Some("za1")),
            ("postgres@image:localhost:5000/own/pg", "localhost:5000/own/pg", None, None),
            ("postgres@image:h:5000/pg:17:x10a", "h:5000/pg:17", None, Some("x10a")),
            ("postgres@image:reg.example/pg:head", "reg.example/pg:head", None, None),
            ("postgres@image:pg@sha256:ab12", "pg@sha256:ab12", None, None),
            ("postgres@image:pg:17@sha256:ab12", "pg:17@sha256:ab12", None, None),
            ("postgres@image:pg@sha256:ab12:x10a", "pg@sha256:ab12", None, Some("x10a")),
            ("postgres@image:4f53cda18c2b", "4f53cda18c2b", None, None),
        ] {
            for text in [text.to_string(), format!("a={text}?work_mem=64MB")] {
                let contender = parse(&text);
                assert_eq!(contender.build, Build::Image(image.to_string()), "{text}");
                assert_eq!(contender.engine.as_deref(), engine, "{text}");
                assert_eq!(contender.config.as_deref(), config, "{text}");
                assert_eq!(contender.to_string(), text);
            }
        }
        let error = |text: &str| text.parse::<Contender>().unwrap_err().to_string();
        for text in ["", ":x10a", "--help", "a b", "$(id)", "pg:", "a\\b"] {
            let text = format!("postgres@image:{text}");
            assert!(error(&text).contains("names no image. Write image:NAME"), "{text}");
        }
        assert!(error("postgres@image-17.6").contains("'image-17.6' names no image"));
        for library in ["sqlite", "rocksdb"] {
            let error = error(&format!("{library}@image:x"));
            let expected = "has no server, so rqps starts none of an image. Images are for \
                            postgres, mysql, mariadb";
            assert_eq!(error, format!("{library} {expected}"));
        }
    }
}
