//! The words of rqps are the field's: what a user or a reader meets has none of the dialect that
//! rqps once spoke. A word that is right in one place is named here with that place.

#[path = "common/sources.rs"]
mod sources;

use std::fs;

use sources::{add_files, root};

/// What is not said, and what is said in its place.
const REPLACED: [(&str, &str); 31] = [
    ("twin", "A/A control"),
    ("twins", "A/A controls"),
    ("base again", "A/A control"),
    ("the base", "the baseline"),
    ("a base", "a baseline"),
    ("its base", "its baseline"),
    ("stored base", "stored baseline"),
    ("contestant", "arm, contender"),
    ("contestants", "arms, contenders"),
    ("could have seen", "MDE"),
    ("canary", "reference loop"),
    ("canaries", "reference loops"),
    ("fixed piece", "reference loop"),
    ("dearer", "higher cost per operation"),
    ("cheaper", "lower cost per operation"),
    ("foreign cpu", "CPU of other processes"),
    ("sitting", "session"),
    ("sittings", "sessions"),
    ("benched", "excluded"),
    ("believed", "discarded, valid"),
    ("settled", "precise enough"),
    ("debt", "maintenance"),
    ("come to rest", "quiesce"),
    ("comes to rest", "quiesces"),
    ("makers", "packagers"),
    ("go on with", "resume"),
    ("gone on with", "resumed"),
    ("worth talking", "margin"),
    ("foreign server", "remote server"),
    ("put off its", "preempted"),
    ("lottery", "variance"),
];

/// Where a word stays, by the end of the file's path and a part of its line.
const KEPT: [(&str, &str); 6] = [
    // Old keys, which are refused with their new names.
    ("matrix.rs", "no-twin"),
    ("plan_file.rs", "(\"canary"),
    ("plan_file.rs", "(\"twin"),
    ("plan_file.rs", "'twin' is called"),
    ("plan_file.rs", "twin = true"),
    // What a config was derived from.
    ("configs.md", "the base of the search"),
];

/// What somebody reads of a line: of code its texts and its comment.
fn prose(line: &str, is_code: bool) -> String {
    if !is_code {
        return line.to_lowercase();
    }
    let (mut said, mut is_text, mut is_escaped) = (String::new(), false, false);
    for (at, c) in line.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            '/' if !is_text && line[at..].starts_with("//") => {
                said.push_str(&line[at..]);
                break;
            }
            _ if is_text => said.push(c),
            _ => {}
        }
        if !is_text {
            said.push(' ');
        }
    }
    // What goes over several lines has no quote on most of them.
    let goes_on = line.trim_end().ends_with('\\') || line.trim_end().ends_with("\",");
    if goes_on && !line.contains("(\"") { line.to_lowercase() } else { said.to_lowercase() }
}

/// Whether a text has these words, as words of their own.
fn has(text: &str, words: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(words).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_none_or(|c| !is_letter(c));
        before && text[at + words.len()..].chars().next().is_none_or(|c| !is_letter(c))
    })
}

#[test]
fn no_word_of_the_old_dialect_is_left() {
    let mut all = vec!["README.md", "CONTRIBUTING.md", "SECURITY.md"]
        .into_iter()
        .map(|name| root().join(name))
        .collect();
    add_files(&root().join("docs"), "md", &mut all);
    // What was said then.
    all.retain(|page| !page.starts_with(root().join("docs/reproductions")));
    add_files(&root().join("src"), "rs", &mut all);
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        add_files(&entry.unwrap().path().join("src"), "rs", &mut all);
    }
    let mut found = Vec::new();
    for file in all {
        let is_code = file.extension().is_some_and(|it| it == "rs");
        let name = file.strip_prefix(root()).unwrap().display().to_string();
        for (number, line) in (1..).zip(fs::read_to_string(&file).unwrap().lines()) {
            let text = prose(line, is_code);
            let is_kept =
                |(place, part): &(&str, &str)| name.ends_with(place) && line.contains(part);
            for (word, now) in REPLACED.iter().filter(|(word, _)| has(&text, word)) {
                if !KEPT.iter().any(is_kept) {
                    found.push(format!("{name}:{number}: '{word}', now: {now}"));
                }
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_word_is_found_where_it_is_read_and_nowhere_else() {
    assert!(has(&prose("    // The twin takes part.", true), "twin"));
    assert!(has(&prose("let text = \"a Twin of it\";", true), "twin"));
    assert!(!has(&prose("let twin = names[0];", true), "twin"), "a name is not read");
    assert!(!has("twinkle, intertwin", "twin"));
    assert!(has(&prose("The twin.", false), "twin"));
}
