//! `rqps dbms`: the builds in the store, and servers for interactive use.

use std::fs;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Subcommand;
use rqps_dbms::{Home, Installed, Lease, Left, Place, all_configs, source};
use rqps_plan::{Build, Contender, Dbms, Flags, Source, Sweep};
use rqps_store::RunDirectory;
use rqps_system::Cancel;
use rqps_wire::{Connection, Row, Target};

use super::build;
use super::clean;
use super::configs;
use super::exit::Exit;
use super::output;
use super::progress::Fetching;
use super::session::SELFTEST;
use super::table::table;

/// The names of data directories of shells begin with this; a process id follows.
const SHELL: &str = "shell-";
/// How long a server that is told to stop may take.
const STOP_PATIENCE: Duration = Duration::from_secs(120);

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List installed and available builds, configs and running servers
    ///
    /// Registries are asked for their builds once a day.
    List {
        /// List only what is on this machine, without asking any registry.
        #[arg(long, conflicts_with = "refresh")]
        installed: bool,
        /// Ask registries also where their answer is less than a day old.
        #[arg(long)]
        refresh: bool,
    },
    /// List configs and their purposes, or print one of them.
    Configs {
        /// DBMS or DBMS/ENGINE, a config of it (postgres:x9a2), or the name of a config.
        #[arg(value_name = "DBMS[/ENGINE][:CONFIG] | CONFIG")]
        which: Option<String>,
    },
    /// Fetch builds now instead of when they are first needed.
    Fetch {
        /// Contenders whose builds are fetched.
        #[arg(value_name = "CONTENDER", required = true)]
        contenders: Vec<Sweep>,
        /// Accept a file whose hash differs from the known one.
        #[arg(long)]
        accept_new_hash: bool,
    },
    /// Build releases from source by one recipe, and print their contenders.
    Build(build::Arguments),
    /// Start a server that keeps running, and print its URL.
    Start {
        /// Build to start.
        contender: Contender,
        /// Data directory, which is created if it does not exist
        ///
        /// If it is empty, the data are in its folder 'data'.
        ///
        /// [default: in rqps's store]
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
        /// Also listen on a port of 127.0.0.1, with a password that is shown once
        ///
        /// Without it, only rqps's user and the server's user can connect, by the Unix socket.
        #[arg(long)]
        tcp: bool,
    },
    /// Stop servers that rqps dbms start has started, by process id or all.
    Stop {
        /// Process ids, as rqps dbms list shows them.
        #[arg(value_name = "PID", required_unless_present = "all")]
        pids: Vec<i32>,
        /// Stop all of them.
        #[arg(long)]
        all: bool,
    },
    /// Run SQL from stdin on a temporary server, or on that of a URL.
    Shell {
        /// Build to start, or URL to connect to.
        contender: Contender,
    },
    /// Show and remove what rqps left in a remote server, and nothing else.
    Clean {
        /// URL of the server.
        #[arg(value_name = "URL")]
        server: Contender,
    },
    /// Remove data directories that are no longer needed.
    Prune {
        /// Also remove fetched and built builds, and the logs of failed builds.
        #[arg(long)]
        builds: bool,
        /// Also remove the data of interrupted runs and of stopped servers.
        #[arg(long)]
        data: bool,
    },
}

pub(crate) fn run(verb: &Verb) -> anyhow::Result<Exit> {
    let home = Home::from_env().map_err(rqps_dbms::DbmsError::from)?;
    let cancel = super::cancel::listen().context("cannot catch signals")?;
    rqps_dbms::reap(&home)?;
    match verb {
        Verb::List { installed, refresh } => list(&home, *installed, *refresh, &cancel),
        Verb::Configs { which } => configs::run(which.as_deref()),
        Verb::Fetch { contenders, accept_new_hash } => {
            fetch(&home, &cancel, contenders, *accept_new_hash)
        }
        Verb::Build(arguments) => build::run(&home, &cancel, arguments),
        Verb::Start { contender, data, tcp } => {
            start(&home, &cancel, contender, data.as_deref(), *tcp)
        }
        Verb::Stop { pids, all } => stop(&home, pids, *all),
        Verb::Shell { contender } => shell(&home, &cancel, contender),
        Verb::Clean { server } => clean::run(server, &cancel),
        Verb::Prune { builds, data } => prune(&home, &cancel, *builds, *data),
    }
}

