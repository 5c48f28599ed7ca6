//! Values that are relative to the machine.

use std::thread::available_parallelism;

use rqps_plan::Dbms;

use crate::registry::descriptor;

/// Memory of the machine in bytes, or the limit of rqps and its servers, as in a container.
pub fn memory() -> u64 {
    let info = rustix::system::sysinfo();
    let machine = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit.max(1)));
    rqps_observe::memory_limit().map_or(machine, |limit| limit.min(machine))
}

/// Replaces `25%` by that share of the machine's memory in megabytes, and `50%cpus` by that share
/// of its CPUs, at least one; other values stay.
pub(super) fn resolve(dbms: Dbms, value: &str) -> String {
    let cpus = available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    on(dbms, value, memory(), cpus)
}

fn on(dbms: Dbms, value: &str, memory: u64, cpus: u64) -> String {
    let share = |text: &str| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        text.parse::<f64>().ok().filter(|_| is_number).map(|percent| percent / 100.0)
    };
    if let Some(share) = value.strip_suffix("%cpus").and_then(share) {
        return ((cpus as f64 * share).round() as u64).max(1).to_string();
    }
    match value.strip_suffix('%').and_then(share) {
        Some(share) => {
            let megabytes = (memory as f64 * share) as u64 >> 20;
            format!("{megabytes}{}", descriptor(dbms, None).megabytes)
        }
        None => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_of_the_memory() {
        let of = |dbms, value: &str| on(dbms, value, 16 << 30, 8);
        assert_eq!(of(Dbms::Postgres, "50%"), "8192MB");
        assert_eq!(of(Dbms::Mariadb, "50%"), "8192M");
        assert_eq!(of(Dbms::Postgres, "1.5%"), "245MB");
    }

    #[test]
    fn percentages_of_cpus_are_at_least_one_cpu() {
        let of = |value: &str, cpus| on(Dbms::Postgres, value, 16 << 30, cpus);
        assert_eq!([of("50%cpus", 8), of("38%cpus", 8), of("50%cpus", 1)], ["4", "3", "1"]);
    }

    #[test]
    fn other_values_stay() {
        for value in ["%m [%p] ", "%", "inf%", "4G", "on"] {
            assert_eq!(on(Dbms::Postgres, value, 16 << 30, 8), value);
        }
    }
}
