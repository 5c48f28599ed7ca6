//! Builds in Debian packages of any suite, which apt fetches and nobody installs: they are unpacked
//! with all that they depend on down to the C library, and run by its loader. Apt is given lists, a
//! cache and a status of its own, so that nothing of the system's is touched.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rqps_plan::Source;

use super::catalog::Package;
use super::client::{APT_CACHE, APT_GET, Client, DOWNLOAD};
use super::error::{SourceError, at, client_failed};
use super::layout::Loader;
use super::machine::Machine;
use super::progress::{Progress, Tell};
use super::unpack::{Part, Tarball};
use super::{Archive, Fetched, deb, needed};

/// What the packages ask for and a server runs without: apt is told that it is there.
const PRETENDED: &[&str] = &[
    "adduser",
    "debconf",
    "galera-4",
    "gawk",
    "init-system-helpers",
    "iproute2",
    "libconfig-inifiles-perl",
    "libdbi-perl",
    "lsb-base",
    "lsof",
    "mariadb-client",
    "passwd",
    "perl",
    "perl-base",
    "procps",
    "psmisc",
    "python3",
    "rocksdb-tools",
    "rsync",
    "socat",
];

/// What of the user's own settings would reach beyond rqps's folder, or look for other packages.
/// The rest stays in force: proxies, credentials, certificates.
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
Dir::Cache::pkgcache \"\";
Dir::Cache::srcpkgcache \"\";
Dir::Etc::preferences \"/dev/null\";
Dir::Etc::preferencesparts \"/dev/null\";
Dir::Etc::sourceparts \"/dev/null\";
";

/// The version of a package in a suite, without what Debian puts in front of it.
pub(super) fn versions(
    package: &Package,
    suite: &str,
    machine: &Machine,
    folder: &Path,
    tell: &mut Tell,
) -> Result<Vec<String>, SourceError> {
    let apt = Apt { machine, folder, progress: Progress::Looking { source: Source::Debian } };
    apt.update(suite, tell)?;
    let server = package.name.split(' ').next().unwrap_or(package.name);
    let table = apt.run(&APT_CACHE, &["madison", server], tell)?;
    // `mariadb-server-core | 1:11.8.6-0+deb13u1 | http://… trixie/main amd64 Packages`
    let versions = table.lines().filter_map(|line| line.split('|').nth(1)).map(str::trim);
    let without_epoch = |version: &str| version.rsplit(':').next().map(str::to_string);
    Ok(versions.filter_map(without_epoch).collect())
}

/// Downloads what a suite has of a package and its dependencies into `folder`, signatures and
/// checksums compared by apt, and unpacks it. Debian's keyring is what pins them: a suite has other
/// versions after each of its point releases, whose hashes no release of rqps could know.
pub(super) fn fetch(
    package: &Package,
    suite: &str,
    machine: &Machine,
    folder: &Path,
    into: &Path,
    tell: &mut Tell,
) -> Result<Fetched, SourceError> {
    let what = format!("{} ({suite})", package.name);
    let apt = Apt { machine, folder, progress: Progress::Fetching { what } };
    apt.update(suite, tell)?;
    let mut args = vec!["install", "--download-only", "--yes"];
    args.extend(package.name.split(' '));
    apt.run(&APT_GET, &args, tell)?;
    let archives = unpack(&packages(&folder.join("cache/archives"))?, into, tell)?;
    Ok(Fetched { archives, loader: Some(loader(into)?) })
}

/// The packages in a folder, with their sizes, in an order that does not change.
pub(super) fn packages(folder: &Path) -> Result<Vec<(PathBuf, u64)>, SourceError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            let size = path.metadata().map_err(at(&path))?.len();
            files.push((path, size));
        }
    }
    files.sort();
    Ok(files)
}

/// Unpacks what a server needs of packages, over each other as on a system.
pub(super) fn unpack(
    files: &[(PathBuf, u64)],
    into: &Path,
    tell: &mut Tell,
) -> Result<Vec<Archive>, SourceError> {
    let mut archives = Vec::new();
    let total = files.iter().map(|(_, size)| size).sum();
    let mut before = 0;
    for (file, size) in files {
        let archive = Archive::of(file)?;
        let data = deb::data(file, &archive.name)?;
        let part = Part { needed: needed::of_debian, ..Part::ALL };
        let deb::Data { compression, bytes, size: packed } = data;
        Tarball { name: &archive.name, compression, bytes, size: packed, part }.unpack(
            into,
            &mut |progress| match progress {
                Progress::Unpacking { done, .. } => {
                    tell(Progress::Unpacking { done: before + done, total })
                }
                other => tell(other),
            },
        )?;
        before += size;
        archives.push(archive);
    }
    Ok(archives)
}

/// The folders with unpacked libraries, relative to the root.
pub(super) fn library_path(root: &Path) -> Vec<PathBuf> {
    // `lib` is a link to `usr/lib` on every Debian system, but not in every package.
    let mut library_path = Vec::new();
    for lib in ["lib", "usr/lib"] {
        // Named after the processor: `x86_64-linux-gnu`.
        let folders = fs::read_dir(root.join(lib)).into_iter().flatten().flatten();
        let names = folders.map(|folder| folder.file_name());
        let of_libraries = names.filter(|name| name.to_string_lossy().ends_with("-linux-gnu"));
        library_path.extend(of_libraries.map(|name| Path::new(lib).join(name)));
    }
    library_path
}

