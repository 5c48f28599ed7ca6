//! Checkouts that the tests make with git.

use std::fs;

use rqps_system::Cancelled;
use tempfile::TempDir;

use super::*;

fn go_on(_: Progress) -> Result<(), Cancelled> {
    Ok(())
}

/// Runs git in a folder, with nothing of this machine's configuration.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.envs(ENVIRONMENT).arg("-C").arg(folder);
    command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

fn commit(folder: &Path, file: &str, text: &str) -> String {
    fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
    fs::write(folder.join(file), text).unwrap();
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "--quiet", "-m", &format!("{file} is {text}")]);
    git(folder, &["rev-parse", "HEAD"])
}

fn repository() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet", "--initial-branch=main"]);
    commit(folder.path(), "a.c", "1");
    git(folder.path(), &["tag", "v1"]);
    folder
}

fn open(folder: &Path) -> Result<Checkout, SourceError> {
    Checkout::open(folder, &mut go_on)
}

#[test]
fn commits_between_two_follow_first_parents() {
    let folder = repository();
    let path = folder.path();
    commit(path, "doc/x.txt", "2");
    git(path, &["checkout", "--quiet", "-b", "side", "v1"]);
    let side = commit(path, "b.c", "3");
    git(path, &["checkout", "--quiet", "main"]);
    git(path, &["merge", "--quiet", "--no-ff", "-m", "merge of side", "side"]);
    let checkout = open(path).unwrap();
    let [first, last] =
        ["v1", "HEAD"].map(|revision| checkout.commit(revision, &mut go_on).unwrap());
    let quiet = ["doc/".to_string()];
    let all = checkout.between(&first, &last, &quiet, &mut go_on).unwrap();
    let told: Vec<(&str, bool)> = all.iter().map(|it| (it.subject.as_str(), it.is_quiet)).collect();
    assert_eq!(told, [("doc/x.txt is 2", true), ("merge of side", false)]);
    assert_eq!(all[1].parents[1], side);
    let side = checkout.commit("side", &mut go_on).unwrap();
    let base = checkout.merge_base(&side, &all[0], &mut go_on).unwrap().unwrap();
    assert_eq!(base, first);
}

#[test]
fn the_files_are_those_of_the_commit_and_the_checkout_stays_as_it_is() {
    let folder = repository();
    let path = folder.path();
    commit(path, "a.c", "2");
    fs::write(path.join("a.c"), "changed by the user").unwrap();
    fs::write(path.join("new"), "not added").unwrap();
    let before = git(path, &["status", "--porcelain"]);
    let index = fs::metadata(path.join(".git/index")).unwrap().modified().unwrap();
    let checkout = open(path).unwrap();
    let into = tempfile::tempdir().unwrap();
    let first = checkout.commit("v1", &mut go_on).unwrap();
    let archives = checkout.archive(&first, into.path(), &mut go_on).unwrap();
    assert_eq!(archives.len(), 1);
    let bytes = fs::read(into.path().join("tree-0.tar")).unwrap();
    let mut archive = tar::Archive::new(bytes.as_slice());
    let names = archive.entries().unwrap().map(|one| one.unwrap().path().unwrap().into_owned());
    assert_eq!(names.collect::<Vec<_>>(), [PathBuf::from("a.c")]);
    assert_eq!(git(path, &["status", "--porcelain"]), before);
    assert_eq!(fs::metadata(path.join(".git/index")).unwrap().modified().unwrap(), index);
    assert!(!path.join(".git/worktrees").exists());
}

#[test]
fn what_is_no_complete_checkout_is_told_with_what_to_do() {
    let folder = repository();
    let error = |folder: &Path| open(folder).unwrap_err().to_string();
    let empty = tempfile::tempdir().unwrap();
    assert!(error(empty.path()).contains("' is not a checkout of git: not a git repository"));
    assert!(error(&empty.path().join("x")).contains("there is no such folder"));
    commit(folder.path(), "a.c", "2");
    let url = format!("file://{}", folder.path().display());
    let shallow = empty.path().join("shallow");
    let words = ["clone", "--quiet", "--depth", "1", &url, shallow.to_str().unwrap()];
    git(empty.path(), &words);
    assert!(error(&shallow).contains("fetch --unshallow --tags"));
    let checkout = open(folder.path()).unwrap();
    let error = |revision: &str| checkout.commit(revision, &mut go_on).unwrap_err().to_string();
    assert!(error("v2").contains("has no commit 'v2': did you mean 'v1'?"), "{}", error("v2"));
    for revision in ["", "--help", "v1:a.c", "v1^{tree}"] {
        assert!(error(revision).contains(&format!("has no commit '{revision}'")), "{revision}");
    }
}

