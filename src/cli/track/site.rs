//! `rqps track site`: the pages of a folder of nights.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use rqps_analysis::track::TrackHistory;
use rqps_report::SiteOptions;
use rqps_store::track::Track;
use rqps_system::printable;
use rqps_system::program::{Surroundings, command, find, run as run_program};

use super::super::exit::Exit;
use super::super::files::refuse_theirs;
use super::super::headings::OUTPUT;
use super::super::output;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder of nights.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Folder of the site [default: DIR/site].
    #[arg(long, value_name = "SITE", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Where the site will be served, for links in the feed.
    #[arg(long, value_name = "URL", help_heading = OUTPUT)]
    base_url: Option<String>,
    /// Checkout of the DBMS, to list the commits between the builds of a change.
    #[arg(long, value_name = "CHECKOUT", help_heading = OUTPUT)]
    source: Option<PathBuf>,
}

/// Commits that are listed of a change.
const COMMITS: usize = 50;
const GIT_LIMIT: Duration = Duration::from_secs(30);

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let track = Track::open(&arguments.folder)?;
    if let Some(url) = &arguments.base_url
        && !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
    {
        bail!("'{url}' is no address of a site. Begin it with https:// or http://");
    }
    let all = track.contents()?;
    let history = TrackHistory::new(&all);
    let commits = match &arguments.source {
        Some(checkout) => commits(checkout, &history)?,
        None => BTreeMap::new(),
    };
    let options = SiteOptions { base_url: arguments.base_url.clone(), commits };
    let files = rqps_report::track_site(&history, &options);
    let out = arguments.out.clone().unwrap_or_else(|| arguments.folder.join("site"));
    refuse_theirs(&out, "site.json", ["index.html"].into_iter())?;
    create(&out)?;
    let folders: BTreeSet<&Path> =
        files.iter().filter_map(|file| Path::new(&file.name).parent()).collect();
    for folder in folders.into_iter().filter(|folder| !folder.as_os_str().is_empty()) {
        create(&rqps_system::below(&out, folder)?)?;
    }
    let bytes: usize = files.iter().map(|file| file.contents.len()).sum();
    for file in &files {
        let path = rqps_system::below(&out, Path::new(&file.name))?;
        rqps_store::write_whole(&path, |to| to.write_all(&file.contents))?;
    }
    output::note(&format!(
        "wrote {}: {} files, {:.1} MB",
        out.join("index.html").display(),
        files.len(),
        bytes as f64 / 1e6
    ));
    Ok(Exit::Done)
}

/// The commits of each change whose builds have one, as far as the checkout has them.
fn commits(
    checkout: &Path,
    history: &TrackHistory<'_>,
) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let git = find("git", &path).context("--source needs git, which is not installed")?;
    let folder =
        checkout.canonicalize().with_context(|| format!("cannot read '{}'", checkout.display()))?;
    let around = Surroundings { folder: &folder, user: None, environment: &["HOME"], at_end: None };
    let mut all = BTreeMap::new();
    for group in history.changes() {
        let (before, after) = (&group.before.build.commit, &group.after.build.commit);
        let Some((before, after)) = before.as_ref().zip(after.as_ref()) else { continue };
        // They come from files, and must not be options.
        if !is_commit(before) || !is_commit(after) {
            continue;
        }
        let mut command = command(&git, &around);
        command.args(["--no-pager", "log", "--oneline", "--no-decorate", "--max-count"]);
        command.arg((COMMITS + 1).to_string()).arg(format!("{before}..{after}")).arg("--");
        let said = run_program(&mut command, GIT_LIMIT, &mut || Ok(()))?;
        if !said.status.success() {
            let why = said.stderr.lines().next().unwrap_or_default();
            output::note(&format!("no commits of change {}: {why}", group.id));
            continue;
        }
        let mut lines: Vec<String> =
            said.stdout.lines().map(|line| printable(line).into_owned()).collect();
        if lines.len() > COMMITS {
            lines.truncate(COMMITS);
            lines.push("… and more".to_string());
        }
        all.insert(group.id.clone(), lines);
    }
    Ok(all)
}

fn is_commit(text: &str) -> bool {
    (4..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn create(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create '{}'", folder.display()))
}

// Made nights, as the site is tested with.
#[cfg(test)]
#[allow(dead_code)]
#[path = "../../../crates/report/tests/report/nights.rs"]
mod nights;

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rqps_report::SiteOptions;
    use rqps_store::track::TrackContents;

    use super::{TrackHistory, nights};
    use crate::cli::Cli;

    /// The commands of the search on pages of changes, as words.
    fn searches(contents: &TrackContents) -> Vec<Vec<String>> {
        let files = rqps_report::track_site(&TrackHistory::new(contents), &SiteOptions::default());
        let pages = files.into_iter().filter(|file| file.name.starts_with("c/"));
        let commands = pages.filter_map(|page| {
            let text = String::from_utf8(page.contents).unwrap();
            let command = text.split("<code>rqps bisect ").nth(1)?.split("</code>").next()?;
            Some(shlex::split(&format!("rqps bisect {command}")).unwrap())
        });
        commands.collect()
    }

    #[test]
    fn the_search_that_a_page_names_is_one() {
        let mut contents = nights::contents(40, 3);
        for point in &mut contents.points {
            let tests = std::mem::take(&mut point.tests).into_values();
            point.tests = ["point-query", "scan", "read-only-sum"]
                .map(String::from)
                .into_iter()
                .zip(tests)
                .collect();
        }
        contents.settings.compare =
            ["--workload=micro", "--rows", "1K", "--budget", "30m"].map(String::from).to_vec();
        let searches = searches(&contents);
        assert_eq!(searches.len(), 2, "one towards slower, one towards faster: {searches:?}");
        for words in &searches {
            assert!(Cli::try_parse_from(words).is_ok(), "{words:?}");
            assert!(words[2].starts_with("postgres@git:") && words[2] != words[3], "{words:?}");
        }
        let all = searches.concat().join(" ");
        assert!(all.contains("--workload micro:point-query --rows 1K --repo CHECKOUT"), "{all}");
        assert!(all.contains("--workload micro:scan --rows 1K --direction faster --repo"), "{all}");
    }

    #[test]
    fn releases_are_searched_by_their_names_and_folders_are_not() {
        let mut contents = nights::contents(40, 3);
        contents.settings.compare = ["--workload", "sql:queries"].map(String::from).to_vec();
        for (night, point) in contents.points.iter_mut().enumerate() {
            point.build.commit = None;
            point.build.spec = format!("main=postgres@debian-17.{night}:x10a");
        }
        let words = searches(&contents).concat().join(" ");
        assert!(
            words.contains("rqps bisect postgres@debian-17.19:x10a postgres@debian-17.20:x10a"),
            "{words}"
        );
        assert!(words.contains("--workload sql:queries --test test-00"), "{words}");
        assert!(!words.contains("--repo"), "{words}");
        for point in &mut contents.points {
            point.build.spec = "postgres@/opt/nightly".to_string();
        }
        assert!(searches(&contents).is_empty());
    }
}
