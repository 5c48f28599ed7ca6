//! Guards: whether the machine did nothing else during a run. Pure functions of its readings.

use std::time::{Duration, Instant, SystemTime};

use crate::metric::{Metric, Reading};
use crate::reference_loop::Usual;

/// Shares of all CPUs, in percent, that may be used elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// By processes other than server and client.
    pub other_percent: f64,
    /// By other machines of the hypervisor.
    pub steal_percent: f64,
}

impl Limits {
    /// For a whole run, which no other arm shares conditions with.
    pub const RUN: Limits = Limits { other_percent: 5.0, steal_percent: 1.0 };
    /// For slices. Load in a cycle affects every arm, so the interval shows how much it matters,
    /// unless hardly any CPU is left (docs/verdicts.md).
    pub const SLICES: Limits = Limits { other_percent: 40.0, steal_percent: 10.0 };
}

/// In microseconds: the CPU time of a host is counted in hundredths of a second (USER_HZ, proc(5)).
const TICK: u64 = 10_000;
/// How far the wall clock may diverge from the monotonic one: more than slewing moves it.
const CLOCK_JUMP: Duration = Duration::from_millis(50);
/// Slewing moves the wall clock by at most 500 parts per million.
const CLOCK_SLEW: f64 = 500e-6;
/// How often both clocks are read for one instant, since a thread may stall in between.
const LOOKS: usize = 10;

/// The readings of a run.
#[derive(Clone, Debug)]
pub struct Conduct<'a> {
    /// The window that was measured.
    pub window: &'a Reading,
    /// Its length by the monotonic clock, and by the wall clock where that was read; the latter is
    /// negative where the wall clock was set back.
    pub seconds: f64,
    pub wall_seconds: Option<f64>,
    /// CPUs of the host.
    pub cpus: u32,
    /// How much of them may be used elsewhere.
    pub limits: Limits,
    pub reference_loop: Option<Around>,
    /// The rate that was reached and the target rate, where it was missed.
    pub missed_rate: Option<(f64, f64)>,
    /// The contender whose background threads have worked, though nothing was left to do for them,
    /// and their CPU as a share of that of the threads that serve clients.
    pub background: Option<(String, f64)>,
}

/// The largest share of background threads in tests after which nothing is left to do: they would
/// work while other contenders are measured.
const BACKGROUND_PERCENT: f64 = 1.0;

/// The reference loop before and after a run, and its usual time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Around {
    pub before: Duration,
    pub after: Duration,
    pub usual: Usual,
}

/// The monotonic and the wall clock at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Clocks(Instant, SystemTime);

impl Clocks {
    pub fn now() -> Clocks {
        let look = || (Instant::now(), SystemTime::now(), Instant::now());
        Clocks::closest(std::array::from_fn(|_| look()))
    }

    /// Of several readings of the wall clock, each between two of the monotonic one, the reading
    /// with the least time between those two.
    fn closest(looks: [(Instant, SystemTime, Instant); LOOKS]) -> Clocks {
        let closest = looks.into_iter().min_by_key(|(before, _, after)| *after - *before);
        let (before, wall, _) = closest.expect("there are some looks");
        Clocks(before, wall)
    }

    /// Seconds by which the wall clock has advanced more than the monotonic one since.
    pub fn jump(&self) -> f64 {
        let now = Clocks::now();
        let wall = match now.1.duration_since(self.1) {
            Ok(ahead) => ahead.as_secs_f64(),
            Err(back) => -back.duration().as_secs_f64(),
        };
        wall - (now.0 - self.0).as_secs_f64()
    }
}

/// Why a run is discarded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GuardFailure {
    #[error("other processes used {used:.1} % of the CPUs (limit {most} %)")]
    ForeignCpu { used: f64, most: f64 },
    #[error("the hypervisor took {stolen:.1} % of the CPUs (limit {most} %)")]
    Steal { stolen: f64, most: f64 },
    #[error("the reference loop was off its usual time by {off:+.1} % (limit {most:.1} %)")]
    ReferenceLoop { off: f64, most: f64 },
    #[error("inserts reached {reached:.0} rows per second, below the target of {wanted:.0}")]
    Rate { reached: f64, wanted: f64 },
    #[error(
        "others executed {percent:.0} % as many statements as rqps on the server of {contender} \
         (limit {most} %)"
    )]
    ForeignStatements { contender: String, percent: f64, most: f64 },
    #[error("settings of the server of {contender} have changed since the run began: {changes}")]
    Settings { contender: String, changes: String },
    #[error("the wall clock jumped by {0:+.3} s")]
    ClockJump(f64),
    #[error(
        "background threads of {contender} used {used:.1} % of the CPU of its client threads (limit \
         {most} %)"
    )]
    Background { contender: String, used: f64, most: f64 },
}

