//! `rqps selftest`: are rqps's verdicts true on this machine?

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use indicatif::{HumanBytes, HumanDuration};
use rqps_dbms::Dbms;
use rqps_lab::{Interim, Lab, Outcome};
use rqps_observe::SessionLock;
use rqps_plan::{
    Build, Cache, Compared, Comparison, Contender, Count, Dbms as Name, Injection, Method,
    Microbenchmark, Plan, Span, Workload,
};
use rqps_report::{
    Circumstances, Conclusion, Experiment, SelfTest, selftest, selftest_json, selftest_text,
    synthetic,
};
use rqps_store::selftest::{Fitnesses, engine, host};
use rqps_workload::microbenchmark::{Sequence, select};

use super::exit::Exit;
use super::output::{self, note};
use super::progress::Progress;
use super::session::Site;

/// Builds for somebody who names none.
const DEFAULT: [&str; 2] = ["postgres@17.6", "sqlite"];
/// Never reached: all rounds are wanted.
const PRECISION: f64 = 1e-4;
/// What a server has under a quota, which is less than one client keeps busy.
const QUOTA: Injection = Injection::Cpus(0.25);
/// What a server may write, which is less than any disk can.
const WRITES: Injection = Injection::WritesPerSecond(100);
/// What carries everything that a slowdown takes, and is not slowed down.
const CARRIER: Injection = Injection::Delay { server: 0.0, client: 0.0 };

#[derive(Args)]
pub(crate) struct Arguments {
    /// Five minutes: finds gross errors only.
    #[arg(long)]
    quick: bool,
    /// The builds to try it with, each of which stands for its engine [default: postgres@17.6,sqlite].
    #[arg(long, value_name = "CONTENDER,…", value_delimiter = ',')]
    dbms: Vec<Contender>,
    /// How often a build takes part beside itself [default: 8, with --quick 4].
    #[arg(long, value_name = "N")]
    twins: Option<u32>,
    /// Restarts of all servers [default: 8, with --quick 6].
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// How long each contender is measured for each test in each round [default: 0.5, with --quick
    /// 0.3; whole runs four times as long].
    #[arg(long, value_name = "SECONDS")]
    secs: Option<Span>,
    /// Rows of the table.
    #[arg(long, default_value = "100K")]
    rows: Count,
    /// Clients, each with a connection to every contender. With several there are only equals: how much of a
    /// slowdown is to be seen is known for one. Comparisons with as many clients go by the result, and no others.
    #[arg(long, value_name = "N", default_value_t = 1)]
    clients: u32,
    /// Decides all random draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Count what was measured while the machine was busy with something else.
    #[arg(long)]
    no_guards: bool,
    /// The directory for the results [default: out/selftest-<time>].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as JSON instead of tables.
    #[arg(long)]
    json: bool,
}

/// How much is tried.
struct Scale {
    twins: u32,
    rounds: u32,
    secs: Duration,
    /// Of equals.
    tests: &'static [&'static str],
    /// Of what is slowed down.
    slowed: &'static [&'static str],
    /// Of whole runs.
    whole: &'static [&'static str],
    /// Shares of an operation's time.
    server: &'static [f64],
    client: &'static [f64],
}

const QUICK: Scale = Scale {
    twins: 4,
    rounds: 6,
    secs: Duration::from_millis(300),
    tests: &["point-query", "range-covered-pk", "read-only-sum", "update-nonindex"],
    slowed: &["point-query", "range-covered-pk", "read-only-sum"],
    whole: &["point-query"],
    server: &[0.02, 0.05],
    client: &[0.05],
};

const FULL: Scale = Scale {
    twins: 8,
    rounds: 8,
    secs: Duration::from_millis(500),
    tests: &["reported"],
    slowed: &[
        "point-query",
        "hot-points",
        "points-covered-si",
        "range-covered-pk",
        "range-notcovered-si",
        "read-only_range=10",
        "read-only-sum",
        "update-nonindex",
    ],
    whole: &["point-query", "range-covered-pk", "read-only-sum", "update-nonindex"],
    server: &[0.01, 0.02, 0.03, 0.05, 0.10],
    client: &[0.02, 0.05],
};

