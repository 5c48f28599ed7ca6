//! What it costs to read the clock, which rqps does for each operation.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::Finding;
use crate::kernel_cost::fastest;

/// The kernel's Documentation: ABI/testing/sysfs-devices-clocksource.
const SOURCES: &str = "sys/devices/system/clocksource/clocksource0";

/// A clock that is read without a system call (vdso(7)) takes 20 to 60 ns.
const SLOW: Duration = Duration::from_nanos(100);

/// Readings for each operation: one in a slice, two in a single run.
const READINGS: (u32, u32) = (1, 2);

pub(super) fn finding() -> Finding {
    let time = fastest(|| black_box(clock_gettime(ClockId::Monotonic)));
    let word = |file: &str| fs::read_to_string(Path::new("/").join(SOURCES).join(file));
    let source = word("current_clocksource").map_or("unknown".to_string(), |it| it.trim().into());
    told(time, &source, &word("available_clocksource").unwrap_or_default())
}

fn told(time: Duration, source: &str, available: &str) -> Finding {
    let nanos = time.as_nanos();
    let advice = match available.split_whitespace().any(|one| one == "tsc") && source != "tsc" {
        true => format!("as root: echo tsc > /{SOURCES}/current_clocksource"),
        false => "choose a machine whose clock source is tsc, kvm-clock or arch_sys_counter".into(),
    };
    let warning = || {
        let (slice, single) = READINGS;
        format!(
            "the clock source is slow: its readings add {} ns to each operation in slices and {} ns \
             in single runs; {advice}",
            nanos * u128::from(slice),
            nanos * u128::from(single)
        )
    };
    Finding {
        subject: "reading the clock".to_string(),
        value: format!("{nanos} ns ({source})"),
        warning: (time > SLOW).then(warning),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_clock_source_is_named_with_its_cost_per_operation_and_a_better_one() {
        let fast = told(Duration::from_nanos(25), "tsc", "tsc hpet acpi_pm");
        assert_eq!((fast.value.as_str(), fast.warning), ("25 ns (tsc)", None));
        let slow = told(Duration::from_nanos(600), "acpi_pm", "tsc hpet acpi_pm");
        let warning = slow.warning.unwrap();
        assert_eq!(slow.value, "600 ns (acpi_pm)");
        assert!(warning.contains("600 ns to each operation in slices"), "{warning}");
        assert!(warning.contains("1200 ns in single runs; as root: echo tsc >"), "{warning}");
        let only = told(Duration::from_nanos(600), "hpet", "hpet").warning.unwrap();
        assert!(only.contains("choose a machine"), "{only}");
    }

    #[test]
    fn the_clock_of_this_machine_is_measured() {
        let found = finding();
        assert!(found.value.contains(" ns ("), "{found:?}");
    }
}
