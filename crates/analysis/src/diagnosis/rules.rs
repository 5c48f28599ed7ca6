//! The rules about one test, in the order in which they are tried.

use super::budget::budget_text;
use super::claims::*;
use super::counted;
use super::evidence::{Builds, Decided, Evidence, Part};
use super::executed::{Length, length};
use super::next::Next;
use super::rule::{Cause, Check, Confidence, Finding, Rule};
use super::view::{View, all, any, at_least, engine, metric};
use super::words::share;

const ENVIRONMENT: Rule = Rule {
    cause: Cause::Environment,
    main: environment,
    supported_by: &[is_busy, moved],
    contradicted_by: &[("the reference loop and the A/A control have not moved", nothing_moved)],
    next: Next::Doctor,
};

const EFFICIENCY: Rule = Rule {
    cause: Cause::Efficiency,
    main: efficiency,
    supported_by: &[],
    contradicted_by: &[("the machine was not the same for both arms", |view| {
        same_machine(view).map(|same| !same)
    })],
    next: Next::Profile,
};

/// The rules for every test that is slower or faster.
const RULES: [Rule; 15] = [
    Rule {
        cause: Cause::Cpu,
        main: more_cpu,
        supported_by: &[
            waits_little,
            |view| all(&[view.flat(metric::READ_BYTES), view.flat(metric::WRITE_BYTES)]),
            same_machine,
            |view| view.is_one_client(),
            |view| {
                let named = (!view.evidence.profile.is_empty()).then(|| !view.growths().is_empty());
                any(&[named, length(view).map(|length| length != Length::Apart)])
            },
        ],
        contradicted_by: &[
            ("waits for a CPU explain the change", |view| {
                at_least(view.share(Part::RunQueue), HALF)
            }),
            ("switches and waits explain the change", |view| {
                all(&[view.up(metric::VOLUNTARY), at_least(view.share(Part::Rest), HALF)])
            }),
        ],
        next: Next::Profile,
    },
    Rule {
        cause: Cause::Contention,
        main: contention,
        supported_by: &[|view| view.up(metric::SYSTEM_CPU)],
        contradicted_by: &[("a single client loses as much", |view| view.is_one_client())],
        next: Next::SystemCalls,
    },
    Rule {
        cause: Cause::RowContention,
        main: row_contention,
        supported_by: &[|view| view.engine_up(engine::ROW_LOCKS)],
        contradicted_by: &[
            ("a single client loses as much", |view| view.is_one_client()),
            ("the number of row-lock waits is unchanged", |view| {
                view.engine_flat(engine::ROW_LOCKS)
            }),
        ],
        next: Next::SystemCalls,
    },
    Rule {
        cause: Cause::Reads,
        main: reads,
        supported_by: &[|view| {
            any(&[view.part(Part::BlockIo).map(|wait| wait.is_above(0.0)), waits_for_reads(view)])
        }],
        contradicted_by: &[("the bytes read per operation are unchanged", |view| {
            view.flat(metric::READ_BYTES)
        })],
        next: Next::Again,
    },
    Rule {
        cause: Cause::Writes,
        main: writes,
        supported_by: &[|view| {
            any(&WRITTEN.map(|(ends, _)| is_behind(view, ends, view.change(metric::WRITE_BYTES)?)))
        }],
        contradicted_by: &[("the bytes written per operation are unchanged", |view| {
            view.flat(metric::WRITE_BYTES)
        })],
        next: Next::Again,
    },
    Rule {
        cause: Cause::Checkpoints,
        main: checkpoints,
        supported_by: &[
            dips_with_checkpoints,
            |view| view.engine_up(engine::CHECKPOINTS),
            |view| any(&[view.up(metric::FLUSH_TIME), view.sync().map(|sync| sync.is_above(0.0))]),
        ],
        contradicted_by: &[("the dips are not periodic", |view| {
            Some(view.evidence.dips?.period.is_none())
        })],
        next: Next::Again,
    },
    Rule {
        cause: Cause::Compression,
        main: compression,
        supported_by: &[
            |view| Some(setting_of(view, &COMPRESSION).is_some()),
            // An arm that writes more has more work than compression.
            |view| view.up(metric::WRITE_BYTES).map(|up| !up),
        ],
        contradicted_by: &[("the bytes written per operation fall in proportion", pays_off)],
        next: Next::Profile,
    },
    Rule {
        cause: Cause::Garbage,
        main: garbage,
        supported_by: &[dips_with_collector],
        contradicted_by: &[("the dips occur without vacuum, purge or compaction", |view| {
            let dips = view.evidence.dips?;
            dips.collector_watched.then(|| dips_with_collector(view) != Some(true))
        })],
        next: Next::Again,
    },
    Rule {
        cause: Cause::DeadEntries,
        main: dead_entries,
        supported_by: &[
            |view| view.engine_up(engine::BUFFERS),
            |view| at_least(view.evidence.growth_within, EXPLODES),
            |view| view.planning().map(is_slowed_planning),
        ],
        contradicted_by: &[("the query plan has changed", plan_changed)],
        next: Next::Profile,
    },
    Rule {
        cause: Cause::Plan,
        main: plan,
        // Another way to one row touches as many pages.
        supported_by: &[|view| Some(!view.engine_flat(engine::BUFFERS)?), works_differently],
        contradicted_by: &[],
        next: Next::Plans,
    },
    Rule {
        cause: Cause::Commit,
        main: commit,
        supported_by: &[
            |view| {
                // While arms take turns, device writes cannot be assigned to one of them; the
                // bytes are those of its processes.
                let written = view.change(metric::WRITES).or(view.change(metric::WRITE_BYTES))?;
                Some(!written.is_up(-view.sign))
            },
            |view| view.evidence.reads_unaffected,
        ],
        contradicted_by: &[("the number and the time of syncs are unchanged", syncs_are_flat)],
        next: Next::SystemCalls,
    },
    Rule {
        cause: Cause::Search,
        main: counted::comparisons,
        supported_by: &[counted::takes_cpu],
        contradicted_by: &[],
        next: Next::Profile,
    },
    Rule {
        cause: Cause::Cache,
        main: counted::block_reads,
        supported_by: &[counted::takes_time],
        contradicted_by: &[],
        next: Next::Again,
    },
    Rule {
        cause: Cause::Background,
        main: counted::background,
        supported_by: &[],
        contradicted_by: &[],
        next: Next::Profile,
    },
    Rule {
        cause: Cause::Stalls,
        main: counted::stalls,
        supported_by: &[|view| at_least(view.sure_share(Part::Rest), HALF)],
        contradicted_by: &[],
        next: Next::Again,
    },
];

