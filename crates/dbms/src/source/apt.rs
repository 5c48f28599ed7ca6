//! Runs apt in a folder of its own, with its own lists, cache and status, so that it changes
//! nothing of the system.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::catalog::Registry;
use super::client::{APT_CACHE, APT_GET, Client, DOWNLOAD};
use super::error::{SourceError, at, client_failed};
use super::machine::Machine;
use super::progress::{Progress, Tell};

/// Dependencies of the packages that a server does not need: apt is told that they are installed.
const PRETENDED: &[&str] = &[
    "adduser",
    "base-passwd",
    "debconf",
    "dpkg",
    "galera-4",
    "gawk",
    "init-system-helpers",
    "iproute2",
    "libc-bin",
    "libconfig-inifiles-perl",
    "libdbi-perl",
    "libpam-modules",
    "libpam-runtime",
    "locales",
    "lsb-base",
    "lsof",
    "mariadb-client",
    "netbase",
    "openssl",
    "passwd",
    "perl",
    "perl-base",
    "postgresql-client-common",
    "postgresql-common",
    "procps",
    "psmisc",
    "python3",
    "rocksdb-tools",
    "rsync",
    "sensible-utils",
    "socat",
    "ssl-cert",
    "sysvinit-utils",
    "tzdata",
    "ucf",
    "usrmerge",
];

/// Overrides of the user's settings that would reach beyond rqps's folder, or find other packages.
/// The other settings stay in force: proxies, credentials, certificates.
const SETTINGS: &str = "\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear AptCli::Hooks;
#clear APT::NeverAutoRemove;
APT::Default-Release \"\";
APT::Update::Error-Mode \"any\";
APT::Install-Recommends \"false\";
APT::Install-Suggests \"false\";
APT::Get::AllowUnauthenticated \"false\";
Acquire::AllowInsecureRepositories \"false\";
Acquire::AllowWeakRepositories \"false\";
Acquire::AllowDowngradeToInsecureRepositories \"false\";
Acquire::Languages \"none\";
Dir::Cache::pkgcache \"pkgcache.bin\";
Dir::Cache::srcpkgcache \"\";
Dir::Etc::preferences \"/dev/null\";
Dir::Etc::preferencesparts \"/dev/null\";
Dir::Etc::sourceparts \"/dev/null\";
";

/// Apt in a folder of its own, which keeps its lists of packages: some ten megabytes, which are not
/// fetched again for a package in them.
pub(super) struct Apt<'a> {
    pub(super) machine: &'a Machine,
    pub(super) folder: &'a Path,
    /// None where only source packages are used.
    pub(super) registry: Option<&'a Registry>,
    pub(super) progress: Progress,
}

