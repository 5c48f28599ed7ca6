//! Huge pages of a contender's server: none that the kernel would give it unasked
//! (`process.thp=off`), and its cache in those that are reserved (`process.hugepages=on`).

use std::os::unix::process::CommandExt;
use std::process::Command;

use procfs::{Current, Meminfo};
use rqps_plan::Contender;
use rustix::thread::disable_transparent_huge_pages;

use super::proc::status;
use crate::config::cache_in_force;
use crate::descriptor::Descriptor;

/// prctl(2), PR_SET_THP_DISABLE: processes that the server starts have it, too.
pub(super) fn without_transparent_ones(command: &mut Command) {
    // SAFETY: a system call between fork and exec, and nothing is allocated.
    unsafe { command.pre_exec(|| Ok(disable_transparent_huge_pages(true)?)) };
}

/// What shows that it can have transparent huge pages.
pub(super) fn has_transparent_ones(pid: u32) -> Option<String> {
    match status(pid, "THP_enabled").as_deref() {
        Some("0") => None,
        Some(_) => Some("it can have transparent huge pages after the start".to_string()),
        None => Some("this kernel does not tell whether it has transparent huge pages".to_string()),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HugePages {
    /// Bytes of the contender's cache, as far as known.
    cache: u64,
}

impl HugePages {
    pub(super) fn of(contender: &Contender) -> Result<HugePages, String> {
        let described: &Descriptor = contender.into();
        let (name, _) = described
            .huge_pages
            .ok_or_else(|| format!("{} has no setting for huge pages", contender.dbms))?;
        let is_it = |(set, _): &&(String, String)| set.replace('-', "_").eq_ignore_ascii_case(name);
        match contender.settings.iter().find(is_it) {
            Some((set, value)) => Err(format!("{set}={value} contradicts it. Drop one of them")),
            None => Ok(HugePages { cache: cache_in_force(contender).unwrap_or(0) }),
        }
    }

    /// An error if the machine has too few now: another server may have taken them.
    pub(super) fn check_free(&self) -> Result<(), String> {
        let pages = || {
            let found = Meminfo::current().ok()?;
            let reserved = found.hugepages_rsvd.unwrap_or(0);
            let free = found.hugepages_free?.saturating_sub(reserved);
            Some((found.hugepages_total?, free, found.hugepagesize?))
        };
        let (total, free, size) = pages().ok_or("this kernel has no huge pages")?;
        self.check(total, free, size)
    }

    fn check(&self, total: u64, free: u64, size: u64) -> Result<(), String> {
        let cache = self.cache.div_ceil(size).max(1);
        if free >= cache {
            return Ok(());
        }
        Err(format!(
            "{free} huge pages of {} kB are free, but its cache alone takes {cache}, and each server that \
             runs beside it takes its own. For one cache: sysctl -w vm.nr_hugepages={}, and some more \
             for the other memory of the server",
            size >> 10,
            total + cache - free
        ))
    }
}

/// What shows that it has none.
pub(super) fn has_none(pid: u32) -> Option<String> {
    let kilobytes = status(pid, "HugetlbPages");
    let has = kilobytes.as_deref().and_then(|value| value.split(' ').next()?.parse().ok());
    match has {
        Some(1u64..) => None,
        _ => Some(
            "it has no huge pages after the start: its log may say why. Its user may need a higher \
             'ulimit -l', and a DBMS with System V memory its group in vm.hugetlb_shm_group"
                .to_string(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::started;
    use super::*;

    #[test]
    fn a_server_has_no_transparent_huge_pages_and_it_is_seen_if_it_could() {
        let (child, settings) = started("process.thp=off");
        assert_eq!(settings.missing(child.pid()), None);
        let (other, _) = started("process.env.A=1");
        let told = settings.missing(other.pid()).unwrap();
        assert_eq!(told, "it can have transparent huge pages after the start");
    }

    #[test]
    fn a_server_without_huge_pages_is_found_out() {
        let (child, _) = started("process.env.A=1");
        assert!(has_none(child.pid()).unwrap().starts_with("it has no huge pages after the start"));
    }

    #[test]
    fn too_few_huge_pages_are_told_with_the_command_that_makes_more() {
        let contender = "postgres@17.6?shared_buffers=128MB&process.hugepages=on".parse().unwrap();
        let pages = HugePages::of(&contender).unwrap();
        assert_eq!(pages.check(100, 64, 2 << 20), Ok(()));
        let error = pages.check(100, 3, 2 << 20).unwrap_err();
        assert!(
            error.starts_with("3 huge pages of 2048 kB are free, but its cache alone takes 64, "),
            "{error}"
        );
        assert!(error.contains("sysctl -w vm.nr_hugepages=161, "), "{error}");
    }
}