/// Special cases with the general cause that is then not reported again.
const SPECIAL: [(Cause, Cause); 15] = [
    (Cause::RowContention, Cause::Contention),
    (Cause::Commit, Cause::Contention),
    // Writing the log at each commit takes CPU, too.
    (Cause::Commit, Cause::Cpu),
    // Each commit that waits writes its block of the log.
    (Cause::Commit, Cause::Writes),
    (Cause::Checkpoints, Cause::Writes),
    // After each checkpoint pages are logged whole, which takes CPU.
    (Cause::Checkpoints, Cause::Cpu),
    (Cause::Compression, Cause::Cpu),
    (Cause::DeadEntries, Cause::Cpu),
    // Another query plan computes, reads and writes other things.
    (Cause::Plan, Cause::Cpu),
    (Cause::Plan, Cause::Reads),
    (Cause::Plan, Cause::Writes),
    (Cause::Search, Cause::Cpu),
    // A block that is read is checked and unpacked.
    (Cause::Cache, Cause::Cpu),
    (Cause::Cache, Cause::Reads),
    (Cause::Background, Cause::Cpu),
];

/// The findings on one test, by their share of the change. There are none without a verdict, and no
/// others where the environment may explain the change.
pub fn explain(evidence: &Evidence) -> Vec<Finding> {
    let Some(view) = View::of(evidence) else { return Vec::new() };
    let environment = ENVIRONMENT.evaluate(&view);
    if environment.as_ref().is_some_and(|finding| finding.confidence > Confidence::Hint) {
        return environment.into_iter().collect();
    }
    if evidence.verdict == Decided::EfficiencyRegression {
        let importance = lost_efficiency(&view);
        let finding = EFFICIENCY.evaluate(&view);
        return finding.map(|finding| Finding { importance, ..finding }).into_iter().collect();
    }
    let mut findings: Vec<Finding> = RULES.iter().filter_map(|rule| rule.evaluate(&view)).collect();
    let found = |cause: Cause| {
        findings
            .iter()
            .any(|finding| finding.cause == cause && finding.confidence > Confidence::Hint)
    };
    let replaced: Vec<Cause> = SPECIAL
        .iter()
        .filter(|(special, _)| found(*special))
        .map(|(_, general)| *general)
        .collect();
    findings.retain(|finding| !replaced.contains(&finding.cause));
    for finding in &mut findings {
        finding.cause = by_instructions(finding.cause, &view);
        finding.cause = between_builds(finding.cause, evidence.builds);
    }
    findings.extend(environment);
    findings.extend(unexplained(&view, &findings));
    findings.sort_by(|left, right| right.importance.total_cmp(&left.importance));
    findings
}

