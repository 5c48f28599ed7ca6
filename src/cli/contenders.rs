//! The contenders, an argument of every measuring verb; and how their passwords are hidden.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

use clap::Args;
use rqps_plan::{Contender, Sweep};

#[derive(Args)]
pub(crate) struct Contenders {
    /// Contenders; the first is the baseline
    ///
    /// Braces expand to several, as in 'postgres@{17.6,18.0}:x10{a,b}'. See rqps --help for all
    /// forms.
    #[arg(value_name = "CONTENDER", required_unless_present = "resume")]
    contenders: Vec<Sweep>,
}

impl From<Vec<Contender>> for Contenders {
    fn from(contenders: Vec<Contender>) -> Self {
        Contenders { contenders: vec![Sweep(contenders)] }
    }
}

impl Contenders {
    /// All of them, in order; none where a run is resumed.
    pub(crate) fn all(&self) -> Vec<Contender> {
        self.contenders.iter().flat_map(|sweep| sweep.0.clone()).collect()
    }
}

/// Overwrites the passwords of URLs where every user of the machine sees the arguments of processes
/// (`ps`, `/proc/PID/cmdline`). To be called after the arguments were copied and before other
/// threads could read them. If that fails, a note on stderr says what to do.
pub(crate) fn hide_passwords(arguments: &[OsString]) {
    let secrets: Vec<Vec<Range<usize>>> =
        arguments.iter().map(|argument| secrets(argument)).collect();
    if secrets.iter().all(Vec::is_empty) {
        return;
    }
    if overwrite(arguments, &secrets).is_err() {
        super::output::note(
            "warning: other users of this machine can see the password in the arguments of this \
             process. Put it into PGPASSWORD, ~/.pgpass, MYSQL_PWD or ~/.my.cnf",
        );
    }
}

/// Options of `rqps sysbench`, in which `_` may stand for `-`.
const PASSWORD_OPTIONS: [&str; 2] = ["--mysql-password=", "--pgsql-password="];

/// The parts of an argument that are, or may be, a password: the value of an option, between the
/// first colon and the last `@` behind a scheme, and the value of a parameter with `pass` in its
/// name.
fn secrets(argument: &OsStr) -> Vec<Range<usize>> {
    let bytes = argument.as_bytes();
    let is_letter = |(byte, of): (&u8, u8)| *byte == of || (*byte == b'_' && of == b'-');
    for option in PASSWORD_OPTIONS {
        if bytes.len() >= option.len() && bytes.iter().zip(option.bytes()).all(is_letter) {
            return std::iter::once(option.len()..bytes.len()).collect();
        }
    }
    let Some(scheme) = bytes.windows(3).position(|window| window == b"://") else {
        return Vec::new();
    };
    let begin = scheme + 3;
    let rest = &bytes[begin..];
    let mut found = Vec::new();
    let at = rest.iter().rposition(|byte| *byte == b'@');
    let colon = rest.iter().position(|byte| *byte == b':');
    if let (Some(colon), Some(at)) = (colon, at)
        && colon < at
    {
        found.push(begin + colon + 1..begin + at);
    }
    let query = rest.iter().position(|byte| *byte == b'?').map_or(rest.len(), |mark| mark + 1);
    let mut from = begin + query;
    for pair in rest[query..].split(|byte| *byte == b'&') {
        let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
        let is_pass = name.to_ascii_lowercase().windows(4).any(|window| window == b"pass");
        // No parameter has an encoded name, so its value may be a password.
        let is_secret = is_pass || name.contains(&b'%');
        if is_secret && name.len() < pair.len() {
            found.push(from + name.len() + 1..from + pair.len());
        }
        from += pair.len() + 1;
    }
    found
}

/// Writes stars over them in the memory that the kernel shows as the command line. It is the
/// kernel's own way to that memory, which checks the place, so that a wrong one is an error and
/// nothing else.
fn overwrite(arguments: &[OsString], secrets: &[Vec<Range<usize>>]) -> io::Result<()> {
    let wrong = || io::Error::from(io::ErrorKind::InvalidData);
    // The arguments lie behind each other, each with a zero at its end.
    let shown = fs::read("/proc/self/cmdline")?;
    let lengths: usize = arguments.iter().map(|argument| argument.len() + 1).sum();
    if shown.len() != lengths {
        return Err(wrong());
    }
    // The name of the program, in brackets, may have spaces. Behind it the third field is the next
    // one, and arg_start is the 48th (proc_pid_stat(5)).
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(") ").ok_or_else(wrong)?.1;
    let start = fields.split(' ').nth(48 - 3).and_then(|field| field.parse::<u64>().ok());
    let mut place = start.filter(|start| *start > 0).ok_or_else(wrong)?;
    let memory = OpenOptions::new().write(true).open("/proc/self/mem")?;
    for (argument, secrets) in arguments.iter().zip(secrets) {
        for secret in secrets {
            memory.write_all_at(&vec![b'*'; secret.len()], place + secret.start as u64)?;
        }
        place += argument.len() as u64 + 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_found_wherever_a_url_has_them() {
        for (argument, hidden) in [
            (
                "postgres://ann:hush@db/d?sslmode=require",
                "postgres://ann:****@db/d?sslmode=require",
            ),
            ("p=mysql://ann:hu/sh@db", "p=mysql://ann:*****@db"),
            ("postgres:///d?user=a&password=hush&x=1", "postgres:///d?user=a&password=****&x=1"),
            ("postgres://ann:hu@sh@db/d?sslpassword=x", "postgres://ann:*****@db/d?sslpassword=*"),
            ("postgres:///d?p%61ssword=hush", "postgres:///d?p%61ssword=****"),
            ("postgres://db:5432/d", "postgres://db:5432/d"),
            ("--mysql-password=hush", "--mysql-password=****"),
            ("--pgsql_password=hu=sh", "--pgsql_password=*****"),
            ("postgres@17.6:x10a?work_mem=64MB", "postgres@17.6:x10a?work_mem=64MB"),
            ("--password", "--password"),
        ] {
            let mut bytes = argument.as_bytes().to_vec();
            for secret in secrets(OsStr::new(argument)) {
                bytes[secret].fill(b'*');
            }
            assert_eq!(String::from_utf8(bytes).unwrap(), hidden);
        }
    }
}