impl GuardFailure {
    /// Whether the machine is the cause, which may change by the next attempt, and not the
    /// contender.
    pub fn is_of_the_machine(&self) -> bool {
        !matches!(self, GuardFailure::Rate { .. } | GuardFailure::Background { .. })
    }
}

/// CPU microseconds of the host in a window that were neither the server's nor the client's. None
/// where the server's are unknown, as when it runs elsewhere. Ticks of the host and exact times of
/// the server differ slightly, so the result is at least 0.
pub fn other_cpu(window: &Reading) -> Option<u64> {
    let busy = window.get(Metric::HostCpuBusy)?;
    let server = window.sum(&[Metric::ServerCpuUser, Metric::ServerCpuSystem])?;
    let client = window.sum(&[Metric::ClientCpuUser, Metric::ClientCpuSystem]).unwrap_or(0);
    Some(busy.saturating_sub(server + client))
}

/// All guards that discard a run; empty if it counts.
pub fn guards(run: &Conduct) -> Vec<GuardFailure> {
    let share = |micros: u64| 100.0 * micros as f64 / (run.seconds * 1e6 * f64::from(run.cpus));
    // One tick of each CPU may belong to the time before or after the window.
    let ticks = TICK * u64::from(run.cpus);
    let beyond = |micros: Option<u64>, most: f64| {
        micros.filter(|micros| share(micros.saturating_sub(ticks)) > most).map(share)
    };
    let jump = run.wall_seconds.map(|wall| wall - run.seconds);
    let may_jump = CLOCK_JUMP.as_secs_f64() + run.seconds * CLOCK_SLEW;
    let Limits { other_percent, steal_percent } = run.limits;
    let checks = [
        beyond(other_cpu(run.window), other_percent)
            .map(|used| GuardFailure::ForeignCpu { used, most: other_percent }),
        beyond(run.window.get(Metric::HostCpuSteal), steal_percent)
            .map(|stolen| GuardFailure::Steal { stolen, most: steal_percent }),
        run.reference_loop.and_then(canary_off),
        run.missed_rate.map(|(reached, wanted)| GuardFailure::Rate { reached, wanted }),
        jump.filter(|jump| jump.abs() > may_jump).map(GuardFailure::ClockJump),
        run.background.clone().filter(|(_, share)| 100.0 * share > BACKGROUND_PERCENT).map(
            |(contender, share)| GuardFailure::Background {
                contender,
                used: 100.0 * share,
                most: BACKGROUND_PERCENT,
            },
        ),
    ];
    checks.into_iter().flatten().collect()
}

