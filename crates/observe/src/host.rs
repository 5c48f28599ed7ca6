//! Counters of the whole machine and of one of its block devices.

use std::path::Path;

use procfs::{CurrentSI, KernelStats};

use crate::metric::{Metric, Reading};

/// /proc/stat counts CPU time in ticks.
pub(crate) fn ticks_to_micros(ticks: u64) -> u64 {
    ticks * 1_000_000 / procfs::ticks_per_second()
}

/// CPU and context switches of the host.
pub(crate) fn read_host(reading: &mut Reading) {
    let Ok(stat) = KernelStats::current() else { return };
    let cpu = &stat.total;
    let busy = cpu.user + cpu.nice + cpu.system + cpu.irq.unwrap_or(0) + cpu.softirq.unwrap_or(0);
    reading.set(Metric::HostCpuBusy, ticks_to_micros(busy));
    if let Some(steal) = cpu.steal {
        reading.set(Metric::HostCpuSteal, ticks_to_micros(steal));
    }
    reading.set(Metric::HostSwitches, stat.ctxt);
}

/// A block device, by its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    major: i32,
    minor: i32,
}

/// /proc/diskstats counts in sectors of this size, whatever the device's own.
const SECTOR: u64 = 512;

impl Device {
    /// The device that a file lies on; some filesystems have none.
    pub(crate) fn of(path: &Path) -> Option<Device> {
        let number = rustix::fs::stat(path).ok()?.st_dev;
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let device = Device { major: major as i32, minor: minor as i32 };
        device.stat().map(|_| device)
    }

    fn stat(self) -> Option<procfs::DiskStat> {
        let all = procfs::diskstats().ok()?;
        all.into_iter().find(|disk| (disk.major, disk.minor) == (self.major, self.minor))
    }

    pub(crate) fn read(self, reading: &mut Reading) {
        let Some(disk) = self.stat() else { return };
        reading.set(Metric::DeviceReads, disk.reads);
        reading.set(Metric::DeviceReadBytes, disk.sectors_read * SECTOR);
        reading.set(Metric::DeviceWrites, disk.writes);
        reading.set(Metric::DeviceWriteBytes, disk.sectors_written * SECTOR);
        if let Some(flushes) = disk.flushes {
            reading.set(Metric::DeviceFlushes, flushes);
        }
    }
}
