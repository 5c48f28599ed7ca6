//! What rules look for and what they say of it.

use rqps_observe::Meaning;
use rqps_plan::Class;

use super::evidence::{Change, Cost, Evidence, Part, Planning};
use super::number::Number;
use super::rule::Claim;
use super::view::{View, all, any, at_least, engine, metric};
use super::words::{change, interval, micros, micros_interval, share};

/// The part of the added time that CPU must be for a longer code path to be more than a hint.
const MAIN_SHARE: f64 = 0.7;
/// Waiting of less than this part of the added time is next to nothing.
const NOTICED: f64 = 0.1;
/// Foreign CPU above this, in percent of all CPUs, spoils a test.
const FOREIGN_CPU_PERCENT: f64 = 5.0;
/// Dips follow checkpoints if their periods differ by no more than this.
const SAME_PERIOD: f64 = 0.25;
/// Dips go with garbage collection if they follow it by no more than so many seconds.
const LAG: f64 = 5.0;
/// The part of the added time that a wait must be to be its cause, and CPU to be a hint of one.
pub(super) const HALF: f64 = 0.5;
/// CPU of a statement that has grown by this has exploded.
pub(super) const EXPLODES: f64 = 2.0;
/// So many functions are named that cost more.
const NAMED: usize = 3;
/// What functions and settings of compression and checksums have in their names.
pub(super) const COMPRESSION: [&str; 7] =
    ["compress", "zstd", "lz4", "pglz", "deflate", "crc", "checksum"];

/// What else may be why. A label is for intervals and guards to give: nothing is taken back here.
pub(super) fn environment(view: &View) -> Option<Claim> {
    let Evidence { environment: seen, .. } = view.evidence;
    let pressed = !seen.is_shared
        && all(&[view.up(metric::INVOLUNTARY), view.up(metric::RUN_QUEUE)]) == Some(true)
        && !presses_itself(view);
    let (reason, share, numbers) = if foreign(view) == Some(true) {
        let percent = seen.foreign_cpu_percent?;
        let reason = format!("other programs used {percent:.0} % of the CPUs");
        (reason, None, vec![Number::plain("CPUs used by other programs", "%", percent)])
    } else if seen.canary_moved == Some(true) {
        let reason = "a fixed piece of work was slower, too, by half of it or more".to_string();
        (reason, None, Vec::new())
    } else if pressed {
        let [off, wait] = [view.change(metric::INVOLUNTARY)?, view.change(metric::RUN_QUEUE)?];
        let reason = format!(
            "the server was put off its CPUs ({}) and waited for them ({})",
            change(off.log.value),
            change(wait.log.value)
        );
        let off = Number::ratio("involuntary switches", &off.log);
        let numbers = vec![off, Number::ratio("waits for a CPU", &wait.log)];
        (reason, view.sure_share(Part::RunQueue), numbers)
    } else {
        return None;
    };
    let text = format!("The machine may be why: {reason}; measure again when it is quiet");
    Some(Claim { text, share, numbers, ..Claim::default() })
}

/// A server whose own threads have more to do, or more to write, puts them off its CPUs itself.
fn presses_itself(view: &View) -> bool {
    let growth = |name: &str| Some(view.change(name)?.log.times(view.sign).value);
    let Some(put_off) = growth(metric::INVOLUNTARY) else { return false };
    let work = [metric::USER_CPU, metric::WRITE_BYTES].into_iter().filter_map(growth);
    work.fold(0.0, f64::max) >= HALF * put_off
}

pub(super) fn foreign(view: &View) -> Option<bool> {
    let percent = view.evidence.environment.foreign_cpu_percent;
    percent.map(|percent| percent > FOREIGN_CPU_PERCENT)
}

pub(super) fn moved(view: &View) -> Option<bool> {
    let seen = view.evidence.environment;
    any(&[seen.canary_moved, seen.twin_moved])
}

pub(super) fn nothing_moved(view: &View) -> Option<bool> {
    moved(view).map(|moved| !moved)
}

/// By design where they take turns within milliseconds, as far as the twin does not differ; else
/// the canary tells.
pub(super) fn same_machine(view: &View) -> Option<bool> {
    let seen = view.evidence.environment;
    let moved = if seen.is_shared { seen.twin_moved } else { seen.canary_moved };
    moved.map(|moved| !moved)
}

