//! What is found, in pgbench's form, so that what reads pgbench's output reads this.

use std::fmt::Write;

use rqps_plan::Pgbench;

use super::clients::{Outcome, RunLimits};
use super::tally::{Executions, TransactionTally};

pub(super) fn text(version: &str, plan: &Pgbench, limits: &RunLimits, outcome: &Outcome) -> String {
    let mut text = String::new();
    write(&mut text, version, plan, limits, outcome).expect("memory takes all bytes");
    text
}

fn write(
    out: &mut String,
    version: &str,
    plan: &Pgbench,
    limits: &RunLimits,
    outcome: &Outcome,
) -> std::fmt::Result {
    let total = outcome.tally.total();
    let kind = match &outcome.titles[..] {
        [only] => only,
        _ => "multiple scripts",
    };
    writeln!(out, "rqps pgbench {} ({version})", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "transaction type: {kind}")?;
    writeln!(out, "scaling factor: {}", plan.scale)?;
    writeln!(out, "query mode: {}", plan.mode)?;
    writeln!(out, "number of clients: {}", plan.clients)?;
    writeln!(out, "number of threads: {}", plan.clients)?;
    if limits.max_tries > 0 {
        writeln!(out, "maximum number of tries: {}", limits.max_tries)?;
    }
    let processed = total.processed();
    match (limits.seconds, limits.transactions) {
        (Some(seconds), _) => {
            writeln!(out, "duration: {seconds} s")?;
            writeln!(out, "number of transactions actually processed: {processed}")?;
        }
        (None, each) => {
            let each = each.unwrap_or_default();
            writeln!(out, "number of transactions per client: {each}")?;
            let all = each * u64::from(plan.clients);
            writeln!(out, "number of transactions actually processed: {processed}/{all}")?;
        }
    }
    if total.all() == 0 {
        return Ok(());
    }
    ends(out, "", &total, limits)?;
    if let Some(limit) = limits.latency_limit {
        let (late, share) = (total.late, percent(total.late, processed));
        writeln!(
            out,
            "number of transactions above the {limit:.1} ms latency limit: {late}/{processed} \
             ({share:.3}%)"
        )?;
    }
    latency(out, "", &total)?;
    if limits.rate.is_some() {
        let (mean, most) = (total.lag.mean(), total.lag.max / 1e3);
        writeln!(out, "rate limit schedule lag: avg {mean:.3} (max {most:.3}) ms")?;
    }
    let (connecting, tps) = (outcome.connecting.mean(), processed as f64 / outcome.seconds);
    if limits.reconnects {
        writeln!(out, "average connection time = {connecting:.3} ms")?;
        writeln!(out, "tps = {tps:.6} (including reconnection times)")?;
    } else {
        writeln!(out, "initial connection time = {connecting:.3} ms")?;
        writeln!(out, "tps = {tps:.6} (without initial connection time)")?;
    }
    let has_scripts = outcome.titles.len() > 1;
    for (place, (title, commands)) in outcome.titles.iter().zip(&outcome.commands).enumerate() {
        if has_scripts {
            script(out, place, (title, plan), &total, limits, outcome)?;
        }
        if limits.per_command {
            each_command(out, commands, &outcome.tally.commands[place], has_scripts, limits)?;
        }
    }
    Ok(())
}

fn percent(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { 100.0 * part as f64 / all as f64 }
}

/// How transactions ended; `head` begins each line.
fn ends(
    out: &mut String,
    head: &str,
    of: &TransactionTally,
    limits: &RunLimits,
) -> std::fmt::Result {
    let all = of.all();
    let mut line = |what: &str, count: u64| {
        writeln!(out, "{head}number of {what}: {count} ({:.3}%)", percent(count, all))
    };
    line("failed transactions", of.failures())?;
    if limits.is_detailed {
        line("serialization failures", of.serialization_failures)?;
        line("deadlock failures", of.deadlock_failures)?;
    }
    if limits.max_tries != 1 {
        line("transactions retried", of.retried)?;
    }
    if limits.rate.is_some() && limits.latency_limit.is_some() {
        line("transactions skipped", of.skipped)?;
    }
    if limits.max_tries != 1 {
        writeln!(out, "{head}total number of retries: {}", of.retries)?;
    }
    Ok(())
}

fn latency(out: &mut String, head: &str, of: &TransactionTally) -> std::fmt::Result {
    if of.latency.count == 0 {
        return Ok(());
    }
    writeln!(out, "{head}latency average = {:.3} ms", of.latency.mean())?;
    writeln!(out, "{head}latency stddev = {:.3} ms", of.latency.deviation())
}

fn script(
    out: &mut String,
    place: usize,
    (title, plan): (&str, &Pgbench),
    total: &TransactionTally,
    limits: &RunLimits,
    outcome: &Outcome,
) -> std::fmt::Result {
    let of = &outcome.tally.scripts[place];
    let weight = plan.scripts[place].weight;
    let weights: u64 = plan.scripts.iter().map(|script| script.weight).sum();
    writeln!(out, "SQL script {}: {title}", place + 1)?;
    let share = percent(weight, weights);
    writeln!(out, " - weight: {weight} (targets {share:.1}% of total)")?;
    let (all, share) = (of.all(), percent(of.all(), total.all()));
    writeln!(out, " - {all} transactions ({share:.1}% of total)")?;
    if all > 0 {
        let (processed, tps) = (of.processed(), of.processed() as f64 / outcome.seconds);
        writeln!(
            out,
            " - number of transactions actually processed: {processed} (tps = {tps:.6})"
        )?;
        ends(out, " - ", of, limits)?;
    }
    latency(out, " - ", of)
}

fn each_command(
    out: &mut String,
    lines: &[String],
    commands: &[Executions],
    has_scripts: bool,
    limits: &RunLimits,
) -> std::fmt::Result {
    let head = if has_scripts { " - " } else { "" };
    let has_retries = limits.max_tries != 1;
    let and = if has_retries { ", failures and retries" } else { " and failures" };
    writeln!(out, "{head}statement latencies in milliseconds{and}:")?;
    for (line, command) in lines.iter().zip(commands) {
        let Executions { times, failures, retries } = command;
        let mean = times.mean();
        match has_retries {
            true => writeln!(out, "   {mean:11.3}  {failures:10} {retries:10} {line}")?,
            false => writeln!(out, "   {mean:11.3}  {failures:10} {line}")?,
        }
    }
    Ok(())
}
