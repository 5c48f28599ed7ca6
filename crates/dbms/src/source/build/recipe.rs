//! How a DBMS is built from its sources, as data: one file per DBMS in `recipes`.

use std::fs;
use std::path::{Component, Path};

use rqps_plan::Dbms;
use serde::Deserialize;

use super::error::BuildError;
use crate::source::{digest, version};

const RECIPES: [&str; 4] = [
    include_str!("../../../recipes/postgres.toml"),
    include_str!("../../../recipes/mysql.toml"),
    include_str!("../../../recipes/mariadb.toml"),
    include_str!("../../../recipes/sqlite.toml"),
];

/// The placeholder for a version in names.
const VERSION: &str = "{version}";
/// The placeholder for a tarball's path in that of its checksum.
const TARBALL: &str = "{tarball}";

/// The recipe of a DBMS.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::source) struct Recipe {
    pub(super) dbms: Dbms,
    /// The resulting program or library, below the prefix.
    pub(super) product: String,
    /// The installation path of every build: paths of one length in every binary.
    pub(super) prefix: String,
    pub(super) cc: String,
    pub(super) flags: String,
    /// CPU of a build on an ordinary machine.
    pub(super) seconds: u64,
    /// Disk space during the build.
    pub(super) megabytes: u64,
    /// Files that cannot change the server: `doc/`, `*.md`.
    pub(super) quiet: Vec<String>,
    /// Tags of releases in upstream's repository, the usual one first, with `{version}` as it is
    /// and `{version_}` with underscores in place of dots.
    #[serde(default)]
    tags: Vec<String>,
    /// The first whose file exists counts.
    pub(super) version: Vec<Told>,
    pub(super) tarball: Named,
    #[serde(default)]
    pub(super) debian: Vec<Suite>,
    #[serde(default)]
    needs: Vec<Need>,
    way: Vec<Way>,
}

/// Where the sources contain their version.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Told {
    pub(super) file: String,
    /// Its numbers follow these, and are joined by dots.
    pub(super) marks: Vec<String>,
}

/// The names of a release's tarball, and its place on upstream's site and mirrors.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    pub(super) folder: String,
    names: Vec<String>,
    checksum: String,
    /// None where upstream publishes no SHA-256 beside the tarballs.
    pub(super) site: Option<String>,
}

/// A source package in a suite of Debian.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suite {
    /// What its versions start with.
    pub(super) versions: String,
    pub(super) suite: String,
    pub(super) package: String,
}

/// A program that builds use.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Need {
    pub(super) program: String,
    /// Debian's package that has it.
    pub(super) package: String,
    from: Option<String>,
    until: Option<String>,
}

/// The commands, for a shell that stops at the first error. They run in an empty folder with the
/// sources in `$SRC`, the prefix in `$PREFIX`, the staging root before it in `$ROOT`, the compilers
/// in `$CC` and `$CXX`, their flags in `$CFLAGS`, `$CXXFLAGS` and `$LDFLAGS`, and `$JOBS`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Way {
    from: Option<String>,
    until: Option<String>,
    /// It is for sources with this file.
    pub(super) file: String,
    pub(super) configure: String,
    pub(super) build: String,
    pub(super) install: String,
}

/// A file of sources, none if it is not there, or why it cannot be read.
type ReadFile = Result<Option<Vec<u8>>, String>;

impl Recipe {
    /// The recipe that comes with rqps.
    pub(in crate::source) fn of(dbms: Dbms) -> Result<Recipe, BuildError> {
        let all = RECIPES.iter().map(|text| Recipe::parse(text));
        let mut all = all.filter(|recipe| recipe.as_ref().map_or(true, |r| r.dbms == dbms));
        all.next().unwrap_or(Err(BuildError::NoRecipe(dbms)))
    }

    /// The user's own.
    pub(super) fn read(file: &Path, dbms: Dbms) -> Result<Recipe, BuildError> {
        let name = file.display().to_string();
        let wrong =
            |reason: String| BuildError::Recipe { file: Some(name.clone()), line: None, reason };
        let text = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        let recipe = Recipe::parse(&text).map_err(|error| match error {
            BuildError::Recipe { line, reason, .. } => {
                BuildError::Recipe { file: Some(name.clone()), line, reason }
            }
            other => other,
        })?;
        match recipe.dbms == dbms {
            true => Ok(recipe),
            false => Err(wrong(format!("it is for {}, not for {dbms}", recipe.dbms))),
        }
    }