impl Apt<'_> {
    /// Fetches the lists of the registry's packages, with or without those of their dependencies.
    pub(super) fn update(&self, with_base: bool, tell: &mut Tell) -> Result<(), SourceError> {
        let mut sources = Vec::new();
        let suite = match self.registry {
            Some(Registry::Debian { suite }) => Some(*suite),
            Some(Registry::Named(repository)) => {
                sources.push(repository.stanza(self.folder, self.architecture())?);
                repository.base.as_deref().filter(|_| with_base)
            }
            Some(Registry::Npm { .. } | Registry::Maven { .. }) | None => None,
        };
        if let Some(suite) = suite {
            sources.push(self.debian("deb", "Packages", suite, tell)?);
        }
        self.get_lists(&sources, tell)
    }

    /// Fetches the list of the source packages of a suite of Debian.
    pub(super) fn update_sources(&self, suite: &str, tell: &mut Tell) -> Result<(), SourceError> {
        self.get_lists(&[self.debian("deb-src", "Sources", suite, tell)?], tell)
    }

    fn get_lists(&self, sources: &[String], tell: &mut Tell) -> Result<(), SourceError> {
        let arch = self.architecture();
        let pretended = PRETENDED.iter().map(|name| {
            format!(
                "Package: {name}\nStatus: install ok installed\nPriority: optional\n\
                 Section: misc\nMaintainer: rqps\nArchitecture: {arch}\nMulti-Arch: allowed\n\
                 Version: 9999:0\nDescription: not needed\n\n"
            )
        });
        passable(self.folder)?;
        make(&self.folder.join("lists/partial"))?;
        for (name, text) in [
            ("apt.conf", SETTINGS),
            ("suite.sources", sources.join("\n").as_str()),
            ("status", pretended.collect::<String>().as_str()),
        ] {
            let path = self.folder.join(name);
            fs::write(&path, text).map_err(at(&path))?;
        }
        self.run(&APT_GET, &["update"], self.folder, tell).map(drop)
    }

    /// The source entry for apt of a suite of Debian.
    fn debian(
        &self,
        kind: &str,
        list: &str,
        suite: &str,
        tell: &mut Tell,
    ) -> Result<String, SourceError> {
        let archive = self.archive(tell)?;
        let keyring = &self.machine.keyring;
        if !keyring.is_file() {
            return Err(SourceError::Client {
                program: "apt-get".to_string(),
                reason: format!(
                    "'{}' is missing, which verifies Debian's packages. Install it, as with \
                     'apt-get install debian-archive-keyring'",
                    keyring.display()
                ),
            });
        }
        Ok(format!(
            "Types: {kind}\nURIs: {archive}\nSuites: {suite}\nComponents: main\n\
             Architectures: {}\nTargets: {list}\nSigned-By: {}\n",
            self.architecture(),
            keyring.display()
        ))
    }

    /// The address of Debian's archive in the user's apt.
    fn archive(&self, tell: &mut Tell) -> Result<String, SourceError> {
        let format = "$(ORIGIN)|$(LABEL)|$(SITE)";
        let args = ["indextargets", "--format", format].map(OsString::from);
        let targets = self.client(&APT_GET, &args, tell)?;
        let mut sites = targets.lines().filter_map(|line| line.strip_prefix("Debian|Debian|"));
        let site = sites.find(|site| !site.starts_with("cdrom:"));
        site.map(str::to_string).ok_or_else(|| SourceError::Client {
            program: "apt-get indextargets".to_string(),
            reason:
                "apt has no archive of Debian. Add one to its sources, or run 'apt-get update' \
                     if it is there"
                    .to_string(),
        })
    }

    /// The names of all packages with this start.
    pub(super) fn names(&self, start: &str, tell: &mut Tell) -> Result<Vec<String>, SourceError> {
        let names = self.run(&APT_CACHE, &["pkgnames", start], self.folder, tell)?;
        Ok(names.lines().map(str::to_string).collect())
    }

    /// The versions of packages in apt's form, each with the package's name.
    pub(super) fn versions(
        &self,
        packages: &[String],
        tell: &mut Tell,
    ) -> Result<Vec<(String, String)>, SourceError> {
        if packages.is_empty() {
            return Ok(Vec::new());
        }
        let mut args = vec!["madison"];
        args.extend(packages.iter().map(String::as_str));
        let table = self.run(&APT_CACHE, &args, self.folder, tell)?;
        // `mariadb-server-core | 1:11.8.6-0+deb13u1 | http://… trixie/main amd64 Packages`
        let pair = |line: &str| {
            let mut cells = line.split('|').map(str::trim);
            Some((cells.next()?.to_string(), cells.next()?.to_string()))
        };
        Ok(table.lines().filter_map(pair).collect())
    }

    /// The versions of a source package in apt's form.
    pub(super) fn source_versions(
        &self,
        package: &str,
        tell: &mut Tell,
    ) -> Result<Vec<String>, SourceError> {
        let versions = self.versions(&[package.to_string()], tell)?;
        Ok(versions.into_iter().map(|(_, version)| version).collect())
    }

    /// Downloads the upstream tarball of a source package, named as `name=version`, into the
    /// folder.
    pub(super) fn download_tarball(
        &self,
        package: &str,
        tell: &mut Tell,
    ) -> Result<(), SourceError> {
        let args = ["source", "--download-only", "--only-source", "--tar-only", package];
        self.run(&APT_GET, &args, self.folder, tell).map(drop)
    }

    /// Downloads packages, named as `name` or `name=version`, with all dependencies.
    pub(super) fn download(
        &self,
        packages: &[String],
        into: &Path,
        tell: &mut Tell,
    ) -> Result<(), SourceError> {
        passable(into)?;
        make(&into.join("partial"))?;
        let mut args = vec!["install", "--download-only", "--yes"];
        args.extend(packages.iter().map(String::as_str));
        self.run(&APT_GET, &args, into, tell).map(drop)
    }

    fn run(
        &self,
        client: &Client,
        args: &[&str],
        archives: &Path,
        tell: &mut Tell,
    ) -> Result<String, SourceError> {
        let folder = self.folder;
        let mut all = vec!["--config-file".into(), folder.join("apt.conf").into()];
        for (option, path) in [
            ("Dir::State", folder.to_path_buf()),
            ("Dir::State::lists", folder.join("lists")),
            ("Dir::State::status", folder.join("status")),
            ("Dir::State::extended_states", folder.join("extended_states")),
            ("Dir::Cache", folder.to_path_buf()),
            ("Dir::Cache::archives", archives.to_path_buf()),
            ("Dir::Etc::sourcelist", folder.join("suite.sources")),
        ] {
            let mut setting = OsString::from(format!("{option}="));
            setting.push(path);
            all.extend(["--option".into(), setting]);
        }
        all.extend(args.iter().map(OsString::from));
        self.client(client, &all, tell)
    }

    fn client(
        &self,
        client: &Client,
        args: &[OsString],
        tell: &mut Tell,
    ) -> Result<String, SourceError> {
        // The limit of a download also for lists, which have some ten megabytes.
        let said = client.run(self.machine, args, self.folder, DOWNLOAD, &self.progress, tell)?;
        if said.status.success() {
            return Ok(said.stdout);
        }
        let of = match self.registry {
            Some(Registry::Named(repository)) => format!("{}: ", repository.name.as_str()),
            _ => String::new(),
        };
        if let (Progress::Fetching { what }, Some(gone)) = (&self.progress, gone(&said.stderr)) {
            let ((file, answer), what) = (gone, format!("{of}{what}"));
            return Err(SourceError::Gone { what, file, answer });
        }
        let reason = reason(&said.stderr);
        let reason = reason.map_or_else(|| said.status.to_string(), Cow::into_owned);
        // As the user named it.
        let reason = reason.replace("copy:/", "file:/");
        Err(client_failed(format!("{of}{}", client.program), reason, self.folder))
    }

    /// Debian's name for the machine's architecture.
    pub(super) fn architecture(&self) -> &str {
        match self.machine.arch {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
    }
}

