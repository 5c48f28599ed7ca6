//! The documentation agrees with the program: commands in it are read by the real command line,
//! plan files in it expand, and tables in it are made from what they describe.
//!
//! `UPDATE_EXPECT=1 cargo test --bin rqps documents` writes the tables again.

#[path = "../../tests/common/pages.rs"]
#[allow(dead_code)] // It is shared with tests/nightly/docs.rs.
mod pages;

use std::fs;
use std::path::Path;
use std::process::Command;

use clap::{CommandFactory, Parser};
use expect_test::expect_file;
use rqps_observe::Metric;
use rqps_plan::Plan;
use rqps_stats::normalised::{IOSTAT, VMSTAT};
use rqps_workload::microbenchmark::{Draw, Event, Keys, Part, Purpose, Test, tests};
use serde_json::Value;

use super::exit::Exit;
use super::{Cli, Verb, matrix};
use pages::{Block, Page, pages, root, workflow};

// Commands.

/// Programs besides rqps that pages name.
const OTHERS: [&str; 8] = [
    ".ci/nightly",
    ".ci/run",
    "cargo",
    "fuzz/run",
    "git",
    "man",
    "packaging/deb",
    "tests/cgroup2/run",
];
/// How rqps is called where it is not installed.
const FROM_SOURCES: [&str; 4] = ["cargo", "run", "--release", "--"];

/// The words of each command of a block, recorded by a shell that runs nothing. An unknown program
/// is an error, as in any shell. rqps run from its sources counts as installed.
fn words_of(block: &Block) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let calls = folder.path().join("calls");
    let stub =
        |name: &str| format!("{name}() {{ printf '%s\\0' $# {name} \"$@\" >> \"$CALLS\"; }}\n");
    let stubs: String = ["rqps"].iter().chain(&OTHERS).map(|name| stub(name)).collect();
    let output = Command::new("/bin/bash")
        .args(["-euo", "pipefail", "-c", &(stubs + &block.text)])
        .current_dir(folder.path())
        .env("PATH", "/nowhere")
        .env("CALLS", &calls)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {told}", block.place);
    let text = fs::read_to_string(&calls).unwrap_or_default();
    let mut words = text.split_terminator('\0').map(str::to_string);
    let mut calls = Vec::new();
    while let Some(count) = words.next() {
        let count = 1 + count.parse::<usize>().unwrap();
        let mut call: Vec<String> = words.by_ref().take(count).collect();
        if call.starts_with(&FROM_SOURCES.map(String::from)) {
            call.splice(..FROM_SOURCES.len(), ["rqps".to_string()]);
        }
        calls.push(call);
    }
    calls
}

/// The plan of a verb that measures.
fn plan(verb: &Verb) -> Option<anyhow::Result<Plan>> {
    match verb {
        Verb::Compare(arguments) => Some(arguments.plan()),
        Verb::Single(single) => single.shown.is_none().then(|| single.plan()),
        _ => None,
    }
}

/// A command of rqps means something: flags, contenders, tests, steps and configs exist.
fn assert_meant(words: &[String], place: &str) {
    let shown = words.join(" ");
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => return,
        Err(error) => panic!("{place}: {shown}\n{error}"),
    };
    // A resumed run has its plan already.
    let is_resumed = words.iter().any(|word| word == "--resume");
    let Some(plan) = plan(&cli.verb).filter(|_| !is_resumed) else { return };
    let plan = plan.unwrap_or_else(|error| panic!("{place}: {shown}\n{error:#}"));
    for contender in &plan.contenders {
        let is_file = contender.config.as_ref().is_some_and(|config| config.contains('/'));
        if !is_file && let Err(error) = rqps_dbms::resolved(contender) {
            panic!("{place}: {shown}\n{error}");
        }
    }
}

/// All commands of rqps in a block mean something. Answers how many there are.
fn read(block: &Block) -> usize {
    let mut calls = words_of(block);
    calls.retain(|words| words[0] == "rqps");
    calls.iter().for_each(|words| assert_meant(words, &block.place));
    calls.len()
}

