//! The choices of a reader in the pages.

use std::collections::BTreeSet;
use std::fs;

use rqps_report::{Entry, Found, index_html};
use rqps_store::{Run, Second, WorkRecord};
use serde_json::{Value, json};

use crate::comparison::comparison;
use crate::made::html;
use crate::page::{DARK, LIGHT, NARROW, all_used, chromium, narrow, rows, used};
use crate::sample::{self, run};
use crate::{HOSTILE, THREE, few, fifty, suite, whole_runs};

#[test]
fn releases_and_rounds_are_drawn() {
    let Some(seen) = used(&html(&suite::released()), "", LIGHT) else { return };
    assert_eq!((&seen["histories"], &seen["ribbons"]), (&2.into(), &2.into()));
    // Each release is 2 % slower than the one before it; in rounds the oldest has none before it.
    let changes: Vec<&str> =
        seen["changes"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
    assert_eq!(changes.len(), 6, "{changes:?}");
    for (release, before) in [("16.10", "9.6.24"), ("17.6", "16.10"), ("18.0", "17.6")] {
        let is_it = |change: &&&str| {
            change.contains(&format!("({release}):"))
                && change.contains(&format!("from {before}, "))
        };
        assert_eq!(changes.iter().filter(is_it).count(), 2, "{changes:?}");
    }
    // Rates and CPU of both tests, and the longest times and the percentiles of the one that was
    // run whole.
    assert_eq!(seen["canvases"], 6);
    assert_eq!(seen["singly"], json!([false, true]), "slices have no seconds");
    assert_eq!(seen["lanes"], json!(["checkpoint", "stall"]), "of whole runs only");
}

#[test]
fn what_all_tests_have_in_common_can_be_left_out() {
    let Some(seen) = used(&html(&comparison(&["new"], 6, None)), "", LIGHT) else { return };
    assert!(seen["views"]["view shift"].is_array(), "{}", seen["views"]);
}

#[test]
fn whole_runs_have_their_seconds_with_lanes_and_say_what_they_count() {
    let Some(seen) = used(&html(&whole_runs::compared()), "", LIGHT) else { return };
    // Rates, longest times, CPU and writes of both steps that have seconds.
    assert_eq!(seen["canvases"], 8);
    assert_eq!(seen["lanes"], json!(["checkpoint", "stall", "checkpoint", "stall"]));
    assert_eq!(seen["singly"], json!([true, true]), "each round of the line under the pointer");
    let titles = seen["titles"].to_string();
    for title in ["an operation is a row indexed", "an operation is a query", "CPUs used"] {
        assert!(titles.contains(title), "{title}: {titles}");
    }
    let page = html(&whole_runs::compared());
    let seen = used(&page, "#test-l.i0&x=progress", LIGHT).unwrap();
    assert!(seen["hash"].as_str().unwrap().starts_with("#test-l.i0&x=progress"), "{seen}");
    assert_eq!(seen["lanes"], json!(["checkpoint", "stall"]), "over progress, too");

    let mut at_once = whole_runs::compared();
    let sides = at_once.rounds.iter_mut().flat_map(|pass| pass.arms.values_mut());
    sides.for_each(|side| side.engine_samples = suite::checkpoint_at(1));
    let seen = used(&html(&at_once), "#test-l.i0&sort=change", LIGHT).unwrap();
    assert_eq!(seen["lanes"], json!(["checkpoint", "stall"]));
    let seen = used(&html(&at_once), "#test-l.i0&x=progress", LIGHT).unwrap();
    let [from, wide] = [0, 1].map(|place| seen["cells"][0][place].as_f64().unwrap());
    assert_eq!(from, 0.0, "the first second is where progress begins");
    assert_eq!((100.0 / wide).fract(), 0.0, "a second of so many whole ones: {wide}");
    used(&page, "#test-l.i0&zoom=l.i0:3-7", LIGHT).unwrap();
}

#[test]
fn an_address_is_a_view() {
    let page = html(&run(&THREE, 3));
    let Some(seen) = used(&page, "#step-l.x&base=1&view=absolute&hide=2&sort=change", LIGHT) else {
        return;
    };
    assert_eq!(seen["heads"], json!(&THREE[..2]));
    assert_eq!(rows(&seen["shown"])[0].len(), 3);
    // What can be folded is as the address says: the other way than at first.
    let open = |place: &str| {
        let seen = used(&page, place, LIGHT).unwrap();
        let open =
            seen["open"].as_array().unwrap().iter().map(|fold| fold.as_str().unwrap().to_string());
        open.collect::<BTreeSet<String>>()
    };
    let [at_first, other] = ["#summary&x=time", "#summary&x=time&open=0&open=1"].map(open);
    let changed: Vec<&String> = at_first.symmetric_difference(&other).collect();
    assert_eq!(changed, ["0", "1"]);
    // What cannot be is left out.
    let nonsense = "#l.x&base=-1&measure=99&nonsense=1&hide=a&hide=0.1.2&open=none&open=%";
    used(&page, nonsense, LIGHT).unwrap();
}

/// A contender of a comparison gets another name.
fn rename(run: &mut Run, from: &str, to: &str) {
    let place = run.contenders.iter().position(|one| one.name == from).unwrap();
    run.plan.contenders[place] = to.parse().unwrap();
    run.contenders[place].name = to.to_string();
    for pass in &mut run.rounds {
        let side = pass.arms.remove(from).unwrap();
        pass.arms.insert(to.to_string(), side);
        for slice in pass.slices.iter_mut().filter(|slice| slice.arm == from) {
            slice.arm = to.to_string();
        }
    }
}

/// Contenders of a page that is used: their table is longer than the window.
const MANY: usize = 25;

#[test]
#[ignore = "nightly: many pages in a browser"]
fn whatever_the_names_and_numbers_the_page_works() {
    let mut silent = run(&["sqlite", "postgres@17.6"], 1);
    sample::silence(&mut silent);
    let mut nothing = run(&["sqlite"], 1);
    (nothing.rounds, nothing.contenders) = (Vec::new(), Vec::new());
    let contenders = &fifty()[..MANY];
    let mut many = run(&contenders.iter().map(String::as_str).collect::<Vec<_>>(), 3);
    many.rounds.retain(|round| round.test == "l.i0");
    let mut early = suite::judged();
    early.rounds.clear();
    let (mut idle, mut hostile) = (suite::released(), suite::released());
    for pass in &mut idle.rounds {
        for slice in &mut pass.slices {
            (slice.operations, slice.reads, slice.server_cpu, slice.client_cpu) = (0, 0, 0, 0);
        }
        for work in pass.arms.values_mut().flat_map(|side| &mut side.work) {
            let nothing = WorkRecord::of_several(work.operation);
            *work = WorkRecord { seconds: vec![Second::default(); 20], ..nothing }.packed();
        }
    }
    rename(&mut hostile, "postgres@18.0", HOSTILE);
    let crowd = suite::crowd(contenders, 2, 3, 3);
    let steps = run(&[HOSTILE, "sqlite"], 1);
    let mut silent_tests = few(suite::run(&["sqlite", "postgres@17.6"], &[1]));
    let mut brief_tests = silent_tests.clone();
    sample::silence(&mut silent_tests);
    for step in brief_tests.rounds.iter_mut().map(sample::only) {
        step.seconds = 1.0;
        step.work.iter_mut().for_each(|worker| worker.seconds.truncate(1));
    }
    let mut brief = whole_runs::compared();
    for pass in &mut brief.rounds {
        pass.slices.iter_mut().for_each(|slice| slice.nanos = 1_000_000_000);
        let work = pass.arms.values_mut().flat_map(|side| &mut side.work);
        work.for_each(|work| work.seconds.truncate(1));
    }
    let of_steps = [silent, nothing, many, steps, silent_tests, brief_tests];
    let compared = [early, suite::comparison(), idle, hostile, crowd, brief];
    let pages: Vec<String> = of_steps.iter().chain(&compared).map(html).collect();
    all_used(&pages, LIGHT);
}

#[test]
fn a_narrow_page_of_a_hostile_name_works() {
    let mut hostile = suite::released();
    rename(&mut hostile, "postgres@18.0", HOSTILE);
    used(&narrow(&html(&hostile)), "", NARROW);
}

/// A contender was never started.
fn without(mut run: Run, contender: &str) -> Run {
    run.contenders.retain(|one| one.name != contender);
    for pass in &mut run.rounds {
        pass.slices.retain(|slice| slice.arm != contender);
        pass.arms.remove(contender);
    }
    run.rounds.retain(|pass| !pass.arms.is_empty() || !pass.slices.is_empty());
    run
}

#[test]
#[ignore = "nightly: many pages in a browser"]
fn whoever_is_missing_and_however_many_there_are_a_narrow_page_works() {
    let contenders = &fifty()[..MANY];
    let many = suite::run(&contenders.iter().map(String::as_str).collect::<Vec<_>>(), &[1]);
    // The baseline is missing, and another contender of a suite ended early.
    let steps = without(run(&THREE, 3), THREE[0]);
    let mut tests = without(few(suite::run(&THREE, &[1])), THREE[0]);
    tests.rounds.retain(|round| !sample::is_of(round, THREE[1]) || round.test == "load");
    // In half of the rounds two are missing.
    let mut rounds = without(suite::judged(), "like");
    for pass in rounds.rounds.iter_mut().filter(|pass| pass.round <= 4) {
        pass.slices.retain(|slice| slice.arm != "slow");
    }
    let pages = [few(many), steps, tests, rounds].map(|run| narrow(&html(&run)));
    all_used(&pages, NARROW);
}

/// Nothing that a link can hold as it is.
const ODD: &str = "#1? 50% <b>&\"'";

#[test]
fn the_index_finds_runs_by_dbms_and_version_and_leads_to_their_reports() {
    let directory = tempfile::tempdir().unwrap();
    let entry = |path: &str, contenders: &[&str]| {
        let run = run(contenders, 1);
        fs::create_dir(directory.path().join(path)).unwrap();
        fs::write(directory.path().join(path).join("report.html"), html(&run)).unwrap();
        Entry { path: path.to_string(), found: Found::of(&run, true) }
    };
    let page = index_html(&[entry("old", &["postgres@12.22"]), entry(ODD, &THREE)]);
    if used(&page, "", LIGHT).is_none() {
        return;
    }
    let links = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let links: Vec<&str> = links.collect();
    assert_eq!(links.len(), 2, "{links:?}");
    // Runs of the same time are in the order of their names.
    for (link, contender) in links.into_iter().zip([THREE[0], "postgres@12.22"]) {
        let (document, said) = chromium(directory.path(), link, &["--dump-dom"]).unwrap();
        assert!(document.contains("id=\"summary\"") && document.contains(contender), "{said}");
    }
    let search = "<script>
        const field = document.getElementById('search');
        field.value = 'POSTGRES 12.2';
        field.dispatchEvent(new Event('input'));
        </script></body>";
    fs::write(directory.path().join("page.html"), page.replacen("</body>", search, 1)).unwrap();
    let (document, said) = chromium(directory.path(), "page.html", &["--dump-dom"]).unwrap();
    assert!(!said.contains("CONSOLE"), "{said}");
    assert!(document.contains("1 of 2"), "{document}");
    assert_eq!(document.matches("class=\"run\" hidden").count(), 1);
}

#[test]
#[ignore = "nightly: many pages in a browser"]
fn pictures_of_the_pages_can_be_taken() {
    let page = html(&suite::judged());
    let Some(light) = used(&page, "#&", LIGHT) else { return };
    let dark = used(&page, "#&", DARK).unwrap();
    assert_eq!(
        (&light["back"], &dark["back"]),
        (&"rgb(255, 255, 255)".into(), &"rgb(21, 24, 28)".into())
    );
    used(&narrow(&page), "#&", NARROW).unwrap();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("page.html"), page).unwrap();
    let shots: [(&str, &[&str]); 4] = [
        ("light.png", &["--window-size=1200,2000"]),
        ("dark.png", &["--window-size=1200,2000", DARK[0]]),
        ("narrow.png", &["--window-size=500,2000"]),
        ("print.pdf", &[]),
    ];
    for (file, arguments) in shots {
        let path = directory.path().join(file);
        let way = if file.ends_with("pdf") { "print-to-pdf" } else { "screenshot" };
        let way = format!("--{way}={}", path.display());
        chromium(directory.path(), "page.html", &[arguments, &[way.as_str()]].concat()).unwrap();
        let taken = fs::read(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(taken.len() > 20_000, "{file}: {} bytes", taken.len());
    }
}
