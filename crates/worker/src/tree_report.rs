//! Counts of the database that RocksDB tells only in reports for people, also without statistics:
//! time of compactions, and stalls of writers. db_bench's scripts read the same lines, by the
//! numbers of their columns; here a column is found by its name, since versions add some.

use crate::database::Database;

/// The report with a table of levels.
const LEVELS: &str = "rocksdb.cfstats-no-file-histogram";
/// The one about the whole database.
const WHOLE: &str = "rocksdb.dbstats";
const MICROS: f64 = 1e6;

/// Names and counts since the database was opened, of those that this version tells.
pub(crate) fn counts(database: &Database) -> Vec<(&'static str, u64)> {
    let of_levels = database.property(LEVELS).unwrap_or_default();
    let of_all = database.property(WHOLE).unwrap_or_default();
    let seconds = |column| Some((sum(&of_levels, column)? * MICROS) as u64);
    let counts = [
        ("compaction.wall.micros", seconds("Comp(sec)")),
        ("compaction.cpu.micros", seconds("CompMergeCPU(sec)")),
        ("write.stall.micros", stalled(&of_all).map(|seconds| (seconds * MICROS) as u64)),
        ("write.stalls", stalls(&of_levels)),
    ];
    counts.into_iter().filter_map(|(name, count)| Some((name, count?))).collect()
}

/// A column of the row with the sums of all levels. The size has a number and a unit, so columns
/// are counted from the right.
fn sum(report: &str, column: &str) -> Option<f64> {
    let mut lines = report.lines();
    let head: Vec<&str> = lines.find(|line| line.contains(column))?.split_whitespace().collect();
    let from_right = head.iter().rev().position(|name| *name == column)?;
    let row = lines.find(|line| line.trim_start().starts_with("Sum "))?;
    row.split_whitespace().rev().nth(from_right)?.parse().ok()
}

/// The seconds of `Cumulative stall: 01:02:3.450 H:M:S, 0.0 percent`.
fn stalled(report: &str) -> Option<f64> {
    let time = report.lines().find_map(|line| line.strip_prefix("Cumulative stall: "))?;
    let parts = time.split_whitespace().next()?.split(':').map(str::parse::<f64>);
    let parts: Vec<f64> = parts.collect::<Result<_, _>>().ok()?;
    let [hours, minutes, seconds] = parts[..] else { return None };
    Some(hours * 3_600.0 + minutes * 60.0 + seconds)
}

/// Delays and stops of writers, of the line with their numbers by cause.
fn stalls(report: &str) -> Option<u64> {
    report.lines().find_map(|line| match line.strip_prefix("Write Stall (count): ") {
        Some(newer) => {
            let pairs = newer.split(", ").filter_map(|pair| pair.split_once(": "));
            let totals = pairs.filter(|(name, _)| matches!(*name, "total-delays" | "total-stops"));
            totals.map(|(_, count)| count.parse::<u64>().ok()).sum()
        }
        None => {
            let older = line.strip_prefix("Stalls(count): ")?;
            let pairs = older.split(", ").filter_map(|pair| pair.split_once(' '));
            // Those with a compaction under way are counted twice, and the last number is of the
            // time since the last report.
            let own = pairs.filter(|(count, name)| {
                *count != "interval" && !name.ends_with("_with_compaction")
            });
            own.map(|(count, _)| count.parse::<u64>().ok()).sum()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As 6.29 and 10.4 write it, without the rows of levels.
    const OLDER: &str = "
** Compaction Stats [default] **
Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s) Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop Rblob(GB) Wblob(GB)
----------------------------------------
 Sum      7/0   85.71 MB   0.0      0.1     0.0      0.1       0.2      0.1       0.0   2.0    100.0    230.0      0.84              0.71        12    0.070   412K    98K       0.0       0.0
 Int      7/0   85.71 MB   0.0      0.1     0.0      0.1       0.2      0.1       0.0   2.0    100.0    230.0      9.99              9.98        12    0.070   412K    98K       0.0       0.0
Stalls(count): 3 level0_slowdown, 2 level0_slowdown_with_compaction, 4 level0_numfiles, 1 level0_numfiles_with_compaction, 5 stop for pending_compaction_bytes, 6 slowdown for pending_compaction_bytes, 7 memtable_compaction, 8 memtable_slowdown, interval 9 total count
";
    const NEWER: &str = "
Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) WPreComp(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s) Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop Rblob(GB) Wblob(GB)
 Sum      0/0    0.00 KB   0.0      0.0     0.0      0.0       0.0      0.0      0.0       0.0   0.0      0.0      0.0      1.25              1.00         0    0.000       0      0       0.0       0.0
Write Stall (count): cf-l0-file-count-limit-delays-with-ongoing-compaction: 9, l0-file-count-limit-delays: 2, memtable-limit-stops: 1, total-delays: 2, total-stops: 1
";

    #[test]
    fn columns_are_found_by_their_names_in_the_row_of_sums() {
        assert_eq!(sum(OLDER, "Comp(sec)"), Some(0.84));
        assert_eq!(sum(OLDER, "CompMergeCPU(sec)"), Some(0.71));
        assert_eq!(sum(NEWER, "Comp(sec)"), Some(1.25));
        assert_eq!(sum(NEWER, "CompMergeCPU(sec)"), Some(1.0));
        assert_eq!((sum(OLDER, "Other(sec)"), sum("", "Comp(sec)")), (None, None));
    }

    #[test]
    fn stalls_are_counted_in_both_notations() {
        assert_eq!(stalls(OLDER), Some(3 + 4 + 5 + 6 + 7 + 8));
        assert_eq!(stalls(NEWER), Some(3));
        assert_eq!(stalls("Stalls(ratio): 3 of 4"), None);
    }

    #[test]
    fn the_time_of_stalls_is_in_seconds() {
        let line = "Uptime(secs): 9.1 total\nCumulative stall: 01:02:3.450 H:M:S, 0.0 percent\n";
        assert_eq!(stalled(line), Some(3_723.45));
        assert_eq!(stalled("Interval stall: 00:00:1.000 H:M:S"), None);
    }
}
