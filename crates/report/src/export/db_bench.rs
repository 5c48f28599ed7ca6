//! `report.tsv` of RocksDB's benchmark.sh, which its benchmark_compare.sh reads to put versions
//! beside each other.

use hdrhistogram::Histogram;
use rqps_analysis::comparison::percentile;
use rqps_observe::{Kind, Metric};
use rqps_plan::{Dbbench, Operation};
use rqps_store::{ContenderRecord, file_name};

use super::File;
use crate::Report;
use crate::model::{Measured, Model};

/// What rqps does not have.
const ABSENT: &str = "NA";
/// What the names of RocksDB's own counters begin with.
const OWN: &str = "rocksdb.";
const GB: f64 = (1_u64 << 30) as f64;
const MB: f64 = (1_u64 << 20) as f64;

/// A test of a contender, as a row.
struct TestRow<'a> {
    measured: &'a Measured<'a>,
    contender: Option<&'a ContenderRecord>,
    job: &'a str,
}

/// The name of a column, and its cell; none where rqps does not have it.
type TestColumn = (&'static str, fn(&TestRow<'_>) -> Option<String>);

const COLUMNS: [TestColumn; 29] = [
    ("ops_sec", |of| of.measured.finished_rate().map(|rate| format!("{rate:.0}"))),
    ("mb_sec", |of| Some(decimal(of.rows() * Dbbench::ROW_BYTES as f64 / of.seconds()? / MB))),
    ("lsm_sz", |of| Some(format!("{}GB", decimal(of.state("total-sst-files-size")? / GB)))),
    ("blob_sz", |of| Some(format!("{}GB", decimal(of.state("total-blob-file-size")? / GB)))),
    ("c_wgb", |of| Some(decimal(of.counted("compact.write.bytes")? / GB))),
    ("w_amp", |of| {
        let written = of.counted("compact.write.bytes")? + of.counted("flush.write.bytes")?;
        let put = of.counted("bytes.written").filter(|put| *put > 0.0)?;
        Some(decimal(written / put))
    }),
    ("c_mbps", |of| Some(decimal(of.counted("compact.write.bytes")? / of.seconds()? / MB))),
    ("c_wsecs", |of| Some(decimal(of.told("compaction.wall.micros")? / 1e6))),
    ("c_csecs", |of| Some(decimal(of.told("compaction.cpu.micros")? / 1e6))),
    // RocksDB tells it with one decimal only.
    ("b_rgb", |_| None),
    ("b_wgb", |of| Some(decimal(of.counted("blobdb.blob.file.bytes.written")? / GB))),
    ("usec_op", |of| {
        let rate = of.measured.finished_rate().filter(|rate| *rate > 0.0)?;
        Some(decimal(1e6 * f64::from(of.measured.record.clients) / rate))
    }),
    ("p50", |of| of.micros(|times| percentile(times, 50.0))),
    ("p99", |of| of.micros(|times| percentile(times, 99.0))),
    ("p99.9", |of| of.micros(|times| percentile(times, 99.9))),
    ("p99.99", |of| of.micros(|times| percentile(times, 99.99))),
    ("pmax", |of| of.micros(|times| Some(times.max()).filter(|longest| *longest > 0))),
    ("uptime", |of| Some(format!("{:.0}", of.seconds()?))),
    ("stall%", |of| Some(decimal(100.0 * of.told("write.stall.micros")? / 1e6 / of.seconds()?))),
    ("Nstall", |of| Some(format!("{:.0}", of.told("write.stalls")?))),
    ("u_cpu", |of| of.kiloseconds(Metric::ServerCpuUser)),
    ("s_cpu", |of| of.kiloseconds(Metric::ServerCpuSystem)),
    ("rss", |of| Some(decimal(of.measured.record.cost.get(Metric::ServerRss)? as f64 / GB))),
    ("test", |of| Some(of.measured.round.test.clone())),
    ("date", |of| Some(of.measured.round.started.clone())),
    ("version", |of| of.contender.map(|record| record.version.clone())),
    ("job_id", |of| Some(of.job.to_string())),
    ("githash", |_| None),
    ("contender", |of| Some(of.measured.contender.to_string())),
];

