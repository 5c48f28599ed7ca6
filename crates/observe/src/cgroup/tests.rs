//! Tests with the groups of this machine; where it allows none, only that is tested.

use std::fs::File;
use std::process::Command;

use super::*;
use crate::child::{Script, burn};

/// A group with that controller, where the machine allows one.
fn group(name: &str, controller: Controller) -> Option<Group> {
    let group = Group::create(name).filter(|group| group.part(controller).is_some());
    if group.is_none() {
        eprintln!("no control group with {controller:?} here: not tested");
    }
    group
}

#[test]
fn a_group_counts_the_cpu_of_children_that_have_ended() {
    let Some(group) = group("cpu", Controller::CpuTime) else { return };
    let burn = burn(30);
    let mut script = Script::new(&format!("read go; {burn}; {burn}; echo done; read end"));
    group.add(script.pid()).unwrap();
    // Both are read while the shell waits for a line and nothing else is in the group.
    let await_sleep = |script: &Script| {
        while !script.is_asleep() {
            std::thread::yield_now();
        }
    };
    await_sleep(&script);
    let own_before = script.own_cpu();
    let mut cpu = group.cpu().unwrap();
    let before = cpu.read().unwrap();
    script.go();
    script.line();
    await_sleep(&script);
    let (user, system) = cpu.read().unwrap();
    let used = user + system - before.0 - before.1;
    let told = script.reaped_cpu() + script.own_cpu() - own_before;
    // The ticks of /proc are rounded.
    let difference = used as f64 / 1e3 - told as f64;
    assert!(used >= 600_000_000, "{used} ns");
    assert!((-40e3..100e3).contains(&difference), "{used} ns, /proc has {told} us");
    assert!(user > system / 10, "{user} user, {system} system");
}

#[test]
fn a_process_that_enters_before_exec_has_its_children_counted() {
    use std::os::unix::process::CommandExt;
    let Some(group) = group("enter", Controller::CpuTime) else { return };
    let open = |path: &PathBuf| fs::OpenOptions::new().write(true).open(path).unwrap();
    let entrances: Vec<File> = group.entrances().iter().map(open).collect();
    let mut command = Command::new("sh");
    command.args(["-c", "sh -c 'cat /proc/self/cgroup'"]);
    // SAFETY: writing to a file is safe between fork and exec.
    unsafe {
        command.pre_exec(move || {
            entrances.iter().try_for_each(|file| Ok(rustix::io::write(file, b"0").map(drop)?))
        });
    }
    let output = command.output().unwrap();
    let own = String::from_utf8(output.stdout).unwrap();
    let name = group.parts[0].path.file_name().unwrap().to_str().unwrap();
    assert!(own.contains(name), "{own}");
}

#[test]
fn a_memory_limit_has_files_read_from_the_device() {
    const FILE: u64 = 96 << 20;
    let Some(group) = group("memory", Controller::Memory) else { return };
    group.limit_memory(24 << 20).unwrap();
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = directory.path().join("file");
    // Written and read by other processes, so that the cache belongs to the group that reads.
    let path = path.to_str().unwrap();
    let status = Command::new("dd")
        .args(["if=/dev/urandom", &format!("of={path}"), "bs=1M", "count=96", "conv=fsync"])
        .stderr(std::process::Stdio::null())
        .status();
    assert!(status.unwrap().success());
    let file = File::open(path).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let read = format!("cat {path} > /dev/null; echo read");
    let mut script = Script::new(&format!("read go; {read}; read go; {read}; sleep 60"));
    group.add(script.pid()).unwrap();
    let mut seen = 0;
    for reading in ["first", "second"] {
        script.go();
        script.line();
        let io = Process::new(script.pid() as i32).unwrap().io().unwrap();
        let from_device = io.read_bytes - seen;
        seen = io.read_bytes;
        assert!(from_device > FILE * 9 / 10, "{reading}: {from_device} of {FILE} bytes");
    }
}

