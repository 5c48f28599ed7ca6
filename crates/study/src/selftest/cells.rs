//! Cells of an experiment: pairs of contenders whose difference is known, either its size or its
//! cause.

use rqps_analysis::comparison::{
    Observed, Pair, Quantity, class_of_noise, kind, level, restart, tests,
};
use rqps_analysis::diagnosis::{Cause, Confidence, Evidence, Finding, Part, budget, explain};
use rqps_observe::Metric;
use rqps_plan::{Comparison, Dose, Injection, Method};
use rqps_stats::acceptance::Known;
use rqps_stats::label::Label;
use rqps_stats::verdict::{self, Cost, LogRatios, LogValues, Options, Sample, Verdict};
use rqps_store::RoundRecord;

use super::{Cell, Experiment, Intervention, SYNTHETIC, Treatment, Variant};

/// Fewer rounds are too few for a cell.
const FEWEST_ROUNDS: usize = 3;

/// Classes by the group titles of the published tables.
const CLASSES: [(&str, &str); 4] = [
    ("Point queries", "point"),
    ("Range queries without aggregation", "range"),
    ("Range queries with aggregation", "aggregate"),
    ("Writes", "write"),
];

/// A contender and the arms that are its baseline, pooled, all of one comparison.
struct Held<'a> {
    experiment: &'a Experiment,
    plan: &'a Comparison,
    contender: String,
    base: Vec<String>,
    treatment: Treatment,
    intervention: Option<Intervention>,
}

pub(super) fn cells(experiment: &Experiment) -> Vec<Cell> {
    let Some(plan) = experiment.run.plan.comparison() else { return Vec::new() };
    let tests = tests(&experiment.run.rounds);
    held(experiment, plan).iter().flat_map(|held| held.cells(&tests)).collect()
}

/// In slices, each equal build is compared with all before it, pooled: such contrasts are
/// independent, so each cell counts (Helmert's). Whole runs are compared in pairs. A slowed build
/// is compared with the one that carries a slowdown of zero, and a build with other settings with
/// the one without.
fn held<'a>(experiment: &'a Experiment, plan: &'a Comparison) -> Vec<Held<'a>> {
    let names: Vec<String> =
        experiment.run.plan.contenders.iter().map(|contender| contender.name()).collect();
    let done = |place: usize| experiment.interventions.get(place).copied().flatten();
    let equals: Vec<&String> =
        (0..names.len()).filter(|place| done(*place).is_none()).map(|at| &names[at]).collect();
    let none = Intervention::Injected(Injection::Delay { server: 0.0, client: 0.0 });
    let carrier = (0..names.len()).find(|place| done(*place) == Some(none));
    let mut all = Vec::new();
    let mut hold = |contender: &str, base: Vec<String>, treatment, intervention| {
        let contender = contender.to_string();
        all.push(Held { experiment, plan, contender, base, treatment, intervention });
    };
    for place in 1..equals.len() {
        let base = match plan.method {
            Method::Slices => equals[..place].iter().map(|name| name.to_string()).collect(),
            Method::Runs if place % 2 == 1 => vec![equals[place - 1].clone()],
            Method::Runs => continue,
        };
        hold(equals[place], base, Treatment::Same, None);
    }
    for (place, name) in names.iter().enumerate() {
        let Some(intervention) = done(place).filter(|one| *one != none) else { continue };
        let base = carrier.map(|place| &names[place]).or(equals.first().copied());
        if let Some(base) = base {
            hold(name, vec![base.clone()], treatment(intervention), Some(intervention));
        }
    }
    all
}

fn treatment(intervention: Intervention) -> Treatment {
    match intervention {
        Intervention::Injected(Injection::Delay { server, client: 0.0 }) => {
            Treatment::Server(server)
        }
        Intervention::Injected(Injection::Delay { client, .. }) => Treatment::Client(client),
        Intervention::Injected(Injection::Cpus(cpus)) => Treatment::Quota(cpus),
        Intervention::Injected(Injection::WritesPerSecond(writes)) => Treatment::Writes(writes),
        Intervention::Varied(variant) => Treatment::Setting(variant.cause),
    }
}