#[test]
fn submodules_are_part_of_the_files_or_are_missed() {
    let (inner, outer) = (repository(), repository());
    let url = inner.path().to_str().unwrap();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib/x"];
    git(outer.path(), &add);
    commit(outer.path(), "b.c", "1");
    let checkout = open(outer.path()).unwrap();
    let last = checkout.commit("HEAD", &mut go_on).unwrap();
    let into = tempfile::tempdir().unwrap();
    let archives = checkout.archive(&last, into.path(), &mut go_on).unwrap();
    assert_eq!(archives[1].below, Path::new("lib/x"));
    fs::remove_dir_all(outer.path().join("lib/x")).unwrap();
    let into = tempfile::tempdir().unwrap();
    let error = checkout.archive(&last, into.path(), &mut go_on).err().unwrap().to_string();
    assert!(error.starts_with("submodule 'lib/x' has no commit "), "{error}");
}

/// What a repository's own configuration would have git run.
#[test]
fn nothing_of_the_repository_is_run() {
    let folder = repository();
    let script = folder.path().join("script");
    let ran = folder.path().join("ran");
    fs::write(&script, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    Command::new("chmod").arg("755").arg(&script).status().unwrap();
    for name in ["core.fsmonitor", "core.pager", "diff.external", "core.sshCommand"] {
        git(folder.path(), &["config", name, script.to_str().unwrap()]);
    }
    let checkout = open(folder.path()).unwrap();
    let last = checkout.commit("HEAD", &mut go_on).unwrap();
    checkout.between(&last, &last, &["doc/".to_string()], &mut go_on).unwrap();
    let into = tempfile::tempdir().unwrap();
    checkout.archive(&last, into.path(), &mut go_on).unwrap();
    assert!(!ran.exists());
}

/// Sources of a commit are built by what is in them.
#[test]
fn the_steps_of_a_commit_are_those_of_its_files() {
    use crate::source::{BuildOptions, commit_steps};
    use rqps_plan::Dbms;

    let folder = repository();
    let checkout = open(folder.path()).unwrap();
    let steps = |dbms: Dbms| {
        let head = checkout.commit("HEAD", &mut go_on).unwrap();
        commit_steps(dbms, (&checkout, &head), &BuildOptions::default(), &mut go_on)
    };
    let error = steps(Dbms::Postgres).unwrap_err().to_string();
    assert!(error.contains("configure"), "{error}");
    commit(folder.path(), "meson.build", "project('postgresql',\n  version: '19devel',\n)");
    let by_meson = steps(Dbms::Postgres).unwrap();
    assert_eq!(by_meson.version, "19devel");
    let [(_, configure), (_, build), _] = &by_meson.steps;
    assert!(configure[0].contains("meson setup"), "{configure:?}");
    assert!(build[0].starts_with("ninja"), "{build:?}");
    commit(folder.path(), "configure", "PACKAGE_VERSION='19devel'");
    let [(_, configure), ..] = steps(Dbms::Postgres).unwrap().steps;
    assert_eq!(configure.len(), 1, "without remarks: {configure:?}");
    assert!(configure[0].starts_with("\"$SRC/configure\""), "{configure:?}");
    let error = steps(Dbms::Mysql).unwrap_err().to_string();
    assert!(error.contains("MYSQL_VERSION"), "{error}");
    let version = |major: u32, minor: u32| {
        format!("MYSQL_VERSION_MAJOR={major}\nMYSQL_VERSION_MINOR={minor}\nMYSQL_VERSION_PATCH=1\n")
    };
    commit(folder.path(), "CMakeLists.txt", "");
    for (number, has_boost) in [((8, 0), true), ((8, 4), false)] {
        commit(folder.path(), "MYSQL_VERSION", &version(number.0, number.1));
        let [(_, configure), ..] = steps(Dbms::Mysql).unwrap().steps;
        let line = configure.join(" ");
        assert_eq!(line.contains("-DWITH_BOOST"), has_boost, "{line}");
    }
}
