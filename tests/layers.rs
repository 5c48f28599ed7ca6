//! The shape of the house: which crate uses which, and how many places know what only one should.
//!
//! The table of crates is that of `docs/architecture.md`. A ceiling is what was counted when it was
//! last lowered: counting more fails, and so does counting less, so that the figure here is true.

#[path = "common/sources.rs"]
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use sources::{add_files, root};

/// What is counted in product code: in how many files words stand, and how often.
struct Ceiling {
    what: &'static str,
    words: Words,
    files: usize,
    mentions: usize,
}

enum Words {
    /// `Left::Right` of any of these, as words of their own.
    Variants(&'static [&'static str], &'static [&'static str]),
    /// Each as a word of its own.
    Names(&'static [&'static str]),
}

const CEILINGS: [Ceiling; 5] = [
    Ceiling {
        what: "which DBMS",
        words: Words::Variants(
            &["Dbms", "Name", "Dialect", "Target"],
            &["Sqlite", "Postgres", "Mysql", "Mariadb", "Innodb", "Myrocks"],
        ),
        files: 8,
        mentions: 27,
    },
    Ceiling {
        what: "which workload",
        words: Words::Variants(
            &["Workload", "Compared"],
            &["InsertBenchmark", "Microbenchmark", "Comparison"],
        ),
        files: 1,
        mentions: 4,
    },
    Ceiling {
        what: "once, or compared",
        words: Words::Variants(&["Design"], &["Single", "Comparison"]),
        files: 4,
        mentions: 17,
    },
    Ceiling {
        what: "records of comparisons and of single runs by themselves",
        words: Words::Names(&["PassRecord", "SideRecord", "StepRecord", "Compared"]),
        files: 0,
        mentions: 0,
    },
    Ceiling {
        what: "ways to stop early beside the one token",
        words: Words::Names(&["cancelled", "ControlFlow", "want_answers"]),
        files: 0,
        mentions: 0,
    },
];

/// Names of types that are defined in more than one place.
const SHARED_NAMES: usize = 114;

/// A file has one subject, and is not longer than this.
const LONGEST: usize = 600;

/// Columns, as rustfmt.toml has them.
const WIDEST: usize = 100;

/// Files that are, with their lines.
const LONGER: [(&str, usize); 0] = [];

/// The files of the product by their paths in the repository, with what is in them but for comments
/// and unit tests.
fn product() -> BTreeMap<String, String> {
    let mut files = Vec::new();
    add_files(&root().join("src"), "rs", &mut files);
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        add_files(&entry.unwrap().path().join("src"), "rs", &mut files);
    }
    let named = files.into_iter().map(|file| {
        let name = file.strip_prefix(root()).unwrap().to_str().unwrap().to_string();
        (name, fs::read_to_string(&file).unwrap())
    });
    let is_test = |name: &str| {
        name.contains("/tests/") || name.ends_with("/tests.rs") || name.ends_with("fixture.rs")
    };
    named.filter(|(name, _)| !is_test(name)).map(|(name, text)| (name, code(&text))).collect()
}

/// The text without comments, up to its unit tests.
fn code(text: &str) -> String {
    let mut lines = text.lines().peekable();
    let mut code = String::new();
    while let Some(line) = lines.next() {
        let ends = line == "#[cfg(test)]" && lines.peek().is_some_and(|it| *it == "mod tests {");
        if ends {
            break;
        }
        if !line.trim_start().starts_with("//") {
            code += line;
            code.push('\n');
        }
    }
    code
}

/// What a text has of identifiers, and what stands between them.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(first) = rest.chars().next() {
        let end = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => rest.find(is_word).unwrap_or(rest.len()),
        };
        tokens.push(&rest[..end]);
        rest = &rest[end..];
    }
    tokens
}

impl Words {
    fn count(&self, code: &str) -> usize {
        let tokens = tokens(code);
        match self {
            Words::Names(names) => tokens.iter().filter(|token| names.contains(token)).count(),
            Words::Variants(types, variants) => {
                let is_one = |window: &&[&str]| {
                    types.contains(&window[0]) && window[1] == "::" && variants.contains(&window[2])
                };
                tokens.windows(3).filter(is_one).count()
            }
        }
    }
}

