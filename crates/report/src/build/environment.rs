//! The contenders, their settings and the machine.

use rqps_analysis::merged::origins;
use rqps_document::{Block, Cell, Heading, Inline, Row, Table};
use rqps_plan::Flags;
use rqps_store::{ContenderRecord, Manifest, Run};

use crate::model::{Model, differences};

/// The section of a page.
pub(crate) fn blocks(model: &Model) -> Vec<Block> {
    let run = model.run;
    let mut blocks = vec![
        Block::heading("Contenders"),
        Block::Table(contenders(&run.contenders).transposed("name")),
    ];
    let differences = differences(model);
    if !differences.is_empty() {
        blocks.push(Block::heading("Settings in force that differ"));
        blocks.extend(differences.into_iter().map(Block::Table));
    }
    blocks.extend([Block::heading("Machine"), Block::Table(machine(run))]);
    blocks.extend(reproduce(run));
    blocks
}

/// The command that repeats the run.
fn reproduce(run: &Run) -> Vec<Block> {
    let again = "rqps run plan.toml --out again".to_string();
    let commands: Vec<String> = match run.parts.as_slice() {
        [] => vec![again],
        parts => parts.iter().map(|part| typed(&part.manifest.command)).collect(),
    };
    let commands = commands.into_iter().map(|command| Block::Text(vec![Inline::Code(command)]));
    let note = match run.parts.is_empty() {
        true => vec![
            "plan.toml is in the run directory and in the data below. It contains the seed, so \
             order and work are the same. The original command is "
                .into(),
            Inline::Code(typed(&run.manifest.command)),
            ".".into(),
        ],
        false => vec!["The commands of the merged runs.".into()],
    };
    let heading = [Block::heading("Reproduce")];
    heading.into_iter().chain(commands).chain([Block::Text(note)]).collect()
}

/// A command as typed in a shell.
fn typed(command: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:@,+%^".contains(c);
    let word = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}

type Known = fn(&ContenderRecord) -> String;

const COLUMNS: [(&str, Known); 11] = [
    ("contender", |record| record.spec.clone()),
    ("DBMS", |record| record.dbms.clone()),
    ("version", |record| record.version.clone()),
    ("source", |record| record.source.clone()),
    ("transport", |record| record.transport.clone()),
    ("compiler", |record| known(&record.compiler)),
    ("compiled with", |record| record.flags.as_ref().map_or("-".to_string(), compiled)),
    ("C library", |record| known(&record.libc)),
    ("server SHA-256", |record| digest(&record.server_sha256)),
    ("archive SHA-256", |record| digest(&record.archive_sha256)),
    ("seconds to start", |record| format!("{:.1}", record.start_seconds)),
];

fn contenders(records: &[ContenderRecord]) -> Table {
    let row = |record: &ContenderRecord| {
        let cells = COLUMNS.map(|(_, known)| Cell::plain(known(record)));
        Row::new(&record.name, cells.into()).of(&record.name)
    };
    let headings = COLUMNS.map(|(name, _)| Heading::words(name));
    Table::new(headings.into(), records.iter().map(row).collect()).named("name")
}

fn known(value: &Option<String>) -> String {
    value.clone().unwrap_or_else(|| "-".to_string())
}

/// The level and unusual flags, then all others.
fn compiled(flags: &Flags) -> String {
    [flags.told()].into_iter().chain(flags.details()).collect::<Vec<_>>().join(", ")
}

/// The first digits, which differ between builds; all digits are in the data.
fn digest(value: &Option<String>) -> String {
    let start = value.as_ref().map(|digest| digest.chars().take(12).collect());
    start.unwrap_or_else(|| "-".to_string())
}

/// A column for each run, if several were merged.
fn machine(run: &Run) -> Table {
    let origins = origins(run);
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in origins.iter().flat_map(|(_, manifest)| &manifest.machine) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let row = |name: &str, value: &dyn Fn(&Manifest) -> String| {
        let cells = origins.iter().map(|(_, manifest)| Cell::plain(value(manifest)));
        Row::new(name, cells.collect())
    };
    let known = FACTS.iter().map(|(name, value)| row(name, value));
    let read = names.iter().map(|name| row(name, &|manifest| fact(manifest, name).to_string()));
    let headings = origins.iter().map(|(name, _)| Heading::words(*name));
    let rows = known.chain(read).collect();
    Table::new(headings.collect(), rows).named(if run.parts.is_empty() { "" } else { "run" })
}

type Fact = fn(&Manifest) -> String;

const FACTS: [(&str, Fact); 8] = [
    ("rqps", |manifest| manifest.rqps_version.clone()),
    ("started", |manifest| manifest.created.clone()),
    ("command", |manifest| typed(&manifest.command)),
    ("order of the contenders", |manifest| manifest.order.join(", ")),
    ("CPUs", |manifest| manifest.cpus.to_string()),
    ("memory of the servers", |manifest| manifest.memory.map_or("-".into(), |m| m.to_string())),
    ("reads past the page cache (direct IO)", Manifest::direct_io),
    ("cost of the kernel", |manifest| manifest.kernel.map_or("-".into(), |cost| cost.to_string())),
];

fn fact<'a>(manifest: &'a Manifest, name: &str) -> &'a str {
    let found = manifest.machine.iter().find(|(known, _)| known == name);
    found.map_or("-", |(_, value)| value.as_str())
}
