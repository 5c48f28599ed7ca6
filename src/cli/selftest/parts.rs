//! The comparisons that a selftest is made of.

use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use rqps_dbms::Descriptor;
use rqps_plan::{
    Cache, Comparison, Contender, Dbbench, Injection, Interface, Method, Microbenchmark, Plan,
    Span, Workload,
};
use rqps_study::{Intervention, Variant, variants};
use rqps_workload::microbenchmark::{Sequence, select};

use super::Arguments;

/// Never reached: all rounds are wanted.
const PRECISION: f64 = 1e-4;
/// The quota of a server, much less than one client keeps busy. A point query can take half as much
/// CPU under a quota as without, so a quarter of a CPU does not slow down everything.
const QUOTA: Injection = Injection::Cpus(0.1);
/// The write limit of a server, below what any disk can do.
const WRITES: Injection = Injection::WritesPerSecond(100);
/// Has everything that a slowdown needs, but no delay.
const CARRIER: Injection = Injection::Delay { server: 0.0, client: 0.0 };
/// How many times longer a whole run is than all slices of a contender in a round.
const WHOLE: u32 = 4;
/// Rounds of a build with another setting, whose effect is large: the minimum of any comparison.
const VARIED_ROUNDS: u32 = 6;

/// The subject of a comparison of a selftest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum About {
    /// A/A comparison by slices.
    Equals,
    /// Injected slowdowns of server and client.
    Slowed,
    /// Whole runs: A/A comparison, a CPU quota and limited writes.
    Runs,
    /// Settings with a known effect.
    Settings,
}

/// The size of a selftest.
pub(super) struct Scale {
    controls: u32,
    rounds: u32,
    secs: Duration,
    /// Of A/A comparisons.
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
    controls: 4,
    rounds: 6,
    secs: Duration::from_millis(300),
    tests: &["point-query", "range-covered-pk", "read-only-sum", "update-nonindex"],
    slowed: &["point-query", "range-covered-pk", "read-only-sum"],
    whole: &["point-query"],
    server: &[0.02, 0.05],
    client: &[0.05],
};

const FULL: Scale = Scale {
    controls: 8,
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

/// The tests of db_bench, where the build is one of RocksDB: few enough for any size.
const READS: &[&str] =
    &["readrandom", "fwdrange", "revrange", "multireadrandom", "readwhilewriting"];
const WHOLE_RUNS: &[&str] = &["readrandom", "overwrite"];

/// One comparison of a selftest.
pub(super) struct Part {
    /// The name of its folder, which progress shows.
    pub(super) title: String,
    pub(super) contender: Contender,
    pub(super) plan: Plan,
    /// By the place of the contender in the plan.
    pub(super) interventions: Vec<Option<Intervention>>,
}

impl Part {
    /// The injections of the contenders.
    pub(super) fn injections(&self) -> Vec<Option<Injection>> {
        let injection = |one: &Option<Intervention>| match one {
            Some(Intervention::Injected(injection)) => Some(*injection),
            Some(Intervention::Varied(_)) | None => None,
        };
        self.interventions.iter().map(injection).collect()
    }

    /// Its variant, if it has one.
    pub(super) fn variant(&self) -> Option<&'static Variant> {
        self.interventions.iter().find_map(|one| match one {
            Some(Intervention::Varied(variant)) => Some(*variant),
            Some(Intervention::Injected(_)) | None => None,
        })
    }
}

/// A contender, and what is done to it.
type Side = (Contender, Option<Intervention>);

fn labelled(contender: &Contender, label: String) -> Contender {
    Contender { label: Some(label), ..contender.clone() }
}

fn injected(contender: &Contender, label: &str, injection: Injection) -> Side {
    (labelled(contender, label.to_string()), Some(Intervention::Injected(injection)))
}

/// Several arms of the same build.
fn controls(contender: &Contender, count: u32) -> Vec<Side> {
    (0..count).map(|number| (labelled(contender, format!("a{number}")), None)).collect()
}

impl Scale {
    /// The same with tests that a contender has.
    fn of_contender(&self, contender: &Contender) -> Scale {
        match contender.dbms.interface() {
            Interface::Sql => Scale { ..*self },
            Interface::KeyValue => {
                Scale { tests: READS, slowed: READS, whole: WHOLE_RUNS, ..*self }
            }
        }
    }

