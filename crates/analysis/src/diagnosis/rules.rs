//! The rules about one test, in the order in which they are tried.

use super::budget::budget_text;
use super::claims::*;
use super::evidence::{Builds, Evidence, Part, Verdict};
use super::next::Next;
use super::rule::{Cause, Check, Confidence, Finding, Rule};
use super::view::{View, all, any, at_least, engine, metric};
use super::words::share;

const ENVIRONMENT: Rule = Rule {
    cause: Cause::Environment,
    main: environment,
    supported_by: &[foreign, moved],
    contradicted_by: &[("canary and twin are where they were", nothing_moved)],
    next: Next::Doctor,
};

const EFFICIENCY: Rule = Rule {
    cause: Cause::Efficiency,
    main: efficiency,
    supported_by: &[],
    contradicted_by: &[("the machine was not the same for both", |view| {
        same_machine(view).map(|same| !same)
    })],
    next: Next::Profile,
};

/// What is tried on every test that is slower or faster.
const RULES: [Rule; 11] = [
    Rule {
        cause: Cause::CodePath,
        main: code_path,
        supported_by: &[
            waits_little,
            |view| all(&[view.flat(metric::READ_BYTES), view.flat(metric::WRITE_BYTES)]),
            same_machine,
            |view| view.is_one_client(),
            |view| (!view.evidence.profile.is_empty()).then(|| !view.growths().is_empty()),
        ],
        contradicted_by: &[
            ("waits for a CPU explain it", |view| at_least(view.share(Part::RunQueue), HALF)),
            ("switches and waits explain it", |view| {
                all(&[view.up(metric::VOLUNTARY), at_least(view.share(Part::Rest), HALF)])
            }),
        ],
        next: Next::Profile,
    },
    Rule {
        cause: Cause::Contention,
        main: contention,
        supported_by: &[|view| view.up(metric::SYSTEM_CPU)],
        contradicted_by: &[("one client loses as much", |view| view.is_one_client())],
        next: Next::SystemCalls,
    },
    Rule {
        cause: Cause::RowContention,
        main: row_contention,
        supported_by: &[|view| view.engine_up(engine::ROW_LOCKS)],
        contradicted_by: &[
            ("one client loses as much", |view| view.is_one_client()),
            ("waits for row locks are as many as before", |view| {
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
        contradicted_by: &[("as much is read per operation as before", |view| {
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
        contradicted_by: &[("as much is written per operation as before", |view| {
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
        contradicted_by: &[("dips have no period", |view| {
            Some(view.evidence.dips?.period.is_none())
        })],
        next: Next::Again,
    },
    Rule {
        cause: Cause::Compression,
        main: compression,
        supported_by: &[
            |view| Some(setting_of(view, &COMPRESSION).is_some()),
            // Who writes more has more work than to compress it.
            |view| view.up(metric::WRITE_BYTES).map(|up| !up),
        ],
        contradicted_by: &[("less is written per operation in proportion", pays_off)],
        next: Next::Profile,
    },
    Rule {
        cause: Cause::Garbage,
        main: garbage,
        supported_by: &[dips_with_collector],
        contradicted_by: &[("dips come without vacuum, purge or compaction", |view| {
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
        contradicted_by: &[("the plan has changed", plan_changed)],
        next: Next::Profile,
    },
    Rule {
        cause: Cause::Plan,
        main: plan,
        // Another way to one row touches as many pages.
        supported_by: &[|view| Some(!view.engine_flat(engine::BUFFERS)?), works_otherwise],
        contradicted_by: &[("the plans are the same", |view| plan_changed(view).map(|is| !is))],
        next: Next::Plans,
    },
    Rule {
        cause: Cause::Commit,
        main: commit,
        supported_by: &[
            |view| {
                // Writes of the device are nobody's while contenders take turns; bytes are of
                // processes.
                let written = view.change(metric::WRITES).or(view.change(metric::WRITE_BYTES))?;
                Some(!written.is_up(-view.sign))
            },
            |view| view.evidence.reads_unaffected,
        ],
        contradicted_by: &[("syncs are as many, and take as long, as before", syncs_are_flat)],
        next: Next::SystemCalls,
    },
];

/// Causes that are special cases of others, which are then not said again.
const SPECIAL: [(Cause, Cause); 11] = [
    (Cause::RowContention, Cause::Contention),
    (Cause::Commit, Cause::Contention),
    // To write the log at each commit takes CPU, too.
    (Cause::Commit, Cause::CodePath),
    // Each commit that waits writes its block of the log.
    (Cause::Commit, Cause::Writes),
    (Cause::Checkpoints, Cause::Writes),
    // Behind each checkpoint pages are logged whole, which takes CPU.
    (Cause::Checkpoints, Cause::CodePath),
    (Cause::Compression, Cause::CodePath),
    (Cause::DeadEntries, Cause::CodePath),
    // Another plan does, reads and writes other things.
    (Cause::Plan, Cause::CodePath),
    (Cause::Plan, Cause::Reads),
    (Cause::Plan, Cause::Writes),
];

/// What is said of one test, by its share of the change. Nothing without a verdict; of a test that
/// the environment may explain nothing else.
pub fn explain(evidence: &Evidence) -> Vec<Finding> {
    let Some(view) = View::of(evidence) else { return Vec::new() };
    let environment = ENVIRONMENT.evaluate(&view);
    if environment.as_ref().is_some_and(|finding| finding.confidence > Confidence::Hint) {
        return environment.into_iter().collect();
    }
    if evidence.verdict == Verdict::EfficiencyRegression {
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
    let said_better: Vec<Cause> = SPECIAL
        .iter()
        .filter(|(special, _)| found(*special))
        .map(|(_, general)| *general)
        .collect();
    findings.retain(|finding| !said_better.contains(&finding.cause));
    for finding in &mut findings {
        finding.cause = between_builds(finding.cause, evidence.builds);
    }
    findings.extend(environment);
    findings.extend(unexplained(&view, &findings));
    findings.sort_by(|left, right| right.importance.total_cmp(&left.importance));
    findings
}

/// What takes more CPU may do so for how it was compiled.
fn between_builds(cause: Cause, builds: Builds) -> Cause {
    match (cause, builds) {
        (Cause::CodePath, Builds::OfOneSource) => Cause::OtherBuild,
        (Cause::CodePath, Builds::Unlike) => Cause::CodeOrBuild,
        (cause, _) => cause,
    }
}

/// What is left when no cause explains half of the change.
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
            "{} of the {} time is waiting that could not be attributed",
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