impl Held<'_> {
    fn cells(&self, tests: &[Observed<'_>]) -> Vec<Cell> {
        let cells: Vec<verdict::Cell> = tests.iter().map(|test| self.judged(test)).collect();
        let verdicts = verdict::judge(&cells, &Options::default()).verdicts;
        let evidence = match self.intervention {
            Some(_) if self.experiment.engine != SYNTHETIC => {
                self.pair().evidence(&self.experiment.run, tests, &verdicts, &[], &[])
            }
            _ => Vec::new(),
        };
        let cell = |(index, test): (usize, &Observed<'_>)| {
            self.cell(test, &verdicts[index], evidence.get(index))
        };
        tests.iter().enumerate().map(cell).collect()
    }

    fn judged(&self, test: &Observed<'_>) -> verdict::Cell {
        let rate = self.sample(test, Quantity::Rate);
        let kind = kind(false, test);
        let mut cell = verdict::Cell::new(test.name, kind, rate);
        cell.class = class_of_noise(kind, test);
        let mut costs = vec![("cpu/o", self.sample(test, Quantity::Cpu))];
        if test.writes() {
            // Against a single arm, as in comparisons.
            let passes: Vec<&RoundRecord> = test.counted().collect();
            costs.push(("wKB/o", self.pair().written(&passes, self.plan.method)));
        }
        let known = costs.into_iter().filter(|(_, sample)| sample.rounds() > 0);
        cell.costs.extend(known.map(|(name, sample)| Cost { name: name.to_string(), sample }));
        cell
    }

    fn pair(&self) -> Pair<'_> {
        Pair {
            plan: self.plan,
            base: &self.base[0],
            contender: &self.contender,
            is_io_bound: false,
            drift: None,
        }
    }

    fn sample(&self, test: &Observed<'_>, quantity: Quantity) -> Sample {
        let base: Vec<&str> = self.base.iter().map(String::as_str).collect();
        match self.plan.method {
            Method::Slices => {
                let restart = |pass| {
                    let found = restart(pass, &self.contender, &base, quantity)?;
                    Some(LogRatios { contender: found.log_ratio, control: None })
                };
                Sample::Slices(test.counted().filter_map(restart).collect())
            }
            Method::Runs => {
                let round = |pass| {
                    let log = |name| Some(level(pass, name, quantity)?.ln());
                    let (base, contender) = (log(base[0])?, log(&self.contender)?);
                    Some(LogValues { base, control: None, contender })
                };
                Sample::Runs(test.counted().filter_map(round).collect())
            }
        }
    }

    fn cell(&self, test: &Observed<'_>, verdict: &Verdict, evidence: Option<&Evidence>) -> Cell {
        let truth = self.truth(test);
        let varied = match self.intervention {
            Some(Intervention::Varied(variant)) => Some(variant),
            _ => None,
        };
        let is_counted =
            verdict.contributions.len() >= FEWEST_ROUNDS && (truth.is_some() || varied.is_some());
        let known = truth.filter(|_| is_counted).map(|truth| Known {
            group: match self.treatment {
                Treatment::Same => self.contender.clone(),
                _ => test.name.to_string(),
            },
            truth,
            estimate: verdict.plain,
            restarts: verdict.contributions.clone(),
            detectable: verdict.detectable,
        });
        let is_verdict = !matches!(
            verdict.label,
            Label::NoChange { .. }
                | Label::Inconclusive { .. }
                | Label::Invalid { .. }
                | Label::Overdue { .. }
                | Label::Capped { .. }
        );
        let explained = evidence.filter(|_| is_verdict && is_counted);
        let findings = explained.map(explain).unwrap_or_default();
        let is_cause_right = explained
            .zip(self.intervention)
            .map(|(evidence, intervention)| is_right(intervention, &findings, evidence));
        let finite = |log: f64| log.is_finite().then(|| log.exp());
        let class = CLASSES.iter().find(|(title, _)| *title == test.group);
        Cell {
            engine: self.experiment.engine.clone(),
            method: self.plan.method,
            class: class.map_or(test.class.name(), |(_, class)| class).to_string(),
            test: test.name.to_string(),
            contender: self.contender.clone(),
            treatment: self.treatment,
            settings: varied.map(Variant::settings),
            expected: truth.map(f64::exp),
            is_exact: truth.is_some() && self.is_exact(test),
            measured: finite(verdict.plain.value),
            low: finite(verdict.plain.interval.low),
            high: finite(verdict.plain.interval.high),
            rounds: verdict.contributions.len(),
            label: verdict.label.to_string(),
            is_verdict,
            cause: explained.map(|evidence| told(&findings, evidence)),
            is_cause_right,
            is_counted,
            known,
        }
    }

    /// The expected log ratio, from the baseline's measurements and the injected slowdown of the
    /// same rounds. It is not known for settings.
    fn truth(&self, test: &Observed<'_>) -> Option<f64> {
        let injection = match self.intervention {
            None => return Some(0.0),
            Some(Intervention::Varied(_)) => return None,
            Some(Intervention::Injected(injection)) => injection,
        };
        let of = |pass| match injection {
            Injection::Delay { .. } => self.delayed(pass),
            Injection::Cpus(cpus) => {
                let own = pass.slices.iter().filter(|slice| slice.arm == self.base[0]);
                let used = own.map(|slice| slice.server_cpu as f64 / 1e9).sum::<f64>()
                    / seconds(pass, &self.base[0])?;
                Some((cpus / used).ln().min(0.0))
            }
            Injection::WritesPerSecond(allowed) => {
                let writes = pass.arms.get(&self.base[0])?.cost.get(Metric::DeviceWrites)? as f64;
                let written = writes / seconds(pass, &self.base[0])?;
                Some((allowed as f64 / written).ln().min(0.0))
            }
        };
        let logs: Vec<f64> = test.counted().filter_map(of).collect();
        (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
    }

    /// Whether the expected ratio is exact. That of a limit is known only as well as the baseline
    /// was measured. A slower client with several statements per operation lets its server sleep
    /// between them, which costs time of its own: otherwise the next statement arrives before the
    /// server can sleep.
    fn is_exact(&self, test: &Observed<'_>) -> bool {
        match self.intervention {
            None => true,
            Some(Intervention::Injected(Injection::Delay { client, .. })) => {
                client == 0.0 || !self.waits_for_more(test)
            }
            Some(_) => false,
        }
    }

    /// Whether an operation waits for a server more than once.
    fn waits_for_more(&self, test: &Observed<'_>) -> bool {
        let slices = test.counted().flat_map(|pass| &pass.slices);
        let own = slices.filter(|slice| slice.arm == self.contender);
        let (mut statements, mut operations, mut server_cpu) = (0, 0, 0);
        for slice in own {
            statements += slice.reads + slice.writes + slice.others;
            operations += slice.operations;
            server_cpu += slice.server_cpu;
        }
        statements > operations && server_cpu > 0
    }

    /// −ln(1 + added time / time of the baseline's operation).
    fn delayed(&self, pass: &RoundRecord) -> Option<f64> {
        let dose = |name: &str| {
            let doses = self.experiment.doses.iter();
            let mut own = doses.filter(|dose| {
                (dose.round, dose.attempt) == (pass.round, pass.attempt)
                    && dose.test == pass.test
                    && dose.contender == name
            });
            own.next()
        };
        let spent = |dose: &Dose| dose.server + dose.client;
        let base = dose(&self.base[0])?;
        let added = spent(dose(&self.contender)?) - spent(base);
        Some(-(added / base.undisturbed?).ln_1p())
    }
}