    fn secs(&self, method: Method) -> Duration {
        match method {
            Method::Slices => self.secs,
            Method::Runs => self.secs * WHOLE,
        }
    }
}

impl Arguments {
    pub(super) fn scale(&self) -> Scale {
        let scale = if self.quick { QUICK } else { FULL };
        Scale {
            controls: self.controls.unwrap_or(scale.controls),
            rounds: self.rounds.unwrap_or(scale.rounds),
            secs: self.secs.map_or(scale.secs, |secs| secs.0),
            ..scale
        }
    }

    /// The comparisons of one build.
    pub(super) fn parts(
        &self,
        contender: &Contender,
        scale: &Scale,
        data: &Path,
        skipped: &mut Vec<String>,
    ) -> anyhow::Result<Vec<Part>> {
        let name = contender.name();
        let scale = &scale.of_contender(contender);
        let mut parts = Vec::new();
        if self.wants(About::Equals) {
            let chosen = (scale.tests, self.clients);
            let comparison = self.comparison(contender, scale, Method::Slices, chosen)?;
            let sides = controls(contender, scale.controls);
            parts.push(self.part("equals-by-slices", contender, sides, comparison)?);
        }
        let are_several = self.clients > 1;
        if are_several {
            // Clients wait for each other, or for a CPU, if an operation takes longer.
            skipped.push(format!(
                "{name}: slowdowns, limits and settings, since their effect is known for one client"
            ));
        } else if self.wants(About::Slowed) {
            parts.push(self.slowed(contender, scale, skipped)?);
        }
        if self.wants(About::Runs) {
            parts.extend(self.whole(contender, scale, data, skipped)?);
        }
        if self.wants(About::Settings) && !self.quick && !are_several {
            for variant in variants(contender) {
                parts.push(self.varied(contender, variant, scale)?);
            }
        }
        Ok(parts)
    }

    fn wants(&self, about: About) -> bool {
        self.only.is_empty() || self.only.contains(&about)
    }

