//! Several contenders: what sysbench's options mean for `rqps compare`.

use anyhow::bail;
use clap::Parser;
use rqps_plan::Contender;

use super::arguments::CommandWords;
use crate::cli::compare;
use crate::cli::exit::Exit;

/// A command line of `rqps compare`.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: compare::Arguments,
}

pub(super) fn run(words: &CommandWords) -> anyhow::Result<Exit> {
    let line = Line::try_parse_from(line(words)?).map_err(|error| {
        anyhow::anyhow!("{}", error.to_string().lines().next().unwrap_or_default())
    })?;
    // As words they have lost their passwords.
    compare::run(&line.arguments.with(words.contenders.clone()))
}

/// Options of sysbench that a comparison has flags for.
const FLAGS: [(&str, &str); 3] =
    [("threads", "--clients"), ("time", "--secs"), ("rand_seed", "--seed")];

/// Options of sysbench that a comparison cannot honour.
const ALONE: [&str; 10] = [
    "events",
    "rate",
    "warmup_time",
    "forced_shutdown",
    "report_interval",
    "report_checkpoints",
    "histogram",
    "percentile",
    "verbosity",
    "db_driver",
];

/// The command line of `rqps compare` that does the same.
fn line(words: &CommandWords) -> anyhow::Result<Vec<String>> {
    let contenders = &words.contenders;
    if words.command.as_deref() != Some("run") {
        bail!("{} contenders are compared. Write run before them", contenders.len());
    }
    let script = words.script.as_deref().unwrap_or_default();
    let mut line = vec!["compare".to_string(), "--workload".to_string(), format!("lua:{script}")];
    for option in &words.options {
        let (name, value) = option.split_once('=').unwrap_or((option, "on"));
        let name = name.replace('-', "_");
        if ALONE.contains(&name.as_str())
            || name.starts_with("mysql_") && is_login(&name)
            || name.starts_with("pgsql_") && is_login(&name)
        {
            bail!(
                "--{option} is for one contender, but {} are compared. Drop it",
                contenders.len()
            );
        }
        match FLAGS.iter().find(|(theirs, _)| *theirs == name) {
            Some((_, flag)) => line.extend([flag.to_string(), value.to_string()]),
            None => line.push(format!("--define={name}={value}")),
        }
    }
    line.push("--".to_string());
    line.extend(contenders.iter().map(Contender::to_string));
    Ok(line)
}

/// Whether an option says how a server is reached.
fn is_login(name: &str) -> bool {
    ["host", "port", "socket", "user", "password", "db", "ssl"]
        .iter()
        .any(|what| name.split_once('_').is_some_and(|(_, rest)| rest == *what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> CommandWords {
        let words: Vec<String> = text.split_whitespace().map(str::to_string).collect();
        CommandWords::read(&words).unwrap()
    }

    #[test]
    fn both_verbs_come_to_the_same_line() {
        let given = words(
            "--threads=2 oltp_read_only --time=5 --table-size=100 --rand-seed=7 --skip-trx run \
             sqlite b=sqlite",
        );
        assert_eq!(
            line(&given).unwrap().join(" "),
            "compare --workload lua:oltp_read_only --clients 2 --secs 5 --define=table_size=100 \
             --seed 7 --define=skip_trx=on -- sqlite b=sqlite"
        );
    }

    #[test]
    fn what_only_one_contender_can_do_is_refused_for_several() {
        for option in ["--rate=10", "--report-interval=1", "--mysql-host=a", "--pgsql_db=b"] {
            let given = words(&format!("oltp_read_only {option} run sqlite b=sqlite"));
            let error = line(&given).unwrap_err().to_string();
            assert!(error.contains("is for one contender, but 2 are compared"), "{error}");
        }
        let error = line(&words("x prepare sqlite b=sqlite")).unwrap_err().to_string();
        assert!(error.contains("Write run before them"), "{error}");
        assert!(line(&words("x --mysql-ignore-errors=all run sqlite b=sqlite")).is_ok());
    }
}
