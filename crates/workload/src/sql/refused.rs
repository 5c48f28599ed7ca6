//! Statements that reach beyond the contenders' own data: a folder must not decide what a server
//! reads, writes or runs elsewhere on the machine.

use super::statements::SqlStatement;

/// Words that follow each other, and what is said.
struct Refusal {
    /// Words that the statement begins with, if it is only refused then.
    begins: &'static [&'static str],
    /// Words anywhere in it.
    has: &'static [&'static str],
    what: &'static str,
}

const REFUSALS: [Refusal; 9] = [
    Refusal { begins: &["load", "data"], has: &[], what: "LOAD DATA reads a file" },
    Refusal { begins: &["load", "xml"], has: &[], what: "LOAD XML reads a file" },
    Refusal { begins: &["copy"], has: &["program"], what: "COPY PROGRAM runs a program" },
    Refusal { begins: &[], has: &["into", "outfile"], what: "INTO OUTFILE writes a file" },
    Refusal { begins: &[], has: &["into", "dumpfile"], what: "INTO DUMPFILE writes a file" },
    Refusal { begins: &["attach"], has: &[], what: "ATTACH opens another database" },
    Refusal { begins: &["vacuum"], has: &["into"], what: "VACUUM INTO writes a file" },
    Refusal { begins: &["alter", "system"], has: &[], what: "ALTER SYSTEM changes the server" },
    Refusal { begins: &["install", "plugin"], has: &[], what: "INSTALL PLUGIN loads a library" },
];

/// Why a statement is not run, if so.
pub(crate) fn refusal(statement: &SqlStatement<'_>) -> Option<String> {
    let found = REFUSALS.iter().find(|refusal| {
        statement.begins_with(refusal.begins)
            && (refusal.has.is_empty() || statement.has_words(refusal.has))
    });
    // Without a program, COPY reads and writes files unless it names the client's streams.
    let streams = [["from", "stdin"], ["to", "stdout"]];
    let has_stream = streams.iter().any(|stream| statement.has_words(stream));
    let what = match found {
        Some(refusal) => refusal.what,
        None if statement.begins_with(&["copy"]) && !has_stream => "COPY reads or writes a file",
        None => return None,
    };
    Some(format!("{what}, which a folder may not. Put the data into load/"))
}

/// Whether it is plainly one query, which changes nothing. Functions may still do so: that is found
/// by comparing the tables.
pub(crate) fn only_reads(statement: &SqlStatement<'_>) -> bool {
    const BEGINS: [&str; 4] = ["select", "with", "values", "table"];
    const WRITES: [&[&str]; 7] = [
        &["insert"],
        &["update"],
        &["delete"],
        &["merge"],
        &["into"],
        &["for", "share"],
        &["in", "share", "mode"],
    ];
    BEGINS.iter().any(|word| statement.begins_with(&[word]))
        && !WRITES.iter().any(|words| statement.has_words(words))
}
