//! The error texts of the sources in one file, `tests/errors.txt`, so that a person can read them
//! through. `UPDATE_EXPECT=1 cargo test --test errors` makes it.

#[path = "common/sources.rs"]
mod sources;

use std::fs;

use sources::{add_files, root};

/// What an error text follows.
const MARKS: [&str; 15] = [
    "#[error(",
    "bail!(",
    "anyhow!(",
    "Err(",
    "Err(format!(",
    "ok_or(",
    "ok_or_else(|| format!(",
    "map_err(|error| format!(",
    "map_err(|_| format!(",
    "context(",
    "context(format!(",
    "with_context(|| format!(",
    "garbled(",
    "reason = format!(",
    "reason: format!(",
];

/// A source without its tests.
fn without_tests(source: &str) -> &str {
    source.split("#[cfg(test)]\nmod ").next().unwrap_or(source)
}

/// The error texts in a source, in their order, each on one line.
fn texts(source: &str) -> Vec<String> {
    let mut places: Vec<usize> = MARKS
        .iter()
        .flat_map(|mark| source.match_indices(mark).map(|(at, mark)| at + mark.len()))
        .collect();
    places.sort_unstable();
    places.into_iter().filter_map(|at| literal(source[at..].trim_start())).collect()
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

/// Whether it is more than what another error says, such as `{error}`.
fn says_something(text: &str) -> bool {
    let mut depth = 0;
    text.replace("\\n", "").chars().any(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0 && c.is_alphabetic()
    })
}

#[test]
fn the_file_has_all_error_texts() {
    let mut files = Vec::new();
    add_files(&root().join("src"), "rs", &mut files);
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        add_files(&entry.unwrap().path().join("src"), "rs", &mut files);
    }
    files.sort();
    let mut all = String::new();
    for file in files {
        let name = file.strip_prefix(root()).unwrap().display().to_string();
        if name.contains("tests") {
            continue;
        }
        let texts = texts(without_tests(&fs::read_to_string(&file).unwrap()));
        let texts: Vec<String> = texts.into_iter().filter(|text| says_something(text)).collect();
        if !texts.is_empty() {
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
    ["SCRAM", "SQLite", "TLS", "MySQL", "Postgres", "Debian", "GOOD", "BAD"]
        .iter()
        .any(|name| text.starts_with(name))
        && !text.ends_with('.')
}

#[test]
fn a_text_goes_over_several_lines_of_a_source() {
    let source = "#[error(\n    \"cannot open '{}': \\\n     try \\\"again\\\"\",\n    .0\n)]\nA,\n#[error(transparent)]\nB,";
    assert_eq!(texts(source), ["cannot open '{}': try \"again\""]);
    let source =
        "return Err(format!(\"no {name}\"));\nErr(\"none is left\")\n#[cfg(test)]\nmod tests {";
    let cut = format!("{source} Err(\"a test's\")");
    assert_eq!(texts(without_tests(&cut)), ["no {name}", "none is left"]);
}