/// The reference loop that is farthest from its usual time, if too far.
fn canary_off(Around { before, after, usual }: Around) -> Option<GuardFailure> {
    let worst = [before, after]
        .map(|time| usual.off(time))
        .into_iter()
        .max_by(|left, right| left.abs().total_cmp(&right.abs()))?;
    let most = usual.most_percent;
    (worst.abs() > most).then_some(GuardFailure::ReferenceLoop { off: worst, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten seconds on two CPUs: 12 s for the server, 4 s for the client, half a second elsewhere.
    fn window() -> Reading {
        Reading::from_iter([
            (Metric::HostCpuBusy, 16_500_000),
            (Metric::HostCpuSteal, 100_000),
            (Metric::ServerCpuUser, 10_000_000),
            (Metric::ServerCpuSystem, 2_000_000),
            (Metric::ClientCpuUser, 1_000_000),
            (Metric::ClientCpuSystem, 3_000_000),
        ])
    }

    fn good(window: &Reading) -> Conduct<'_> {
        let time = Duration::from_millis(300);
        Conduct {
            window,
            seconds: 10.0,
            wall_seconds: Some(10.001),
            cpus: 2,
            limits: Limits::RUN,
            reference_loop: Some(Around {
                before: time,
                after: time,
                usual: Usual { median: time, most_percent: 3.0 },
            }),
            missed_rate: None,
            background: None,
        }
    }

    #[test]
    fn a_contender_that_works_in_the_background_spoils_the_turns_of_the_others() {
        let window = window();
        let run = |share| Conduct { background: Some(("b".to_string(), share)), ..good(&window) };
        assert_eq!(guards(&run(0.009)), []);
        let said: Vec<String> = guards(&run(0.034)).iter().map(ToString::to_string).collect();
        let expected =
            "background threads of b used 3.4 % of the CPU of its client threads (limit 1 %)";
        assert_eq!(said, [expected]);
    }

    #[test]
    fn a_run_on_a_quiet_machine_counts() {
        assert_eq!(guards(&good(&window())), []);
        assert_eq!(other_cpu(&window()), Some(500_000));
    }

    #[test]
    fn work_of_others_spoils_a_run() {
        let mut busy = window();
        busy.set(Metric::HostCpuBusy, 20_600_000);
        assert_eq!(guards(&good(&busy)), [GuardFailure::ForeignCpu { used: 23.0, most: 5.0 }]);
        assert_eq!(
            GuardFailure::ForeignCpu { used: 23.0, most: 5.0 }.to_string(),
            "other processes used 23.0 % of the CPUs (limit 5 %)"
        );
        let mut stolen = window();
        stolen.set(Metric::HostCpuSteal, 400_000);
        assert_eq!(guards(&good(&stolen)), [GuardFailure::Steal { stolen: 2.0, most: 1.0 }]);
    }

    #[test]
    fn a_tick_of_the_hosts_clock_spoils_no_run_of_milliseconds() {
        for (busy, spoils) in [(20_000, 0), (30_000, 1)] {
            let window = Reading::from_iter([
                (Metric::HostCpuBusy, busy),
                (Metric::HostCpuSteal, 10_000),
                (Metric::ServerCpuUser, 2_000),
                (Metric::ServerCpuSystem, 1_000),
            ]);
            let run = Conduct { seconds: 0.005, wall_seconds: None, ..good(&window) };
            assert_eq!(guards(&run).len(), spoils, "{busy}");
        }
    }

    #[test]
    fn what_others_do_to_everybody_in_a_cycle_spoils_slices_only_if_hardly_anything_is_left() {
        for (busy, stolen, spoils) in
            [(20_600_000, 1_900_000, 0), (24_600_000, 1_900_000, 1), (20_600_000, 2_100_000, 1)]
        {
            let mut window = window();
            window.set(Metric::HostCpuBusy, busy);
            window.set(Metric::HostCpuSteal, stolen);
            let run = Conduct { limits: Limits::SLICES, ..good(&window) };
            assert_eq!(guards(&run).len(), spoils, "{busy} {stolen}");
        }
    }

    #[test]
    fn a_canary_off_what_is_usual_spoils_a_run_whichever_way() {
        let window = window();
        for (after, spoils) in [(308, false), (310, true), (290, true)] {
            let mut run = good(&window);
            run.reference_loop.as_mut().unwrap().after = Duration::from_millis(after);
            let failures = guards(&run);
            assert_eq!(
                matches!(failures[..], [GuardFailure::ReferenceLoop { .. }]),
                spoils,
                "{after} ms"
            );
        }
    }

    #[test]
    fn a_run_that_did_not_go_as_planned_is_spoilt() {
        let window = window();
        let run = Conduct {
            missed_rate: Some((927.0, 1000.0)),
            wall_seconds: Some(9.0),
            ..good(&window)
        };
        let said: Vec<String> = guards(&run).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "inserts reached 927 rows per second, below the target of 1000",
                "the wall clock jumped by -1.000 s",
            ]
        );
    }

    #[test]
    fn a_wall_clock_that_was_set_has_jumped() {
        let clocks = Clocks::now();
        let hour = Duration::from_secs(3600);
        assert!((Clocks(clocks.0, clocks.1 - hour).jump() - 3600.0).abs() < 1.0);
        assert!((Clocks(clocks.0, clocks.1 + hour).jump() + 3600.0).abs() < 1.0);
    }

    #[test]
    fn a_thread_that_stands_still_between_the_clocks_sees_no_jump() {
        let (monotonic, wall) = (Instant::now(), SystemTime::now());
        let look = |before, at, after| {
            let [before, at, after] = [before, at, after].map(Duration::from_millis);
            (monotonic + before, wall + at, monotonic + after)
        };
        let mut looks = [look(0, 3_000, 3_000); LOOKS];
        looks[1] = look(3_000, 3_000, 6_000);
        looks[2] = look(6_000, 6_000, 6_001);
        let Clocks(at, wall_at) = Clocks::closest(looks);
        assert_eq!((at - monotonic).as_millis(), 6_000);
        assert_eq!(wall_at.duration_since(wall).unwrap().as_millis(), 6_000);
    }

    #[test]
    fn without_a_server_here_others_cannot_be_told_apart() {
        let host = Reading::from_iter([(Metric::HostCpuBusy, 20_000_000)]);
        assert_eq!(other_cpu(&host), None);
        assert_eq!(guards(&good(&host)), []);
    }
}
