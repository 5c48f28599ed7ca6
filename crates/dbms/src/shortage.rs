//! Which limit of the machine a failure hit. An error code alone does not say so: the kernel has
//! one for several causes, and words beside it tell which of them it was.

use std::path::Path;

use rustix::fs::{StatVfs, statvfs};
use rustix::process::{Resource, getrlimit};

/// With more MiB free than these, the disk is not full: single writes are smaller.
const FULL_MB: u64 = 256;
/// With a limit of at least so many open files, no server lacks them at its start.
const MANY_FILES: u64 = 1024;
/// Where shared memory of POSIX is.
const SHARED_MEMORY: &str = "/dev/shm";

/// The limit or disk of the machine that the words of an error or a log point to, and what to do.
/// `data` is on the disk that servers fill.
pub fn shortage(said: &str, data: &Path) -> Option<String> {
    let all: [fn(&str, &Path) -> Option<String>; 4] = [space, locked, processes, files];
    all.iter().find_map(|cause| cause(said, data))
}

/// A code of the kernel, and the C library's words for it.
type Code = (u32, &'static str);

const EAGAIN: Code = (11, "Resource temporarily unavailable");
const ENFILE: Code = (23, "Too many open files in system");
const EMFILE: Code = (24, "Too many open files");
const ENOSPC: Code = (28, "No space left on device");

/// The lines with a code, in small letters.
fn lines(said: &str, (number, words): Code) -> impl Iterator<Item = String> {
    // As Rust writes it. Other codes begin with the same digits.
    let number = format!("(os error {number})");
    let has_code = move |line: &&str| line.contains(words) || line.contains(&number);
    said.lines().filter(has_code).map(str::to_lowercase)
}

/// Whether a line of a log says that the disk or files have run out.
pub(crate) fn is_told(line: &str) -> bool {
    [EMFILE, ENOSPC].iter().any(|(_, words)| line.contains(words))
}

fn limit(resource: Resource) -> String {
    let limit = getrlimit(resource).current;
    limit.map_or("unlimited".to_string(), |limit| limit.to_string())
}

fn space_of(path: &Path) -> Option<StatVfs> {
    statvfs(path).ok()
}

fn free_mb(of: &StatVfs) -> u64 {
    (of.f_bavail * of.f_frsize) >> 20
}

fn space(said: &str, data: &Path) -> Option<String> {
    let on = data.ancestors().find(|place| place.exists()).unwrap_or(Path::new("/"));
    let of = space_of(on);
    let free = of.as_ref().map_or(0, free_mb);
    let full: Vec<String> = lines(said, ENOSPC).collect();
    // System V's limits, which Postgres hits at its start (semget(2), shmget(2)).
    let of_system_v =
        |words: &[&str]| words.iter().any(|word| full.iter().any(|it| it.contains(word)));
    if of_system_v(&["semaphore", "semget"]) {
        return Some(
            "the machine has no semaphores left: end servers, see 'ipcs -s', or raise kernel.sem"
                .to_string(),
        );
    }
    let is_posix = |line: &String| line.contains("/postgresql.") || line.contains(SHARED_MEMORY);
    if full.iter().any(|line| line.contains("shared memory") && is_posix(line)) {
        let free = space_of(Path::new(SHARED_MEMORY)).map_or(0, |of| free_mb(&of));
        return Some(format!(
            "shared memory is full: {SHARED_MEMORY} has {free} MiB free. Make it larger, in a container \
             with --shm-size"
        ));
    }
    if of_system_v(&["shared memory", "shmget"]) {
        return Some(
            "the machine has no segments of shared memory left: end servers, see 'ipcs -m', or raise \
             kernel.shmmni and kernel.shmall"
                .to_string(),
        );
    }
    // MySQL and SQLite say the same of a limit that a setting gives a table or a database.
    let or_limit = ["(1114, HY000)", "database or disk is full"].iter().any(|it| said.contains(it));
    if full.is_empty() && !(or_limit && free < FULL_MB) {
        return None;
    }
    let on = on.display();
    let make_room = "Make room, or set RQPS_HOME to another disk, then continue with --resume";
    Some(match of {
        Some(of) if of.f_files > 0 && of.f_favail == 0 => {
            format!(
                "a disk has no room for more files: that of '{on}' has no inodes free. {make_room}"
            )
        }
        _ => format!("a disk is full: that of '{on}' has {free} MiB free. {make_room}"),
    })
}

/// A file of a database that another process has locked is "temporarily unavailable", too.
fn locked(said: &str, _data: &Path) -> Option<String> {
    let is_held = |line: &String| line.contains("lock file");
    lines(said, EAGAIN).find(is_held).map(|_| {
        "another process uses the database: it holds the lock on this file. End that process, or use \
         another directory"
            .to_string()
    })
}

/// Calls that make processes and threads, and what C++ throws where it can make no thread.
const MAKES: [&str; 5] = ["fork", "thread", "process", "clone", "what():"];

fn processes(said: &str, _data: &Path) -> Option<String> {
    let lacks = |line: String| MAKES.iter().any(|word| line.contains(word));
    let most = limit(Resource::Nproc);
    lines(said, EAGAIN).any(lacks).then(|| {
        format!(
            "too many processes: 'ulimit -u' is {most}, and a container may have a lower limit. Raise \
             the limit"
        )
    })
}

fn files(said: &str, _data: &Path) -> Option<String> {
    let says = |any: &[&str]| any.iter().any(|words| said.contains(words));
    if lines(said, ENFILE).next().is_some() {
        let what = "the machine has too many open files: raise fs.file-max, or end programs";
        return Some(what.to_string());
    }
    let all: Vec<String> = lines(said, EMFILE).collect();
    // inotify(7) has a limit of its own for each user.
    if all.iter().any(|line| line.contains("inotify")) {
        let what =
            "too many inotify instances: raise fs.inotify.max_user_instances, or end programs";
        return Some(what.to_string());
    }
    let has_few = || getrlimit(Resource::Nofile).current.is_some_and(|limit| limit < MANY_FILES);
    // InnoDB says this of a file that it cannot open for whatever reason.
    let or_files = says(&["can't be opened in read-write mode"]) && has_few();
    if !all.is_empty() || or_files || says(&["file descriptors", "open_files_limit"]) {
        let most = limit(Resource::Nofile);
        return Some(format!("too many open files: 'ulimit -n' is {most}. Raise the limit"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_out_is_named_with_its_limit() {
        for (said, named) in [
            ("FATAL: could not write: No space left on device", "a disk is full: that of '/'"),
            (
                "could not fork new process for connection: Resource temporarily unavailable",
                "'ulimit -u'",
            ),
            (
                "cannot start its process: Resource temporarily unavailable (os error 11)",
                "'ulimit -u'",
            ),
            (
                "terminate called after throwing an instance of 'std::system_error'\n  what():  \
                 Resource temporarily unavailable",
                "'ulimit -u'",
            ),
            ("insufficient file descriptors available to start", "'ulimit -n'"),
            ("cannot open 'x': Too many open files (os error 24)", "'ulimit -n'"),
        ] {
            let told = shortage(said, Path::new("/")).unwrap();
            assert!(told.contains(named), "{said}: {told}");
        }
        assert_eq!(shortage("password authentication failed", Path::new("/")), None);
        // A limit of the database's own: `max_page_count` of SQLite. (`/proc` has no room at all.)
        let full = "database or disk is full (13)";
        assert!(shortage(full, Path::new("/proc")).is_some());
        assert_eq!(shortage(full, &std::env::temp_dir()), None);
    }

    #[test]
    fn a_code_of_several_causes_is_taken_for_one_only_by_what_stands_beside_it() {
        for (said, named) in [
            (
                "it does not open the database: IO error: While lock file: /d/LOCK: Resource \
                 temporarily unavailable",
                "another process uses the database",
            ),
            ("could not create semaphores: No space left on device", "kernel.sem"),
            ("could not create shared memory segment: No space left on device", "kernel.shmmni"),
            (
                "could not resize shared memory segment \"/PostgreSQL.17\" to 8 bytes: No space left \
                 on device",
                "/dev/shm",
            ),
            ("accept: Too many open files in system (os error 23)", "fs.file-max"),
            ("inotify_init: Too many open files (os error 24)", "fs.inotify.max_user_instances"),
        ] {
            let told = shortage(said, Path::new("/")).unwrap();
            assert!(told.contains(named), "{said}: {told}");
        }
        for said in [
            "cannot connect: Connection refused (os error 111)",
            "Connection timed out (os error 110)",
            "io_setup() failed: Resource temporarily unavailable",
            "could not lock memory: Resource temporarily unavailable (os error 11)",
        ] {
            assert_eq!(shortage(said, Path::new("/")), None, "{said}");
        }
    }
}
