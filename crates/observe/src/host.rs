//! Counters of the whole machine and of one of its block devices.

use std::path::Path;

use procfs::{
    CpuPressure, Current, CurrentSI, IoPressure, KernelStats, MemoryPressure, PressureRecord,
};

use crate::metric::{Metric, Reading};

/// /proc/stat counts CPU time in ticks.
pub(crate) fn ticks_to_micros(ticks: u64) -> u64 {
    ticks * 1_000_000 / procfs::ticks_per_second()
}

/// CPU, context switches and pressure of the host.
pub(crate) fn read_host(reading: &mut Reading) {
    let Ok(stat) = KernelStats::current() else { return };
    let cpu = &stat.total;
    let busy = cpu.user + cpu.nice + cpu.system + cpu.irq.unwrap_or(0) + cpu.softirq.unwrap_or(0);
    reading.set(Metric::HostCpuBusy, ticks_to_micros(busy));
    if let Some(steal) = cpu.steal {
        reading.set(Metric::HostCpuSteal, ticks_to_micros(steal));
    }
    reading.set(Metric::HostSwitches, stat.ctxt);
    let pressures: [(Metric, Option<PressureRecord>); 3] = [
        (Metric::PressureCpu, CpuPressure::current().ok().map(|pressure| pressure.some)),
        (Metric::PressureIo, IoPressure::current().ok().map(|pressure| pressure.some)),
        (Metric::PressureMemory, MemoryPressure::current().ok().map(|pressure| pressure.some)),
    ];
    for (metric, pressure) in pressures {
        if let Some(pressure) = pressure {
            reading.set(metric, pressure.total);
        }
    }
}

/// A block device, by its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    major: i32,
    minor: i32,
}

/// /proc/diskstats counts in sectors of this size, whatever the device's own.
pub(crate) const SECTOR: u64 = 512;

impl Device {
    /// The device that a file lies on; some filesystems have none.
    pub(crate) fn of(path: &Path) -> Option<Device> {
        let number = rustix::fs::stat(path).ok()?.st_dev;
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let device = Device { major: major as i32, minor: minor as i32 };
        device.stat().map(|_| device)
    }

    /// The file of its counters: one line, where /proc/diskstats has all devices.
    pub(crate) fn statistics(self) -> std::io::Result<std::fs::File> {
        std::fs::File::open(format!("/sys/dev/block/{}:{}/stat", self.major, self.minor))
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
        if let Some(millis) = disk.time_flushing {
            reading.set(Metric::DeviceFlushTime, millis * 1_000);
        }
    }
}
