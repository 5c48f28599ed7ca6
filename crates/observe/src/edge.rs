//! Readings cheap enough for slices of some milliseconds: CPU, run-queue wait and switches of a
//! server, what the CPU counted about its threads where it counts, and the requests of the block
//! device below its data, from files that stay open. All
//! processes share the device, but while one server is driven, the requests that statements wait
//! for are its own: reads and flushes. Pages that are written back later may belong to any server.
//!
//! A reading of a group and four threads costs 1.2 us on a 2-core VM, and 0.2 us for each further
//! thread. The full reading of each second costs 180 us with four processes:
//! `cargo test -p rqps-observe -- --ignored --nocapture cost`. With an idle Postgres the latter is
//! 0.7 ms, and 4 ms with the sizes of the files below its data directory: 0.4 % of a core.

use std::array;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::cgroup::{Group, GroupCpu, GroupError};
use crate::hardware::{HardwareCounts, HardwareReader};
use crate::host::{Device, SECTOR};
use crate::metric::Metric;
use crate::process_tree::descendants;

/// Counters of a server at one instant, for differences with another of the same reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    /// Nanoseconds of user and system CPU.
    pub cpu: u64,
    /// Nanoseconds that threads were runnable but had no CPU.
    pub run_queue_wait: u64,
    /// How often a thread was scheduled on a CPU: once for each switch, voluntary or not.
    pub switches: u64,
    /// Of the block device: read requests, and the bytes they read.
    pub reads: u64,
    pub read_bytes: u64,
    /// Flushes of the device's cache, and their microseconds, counted in milliseconds.
    pub flushes: u64,
    pub flush_time: u64,
    /// What the CPU counted about its threads, by [`HARDWARE`](crate::HARDWARE); 0 where it cannot.
    pub hardware: HardwareCounts,
}

/// Reads a server's counters.
#[derive(Debug)]
pub struct EdgeReader {
    group: Option<GroupCpu>,
    /// The group's CPU at the last reading.
    group_cpu: u64,
    threads: Vec<Thread>,
    hardware: HardwareReader,
    requests: Option<Requests>,
}

/// The statistics of a block device and, if it is a partition, of its disk.
#[derive(Debug)]
struct Requests {
    device: File,
    disk: Option<File>,
}

#[derive(Debug)]
struct Thread {
    schedstat: File,
    /// At the last reading, which remains the value of a thread that has ended.
    seen: Scheduled,
}

/// CPU, run-queue wait and switches of a thread, as in [`Edge`].
#[derive(Clone, Copy, Debug, Default)]
struct Scheduled {
    cpu: u64,
    run_queue_wait: u64,
    switches: u64,
}

impl EdgeReader {
    /// A reader of the server with that root process, if it has processes of its own, and of the
    /// device that `data` is on. CPU is the group's or, without a group, that of the threads.
    /// Threads are those that exist now, so connections must be made first.
    pub fn new(
        root: Option<u32>,
        group: Option<&Group>,
        data: Option<&Path>,
    ) -> Result<EdgeReader, GroupError> {
        let group = group.map(Group::cpu).transpose()?;
        let processes = root.map(|root| descendants(root as i32)).unwrap_or_default();
        let tasks = processes.into_iter().filter_map(|process| {
            let pid = process.pid;
            Some((pid, process.tasks().ok()?))
        });
        let ids = tasks.flat_map(|(pid, tasks)| tasks.flatten().map(move |task| (pid, task.tid)));
        let ids: Vec<(i32, i32)> = ids.collect();
        let open = |(pid, tid): &(i32, i32)| {
            let schedstat = File::open(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
            Some(Thread { schedstat, seen: Scheduled::default() })
        };
        let threads = ids.iter().filter_map(open).collect();
        let hardware = HardwareReader::new(ids.iter().map(|(_, tid)| *tid));
        let requests = data.and_then(Device::of).and_then(Requests::of);
        Ok(EdgeReader { group, group_cpu: 0, threads, hardware, requests })
    }

    /// Which of the CPU's own counters are read.
    pub fn hardware(&self) -> Vec<Metric> {
        self.hardware.metrics()
    }

    /// Whether there is a device to read.
    pub fn has_device(&self) -> bool {
        self.requests.is_some()
    }

    pub fn read(&mut self) -> Edge {
        let mut sum = Edge::default();
        for thread in &mut self.threads {
            thread.look();
            sum.cpu += thread.seen.cpu;
            sum.run_queue_wait += thread.seen.run_queue_wait;
            sum.switches += thread.seen.switches;
        }
        if let Some(group) = &self.group {
            // A removed group has no counters; the last reading stays.
            self.group_cpu = group.read_total().unwrap_or(self.group_cpu);
            sum.cpu = self.group_cpu;
        }
        if let Some(requests) = &self.requests {
            requests.look(&mut sum);
        }
        sum.hardware = self.hardware.read();
        sum
    }
}

impl Thread {
    fn look(&mut self) {
        // A thread that has ended cannot be read.
        if let Some([cpu, run_queue_wait, switches]) = numbers(&self.schedstat) {
            self.seen = Scheduled { cpu, run_queue_wait, switches };
        }
    }
}

/// Fields of /sys/dev/block/*/stat (the kernel's Documentation/block/stat.rst).
const FIELDS: usize = 17;

impl Requests {
    /// Kernels before 5.5 have fewer fields and are not supported.
    fn of(device: Device) -> Option<Requests> {
        let (file, disk) = (device.statistics().ok()?, device.disk_statistics());
        let requests = Requests { device: file, disk: disk.transpose().ok()? };
        numbers::<FIELDS>(requests.flushing()).map(|_| requests)
    }

