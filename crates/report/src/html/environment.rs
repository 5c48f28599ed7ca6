//! The contenders, their settings and the machine.

use maud::{Markup, html};
use rqps_plan::Flags;
use rqps_store::{ContenderRecord, Manifest, Run};

use super::table::table;
use crate::model::{Model, differences, origins};

pub(super) fn sections(model: &Model) -> Markup {
    let differences = differences(model);
    html! {
        section #environment {
            h2 { "Environment" }
            h3 { "Contenders" }
            (contenders(&model.run.contenders))
            @if !differences.is_empty() {
                h3 { "Settings in force that differ" }
                div.words {
                    @for difference in &differences {
                        (table(&difference.dbms, &difference.table))
                    }
                }
            }
            h3 { "Machine" }
            (machine(model.run))
            (reproduce(model.run))
        }
    }
}

/// The command that repeats the run.
fn reproduce(run: &Run) -> Markup {
    let again = "rqps run plan.toml --out again".to_string();
    let commands: Vec<String> = match run.parts.as_slice() {
        [] => vec![again],
        parts => parts.iter().map(|part| typed(&part.manifest.command)).collect(),
    };
    html! {
        h3 #reproduce { "Reproduce" }
        @for command in &commands {
            p.command {
                code { (command) } " "
                button type="button" data-copy=(command) { "copy" }
            }
        }
        p.note {
            @if run.parts.is_empty() {
                "plan.toml is in the run directory and in the data below. It contains the seed, so \
                 order and work are the same. The original command is "
                code { (typed(&run.manifest.command)) } "."
            } @else {
                "The commands of the merged runs."
            }
        }
    }
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

fn contenders(records: &[ContenderRecord]) -> Markup {
    let columns = [
        "name",
        "contender",
        "DBMS",
        "version",
        "source",
        "transport",
        "compiler",
        "compiled with",
        "C library",
        "server SHA-256",
        "archive SHA-256",
        "seconds to start",
    ];
    html! {
        div.scroll tabindex="0" {
            table.words {
                thead { tr { @for column in columns { th scope="col" { (column) } } } }
                tbody {
                    @for record in records {
                        tr data-of=(record.name) {
                            th scope="row" { (record.name) }
                            td { (record.spec) }
                            td { (record.dbms) }
                            td { (record.version) }
                            td { (record.source) }
                            td { (record.transport) }
                            td.long { (known(&record.compiler)) }
                            td.long { (compiled(record.flags.as_ref())) }
                            td { (known(&record.libc)) }
                            td { (digest(&record.server_sha256)) }
                            td { (digest(&record.archive_sha256)) }
                            td { (format!("{:.1}", record.start_seconds)) }
                        }
                    }
                }
            }
        }
    }
}

fn known(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("-")
}

/// The level and unusual flags, and below them all others.
fn compiled(flags: Option<&Flags>) -> Markup {
    let Some(flags) = flags else { return html! { "-" } };
    html! {
        (flags.told())
        @let details = flags.details();
        @if !details.is_empty() { br; span.dim { (details.join(", ")) } }
    }
}

/// The first digits, which differ between builds; all digits on hover and in the data.
fn digest(value: &Option<String>) -> Markup {
    match value {
        Some(digest) => {
            let start: String = digest.chars().take(12).collect();
            html! { abbr title=(digest) { code { (start) } } }
        }
        None => html! { "-" },
    }
}

/// A column for each run, if several were merged.
fn machine(run: &Run) -> Markup {
    let origins = origins(run);
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in origins.iter().flat_map(|(_, manifest)| &manifest.machine) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    html! {
        div.scroll tabindex="0" {
            table.words {
                @if !run.parts.is_empty() {
                    thead {
                        tr {
                            th scope="col" { "run" }
                            @for (name, _) in &origins { th scope="col" { (name) } }
                        }
                    }
                }
                tbody {
                    @for (name, value) in FACTS {
                        tr {
                            th scope="row" { (name) }
                            @for (_, manifest) in &origins { td { (value(manifest)) } }
                        }
                    }
                    @for name in names {
                        tr {
                            th scope="row" { (name) }
                            @for (_, manifest) in &origins { td { (fact(manifest, name)) } }
                        }
                    }
                }
            }
        }
    }
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