    pub(super) fn parse(text: &str) -> Result<Recipe, BuildError> {
        let wrong = |error: toml::de::Error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            let (line, reason) = (Some(line), error.message().to_string());
            BuildError::Recipe { file: None, line, reason }
        };
        let recipe: Recipe = toml::from_str(text).map_err(wrong)?;
        let wrong = |reason| BuildError::Recipe { file: None, line: None, reason };
        recipe.check().map_err(wrong)?;
        Ok(recipe)
    }

    fn check(&self) -> Result<(), String> {
        let inside = |path: &str| {
            let mut parts = Path::new(path).components().peekable();
            parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
        };
        let files = self.way.iter().map(|way| &way.file);
        let files = files.chain(self.version.iter().map(|version| &version.file));
        let files = files.chain([&self.product, &self.tarball.folder]);
        if let Some(path) = files.chain(&self.quiet).find(|path| !inside(path)) {
            return Err(format!("'{path}' is not a relative path without '..'"));
        }
        if let Some(name) =
            self.tarball.names.iter().find(|name| name.matches(VERSION).count() != 1)
        {
            return Err(format!("a tarball is called '{name}', which must contain {VERSION} once"));
        }
        if !Path::new(&self.prefix).is_absolute() || self.prefix.contains([' ', '\'']) {
            return Err(format!("prefix '{}' is not a plain absolute path", self.prefix));
        }
        match () {
            () if self.way.is_empty() => Err("it has no way".to_string()),
            () if self.tarball.names.is_empty() => Err("its tarballs have no name".to_string()),
            () if self.version.iter().all(|version| version.marks.is_empty()) => {
                Err("it has no mark before the version".into())
            }
            () => Ok(()),
        }
    }

    /// The hash of everything that determines the build: a better estimate makes no other build.
    pub(super) fn sha256(&self) -> String {
        let Recipe { prefix, product, way, .. } = self;
        let ways = way.iter().flat_map(|way| {
            let versions = [&way.from, &way.until].map(|version| version.as_deref().unwrap_or("-"));
            let [from, until] = versions;
            [from, until, &way.file, &way.configure, &way.build, &way.install]
        });
        let parts = [prefix.as_str(), product].into_iter().chain(ways);
        // No part can contain the separator.
        digest::sha256_of(parts.collect::<Vec<_>>().join("\0").as_bytes())
    }

    /// Programs that are needed to build a version; for a tree of sources, in which nothing may
    /// have been generated yet, those of all versions.
    pub(super) fn needs(&self, version: Option<&str>) -> impl Iterator<Item = &Need> {
        self.needs.iter().filter(move |need| {
            version.is_none_or(|version| within(version, &need.from, &need.until))
        })
    }

    /// The files by which its ways are chosen.
    pub(super) fn files(&self) -> impl Iterator<Item = &String> {
        self.way.iter().map(|way| &way.file)
    }

    /// How sources of a version are built.
    pub(super) fn way(&self, version: &str, sources: &Path) -> Option<&Way> {
        self.way_with(version, &mut |file| sources.join(file).is_file())
    }

    /// The same, of sources that are in no folder.
    pub(super) fn way_with(
        &self,
        version: &str,
        has: &mut dyn FnMut(&str) -> bool,
    ) -> Option<&Way> {
        let mut ways = self.way.iter();
        ways.find(|way| within(version, &way.from, &way.until) && has(&way.file))
    }

    /// The version of a folder of sources, or what it lacks.
    pub(super) fn version_in(&self, sources: &Path) -> Result<String, String> {
        self.version_with(&mut |file| {
            let file = sources.join(file);
            let read = file.is_file().then(|| fs::read(file));
            read.transpose().map_err(|error| error.to_string())
        })
    }

    /// The same, of sources that are in no folder: `read` has none for a file that is not there.
    pub(super) fn version_with(
        &self,
        read: &mut dyn FnMut(&str) -> ReadFile,
    ) -> Result<String, String> {
        for told in &self.version {
            let Some(text) = read(&told.file)? else { continue };
            let version = told.version(&String::from_utf8_lossy(&text));
            return version.ok_or_else(|| "version".to_string());
        }
        Err(self.version[0].file.clone())
    }

    /// The tags that a release may have.
    pub(super) fn tags(&self, version: &str) -> Vec<String> {
        let underscored = version.replace('.', "_");
        let tag = |tag: &String| tag.replace("{version_}", &underscored).replace(VERSION, version);
        self.tags.iter().map(tag).collect()
    }

    /// Whether a folder has the file with the version, and so is one of sources.
    pub(super) fn is_tree(&self, folder: &Path) -> bool {
        self.version.iter().any(|told| folder.join(&told.file).is_file())
    }
}

