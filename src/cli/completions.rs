//! `rqps completions`: prints completions of verbs and flags for a shell.

use clap::{Args, Command};
use clap_complete::Shell;

use super::exit::Exit;
use super::output;

#[derive(Args)]
#[command(after_help = "\
Where shells look for completions:
  bash  ~/.local/share/bash-completion/completions/rqps
  zsh   _rqps in a directory of $fpath
  fish  ~/.config/fish/completions/rqps.fish")]
pub(crate) struct Arguments {
    /// Shell that the completions are for.
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, mut rqps: Command) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut rqps, "rqps", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