/// The seconds that a contender's slices took.
fn seconds(pass: &RoundRecord, contender: &str) -> Option<f64> {
    let own = pass.slices.iter().filter(|slice| slice.arm == contender);
    let seconds = own.map(|slice| slice.nanos as f64 / 1e9).sum::<f64>();
    (seconds > 0.0).then_some(seconds)
}

/// The part of an operation's time that has grown most; none if that is the unaccounted time.
fn grown(evidence: &Evidence) -> Option<Part> {
    let bars = budget(evidence);
    bars.iter().max_by(|left, right| left.change.total_cmp(&right.change))?.part
}

/// Whether the first reported cause is the injected one.
fn is_right(intervention: Intervention, findings: &[Finding], evidence: &Evidence) -> bool {
    let first = findings.first().map(|finding| finding.cause);
    let injection = match intervention {
        Intervention::Varied(variant) => return first == Some(variant.cause),
        Intervention::Injected(injection) => injection,
    };
    match injection {
        Injection::Delay { client: 0.0, .. } => first == Some(Cause::Cpu),
        // A DBMS inside the client has no CPU of its own.
        Injection::Delay { .. } if !evidence.parts.contains_key(&Part::Client) => {
            first == Some(Cause::Cpu)
        }
        // No rule is about the client: its part of the budget grows, and the server is not blamed.
        Injection::Delay { .. } => {
            let blamed = findings.iter().any(|finding| {
                finding.cause != Cause::Unexplained && finding.confidence > Confidence::Hint
            });
            grown(evidence) == Some(Part::Client) && !blamed
        }
        Injection::Cpus(_) => {
            first == Some(Cause::Environment) || grown(evidence) == Some(Part::RunQueue)
        }
        Injection::WritesPerSecond(_) => {
            first == Some(Cause::Commit) || grown(evidence) == Some(Part::BlockIo)
        }
    }
}

