//! `rqps dbms build`: builds from source, ahead of time.

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
    /// What to build: postgres@17.6, or several: 'postgres@{15.18,18.6}'.
    #[arg(value_name = "CONTENDER", required = true)]
    contenders: Vec<Sweep>,
    /// Flags for the compiler in place of the recipe's, such as '-O3 -march=native'.
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    flags: Option<String>,
    /// The C compiler [default: the recipe's, gcc].
    #[arg(long, value_name = "PROGRAM")]
    cc: Option<String>,
    /// Optimise when linking.
    #[arg(long)]
    lto: bool,
    /// Build what is there: a tarball, a folder of tarballs, or a folder with sources.
    #[arg(long, value_name = "FILE|DIR")]
    source: Option<PathBuf>,
    /// Call the build postgres@src-17.6+NAME [default: after the flags that are special about it].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// End a build that takes longer.
    #[arg(long, value_name = "TIME", default_value_t = Span(source::BUILD_LIMIT))]
    build_limit: Span,
    /// Try again what failed before.
    #[arg(long)]
    retry: bool,
}

/// Builds each, and prints the contender to use.
pub(super) fn run(home: &Home, cancel: &Cancel, arguments: &Arguments) -> anyhow::Result<Exit> {
    let contenders: Vec<&Contender> = arguments.contenders.iter().flat_map(|one| &one.0).collect();
    // Before the first, which takes minutes.
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
                    "what is special about a build is said by flags: write {}@{version}, and what '{variant}' \
                 stands for as --cc, --flags and --lto, or as --name",
                    contender.dbms
                ),
            }
        }
        _ => bail!(
            "'{contender}' names no version that could be built: write {0}@<version>, as in \
             postgres@17.6",
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
    let took = if is_new { format!("took {took}") } else { format!("was built before, in {took}") };
    format!("{took}: {flags}{lto}, {compiler}, in {}", build.root.display())
}
