//! What the CPU counts itself about the threads of a server, in user space: instructions, cycles,
//! and misses of its predictors and caches (perf_event_open(2)). A virtual machine often counts
//! none of it.

use std::io;
use std::time::Duration;

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware};
use perf_event::{Builder, Counter, GroupData, ReadFormat};

use crate::metric::Metric;

/// What is counted, with the name that `doctor` shows.
struct Event {
    metric: Metric,
    name: &'static str,
    builder: fn() -> Builder<'static>,
}

/// Counts by event, in the order of [`HARDWARE`].
pub type HardwareCounts = [u64; EVENTS.len()];

pub const HARDWARE: [Metric; EVENTS.len()] = {
    let mut metrics = [Metric::ServerInstructions; EVENTS.len()];
    let mut index = 0;
    while index < EVENTS.len() {
        metrics[index] = EVENTS[index].metric;
        index += 1;
    }
    metrics
};

const EVENTS: [Event; 7] = [
    Event {
        metric: Metric::ServerInstructions,
        name: "instructions",
        builder: || Builder::new(Hardware::INSTRUCTIONS),
    },
    Event {
        metric: Metric::ServerCycles,
        name: "cycles",
        builder: || Builder::new(Hardware::CPU_CYCLES),
    },
    Event {
        metric: Metric::ServerBranchMisses,
        name: "branch misses",
        builder: || Builder::new(Hardware::BRANCH_MISSES),
    },
    Event {
        metric: Metric::ServerItlbMisses,
        name: "iTLB misses",
        builder: || read_misses(CacheId::ITLB),
    },
    Event {
        metric: Metric::ServerDtlbMisses,
        name: "dTLB misses",
        builder: || read_misses(CacheId::DTLB),
    },
    Event {
        metric: Metric::ServerL1iMisses,
        name: "L1i misses",
        builder: || read_misses(CacheId::L1I),
    },
    Event {
        metric: Metric::ServerLlcMisses,
        name: "LLC misses",
        builder: || read_misses(CacheId::LL),
    },
];

/// Events that are counted at the same time. A CPU has few counters: where they do not suffice for
/// both groups, the kernel lets them take turns and tells for how long each has counted.
const GROUPS: [&[usize]; 2] = [&[0, 1, 2], &[3, 4, 5, 6]];

fn read_misses(which: CacheId) -> Builder<'static> {
    Builder::new(Cache { which, operation: CacheOp::READ, result: CacheResult::MISS })
}

/// Which events can be counted here, and why the others cannot.
#[derive(Debug)]
pub(crate) struct Countable {
    pub(crate) names: Vec<&'static str>,
    pub(crate) refused: Option<io::Error>,
}

pub(crate) fn countable() -> Countable {
    let mut found = Countable { names: Vec::new(), refused: None };
    for event in &EVENTS {
        match (event.builder)().observe_self().any_cpu().build() {
            Ok(_) => found.names.push(event.name),
            Err(error) => found.refused = Some(error),
        }
    }
    found
}

/// Counts events of threads.
#[derive(Debug, Default)]
pub(crate) struct HardwareReader {
    groups: Vec<Group>,
    total: [f64; EVENTS.len()],
}

/// Events of a thread that are counted together.
#[derive(Debug)]
struct Group {
    /// The first reads them all.
    counters: Vec<Counter>,
    events: Vec<usize>,
    seen: Seen,
}

/// A reading of a group. Times are those in which its thread ran.
#[derive(Clone, Debug, Default)]
struct Seen {
    counts: Vec<u64>,
    enabled: Duration,
    /// Of that, the time in which the group had the CPU's counters.
    running: Duration,
}

impl HardwareReader {
    /// Counts for these threads what can be counted, from now on.
    pub(crate) fn new(threads: impl Iterator<Item = i32> + Clone) -> HardwareReader {
        let of = |tid: i32| {
            GROUPS.iter().filter_map(move |events| {
                let builders = events.iter().map(|event| (*event, (EVENTS[*event].builder)()));
                Group::open(tid, builders)
            })
        };
        // The same on all threads; where nothing can be counted, not asked for each of them.
        let is_something = threads.clone().next().is_some_and(|first| of(first).next().is_some());
        let groups = threads.filter(|_| is_something).flat_map(of).collect();
        HardwareReader { groups, total: [0.0; EVENTS.len()] }
    }

    /// The metrics that can be read.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let is_read = |index: &usize| self.groups.iter().any(|group| group.events.contains(index));
        (0..EVENTS.len()).filter(is_read).map(|index| HARDWARE[index]).collect()
    }

    /// What all threads have counted since the beginning. What a thread counted stays when it ends.
    pub(crate) fn read(&mut self) -> HardwareCounts {
        for group in &mut self.groups {
            let Ok(now) = group.read() else { continue };
            let Some(increase) = now.since(&group.seen) else { continue };
            for (event, count) in group.events.iter().zip(increase) {
                self.total[*event] += count;
            }
            group.seen = now;
        }
        self.total.map(|total| total.round() as u64)
    }
}