/// One comparison of a selftest.
struct Part {
    /// Its folder, and in progress.
    title: String,
    contender: Contender,
    plan: Plan,
    injections: Vec<Option<Injection>>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let scale = arguments.scale();
    let site = Site::new()?;
    let data = site.home.data().map_err(rqps_dbms::DbmsError::from)?;
    let mut skipped = Vec::new();
    let mut parts = Vec::new();
    for contender in arguments.contenders()? {
        parts.extend(arguments.parts(&contender, &scale, &data, &mut skipped)?);
    }
    // What is wrong with a contender of the last part is told before the first one begins.
    announce(&parts, &skipped)?;
    let ready = parts.iter().map(|part| site.prepare(&part.plan));
    let ready: Vec<Vec<Box<dyn Dbms>>> = ready.collect::<Result<_, _>>()?;
    let compact = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| PathBuf::from("out").join(format!("selftest-{compact}")));
    if out.join(JSON).exists() || fs::read_dir(&out).is_ok_and(|mut files| files.next().is_some()) {
        bail!("'{}' is not empty: name another --out", out.display());
    }
    let command = format!("rqps selftest in {}", out.display());
    let alone =
        SessionLock::take(&SessionLock::host_path(), &command).map_err(rqps_lab::LabError::from)?;

    note("synthetic rounds first, which need no server");
    let mut cells = synthetic();
    let title =
        |number: usize, part: &Part| format!("{} ({number} of {})", part.title, parts.len());
    let titled = (1..).zip(&parts).map(|(number, part)| (title(number, part), &part.plan));
    let mut progress = Progress::new(titled)?;
    for (place, (part, ready)) in parts.iter().zip(&ready).enumerate() {
        note(&title(place + 1, part));
        match measure(&alone, &site, part, ready, &out, (&mut progress, place))? {
            (Outcome::Complete, experiment) => cells.extend(experiment.cells()),
            (Outcome::Failed, _) => {
                note(&format!("the logs are in {}", out.join(&part.title).display()));
                return Ok(Exit::Failed);
            }
            (Outcome::Interrupted, _) => {
                // Half a selftest says nothing.
                remove(&parts[..=place], &out)?;
                return Ok(Exit::Interrupted);
            }
        }
    }
    let circumstances = Circumstances {
        date: jiff::Timestamp::now().to_string(),
        rqps_version: env!("CARGO_PKG_VERSION").to_string(),
        host: host(&rqps_observe::machine_facts(&data)),
        clients: arguments.clients,
        quick: arguments.quick,
        skipped,
    };
    let result = selftest(cells, circumstances);
    conclude(&result, &site, &out, arguments.json)
}

/// Removes the runs of these parts, and the folder if nothing else is in it.
fn remove(parts: &[Part], out: &Path) -> anyhow::Result<()> {
    for path in parts.iter().map(|part| out.join(&part.title)) {
        fs::remove_dir_all(&path).with_context(|| format!("cannot remove '{}'", path.display()))?;
    }
    let _ = fs::remove_dir(out);
    Ok(())
}

const JSON: &str = "selftest.json";
const TEXT: &str = "selftest.txt";

/// Keeps the result where comparisons look for it, and prints it.
fn conclude(result: &SelfTest, site: &Site, out: &Path, json: bool) -> anyhow::Result<Exit> {
    let (text, for_programs) = (selftest_text(result), selftest_json(result));
    for (name, text) in [(JSON, &for_programs), (TEXT, &text)] {
        let path = out.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write '{}'", path.display()))?;
    }
    let mut known = Fitnesses::read(site.home.root()).unwrap_or_else(|error| {
        note(&format!("{error}: what was known is lost"));
        Fitnesses::default()
    });
    known.add(result.fitness.clone());
    let kept = known.write(site.home.root())?;
    output::print(if json { &for_programs } else { &text })?;
    note(&format!("wrote {}", out.join(JSON).display()));
    note(&match result.fitness[..] {
        [] => {
            "rqps compare goes on by default: nothing has become known of this machine".to_string()
        }
        _ if result.clients > 1 => {
            format!("rqps compare --clients {} goes by {}", result.clients, kept.display())
        }
        _ => format!("rqps compare goes by {}", kept.display()),
    });
    Ok(match result.conclusion {
        Conclusion::Sound => Exit::Done,
        Conclusion::TooNoisy | Conclusion::OutOfBounds => Exit::Unfit,
    })
}