    /// A build against itself, as it is and limited, by whole runs.
    fn whole(
        &self,
        contender: &Contender,
        scale: &Scale,
        data: &Path,
        skipped: &mut Vec<String>,
    ) -> anyhow::Result<Vec<Part>> {
        let comparison =
            |tests: &[&str]| self.comparison(contender, scale, Method::Runs, (tests, self.clients));
        let mut limited = |what: &str, injection: Injection| {
            let obstacle = match contender.dbms.is_embedded() {
                true => Some("it runs inside rqps".to_string()),
                false => rqps_lab::obstacle(injection, data),
            };
            let may = obstacle.is_none();
            skipped.extend(obstacle.map(|why| format!("{}: {what}: {why}", contender.name())));
            may
        };
        let mut sides = controls(contender, scale.controls.div_ceil(2).max(2));
        let is_one = self.clients == 1;
        if is_one && limited("a CPU quota", QUOTA) {
            sides.push(injected(contender, "quota", QUOTA));
        }
        let equals = self.part("equals-by-runs", contender, sides, comparison(scale.whole)?)?;
        let mut parts = vec![equals];
        let is_durable = <&Descriptor>::from(contender).durable.is_some();
        let may_wait = is_durable || contender.dbms.interface() == Interface::Sql;
        if is_one && !self.quick && may_wait && limited("limited writes", WRITES) {
            let mut durable = contender.clone();
            durable.settings.extend(durably(contender));
            let baseline = (labelled(&durable, "a0".to_string()), None);
            let sides = vec![baseline, injected(&durable, "writes", WRITES)];
            let comparison = comparison(&["update-nonindex"])?;
            parts.push(self.part("writes-by-runs", &durable, sides, comparison)?);
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
        let delay = |name: &str, share: f64, server: f64, client: f64| {
            let label = format!("{name}-{:.0}", 100.0 * share);
            injected(contender, &label, Injection::Delay { server, client })
        };
        let mut sides = vec![injected(contender, "carrier", CARRIER)];
        let has_client = contender.dbms.interface() == Interface::Sql;
        if !has_client {
            let name = contender.name();
            let why = "a slower client, since the process of the database performs operations";
            skipped.push(format!("{name}: {why}"));
        }
        if contender.dbms.is_embedded() {
            let name = contender.name();
            skipped.push(format!("{name}: a slower server, since it runs inside rqps"));
        } else {
            sides.extend(scale.server.iter().map(|&share| delay("server", share, share, 0.0)));
        }
        let shares = scale.client.iter().filter(|_| has_client);
        sides.extend(shares.map(|&share| delay("client", share, 0.0, share)));
        let chosen = (scale.slowed, self.clients);
        let comparison = self.comparison(contender, scale, Method::Slices, chosen)?;
        self.part("slowed-by-slices", contender, sides, comparison)
    }

    /// A build against itself with another setting.
    fn varied(
        &self,
        contender: &Contender,
        variant: &'static Variant,
        scale: &Scale,
    ) -> anyhow::Result<Part> {
        let (method, rounds) = (variant.method, scale.rounds.min(VARIED_ROUNDS));
        let clients = variant.clients;
        let chosen = (variant.tests, clients);
        let mut comparison = self.comparison(contender, scale, method, chosen)?;
        (comparison.rounds, comparison.fewest_rounds) = (rounds, rounds);
        // Loads differ by little, compared with the effect of a setting.
        comparison.loads = Some(1);
        let [baseline, changed] = variant.sides(contender);
        let sides = vec![(baseline, None), (changed, Some(Intervention::Varied(variant)))];
        self.part(&format!("{}-by-{method}", variant.name), contender, sides, comparison)
    }

    fn part(
        &self,
        title: &str,
        contender: &Contender,
        sides: Vec<Side>,
        comparison: Comparison,
    ) -> anyhow::Result<Part> {
        let (contenders, interventions) = sides.into_iter().unzip();
        let plan = Plan {
            contenders,
            seed: self.seed,
            cache: Some(Cache::Cached),
            memory: None,
            design: comparison.into(),
        };
        plan.validate()?;
        rqps_lab::validate(&plan)?;
        let name = rqps_store::file_name(&contender.name(), &[]);
        let (title, contender) = (format!("{name}-{title}"), contender.clone());
        Ok(Part { title, contender, plan, interventions })
    }

    fn comparison(
        &self,
        contender: &Contender,
        scale: &Scale,
        method: Method,
        (tests, clients): (&[&str], u32),
    ) -> anyhow::Result<Comparison> {
        let secs = Span(scale.secs(method));
        let names: Vec<String> = tests.iter().map(ToString::to_string).collect();
        let of = match contender.dbms.interface() {
            Interface::Sql => self.microbenchmark(&names, secs, clients)?,
            Interface::KeyValue => {
                let (keys, time) = (self.rows, secs);
                Dbbench { keys, clients, time, tests: names, check: true }.into()
            }
        };
        let mut comparison = Comparison::new(of);
        comparison.method = method;
        (comparison.rounds, comparison.fewest_rounds) = (scale.rounds, scale.rounds);
        comparison.precision = PRECISION;
        comparison.control = false;
        comparison.guards = !self.no_guards;
        Ok(comparison)
    }

    fn microbenchmark(
        &self,
        names: &[String],
        secs: Span,
        clients: u32,
    ) -> anyhow::Result<Workload> {
        let tests = select(names, Sequence::Suite)?;
        // Ranges that are longer than the table are left out.
        let fits = tests.iter().filter(|test| test.size as u64 <= self.rows.0);
        let microbenchmark = Microbenchmark {
            tables: 1,
            rows: self.rows,
            clients: vec![clients],
            read_time: secs,
            write_time: secs,
            tests: fits.map(|test| test.short_name().to_string()).collect(),
            fair_writes: true,
            pause: Span(Duration::ZERO),
            quiesce_after_each_write: false,
            check: true,
        };
        Ok(microbenchmark.into())
    }
}

/// Settings with which a commit waits for the disk.
fn durably(contender: &Contender) -> Option<(String, String)> {
    let (name, value) = <&Descriptor>::from(contender).durable?;
    let is_said = contender.settings.iter().any(|(known, _)| known == name);
    (!is_said).then(|| (name.to_string(), value.to_string()))
}

#[cfg(test)]
mod tests {
    use rqps_plan::Count;

    use super::*;

