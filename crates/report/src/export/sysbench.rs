//! The output of sysbench, for scripts that parse it.

use std::fmt::Write;

use rqps_store::{Measurement, Operation};

use crate::Report;
use crate::model::{Measured, Totals};

/// The default of sysbench.
const PERCENTILE: f64 = 95.0;

/// The report of sysbench 1.1 for each contender, finished step and kind of operation, each below a
/// line `# <contender> <step> <operation>`. A transaction is an operation, a thread a connection.
/// The lines of seconds have the longest time as `lat (ms,100%)`, since no other is recorded by
/// second, and split queries like the whole step. A comparison has each whole run that counts, with
/// ` round <number>` at the end of that line; slices have neither seconds nor times.
pub fn sysbench(report: &Report<'_>) -> String {
    let mut text = String::new();
    reports(&mut text, report).expect("memory takes all bytes");
    text
}

fn reports(text: &mut String, of: &Report<'_>) -> std::fmt::Result {
    if let Some(verdicts) = &of.verdicts {
        return verdicts.each_run(|round, run| report(text, run, &format!(" round {round}")));
    }
    for (_, measured) in of.model.steps.iter().flat_map(|step| step.done()) {
        report(text, measured, "")?;
    }
    Ok(())
}

/// A report for each kind of operation; `which` is the round, if there are several.
fn report(text: &mut String, measured: &Measured, which: &str) -> std::fmt::Result {
    let record = measured.record;
    for totals in measured.totals.iter().filter(|totals| totals.operations > 0) {
        let operation = totals.operation;
        let threads = threads(record, operation);
        let (contender, test) = (measured.contender, &measured.round.test);
        writeln!(text, "# {contender} {test} {}{which}", operation.name())?;
        writeln!(text, "Running the test with following options:")?;
        writeln!(text, "Number of threads: {threads}")?;
        writeln!(text, "Report intermediate results every 1 second(s)\n\n")?;
        writeln!(text, "Threads started!\n")?;
        seconds(text, totals, threads, record.seconds)?;
        statistics(text, totals, record.seconds)?;
        times(text, totals, record.seconds)?;
        fairness(text, &events(record, operation), threads)?;
        writeln!(text)?;
    }
    Ok(())
}

/// The sum over all connections is recorded as client 0.
fn threads(record: &Measurement, operation: Operation) -> usize {
    let workers = || record.work.iter().filter(|worker| worker.operation == operation);
    match workers().any(|worker| worker.client == 0) {
        true => record.clients as usize,
        false => workers().count(),
    }
}

/// The whole seconds.
fn seconds(text: &mut String, totals: &Totals, threads: usize, length: f64) -> std::fmt::Result {
    let each = |statements: u64| statements as f64 / totals.operations as f64;
    for (index, second) in totals.seconds.iter().take(length as usize).enumerate() {
        let tps = second.operations as f64;
        writeln!(
            text,
            "[ {}s ] thds: {threads} tps: {tps:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) \
             lat (ms,100%): {:.2} err/s: 0.00 reconn/s: 0.00",
            index + 1,
            tps * each(totals.statements()),
            tps * each(totals.reads),
            tps * each(totals.writes),
            tps * each(totals.others),
            second.max_service as f64 / 1e6,
        )?;
    }
    Ok(())
}

fn statistics(text: &mut String, totals: &Totals, length: f64) -> std::fmt::Result {
    writeln!(text, "SQL statistics:\n    queries performed:")?;
    for (name, count) in [
        ("read:", totals.reads),
        ("write:", totals.writes),
        ("other:", totals.others),
        ("total:", totals.statements()),
    ] {
        writeln!(text, "        {name:<33}{count}")?;
    }
    // A retried operation is an ignored error of sysbench.
    for (name, count) in [
        ("transactions:", totals.operations),
        ("queries:", totals.statements()),
        ("ignored errors:", totals.retries),
        ("reconnects:", 0),
    ] {
        let rate = if length > 0.0 { count as f64 / length } else { 0.0 };
        writeln!(text, "    {name:<37}{count:<6} ({rate:.2} per sec.)")?;
    }
    writeln!(text)
}

fn times(text: &mut String, totals: &Totals, length: f64) -> std::fmt::Result {
    let rate = if length > 0.0 { totals.operations as f64 / length } else { 0.0 };
    writeln!(text, "Throughput:")?;
    writeln!(text, "    events/s (eps):                      {rate:.4}")?;
    writeln!(text, "    time elapsed:                        {length:.4}s")?;
    writeln!(text, "    total number of events:              {}\n", totals.operations)?;
    // With a rate, sysbench counts from when an event is due.
    let times = totals.response.as_ref().unwrap_or(&totals.service).unpacked();
    let ms = |nanoseconds: f64| nanoseconds / 1e6;
    writeln!(text, "Latency (ms):")?;
    for (name, value) in [
        ("min:".to_string(), times.min() as f64),
        ("avg:".to_string(), times.mean()),
        ("max:".to_string(), times.max() as f64),
        (format!("{PERCENTILE:.0}th percentile:"), times.value_at_percentile(PERCENTILE) as f64),
        ("sum:".to_string(), times.mean() * times.len() as f64),
    ] {
        writeln!(text, "         {name:<32}{:>10.2}", ms(value))?;
    }
    Ok(())
}

/// Omitted if the work of each thread is not known.
fn fairness(text: &mut String, events: &[(f64, f64)], threads: usize) -> std::fmt::Result {
    if events.len() != threads {
        return Ok(());
    }
    let counts: Vec<f64> = events.iter().map(|(count, _)| *count).collect();
    let busy: Vec<f64> = events.iter().map(|(_, seconds)| *seconds).collect();
    let ((count, counts), (seconds, spread)) =
        (mean_and_deviation(&counts), mean_and_deviation(&busy));
    writeln!(text, "\nThreads fairness:")?;
    writeln!(text, "    events (avg/stddev):           {count:.4}/{counts:.2}")?;
    writeln!(text, "    execution time (avg/stddev):   {seconds:.4}/{spread:.2}")
}

/// For each connection with the operation: the number of events, and their seconds.
fn events(record: &Measurement, operation: Operation) -> Vec<(f64, f64)> {
    let workers = record.work.iter().filter(|worker| worker.operation == operation);
    let seconds = |times: &hdrhistogram::Histogram<u64>| times.mean() * times.len() as f64 / 1e9;
    workers.map(|work| (work.operations as f64, seconds(&work.service.unpacked()))).collect()
}

/// The deviation of the population, as in sysbench.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}