/// What it will take.
fn announce(parts: &[Part], skipped: &[String]) -> anyhow::Result<()> {
    let (cpus, memory) = (rqps_observe::cpus(), rqps_dbms::memory());
    let estimates = parts.iter().map(|part| rqps_lab::estimate(&part.plan, cpus, memory));
    let estimates = estimates.collect::<Result<Vec<_>, _>>()?;
    let time: Duration = estimates.iter().map(|estimate| estimate.time.total()).sum();
    let disk = estimates.iter().map(|estimate| estimate.disk).max().unwrap_or(0);
    note(&format!(
        "{} comparisons, about {} and at most {} of disk",
        parts.len(),
        HumanDuration(time),
        HumanBytes(disk)
    ));
    skipped.iter().for_each(|what| note(&format!("not tried: {what}")));
    Ok(())
}

fn measure(
    alone: &SessionLock,
    site: &Site,
    part: &Part,
    ready: &[Box<dyn Dbms>],
    out: &Path,
    (progress, place): (&mut Progress, usize),
) -> anyhow::Result<(Outcome, Experiment)> {
    let mut directory = site.create_for_selftest(&out.join(&part.title), part.plan.clone())?;
    progress.begin(place);
    let mut watch = |event| progress.event(&event);
    let cancelled = || site.cancel.is_wanted();
    let mut lab = Lab {
        home: &site.home,
        watch: &mut watch,
        cancelled: &cancelled,
        keep_data: false,
        judge: &|_, _| Interim::default(),
    };
    let measured = rqps_lab::run_injected(alone, &mut lab, &mut directory, ready, &part.injections);
    progress.end();
    let (outcome, doses) =
        measured.with_context(|| format!("the run in '{}'", directory.path().display()))?;
    let text = serde_json::to_string_pretty(&doses).context("doses are plain data")?;
    directory.write("doses.json", |out| out.write_all(text.as_bytes()))?;
    let experiment = Experiment {
        engine: engine(&part.contender),
        injections: part.injections.clone(),
        run: directory.run()?,
        doses,
    };
    Ok((outcome, experiment))
}

impl Arguments {
    fn scale(&self) -> Scale {
        let scale = if self.quick { QUICK } else { FULL };
        Scale {
            twins: self.twins.unwrap_or(scale.twins),
            rounds: self.rounds.unwrap_or(scale.rounds),
            secs: self.secs.map_or(scale.secs, |secs| secs.0),
            ..scale
        }
    }

    fn contenders(&self) -> anyhow::Result<Vec<Contender>> {
        if self.twins.is_some_and(|twins| twins < 2) {
            bail!("a build beside itself is two: --twins must be at least 2");
        }
        if self.dbms.is_empty() {
            return Ok(DEFAULT.map(|name| name.parse().expect("these are contenders")).to_vec());
        }
        if let Some(one) = self.dbms.iter().find(|one| matches!(one.build, Build::Server { .. })) {
            bail!(
                "'{one}' is running already: a selftest starts and slows down servers of its own, so \
                 name builds"
            );
        }
        Ok(self.dbms.clone())
    }

    /// The comparisons of one build.
    fn parts(
        &self,
        contender: &Contender,
        scale: &Scale,
        data: &Path,
        skipped: &mut Vec<String>,
    ) -> anyhow::Result<Vec<Part>> {
        let name = contender.name();
        let twins = |count: u32| (0..count).map(|number| (format!("a{number}"), None));
        let mut parts = vec![self.part(
            "equals-by-slices",
            contender,
            twins(scale.twins).collect(),
            self.comparison(Method::Slices, scale.tests, scale.rounds, scale.secs)?,
        )?];
        let are_several = self.clients > 1;
        if are_several {
            // One waits for another, or for a CPU, while an operation takes longer.
            skipped.push(format!(
                "{name}: slowdowns and limits, since what they must come to is known for one client"
            ));
        } else {
            parts.push(self.slowed(contender, scale, skipped)?);
        }

        let mut runs: Vec<(String, Option<Injection>)> =
            twins(scale.twins.div_ceil(2).max(2)).collect();
        let mut limited = |what: &str, injection: Injection| {
            let obstacle = match contender.dbms {
                Name::Sqlite => Some("it runs inside rqps".to_string()),
                _ => rqps_lab::obstacle(injection, data),
            };
            let may = obstacle.is_none();
            skipped.extend(obstacle.map(|why| format!("{name}: {what}: {why}")));
            may
        };
        if !are_several && limited("a CPU quota", QUOTA) {
            runs.push(("quota".to_string(), Some(QUOTA)));
        }
        parts.push(self.part(
            "equals-by-runs",
            contender,
            runs,
            self.comparison(Method::Runs, scale.whole, scale.rounds, scale.secs * 4)?,
        )?);
        if !self.quick && !are_several && limited("limited writes", WRITES) {
            let mut durable = contender.clone();
            durable.settings.extend(durably(contender));
            let contenders = vec![("a0".to_string(), None), ("writes".to_string(), Some(WRITES))];
            let comparison =
                self.comparison(Method::Runs, &["update-nonindex"], scale.rounds, scale.secs * 4)?;
            parts.push(self.part("writes-by-runs", &durable, contenders, comparison)?);
        }
        Ok(parts)
    }