impl Group {
    /// None if none of the events can be counted.
    fn open(tid: i32, builders: impl Iterator<Item = (usize, Builder<'static>)>) -> Option<Group> {
        let (mut counters, mut events): (Vec<Counter>, _) = (Vec::new(), Vec::new());
        for (event, mut builder) in builders {
            let times = ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING;
            let builder = builder.observe_pid(tid).any_cpu().read_format(ReadFormat::GROUP | times);
            let opened = match counters.first_mut() {
                None => builder.build(),
                Some(first) => builder.build_with_group(first),
            };
            if let Ok(counter) = opened {
                counters.push(counter);
                events.push(event);
            }
        }
        counters.first_mut()?.enable_group().ok()?;
        let seen = Seen { counts: vec![0; events.len()], ..Seen::default() };
        Some(Group { counters, events, seen })
    }

    fn read(&mut self) -> io::Result<Seen> {
        Ok(Seen::of(&self.counters[0].read_group()?))
    }
}

impl Seen {
    fn of(data: &GroupData) -> Seen {
        Seen {
            counts: data.iter().map(|entry| entry.value()).collect(),
            enabled: data.time_enabled().unwrap_or_default(),
            running: data.time_running().unwrap_or_default(),
        }
    }

    /// The increase of each count, extended to the time in which others had the CPU's counters.
    /// None if they had them all the time: that time counts with the next increase.
    fn since(&self, earlier: &Seen) -> Option<Vec<f64>> {
        let enabled = self.enabled.saturating_sub(earlier.enabled).as_secs_f64();
        let running = self.running.saturating_sub(earlier.running).as_secs_f64();
        let increase = |(now, before): (&u64, &u64)| {
            now.saturating_sub(*before) as f64 * (enabled / running).max(1.0)
        };
        (running > 0.0).then(|| self.counts.iter().zip(&earlier.counts).map(increase).collect())
    }
}

#[cfg(test)]
mod tests {
    use perf_event::events::Software;

    use super::*;

    fn seen(counts: &[u64], enabled: u64, running: u64) -> Seen {
        let millis = Duration::from_millis;
        Seen { counts: counts.to_vec(), enabled: millis(enabled), running: millis(running) }
    }

    #[test]
    fn counts_are_extended_to_the_time_in_which_others_had_the_counters() {
        let start = seen(&[100, 7], 10, 10);
        let alone = seen(&[1_100, 17], 20, 20);
        assert_eq!(alone.since(&start), Some(vec![1_000.0, 10.0]));
        let shared = seen(&[600, 12], 20, 15);
        assert_eq!(shared.since(&start), Some(vec![1_000.0, 10.0]), "half of the time");
    }

    #[test]
    fn time_without_the_counters_is_made_up_for_when_they_are_had_again() {
        let start = seen(&[0], 0, 0);
        let without = seen(&[0], 10, 0);
        assert_eq!(without.since(&start), None);
        let later = seen(&[500], 20, 10);
        assert_eq!(later.since(&start), Some(vec![1_000.0]));
    }

    /// Every event is in one group, and each has its place there.
    #[test]
    fn each_event_is_in_one_group() {
        let mut all = GROUPS.concat();
        all.sort_unstable();
        assert_eq!(all, (0..EVENTS.len()).collect::<Vec<_>>());
    }

    /// With events that every kernel has. A container may forbid the call.
    #[test]
    fn events_of_a_thread_are_counted_by_the_kernel() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let events = [Software::TASK_CLOCK, Software::PAGE_FAULTS];
        let builders = events.map(Builder::new).into_iter().enumerate();
        let Some(group) = Group::open(tid, builders) else { return };
        let mut reader = HardwareReader { groups: vec![group], total: [0.0; EVENTS.len()] };
        let before = reader.read();
        // Too large for memory that was freed before (mallopt(3), M_MMAP_THRESHOLD).
        let pages = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = reader.read();
        assert!(after[0] > before[0], "the thread ran: {before:?} {after:?}");
        assert!(after[1] > before[1], "it touched {} new bytes", pages.len());
        assert_eq!(reader.metrics(), HARDWARE[..2]);
    }

    #[test]
    fn what_cannot_be_counted_is_no_error() {
        let countable = countable();
        assert_eq!(countable.names.len() < EVENTS.len(), countable.refused.is_some());
        let mut nobody = HardwareReader::new([i32::MAX].into_iter());
        assert_eq!((nobody.metrics(), nobody.read()), (vec![], [0; EVENTS.len()]));
    }
}