#[test]
fn commands_that_are_not_run_as_they_are_are_understood() {
    let pages = pages();
    let is_read = |block: &Block| block.is(&["sh", "parse"]) || block.is(&["sh", "small"]);
    let blocks = pages.iter().flat_map(Page::blocks).filter(is_read);
    assert!(blocks.map(|block| read(&block)).sum::<usize>() > 0);
}

/// Whether a word is a placeholder: `RUN`, `CONTENDER…`, `[--out PATH]`.
fn is_placeholder(word: &str) -> bool {
    let word = word.trim_matches(['[', ']']);
    word.contains('…') || word.chars().all(|c| c.is_ascii_uppercase())
}

#[test]
fn commands_in_sentences_are_understood() {
    let mut rqps = Cli::command();
    rqps.build();
    let starts = ["rqps".to_string(), FROM_SOURCES.join(" ")].map(|start| start + " ");
    let mut commands = 0;
    for page in pages() {
        for span in page.spans() {
            let line = span.split_whitespace().collect::<Vec<_>>().join(" ");
            let Some(rest) = starts.iter().find_map(|start| line.strip_prefix(start)) else {
                continue;
            };
            let words: Vec<&str> = rest.split(' ').collect();
            // A verb alone is a name, and need not be a complete command.
            let is_name = verb(&rqps, &words).1.is_empty();
            if !is_name && !words.iter().any(|word| is_placeholder(word)) {
                let (place, info) = (format!("{}: `{line}`", page.name), Vec::new());
                commands += read(&Block { place, info, text: line });
            }
        }
    }
    assert!(commands > 0);
}

/// Flags of other programs that pages name, but for those of sysbench that rqps knows.
const FOREIGN: [&str; 8] = [
    "--config-file",
    "--enable-cassert",
    "--mysql-compression",
    "--mysql-debug",
    "--mysql-dry-run",
    "--mysql-ssl-cipher",
    "--prefix",
    "--table-size",
];

/// The flags of a verb and of those below it.
fn flags(verb: &clap::Command) -> Vec<String> {
    let own = verb.get_arguments().filter_map(|argument| argument.get_long());
    let below = verb.get_subcommands().flat_map(flags);
    own.map(|name| format!("--{name}")).chain(below).collect()
}

/// The verb that a command in a sentence names, and what follows it.
fn verb<'c, 'w>(rqps: &'c clap::Command, words: &'w [&str]) -> (&'c clap::Command, &'w [&'w str]) {
    match words {
        [word, rest @ ..] => match rqps.find_subcommand(word) {
            Some(below) => verb(below, rest),
            None => (rqps, words),
        },
        [] => (rqps, words),
    }
}

#[test]
fn verbs_and_flags_in_sentences_exist() {
    let mut rqps = Cli::command();
    rqps.build();
    let all = flags(&rqps);
    let of_sysbench = rqps_workload::lua::general_help();
    let mut read = 0;
    for page in pages() {
        for span in page.spans() {
            let words: Vec<&str> = span.split_whitespace().collect();
            let (known, words) = match words[..] {
                ["rqps", ..] => {
                    let (verb, rest) = verb(&rqps, &words[1..]);
                    let is_whole = !verb.has_subcommands()
                        || verb.get_positionals().next().is_some()
                        || rest.is_empty();
                    assert!(is_whole, "{}: there is no verb `{span}`", page.name);
                    (flags(verb), rest)
                }
                [first, ..] if first.starts_with("--") => (all.clone(), &words[..]),
                _ => continue,
            };
            read += 1;
            for word in words {
                let flag = word.trim_matches(['[', ']']).split('=').next().unwrap();
                let is_flag = flag.len() > 2 && flag.starts_with("--");
                let is_known = FOREIGN.contains(&flag)
                    || known.iter().any(|name| name == flag)
                    || of_sysbench.contains(&format!("  {flag}"));
                assert!(!is_flag || is_known, "{}: {flag} in `{span}`", page.name);
            }
        }
    }
    assert!(read > 0);
}

#[test]
fn every_block_is_run_or_read_or_said_to_be_something_else() {
    const KINDS: [&[&str]; 7] =
        [&["sh"], &["sh", "small"], &["sh", "parse"], &["toml"], &["text"], &["sql"], &["yaml"]];
    for block in pages().iter().flat_map(Page::blocks) {
        let is_known = KINDS.iter().any(|info| block.is(info)) || block.file().is_some();
        assert!(is_known, "{}: what is a block of {:?}?", block.place, block.info);
        if block.info[0] == "text" {
            let is_command = |line: &str| {
                ["rqps ", "cargo ", "$ "].iter().any(|start| line.trim_start().starts_with(start))
            };
            assert!(!block.text.lines().any(is_command), "{}: a command in a text", block.place);
        }
        if block.info[0] == "toml" {
            let expanded = matrix::parse(&block.text);
            expanded.unwrap_or_else(|error| panic!("{}: {error}", block.place));
        }
    }
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let folder = root().join(&page.name).parent().unwrap().to_path_buf();
        for link in page.text.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap();
            let is_here = target.is_empty() || target.starts_with("https://");
            assert!(is_here || folder.join(target).exists(), "{}: {target}", page.name);
        }
    }
}