pub(super) fn code_path(view: &View) -> Option<Claim> {
    let (what, measured) = match view.evidence.cpu {
        Some(cpu) => ("server", cpu),
        None => ("user", *view.evidence.parts.get(&Part::ServerUser)?),
    };
    let more = measured.change.times(view.sign);
    let part = view.share_of(more.value)?;
    // What is known by user and system is sampled: its noise is looked at in the twin.
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
        .map(|growth| format!("`{}` {}", growth.frame, micros(growth.change.value)))
        .collect::<Vec<_>>();
    let growths = match growths.is_empty() {
        true => String::new(),
        false => format!(". Top {word}: {}", growths.join(", ")),
    };
    let cpu = Number::micros(&format!("{what} CPU"), &measured.change);
    let named = named.iter().map(|growth| Number::micros(&growth.frame, &growth.change));
    Some(Claim {
        share: Some(part),
        text: format!(
            "{}: {} of {what} CPU per operation explain {} of it{growths}",
            view.rate(),
            micros_interval(&measured.change),
            share(part),
        ),
        numbers: [cpu].into_iter().chain(named).collect(),
        is_partial: part < MAIN_SHARE,
    })
}

/// Voluntary switches are as many as before, or next to no time is in them: what a server does by
/// the second, it does more often for each operation of the slower one.
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
            "{}: waiting for locks or latches explains {} of it; voluntary switches per operation \
             change by {}",
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
            "{}: all clients want the same rows, and waiting explains {} of it{}",
            view.rate(),
            share(part?),
            told.unwrap_or_default()
        ),
        numbers: view.number(Part::Rest).into_iter().chain(locks).collect(),
        ..Claim::default()
    })
}

/// A database that is this much larger, or less, does not read more for that (a logarithm).
const RESIZED: f64 = 0.05;