fn list(home: &Home, only_installed: bool, refresh: bool, cancel: &Cancel) -> anyhow::Result<Exit> {
    let mut fetching = Fetching::new();
    let mut tell = |event| fetching.tell(event, cancel);
    let installed = source::installed(home, &mut tell).map_err(rqps_dbms::DbmsError::from)?;
    let fetched = Dbms::ALL.into_iter().filter(|dbms| !only_installed && !dbms.is_bundled());
    let available: Vec<_> =
        fetched.map(|dbms| (dbms, source::available(home, dbms, refresh, &mut tell))).collect();
    fetching.finish();

    let mut text = installed_builds(&rqps_dbms::sqlite_build()?.flags, &installed);
    for family in configs::families() {
        let of_family = all_configs().filter(|config| config.family == family);
        let names: Vec<&str> = of_family.map(|config| config.name).collect();
        text += &format!("\nconfigs of {family}: {}", names.join(", "));
    }
    text.push('\n');
    for (dbms, available) in available {
        match available {
            Ok(available) => {
                text += &format!("\n{dbms} can be fetched as: {}", available.versions.join(" "));
                available.unasked.iter().for_each(|reason| output::note(reason));
            }
            Err(error) => output::note(&format!("cannot list builds of {dbms}: {error}")),
        }
    }
    text.push('\n');
    let leases = Lease::all(home)?;
    if !leases.is_empty() {
        let mut servers = table(&["RUNNING", "PID", "URL"]);
        for lease in &leases {
            servers.add_row([lease.spec.clone(), lease.pid().to_string(), lease.url.clone()]);
        }
        text += &format!("\n{}\n", servers.trim_fmt());
    }
    output::print(&text)?;
    Ok(Exit::Done)
}

/// The table of builds; below it the reasons for unknown flags.
fn installed_builds(sqlite: &Flags, installed: &[Installed]) -> String {
    let mut builds = table(&["INSTALLED", "SOURCE", "FLAGS", "COMPILER", "LIBC", "DIRECTORY"]);
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    let none = Flags::default();
    let compiler = |flags: &Flags| flags.compiler_name().unwrap_or_default();
    builds.add_row(["sqlite", "in rqps", &sqlite.short(), &compiler(sqlite), "", ""]);
    for build in installed {
        let name = build.contender().unwrap_or_else(|| format!("{}@{}", build.dbms, build.version));
        let source = match (&build.source, &build.archives[..]) {
            (Some(Source::Image), [image]) => format!("image:{}", image.name),
            (source, _) => source.as_ref().map_or("path".to_string(), Source::to_string),
        };
        let flags = build.flags.as_ref().unwrap_or(&none);
        builds.add_row([
            name.clone(),
            source.clone(),
            flags.short(),
            compiler(flags),
            build.libc.clone().unwrap_or_default(),
            build.root.display().to_string(),
        ]);
        if let (None, Some(why)) = (&flags.level, &flags.unknown) {
            let who = format!("{name} ({source})");
            match reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, names)) => names.push(who),
                None => reasons.push((why, vec![who])),
            }
        }
    }
    let mut text = builds.trim_fmt() + "\n";
    for (why, names) in reasons {
        text += &format!("\nunknown flags of {}: {why}", names.join(", "));
    }
    text.push('\n');
    text
}

