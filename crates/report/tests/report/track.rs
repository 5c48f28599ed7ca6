//! The site of a history, its text, and the formats of other programs.

use std::collections::BTreeMap;
use std::fs;

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use rqps_analysis::track::TrackHistory;
use rqps_report::{
    ExportFormat, File, SiteOptions, Terminal, TrackExport, track_export, track_nights, track_site,
    track_status, track_status_json,
};
use rqps_store::track::{AckKind, ImportFormat, Track, TrackContents, track_import};
use serde_json::Value;

use crate::nights::{ack, contents};

fn site(contents: &TrackContents) -> BTreeMap<String, String> {
    let commits = vec!["abc1234 Cache <all> rows".to_string()];
    let options = SiteOptions {
        base_url: Some("https://perf.example/pg/".to_string()),
        commits: BTreeMap::from([("told1".to_string(), commits)]),
    };
    let files = track_site(&TrackHistory::new(contents), &options);
    let text = |file: File| (file.name, String::from_utf8(file.contents).unwrap());
    files.into_iter().map(text).collect()
}

fn page<'s>(site: &'s BTreeMap<String, String>, start: &str) -> &'s str {
    let found = site.iter().find(|(name, _)| name.starts_with(start));
    found.unwrap_or_else(|| panic!("no {start} in {:?}", site.keys())).1
}

#[test]
fn the_first_page_says_what_is_open_and_leads_to_every_test() {
    let site = site(&contents(40, 6));
    let start = page(&site, "index.html");
    assert!(start.contains("<h1>1 open regression</h1>"), "{start}");
    let open = start.split("id=\"open\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(open.contains("2 tests slower") && open.contains("2 tests faster"), "{open}");
    assert!(open.contains("c/told1.html"), "it keeps the id under which it was told");
    assert_eq!(start.matches("<tr class=\"run\">").count(), 7, "six tests and an imported one");
    assert!(start.contains("build failed: make: *** [all] Error 2"));
    assert!(start.contains(">slower<") && start.contains(">faster<") && start.contains(">steady<"));
    assert!(start.contains("title=\"18.2 was released\">▼"), "test-00 is slower than the release");
}

#[test]
fn every_link_of_the_site_leads_somewhere_and_none_elsewhere() {
    let site = site(&contents(40, 6));
    let mut links = 0;
    for (name, text) in site.iter().filter(|(name, _)| name.ends_with(".html")) {
        for forbidden in ["http:", "https:", "src=\"", "@import", "url(", "<link", "<iframe"] {
            assert!(!text.contains(forbidden), "{name} has {forbidden}");
        }
        assert!(text.contains("default-src 'none'"), "{name}");
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in text.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            let target = match link.strip_prefix("../") {
                Some(above) => above.to_string(),
                None if folder.is_empty() => link.to_string(),
                None => format!("{folder}/{link}"),
            };
            assert!(site.contains_key(&target), "{name} leads to {link}");
            links += 1;
        }
    }
    assert!(links > 50, "{links}");
    let feed = page(&site, "feed.xml");
    assert!(feed.contains("<link href=\"https://perf.example/pg/c/told1.html\"></link>"), "{feed}");
    assert_eq!(feed.matches("<entry>").count(), 1);
    let badge = site.keys().filter(|name| name.starts_with("badge/")).count();
    assert_eq!(badge, 6);
}