    /// A build against itself, slowed down in the server and in the client.
    fn slowed(
        &self,
        contender: &Contender,
        scale: &Scale,
        skipped: &mut Vec<String>,
    ) -> anyhow::Result<Part> {
        let delay = |name: &str, share: f64, injection| {
            (format!("{name}-{:.0}", 100.0 * share), Some(injection))
        };
        let mut slower = vec![("carrier".to_string(), Some(CARRIER))];
        if contender.dbms == Name::Sqlite {
            let name = contender.name();
            skipped.push(format!("{name}: a slower server, since it has none of its own"));
        } else {
            slower.extend(
                scale.server.iter().map(|&server| {
                    delay("server", server, Injection::Delay { server, client: 0.0 })
                }),
            );
        }
        slower.extend(
            scale
                .client
                .iter()
                .map(|&client| delay("client", client, Injection::Delay { server: 0.0, client })),
        );
        self.part(
            "slowed-by-slices",
            contender,
            slower,
            self.comparison(Method::Slices, scale.slowed, scale.rounds, scale.secs)?,
        )
    }

    fn part(
        &self,
        title: &str,
        contender: &Contender,
        labels: Vec<(String, Option<Injection>)>,
        comparison: Comparison,
    ) -> anyhow::Result<Part> {
        let (labels, injections): (Vec<_>, Vec<_>) = labels.into_iter().unzip();
        let labelled = |label| Contender { label: Some(label), ..contender.clone() };
        let plan = Plan {
            contenders: labels.into_iter().map(labelled).collect(),
            seed: self.seed,
            cache: Some(Cache::Cached),
            memory: None,
            workload: Workload::Comparison(comparison),
        };
        plan.validate()?;
        rqps_lab::validate(&plan)?;
        let name = rqps_store::file_name(&contender.name(), &[]);
        Ok(Part {
            title: format!("{name}-{title}"),
            contender: contender.clone(),
            plan,
            injections,
        })
    }

    fn comparison(
        &self,
        method: Method,
        tests: &[&str],
        rounds: u32,
        secs: Duration,
    ) -> anyhow::Result<Comparison> {
        let names: Vec<String> = tests.iter().map(ToString::to_string).collect();
        let tests = select(&names, Sequence::Suite)?;
        // Longer ranges than the table are in no table.
        let fits = tests.iter().filter(|test| test.size as u64 <= self.rows.0);
        let microbenchmark = Microbenchmark {
            tables: 1,
            rows: self.rows,
            clients: vec![self.clients],
            read_time: Span(secs),
            write_time: Span(secs),
            tests: fits.map(|test| test.short_name().to_string()).collect(),
            fair_writes: true,
            pause: Span(Duration::ZERO),
            pay_after_each_write: false,
            check: true,
        };
        let mut comparison = Comparison::new(Compared::Microbenchmark(microbenchmark));
        comparison.method = method;
        comparison.rounds = rounds;
        comparison.fewest_rounds = rounds;
        comparison.precision = PRECISION;
        comparison.twin = false;
        comparison.guards = !self.no_guards;
        Ok(comparison)
    }
}

/// Settings with which a commit waits for the disk.
fn durably(contender: &Contender) -> Option<(String, String)> {
    let (name, value) = match (contender.dbms, contender.engine.as_deref()) {
        (Name::Postgres, _) => ("synchronous_commit", "on"),
        (Name::Mysql | Name::Mariadb, Some("rocksdb")) => ("rocksdb_flush_log_at_trx_commit", "1"),
        (Name::Mysql | Name::Mariadb, _) => ("innodb_flush_log_at_trx_commit", "1"),
        (Name::Sqlite, _) => return None,
    };
    let is_said = contender.settings.iter().any(|(known, _)| known == name);
    (!is_said).then(|| (name.to_string(), value.to_string()))
}
