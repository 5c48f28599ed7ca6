//! `rqps dbms configs`: lists configs, or prints one of them.

use anyhow::bail;
use rqps_dbms::{NamedConfig, all_configs, configs, resolved};
use rqps_plan::{Contender, Dbms, suggestion};

use super::exit::Exit;
use super::output;
use super::table::table;

/// The families that have configs, in the order of the list.
pub(super) fn families() -> Vec<&'static str> {
    let mut families: Vec<&str> = all_configs().map(|config| config.family).collect();
    families.dedup();
    families
}

/// `which` is a contender or its beginning, a family of configs, or the name of a config.
pub(super) fn run(which: Option<&str>) -> anyhow::Result<Exit> {
    let Some(which) = which else { return list(all_configs()) };
    let name = which.strip_prefix('c').unwrap_or(which);
    let named: Vec<&NamedConfig> = all_configs().filter(|config| config.name == name).collect();
    if !named.is_empty() {
        let file = |config: &NamedConfig| format!("## {}\n{}", config.family, config.text);
        let files: Vec<String> = named.into_iter().map(file).collect();
        output::print(&files.join("\n"))?;
        return Ok(Exit::Done);
    }
    let contender: Contender = match which.parse() {
        Ok(contender) => contender,
        Err(_) if families().contains(&which) => {
            return list(all_configs().filter(|config| config.family == which));
        }
        Err(_) if !which.contains(['@', '/', ':', '?']) => {
            let dbms = Dbms::ALL.map(Dbms::name);
            let mut names: Vec<&str> = all_configs().map(|config| config.name).collect();
            names.sort_unstable();
            names.dedup();
            let hint = suggestion(which, dbms.into_iter().chain(names));
            bail!("unknown DBMS or config '{which}': {hint}");
        }
        Err(error) => return Err(error.into()),
    };
    if contender.config.is_none() {
        return list(configs(contender.dbms, contender.engine.as_deref()));
    }
    let head =
        format!("# {contender} on this machine; ? marks settings that some builds do not have");
    let lines: Vec<String> = std::iter::once(head).chain(resolved(&contender)?).collect();
    output::print(&(lines.join("\n") + "\n"))?;
    Ok(Exit::Done)
}

fn list(configs: impl IntoIterator<Item = &'static NamedConfig>) -> anyhow::Result<Exit> {
    let mut table = table(&["FOR", "CONFIG", "WHAT IT IS"]);
    for config in configs {
        table.add_row([config.family, config.name, &config.purpose()]);
    }
    output::print(&format!("{}\n", table.trim_fmt()))?;
    Ok(Exit::Done)
}
