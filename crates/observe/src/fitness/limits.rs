//! Limits on what rqps and the servers that it starts may open (getrlimit(2)).

use rustix::process::{Resource, Rlimit, getrlimit};

use super::Finding;

/// A limit, and the least that a server with some dozens of connections needs.
struct Limit {
    subject: &'static str,
    resource: Resource,
    least: u64,
    /// The option of ulimit (bash(1)).
    option: &'static str,
}

const LIMITS: [Limit; 2] = [
    // MySQL's cache of tables alone is set to 4000 files by default.
    Limit { subject: "open files", resource: Resource::Nofile, least: 5000, option: "-n" },
    Limit { subject: "processes", resource: Resource::Nproc, least: 1000, option: "-u" },
];

pub(super) fn findings() -> impl Iterator<Item = Finding> {
    LIMITS.iter().map(|limit| limit.told(getrlimit(limit.resource)))
}

impl Limit {
    /// rqps starts servers with its own limits: the soft one counts.
    fn told(&self, set: Rlimit) -> Finding {
        let number = |limit: Option<u64>| limit.map_or("no limit".to_string(), |it| it.to_string());
        let is_low = |limit: Option<u64>| limit.is_some_and(|limit| limit < self.least);
        let advice = match is_low(set.maximum) {
            true => {
                "raise it in /etc/security/limits.conf, or for a service with its Limit… settings"
            }
            false => "raise it for this shell",
        };
        let warning = format!(
            "servers with many tables or connections fail: {advice}: ulimit {} {}",
            self.option, self.least
        );
        Finding {
            subject: format!("limit of {}", self.subject),
            value: format!("{} (at most {})", number(set.current), number(set.maximum)),
            warning: is_low(set.current).then_some(warning),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_is_warned_of_with_the_command_that_raises_it() {
        let [files, _] = &LIMITS;
        let told = |current, maximum| files.told(Rlimit { current, maximum });
        let fine = told(Some(5000), None);
        assert_eq!((fine.value.as_str(), fine.warning), ("5000 (at most no limit)", None));
        assert_eq!(told(None, None).warning, None);
        let low = told(Some(1024), Some(1 << 20)).warning.unwrap();
        assert!(low.ends_with("raise it for this shell: ulimit -n 5000"), "{low}");
        let both = told(Some(1024), Some(4096)).warning.unwrap();
        assert!(both.contains("/etc/security/limits.conf"), "{both}");
    }
}
