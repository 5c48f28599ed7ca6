//! Counters of the whole machine and of one of its block devices.

use std::fs::File;
use std::io;
use std::path::Path;

use procfs::{
    CpuPressure, Current, CurrentSI, IoPressure, KernelStats, MemoryPressure, PressureRecord,
};

use crate::disk::disk_number;
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
    own: Number,
    /// The disk that it is a partition of, since the kernel counts flushes of whole disks only
    /// (Documentation/admin-guide/iostats.rst).
    disk: Number,
}

/// Major and minor.
type Number = (i32, i32);

/// /proc/diskstats counts in sectors of this size, independent of the device's own.
pub(crate) const SECTOR: u64 = 512;

impl Device {
    /// The device that a file is on; some filesystems have none.
    pub(crate) fn of(path: &Path) -> Option<Device> {
        let number = rustix::fs::stat(path).ok()?.st_dev;
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let own = (major as i32, minor as i32);
        procfs::diskstats().ok()?.into_iter().find(|disk| (disk.major, disk.minor) == own)?;
        Some(Device { own, disk: disk_number(path).unwrap_or(own) })
    }

    /// The file with its counters in one line; /proc/diskstats has all devices.
    pub(crate) fn statistics(self) -> io::Result<File> {
        statistics(self.own)
    }

    /// The same for its disk, if it is a partition.
    pub(crate) fn disk_statistics(self) -> Option<io::Result<File>> {
        (self.disk != self.own).then(|| statistics(self.disk))
    }

    pub(crate) fn read(self, reading: &mut Reading) {
        let all = procfs::diskstats().unwrap_or_default();
        let find = |number| all.iter().find(|disk| (disk.major, disk.minor) == number);
        let (Some(own), Some(disk)) = (find(self.own), find(self.disk)) else { return };
        reading.set(Metric::DeviceReads, own.reads);
        reading.set(Metric::DeviceReadBytes, own.sectors_read * SECTOR);
        reading.set(Metric::DeviceWrites, own.writes);
        reading.set(Metric::DeviceWriteBytes, own.sectors_written * SECTOR);
        if let Some(flushes) = disk.flushes {
            reading.set(Metric::DeviceFlushes, flushes);
        }
        if let Some(millis) = disk.time_flushing {
            reading.set(Metric::DeviceFlushTime, millis * 1_000);
        }
    }
}

fn statistics((major, minor): Number) -> io::Result<File> {
    File::open(format!("/sys/dev/block/{major}:{minor}/stat"))
}
