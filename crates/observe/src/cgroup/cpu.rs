//! The exact CPU time of a group, including processes that have ended.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::hierarchy::Version;

/// Reads the CPU time of a group from files that stay open.
#[derive(Debug)]
pub struct GroupCpu {
    source: Source,
    /// The last result of [`GroupCpu::read`], which never decreases.
    last: (u64, u64),
}

#[derive(Debug)]
enum Source {
    /// The total is exact; user and system are sampled by the timer's ticks.
    One {
        total: File,
        user: File,
        system: File,
    },
    Two {
        stat: File,
    },
}

impl GroupCpu {
    pub(super) fn open(group: &Path, version: Version) -> io::Result<GroupCpu> {
        let file = |name: &str| File::open(group.join(name));
        let source = match version {
            Version::One => Source::One {
                total: file("cpuacct.usage")?,
                user: file("cpuacct.usage_user")?,
                system: file("cpuacct.usage_sys")?,
            },
            Version::Two => Source::Two { stat: file("cpu.stat")? },
        };
        Ok(GroupCpu { source, last: (0, 0) })
    }

    /// User and system CPU in nanoseconds since the group was made.
    pub fn read(&mut self) -> io::Result<(u64, u64)> {
        self.last = match &self.source {
            Source::One { total, user, system } => {
                split(number(total)?, number(user)?, number(system)?, self.last)
            }
            Source::Two { stat } => {
                let text = text(stat)?;
                (micros(&text, "user_usec")? * 1_000, micros(&text, "system_usec")? * 1_000)
            }
        };
        Ok(self.last)
    }

    /// The last reading.
    pub fn last(&self) -> (u64, u64) {
        self.last
    }

    /// The sum of user and system CPU, in one small read.
    pub fn read_total(&self) -> io::Result<u64> {
        match &self.source {
            Source::One { total, .. } => number(total),
            Source::Two { stat } => Ok(micros(&text(stat)?, "usage_usec")? * 1_000),
        }
    }
}

/// Splits an exact total by the ratio of the ticks; neither share decreases.
fn split(total: u64, user: u64, system: u64, last: (u64, u64)) -> (u64, u64) {
    let ticks = u128::from(user) + u128::from(system);
    let by_ticks = match ticks {
        0 => total,
        _ => (u128::from(total) * u128::from(user) / ticks) as u64,
    };
    let least = last.0.min(total);
    let most = total.saturating_sub(last.1).max(least);
    let user = by_ticks.clamp(least, most);
    (user, (total - user).max(last.1))
}

fn text(file: &File) -> io::Result<String> {
    let mut bytes = [0; 1024];
    let length = file.read_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

fn number(file: &File) -> io::Result<u64> {
    let mut bytes = [0; 24];
    let length = file.read_at(&mut bytes, 0)?;
    parse(std::str::from_utf8(&bytes[..length]).unwrap_or_default())
}

fn micros(text: &str, name: &str) -> io::Result<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    parse(value.unwrap_or_default())
}

fn parse(text: &str) -> io::Result<u64> {
    text.trim().parse().map_err(|_| io::Error::other(format!("'{text}' is no CPU time")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_total_is_shared_out_as_the_ticks_have_it() {
        assert_eq!(split(1_000, 3, 1, (0, 0)), (750, 250));
        assert_eq!(split(1_000, 0, 0, (0, 0)), (1_000, 0), "before the first tick");
        // One more system tick would turn 800 us of user time into 667: the share stays, and so
        // does the sum.
        assert_eq!(split(1_000, 2, 1, (800, 100)), (800, 200));
        assert_eq!(split(1_000, 3, 0, (600, 300)), (700, 300));
    }
}