/// Counted instructions say whether the server does more.
fn by_instructions(cause: Cause, view: &View) -> Cause {
    match (cause, length(view)) {
        (Cause::Cpu, Some(Length::Longer)) => Cause::CodePath,
        (Cause::Cpu, Some(Length::Same)) => Cause::Layout,
        (cause, _) => cause,
    }
}

/// More CPU may come from how a build was compiled.
fn between_builds(cause: Cause, builds: Builds) -> Cause {
    match (cause, builds) {
        (Cause::Cpu, Builds::OfOneSource) => Cause::OtherBuild,
        (Cause::Cpu, Builds::Unlike) => Cause::CodeOrBuild,
        (cause, _) => cause,
    }
}

/// The finding if no cause explains half of the change.
fn unexplained(view: &View, findings: &[Finding]) -> Option<Finding> {
    let explained = |finding: &Finding| match finding.share {
        Some(share) => share >= HALF,
        None => finding.confidence > Confidence::Hint,
    };
    if findings.iter().any(explained) {
        return None;
    }
    let evidence = view.evidence;
    let waiting = view.sure_share(Part::Rest).filter(|share| *share >= HALF);
    let parts: &[Part] = if waiting.is_some() { &[Part::Rest] } else { &Part::ALL };
    let numbers = parts.iter().filter_map(|part| view.number(*part));
    let text = match waiting {
        Some(waiting) => format!(
            "{} of the {} time is waiting without a known cause",
            share(waiting),
            if view.is_slower() { "added" } else { "saved" },
        ),
        None => format!(
            "no cause explains half of the {} time; {}",
            if view.is_slower() { "added" } else { "saved" },
            budget_text(evidence)
        ),
    };
    Some(Finding {
        cause: Cause::Unexplained,
        confidence: Confidence::Hint,
        tests: vec![evidence.test.clone()],
        slower: view.is_slower(),
        share: waiting,
        importance: HALF * evidence.theta.value.abs(),
        statement: format!("{}: {text} ({}).", view.rate(), Confidence::Hint),
        numbers: numbers.map(|number| number.of(&evidence.test)).collect(),
        contradicted_by: vec![Check {
            what: "a cause that explains half of the change",
            looked_at: true,
        }],
        next: if waiting.is_some() {
            Next::SystemCalls.text(evidence)
        } else {
            Next::Profile.text(evidence)
        },
    })
}
