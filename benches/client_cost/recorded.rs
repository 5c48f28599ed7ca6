//! Instructions at their last recording: `instructions.tsv`. They do not vary, so a change of more
//! than a hundredth comes from the code.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The allowed difference, as a share.
const MOST: f64 = 0.01;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/client_cost/instructions.tsv")
}

/// The difference of a count from the recorded one, if it is larger than allowed. With
/// `UPDATE_EXPECT=1` it is recorded instead.
pub(crate) fn differs(dbms: &str, statement: &str, count: f64) -> anyhow::Result<Option<String>> {
    let file = file();
    let text =
        fs::read_to_string(&file).with_context(|| format!("reading '{}'", file.display()))?;
    let begin = format!("{dbms}\t{statement}\t");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let mut lines: Vec<String> =
            text.lines().filter(|line| !line.starts_with(&begin)).map(str::to_string).collect();
        lines.push(format!("{begin}{count:.0}"));
        // Comments stay on top.
        lines.sort_by_key(|line| (!line.starts_with('#'), line.clone()));
        fs::write(&file, lines.join("\n") + "\n")?;
        return Ok(None);
    }
    let recorded = text.lines().find_map(|line| line.strip_prefix(&begin));
    let recorded =
        recorded.with_context(|| format!("{dbms}, {statement} is not in '{}'", file.display()))?;
    let recorded: f64 = recorded.parse()?;
    let is_same = (count / recorded - 1.0).abs() <= MOST;
    Ok((!is_same)
        .then(|| format!("{dbms}, {statement}: {count:.0} instructions, {recorded} before")))
}
