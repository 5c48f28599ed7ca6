//! What each rule looks for, and its claim.

use rqps_observe::Meaning;
use rqps_plan::Class;

use super::evidence::{Change, Cost, Evidence, Part, Planning};
use super::executed;
use super::number::Number;
use super::rule::Claim;
use super::view::{View, all, any, at_least, engine, metric};
use super::words::{change, interval, micros, micros_interval, share};
use crate::function_name::short;

/// CPU must be at least this part of the added time for more CPU to be more than a hint.
const MAIN_SHARE: f64 = 0.7;
/// Waiting below this part of the added time is negligible.
const NOTICED: f64 = 0.1;
/// CPU of other processes above this, in percent of all CPUs, spoils a test.
const OTHER_CPU_PERCENT: f64 = 5.0;
/// Dips follow checkpoints if their periods differ by no more than this share.
const SAME_PERIOD: f64 = 0.25;
/// Dips belong to garbage collection if they follow it within this many seconds.
const LAG: f64 = 5.0;
/// A wait must be at least this part of the added time to be its cause, CPU to be a hint of one.
pub(super) const HALF: f64 = 0.5;
/// The CPU of a statement has exploded if it has grown by this factor.
pub(super) const EXPLODES: f64 = 2.0;
/// How many functions that cost more are named.
const NAMED: usize = 3;
/// Parts of the names of functions and settings for compression and checksums.
pub(super) const COMPRESSION: [&str; 7] =
    ["compress", "zstd", "lz4", "pglz", "deflate", "crc", "checksum"];

/// Another possible cause. Intervals and guards decide the label, and nothing here changes it.
pub(super) fn environment(view: &View) -> Option<Claim> {
    let Evidence { environment: seen, .. } = view.evidence;
    let pressed = !seen.is_shared
        && all(&[view.up(metric::INVOLUNTARY), view.up(metric::RUN_QUEUE)]) == Some(true)
        && !presses_itself(view);
    let (reason, share, numbers) = if is_busy(view) == Some(true) {
        let percent = seen.other_cpu_percent?;
        let reason = format!("other processes used {percent:.0} % of the CPUs");
        (reason, None, vec![Number::plain("CPU of other processes", "%", percent)])
    } else if seen.reference_loop_moved == Some(true) {
        let reason = "the reference loop was slower, too, by at least half of the change";
        (reason.to_string(), None, Vec::new())
    } else if pressed {
        let [off, wait] = [view.change(metric::INVOLUNTARY)?, view.change(metric::RUN_QUEUE)?];
        let reason = format!(
            "the server was preempted ({}) and waited for a CPU ({}) more",
            change(off.log.value),
            change(wait.log.value)
        );
        let off = Number::ratio("involuntary switches", &off.log);
        let numbers = vec![off, Number::ratio("waits for a CPU", &wait.log)];
        (reason, view.sure_share(Part::RunQueue), numbers)
    } else {
        return None;
    };
    let text = format!("Possible cause: {reason}. Re-run when idle");
    Some(Claim { text, share, numbers, ..Claim::default() })
}

/// A server whose own threads have more to compute or to write preempts them itself.
fn presses_itself(view: &View) -> bool {
    let growth = |name: &str| Some(view.change(name)?.log.times(view.sign).value);
    let Some(preempted) = growth(metric::INVOLUNTARY) else { return false };
    let work = [metric::USER_CPU, metric::WRITE_BYTES].into_iter().filter_map(growth);
    work.fold(0.0, f64::max) >= HALF * preempted
}

/// Other processes used more CPU than a test allows.
pub(super) fn is_busy(view: &View) -> Option<bool> {
    let percent = view.evidence.environment.other_cpu_percent;
    percent.map(|percent| percent > OTHER_CPU_PERCENT)
}

pub(super) fn moved(view: &View) -> Option<bool> {
    let seen = view.evidence.environment;
    any(&[seen.reference_loop_moved, seen.control_moved])
}

pub(super) fn nothing_moved(view: &View) -> Option<bool> {
    moved(view).map(|moved| !moved)
}

/// Where arms take turns within milliseconds, the machine is the same by design unless the A/A
/// control differs. Otherwise the reference loop decides.
pub(super) fn same_machine(view: &View) -> Option<bool> {
    let seen = view.evidence.environment;
    let moved = if seen.is_shared { seen.control_moved } else { seen.reference_loop_moved };
    moved.map(|moved| !moved)
}