/// The loader among the unpacked libraries.
fn loader(root: &Path) -> Result<Loader, SourceError> {
    let library_path = library_path(root);
    for folder in &library_path {
        let files = fs::read_dir(root.join(folder)).map_err(at(root))?.flatten();
        let mut names = files.map(|file| file.file_name());
        let is_loader = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with("ld-linux") && name.contains(".so.")
        };
        if let Some(name) = names.find(is_loader) {
            return Ok(Loader { program: Some(folder.join(name)), library_path });
        }
    }
    let reason = "there is no dynamic loader in it".to_string();
    Err(SourceError::Archive { archive: "libc6".to_string(), reason })
}

/// Apt in a folder of its own.
pub(super) struct Apt<'a> {
    pub(super) machine: &'a Machine,
    pub(super) folder: &'a Path,
    pub(super) progress: Progress,
}

impl Apt<'_> {
    /// Gets the list of a suite's packages.
    fn update(&self, suite: &str, tell: &mut Tell) -> Result<(), SourceError> {
        self.update_of("deb", "Packages", suite, tell)
    }

    /// Gets a list of a suite: of its packages, or of the sources that they are made from.
    pub(super) fn update_of(
        &self,
        kind: &str,
        list: &str,
        suite: &str,
        tell: &mut Tell,
    ) -> Result<(), SourceError> {
        let archive = self.archive(tell)?;
        let keyring = &self.machine.keyring;
        if !keyring.is_file() {
            return Err(SourceError::Client {
                program: "apt-get".to_string(),
                reason: format!(
                    "'{}' is not there, which Debian's packages are verified with: install it, as \
                     with 'apt-get install debian-archive-keyring'",
                    keyring.display()
                ),
            });
        }
        let arch = match self.machine.arch {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let sources = format!(
            "Types: {kind}\nURIs: {archive}\nSuites: {suite}\nComponents: main\n\
             Architectures: {arch}\nTargets: {list}\nSigned-By: {}\n",
            keyring.display()
        );
        let pretended = PRETENDED.iter().map(|name| {
            format!(
                "Package: {name}\nStatus: install ok installed\nPriority: optional\n\
                 Section: misc\nMaintainer: rqps\nArchitecture: {arch}\nMulti-Arch: allowed\n\
                 Version: 9999:0\nDescription: not needed\n\n"
            )
        });
        let pretended = pretended.collect::<String>();
        // Root's apt downloads as a user of its own, who has folders in here. Nobody but root may
        // write, or look which files there are.
        let passable = fs::set_permissions(self.folder, fs::Permissions::from_mode(0o711));
        passable.map_err(at(self.folder))?;
        for folder in ["lists/partial", "cache/archives/partial"] {
            let folder = self.folder.join(folder);
            fs::create_dir_all(&folder).map_err(at(&folder))?;
        }
        for (name, text) in [
            ("apt.conf", SETTINGS),
            ("suite.sources", sources.as_str()),
            ("status", pretended.as_str()),
        ] {
            let path = self.folder.join(name);
            fs::write(&path, text).map_err(at(&path))?;
        }
        self.run(&APT_GET, &["update"], tell).map(drop)
    }

    /// The address that the user's apt has Debian's archive from.
    fn archive(&self, tell: &mut Tell) -> Result<String, SourceError> {
        let format = "$(ORIGIN)|$(LABEL)|$(SITE)";
        let args = ["indextargets", "--format", format].map(OsString::from);
        let targets = self.client(&APT_GET, &args, tell)?;
        let mut sites = targets.lines().filter_map(|line| line.strip_prefix("Debian|Debian|"));
        let site = sites.find(|site| !site.starts_with("cdrom:"));
        site.map(str::to_string).ok_or_else(|| SourceError::Client {
            program: "apt-get indextargets".to_string(),
            reason: "apt knows no archive of Debian: add one to its sources, or run 'apt-get \
                     update' if there is one"
                .to_string(),
        })
    }

    pub(super) fn run(
        &self,
        client: &Client,
        args: &[&str],
        tell: &mut Tell,
    ) -> Result<String, SourceError> {
        let mut all = vec!["--config-file".into(), self.folder.join("apt.conf").into()];
        for (option, name) in [
            ("Dir::State", ""),
            ("Dir::State::lists", "lists"),
            ("Dir::State::status", "status"),
            ("Dir::State::extended_states", "extended_states"),
            ("Dir::Cache", "cache"),
            ("Dir::Cache::archives", "cache/archives"),
            ("Dir::Etc::sourcelist", "suite.sources"),
        ] {
            let mut setting = OsString::from(format!("{option}="));
            setting.push(self.folder.join(name));
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
        // Also where only the list is asked for: it is some ten megabytes.
        let said = client.run(self.machine, args, self.folder, DOWNLOAD, &self.progress, tell)?;
        if said.status.success() {
            return Ok(said.stdout);
        }
        let told = |mark| said.stderr.lines().find_map(|line| line.strip_prefix(mark));
        let reason = told("E: ").or_else(|| told("W: "));
        let reason = reason.map_or_else(|| said.status.to_string(), str::to_string);
        Err(client_failed(client.program.to_string(), reason, self.folder))
    }
}
