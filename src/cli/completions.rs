//! `rqps completions`: what a shell needs to complete rqps's verbs and flags.

use clap::{Args, Command};
use clap_complete::Shell;

use super::exit::Exit;
use super::output;

#[derive(Args)]
#[command(after_help = "\
Where shells look for them:
  rqps completions bash > ~/.local/share/bash-completion/completions/rqps
  rqps completions zsh > ~/.zfunc/_rqps                 with fpath+=~/.zfunc before compinit in ~/.zshrc
  rqps completions fish > ~/.config/fish/completions/rqps.fish")]
pub(crate) struct Arguments {
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, mut rqps: Command) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut rqps, "rqps", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