pub(super) fn more_cpu(view: &View) -> Option<Claim> {
    let (what, measured) = match view.evidence.cpu {
        Some(cpu) => ("server", cpu),
        None => ("user", *view.evidence.parts.get(&Part::ServerUser)?),
    };
    let more = measured.change.times(view.sign);
    let part = view.share_of(more.value)?;
    // The kernel samples user and system CPU: its noise is that of the A/A control.
    let noisy = view.evidence.cpu.is_none() && view.up(metric::USER_CPU) == Some(false);
    let in_system = view.part(Part::ServerSystem).is_some_and(|system| {
        let is_most = view.share_of(system.value).is_some_and(|part| part >= HALF);
        system.is_above(0.0) && is_most && view.up(metric::SYSTEM_CPU) != Some(false)
    });
    let reads = begins_to_read(view) == Some(true);
    if !more.is_above(0.0) || part < HALF || noisy || in_system || reads {
        return None;
    }
    let word = if view.is_slower() { "growth" } else { "fall" };
    let mut named = view.growths();
    named.truncate(NAMED);
    let growths = named
        .iter()
        .map(|growth| format!("`{}` {}", short(&growth.frame), micros(growth.change.value)))
        .collect::<Vec<_>>();
    let growths = match growths.is_empty() {
        true => String::new(),
        false => format!(". Top {word}: {}", growths.join(", ")),
    };
    let (executed, counted) = executed::told(view);
    let cpu = Number::micros(&format!("{what} CPU"), &measured.change);
    let named = named.iter().map(|growth| Number::micros(&growth.frame, &growth.change));
    Some(Claim {
        share: Some(part),
        text: format!(
            "{}: {} of {what} CPU per operation explains {} of the change{growths}{executed}",
            view.rate(),
            micros_interval(&measured.change),
            share(part),
        ),
        numbers: [cpu].into_iter().chain(named).chain(counted).collect(),
        is_partial: part < MAIN_SHARE,
    })
}

/// Voluntary switches are unchanged, or hardly any time is in them: work that a server does once a
/// second is more for each operation of the slower arm.
pub(super) fn waits_little(view: &View) -> Option<bool> {
    let is_noticed = at_least(view.share(Part::Rest), NOTICED);
    any(&[view.flat(metric::VOLUNTARY), is_noticed.map(|is| !is)])
}

/// More voluntary switches, and waiting that is most of the added time.
pub(super) fn contention(view: &View) -> Option<Claim> {
    let waits = view.change(metric::VOLUNTARY).filter(|waits| view.is_up(*waits))?;
    let part = view.sure_share(Part::Rest).filter(|part| *part >= HALF)?;
    Some(Claim {
        share: Some(part),
        text: format!(
            "{}: waiting for locks or latches explains {} of the change; voluntary switches per \
             operation change by {}",
            view.rate(),
            share(part),
            interval(&waits)
        ),
        numbers: [Number::ratio("voluntary switches", &waits.log)]
            .into_iter()
            .chain(view.number(Part::Rest))
            .collect(),
        ..Claim::default()
    })
}

pub(super) fn row_contention(view: &View) -> Option<Claim> {
    let Claim { share: part, .. } = contention(view).filter(|_| view.class().is_hot())?;
    let locks = view.engine(engine::ROW_LOCKS);
    let told =
        locks.map(|(name, locks)| format!("; {name} per operation change by {}", interval(&locks)));
    let locks = locks.map(|(name, locks)| Number::ratio(name, &locks.log));
    Some(Claim {
        share: part,
        text: format!(
            "{}: all clients access the same rows, and waiting explains {} of the change{}",
            view.rate(),
            share(part?),
            told.unwrap_or_default()
        ),
        numbers: view.number(Part::Rest).into_iter().chain(locks).collect(),
        ..Claim::default()
    })
}

/// A database that has grown by less than this (a logarithm) does not read more for that.
const RESIZED: f64 = 0.05;

