//! Statements that reach beyond the contenders' own data: a folder must not decide what a server
//! reads, writes or runs elsewhere on the machine.

use rqps_dbms::Lexis;

use super::statements::{SqlStatement, split};

/// Follows what a statement of a folder does.
pub(crate) const NOT_IN_A_FOLDER: &str = ", which a folder may not. Put the data into load/";

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

/// What a statement does for which it is not run, if so.
pub(crate) fn refusal(statement: &SqlStatement<'_>, lexis: Lexis) -> Option<&'static str> {
    let found = REFUSALS.iter().find(|refusal| {
        statement.begins_with(refusal.begins)
            && (refusal.has.is_empty() || statement.has_words(refusal.has))
    });
    match found {
        Some(refusal) => Some(refusal.what),
        None if statement.begins_with(&["copy"]) => match statement.copies(lexis) {
            Some([_, "stdin" | "stdout"]) => None,
            _ => Some("COPY reads or writes a file"),
        },
        None => None,
    }
}

/// Why a script's text is not sent, if so. This is asked while a client is measured, so only a text
/// with a word that a refusal needs is taken apart. If it cannot be, it is refused.
pub(crate) fn refusal_of_text(text: &str, lexis: Lexis) -> Option<String> {
    let suspect = suspect(text)?;
    match split(text, lexis) {
        Ok(statements) => {
            let what = statements.iter().find_map(|it| refusal(it, lexis))?;
            Some(format!("{what}, which a script may not"))
        }
        Err(error) => Some(format!("SQL with '{suspect}' cannot be read: {}", error.what)),
    }
}

/// A word without which nothing is refused.
fn suspect(text: &str) -> Option<&str> {
    // The last of each: "into" and "data" are everywhere.
    let needed = |refusal: &Refusal| match refusal.has {
        [.., last] if refusal.begins.is_empty() => *last,
        _ => refusal.begins[0],
    };
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.find(|word| {
        // Most words are told apart by their lengths.
        (4..=8).contains(&word.len())
            && REFUSALS.iter().any(|refusal| word.eq_ignore_ascii_case(needed(refusal)))
    })
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

#[cfg(test)]
mod tests {
    use rqps_dbms::Dialect;

    use super::*;

    #[test]
    fn a_text_is_refused_for_any_of_its_statements() {
        let refused = |text: &str, dialect: Dialect| refusal_of_text(text, dialect.lexis);
        for (text, told) in [
            ("copy p from program 'id'", "COPY PROGRAM runs a program"),
            ("select 1; COPY p TO '/tmp/x'", "COPY reads or writes a file"),
            ("alter system set port = 1", "ALTER SYSTEM changes the server"),
            ("/* no */ copy p from '/etc/passwd'", "COPY reads or writes a file"),
            ("copy (select * from stdin) to '/tmp/x'", "COPY reads or writes a file"),
            ("copy (select 1 as to, stdout) to '/tmp/x'", "COPY reads or writes a file"),
            ("copy p from \"stdin\"", "COPY reads or writes a file"),
            ("copy p from 'x", "cannot be read"),
        ] {
            let said = refused(text, Dialect::POSTGRES).unwrap_or_default();
            assert!(said.contains(told), "{text}: {said}");
        }
        for (text, told) in [
            ("select 1 into outfile '/tmp/x'", "INTO OUTFILE writes a file"),
            ("LOAD DATA INFILE 'x' INTO TABLE t", "LOAD DATA reads a file"),
            ("install plugin x soname 'y'", "INSTALL PLUGIN loads a library"),
        ] {
            let said = refused(text, Dialect::INNODB).unwrap_or_default();
            assert_eq!(said, format!("{told}, which a script may not"), "{text}");
        }
        for text in [
            "select c from t where id = ?",
            "select 'copy p from program x'",
            "insert into t values ('attach', 'load data')",
            "alter table t add k int",
            "vacuum t",
            "copy t to stdout",
        ] {
            assert_eq!(refused(text, Dialect::POSTGRES), None, "{text}");
        }
    }

    #[test]
    fn each_refusal_has_a_word_that_is_looked_for() {
        for refusal in &REFUSALS {
            let words: Vec<&str> = refusal.begins.iter().chain(refusal.has).copied().collect();
            assert!(suspect(&words.join(" ")).is_some(), "{}", refusal.what);
        }
        assert!(suspect("copy t").is_some());
    }
}