fn fetch(
    home: &Home,
    cancel: &Cancel,
    contenders: &[Sweep],
    accept_new_hash: bool,
) -> anyhow::Result<Exit> {
    for contender in contenders.iter().flat_map(|sweep| &sweep.0) {
        let mut fetching = Fetching::new();
        let mut tell = |event| fetching.tell(event, cancel);
        if accept_new_hash && let Build::Version { .. } = contender.build {
            let obtained =
                source::obtain_with_any_hash(home, contender.dbms, &contender.build, &mut tell);
            obtained.map_err(rqps_dbms::DbmsError::from)?;
        }
        let ready = rqps_dbms::prepare(home, contender, &mut tell, cancel)?;
        fetching.finish();
        let text = match ready.build() {
            Some(build) => describe(contender, build),
            None if contender.dbms.is_bundled() => {
                let options = rqps_dbms::sqlite_build()?.compile_options.join(" ");
                format!("{contender}: nothing to fetch\n  compile options {options}\n")
            }
            None => format!("{contender}: nothing to fetch\n"),
        } + &compiled(&ready.flags());
        output::print(&text)?;
    }
    Ok(Exit::Done)
}

fn describe(contender: &Contender, build: &Installed) -> String {
    let mut text =
        format!("{contender}: {} {} in {}\n", build.dbms, build.version, build.root.display());
    let what = match build.source {
        Some(Source::Image) => "configuration of image",
        _ => "archive",
    };
    for archive in &build.archives {
        text += &format!("  {what} {} sha256 {}\n", archive.name, archive.sha256);
    }
    text + &format!("  server sha256 {}\n", build.server_sha256)
}

/// How it was compiled: the level, other details, and a warning if it is unlike usual builds.
fn compiled(flags: &Flags) -> String {
    let mut text = format!("  flags {}\n", flags.told());
    let details = flags.details();
    if !details.is_empty() {
        text += &format!("  {}\n", details.join(", "));
    }
    if let Some(unusual) = flags.unusual() {
        text += &format!("  {unusual}, unlike the builds that distributions ship\n");
    }
    text
}

fn start(
    home: &Home,
    cancel: &Cancel,
    contender: &Contender,
    data: Option<&Path>,
    tcp: bool,
) -> anyhow::Result<Exit> {
    if rqps_dbms::data_disk(contender).is_some() {
        bail!("process.data is for runs. Use --data DIR");
    }
    let mut fetching = Fetching::new();
    let mut tell = |event| fetching.tell(event, cancel);
    let ready = rqps_dbms::prepare(home, contender, &mut tell, cancel)?;
    if ready.build().is_none() {
        bail!("cannot start '{contender}': it is embedded in rqps, or a remote server");
    }
    let (data, name) = match data {
        Some(data) => {
            let data = std::path::absolute(data)?;
            let name = plain(&data.to_string_lossy());
            (data, name)
        }
        None => {
            let name = plain(&contender.name());
            (home.data().map_err(rqps_dbms::DbmsError::from)?.join(&name), name)
        }
    };
    // The directory may be a mount point, with the data in a folder of it.
    let is_of = |lease: &&Lease| lease.data.starts_with(&data);
    if let Some(lease) = Lease::all(home)?.iter().find(is_of) {
        bail!("a server is already running on '{}': {}", lease.data.display(), lease.url);
    }
    let log = home.logs().map_err(rqps_dbms::DbmsError::from)?.join(format!("{name}.log"));
    let password = tcp.then(rqps_dbms::new_password);
    let place = Place { data, log, detached: true, password, ..Place::default() };
    let server = ready.start(home, &place, cancel)?;
    fetching.finish();
    let started = Lease::all(home)?.into_iter().find(|lease| Some(&*lease.data) == server.data());
    let lease = started.context("the server ended right after its start. See its log")?;
    let (url, pid) = (&lease.url, lease.pid());
    match (server.port(), &place.password) {
        (Some(port), Some(password)) => {
            let (scheme, user) = (contender.dbms, rqps_dbms::LOOPBACK_USER);
            output::print(&format!("{scheme}://{user}:{password}@127.0.0.1:{port}/ib\n"))?;
            output::note(&format!(
                "the password is not shown again. By the Unix socket, without it: {url}"
            ));
        }
        _ => output::print(&format!("{url}\n"))?,
    }
    output::note(&format!("data: {}", lease.data.display()));
    output::note(&format!("log: {}", lease.log.display()));
    output::note(&format!("to run SQL: rqps dbms shell '{url}'"));
    output::note(&format!("to stop it: rqps dbms stop {pid}"));
    Ok(Exit::Done)
}