fn told(findings: &[Finding], evidence: &Evidence) -> String {
    let grown = grown(evidence).map_or("unaccounted", Part::name);
    let named = |finding: &Finding| {
        format!("{} ({})", finding.cause.name(finding.slower), finding.confidence)
    };
    let causes: Vec<String> = findings.iter().map(named).collect();
    let causes = if causes.is_empty() { "none".to_string() } else { causes.join(", ") };
    format!("{causes}; most of the added time is {grown}")
}

#[cfg(test)]
mod tests {
    use rqps_plan::{Class, Count, Counts, Design, Dose, Microbenchmark, Plan, QueryPlan, Span};
    use rqps_store::{Manifest, Run, SliceRecord, StatementRecord};

    use super::*;

    /// Nanoseconds of an operation by contender, in the order of the plan: three equal builds, one
    /// that carries a delay of zero, and one whose server takes 400 ns longer.
    const TIMES: [(&str, u64); 5] =
        [("a0", 20_000), ("a1", 20_200), ("a2", 20_100), ("carrier", 20_000), ("server-2", 20_400)];

    fn experiment(method: Method) -> Experiment {
        let delay =
            |server: f64| Some(Intervention::Injected(Injection::Delay { server, client: 0.0 }));
        let benchmark = Microbenchmark {
            tables: 1,
            rows: Count(1_000),
            clients: vec![1],
            read_time: Span(std::time::Duration::from_secs(1)),
            write_time: Span(std::time::Duration::from_secs(1)),
            tests: vec!["point-query".to_string()],
            fair_writes: true,
            pause: Span(std::time::Duration::ZERO),
            quiesce_after_each_write: false,
            check: true,
        };
        let mut comparison = Comparison::new(benchmark.into());
        comparison.method = method;
        comparison.control = false;
        let named = |(name, _): (&str, u64)| format!("{name}=postgres@17.6").parse().unwrap();
        let plan = Plan {
            contenders: TIMES.map(named).to_vec(),
            seed: 1,
            cache: None,
            memory: None,
            design: Design::Comparison(comparison),
        };
        // The noise of a round is the same for all.
        let slice = |round: u64, (place, (name, nanos)): (usize, (&str, u64))| SliceRecord {
            place: place as u32,
            client: 1,
            arm: name.to_string(),
            nanos: nanos * (100 + round) * 5,
            operations: 500,
            reads: 500,
            ..SliceRecord::default()
        };
        let pass = |round: u64| RoundRecord {
            round: round as u32,
            test: "point-query".to_string(),
            group: Some("Point queries".to_string()),
            attempt: 1,
            slices: TIMES.into_iter().enumerate().map(|one| slice(round, one)).collect(),
            ..RoundRecord::new(Class::Point, Counts::Statements)
        };
        let dose = |round: u64, contender: &str, server: f64| Dose {
            round: round as u32,
            test: "point-query".to_string(),
            attempt: 1,
            contender: contender.to_string(),
            server: server * (100 + round) as f64 / 100.0,
            client: 30.0,
            // Cold caches take a quarter of the baseline's slices.
            undisturbed: (contender == "carrier").then_some(150.0 * (100 + round) as f64),
        };
        let doses = (1..=4)
            .flat_map(|round| [dose(round, "carrier", 20.0), dose(round, "server-2", 320.0)]);
        let run = Run {
            plan,
            manifest: Manifest::default(),
            contenders: Vec::new(),
            profiles: Vec::new(),
            counts: Vec::new(),
            answers: Vec::new(),
            rounds: (1..=4).map(pass).collect(),
            parts: Vec::new(),
            differences: Vec::new(),
        };
        Experiment {
            engine: "postgres".to_string(),
            interventions: vec![None, None, None, delay(0.0), delay(0.02)],
            run,
            doses: doses.collect(),
        }
    }

    #[test]
    fn equals_are_held_against_all_before_them_and_the_slowed_against_their_carrier() {
        let cells = cells(&experiment(Method::Slices));
        let of = |name: &str| cells.iter().find(|cell| cell.contender == name).unwrap();
        assert_eq!(cells.len(), 3, "a1, a2 and server-2");
        let both = (20_000.0_f64 * 20_200.0).sqrt();
        for (name, expected, measured) in [
            ("a1", 1.0, 20_000.0 / 20_200.0),
            ("a2", 1.0, both / 20_100.0),
            ("server-2", 20_000.0 / 20_400.0, 20_000.0 / 20_400.0),
        ] {
            let cell = of(name);
            assert!((cell.expected.unwrap() - expected).abs() < 1e-9, "{cell:?}");
            assert!((cell.measured.unwrap() - measured).abs() < 1e-9, "{cell:?}");
            assert_eq!((cell.class.as_str(), cell.rounds), ("point", 4));
        }
        assert_eq!(of("server-2").treatment, Treatment::Server(0.02));
        assert!(of("server-2").known.as_ref().unwrap().is_found());
    }

