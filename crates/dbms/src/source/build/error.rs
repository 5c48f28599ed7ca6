//! Errors of a build from source.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use rqps_plan::Dbms;
use rqps_system::printable;

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("cannot build {0} from source: rqps has no recipe for it")]
    NoRecipe(Dbms),
    #[error("{}: {reason}", of_recipe(file.as_deref(), *line))]
    Recipe { file: Option<String>, line: Option<usize>, reason: String },
    #[error("--{option} '{value}' {why}")]
    Option { option: &'static str, value: String, why: &'static str },
    #[error(
        "cannot build {what}: {} missing. Install {}, as with 'apt-get install {}'",
        are(programs), if programs.len() == 1 { "it" } else { "them" }, packages.join(" ")
    )]
    MissingTools { what: String, programs: Vec<String>, packages: Vec<String> },
    #[error("cannot build {what}: compiler '{compiler}' does not run: {reason}")]
    Compiler { what: String, compiler: String, reason: String },
    #[error(
        "'{0}' in RQPS_SOURCES is not a folder. Set it to a folder, or to an http:// or https:// URL"
    )]
    Sources(String),
    #[error("cannot get a tarball of {what}: {}", .reasons.join("; "))]
    NoTarball { what: String, reasons: Vec<String> },
    #[error(
        "'{}' is not a tarball. Name a .tar.gz, .tar.bz2, .tar.xz or .tar, or a folder of sources or \
         tarballs", .0.display()
    )]
    NotATarball(PathBuf),
    #[error("'{name}' does not contain the sources of {dbms} {version}: it has no {missing}")]
    NotSources { name: String, dbms: Dbms, version: String, missing: String },
    #[error("{name} does not contain the sources of {dbms}: it has no {missing}")]
    NotCommit { name: String, dbms: Dbms, missing: String },
    #[error("'{name}' contains {dbms} {found}, not {wanted}. Use {dbms}@{found}, or other sources")]
    OtherVersion { name: String, dbms: Dbms, found: String, wanted: String },
    #[error("{}", no_variant(*dbms, version, variant, there))]
    NoVariant { dbms: Dbms, version: String, variant: String, there: Vec<String> },
    #[error(
        "another build is called '{contender}', with {other}. Give this one a name of its own with --name"
    )]
    NameTaken { contender: String, other: String },
    #[error("{what} was built, but its '{product}' is missing. Check its recipe")]
    NoProduct { what: String, product: String },
    #[error("{0}")]
    Failed(Box<Failure>),
}

impl BuildError {
    /// Whether the request makes no sense; otherwise something failed.
    pub fn is_refusal(&self) -> bool {
        !matches!(
            self,
            BuildError::MissingTools { .. }
                | BuildError::Compiler { .. }
                | BuildError::NoTarball { .. }
                | BuildError::NoProduct { .. }
                | BuildError::Failed(_)
        )
    }
}

/// A build that failed.
#[derive(Debug)]
pub struct Failure {
    /// `postgres 13.16`
    pub what: String,
    /// What to type to try it again.
    pub contender: String,
    /// `make with gcc (Debian 12.2.0) 12.2.0`
    pub step: String,
    pub reason: String,
    pub log: PathBuf,
    /// The last lines of that.
    pub tail: String,
    /// Whether it failed earlier, and nothing was tried now.
    pub is_remembered: bool,
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Failure { what, contender, step, reason, log, tail, .. } = self;
        let log = log.display();
        let before = if self.is_remembered { " in an earlier attempt" } else { "" };
        let again = if self.is_remembered { "To try again: " } else { "To retry once fixed: " };
        write!(
            f,
            "{what} did not build{before}: {step}: {reason}; the whole log is '{log}'. {again}"
        )?;
        write!(f, "rqps dbms build --retry {contender}")?;
        tail.lines().try_for_each(|line| write!(f, "\n  {}", printable(line)))
    }
}

/// `recipe 'my.toml', line 3`
fn of_recipe(file: Option<&str>, line: Option<usize>) -> String {
    let file = file.map_or(String::new(), |file| format!(" '{file}'"));
    let line = line.map_or(String::new(), |line| format!(", line {line}"));
    format!("recipe{file}{line}")
}

/// `bison and flex are`
fn are(programs: &[String]) -> String {
    match programs {
        [one] => format!("{one} is"),
        [others @ .., last] => format!("{} and {last} are", others.join(", ")),
        [] => "nothing is".to_string(),
    }
}

fn no_variant(dbms: Dbms, version: &str, variant: &str, there: &[String]) -> String {
    let there = match there {
        [] => String::new(),
        there => format!(" (there are: {})", there.join(", ")),
    };
    format!(
        "no build of {dbms} {version} is called '{variant}'{there}. Make it with 'rqps dbms build \
         {dbms}@{version}' and the flags that it is named after"
    )
}