pub(super) fn reads(view: &View) -> Option<Claim> {
    let (what, more) =
        more_of(view, &[(metric::READ_BYTES, "KiB read"), (metric::READS, "reads")])?;
    // A DBMS without filters avoids no reads with them, either.
    let has_filters = |(_, change): &(&str, Change)| view.amounts(*change).0 > 0.0;
    let filters = view.engine(engine::BLOOM).filter(has_filters);
    let filters = filters.filter(|_| view.engine_down(engine::BLOOM) == Some(true));
    let reason = if let Some((name, _)) = filters {
        format!(". Filters avoid fewer reads ({name})")
    } else {
        match view.change(metric::DATABASE) {
            Some(Change { log, .. }) if log.value.abs() < RESIZED => {
                ". The database has the same size: check the cache and the query plan".into()
            }
            Some(size) if view.is_up(size) => {
                format!(". The size of the database changes by {}", change(size.log.value))
            }
            _ => String::new(),
        }
    };
    let part = view.sure_share(Part::BlockIo);
    let wait =
        part.map(|part| format!(". Waiting for reads explains {} of the change", share(part)));
    let size = view.change(metric::DATABASE);
    let size = size.map(|size| Number::ratio("size of the database", &size.log));
    let numbers = [Number::ratio(what, &more.log)].into_iter().chain(size);
    Some(Claim {
        share: part,
        text: format!(
            "{}: {what} per operation change by {}{reason}{}",
            view.rate(),
            interval(&more),
            wait.unwrap_or_default()
        ),
        numbers: numbers.chain(view.number(Part::BlockIo)).collect(),
        is_partial: is_too_little(view, more),
    })
}

/// An operation with a tenth more to read or write takes at most a tenth longer for that.
pub(super) fn is_too_little(view: &View, more: Change) -> bool {
    more.log.value.abs() < HALF * view.evidence.theta.value.abs()
}

/// No more is written in a second than before, and no operation waits for it: writes at a constant
/// rate are more for each operation of the slower arm.
fn is_by_the_second(view: &View, more: Change) -> bool {
    let waits = [Part::Rest, Part::BlockIo].map(|part| at_least(view.share(part), HALF));
    more.log.value.abs() <= view.evidence.theta.value.abs() && any(&waits) != Some(true)
}

