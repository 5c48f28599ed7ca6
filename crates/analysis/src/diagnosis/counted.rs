//! What the counters of a DBMS say of its own work for an operation: comparisons of keys, blocks
//! that are not in its cache, background threads, stalls of writers.

use super::claims::{is_too_little, more_cpu};
use super::evidence::Change;
use super::number::Number;
use super::rule::Claim;
use super::view::{View, any, engine};
use super::words::interval;

/// Operations of the costlier arm read at least so many blocks each for reads to be their cause.
const READS_BLOCKS: f64 = 0.1;
/// Background threads have another share of the server's CPU if it differs by more than this, where
/// the margin of the test is not larger.
const LEAST_SHARE: f64 = 0.01;

/// More keys are compared, so that a search is longer.
pub(super) fn comparisons(view: &View) -> Option<Claim> {
    let (name, more) = grown(view, engine::COMPARISONS)?;
    Some(Claim {
        text: format!(
            "{}: comparisons of keys per operation ({name}) change by {}",
            view.rate(),
            interval(&more)
        ),
        numbers: vec![Number::ratio(name, &more.log)],
        is_partial: is_too_little(view, more),
        ..Claim::default()
    })
}

/// More blocks are read from files, whether the device or the operating system has them.
pub(super) fn block_reads(view: &View) -> Option<Claim> {
    let (name, more) = view.engine(engine::BLOCK_READS)?;
    let (costlier, other) = view.amounts(more);
    // Where there was none, the change has no logarithm.
    let begins = costlier >= READS_BLOCKS && other < READS_BLOCKS / 10.0;
    if costlier < READS_BLOCKS || !(view.is_up(more) || begins) {
        return None;
    }
    let hits = view.engine(engine::BUFFERS);
    let told = hits.map(|(name, hits)| {
        let Change { base, contender, .. } = hits;
        format!("; it finds {contender:.1} in the cache, {base:.1} in the baseline ({name})")
    });
    Some(Claim {
        text: format!(
            "{}: an operation reads {:.1} blocks from files, {:.1} in the baseline ({name}){}{}",
            view.rate(),
            more.contender,
            more.base,
            told.unwrap_or_default(),
            by_level(view).unwrap_or_default()
        ),
        numbers: vec![
            Number::plain(name, "blocks per operation, baseline", more.base),
            Number::plain(name, "blocks per operation, contender", more.contender),
        ],
        ..Claim::default()
    })
}

/// Of which levels of the tree the bytes are, where that is counted.
fn by_level(view: &View) -> Option<String> {
    let of = |meanings| Some(view.amounts(view.engine(meanings)?.1).0);
    let (last, upper) = (of(engine::LAST_LEVEL)?, of(engine::UPPER_LEVELS)?);
    let share = 100.0 * last / (last + upper);
    share.is_finite().then(|| format!(". Of the bytes read, {share:.0} % are of the last level"))
}

/// The share of background threads in the server's CPU has grown by more than the margin.
pub(super) fn background(view: &View) -> Option<Claim> {
    let (name, more) = view.engine(engine::BACKGROUND_CPU)?;
    let (_, serving) = view.engine(engine::SERVING_CPU)?;
    let share = |background: f64, serving: f64| background / (background + serving);
    let base = share(more.base, serving.base);
    let contender = share(more.contender, serving.contender);
    let margin = view.evidence.margin.max(LEAST_SHARE);
    if (contender - base) * view.sign <= margin || !view.is_up(more) {
        return None;
    }
    let [base, contender] = [base, contender].map(|share| 100.0 * share);
    Some(Claim {
        text: format!(
            "{}: background threads use {contender:.1} % of the server's CPU, {base:.1} % in the \
             baseline; their CPU per operation changes by {}",
            view.rate(),
            interval(&more)
        ),
        numbers: vec![
            Number::ratio(name, &more.log),
            Number::plain("background threads, baseline", "%", base),
            Number::plain("background threads, contender", "%", contender),
        ],
        ..Claim::default()
    })
}

/// Writers are held up by the DBMS itself.
pub(super) fn stalls(view: &View) -> Option<Claim> {
    let (name, more) = grown(view, engine::STALLS).filter(|_| view.class().writes())?;
    Some(Claim {
        text: format!(
            "{}: the DBMS holds up writers: {name} per operation changes by {}",
            view.rate(),
            interval(&more)
        ),
        numbers: vec![Number::ratio(name, &more.log)],
        is_partial: is_too_little(view, more),
        ..Claim::default()
    })
}

/// Comparisons take CPU.
pub(super) fn takes_cpu(view: &View) -> Option<bool> {
    Some(more_cpu(view).is_some())
}

/// A read takes CPU or waits.
pub(super) fn takes_time(view: &View) -> Option<bool> {
    use super::evidence::Part;
    let waits = view.part(Part::BlockIo).map(|wait| wait.is_above(0.0));
    any(&[takes_cpu(view), waits])
}

fn grown<'a>(view: &View<'a>, of: &[rqps_observe::Meaning]) -> Option<(&'a str, Change)> {
    view.engine(of).filter(|(_, change)| view.is_up(*change))
}