    /// The statistics that count flushes.
    fn flushing(&self) -> &File {
        self.disk.as_ref().unwrap_or(&self.device)
    }

    fn look(&self, edge: &mut Edge) {
        let Some(own) = numbers::<FIELDS>(&self.device) else { return };
        let disk = match &self.disk {
            Some(disk) => numbers::<FIELDS>(disk).unwrap_or(own),
            None => own,
        };
        edge.reads = own[0];
        edge.read_bytes = own[2] * SECTOR;
        edge.flushes = disk[15];
        edge.flush_time = disk[16] * 1_000;
    }
}

/// The first numbers in a small file; none if it has fewer.
fn numbers<const N: usize>(file: &File) -> Option<[u64; N]> {
    let mut bytes = [0; 256];
    let length = file.read_at(&mut bytes, 0).ok()?;
    let text = std::str::from_utf8(&bytes[..length]).ok()?;
    let mut words = text.split_ascii_whitespace();
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = words.next()?.parse().ok()?;
    }
    Some(numbers)
}

impl Edge {
    /// The difference from `earlier` to this.
    pub fn since(&self, earlier: &Edge) -> Edge {
        Edge {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            run_queue_wait: self.run_queue_wait.saturating_sub(earlier.run_queue_wait),
            switches: self.switches.saturating_sub(earlier.switches),
            reads: self.reads.saturating_sub(earlier.reads),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            flushes: self.flushes.saturating_sub(earlier.flushes),
            flush_time: self.flush_time.saturating_sub(earlier.flush_time),
            hardware: array::from_fn(|event| {
                self.hardware[event].saturating_sub(earlier.hardware[event])
            }),
        }
    }
}

