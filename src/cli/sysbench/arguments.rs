//! The words of sysbench's command line: options wherever they stand, then script, command and
//! contenders in this order.

use anyhow::Context;
use clap::Args;
use rqps_plan::{Contender, Sweep};

#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// Options, a script, a command and contenders, as in oltp_read_only --threads=4 run
    #[arg(value_name = "WORD", allow_hyphen_values = true, trailing_var_arg = true)]
    pub(super) words: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct CommandWords {
    /// Without their dashes.
    pub(super) options: Vec<String>,
    pub(super) script: Option<String>,
    pub(super) command: Option<String>,
    pub(super) contenders: Vec<Contender>,
}

impl CommandWords {
    pub(super) fn read(all: &[String]) -> anyhow::Result<CommandWords> {
        let mut words = CommandWords::default();
        for word in all {
            if let Some(option) = word.strip_prefix("--") {
                words.options.push(option.to_string());
            } else if word.starts_with('-') && word.len() > 1 {
                anyhow::bail!("unknown option '{word}': options begin with two dashes");
            } else if words.script.is_none() {
                words.script = Some(word.clone());
            } else if words.command.is_none() {
                words.command = Some(word.clone());
            } else {
                let sweep: Sweep = word.parse().with_context(|| {
                    format!("'{word}' follows the command, but is no contender")
                })?;
                words.contenders.extend(sweep.0);
            }
        }
        Ok(words)
    }

    /// Whether a flag is set that is about no script.
    pub(super) fn wants(&self, flag: &str) -> bool {
        let on = [flag.to_string(), format!("{flag}=on")];
        self.options.iter().any(|option| on.contains(option))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> anyhow::Result<CommandWords> {
        let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
        CommandWords::read(&words)
    }

    #[test]
    fn options_stand_anywhere() {
        let words = read("--threads=4 oltp_read_only --time=1 run --tables=2 sqlite b=sqlite");
        let words = words.unwrap();
        assert_eq!(words.options, ["threads=4", "time=1", "tables=2"]);
        assert_eq!(words.script.as_deref(), Some("oltp_read_only"));
        assert_eq!(words.command.as_deref(), Some("run"));
        assert_eq!(words.contenders.len(), 2);
    }

    #[test]
    fn what_follows_the_command_is_a_contender() {
        let error = read("oltp_read_only run again").unwrap_err();
        assert!(format!("{error:#}").contains("'again' follows the command"), "{error:#}");
        assert!(read("oltp_read_only -t 4 run").is_err());
    }
}