#[test]
fn the_page_of_a_test_has_chart_and_table_without_a_script() {
    let site = site(&contents(40, 6));
    let test = page(&site, "t/main-test-00-");
    assert!(!test.contains("<script"), "nothing of it needs one");
    assert_eq!(
        test.split("class=\"dots\" d=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap()
            .matches("h0")
            .count(),
        40
    );
    for class in ["change", "epoch", "release"] {
        assert!(test.contains(&format!("<path class=\"{class}\"")), "{class}");
    }
    let nights = test.split("id=\"nights\"").nth(1).unwrap();
    assert_eq!(nights.matches("<tr>").count(), 42, "40 nights, a failed one, and the heading");
    assert!(nights.contains("runs/n0039") && nights.contains("pruned"));
    assert!(test.contains("became <code>Linux 6.12</code>"), "what began the epoch");
    let change = page(&site, "c/told1");
    for told in [
        "rqps compare 'before=postgres@/opt/nightly/19' 'after=postgres@/opt/nightly/20'",
        "rqps bisect postgres@git:",
        "--repo CHECKOUT",
        "rqps track ack DIR told1",
        "abc1234 Cache &lt;all&gt; rows",
    ] {
        assert!(change.contains(told), "{told}: {change}");
    }
    let lost = page(&site, "c/lost2");
    assert!(lost.contains("no longer found") && lost.contains("the machine was moved"), "{lost}");
    let imported = page(&site, "t/imported_values-");
    assert!(imported.contains("data.js") && imported.contains("ns/iter"));
    let data: Value = serde_json::from_str(page(&site, "data/main-test-00")).unwrap();
    assert_eq!(data["values"].as_array().unwrap().len(), 40);
}

#[test]
fn two_sites_of_one_history_are_equal() {
    let contents = contents(30, 4);
    assert_eq!(site(&contents), site(&contents.clone()));
}

/// A year of forty tests: 15 MB in all, 300 kB a page.
#[test]
fn a_site_of_a_year_is_small() {
    let site = site(&contents(400, 40));
    let all: usize = site.values().map(String::len).sum();
    assert!(all < 15_000_000, "{all} bytes");
    let largest =
        site.iter().filter(|(name, _)| name.ends_with(".html")).max_by_key(|(_, text)| text.len());
    let (name, text) = largest.unwrap();
    println!("{all} bytes, the largest page {name}: {}", text.len());
    assert!(text.len() < 300_000, "{name}: {} bytes", text.len());
}

const HOSTILE: &str = "</title><script>alert(1)</script>\"'&\u{202e}\u{1b}[2J";

#[test]
fn hostile_names_are_only_ever_text() {
    let folder = tempfile::tempdir().unwrap();
    let mut contents = contents(12, 2);
    for point in &mut contents.points {
        let test = point.tests.remove("test-00");
        point.tests.extend(test.map(|test| (HOSTILE.to_string(), test)));
        point.line = HOSTILE.to_string();
        point.build.version = HOSTILE.to_string();
        point.build.commit = None;
        point.build.spec = format!("postgres@/opt/{HOSTILE}");
    }
    contents.acks[0].why = HOSTILE.to_string();
    contents.notes[0].text = HOSTILE.to_string();
    let track = Track::create(&folder.path().join("t"), &contents.settings.anchor, &[]).unwrap();
    for point in &contents.points {
        track.add(point, point.time).unwrap();
    }
    track.add(&contents.acks[0], contents.acks[0].when).unwrap();
    track.add(&contents.notes[0], contents.notes[0].when).unwrap();
    fs::write(folder.path().join("t/points/2025/odd.json"), "{").unwrap();
    let read = track.contents().unwrap();
    assert_eq!((read.points.len(), read.faults.len()), (13, 1));
    for (name, text) in site(&read) {
        let is_markup = [".html", ".svg", ".xml"].iter().any(|ending| name.ends_with(ending));
        assert!(!is_markup || !text.contains("<script>alert"), "{name}");
        assert!(!text.contains(['\u{202e}', '\u{1b}']), "{name}");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c)), "{name}");
        assert!(!name.contains(".."), "{name}");
    }
    let status = track_status(&TrackHistory::new(&read), Terminal::PLAIN);
    assert!(!status.contains(['\u{202e}', '\u{1b}']), "{status}");
}

