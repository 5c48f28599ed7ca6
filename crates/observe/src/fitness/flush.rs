//! What it takes to make a write durable on the disk of the data directories: a commit waits for
//! at least one flush.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Finding;

/// Bytes that are written before each flush, like a small commit's log record with its padding.
const BYTES: usize = 8192;
/// At most so many flushes …
const FLUSHES: usize = 200;
/// … in about so much time.
const TIME: Duration = Duration::from_secs(1);

/// A disk that makes data durable needs longer: with a protected cache about 10 us.
const TOO_FAST: Duration = Duration::from_micros(5);
const SLOW: Duration = Duration::from_millis(10);
/// Flushes of which one in a hundred takes so many times the median …
const UNEVEN: u32 = 10;
/// … and at least this long.
const NOTICED: Duration = Duration::from_millis(5);

/// Of the times of flushes (fdatasync(2)), each after a write to a new file in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flushes {
    count: usize,
    p50: Duration,
    p99: Duration,
}

pub(super) fn finding(folder: &Path) -> Finding {
    let subject = "flush of 8 KiB".to_string();
    match measure(folder) {
        Ok(flushes) => Finding {
            subject,
            value: format!(
                "p50 {}, p99 {} of {}",
                shown(flushes.p50),
                shown(flushes.p99),
                flushes.count
            ),
            warning: warning(flushes),
        },
        Err(error) => Finding {
            subject,
            value: format!("not measured: {error}"),
            warning: Some("rqps cannot write there: make room, or set RQPS_HOME".to_string()),
        },
    }
}

fn measure(folder: &Path) -> io::Result<Flushes> {
    // Without a name, so that nobody else opens it and nothing is left behind.
    let file = tempfile::tempfile_in(folder)?;
    let bytes = [0x5a; BYTES];
    let begun = Instant::now();
    let mut times = Vec::new();
    for place in 0..FLUSHES {
        let before = Instant::now();
        file.write_all_at(&bytes, (place * BYTES) as u64)?;
        file.sync_data()?;
        times.push(before.elapsed());
        if begun.elapsed() > TIME {
            break;
        }
    }
    Ok(Flushes::of(times))
}

impl Flushes {
    fn of(mut times: Vec<Duration>) -> Flushes {
        times.sort();
        let quantile = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
        Flushes { count: times.len(), p50: quantile(50), p99: quantile(99) }
    }
}

fn warning(flushes: Flushes) -> Option<String> {
    let Flushes { p50, p99, .. } = flushes;
    let text = if p50 < TOO_FAST {
        "the file system confirms writes without making them durable: set RQPS_HOME to a folder on \
         the disk that you want to measure"
    } else if p50 > SLOW {
        "a commit waits this long: tests that commit measure this disk more than the DBMS. Set \
         RQPS_HOME to a folder on a faster one"
    } else if p99 > p50 * UNEVEN && p99 > NOTICED {
        "flushes are uneven: expect wide intervals for tests that commit. Set RQPS_HOME to a folder \
         on a disk that nobody else uses"
    } else {
        return None;
    };
    Some(text.to_string())
}

fn shown(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        few if few < 100.0 => format!("{few:.1} us"),
        some if some < 1000.0 => format!("{some:.0} us"),
        many => format!("{:.1} ms", many / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    #[test]
    fn the_percentiles_are_of_all_times() {
        let times = (1..=200).rev().map(micros).collect();
        let flushes = Flushes { count: 200, p50: micros(101), p99: micros(199) };
        assert_eq!(Flushes::of(times), flushes);
        let one = Flushes { count: 1, p50: micros(7), p99: micros(7) };
        assert_eq!(Flushes::of(vec![micros(7)]), one);
    }

    #[test]
    fn a_disk_that_spoils_commits_is_warned_of_with_what_to_do() {
        let told = |p50, p99| {
            warning(Flushes { count: 200, p50: micros(p50), p99: micros(p99) }).unwrap_or_default()
        };
        assert_eq!(told(900, 3_000), "");
        assert_eq!(told(20, 400), "", "uneven, but nobody would notice");
        assert!(told(1, 2).contains("without making them durable"));
        assert!(told(12_000, 15_000).contains("faster"));
        assert!(told(900, 20_000).contains("uneven"));
        for warned in [told(1, 2), told(12_000, 15_000), told(900, 20_000)] {
            assert!(warned.contains("RQPS_HOME"), "{warned}");
        }
    }

    #[test]
    fn a_folder_is_measured_and_left_empty() {
        let folder = tempfile::tempdir().unwrap();
        let flushes = measure(folder.path()).unwrap();
        assert!(flushes.count > 0 && flushes.p50 <= flushes.p99, "{flushes:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let nowhere = finding(&folder.path().join("none"));
        assert!(nowhere.value.starts_with("not measured: "), "{nowhere:?}");
    }
}