/// Files that the Debian package has beside its documentation as they are beside it here.
fn is_packed(path: &str) -> bool {
    let package = include_str!("../../Cargo.toml");
    let mut assets =
        package.lines().filter_map(|line| line.trim().strip_prefix("[\"")?.split_once('"'));
    assets.any(|(source, target)| {
        let (start, end) = (source.split('*').next().unwrap(), source.rsplit('*').next().unwrap());
        let folder = &start[..start.rfind('/').map_or(0, |end| end + 1)];
        let depth = |path: &str| path.matches('/').count();
        let is_it = path.starts_with(start)
            && path.ends_with(end)
            && (source.contains("**/") || depth(path) == depth(source));
        let is_its_folder = folder == format!("{path}/");
        (is_it || is_its_folder) && target.contains(&format!("\"usr/share/doc/rqps/{folder}\""))
    })
}

#[test]
fn what_pages_link_to_is_in_the_debian_package() {
    for page in pages() {
        for link in page.text.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap();
            if target.is_empty() || target.starts_with("https://") {
                continue;
            }
            let mut folders: Vec<&str> = page.name.split('/').collect();
            folders.pop();
            for part in target.split('/').filter(|part| !part.is_empty()) {
                if part == ".." {
                    folders.pop();
                } else {
                    folders.push(part);
                }
            }
            let path = folders.join("/");
            assert!(is_packed(&path), "{}: {path} is not in the package", page.name);
        }
    }
}

// The workflow.

#[test]
fn the_documented_workflow_has_what_a_workflow_needs() {
    let workflow = workflow();
    assert_eq!(workflow["on"], "pull_request");
    let job = &workflow["jobs"]["compare"];
    assert!(job["runs-on"].is_string() && job["timeout-minutes"].is_u64());
    for step in job["steps"].as_array().expect("steps are a list") {
        assert!(step["uses"].is_string() != step["run"].is_string(), "{step}");
    }
}

#[test]
fn the_documented_workflow_calls_rqps_as_it_can_be_called() {
    let workflow = workflow();
    let steps = workflow["jobs"]["compare"]["steps"].as_array().unwrap();
    let runs = steps.iter().filter_map(|step| step["run"].as_str());
    let lines: Vec<&str> = runs.filter(|line| line.starts_with("rqps ")).collect();
    let [line] = lines[..] else { panic!("one step calls rqps: {lines:?}") };
    let words = line.split_whitespace().map(|word| word.replace("$RUNNER_TEMP", "/tmp"));
    let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
    let Verb::Compare(arguments) = cli.verb else { panic!("{line}") };
    let plan = arguments.plan().expect("the plan makes sense");
    assert_eq!(plan.contenders.len(), 2);
    // What is shown and kept afterwards is what it writes.
    for (path, flag) in [("out/pr/summary.md", "--out out/pr"), ("out", "--junit out/pr.xml")] {
        assert!(line.contains(flag), "{line}");
        assert!(steps.iter().any(|step| step.to_string().contains(path)), "{path}");
    }
}

// Tables.

