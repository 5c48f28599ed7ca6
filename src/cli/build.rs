//! `rqps dbms build`: builds from source in advance.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use rqps_dbms::Home;
use rqps_dbms::source::{self, BuildOptions, Built, Installed, Progress};
use rqps_plan::{Build, Contender, Source, Span, Sweep};
use rqps_system::Cancel;

use super::exit::Exit;
use super::output;
use super::progress::{Fetching, clock};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Releases to build: postgres@17.6, or several as in 'postgres@{15.18,18.6}'.
    #[arg(value_name = "CONTENDER", required = true)]
    contenders: Vec<Sweep>,
    /// Use these compiler flags instead of the recipe's, such as '-O3 -march=native'.
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    flags: Option<String>,
    /// C compiler [default: the recipe's, gcc].
    #[arg(long, value_name = "PROGRAM")]
    cc: Option<String>,
    /// Use link-time optimisation.
    #[arg(long)]
    lto: bool,
    /// Build from a tarball, a folder of tarballs, or a folder with sources.
    #[arg(long, value_name = "FILE|DIR")]
    source: Option<PathBuf>,
    /// Name the build postgres@src-17.6+NAME
    ///
    /// [default: named after the flags that differ from the recipe's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Stop a build that takes longer than this.
    #[arg(long, value_name = "TIME", default_value_t = Span(source::BUILD_LIMIT))]
    build_limit: Span,
    /// Repeat builds that failed before.
    #[arg(long)]
    retry: bool,
}

/// Builds each, and prints the contender to use.
pub(super) fn run(home: &Home, cancel: &Cancel, arguments: &Arguments) -> anyhow::Result<Exit> {
    let contenders: Vec<&Contender> = arguments.contenders.iter().flat_map(|one| &one.0).collect();
    // Checked before the first build, which takes minutes.
    let wanted: Vec<&str> =
        contenders.iter().map(|contender| version(contender)).collect::<Result<_, _>>()?;
    for (contender, version) in contenders.into_iter().zip(wanted) {
        let mut fetching = Fetching::new();
        let mut is_new = false;
        let mut tell = |event| {
            is_new |= matches!(event, Progress::Building { .. });
            fetching.tell(event, cancel)
        };
        let built = source::build(home, contender.dbms, version, arguments.options(), &mut tell);
        let built = built.map_err(rqps_dbms::DbmsError::from)?;
        fetching.finish();
        output::note(&described(&built, is_new));
        output::print(&format!("{}\n", built.contender().unwrap_or_default()))?;
    }
    Ok(Exit::Done)
}

impl Arguments {
    fn options(&self) -> BuildOptions {
        BuildOptions {
            flags: self.flags.clone(),
            compiler: self.cc.clone(),
            lto: self.lto,
            source: self.source.clone(),
            recipe: None,
            name: self.name.clone(),
            limit: self.build_limit.0,
            retry: self.retry,
        }
    }
}

/// The version that a contender names.
fn version(contender: &Contender) -> anyhow::Result<&str> {
    match &contender.build {
        Build::Version { source: None | Some(Source::Src), version } => {
            match version.split_once('+') {
                None => Ok(version),
                Some((version, variant)) => bail!(
                    "cannot build '{variant}' by its name. Write {}@{version}, and what '{variant}' stands \
                     for as --cc, --flags, --lto or --name",
                    contender.dbms
                ),
            }
        }
        _ => bail!(
            "'{contender}' names no version to build. Write {0}@<version>, as in postgres@17.6",
            contender.dbms
        ),
    }
}

fn described(build: &Installed, is_new: bool) -> String {
    let Some(Built { compiler, flags, lto, seconds, .. }) = &build.built else {
        return build.root.display().to_string();
    };
    let lto = if *lto { ", link-time optimisation" } else { "" };
    let took = clock(std::time::Duration::from_secs_f64(*seconds));
    let took = if is_new { format!("built in {took}") } else { format!("built before, in {took}") };
    format!("{took}: {flags}{lto}, {compiler}, in {}", build.root.display())
}