/// The first of the metrics that has grown.
fn more_of(view: &View, metrics: &[(&str, &'static str)]) -> Option<(&'static str, Change)> {
    let up = |name: &str| view.change(name).filter(|change| view.is_up(*change));
    metrics.iter().find_map(|(name, what)| Some((*what, up(name)?)))
}

/// If statements depend on reads, at least this share of the costlier arm's operations waits for
/// one.
const READS_OFTEN: f64 = 0.1;

/// Statements of the costlier arm read from the disk, and those of the other hardly did. Reading
/// takes CPU, too, and so does finding a place for what was read.
fn begins_to_read(view: &View) -> Option<bool> {
    let reads = view.change(metric::READS)?;
    let (costlier, other) = view.amounts(reads);
    let multiplied = costlier >= EXPLODES * other && costlier >= READS_OFTEN;
    // A fraction of a read is not yet a growth by its logarithm, but its bytes are.
    let is_sure = any(&[Some(view.is_up(reads)), view.up(metric::READ_BYTES)]);
    Some(is_sure == Some(true) && multiplied && waits_for_reads(view) == Some(true))
}

/// The server gave up its CPU about once for each added read.
pub(super) fn waits_for_reads(view: &View) -> Option<bool> {
    let added = |name: &str| Some(view.added_amount(view.change(name)?));
    Some(added(metric::VOLUNTARY)? >= HALF * added(metric::READS)?)
}

/// What a DBMS writes, by its counters.
pub(super) const WRITTEN: [(&[Meaning], &str); 4] = [
    (engine::LOG_BYTES, "the log: check full-page images, compression and record size"),
    (engine::PAGES, "pages: check checkpoints and random changes of secondary indexes"),
    (engine::COMPACTION, "compaction"),
    (engine::DOUBLE_WRITES, "pages that are written twice"),
];

/// Whether one kind of writes explains the growth of all. A kind counted in bytes must be half of
/// the added bytes. Page counters do not say how many bytes a page has, but a sum grows by no more
/// than its fastest growing part: pages that grow by less than half as much do not explain it.
pub(super) fn is_behind(view: &View, meanings: &[Meaning], all: Change) -> Option<bool> {
    let (_, kind) = view.engine(meanings)?;
    let (added, of) = match [engine::LOG_BYTES, engine::COMPACTION].contains(&meanings) {
        true => (view.added_amount(kind) / view.evidence.each?, view.added_amount(all)),
        false => (kind.log.value.abs(), all.log.value.abs()),
    };
    Some(view.is_up(kind) && added >= HALF * of)
}

pub(super) fn writes(view: &View) -> Option<Claim> {
    let (what, more) = more_of(view, &[(metric::WRITE_BYTES, "KiB written")])?;
    let behind = WRITTEN.map(|(meanings, _)| is_behind(view, meanings, more));
    let kind = WRITTEN.iter().zip(behind).find(|(_, behind)| *behind == Some(true));
    // One engine each counts the last two. A log that is synced more often writes its last block
    // more often, and these bytes are not records.
    let other = behind[..2] == [Some(false); 2]
        && !behind[2..].contains(&Some(true))
        && view.engine_up(engine::LOG_FLUSHES) != Some(true);
    let kind = match kind {
        Some(((_, kind), _)) => format!(". The difference is in {kind}"),
        None if other => {
            ". The difference is in neither the log nor pages: check double writes and \
                          temporary files"
                .to_string()
        }
        None => String::new(),
    };
    let counted = WRITTEN.iter().filter_map(|(meanings, _)| view.engine(meanings));
    let counted = counted.map(|(name, change)| Number::ratio(name, &change.log));
    Some(Claim {
        text: format!("{}: {what} per operation change by {}{kind}", view.rate(), interval(&more)),
        numbers: [Number::ratio(what, &more.log)].into_iter().chain(counted).collect(),
        // Statements that only read leave little to write, however large the ratio is.
        is_partial: is_too_little(view, more)
            || is_by_the_second(view, more)
            || !view.class().writes(),
        ..Claim::default()
    })
}

pub(super) fn checkpoints(view: &View) -> Option<Claim> {
    let (what, more) = more_of(view, &[(metric::WRITE_BYTES, "KiB written")])?;
    let timed = dips_with_checkpoints(view) == Some(true);
    let requested = view.engine_up(engine::CHECKPOINTS) == Some(true);
    let period = view.evidence.dips.and_then(|dips| dips.period).filter(|_| timed);
    let often = requested.then(|| view.engine(engine::CHECKPOINTS)).flatten();
    let dips = period.map(|period| format!("dips every {period:.0} s"));
    let more_often = often.map(|(name, often)| format!("{name} {}", change(often.log.value)));
    let signs: Vec<String> = [dips, more_often].into_iter().flatten().collect();
    let numbers = [
        Some(Number::ratio(what, &more.log)),
        period.map(|period| Number::plain("from dip to dip", "s", period)),
        often.map(|(name, often)| Number::ratio(name, &often.log)),
    ];
    (!signs.is_empty()).then(|| Claim {
        text: format!(
            "{}: checkpoints ({}); {what} per operation change by {}. The log may be too small",
            view.rate(),
            signs.join(", "),
            interval(&more)
        ),
        numbers: numbers.into_iter().flatten().collect(),
        ..Claim::default()
    })
}

pub(super) fn dips_with_checkpoints(view: &View) -> Option<bool> {
    let dips = view.evidence.dips?;
    let interval = dips.checkpoint_interval?;
    Some(dips.period.is_some_and(|period| (period / interval - 1.0).abs() <= SAME_PERIOD))
}

/// More user CPU in writes, and a compression function that costs more. Without a profile, a
/// setting that differs is only the pattern: a hundred of them differ between releases.
pub(super) fn compression(view: &View) -> Option<Claim> {
    let user = view.change(metric::USER_CPU).filter(|user| view.is_up(*user))?;
    let written = view.change(metric::WRITE_BYTES)?;
    let growth =
        growth_of(view, &COMPRESSION).map(|frame| format!("`{}` has changed", short(frame)));
    let setting = setting_of(view, &COMPRESSION).map(|name| format!("setting {name} differs"));
    let is_partial = growth.is_none();
    let signs: Vec<String> = [growth, setting].into_iter().flatten().collect();
    (view.class().writes() && !signs.is_empty()).then(|| Claim {
        share: view.sure_share(Part::ServerUser),
        text: format!(
            "{}: user CPU per operation changes by {} and KiB written by {}; {}",
            view.rate(),
            interval(&user),
            interval(&written),
            signs.join(", ")
        ),
        numbers: vec![
            Number::ratio("user CPU", &user.log),
            Number::ratio("KiB written", &written.log),
        ],
        is_partial,
    })
}

/// The written amount falls by at least half as much as CPU rises.
pub(super) fn pays_off(view: &View) -> Option<bool> {
    let user = view.change(metric::USER_CPU)?.log.times(view.sign);
    let less = view.change(metric::WRITE_BYTES)?.log.times(-view.sign);
    Some(less.is_above(0.0) && less.value >= user.value / 2.0)
}

pub(super) fn setting_of<'a>(view: &View<'a>, words: &[&str]) -> Option<&'a str> {
    view.evidence.settings.iter().find(|name| has_word(name, words)).map(String::as_str)
}

