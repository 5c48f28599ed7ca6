//! The scripts that pgbench brings along: their statements and draws are part of its documentation.

use rqps_plan::suggestion;

/// A script by its name.
#[derive(Debug)]
pub struct BuiltinScript {
    pub name: &'static str,
    /// What it is like.
    pub about: &'static str,
    pub text: &'static str,
}

pub static BUILTINS: [BuiltinScript; 3] = [
    BuiltinScript {
        name: "tpcb-like",
        about: "<builtin: TPC-B (sort of)>",
        text: "\\set aid random(1, 100000 * :scale)\n\
               \\set bid random(1, 1 * :scale)\n\
               \\set tid random(1, 10 * :scale)\n\
               \\set delta random(-5000, 5000)\n\
               BEGIN;\n\
               UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
               SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
               UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n\
               UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n\
               INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
               VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n\
               END;\n",
    },
    BuiltinScript {
        name: "simple-update",
        about: "<builtin: simple update>",
        text: "\\set aid random(1, 100000 * :scale)\n\
               \\set bid random(1, 1 * :scale)\n\
               \\set tid random(1, 10 * :scale)\n\
               \\set delta random(-5000, 5000)\n\
               BEGIN;\n\
               UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
               SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
               INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
               VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n\
               END;\n",
    },
    BuiltinScript {
        name: "select-only",
        about: "<builtin: select only>",
        text: "\\set aid random(1, 100000 * :scale)\n\
               SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
    },
];

impl BuiltinScript {
    /// The one whose name begins like this.
    pub fn find(prefix: &str) -> Result<&'static BuiltinScript, String> {
        let names = || BUILTINS.iter().map(|script| script.name);
        let mut found = BUILTINS.iter().filter(|script| script.name.starts_with(prefix));
        match (found.next(), found.count()) {
            (Some(script), 0) => Ok(script),
            (Some(_), more) => {
                let count = more + 1;
                let names: Vec<&str> = names().filter(|name| name.starts_with(prefix)).collect();
                Err(format!(
                    "ambiguous builtin script '{prefix}': {count} begin like this ({})",
                    names.join(", ")
                ))
            }
            (None, _) => {
                Err(format!("no builtin script '{prefix}': {}", suggestion(prefix, names())))
            }
        }
    }
}
