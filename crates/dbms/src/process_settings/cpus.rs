//! The CPUs of a contender's server, which it has from its start on: `process.cpus=0-1`.

use std::os::unix::process::CommandExt;
use std::process::Command;

use rqps_observe::{allowed_cpus, from_kernel_list, kernel_list};
use rustix::thread::{CpuSet, sched_setaffinity};

use super::proc::status;

/// The CPUs in a list; an error if rqps may not use one of them.
pub(super) fn parse(list: &str) -> Result<Vec<usize>, String> {
    let cpus = from_kernel_list(list).ok_or("write numbers of CPUs, such as 0-2,5")?;
    let allowed = allowed_cpus().map_err(|error| format!("cannot bind CPUs here: {error}"))?;
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => {
            let those = kernel_list(&allowed);
            Err(format!("rqps may not use CPU {cpu} on this machine, but {those}"))
        }
        None => Ok(cpus),
    }
}

pub(super) fn apply(cpus: &[usize], command: &mut Command) {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    // SAFETY: a system call between fork and exec, and nothing is allocated.
    unsafe { command.pre_exec(move || Ok(sched_setaffinity(None, &set)?)) };
}

pub(super) fn missing(cpus: &[usize], pid: u32) -> Option<String> {
    let (has, wanted) = (status(pid, "Cpus_allowed_list")?, kernel_list(cpus));
    (has != wanted).then(|| format!("it has the CPUs {has} after the start, and not {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::started;
    use super::*;

    #[test]
    fn a_server_has_its_cpus_and_it_is_seen_if_not() {
        let allowed = allowed_cpus().unwrap();
        let last = *allowed.last().unwrap();
        let (child, settings) = started(&format!("process.cpus={last}"));
        assert_eq!(status(child.pid(), "Cpus_allowed_list"), Some(last.to_string()));
        assert_eq!(settings.missing(child.pid()), None);
        let other = missing(&[last + 1], child.pid()).unwrap();
        assert_eq!(other, format!("it has the CPUs {last} after the start, and not {}", last + 1));
    }

    #[test]
    fn cpus_that_rqps_may_not_use_are_refused_with_those_that_it_may() {
        let allowed = allowed_cpus().unwrap();
        let beyond = allowed.last().unwrap() + 1;
        let error = parse(&format!("{}-{beyond}", allowed[0])).unwrap_err();
        let ends = format!("on this machine, but {}", kernel_list(&allowed));
        assert!(error.starts_with("rqps may not use CPU ") && error.ends_with(&ends), "{error}");
        assert_eq!(parse("all").unwrap_err(), "write numbers of CPUs, such as 0-2,5");
    }
}