/// A name with only those characters that every file system accepts.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}
fn stop(home: &Home, pids: &[i32], all: bool) -> anyhow::Result<Exit> {
    let mut leases = Lease::all(home)?;
    // A server of a measurement ends with it.
    leases.retain(Lease::is_detached);
    for pid in pids {
        if !leases.iter().any(|lease| lease.pid() == *pid) {
            let known: Vec<String> = leases.iter().map(|lease| lease.pid().to_string()).collect();
            let there = match &known[..] {
                [] => "none is running".to_string(),
                known => format!("there are: {}", known.join(", ")),
            };
            bail!("rqps has started no server with process id {pid}: {there}");
        }
    }
    for lease in leases.iter().filter(|lease| all || pids.contains(&lease.pid())) {
        lease.stop(STOP_PATIENCE)?;
        output::note(&format!(
            "stopped {}; its data are kept in {}",
            lease.spec,
            lease.data.display()
        ));
    }
    Ok(Exit::Done)
}

/// `with_extension` would replace the minor version.
fn log_beside(data: &Path) -> PathBuf {
    let mut log = data.as_os_str().to_owned();
    log.push(".log");
    PathBuf::from(log)
}

fn shell(home: &Home, cancel: &Cancel, contender: &Contender) -> anyhow::Result<Exit> {
    // A remote server is shown as any client sees it, not as the target of a benchmark.
    if let Build::Server { url } = &contender.build {
        if let Some(target) = rqps_dbms::target(contender.dbms, url, cancel)? {
            converse(&target, cancel)?;
        }
        return Ok(Exit::Done);
    }
    let mut fetching = Fetching::new();
    let mut tell = |event| fetching.tell(event, cancel);
    let ready = rqps_dbms::prepare(home, contender, &mut tell, cancel)?;
    let place = temporary(home)?;
    let mut server = ready.start(home, &place, cancel)?;
    fetching.finish();
    let result = converse(server.target(), cancel);
    server.discard()?;
    // SQLite writes no log.
    let _ = fs::remove_file(&place.log);
    result?;
    Ok(Exit::Done)
}

/// The place of a server that ends with this process.
pub(super) fn temporary(home: &Home) -> anyhow::Result<Place> {
    let data = home.data().map_err(rqps_dbms::DbmsError::from)?;
    let data = data.join(format!("{SHELL}{}", std::process::id()));
    Ok(Place { log: log_beside(&data), data, ..Place::default() })
}

/// Reads statements, one a line, and prints what they return.
fn converse(target: &Target, cancel: &Cancel) -> anyhow::Result<()> {
    let mut connection = target.connect()?;
    let ask = || match std::io::stdin().is_terminal() {
        true => output::print("sql> "),
        false => Ok(()),
    };
    ask()?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if cancel.is_requested() || matches!(line.trim(), "exit" | "quit" | "\\q") {
            break;
        }
        if !line.trim().is_empty() {
            answer(&mut *connection, &line)?;
        }
        ask()?;
    }
    Ok(())
}

fn answer(connection: &mut dyn Connection, sql: &str) -> anyhow::Result<()> {
    match connection.query(sql) {
        Ok(rows) if rows.is_empty() => output::print("done\n")?,
        Ok(rows) => {
            let mut table = table(&[]);
            let text = |row: Row| row.into_iter().map(|field| field.unwrap_or("NULL".to_string()));
            table.add_rows(rows.into_iter().map(text));
            output::print(&format!("{}\n", table.trim_fmt()))?;
        }
        Err(error) if error.is_disconnect() => return Err(error.into()),
        Err(error) => output::note(&format!("error: {error}")),
    }
    Ok(())
}