#[test]
fn what_one_place_should_know_is_known_by_no_more_than_before() {
    let product = product();
    let mut wrong = Vec::new();
    for ceiling in CEILINGS {
        let counts = product.values().map(|code| ceiling.words.count(code));
        let counts: Vec<usize> = counts.filter(|count| *count > 0).collect();
        let (files, mentions) = (counts.len(), counts.iter().sum::<usize>());
        if (files, mentions) != (ceiling.files, ceiling.mentions) {
            wrong.push(format!(
                "{}: {files} files and {mentions} mentions, {} and {} before",
                ceiling.what, ceiling.files, ceiling.mentions
            ));
        }
    }
    assert!(wrong.is_empty(), "lower what has become less, undo what has become more:\n{wrong:#?}");
}

#[test]
fn a_type_has_a_name_of_its_own() {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for code in product().values() {
        for line in code.lines() {
            let tokens: Vec<&str> =
                tokens(line).into_iter().filter(|token| !token.trim().is_empty()).collect();
            let Some(keyword) =
                tokens.iter().position(|it| ["struct", "enum", "trait"].contains(it))
            else {
                continue;
            };
            let is_definition = tokens[..keyword]
                .iter()
                .all(|it| ["pub", "crate", "super", "(", ")"].contains(&it.trim()));
            if let (true, Some(name)) = (is_definition, tokens.get(keyword + 1)) {
                *places.entry(name.to_string()).or_default() += 1;
            }
        }
    }
    let shared = places.iter().filter(|(_, places)| **places > 1);
    let shared: Vec<String> = shared.map(|(name, places)| format!("{name} {places}")).collect();
    assert_eq!(shared.len(), SHARED_NAMES, "names of several types: {shared:?}");
}

#[test]
fn a_file_is_short_enough_to_have_one_subject() {
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "benches"] {
        add_files(&root().join(folder), "rs", &mut files);
    }
    let lines = |file: &PathBuf| fs::read_to_string(file).unwrap().lines().count();
    let longer: Vec<(String, usize)> = files
        .iter()
        .map(|file| (file.strip_prefix(root()).unwrap().display().to_string(), lines(file)))
        .filter(|(_, lines)| *lines > LONGEST)
        .collect();
    let known: Vec<(String, usize)> =
        LONGER.iter().map(|(name, lines)| (name.to_string(), *lines)).collect();
    assert_eq!(longer, known);
}

/// Rustfmt leaves comments as they are.
#[test]
fn comments_are_no_wider_than_code() {
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "benches", "fuzz/targets", "fuzz/src"] {
        add_files(&root().join(folder), "rs", &mut files);
    }
    let mut wide = Vec::new();
    for file in files {
        for (number, line) in (1..).zip(fs::read_to_string(&file).unwrap().lines()) {
            if line.trim_start().starts_with("//") && line.chars().count() > WIDEST {
                wide.push(format!("{}:{number}", file.display()));
            }
        }
    }
    assert!(wide.is_empty(), "wider than {WIDEST} columns: {wide:#?}");
}

/// The table of `docs/architecture.md`: each crate with those that it may use.
fn allowed() -> Vec<(String, BTreeSet<String>)> {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", name, _, uses, _, ""] = cells[..] else { return None };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        let names = uses.split([' ', ',']).filter(|it| !it.is_empty() && *it != "–");
        Some((name.to_string(), names.map(str::to_string).collect()))
    });
    rows.collect()
}

#[test]
fn a_crate_uses_only_crates_that_stand_above_it() {
    let allowed = allowed();
    let mut above: BTreeSet<String> = BTreeSet::new();
    for (name, uses) in &allowed {
        assert!(uses.is_subset(&above), "'{name}' is to use what stands below it: {uses:?}");
        above.insert(name.clone());
    }
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let short = |name: &str| name.strip_prefix("rqps-").unwrap_or(name).to_string();
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let ours = dependencies
            .filter(|it| it["kind"].is_null() && it["path"].is_string())
            .map(|it| short(it["name"].as_str().unwrap()));
        used.insert(short(package["name"].as_str().unwrap()), ours.collect());
    }
    let allowed: BTreeMap<String, BTreeSet<String>> = allowed.into_iter().collect();
    assert_eq!(used, allowed, "left: Cargo.toml, right: docs/architecture.md");
}
