//! All error texts in one file, `tests/errors.txt`, so that a person can read them through. It is
//! made from the sources: `UPDATE_EXPECT=1 cargo test --test errors`.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, into),
            false if path.extension().is_some_and(|it| it == "rs") => into.push(path),
            false => {}
        }
    }
}

/// The texts of `#[error("…")]` in a source, in their order, each on one line.
fn texts(source: &str) -> Vec<String> {
    let after = source.split("#[error(").skip(1);
    after.filter_map(|rest| literal(rest.trim_start())).collect()
}

/// A string literal at the begin of a source; none where something else stands there, such as
/// `transparent`.
fn literal(source: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = source.strip_prefix('"')?.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => return Some(text),
            '\\' => match rest.next()? {
                // The next line goes on with the first of its letters.
                '\n' => rest = rest.as_str().trim_start().chars(),
                'n' => text.push_str("\\n"),
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
    None
}

#[test]
fn the_file_has_all_error_texts() {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    files.sort();
    let mut all = String::new();
    for file in files {
        let texts = texts(&fs::read_to_string(&file).unwrap());
        // One that only says what another does.
        let texts: Vec<String> = texts.into_iter().filter(|text| text.len() > 3).collect();
        if !texts.is_empty() {
            let name = file.strip_prefix(root()).unwrap().display();
            all += &format!("{name}\n");
            texts.iter().for_each(|text| all += &format!("    {text}\n"));
        }
    }
    expect_test::expect_file!["./errors.txt"].assert_eq(&all);
}

#[test]
fn an_error_is_one_line_without_a_stop_that_begins_in_lower_case() {
    let all = fs::read_to_string(root().join("tests/errors.txt")).unwrap();
    let unlike = |text: &&str| {
        let first = text.trim_start().chars().next().unwrap_or('a');
        first.is_uppercase() || text.ends_with('.') || text.contains("\\n")
    };
    let texts = all.lines().filter(|line| line.starts_with(' ')).map(str::trim_start);
    let wrong: Vec<&str> = texts.filter(unlike).filter(|text| !begins_with_a_name(text)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Names are written as they are.
fn begins_with_a_name(text: &str) -> bool {
    ["SCRAM", "SQLite", "TLS", "MySQL", "Postgres", "Debian"]
        .iter()
        .any(|name| text.starts_with(name))
        && !text.ends_with('.')
}

#[test]
fn a_text_goes_over_several_lines_of_a_source() {
    let source = "#[error(\n    \"cannot open '{}': \\\n     try \\\"again\\\"\",\n    .0\n)]\nA,\n#[error(transparent)]\nB,";
    assert_eq!(texts(source), ["cannot open '{}': try \"again\""]);
}
