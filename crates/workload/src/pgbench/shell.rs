//! `\shell` and `\setshell`, which run only where the user allows it.

use std::process::{Command, Stdio};

use super::variables::Variables;

/// Bytes of a command line at most.
const LONGEST: usize = 1 << 16;

/// The words as a command line. `:name` is a variable, and a word that begins with `::` begins with
/// one colon.
fn line(words: &[String], variables: &Variables) -> Result<String, String> {
    let mut line = String::new();
    for word in words {
        let text = match word.strip_prefix(':') {
            None => word.clone(),
            Some(rest) if rest.starts_with(':') => rest.to_string(),
            Some(name) => variables
                .text(name)
                .ok_or_else(|| format!("undefined variable '{name}' in the shell's command"))?,
        };
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&text);
    }
    match line.len() <= LONGEST {
        true => Ok(line),
        false => Err(format!("the shell's command is longer than {LONGEST} bytes")),
    }
}

fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).stdin(Stdio::null());
    command
}

/// Runs a command with rqps's own output.
pub(super) fn run(words: &[String], variables: &Variables) -> Result<(), String> {
    let line = line(words, variables)?;
    let status = shell(&line).status().map_err(|error| format!("cannot start /bin/sh: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("(shell) command failed with {status}")),
    }
}

/// Runs a command and reads the integer that it prints.
pub(super) fn read(words: &[String], variables: &Variables) -> Result<String, String> {
    let line = line(words, variables)?;
    let output = shell(&line).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot start /bin/sh: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.is_empty() {
        return Err(format!("could not read result of shell command: {}", output.status));
    }
    let number = text.lines().next().unwrap_or_default().trim();
    match number.parse::<i64>() {
        Ok(number) => Ok(number.to_string()),
        Err(_) => Err(format!("shell command must return an integer, not '{number}'")),
    }
}