impl Way {
    /// Its steps with their commands, without remarks.
    pub(super) fn steps(&self) -> [(&'static str, Vec<String>); 3] {
        let steps =
            [("configure", &self.configure), ("build", &self.build), ("install", &self.install)];
        steps.map(|(name, script)| {
            let lines = script.lines().map(str::trim);
            let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
            (name, lines.map(str::to_string).collect())
        })
    }
}

impl Told {
    /// The version in the text of the file; none if it is missing.
    fn version(&self, text: &str) -> Option<String> {
        let numbers = self.marks.iter().map(|mark| {
            let (_, rest) = text.split_once(mark.as_str())?;
            let rest = rest.trim_start_matches([' ', '\t', '"']);
            let is_of_it = |c: char| c.is_ascii_alphanumeric() || c == '.';
            let end = rest.find(|c| !is_of_it(c)).unwrap_or(rest.len());
            Some(&rest[..end]).filter(|number| number.starts_with(|c: char| c.is_ascii_digit()))
        });
        numbers.collect::<Option<Vec<_>>>().map(|numbers| numbers.join("."))
    }
}

impl Named {
    /// The names of a version's tarball, the most likely first.
    pub(super) fn names(&self, version: &str) -> impl Iterator<Item = String> {
        self.names.iter().map(move |name| name.replace(VERSION, version))
    }

    /// The version of a tarball with this name.
    pub(super) fn version<'a>(&self, name: &'a str) -> Option<&'a str> {
        self.names.iter().find_map(|pattern| {
            let (start, end) = pattern.split_once(VERSION)?;
            let version = name.strip_prefix(start)?.strip_suffix(end)?;
            version.starts_with(|c: char| c.is_ascii_digit()).then_some(version)
        })
    }

    /// The folder of a version's tarball below a site.
    pub(super) fn folder(&self, version: &str) -> String {
        self.folder.replace(VERSION, version)
    }

    /// The path below a site of the file with the SHA-256 of a tarball.
    pub(super) fn checksum(&self, version: &str, name: &str) -> String {
        let tarball = format!("{}/{name}", self.folder(version));
        self.checksum.replace(TARBALL, &tarball).replace(VERSION, version)
    }
}

