//! What the documentation tells people to type works, in the order in which a page has it.

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use common::Rqps;
use common::pages::{Page, pages, root};

/// A comparison may find a regression: its exit code is a verdict, and no failure of the page.
const VERDICTS_ARE_FINE: &str = r#"
    rqps() { command rqps "$@" || [ "$? $1" = "1 compare" ]; }
"#;

/// Runs the commands of a page in one working directory.
fn run(page: &Page, rqps: &Rqps) {
    let programs = rqps.path("programs");
    fs::create_dir(&programs).unwrap();
    symlink(env!("CARGO_BIN_EXE_rqps"), programs.join("rqps")).unwrap();
    let path = std::env::var("PATH").unwrap();
    for block in page.blocks() {
        if let Some(file) = block.file() {
            fs::write(rqps.work().join(file), &block.text).unwrap();
        }
        if !block.is(&["sh"]) {
            continue;
        }
        let script = format!("{VERDICTS_ARE_FINE}\n{}", block.text);
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &script])
            .current_dir(rqps.work())
            .env("RQPS_HOME", rqps.home())
            .env("PATH", format!("{}:{path}", programs.display()))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {}\n{told}", block.place, output.status);
    }
}

/// Names of the files in the directories of runs.
fn files_below(folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => files_below(&entry.path(), names),
            false => names.push(entry.file_name().into_string().unwrap()),
        }
    }
}

#[test]
fn every_command_does_what_its_page_says_and_every_file_it_leaves_is_described() {
    let described = fs::read_to_string(root().join("docs/files.md")).unwrap();
    let mut ran = Vec::new();
    for page in pages() {
        if !page.blocks().iter().any(|block| block.is(&["sh"])) {
            continue;
        }
        let rqps = Rqps::new();
        run(&page, &rqps);
        rqps.assert_no_server_is_left();
        let mut files = Vec::new();
        files_below(&rqps.work().join("out"), &mut files);
        for file in files {
            // Logs are called after what they are of.
            let name = file.rsplit_once('.').filter(|(_, kind)| ["log", "hlog"].contains(kind));
            let name = name.map_or(file.clone(), |(_, kind)| format!("*.{kind}"));
            assert!(described.contains(&format!("`{name}`")), "docs/files.md lacks {name}");
        }
        ran.push(page.name);
    }
    assert!(ran.contains(&"docs/tutorial.md".to_string()), "{ran:?}");
}

#[test]
fn every_reproduction_is_a_plan_that_can_be_run() {
    let rqps = Rqps::new();
    let mut plans = 0;
    for entry in fs::read_dir(root().join("reproductions")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let shown = rqps.run(&format!("plan {}", path.display())).ok().stdout;
            assert!(shown.contains("in all"), "{}: {shown}", path.display());
            plans += 1;
        }
    }
    assert!(plans > 10, "{plans}");
}