#[test]
fn a_cpu_limit_holds() {
    let Some(group) = group("quota", Controller::CpuQuota) else { return };
    group.limit_cpu(0.2).unwrap();
    let script = Script::new("while :; do :; done");
    group.add(script.pid()).unwrap();
    let statistics = group.part(Controller::CpuQuota).unwrap().path.join("cpu.stat");
    // How often the kernel has throttled the group. The group's share of the time does not tell:
    // CPU clocks may continue while a hypervisor runs other machines.
    let throttled = || -> u64 {
        let text = fs::read_to_string(&statistics).unwrap();
        let count = text.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        count.unwrap().parse().unwrap()
    };
    let deadline = Instant::now() + Duration::from_secs(100);
    while throttled() < 3 {
        assert!(Instant::now() < deadline, "nothing keeps it from using a whole CPU");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_throttled_device_is_read_slowly() {
    const FILE: u64 = 8 << 20;
    let Some(group) = group("io", Controller::Io) else { return };
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = directory.path().join("file");
    fs::write(&path, vec![7; FILE as usize]).unwrap();
    let file = File::open(&path).unwrap();
    rustix::fs::fsync(&file).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let limit = Throttle { read_bytes_per_second: Some(FILE), ..Throttle::default() };
    group.throttle_io(directory.path(), limit).unwrap();
    let mut script = Script::new(&format!("read go; cat {} > /dev/null; echo", path.display()));
    group.add(script.pid()).unwrap();
    let start = Instant::now();
    script.go();
    script.line();
    let took = start.elapsed();
    assert!(took > Duration::from_millis(700), "{took:?} for what may take a second");
}

/// A shell with one child, and the numbers of both.
fn family() -> (Script, Vec<i32>) {
    let mut script = Script::new("sleep 60 & echo up; read go; echo still here; sleep 60");
    script.line();
    let mut family: Vec<i32> =
        descendants(script.pid() as i32).into_iter().map(|process| process.pid).collect();
    family.sort();
    assert_eq!(family.len(), 2);
    (script, family)
}

fn inside(part: &Parent) -> Vec<i32> {
    let inside = fs::read_to_string(part.path.join(PROCESSES)).unwrap();
    let mut inside: Vec<i32> = inside.lines().map(|line| line.parse().unwrap()).collect();
    inside.sort();
    inside
}

#[test]
fn a_group_around_a_server_holds_all_of_it_and_only_counts() {
    let (script, family) = family();
    let Some(group) = Group::around(script.pid(), "around") else { return };
    let controllers: Vec<Controller> = group.parts.iter().map(|part| part.controller).collect();
    assert_eq!(controllers, [Controller::CpuTime]);
    assert_eq!(inside(&group.parts[0]), family);
    assert!(matches!(group.limit_cpu(1.0), Err(GroupError::NotAllowed("CPU"))));
}

#[test]
fn a_group_that_goes_leaves_what_is_in_it_running() {
    let Some(group) = group("left", Controller::CpuTime) else { return };
    let (mut script, family) = family();
    group.add_tree(script.pid()).unwrap();
    assert!(group.parts.iter().all(|part| inside(part) == family));
    let paths: Vec<PathBuf> = group.parts.iter().map(|part| part.path.clone()).collect();
    group.remove().unwrap();
    assert!(paths.iter().all(|path| !path.exists()), "{paths:?}");
    script.go();
    assert_eq!(script.line(), "still here\n");
}

#[test]
fn groups_of_the_dead_are_reaped_and_those_of_the_living_are_not() {
    let Some(group) = group("living", Controller::CpuTime) else { return };
    let own = &group.part(Controller::CpuTime).unwrap().path;
    let mut gone = Command::new("true").spawn().unwrap();
    let left = own.with_file_name(format!("{PREFIX}-{}-1-left", gone.id()));
    gone.wait().unwrap();
    fs::create_dir(&left).unwrap();
    Group::reap();
    assert!(!left.exists());
    assert!(own.exists());
}

#[test]
fn what_the_machine_does_not_allow_is_said() {
    let nothing = Group { parts: Vec::new() };
    let error = nothing.limit_memory(1 << 20).unwrap_err();
    assert_eq!(error.to_string(), "this machine does not let rqps limit memory by a control group");
    assert!(nothing.memory_version().is_err());
}

#[test]
fn version_2_has_its_own_files() {
    let directory = tempfile::tempdir().unwrap();
    for file in ["memory.swap.max", "io.max"] {
        fs::write(directory.path().join(file), "").unwrap();
    }
    let (path, home) = (directory.path().to_path_buf(), PathBuf::new());
    let part = |controller| Parent {
        controller,
        version: Version::Two,
        path: path.clone(),
        home: home.clone(),
    };
    let all = [Controller::CpuQuota, Controller::Memory, Controller::Io];
    let group = Group { parts: all.map(part).to_vec() };
    group.limit_memory(1 << 30).unwrap();
    assert_eq!(group.memory_version().unwrap(), GroupVersion::Two);
    group.limit_cpu(1.5).unwrap();
    let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(read("memory.max"), "1073741824");
    assert_eq!(read("memory.swap.max"), "0");
    assert_eq!(read("cpu.max"), "150000 100000");
}

/// A machine with version 1 may have version 2 mounted beside it, without controllers.
#[test]
fn version_2_counts_cpu_without_controllers() {
    let mounts = procfs::mounts().unwrap();
    let Some(mount) = mounts.iter().find(|mount| mount.fs_vfstype == "cgroup2") else { return };
    let path = Path::new(&mount.fs_file).join(format!("{PREFIX}-{}-two", Owner::this()));
    let home = PathBuf::from(&mount.fs_file);
    if fs::create_dir(&path).is_err() {
        return;
    }
    let part = |controller| Parent {
        controller,
        version: Version::Two,
        path: path.clone(),
        home: home.clone(),
    };
    let group = Group { parts: vec![part(Controller::CpuTime)] };
    let script = Script::new("while :; do :; done");
    group.add(script.pid()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut cpu = group.cpu().unwrap();
    while cpu.read().unwrap().0 < 20_000_000 {
        assert!(Instant::now() < deadline, "its CPU time is not counted");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(cpu.read_total().unwrap() >= 20_000_000);
    drop(script);
    group.remove().unwrap();
    assert!(!path.exists());
}
