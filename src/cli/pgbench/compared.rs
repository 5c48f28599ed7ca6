//! Several contenders: what pgbench's letters mean for `rqps compare`.

use anyhow::bail;
use clap::Parser;
use rqps_plan::Contender;

use super::arguments::Arguments;
use crate::cli::compare;
use crate::cli::exit::Exit;

/// A command line of `rqps compare`.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: compare::Arguments,
}

pub(super) fn run(arguments: &Arguments, contenders: &[Contender]) -> anyhow::Result<Exit> {
    let words = words(arguments, contenders)?;
    let line = Line::try_parse_from(words).map_err(|error| {
        anyhow::anyhow!("{}", error.to_string().lines().next().unwrap_or_default())
    })?;
    // As words they have lost their passwords.
    compare::run(&line.arguments.with(contenders.to_vec()))
}

/// The command line of `rqps compare` that does the same.
fn words(arguments: &Arguments, contenders: &[Contender]) -> anyhow::Result<Vec<String>> {
    let given = &arguments.given;
    let refused = [
        ("-i", given.initialize),
        ("-t", given.transactions.is_some()),
        ("-R", given.rate.is_some()),
        ("-L", given.latency_limit.is_some()),
        ("-C", given.connect),
        ("-r", given.report_per_command),
        ("-P", given.progress.is_some()),
        ("--max-tries", given.max_tries != 1),
        ("--allow-shell", given.allow_shell),
        ("--pgbench-undefined", given.pgbench_undefined),
    ];
    if let Some((flag, _)) = refused.into_iter().find(|(_, is_given)| *is_given) {
        bail!("{flag} is for one contender, but {} are compared. Drop it", contenders.len());
    }
    let scripts = arguments.scripts.iter().map(|(name, is_builtin)| match is_builtin {
        // A name with neither a dot nor a slash is that of a builtin script.
        false if !name.contains(['.', '/']) => format!("./{name}"),
        _ => name.clone(),
    });
    let mut scripts: Vec<String> = scripts.collect();
    if scripts.is_empty() {
        scripts.push("tpcb-like".to_string());
    }
    let mut words = vec!["compare".to_string()];
    words.extend(["--workload".to_string(), format!("pgbench:{}", scripts.join(","))]);
    words.extend(["--clients".to_string(), given.client.to_string()]);
    words.extend(["--scale".to_string(), given.scale.unwrap_or(1).to_string()]);
    if let Some(mode) = given.protocol {
        words.extend(["--query-mode".to_string(), mode.to_string()]);
    }
    words.extend(given.define.iter().map(|text| format!("--define={text}")));
    if let Some(seconds) = given.time {
        words.extend(["--secs".to_string(), seconds.to_string()]);
    }
    if given.random_seed.is_some() {
        words.extend(["--seed".to_string(), arguments.seed()?.to_string()]);
    }
    words.push("--".to_string());
    words.extend(contenders.iter().map(Contender::to_string));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use rqps_plan::Plan;

    use super::*;
    use crate::cli::matrix;

    /// A command line of `rqps pgbench`.
    #[derive(Parser)]
    struct Pgbench {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn plan(words: &str) -> Plan {
        let line = Pgbench::parse_from(words.split(' ')).arguments;
        let contenders = line.contenders();
        let words = super::words(&line, &contenders).unwrap();
        Line::parse_from(words).arguments.with(contenders).plan().unwrap()
    }

    #[test]
    fn both_verbs_and_a_plan_file_come_to_the_same_plan() {
        let letters = plan(
            "pgbench -b se@3 -N -M prepared -D a=1 -c 2 -s 3 -T 5 --random-seed 7 \
                            sqlite b=sqlite?mmap_size=256M",
        );
        let flags = "compare --workload pgbench:select-only@3,simple-update --query-mode prepared \
                     --define a=1 --clients 2 --scale 3 --secs 5 --seed 7 sqlite \
                     b=sqlite?mmap_size=256M";
        let flags = Line::parse_from(flags.split(' ')).arguments.plan().unwrap();
        assert_eq!(letters.to_toml(), flags.to_toml());
        let file = "contenders = ['sqlite', 'b=sqlite?mmap_size=256M']\nseed = 7\n[compare.a]\n\
                    workload = 'pgbench:select-only@3,simple-update'\nquery-mode = 'prepared'\n\
                    define = 'a=1'\nclients = 2\nscale = 3\nsecs = 5\n";
        assert_eq!(matrix::parse(file).unwrap().items[0].plan.to_toml(), flags.to_toml());
        let tests = letters.workload().tests();
        assert_eq!(tests, ["select-only", "simple-update", "mix"]);
    }
}
