//! Packages with prebuilt binaries: the packages of each DBMS are in its folder.

use std::borrow::Cow;
use std::sync::Arc;

use rqps_plan::{Dbms, Source};

use super::repository::Repository;
use super::version;

/// A kind of package, with the client that fetches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Registry {
    /// With the folder of the package that is the build.
    Npm { below: &'static str },
    /// With the files of an artifact that contain the build, in Maven's form: the type, and after a
    /// colon the classifier. Each is from a version on, oldest first.
    Maven { files: &'static [(&'static str, &'static str)] },
    /// An archive of Debian packages, and the suite of it.
    Debian { suite: &'static str },
    /// A repository of Debian packages that the user named.
    Named(Arc<Repository>),
}

/// An artifact of Maven that is a jar.
pub(crate) const JAR: Registry = Registry::Maven { files: &[("0", "jar")] };

impl Registry {
    pub(super) fn source(&self) -> Source {
        match self {
            Registry::Npm { .. } => Source::Npm,
            Registry::Maven { .. } => Source::Maven,
            Registry::Debian { .. } => Source::Debian,
            Registry::Named(repository) => Source::Named(repository.name.clone()),
        }
    }

    /// The suite of Debian; none without suites.
    pub(super) fn suite(&self) -> Option<&'static str> {
        match self {
            Registry::Debian { suite } => Some(suite),
            Registry::Npm { .. } | Registry::Maven { .. } | Registry::Named(_) => None,
        }
    }

    /// Whether its client verifies the signatures of the packagers.
    pub(super) fn is_signed(&self) -> bool {
        matches!(self, Registry::Debian { .. } | Registry::Named(_))
    }
}

/// A package with builds of a DBMS.
#[derive(Clone)]
pub(crate) struct Package {
    pub(crate) dbms: Dbms,
    pub(crate) registry: Registry,
    /// Its processor architectures, as in `std::env::consts::ARCH`.
    pub(crate) archs: &'static [&'static str],
    /// The client's name for it: an npm name, `group:artifact` of Maven, or Debian packages with
    /// the server's first. There `{major}` is the start of a version, and packages ending in `?`
    /// are optional.
    pub(crate) name: Cow<'static, str>,
    /// The start of all its versions; none where it has several series.
    pub(crate) series: Option<&'static str>,
}

impl Package {
    /// A package of a suite of Debian, which has one series of it.
    pub(crate) const fn of_debian(
        dbms: Dbms,
        suite: &'static str,
        series: &'static str,
        name: &'static str,
    ) -> Package {
        let (registry, name) = (Registry::Debian { suite }, Cow::Borrowed(name));
        Package { dbms, registry, archs: BOTH, name, series: Some(series) }
    }

    /// A package with several series.
    pub(crate) const fn new(
        dbms: Dbms,
        registry: Registry,
        archs: &'static [&'static str],
        name: &'static str,
    ) -> Package {
        Package { dbms, registry, archs, name: Cow::Borrowed(name), series: None }
    }

    /// Whether it can have a version.
    pub(super) fn may_have(&self, wanted: &str) -> bool {
        self.series.is_none_or(|series| version::is(wanted, series))
    }
}

/// Processor architectures, for [`Package::archs`].
pub(crate) const X86: &[&str] = &["x86_64"];
pub(crate) const ARM: &[&str] = &["aarch64"];
pub(crate) const BOTH: &[&str] = &["x86_64", "aarch64"];

/// The placeholder in a package's name for the start of a version: `17`, or `9.6`.
pub(super) const MAJOR: &str = "{major}";

/// The last character in the name of an optional package.
pub(super) const OPTIONAL: char = '?';
