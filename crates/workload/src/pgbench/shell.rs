//! `\shell` and `\setshell`, which run only where the user allows it, and never with root's rights.

use std::path::Path;
use std::process::{Command, Stdio};

use rqps_system::User;
use rqps_system::program::{Surroundings, command, start};
use rustix::process::Signal;

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

/// As the user of servers, without rqps's environment.
fn shell(words: &[String], variables: &Variables) -> Result<Command, String> {
    let line = line(words, variables)?;
    let user = User::of_servers().map_err(|error| error.to_string())?;
    let (folder, at_end) = (Path::new("/"), Some(Signal::KILL));
    let around = Surroundings { folder, user, environment: &[], at_end };
    let mut command = command(Path::new("/bin/sh"), &around);
    command.args(["-c", &line]);
    Ok(command)
}

fn unstarted(error: std::io::Error) -> String {
    format!("cannot start /bin/sh: {error}")
}

/// Runs a command with rqps's own output.
pub(super) fn run(words: &[String], variables: &Variables) -> Result<(), String> {
    let started = start(shell(words, variables)?);
    let status = started.and_then(|mut child| child.wait()).map_err(unstarted)?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("(shell) command failed with {status}")),
    }
}

/// Runs a command and reads the integer that it prints.
pub(super) fn read(words: &[String], variables: &Variables) -> Result<String, String> {
    let mut command = shell(words, variables)?;
    command.stdout(Stdio::piped());
    let output = start(command).and_then(|child| child.wait_with_output()).map_err(unstarted)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_neither_the_rights_of_root_nor_the_environment() {
        let said = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            read(&words, &Variables::new(std::iter::empty())).unwrap()
        };
        let own = rustix::process::geteuid().as_raw();
        let user = User::of_servers().unwrap().map_or(own, |user| user.uid);
        assert_ne!(user, 0);
        assert_eq!(said(&["id", "-u"]), user.to_string());
        // Cargo sets it for every test.
        assert_eq!(said(&["echo", "${CARGO_MANIFEST_DIR:-7}"]), "7");
    }
}