impl std::ops::AddAssign for Edge {
    fn add_assign(&mut self, other: Self) {
        self.cpu += other.cpu;
        self.run_queue_wait += other.run_queue_wait;
        self.switches += other.switches;
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.flushes += other.flushes;
        self.flush_time += other.flush_time;
        for (sum, other) in self.hardware.iter_mut().zip(other.hardware) {
            *sum += other;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::child::Script;
    use crate::observer::Observer;

    #[test]
    fn a_busy_server_has_cpu_and_a_waiting_one_switches() {
        let mut busy = Script::new("echo go; while :; do :; done");
        busy.line();
        let mut reader = EdgeReader::new(Some(busy.pid()), None, None).unwrap();
        let before = reader.read();
        let deadline = Instant::now() + Duration::from_secs(100);
        while reader.read().since(&before).cpu < 50_000_000 {
            assert!(Instant::now() < deadline, "its CPU time is not counted");
        }

        let mut waiting = Script::new("while read go; do echo went; done");
        let mut reader = EdgeReader::new(Some(waiting.pid()), None, None).unwrap();
        let before = reader.read();
        for _ in 0..50 {
            // A line that is there before the read costs no switch.
            while !waiting.is_asleep() {
                std::thread::yield_now();
            }
            waiting.go();
            waiting.line();
        }
        let window = reader.read().since(&before);
        assert!(window.switches >= 50, "{window:?}: it waited for each line");
    }

    #[test]
    fn what_a_thread_did_stays_when_it_ends() {
        let mut script = Script::new("sh -c 'echo up; read go; exit'; sleep 60");
        script.line();
        let mut reader = EdgeReader::new(Some(script.pid()), None, None).unwrap();
        let before = reader.read();
        let child = descendants(script.pid() as i32).pop().unwrap().pid;
        script.go();
        while procfs::process::Process::new(child).is_ok_and(|child| child.is_alive()) {
            std::thread::yield_now();
        }
        let after = reader.read();
        assert!(after.cpu >= before.cpu && after.switches >= before.switches);
    }

    /// Microseconds of CPU of this thread per call.
    fn cpu_per_call<T>(calls: u32, mut call: impl FnMut() -> T) -> f64 {
        let cpu = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
        };
        let begun = cpu();
        (0..calls).for_each(|_| drop(std::hint::black_box(call())));
        (cpu() - begun) / f64::from(calls)
    }

    /// Of the cheapest of several batches, since time that a hypervisor takes counts as the
    /// thread's CPU.
    fn least_cpu_per_call<T>(batches: u32, calls: u32, mut call: impl FnMut() -> T) -> f64 {
        (0..batches).map(|_| cpu_per_call(calls, &mut call)).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn requests_of_the_device_are_seen() {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut reader = EdgeReader::new(None, None, Some(directory.path())).unwrap();
        if !reader.has_device() {
            // The filesystem lies on no block device.
            return;
        }
        let before = reader.read();
        let mut file = File::create(directory.path().join("file")).unwrap();
        std::io::Write::write_all(&mut file, &[7; 8192]).unwrap();
        file.sync_all().unwrap();
        assert_eq!(before.cpu, 0, "there is no server");
        // Not every device has a cache to flush.
        let after = reader.read();
        assert!(after.flushes >= before.flushes && after.read_bytes >= before.read_bytes);
    }

    /// The costs stated above, with room for a slow machine and an unoptimised build.
    #[test]
    fn readings_take_little_cpu() {
        let mut script = Script::new("for i in 1 2 3; do sleep 60 & done; echo up; wait");
        script.line();
        let data = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut reader = EdgeReader::new(Some(script.pid()), None, Some(data.path())).unwrap();
        let edge = least_cpu_per_call(20, 25, || reader.read());
        assert!(
            edge < 200.0,
            "{edge:.1} us for an edge of a slice, of which there are 200 a second"
        );
        let mut observer = Observer::new(Some(script.pid()), Some(data.path()), None);
        let all = least_cpu_per_call(10, 5, || observer.read());
        assert!(all < 5_000.0, "{all:.0} us each second is more than 0.5 % of a core");
    }

    /// Run alone: `cargo test -p rqps-observe -- --ignored --nocapture cost`.
    #[test]
    #[ignore = "measures this machine"]
    fn cost() {
        const READS: u32 = 20_000;
        let group = Group::create("cost");
        let mut script = Script::new("for i in 1 2 3; do sleep 60 & done; echo up; wait");
        if let Some(group) = &group {
            group.add(script.pid()).unwrap();
        }
        script.line();
        let per_read = |with: &str, group: Option<&Group>, data: Option<&Path>| {
            let mut reader = EdgeReader::new(Some(script.pid()), group, data).unwrap();
            let micros = cpu_per_call(READS, || reader.read());
            println!("{micros:.2} us for an edge of {} threads {with}", reader.threads.len());
        };
        per_read("and a group", group.as_ref(), None);
        per_read("alone", None, None);
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let data = Some(directory.path());
        per_read("and the device", None, data);
        let mut observer = Observer::new(Some(script.pid()), data, None);
        let micros = cpu_per_call(READS / 20, || observer.read());
        println!("{micros:.0} us for everything, of 4 processes");
        drop(script);
    }
}