fn growth_of<'a>(view: &View<'a>, words: &[&str]) -> Option<&'a str> {
    let mut grown = view.growths().into_iter();
    grown.find(|growth| has_word(&growth.frame, words)).map(|growth| growth.frame.as_str())
}

fn has_word(name: &str, words: &[&str]) -> bool {
    let name = name.to_lowercase();
    words.iter().any(|word| name.contains(word))
}

pub(super) fn garbage(view: &View) -> Option<Claim> {
    let dips = view.evidence.dips?;
    let stalls = dips.stalls.filter(|stalls| stalls.times(view.sign).is_above(0.0))?;
    let lag =
        dips.collector_lag.map(|lag| format!(", {lag:.0} s after vacuum, purge or compaction"));
    let lag_after = dips.collector_lag.map(|lag| Number::plain("from collection to dip", "s", lag));
    Some(Claim {
        text: format!(
            "{}: stalls change by {}{}. The cause is old row versions rather than code: decide on \
             restored snapshots only",
            view.rate(),
            change(stalls.value),
            lag.unwrap_or_default()
        ),
        numbers: [Number::ratio("stalls", &stalls)].into_iter().chain(lag_after).collect(),
        ..Claim::default()
    })
}

pub(super) fn dips_with_collector(view: &View) -> Option<bool> {
    let dips = view.evidence.dips?;
    match dips.collector_lag {
        Some(lag) => Some(lag.abs() <= LAG),
        None => dips.collector_watched.then_some(false),
    }
}

pub(super) fn dead_entries(view: &View) -> Option<Claim> {
    let user = view.change(metric::USER_CPU).filter(|user| view.is_up(*user))?;
    let exploded = user.log.times(view.sign).value >= EXPLODES.ln();
    let mut numbers = vec![Number::ratio("user CPU", &user.log)];
    let scanner = match view.planning().filter(|planning| is_slowed_planning(*planning)) {
        Some(Planning { before, after }) => {
            numbers.push(Number::plain("planning on a fresh table", "us taken", before));
            numbers.push(Number::plain("planning at the end", "us taken", after));
            format!(
                "Planning takes {after:.0} us at the end and {before:.0} us on a fresh table: the \
                 planner scans"
            )
        }
        None => "Statements scan".to_string(),
    };
    (view.class() == Class::DeleteOldest && exploded).then(|| Claim {
        share: view.sure_share(Part::ServerUser),
        text: format!(
            "{}: user CPU per delete changes by {}. {scanner} dead index entries",
            view.rate(),
            interval(&user)
        ),
        numbers,
        ..Claim::default()
    })
}

/// A planner that searches for the least key among deleted rows takes longer the more of them there
/// are (`get_actual_variable_range` of Postgres).
pub(super) fn is_slowed_planning(planning: Planning) -> bool {
    planning.after >= EXPLODES * planning.before
}

pub(super) fn plan_changed(view: &View) -> Option<bool> {
    view.evidence.plan_changes.as_ref().map(|changes| !changes.is_empty())
}

/// The server does other work for an operation: its CPU is half of the change, or it reads more.
pub(super) fn works_differently(view: &View) -> Option<bool> {
    any(&[Some(more_cpu(view).is_some()), view.up(metric::READ_BYTES)])
}

/// A finding names at most so many differences between query plans.
const MOST_CHANGES: usize = 3;

pub(super) fn plan(view: &View) -> Option<Claim> {
    let changes = view.evidence.plan_changes.as_ref().filter(|changes| !changes.is_empty())?;
    let (first, others) = changes.split_at(changes.len().min(MOST_CHANGES));
    let others = match others.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let buffers = view.engine(engine::BUFFERS);
    let told = buffers
        .map(|(name, buffers)| format!("; {name} per operation change by {}", interval(&buffers)));
    let buffers = buffers.map(|(name, buffers)| Number::ratio(name, &buffers.log));
    Some(Claim {
        text: format!(
            "{}: the query plan has changed: {}{others}{}. EXPLAIN ANALYZE on the kept data shows \
             what it reads",
            view.rate(),
            first.join("; "),
            told.unwrap_or_default()
        ),
        numbers: buffers.into_iter().collect(),
        ..Claim::default()
    })
}