/// A page of which everything between `<!-- NAME -->` and `<!-- end -->` is made from the program.
fn assert_made(page: &str, parts: &[(&str, String)]) {
    let path = root().join("docs").join(page);
    let mut text = fs::read_to_string(&path).unwrap();
    for (name, part) in parts {
        let (begin, end) = (format!("<!-- {name} -->\n"), "<!-- end -->");
        let from = text.find(&begin).unwrap_or_else(|| panic!("{page} lacks {begin}"));
        let from = from + begin.len();
        let to = from + text[from..].find(end).unwrap_or_else(|| panic!("{page} lacks {end}"));
        text.replace_range(from..to, &format!("\n{part}\n"));
    }
    expect_file![path].assert_eq(&text);
}

fn table<const N: usize>(heads: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let row = |cells: [String; N]| format!("| {} |\n", cells.join(" | "));
    let rules = format!("|{}\n", "---|".repeat(N));
    let rows: String = rows.into_iter().map(row).collect();
    row(heads.map(str::to_string)) + &rules + &rows
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

/// The help of a verb and of those below it.
fn help(command: &mut clap::Command, text: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_string();
    let printed = command.clone().term_width(100).render_long_help().to_string();
    let lines: String = printed.lines().flat_map(|line| [line.trim_end(), "\n"]).collect();
    *text += &format!("## {name}\n\n```text\n{lines}```\n\n");
    let is_shown = |verb: &&mut clap::Command| verb.get_name() != "help" && !verb.is_hide_set();
    for verb in command.get_subcommands_mut().filter(is_shown) {
        help(verb, text);
    }
}

#[test]
fn the_commands_are_described_as_their_help_has_them() {
    let mut rqps = Cli::command();
    rqps.build();
    let mut text = String::new();
    help(&mut rqps, &mut text);
    assert_made("commands.md", &[("commands", text.trim_end().to_string())]);
}

#[test]
fn the_metrics_are_described_with_units_and_sources() {
    let column = |column: &rqps_stats::Column| {
        [code(column.name), column.unit.to_string(), column.legend.to_string()]
    };
    let metric = |metric: &Metric| {
        let (kind, unit) = (metric.kind().name().to_string(), metric.unit().to_string());
        [code(metric.name()), kind, unit, metric.source().to_string()]
    };
    let columns = rqps_stats::METRICS.iter().map(column);
    let posts = IOSTAT.iter().chain(&VMSTAT).map(column);
    let costs = rqps_stats::COSTS.iter().map(column);
    let metrics = Metric::ALL.iter().map(metric);
    let heads = ["column", "unit", "what it is"];
    let parts = [
        ("columns", table(heads, columns)),
        ("posts", table(heads, posts)),
        ("costs", table(heads, costs)),
        ("metrics", table(["metric", "kind", "unit", "read from"], metrics)),
    ];
    assert_made("metrics.md", &parts);
}

#[test]
fn all_configs_are_listed_with_what_they_are_for() {
    let row = |config: &rqps_dbms::NamedConfig| {
        let file = format!("../crates/dbms/configs/{}/{}.conf", config.family, config.name);
        [config.family.to_string(), format!("[`{}`]({file})", config.name), config.purpose()]
    };
    let configs = table(["for", "config", "what it is"], rqps_dbms::all_configs().map(row));
    assert_made("configs.md", &[("configs", configs)]);
}

#[test]
fn all_reported_tests_are_listed_with_what_they_send() {
    let sent = |event: &Event| {
        let of_part = |part: &Part| {
            let times = if part.times > 1 { format!("{} × ", part.times) } else { String::new() };
            let texts = part.statements.iter().map(|statement| code(statement.text));
            format!("{times}{}", texts.collect::<Vec<_>>().join(", "))
        };
        let all = event.parts.iter().map(of_part).collect::<Vec<_>>().join("; ");
        if event.transaction { format!("a transaction of {all}") } else { all }
    };
    let is_hot = |test: &Test| {
        let mut statements = test.event.parts.iter().flat_map(|part| part.statements);
        statements.any(|statement| statement.draws.contains(&Draw::HotKeys))
    };
    let keys = |test: &Test| match (test.size, test.keys) {
        (0, _) => "all".to_string(),
        (size, _) if is_hot(test) => format!("{size}, always the same"),
        (size, Keys::Uniform) => size.to_string(),
        (_, Keys::Zipf) => "1, some far more often".to_string(),
        (_, Keys::First) => "1, always the same".to_string(),
    };
    let row = |test: &'static Test| {
        let group = code(test.group.name());
        [code(test.short_name()), group, keys(test), sent(test.event)]
    };
    let tests = tests().iter().filter(|test| test.purpose == Purpose::Reported);
    let heads = ["test", "group", "keys", "an operation is"];
    assert_made("microbenchmarks.md", &[("tests", table(heads, tests.map(row)))]);
}