#[test]
fn the_status_is_a_text_and_json() {
    let mut contents = contents(40, 3);
    let status = track_status(&TrackHistory::new(&contents), Terminal::PLAIN);
    for told in [
        "3 tests in 41 nights: 1 regression to be looked at",
        "told1 main: slower: test-00 -",
        "steady",
    ] {
        assert!(status.contains(told), "{told}: {status}");
    }
    let nights = track_nights(&contents, Terminal::PLAIN);
    assert!(nights.contains("3 of 3 tests valid") && nights.contains("build failed"), "{nights}");
    contents.acks.push(ack("told1", AckKind::Accepted));
    let history = TrackHistory::new(&contents);
    let status = track_status(&history, Terminal::PLAIN);
    assert!(status.contains("no regression to be looked at"), "{status}");
    let json: Value = serde_json::from_str(&track_status_json(&history)).unwrap();
    let changes = json["lines"][0]["changes"].as_array().unwrap();
    let told = changes.iter().find(|change| change["id"] == "told1").unwrap();
    assert_eq!(told["acknowledged"], "accepted");
    assert!(told["tests"][0]["log"].as_f64().unwrap() < -0.03);
}

#[test]
fn formats_of_other_programs_have_ratios_with_their_intervals() {
    let contents = contents(40, 3);
    let history = TrackHistory::new(&contents);
    let text = |format| match track_export(&history, format) {
        TrackExport::Text(text) => text,
        TrackExport::Bytes(_) => panic!("{format:?} is no text"),
    };
    let json = |format| -> Value { serde_json::from_str(&text(format)).unwrap() };
    let action = json(ExportFormat::GithubActionBenchmark);
    assert_eq!((&action[0]["name"], &action[0]["unit"]), (&"main/test-00".into(), &"ratio".into()));
    let bencher = json(ExportFormat::Bencher);
    let ratio = &bencher["main/test-00"]["ratio"];
    assert!(ratio["lower_value"].as_f64() < ratio["value"].as_f64(), "{ratio}");
    let conbench = json(ExportFormat::Conbench);
    assert_eq!(conbench.as_array().unwrap().len(), 120);
    assert_eq!(conbench[0]["stats"]["unit"], "ratio");
    assert!(conbench[0]["github"]["commit"].is_string());
    // Only nights of the last epoch, which begins with the tenth.
    let otava = text(ExportFormat::Otava);
    assert!(otava.starts_with("time,run,commit,branch,version,test-00.ratio"), "{otava}");
    assert_eq!(otava.lines().count(), 1 + 30);
    // What is written is read.
    let csv = text(ExportFormat::Csv);
    let now = contents.points[0].time;
    let read = track_import(&csv, ImportFormat::Csv, now).unwrap();
    assert_eq!(read.points.len(), 120);
    let bmf = text(ExportFormat::Bencher);
    assert_eq!(track_import(&bmf, ImportFormat::Bencher, now).unwrap().points.len(), 3);
}

#[test]
fn parquet_has_the_values_of_the_csv() {
    let contents = contents(40, 3);
    let history = TrackHistory::new(&contents);
    let TrackExport::Bytes(bytes) = track_export(&history, ExportFormat::Parquet) else { panic!() };
    let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    let rows: Vec<Row> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 120);
    let column =
        |name: &str| rows[0].get_column_iter().position(|(column, _)| column == name).unwrap();
    let TrackExport::Text(csv) = track_export(&history, ExportFormat::Csv) else { panic!() };
    let mut table = csv::Reader::from_reader(csv.as_bytes());
    let names = table.headers().unwrap().clone();
    for (read, row) in table.records().zip(&rows) {
        let read = read.unwrap();
        for (name, value) in names.iter().zip(&read) {
            let is_same = match name {
                "ratio" | "low" | "high" => row.get_double(column(name)).ok() == value.parse().ok(),
                "epoch" => row.get_long(column(name)).ok() == value.parse().ok(),
                _ => row.get_string(column(name)).unwrap() == value,
            };
            assert!(is_same, "{name}: {value}");
        }
    }
}