/// A commit that begins to wait for a flush makes about one more per operation.
const BEGINS: f64 = 0.5;

/// Waiting that is most of the added time, and syncs that explain it. They do so by the time that
/// the device took for them or, if that is short beside the writes that they wait for, by their
/// number. If operations begin to flush, their kernel time and their waits for a CPU count as
/// waiting: the server's own threads write and flush for the committing one, and wake it.
pub(super) fn commit(view: &View) -> Option<Claim> {
    let waiting = view.sure_share(Part::Rest).unwrap_or(0.0);
    let is_longer = |sync: &Cost| sync.change.times(view.sign).is_above(0.0);
    let timed = view.evidence.sync.filter(is_longer).filter(|_| waiting >= HALF).and_then(|sync| {
        let part = view.share_of(sync.change.value * view.sign)?;
        let time = micros_interval(&sync.change);
        let text = format!(
            "{time} of waiting for syncs per operation explains {} of the change",
            share(part)
        );
        Some((part, text, Number::micros("waiting for syncs", &sync.change)))
    });
    let counted = || {
        // Pages are flushed, too. If the DBMS counts log syncs, these must have grown.
        if view.engine_up(engine::LOG_FLUSHES) == Some(false) {
            return None;
        }
        let flushes = view.change(metric::FLUSHES).filter(|flushes| view.is_up(*flushes))?;
        let begins = (flushes.contender - flushes.base).abs() >= BEGINS;
        let (what, part) = match begins {
            true => {
                let parts = [Part::Rest, Part::ServerSystem, Part::RunQueue];
                let parts = parts.iter().filter_map(|part| view.share(*part));
                ("waiting (also for a CPU) and system CPU explain", parts.sum())
            }
            false => ("waiting explains", waiting),
        };
        let text = format!(
            "{what} {} of the change, and device flushes per operation change by {}",
            share(part),
            interval(&flushes)
        );
        Some((part, text, Number::ratio("device flushes", &flushes.log)))
    };
    let explains = |(part, ..): &(f64, String, Number)| *part >= HALF;
    let (part, text, syncs) = timed.filter(explains).or_else(|| counted().filter(explains))?;
    view.class().writes().then(|| Claim {
        share: Some(part),
        text: format!("{}: {text}", view.rate()),
        numbers: [syncs].into_iter().chain(view.number(Part::Rest)).collect(),
        ..Claim::default()
    })
}

/// Neither the time in syncs nor their number has grown.
pub(super) fn syncs_are_flat(view: &View) -> Option<bool> {
    let time = view.sync().map(|sync| !sync.is_above(0.0));
    match (time, view.up(metric::FLUSHES).map(|up| !up)) {
        (None, None) => None,
        (time, number) => Some(time.unwrap_or(true) && number.unwrap_or(true)),
    }
}

/// The costs of an operation.
const COSTS: [(&str, &str); 3] = [
    (metric::USER_CPU, "user CPU"),
    (metric::SYSTEM_CPU, "system CPU"),
    (metric::WRITE_BYTES, "KiB written"),
];

/// The costs that have grown.
fn risen<'a>(view: &'a View) -> impl Iterator<Item = (&'static str, Change)> + 'a {
    COSTS.iter().filter_map(|(name, what)| {
        // Bytes written are not a cost of statements that only read.
        let is_cost = *name != metric::WRITE_BYTES || view.class().writes();
        Some((*what, view.change(name).filter(|change| is_cost && view.is_up(*change))?))
    })
}

pub(super) fn efficiency(view: &View) -> Option<Claim> {
    let costs: Vec<String> =
        risen(view).map(|(what, more)| format!("{what} by {}", interval(&more))).collect();
    (!costs.is_empty()).then(|| Claim {
        text: format!(
            "Same throughput ({}), higher cost per operation: {}",
            view.rate(),
            costs.join("; ")
        ),
        numbers: risen(view).map(|(what, more)| Number::ratio(what, &more.log)).collect(),
        ..Claim::default()
    })
}

/// The largest growth of a cost, as a logarithm.
pub(super) fn lost_efficiency(view: &View) -> f64 {
    risen(view).map(|(_, more)| more.log.value).fold(0.0, f64::max)
}