pub(super) fn reads(view: &View) -> Option<Claim> {
    let (what, more) =
        more_of(view, &[(metric::READ_BYTES, "KiB read"), (metric::READS, "reads")])?;
    // Whoever has no filters spares no reads by them, either.
    let has_filters = |(_, change): &(&str, Change)| view.amounts(*change).0 > 0.0;
    let filters = view.engine(engine::BLOOM).filter(has_filters);
    let filters = filters.filter(|_| view.engine_down(engine::BLOOM) == Some(true));
    let reason = if let Some((name, _)) = filters {
        format!(": filters spare fewer reads ({name})")
    } else {
        match view.change(metric::DATABASE) {
            Some(Change { log, .. }) if log.value.abs() < RESIZED => {
                ": the database is as large as before, so look at the cache and the plan".into()
            }
            Some(size) if view.is_up(size) => {
                format!(": the database has another size, {}", change(size.log.value))
            }
            _ => String::new(),
        }
    };
    let part = view.sure_share(Part::BlockIo);
    let wait = part.map(|part| format!("; waiting for them explains {}", share(part)));
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

/// With a tenth more to read or write an operation takes at most a tenth longer for it.
fn is_too_little(view: &View, more: Change) -> bool {
    more.log.value.abs() < HALF * view.evidence.theta.value.abs()
}

/// No more is written in a second than before, and nobody waits for it: what a server writes by the
/// second, it writes more of for each operation of the slower one.
fn is_by_the_second(view: &View, more: Change) -> bool {
    let waits = [Part::Rest, Part::BlockIo].map(|part| at_least(view.share(part), HALF));
    more.log.value.abs() <= view.evidence.theta.value.abs() && any(&waits) != Some(true)
}

/// The first of the metrics of which there is more.
fn more_of(view: &View, metrics: &[(&str, &'static str)]) -> Option<(&'static str, Change)> {
    let up = |name: &str| view.change(name).filter(|change| view.is_up(*change));
    metrics.iter().find_map(|(name, what)| Some((*what, up(name)?)))
}

/// Of the operations of the dearer side so many wait for a read at least, where reads are its way
/// to work.
const READS_OFTEN: f64 = 0.1;

/// Statements of the dearer side read from the disk, what those of the other hardly did. To read
/// takes CPU, too, and to find a place for what was read.
fn begins_to_read(view: &View) -> Option<bool> {
    let reads = view.change(metric::READS)?;
    let (dearer, other) = view.amounts(reads);
    let multiplied = dearer >= EXPLODES * other && dearer >= READS_OFTEN;
    // A fraction of a read is no growth by its logarithm yet; its bytes are.
    let is_sure = any(&[Some(view.is_up(reads)), view.up(metric::READ_BYTES)]);
    Some(is_sure == Some(true) && multiplied && waits_for_reads(view) == Some(true))
}

/// About once for each read that was added the server gave up its CPU.
pub(super) fn waits_for_reads(view: &View) -> Option<bool> {
    let added = |name: &str| Some(view.added_amount(view.change(name)?));
    Some(added(metric::VOLUNTARY)? >= HALF * added(metric::READS)?)
}

/// What a DBMS writes, by its counters.
pub(super) const WRITTEN: [(&[Meaning], &str); 4] = [
    (engine::LOG_BYTES, "the log: look at full page images, compression, size of records"),
    (engine::PAGES, "pages: look at checkpoints and at random changes of secondary indexes"),
    (engine::COMPACTION, "compaction"),
    (engine::DOUBLE_WRITES, "pages that are written twice"),
];

/// Whether a kind of writes is behind a growth of all. What is counted in bytes must be half of
/// what was added. Of pages it is not known how many bytes they are: a sum grows by no more than
/// that of its parts that grows most, so pages that grow by less than half as much are not what it
/// is about.
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
    // The last two are counted by one engine each. A log that is synced more often has its last
    // block written more often, which are no bytes of records.
    let other = behind[..2] == [Some(false); 2]
        && !behind[2..].contains(&Some(true))
        && view.engine_up(engine::LOG_FLUSHES) != Some(true);
    let kind = match kind {
        Some(((_, kind), _)) => format!("; it is {kind}"),
        None if other => {
            "; it is neither log nor pages: look at double writes and temporary files".to_string()
        }
        None => String::new(),
    };
    let counted = WRITTEN.iter().filter_map(|(meanings, _)| view.engine(meanings));
    let counted = counted.map(|(name, change)| Number::ratio(name, &change.log));
    Some(Claim {
        text: format!("{}: {what} per operation change by {}{kind}", view.rate(), interval(&more)),
        numbers: [Number::ratio(what, &more.log)].into_iter().chain(counted).collect(),
        // What statements that only read leave to write is little, however often it is the other's.
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
            "{}: checkpoints ({}); {what} per operation change by {}: the log may be too small",
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

/// More user CPU in writes, and a function of compression that costs more. Without a profile a
/// setting that differs is no more than the pattern: with another release a hundred of them do.
pub(super) fn compression(view: &View) -> Option<Claim> {
    let user = view.change(metric::USER_CPU).filter(|user| view.is_up(*user))?;
    let written = view.change(metric::WRITE_BYTES)?;
    let growth = growth_of(view, &COMPRESSION).map(|frame| format!("`{frame}` has changed"));
    let setting = setting_of(view, &COMPRESSION).map(|name| format!("{name} differs"));
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

/// Written amounts fall by at least half of what CPU rises.
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
            "{}: stalls change by {}{}: the state of old row versions rather than code; decide \
             only on restored snapshots",
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
    let who = match view.planning().filter(|planning| is_slowed_planning(*planning)) {
        Some(Planning { before, after }) => {
            numbers.push(Number::plain("planning on a fresh table", "us taken", before));
            numbers.push(Number::plain("planning in the end", "us taken", after));
            format!(
                "planning one takes {after:.0} us in the end and {before:.0} us on a fresh table: the planner walks"
            )
        }
        None => "statements walk".to_string(),
    };
    (view.class() == Class::DeleteOldest && exploded).then(|| Claim {
        share: view.sure_share(Part::ServerUser),
        text: format!(
            "{}: user CPU per delete changes by {}: {who} over dead index entries",
            view.rate(),
            interval(&user)
        ),
        numbers,
        ..Claim::default()
    })
}

/// A planner that looks for the least key among what was deleted takes the longer the more there is
/// of it (`get_actual_variable_range` of Postgres).
pub(super) fn is_slowed_planning(planning: Planning) -> bool {
    planning.after >= EXPLODES * planning.before
}

pub(super) fn plan_changed(view: &View) -> Option<bool> {
    view.evidence.plans.as_ref().map(|plans| plans.base != plans.contender)
}

/// The server does other work for an operation: its CPU is half of the change, or it reads more.
pub(super) fn works_otherwise(view: &View) -> Option<bool> {
    any(&[Some(code_path(view).is_some()), view.up(metric::READ_BYTES)])
}

pub(super) fn plan(view: &View) -> Option<Claim> {
    let plans = view.evidence.plans.as_ref().filter(|_| plan_changed(view) == Some(true))?;
    let buffers = view.engine(engine::BUFFERS);
    let told = buffers
        .map(|(name, buffers)| format!("; {name} per operation change by {}", interval(&buffers)));
    let buffers = buffers.map(|(name, buffers)| Number::ratio(name, &buffers.log));
    Some(Claim {
        text: format!(
            "{}: the plan has changed: {} -> {}{}; EXPLAIN ANALYZE on data that are kept tells \
             what it touches",
            view.rate(),
            plans.base,
            plans.contender,
            told.unwrap_or_default()
        ),
        numbers: buffers.into_iter().collect(),
        ..Claim::default()
    })
}

/// A commit that begins to wait for a flush takes about one more per operation.
const BEGINS: f64 = 0.5;

/// Waiting that is most of the added time, and syncs that explain it: by the time that the device
/// took for them, or where that is short beside the writes that they wait for, by how many there
/// are. Where operations begin to flush, what they also do in the kernel counts with the waiting,
/// and so do waits for a CPU: it is threads of the server's own that write and flush for the one
/// that commits, and wake it.
pub(super) fn commit(view: &View) -> Option<Claim> {
    let waiting = view.sure_share(Part::Rest).unwrap_or(0.0);
    let is_longer = |sync: &Cost| sync.change.times(view.sign).is_above(0.0);
    let timed = view.evidence.sync.filter(is_longer).filter(|_| waiting >= HALF).and_then(|sync| {
        let part = view.share_of(sync.change.value * view.sign)?;
        let time = micros_interval(&sync.change);
        let text =
            format!("{time} of waiting for syncs per operation explain {} of it", share(part));
        Some((part, text, Number::micros("waiting for syncs", &sync.change)))
    });
    let counted = || {
        // Pages are flushed, too, so it is the log where the DBMS counts how often it syncs that.
        if view.engine_up(engine::LOG_FLUSHES) == Some(false) {
            return None;
        }
        let flushes = view.change(metric::FLUSHES).filter(|flushes| view.is_up(*flushes))?;
        let begins = (flushes.contender - flushes.base).abs() >= BEGINS;
        let (what, part) = match begins {
            true => {
                let parts = [Part::Rest, Part::ServerSystem, Part::RunQueue];
                let parts = parts.iter().filter_map(|part| view.share(*part));
                ("waiting, for a CPU as well, and system CPU explain", parts.sum())
            }
            false => ("waiting explains", waiting),
        };
        let text = format!(
            "{what} {} of it, and flushes of the device per operation change by {}",
            share(part),
            interval(&flushes)
        );
        Some((part, text, Number::ratio("flushes of the device", &flushes.log)))
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

/// What a unit of work may cost.
const COSTS: [(&str, &str); 3] = [
    (metric::USER_CPU, "user CPU"),
    (metric::SYSTEM_CPU, "system CPU"),
    (metric::WRITE_BYTES, "KiB written"),
];

/// The costs that have grown.
fn dearer<'a>(view: &'a View) -> impl Iterator<Item = (&'static str, Change)> + 'a {
    COSTS.iter().filter_map(|(name, what)| {
        // What statements that only read leave to write is not what they cost.
        let is_cost = *name != metric::WRITE_BYTES || view.class().writes();
        Some((*what, view.change(name).filter(|change| is_cost && view.is_up(*change))?))
    })
}

pub(super) fn efficiency(view: &View) -> Option<Claim> {
    let costs: Vec<String> = dearer(view)
        .map(|(what, more)| format!("{what} per operation changes by {}", interval(&more)))
        .collect();
    (!costs.is_empty()).then(|| Claim {
        text: format!("As fast as before ({}), but dearer: {}", view.rate(), costs.join("; ")),
        numbers: dearer(view).map(|(what, more)| Number::ratio(what, &more.log)).collect(),
        ..Claim::default()
    })
}

/// The largest growth of a cost, as a logarithm.
pub(super) fn lost_efficiency(view: &View) -> f64 {
    dearer(view).map(|(_, more)| more.log.value).fold(0.0, f64::max)
}