/// Why apt failed: its first error, with clearer words for a missing key.
fn reason(stderr: &str) -> Option<Cow<'_, str>> {
    let told = |mark| stderr.lines().find_map(|line| line.strip_prefix(mark));
    if let Some(key) = stderr.split("NO_PUBKEY ").nth(1).and_then(|rest| rest.split('\n').next()) {
        return Some(format!("its list is signed with another key: {}", key.trim()).into());
    }
    told("E: ").or_else(|| told("W: ")).map(Cow::from)
}

/// The file of a package that is missing although listed, and the answer instead, in any language:
/// `E: Failed to fetch http://…/libz3-4_4.8.12.deb  404  Not Found [IP: …]`.
fn gone(stderr: &str) -> Option<(String, String)> {
    let mut errors = stderr.lines().filter_map(|line| line.strip_prefix("E: "));
    errors.find_map(|error| {
        let (before, answer) = error.split_once(".deb  ")?;
        let file = format!("{}.deb", before.rsplit('/').next().unwrap_or(before));
        let answer = answer.split(" [").next().unwrap_or(answer).split_whitespace();
        let answer = answer.collect::<Vec<_>>().join(" ");
        let is_gone = answer.starts_with("404") || answer.contains("(2: ");
        is_gone.then_some((file, answer))
    })
}

/// Root's apt downloads as a user of its own, which has folders in here. Only root may write here,
/// or list the files.
fn passable(folder: &Path) -> Result<(), SourceError> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o711)).map_err(at(folder))
}

fn make(folder: &Path) -> Result<(), SourceError> {
    fs::create_dir_all(folder).map_err(at(folder))
}