/// A field's type in a few words.
fn kind(field: &Value) -> String {
    let name = |value: &Value| value.as_str().unwrap_or_default().to_string();
    if let Some(definition) = field["$ref"].as_str() {
        let definition = definition.trim_start_matches("#/$defs/");
        return format!("[{definition}](#{definition})");
    }
    if let Some(values) = field["enum"].as_array() {
        return values.iter().map(|value| code(&value.to_string())).collect::<Vec<_>>().join(", ");
    }
    if let Some(choices) = field["oneOf"].as_array() {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if !field["const"].is_null() {
        return code(&field["const"].to_string());
    }
    let kinds = field["type"].as_array().cloned().unwrap_or_else(|| vec![field["type"].clone()]);
    let kinds = kinds.iter().map(name).collect::<Vec<_>>().join(" or ");
    match (field["items"].is_object(), field["additionalProperties"].is_object()) {
        (true, _) => format!("{kinds} of {}", kind(&field["items"])),
        (_, true) => format!("{kinds} of {} by name", kind(&field["additionalProperties"])),
        _ => kinds,
    }
}

fn described(of: &Value) -> String {
    of["description"].as_str().unwrap_or_default().to_string()
}

/// The fields of an object, and those of the objects in it.
fn fields(of: &Value, path: &str, rows: &mut Vec<[String; 3]>) {
    for (name, field) in of["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}{name}");
        rows.push([code(&path), kind(field), described(field)]);
        fields(field, &format!("{path}."), rows);
        fields(&field["items"], &format!("{path}[]."), rows);
    }
}

#[test]
fn every_field_of_the_result_is_described() {
    let file = root().join("crates/report/schema/result.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let definitions = schema["$defs"].as_object().unwrap().iter();
    let definitions = definitions.map(|(name, of)| (name.as_str(), of));
    let mut text = String::new();
    for (name, of) in std::iter::once(("result.json", &schema)).chain(definitions) {
        let mut rows = Vec::new();
        fields(of, "", &mut rows);
        fields(&of["items"], "[].", &mut rows);
        for [field, _, what] in &rows {
            assert!(!what.is_empty(), "what is {field} of {name}?");
        }
        let what = match of["properties"].is_object() {
            true => described(of),
            false => [kind(of), described(of)].join(". "),
        };
        text += &format!("## {name}\n\n");
        if !what.is_empty() {
            text += &format!("{}\n\n", what.trim_end_matches([' ', '.']).to_string() + ".");
        }
        if !rows.is_empty() {
            text += &(table(["field", "type", "what it is"], rows) + "\n");
        }
    }
    assert_made("result-schema.md", &[("schema", text.trim_end().to_string())]);
}

#[test]
fn exit_codes_and_variables_are_all_described() {
    let page = fs::read_to_string(root().join("docs/environment.md")).unwrap();
    for exit in [
        Exit::Done,
        Exit::Regression,
        Exit::Usage,
        Exit::Failed,
        Exit::SlaMissed,
        Exit::Unfit,
        Exit::Busy,
        Exit::Interrupted,
    ] {
        assert!(page.contains(&format!("\n| {} |", exit.code())), "{exit:?} is missing");
    }
    let mut sources = Vec::new();
    for folder in ["src", "crates"] {
        files_below(&root().join(folder), &mut sources);
    }
    let mut seen = 0;
    for source in sources {
        for variable in source.split('"').filter(|word| word.starts_with(concat!("RQPS", "_"))) {
            assert!(page.contains(&code(variable)), "{variable} is missing");
            seen += 1;
        }
    }
    assert!(seen > 1, "the sources were found");
}

/// The text of every Rust file below a folder.
fn files_below(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, texts);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
}
