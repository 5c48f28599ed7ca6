//! The time to load a dump: rqps beside the DBMS's own client, in turn, on one server.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use rqps_dbms::{Home, Place, source::Progress};
use rqps_load::Cancel;
use rqps_plan::{Contender, Method};
use rqps_wire::{Address, Login, Target, scalar};
use rqps_workload::{Dialect, Site, check_folder};

use crate::dump::{self, Form};

/// The goal: rqps takes at most this share of the client's time.
const GOAL: f64 = 1.1;

struct Subject {
    contender: &'static str,
    form: Form,
    client: &'static str,
    /// A command that executes a file.
    command: fn(&Login, &Path, &Path) -> anyhow::Result<Command>,
}

static SUBJECTS: [Subject; 2] = [
    Subject {
        contender: "postgres@17.6",
        form: Form::Copy,
        client: "psql",
        command: |login, socket, file| {
            let folder = socket.parent().context("a socket is in a folder")?;
            let port = socket.extension().context("the socket of Postgres ends with its port")?;
            let mut command = Command::new("psql");
            command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h"]).arg(folder);
            command.arg("-p").arg(port).args(["-U", &login.user, "-d", &login.database, "-f"]);
            command.arg(file);
            Ok(command)
        },
    },
    Subject {
        contender: "mysql@8.0.33",
        form: Form::Inserts,
        client: "mysql",
        command: |login, socket, file| {
            let mut command = Command::new("mysql");
            command.arg("--no-defaults").arg(format!("--socket={}", socket.display()));
            command.arg(format!("--user={}", login.user)).arg(&login.database);
            command.stdin(File::open(file)?);
            Ok(command)
        },
    },
];

pub(crate) fn compare(bytes: u64, rounds: usize) -> anyhow::Result<()> {
    let home = Home::from_env()?;
    rqps_dbms::reap(&home)?;
    for subject in &SUBJECTS {
        let own = tempfile::Builder::new().prefix("own-sql-").tempdir_in(home.data()?)?;
        fs::set_permissions(own.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        measure(subject, &home, own.path(), (bytes, rounds))?;
    }
    Ok(())
}

fn measure(
    subject: &Subject,
    home: &Home,
    own: &Path,
    (bytes, rounds): (u64, usize),
) -> anyhow::Result<()> {
    let folder = own.join("folder");
    fs::create_dir_all(folder.join("load"))?;
    fs::create_dir(folder.join("queries"))?;
    fs::write(folder.join("queries/one.sql"), "select 1 as one")?;
    let file = folder.join("load/dump.sql");
    let mut writer = BufWriter::new(File::create(&file)?);
    let rows = dump::write(&mut writer, subject.form, bytes)?;
    drop(writer);

    let contender: Contender = subject.contender.parse()?;
    let mut tell = |progress| {
        if let Progress::Fetching { what } = progress {
            eprintln!("fetching {what}");
        }
        Ok(())
    };
    let dbms = rqps_dbms::prepare(home, &contender, &mut tell, &Cancel::default())?;
    let place = Place { data: own.join("data"), log: own.join("log"), ..Place::default() };
    let mut server = dbms.start(home, &place, &Cancel::default())?;
    let measured = in_turn(subject, server.target(), (&folder, &file), (rows, rounds));
    server.discard()?;
    let mut ratios = measured?;
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    let verdict = if median <= GOAL { "met" } else { "not met" };
    println!(
        "{}: {} MB, rqps to {}: {median:.3} ({:.3}–{:.3}), goal ≤ {GOAL}: {verdict}",
        subject.contender,
        bytes / 1_000_000,
        subject.client,
        ratios[0],
        ratios[ratios.len() - 1]
    );
    Ok(())
}

/// The ratio of times of each round.
fn in_turn(
    subject: &Subject,
    target: &Target,
    (folder, file): (&Path, &Path),
    (rows, rounds): (u64, usize),
) -> anyhow::Result<Vec<f64>> {
    let (Target::Postgres(login) | Target::Mysql(login)) = target else {
        bail!("{} is no server", subject.contender);
    };
    let Address::Unix { path: socket } = &login.address else {
        bail!("{} does not listen on a Unix socket", subject.contender);
    };
    let contender: Contender = subject.contender.parse()?;
    let dialect = Dialect::from(&contender);
    let (dbms, method) = (contender.dbms, Method::Slices);
    let site = Site { target, dbms, dialect, seed: 1, is_own: true, method };
    let with_client = || {
        let mut command = (subject.command)(login, socket, file)?;
        let ended = command.stdout(Stdio::null()).status();
        let ended = ended.with_context(|| format!("cannot run {}", subject.client))?;
        if !ended.success() {
            bail!("{} ended with {ended}", subject.client);
        }
        anyhow::Ok(())
    };
    let with_rqps = || {
        let checked = check_folder(folder, site)?;
        if !checked.faults.is_empty() {
            bail!("rqps: {}", checked.faults.join("; "));
        }
        anyhow::Ok(())
    };
    let timed = |load: &dyn Fn() -> anyhow::Result<()>| {
        let begun = Instant::now();
        load()?;
        let took = begun.elapsed().as_secs_f64();
        let mut connection = target.connect()?;
        let loaded = scalar(&mut *connection, "select count(*) from dumped")?;
        if loaded != Some(rows.to_string()) {
            bail!("the dump has {rows} rows, but the table {loaded:?}");
        }
        connection.run("drop table dumped")?;
        anyhow::Ok(took)
    };
    let mut ratios = Vec::new();
    for round in 0..rounds {
        // Whoever is first has an emptier server.
        let (own, other) = match round % 2 {
            0 => (timed(&with_rqps)?, timed(&with_client)?),
            _ => {
                let other = timed(&with_client)?;
                (timed(&with_rqps)?, other)
            }
        };
        println!("{}: rqps {own:.1} s, {} {other:.1} s", subject.contender, subject.client);
        ratios.push(own / other);
    }
    Ok(ratios)
}
