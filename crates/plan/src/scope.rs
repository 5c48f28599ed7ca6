//! What a comparison renews in every round, and hence what its verdicts are about.

use crate::comparison::Comparison;
use crate::contender::Contender;

/// A verdict holds for what its rounds renew. What stays the same in all rounds, such as a server
/// that nobody restarts, may be the cause of a difference as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Servers that rqps starts: start and data are new in every round.
    Build,
    /// Settings of sessions on one remote server, on the same tables: sessions are new.
    Session,
    /// The same on tables of their own, since tests write or the tables differ: sessions and tables
    /// are new.
    Place,
    /// Remote servers as they run: sessions and tables are new.
    Instance,
    /// The same on the tables that they have, where rqps makes none: sessions are new.
    Tables,
    /// As [`Scope::Instance`], and a command of the user restarts every one of them in every round.
    Restarted,
}

impl Scope {
    pub fn of(comparison: &Comparison, contenders: &[Contender], writes: bool) -> Scope {
        let Some(base) = contenders.first() else { return Scope::Build };
        let mut remote = contenders.iter().filter(|one| one.is_remote()).peekable();
        let is_restarted = |one: &Contender| comparison.restarted.contains(&one.name());
        let is_one = contenders.iter().all(|one| one.is_same_url(base));
        let has_places = contenders.iter().any(|one| one.place.is_some());
        match () {
            () if remote.peek().is_none() => Scope::Build,
            () if is_one && (writes || has_places) => Scope::Place,
            () if is_one => Scope::Session,
            () if comparison.read_only => Scope::Tables,
            () if remote.all(is_restarted) => Scope::Restarted,
            () => Scope::Instance,
        }
    }

    /// As files have it.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Build => "build",
            Scope::Session => "session",
            Scope::Place => "place",
            Scope::Instance => "instance",
            Scope::Tables => "tables",
            Scope::Restarted => "instance+restart",
        }
    }

    /// What every round renews, in words.
    pub fn renews(self) -> &'static str {
        match self {
            Scope::Build => "a restart",
            Scope::Session | Scope::Tables => "new sessions",
            Scope::Place | Scope::Instance => "new sessions and tables",
            Scope::Restarted => "a restart, new sessions and tables",
        }
    }

    /// What the verdicts are about, for readers who might expect more; none if they are about
    /// builds.
    pub fn claim(self) -> Option<&'static str> {
        match self {
            Scope::Build => None,
            Scope::Session => Some(
                "Verdicts are about settings of sessions on this server, with these tables. A restart \
                 or another copy of the data is not part of the intervals.",
            ),
            Scope::Place => Some(
                "Verdicts are about settings and tables on this server. A restart is not part of the \
                 intervals.",
            ),
            Scope::Instance => Some(
                "Verdicts are about these servers as they run, from this client. Neither a restart, nor \
                 another host, nor another network path is part of the intervals, and any of these may \
                 be the cause of a difference.",
            ),
            Scope::Tables => Some(
                "Verdicts are about these servers as they run, with the tables that they have, from this \
                 client. Neither a restart, nor another copy of the data, nor another host, nor another \
                 network path is part of the intervals, and any of these may be the cause of a \
                 difference.",
            ),
            Scope::Restarted => Some(
                "Verdicts are about these servers over restarts, from this client. Neither another host \
                 nor another network path is part of the intervals, and either may be the cause of a \
                 difference.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Microbenchmark, Workload};

    fn benchmark() -> Workload {
        Workload::Microbenchmark(Microbenchmark {
            tables: 1,
            rows: "1K".parse().unwrap(),
            clients: vec![1],
            read_time: "1s".parse().unwrap(),
            write_time: "1s".parse().unwrap(),
            tests: vec!["point-query".to_string()],
            fair_writes: true,
            pause: "1s".parse().unwrap(),
            quiesce_after_each_write: false,
            check: true,
        })
    }

    fn scope(contenders: &str, restarted: &[&str], writes: bool) -> Scope {
        let mut comparison = Comparison::new(benchmark());
        comparison.restarted = restarted.iter().map(|name| name.to_string()).collect();
        let contenders: Vec<Contender> =
            contenders.split(' ').map(|one| one.parse().unwrap()).collect();
        Scope::of(&comparison, &contenders, writes)
    }

    #[test]
    fn a_scope_follows_from_the_contenders_and_from_what_is_done_between_rounds() {
        let (a, b) = ("a=postgres://h/d", "b=postgres://i/d");
        assert_eq!(scope("postgres@17.6 sqlite", &[], true), Scope::Build);
        let settings = format!("{a} b=postgres://h/d?set.jit=off");
        assert_eq!(scope(&settings, &[], false), Scope::Session);
        assert_eq!(scope(&settings, &[], true), Scope::Place);
        let places = format!("{a} b=postgres://h/d?place=@b.sql");
        assert_eq!(scope(&places, &[], false), Scope::Place);
        let servers = format!("{a} {b}");
        assert_eq!(scope(&servers, &[], false), Scope::Instance);
        assert_eq!(scope(&servers, &["a"], false), Scope::Instance, "the other is not restarted");
        assert_eq!(scope(&servers, &["a", "b"], true), Scope::Restarted);
        assert_eq!(scope(&format!("postgres@17.6 {b}"), &[], true), Scope::Instance);
        let reading = |contenders: &str| {
            let comparison = Comparison { read_only: true, ..Comparison::new(benchmark()) };
            let contenders: Vec<Contender> =
                contenders.split(' ').map(|one| one.parse().unwrap()).collect();
            Scope::of(&comparison, &contenders, false)
        };
        assert_eq!(reading(&servers), Scope::Tables);
        assert_eq!(reading(&settings), Scope::Session);
    }

    #[test]
    fn what_was_not_restarted_is_not_called_a_build_or_release() {
        let of_servers = [Scope::Instance, Scope::Tables, Scope::Restarted];
        for scope in [Scope::Session, Scope::Place].into_iter().chain(of_servers) {
            let text = format!("{} {}", scope.claim().unwrap(), scope.renews());
            for word in ["build", "version", "release"] {
                assert!(!text.to_lowercase().contains(word), "{text}");
            }
        }
    }
}