    #[test]
    fn what_a_slower_client_comes_to_is_exact_where_it_asks_once() {
        let slower = Injection::Delay { server: 0.0, client: 0.02 };
        for (statements, server_cpu, is_exact) in
            [(1, 9_000, true), (16, 9_000, false), (16, 0, true)]
        {
            let mut experiment = experiment(Method::Slices);
            experiment.interventions[4] = Some(Intervention::Injected(slower));
            for slice in experiment.run.rounds.iter_mut().flat_map(|pass| &mut pass.slices) {
                slice.reads = statements * slice.operations;
                slice.server_cpu = server_cpu;
            }
            let cells = cells(&experiment);
            let cell = cells.iter().find(|cell| cell.contender == "server-2").unwrap();
            assert_eq!(cell.treatment, Treatment::Client(0.02));
            assert_eq!(cell.is_exact, is_exact, "{statements} statements, {server_cpu} ns");
            assert!(cell.is_counted && cell.known.is_some(), "its sign is known");
        }
    }

    #[test]
    fn whole_runs_of_equals_are_in_pairs() {
        let cells = cells(&experiment(Method::Runs));
        let equals: Vec<&str> = cells
            .iter()
            .filter(|cell| cell.treatment == Treatment::Same)
            .map(|cell| cell.contender.as_str())
            .collect();
        assert_eq!(equals, ["a1"], "a2 has no other");
    }

    const PLAN: Variant = Variant {
        name: "server-2",
        engines: &["postgres"],
        cause: Cause::Plan,
        method: Method::Slices,
        clients: 1,
        tests: &["point-query"],
        base: &[],
        changed: &[("enable_indexonlyscan", "off")],
    };
    static VARIANTS: [Variant; 2] = [PLAN, Variant { cause: Cause::Commit, ..PLAN }];

    /// The last contender has another setting, and so another query plan.
    fn varied(variant: &'static Variant) -> Experiment {
        let mut experiment = experiment(Method::Slices);
        experiment.interventions =
            vec![None, None, None, None, Some(Intervention::Varied(variant))];
        for pass in &mut experiment.run.rounds {
            for (name, plan) in [("a0", "Index Only Scan"), ("server-2", "Index Scan")] {
                let tree = Some(QueryPlan::new(plan));
                let statement = StatementRecord { tree, ..StatementRecord::default() };
                pass.arms.entry(name.to_string()).or_default().statements.push(statement);
            }
        }
        experiment
    }

    #[test]
    fn of_a_setting_the_cause_that_is_told_first_must_be_its_own() {
        for (variant, is_right) in VARIANTS.iter().zip([true, false]) {
            let cells = cells(&varied(variant));
            let cell = cells.iter().find(|cell| cell.contender == "server-2").unwrap();
            assert_eq!(cell.treatment, Treatment::Setting(variant.cause));
            assert_eq!(cell.settings.as_deref(), Some("enable_indexonlyscan=off"));
            assert_eq!(cell.is_cause_right, Some(is_right), "{cell:?}");
            assert!(cell.cause.as_ref().unwrap().starts_with("another query plan ("), "{cell:?}");
            assert!(cell.is_counted && cell.known.is_none() && cell.expected.is_none());
        }
    }

    #[test]
    fn a_setting_without_a_measurable_difference_is_neither_right_nor_wrong() {
        let mut experiment = varied(&VARIANTS[0]);
        for pass in &mut experiment.run.rounds {
            let nanos = pass.slices[0].nanos;
            pass.slices.iter_mut().for_each(|slice| slice.nanos = nanos);
        }
        let cells = cells(&experiment);
        let cell = cells.iter().find(|cell| cell.contender == "server-2").unwrap();
        assert!(cell.is_counted && !cell.is_verdict, "{cell:?}");
        assert_eq!((&cell.cause, cell.is_cause_right), (&None, None));
    }

    #[test]
    fn too_few_rounds_are_no_cell() {
        let mut experiment = experiment(Method::Slices);
        experiment.run.rounds[0].discarded = Some("busy".to_string());
        experiment.run.rounds[1].discarded = Some("busy".to_string());
        assert!(cells(&experiment).iter().all(|cell| !cell.is_counted && cell.known.is_none()));
    }
}