    const BUILDS: [&str; 6] = [
        "rocksdb@10.4.2",
        "postgres@17.6",
        "sqlite",
        "mysql@8.0.33",
        "mariadb@10.11",
        "mariadb@debian-10.11/rocksdb",
    ];

    fn arguments() -> Arguments {
        Arguments {
            quick: false,
            dbms: Vec::new(),
            controls: None,
            rounds: None,
            secs: None,
            rows: Count(100_000),
            clients: 1,
            only: Vec::new(),
            seed: 1,
            no_guards: false,
            out: None,
            json: false,
        }
    }

    fn varied(build: &str) -> Vec<Part> {
        let (arguments, contender) = (arguments(), build.parse().unwrap());
        let part = |variant| arguments.varied(&contender, variant, &arguments.scale()).unwrap();
        variants(&contender).map(part).collect()
    }

    #[test]
    fn a_variant_is_configured_as_its_baseline_but_for_what_it_is_about() {
        for part in BUILDS.iter().flat_map(|build| varied(build)) {
            let resolved =
                |place: usize| rqps_dbms::resolved(&part.plan.contenders[place]).unwrap();
            let (baseline, changed) = (resolved(0), resolved(1));
            let differs = changed.iter().filter(|line| !baseline.contains(line));
            let variant = part.variant().unwrap();
            let about = variant.changed.iter().map(|(name, value)| format!("{name} = {value}"));
            assert!(differs.eq(about.collect::<Vec<_>>().iter()), "{}", part.title);
            assert!(part.injections().iter().all(Option::is_none));
        }
    }

    #[test]
    fn variants_of_an_engine_take_eight_minutes_at_most() {
        for build in BUILDS {
            let parts = varied(build);
            let estimate = |part: &Part| rqps_lab::estimate(&part.plan, 2, 16 << 30).unwrap();
            let time: Duration = parts.iter().map(|part| estimate(part).time.total()).sum();
            assert!(time <= Duration::from_secs(8 * 60), "{build}: {time:?}");
        }
    }

    #[test]
    fn a_selftest_has_the_parts_that_are_wanted_and_can_be_known() {
        let contender: Contender = "sqlite".parse().unwrap();
        let titles = |arguments: &Arguments| {
            let parts =
                arguments.parts(&contender, &arguments.scale(), Path::new("/"), &mut Vec::new());
            let titles = parts.unwrap().into_iter().map(|part| part.title);
            titles.collect::<Vec<_>>().join(" ")
        };
        let all = "sqlite-equals-by-slices sqlite-slowed-by-slices sqlite-equals-by-runs";
        assert_eq!(titles(&arguments()), format!("{all} sqlite-commit-by-slices"));
        assert_eq!(titles(&Arguments { quick: true, ..arguments() }), all);
        let of_four = "sqlite-equals-by-slices sqlite-equals-by-runs";
        assert_eq!(titles(&Arguments { clients: 4, ..arguments() }), of_four);
        for (about, title) in
            About::value_variants().iter().zip(format!("{all} sqlite-commit-by-slices").split(' '))
        {
            assert_eq!(titles(&Arguments { only: vec![*about], ..arguments() }), title);
        }
        let contender: Contender = "rocksdb@10.4.2".parse().unwrap();
        let (arguments, mut skipped) = (arguments(), Vec::new());
        let parts = arguments.parts(&contender, &arguments.scale(), Path::new("/"), &mut skipped);
        let slowed = parts.unwrap().into_iter().find(|part| part.title.contains("slowed")).unwrap();
        let names = slowed.plan.contenders.iter().map(Contender::name).collect::<Vec<_>>();
        assert!(names.contains(&"server-2".to_string()), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("client")), "{names:?}");
        assert!(skipped[0].contains("a slower client"), "{skipped:?}");
    }

    #[test]
    fn nothing_remains_of_settings_alone_in_a_quick_selftest() {
        let contender: Contender = "sqlite".parse().unwrap();
        let titles = |arguments: &Arguments| {
            arguments.parts(&contender, &arguments.scale(), Path::new("/"), &mut Vec::new())
        };
        let none = Arguments { only: vec![About::Settings], quick: true, ..arguments() };
        assert!(titles(&none).unwrap().is_empty());
    }
}