impl TestRow<'_> {
    fn seconds(&self) -> Option<f64> {
        Some(self.measured.record.seconds).filter(|seconds| *seconds > 0.0)
    }

    /// Keys that were found, read or put.
    fn rows(&self) -> f64 {
        let kinds = [Operation::Insert, Operation::Transaction];
        let totals = kinds.into_iter().filter_map(|kind| self.measured.of(kind));
        totals.map(|totals| totals.rows as f64).sum()
    }

    /// A property of the database at the end, which may be 0.
    fn state(&self, name: &str) -> Option<f64> {
        self.measured.record.engine.get(&format!("{OWN}{name}")).map(|value| value as f64)
    }

    /// A counter among RocksDB's statistics; none without `statistics=true`.
    fn counted(&self, name: &str) -> Option<f64> {
        self.increase(&format!("{OWN}{name}"), |counter| counter.starts_with(OWN))
    }

    /// A counter of the process in which RocksDB runs.
    fn told(&self, name: &str) -> Option<f64> {
        self.increase(name, |_| true)
    }

    /// Counters that did not move are not stored: they are 0 if others like them are there.
    fn increase(&self, name: &str, is_alike: fn(&str) -> bool) -> Option<f64> {
        let mut counters =
            self.measured.record.engine.iter().filter(|(_, read)| read.kind == Kind::Counter);
        let found = counters.clone().find(|(counter, _)| *counter == name);
        match found {
            Some((_, read)) => Some(read.value as f64),
            None => counters.any(|(counter, _)| is_alike(counter)).then_some(0.0),
        }
    }

    /// Microseconds of an operation; none if there are too few for a percentile.
    fn micros(&self, of: fn(&Histogram<u64>) -> Option<u64>) -> Option<String> {
        Some(decimal(of(&self.measured.counted_times()?)? as f64 / 1e3))
    }

    fn kiloseconds(&self, metric: Metric) -> Option<String> {
        let micros = self.measured.record.cost.get(metric)? as f64;
        Some(decimal(micros / 1e9))
    }
}

/// With four significant digits, so that small runs are not all zeros.
fn decimal(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { (3 - value.abs().log10().floor() as i32).max(0) };
    format!("{value:.digits$}", digits = digits as usize)
}

/// A file for each contender: `<contender>.report.tsv`, with a row for each complete test. A
/// comparison has its tests by whole runs, pooled over the rounds that count.
pub fn db_bench(report: &Report<'_>) -> Vec<File> {
    match &report.verdicts {
        Some(verdicts) => files(report, &verdicts.together()),
        None => files(report, &report.model),
    }
}

fn files(report: &Report<'_>, model: &Model) -> Vec<File> {
    let head = COLUMNS.map(|(name, _)| name).join("\t");
    let file = |(index, name): (usize, &&str)| {
        let mut text = format!("{head}\n");
        for step in &model.steps {
            let done = step.done().find(|(of, _)| *of == index);
            let Some((_, measured)) = done else { continue };
            let contender = report.run.contenders.iter().find(|record| record.name == **name);
            let source = TestRow { measured, contender, job: &report.run.manifest.id };
            let cells = COLUMNS.map(|(_, cell)| cell(&source).unwrap_or(ABSENT.to_string()));
            text += &(cells.join("\t") + "\n");
        }
        let name = format!("{}.report.tsv", file_name(name, &model.contenders));
        File { name, contents: text.into_bytes() }
    };
    model.contenders.iter().enumerate().map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_digits_as_they_need() {
        let cases = [(0.0, "0"), (0.000_123_4, "0.0001234"), (1.0, "1.000"), (123_456.7, "123457")];
        for (value, expected) in cases {
            assert_eq!(decimal(value), expected, "{value}");
        }
    }

    #[test]
    fn the_columns_are_those_of_benchmark_sh_and_the_contender() {
        let names = COLUMNS.map(|(name, _)| name);
        let published = "ops_sec mb_sec lsm_sz blob_sz c_wgb w_amp c_mbps c_wsecs c_csecs b_rgb \
                         b_wgb usec_op p50 p99 p99.9 p99.99 pmax uptime stall% Nstall u_cpu s_cpu \
                         rss test date version job_id githash";
        assert_eq!(
            names[..28].join(" "),
            published.split_whitespace().collect::<Vec<_>>().join(" ")
        );
    }
}