/// Whether a version is between two, including both and all versions that start with them.
fn within(wanted: &str, from: &Option<String>, until: &Option<String>) -> bool {
    let is_before = |a: &str, b: &str| version::compare(a, b).is_lt();
    from.as_ref().is_none_or(|from| !is_before(wanted, from))
        && until.as_ref().is_none_or(|until| version::is(wanted, until) || is_before(wanted, until))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
dbms = "postgres"
product = "bin/postgres"
prefix = "/usr/local/rqps"
cc = "gcc"
flags = "-O2 -g"
seconds = 1
megabytes = 1
quiet = ["doc/"]
[[version]]
file = "VERSION"
marks = ["MAJOR=", "MINOR="]
[tarball]
folder = "v{version}"
names = ["pg-{version}.tar.gz"]
checksum = "v{version}/sums"
[[needs]]
program = "bison"
package = "bison"
from = "17"
[[way]]
until = "16"
file = "configure"
configure = "old"
build = ""
install = ""
[[way]]
file = "configure"
configure = "new"
build = ""
install = ""
"#;

    #[test]
    fn all_recipes_parse() {
        for text in RECIPES {
            let recipe = Recipe::parse(text).unwrap();
            let dbms = recipe.dbms;
            assert_eq!(Recipe::of(dbms).unwrap().prefix, recipe.prefix, "{dbms} has one");
            assert_eq!(recipe.prefix.len(), "/usr/local/rqps".len(), "{dbms}");
            assert!(!recipe.flags.contains("-march"), "{dbms}: builds are shared by machines");
        }
    }

    #[test]
    fn what_is_wrong_with_one_is_told_with_its_line() {
        for (change, reason) in [
            (("cc = \"gcc\"", "cc = 3"), "recipe, line 5: "),
            (("quiet =", "quite ="), "recipe, line 9: unknown field `quite`"),
            (("bin/postgres", "/bin/postgres"), "recipe: '/bin/postgres' is not a relative path"),
            (
                ("bin/postgres", "bin/../../x"),
                "recipe: 'bin/../../x' is not a relative path without",
            ),
            (("pg-{version}", "pg"), "recipe: a tarball is called 'pg.tar.gz'"),
            (("/usr/local/rqps", "rqps"), "recipe: prefix 'rqps' is not a plain absolute path"),
        ] {
            let text = SMALL.replacen(change.0, change.1, 1);
            let error = Recipe::parse(&text).unwrap_err().to_string();
            assert!(error.starts_with(reason), "{error}");
        }
    }

    #[test]
    fn another_command_is_another_recipe_and_another_remark_is_not() {
        let hash = |text: &str| Recipe::parse(text).unwrap().sha256();
        let same = SMALL.replace("seconds = 1", "# remark\nseconds = 2");
        assert_eq!(hash(SMALL), hash(&same));
        for (from, to) in [
            ("configure = \"new\"", "configure = \"newer\""),
            ("until = \"16\"", "until = \"15\""),
            ("/usr/local/rqps", "/usr/local/other"),
            ("\"new\"\nbuild = \"\"\ninstall = \"\"", "\"new\"\nbuild = \"\"\ninstall = \"x\""),
        ] {
            assert!(SMALL.contains(from));
            assert_ne!(hash(SMALL), hash(&SMALL.replace(from, to)), "{to}");
        }
    }

    #[test]
    fn needs_and_ways_are_those_of_the_version() {
        let recipe = Recipe::parse(SMALL).unwrap();
        let needs = |version| recipe.needs(version).count();
        assert_eq!((needs(Some("16.9")), needs(Some("17.0")), needs(None)), (0, 1, 1));
        let folder = tempfile::tempdir().unwrap();
        assert!(recipe.way("16.9", folder.path()).is_none(), "these are no sources");
        std::fs::write(folder.path().join("configure"), "").unwrap();
        for (version, way) in [("15.1", "old"), ("16.9", "old"), ("17.0", "new")] {
            assert_eq!(recipe.way(version, folder.path()).unwrap().configure, way);
        }
    }

    #[test]
    fn sources_tell_their_version() {
        let folder = tempfile::tempdir().unwrap();
        let version = |recipe: &Recipe, file: &str, text: &str| {
            std::fs::write(folder.path().join(file), text).unwrap();
            let version = recipe.version_in(folder.path());
            std::fs::remove_file(folder.path().join(file)).unwrap();
            version
        };
        let small = Recipe::parse(SMALL).unwrap();
        let told = |text| version(&small, "VERSION", text);
        assert_eq!(told("MAJOR=17\nMINOR=6\n"), Ok("17.6".to_string()));
        assert_eq!(told("MAJOR=17\nMINOR=$x\n"), Err("version".to_string()));
        assert_eq!(told(""), Err("version".to_string()));
        assert_eq!(version(&small, "other", ""), Err("VERSION".to_string()));
        let mysql = "MYSQL_VERSION_MAJOR=8\nMYSQL_VERSION_MINOR=4\nMYSQL_VERSION_PATCH=6\n";
        let postgres = "PACKAGE_NAME='PostgreSQL'\nPACKAGE_VERSION='17.6'\n";
        let meson = "project('postgresql',\n  ['c'],\n  version: '19devel',\n";
        for (dbms, file, text, expected) in [
            (Dbms::Postgres, "configure", postgres, "17.6"),
            (Dbms::Postgres, "configure", "PACKAGE_VERSION='19beta1'\n", "19beta1"),
            (Dbms::Postgres, "meson.build", meson, "19devel"),
            (Dbms::Mysql, "MYSQL_VERSION", mysql, "8.4.6"),
            (Dbms::Mysql, "VERSION", mysql, "8.4.6"),
            (Dbms::Sqlite, "sqlite3.h", "#define SQLITE_VERSION        \"3.46.1\"\n", "3.46.1"),
            (Dbms::Sqlite, "VERSION", "3.51.0\n", "3.51.0"),
        ] {
            let recipe = Recipe::of(dbms).unwrap();
            assert_eq!(version(&recipe, file, text), Ok(expected.to_string()), "{file}");
        }
    }

    #[test]
    fn releases_have_tags() {
        for (dbms, version, tags) in [
            (Dbms::Postgres, "17.6", vec!["REL_17_6", "REL17_6"]),
            (Dbms::Postgres, "9.6.24", vec!["REL_9_6_24", "REL9_6_24"]),
            (Dbms::Mysql, "8.0.33", vec!["mysql-8.0.33"]),
            (Dbms::Mariadb, "11.4.5", vec!["mariadb-11.4.5"]),
            (Dbms::Sqlite, "3.45.0", vec!["version-3.45.0"]),
        ] {
            assert_eq!(Recipe::of(dbms).unwrap().tags(version), tags);
        }
    }

    #[test]
    fn tarballs_are_called_as_on_upstreams_site() {
        let tarball = Recipe::of(Dbms::Postgres).unwrap().tarball;
        let names: Vec<String> = tarball.names("17.6").collect();
        assert_eq!(names, ["postgresql-17.6.tar.bz2", "postgresql-17.6.tar.gz"]);
        assert_eq!(tarball.folder("17.6"), "source/v17.6");
        let checksum = tarball.checksum("17.6", &names[0]);
        assert_eq!(checksum, "source/v17.6/postgresql-17.6.tar.bz2.sha256");
        assert_eq!(tarball.version("postgresql-17.6.tar.gz"), Some("17.6"));
        assert_eq!(tarball.version("postgresql-docs.tar.gz"), None);
        let tarball = Recipe::of(Dbms::Mariadb).unwrap().tarball;
        let name = tarball.names("11.8.9").next().unwrap();
        assert_eq!(tarball.checksum("11.8.9", &name), "mariadb-11.8.9/source/sha256sums.txt");
    }
}