fn prune(home: &Home, cancel: &Cancel, builds: bool, data: bool) -> anyhow::Result<Exit> {
    let running = Lease::all(home)?;
    let in_use: Vec<&Path> = running.iter().map(|lease| &*lease.data).collect();
    let directory = home.data().map_err(rqps_dbms::DbmsError::from)?;
    let mut at_work = Vec::new();
    for entry in fs::read_dir(&directory)?.flatten() {
        let path = entry.path();
        let used = in_use.iter().any(|used| used.starts_with(&path) || log_beside(used) == path);
        let busy = || run_of(&path).is_some_and(|run| RunDirectory::is_busy(&run));
        if used || busy() {
            at_work.push(path.display().to_string());
            continue;
        }
        if !data && may_be_resumed(&path) {
            continue;
        }
        let on_servers = clean::left_by(&path);
        for folder in rqps_lab::on_other_disks(&path) {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
            output::note(&format!("removed {}", folder.display()));
        }
        let removed =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.with_context(|| format!("cannot remove {}", path.display()))?;
        output::note(&format!("removed {}", path.display()));
        for Left { url, place, .. } in on_servers {
            output::note(&format!(
                "its data are still in {place}; to remove them: rqps dbms clean '{url}'"
            ));
        }
    }
    if data {
        remove_logs(home, &running)?;
    }
    if builds && !at_work.is_empty() {
        bail!(
            "cannot remove builds: {} is in use. End that first (rqps dbms stop --all stops servers)",
            at_work.join(", ")
        );
    }
    if builds {
        let mut fetching = Fetching::new();
        let mut tell = |event| fetching.tell(event, cancel);
        let fetched = source::installed(home, &mut tell).map_err(rqps_dbms::DbmsError::from)?;
        fetching.finish();
        for build in fetched.iter().filter(|build| !build.archives.is_empty()) {
            let mut fetching = Fetching::new();
            let mut tell = |event| fetching.tell(event, cancel);
            source::remove(home, build, &mut tell).map_err(rqps_dbms::DbmsError::from)?;
            fetching.finish();
            output::note(&format!("removed {}", build.root.display()));
        }
        let failed = source::forget_failed_builds(home).map_err(rqps_dbms::DbmsError::from)?;
        if failed > 0 {
            let plural = if failed == 1 { "" } else { "s" };
            output::note(&format!("removed the logs of {failed} failed build{plural}"));
        }
    }
    Ok(Exit::Done)
}

/// Removes the logs of servers that were stopped.
fn remove_logs(home: &Home, running: &[Lease]) -> anyhow::Result<()> {
    let logs = home.logs().map_err(rqps_dbms::DbmsError::from)?;
    for log in fs::read_dir(&logs)?.flatten().map(|entry| entry.path()) {
        if !running.iter().any(|lease| lease.log == log) {
            fs::remove_file(&log).with_context(|| format!("cannot remove {}", log.display()))?;
            output::note(&format!("removed {}", log.display()));
        }
    }
    Ok(())
}

/// The run directory of a data directory.
fn run_of(data: &Path) -> Option<PathBuf> {
    fs::read_to_string(data.join("run")).ok().map(PathBuf::from)
}

/// Whether the name of a data directory begins with a text.
fn is_called(data: &Path, start: &str) -> bool {
    data.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
}

/// Whether an unfinished run has its data here: its directory exists, and it is not part of a
/// selftest, which cannot be resumed.
fn may_be_resumed(data: &Path) -> bool {
    // Without a run it belongs to `dbms start`, or is its log, and may be started again; data of a
    // killed shell may not.
    let Some(run) = run_of(data) else { return !is_called(data, SHELL) };
    if is_called(data, SELFTEST) {
        return false;
    }
    let manifest = fs::read_to_string(run.join("manifest.json")).unwrap_or_default();
    let others = rqps_lab::on_other_disks(data);
    let folders = others.iter().map(PathBuf::as_path).chain([data]);
    let mut entries = folders.flat_map(fs::read_dir).flatten().flatten();
    let holds_data = entries.any(|entry| entry.path().is_dir());
    holds_data && data.file_name().is_some_and(|id| manifest.contains(&*id.to_string_lossy()))
}
