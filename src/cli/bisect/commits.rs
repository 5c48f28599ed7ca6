//! The search among the commits of a checkout.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use rqps_dbms::DbmsError;
use rqps_dbms::source::{
    self, Checkout, Commit, CommitBuild, CommitOutcome, OfCommits, SourceError, Tell,
};
use rqps_plan::{Contender, Instructions, Plan, Profiled};
use rqps_report::{BisectReport, JointReport};
use rqps_store::{Run, StoreError};
use rqps_study::{
    BISECT_SCHEMA, BuildAttempt, CommitSearch, SearchDirection, SearchKind, SearchMetric,
    SearchPlan, SearchResult, SearchStep, SearchedCommit, ToCompare, label,
};
use rqps_system::printable;

use super::files::{INSIDE, OF_GOOD, SearchFolder, StoredSearch, refuse_taken};
use super::side::SideName;
use super::{Arguments, BisectWork, Exit, StepOutcome, instead, prior, written};
use crate::cli::exit;
use crate::cli::output::note;
use crate::cli::progress::Fetching;

/// The smallest change of instructions that matters in their own report, as a share.
const COUNTS_DIFFER: f64 = 0.003;

/// The ends of a search.
struct SearchEnds {
    good: Commit,
    bad: Commit,
    notes: Vec<String>,
    /// As they were named.
    names: [String; 2],
    /// The file with weights of the commits between them.
    prior: Option<PathBuf>,
    limits: SearchLimits,
}

/// When a search ends, and what it searches for.
#[derive(Clone, Copy)]
struct SearchLimits {
    direction: SearchDirection,
    probability: f64,
    comparisons: usize,
    layouts: u32,
    counts: bool,
}

impl SearchLimits {
    fn of_arguments(arguments: &Arguments, plan: &Plan) -> SearchLimits {
        SearchLimits {
            direction: arguments.direction.into(),
            probability: arguments.posterior,
            comparisons: arguments.comparisons,
            layouts: arguments.layouts,
            counts: !arguments.no_instructions && can_count(plan),
        }
    }

    /// Of a search that follows from another one.
    fn of_search(search: &SearchPlan) -> SearchLimits {
        let SearchPlan { direction, probability, comparisons, layouts, counts, .. } = *search;
        SearchLimits { direction, probability, comparisons, layouts, counts }
    }
}

/// What is asked of git and of builds.
pub(super) struct CommitSources<'a, 'w> {
    pub(super) work: &'w BisectWork<'a>,
    pub(super) checkout: Checkout,
    pub(super) contender: Contender,
    pub(super) options: source::BuildOptions,
    /// Of the builds.
    pub(super) of: OfCommits,
}

/// Begins a search between two commits.
pub(super) fn begin(
    work: &BisectWork<'_>,
    (good, bad): (&SideName, &SideName),
    out: &Path,
) -> anyhow::Result<Exit> {
    let arguments = work.arguments;
    let (
        SideName::Commit { contender, revision: of_good },
        SideName::Commit { revision: of_bad, .. },
    ) = (good, bad)
    else {
        bail!("name two commits");
    };
    let Some(repo) = &arguments.repo else {
        bail!("commits are searched in a checkout. Name it with --repo DIR");
    };
    // Everything that can be wrong with the request is found before the first build.
    let plan = template(work, contender)?;
    let sources = CommitSources::new(work, repo, contender, arguments.options())?;
    let names = [of_good.clone(), of_bad.clone()];
    let ends = sources.ends(names, SearchLimits::of_arguments(arguments, &plan))?;
    sources.begin(ends, plan, out)
}

/// Begins a search between the tags of two releases.
pub(super) fn between_releases(
    work: &BisectWork<'_>,
    contender: &Contender,
    tags: [Vec<String>; 2],
    out: &Path,
) -> anyhow::Result<Exit> {
    let arguments = work.arguments;
    let Some(repo) = &arguments.repo else { return Ok(Exit::Done) };
    let contender = Contender { label: None, build: rqps_plan::Build::Any, ..contender.clone() };
    let plan = template(work, &contender)?;
    let sources = CommitSources::new(work, repo, &contender, arguments.options())?;
    let tag = |tags: &[String]| {
        let mut last = None;
        for tag in tags {
            match sources.ask(|tell| sources.checkout.commit(tag, tell)) {
                Ok(_) => return Ok(tag.clone()),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| anyhow!("no tags are known of these releases")))
    };
    let names = [tag(&tags[0])?, tag(&tags[1])?];
    let ends = sources.ends(names, SearchLimits::of_arguments(arguments, &plan))?;
    sources.begin(ends, plan, out)
}

/// Resumes the search in a directory.
pub(super) fn resume(work: &BisectWork<'_>, out: &Path) -> anyhow::Result<Exit> {
    let (_, stored, plan) = SearchFolder::open(out)?;
    let plan = Plan::from_toml(&plan)?;
    let contender = Contender { label: None, ..plan.contenders[0].clone() };
    let options =
        source::BuildOptions { recipe: stored.recipe.clone(), ..work.arguments.options() };
    let sources = CommitSources::new(work, &stored.repo, &contender, options)?;
    sources.go_on(out, plan)
}

/// The comparison of a search, whose contenders change.
fn template(work: &BisectWork<'_>, contender: &Contender) -> anyhow::Result<Plan> {
    let end = |label: &str| Contender { label: Some(label.to_string()), ..contender.clone() };
    work.arguments.plan(vec![end("good"), end("bad")])
}

/// Makes it a comparison of instructions in one test, or in all.
fn count_only(plan: &mut Plan, test: Option<&str>) {
    let of = test.map_or(Profiled::All, |test| Profiled::Tests(vec![test.to_string()]));
    if let Some(comparison) = plan.comparison_mut() {
        comparison.instructions = Some(Instructions { of, only: Some(COUNTS_DIFFER) });
        comparison.control = false;
    }
}

/// Whether the instructions of these contenders can be counted on this machine.
fn can_count(plan: &Plan) -> bool {
    let mut plan = plan.clone();
    count_only(&mut plan, None);
    plan.validate().is_ok() && rqps_observe::Callgrind::find().is_ok()
}

fn searched((commit, weight): (&Commit, f64)) -> SearchedCommit {
    let Commit { hash, tree, parents, subject, .. } = commit.clone();
    let subject = printable(&subject).into_owned();
    SearchedCommit { hash, tree, parents, subject, weight }
}

fn commit_of(searched: &SearchedCommit) -> Commit {
    let SearchedCommit { hash, tree, parents, subject, .. } = searched.clone();
    Commit { hash, tree, parents, subject, is_quiet: false }
}

impl<'a, 'w> CommitSources<'a, 'w> {
    fn new(
        work: &'w BisectWork<'a>,
        repo: &Path,
        contender: &Contender,
        options: source::BuildOptions,
    ) -> anyhow::Result<CommitSources<'a, 'w>> {
        let home = &work.setup.home;
        let of = source::of_commits(home, contender.dbms, &options).map_err(DbmsError::from)?;
        let cancel = &work.setup.cancel;
        let checkout = Checkout::open(repo, &mut |_| cancel.check()).map_err(DbmsError::from)?;
        Ok(CommitSources { work, checkout, contender: contender.clone(), options, of })
    }

    pub(super) fn ask<T>(
        &self,
        ask: impl FnOnce(&mut Tell) -> Result<T, SourceError>,
    ) -> anyhow::Result<T> {
        let mut fetching = Fetching::new();
        let mut tell = |event| fetching.tell(event, &self.work.setup.cancel);
        Ok(ask(&mut tell).map_err(DbmsError::from)?)
    }

    /// The ends: where GOOD is no ancestor of BAD, the search begins at their merge base.
    fn ends(&self, names: [String; 2], limits: SearchLimits) -> anyhow::Result<SearchEnds> {
        let find = |name: &str| self.ask(|tell| self.checkout.commit(name, tell));
        let [good, bad] = [find(&names[0])?, find(&names[1])?];
        let told = || format!("{} ({}) and {} ({})", names[0], good.short(), names[1], bad.short());
        if good.hash == bad.hash {
            bail!("GOOD and BAD are one commit: {}. Name two", told());
        }
        let base = self.ask(|tell| self.checkout.merge_base(&good, &bad, tell))?;
        let Some(base) = base else { bail!("{} have no commit in common", told()) };
        if base.hash == bad.hash {
            bail!(
                "GOOD is newer than BAD: {}. Name the older one first; to search for a change to the \
                 better: --direction faster",
                told()
            );
        }
        let mut notes = Vec::new();
        let is_ancestor = base.hash == good.hash;
        if !is_ancestor {
            notes.push(format!(
                "{} is no ancestor of {}: the search begins at their merge base, {}",
                names[0],
                names[1],
                base.short()
            ));
        }
        let prior = self.work.arguments.prior.clone();
        Ok(SearchEnds { good: base, bad, notes, names, prior, limits })
    }

    fn begin(&self, ends: SearchEnds, plan: Plan, out: &Path) -> anyhow::Result<Exit> {
        let arguments = self.work.arguments;
        let SearchEnds { good, bad, notes, names, prior, limits } = ends;
        let later = self.ask(|tell| self.checkout.between(&good, &bad, &self.of.quiet, tell))?;
        let weights = prior::weights(&later, prior.as_deref())?;
        let first = searched((&good, 1.0));
        let commits = later.iter().zip(weights).map(searched);
        let commits: Vec<SearchedCommit> = [first].into_iter().chain(commits).collect();
        let quiet = later.iter().filter(|commit| commit.is_quiet).count();
        if !arguments.dry_run {
            refuse_taken(out)?;
        }
        self.announce(&plan, &commits, quiet, &notes)?;
        if arguments.dry_run {
            self.show_steps([&good, &bad])?;
            return Ok(Exit::Done);
        }
        for (name, commit) in [("GOOD", &good), ("BAD", &bad)] {
            if let CommitOutcome::Failed { why, log } = self.build(commit, &self.options)? {
                bail!(
                    "{name} ({}) does not build: {why}. Name another commit; its log is '{log}'",
                    commit.short()
                );
            }
        }
        let [good_name, bad_name] = names;
        let SearchLimits { direction, probability, comparisons, layouts, counts } = limits;
        let search = SearchPlan {
            schema: BISECT_SCHEMA.to_string(),
            rqps_version: env!("CARGO_PKG_VERSION").to_string(),
            good: good_name,
            bad: bad_name,
            commits,
            direction,
            probability,
            comparisons,
            counts,
            layouts,
            notes,
        };
        let recipe = self.options.recipe.as_deref().map(std::path::absolute).transpose()?;
        let repo = self.checkout.folder().to_path_buf();
        let stored = StoredSearch { search, repo, recipe, test: arguments.test.clone() };
        SearchFolder::create(out, &stored, &plan.to_toml())?;
        note(&format!("results go to {}", out.display()));
        self.go_on(out, plan)
    }

    /// Goes on with a search to its end, and with those that follow from its result.
    fn go_on(&self, out: &Path, template: Plan) -> anyhow::Result<Exit> {
        let (folder, stored, _) = SearchFolder::open(out)?;
        let mut search = CommitSearch::new(stored.search, stored.test);
        let attempts = folder.attempts(search.last() + 1)?;
        attempts.into_iter().for_each(|(place, attempt)| search.add_attempt(place, attempt));
        let mut running = RunningSearch { sources: self, folder, search, template, out };
        match running.complete_all() {
            Ok(true) => {}
            Ok(false) => return Ok(self.work.interrupted(out)),
            // In a build.
            Err(error) if exit::of(&error) == Exit::Interrupted => {
                return Ok(self.work.interrupted(out));
            }
            Err(error) => return Err(error),
        }
        let result = running.search.result();
        running.conclude(self.work.arguments.json)?;
        if let Some(exit) = running.further(&result)? {
            // It leads to the search that followed now.
            written::write(out, &running.report())?;
            return Ok(exit);
        }
        let is_clear = matches!(result.kind, SearchKind::Found | SearchKind::Nothing);
        Ok(if is_clear || !self.work.arguments.strict { Exit::Done } else { Exit::Unfit })
    }

    fn build(
        &self,
        commit: &Commit,
        options: &source::BuildOptions,
    ) -> anyhow::Result<CommitOutcome> {
        let (home, dbms) = (&self.work.setup.home, self.contender.dbms);
        let of = (&self.checkout, commit);
        self.ask(|tell| source::commit_build(home, dbms, of, options, tell))
    }
}

/// A search that goes on.
struct RunningSearch<'s, 'a, 'w> {
    sources: &'s CommitSources<'a, 'w>,
    folder: SearchFolder,
    search: CommitSearch,
    /// The comparison, whose contenders and rounds change.
    template: Plan,
    out: &'s Path,
}

impl RunningSearch<'_, '_, '_> {
    /// False if it was interrupted.
    fn complete_all(&mut self) -> anyhow::Result<bool> {
        let mut begun = self.folder.comparisons()?;
        // All but the last are complete, since each begins after the one before.
        let last = begun.pop();
        for path in begun {
            let run = Run::open_without_samples(&path)?;
            self.add(&path, &run);
        }
        if let Some(path) = last
            && !self.complete(&path)?
        {
            return Ok(false);
        }
        loop {
            self.sources.work.setup.cancel.check().map_err(rqps_lab::LabError::from)?;
            let step = self.search.next();
            let SearchStep::Compare(to) = step else { return Ok(true) };
            if self.sources.work.is_late() {
                note("the budget is spent");
                return Ok(true);
            }
            if !self.step(to)? {
                return Ok(false);
            }
        }
    }

    /// Completes the comparison that an earlier process began.
    fn complete(&mut self, path: &Path) -> anyhow::Result<bool> {
        let plan = match Run::open_without_samples(path) {
            Ok(run) => run.plan,
            // It was killed while it created the directory: the next step creates it again.
            Err(StoreError::Sql(_)) => return Ok(true),
            Err(_) if !path.join("results.sqlite").exists() => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        let place = |contender: &Contender| self.search.place(&contender.name());
        for (place, layout) in plan.contenders.iter().filter_map(place).collect::<Vec<_>>() {
            self.build(place, layout)?;
        }
        self.measured(path, &plan)
    }

    /// Builds what a comparison needs, and makes it. False if it was interrupted.
    fn step(&mut self, to: ToCompare) -> anyhow::Result<bool> {
        let ToCompare { baseline, place, rounds, layout, by } = to;
        let is_new = self.search.attempt(place).is_none();
        let mut contenders = Vec::new();
        for place in [baseline, place] {
            let Some(build) = self.build(place, layout)? else { return Ok(true) };
            contenders.push(Contender {
                label: Some(label(self.search.commit(place), layout)),
                build: build.build(),
                ..self.sources.contender.clone()
            });
        }
        if is_new && self.search.is_measured_elsewhere(place) {
            let commit = self.search.commit(place);
            note(&format!("{}: the same binary as before; not measured", commit.short()));
            return Ok(true);
        }
        let number = self.search.comparisons() + 1;
        let mut plan = instead(&self.template, contenders, number, rounds);
        if by == SearchMetric::Instructions {
            count_only(&mut plan, self.search.test());
        }
        let commit = self.search.commit(place);
        let name = label(commit, layout);
        note(&format!("comparison {number}: {name} \"{}\"", commit.subject));
        let path = self.folder.comparison(
            number,
            &match by {
                SearchMetric::Time => name,
                SearchMetric::Instructions => format!("{name}-instructions"),
            },
        );
        self.measured(&path, &plan)
    }

    /// Makes a comparison, or what is left of it.
    fn measured(&mut self, path: &Path, plan: &Plan) -> anyhow::Result<bool> {
        match self.sources.work.measure(path, plan)? {
            StepOutcome::Interrupted => return Ok(false),
            StepOutcome::Done(run) => self.add(path, &run),
            StepOutcome::Failed => {
                let run = Run::open_without_samples(path)?;
                if plan.comparison().is_some_and(|it| it.only_instructions().is_some()) {
                    // Times choose the commits, then.
                    note("the instructions of this commit could not be counted");
                    self.add(path, &run);
                    return Ok(true);
                }
                let contender = plan.contenders.last().map(Contender::name).unwrap_or_default();
                let place = self.search.place(&contender);
                let (place, _) = place.ok_or_else(|| anyhow!("'{}' failed", path.display()))?;
                let log = path.join("logs").display().to_string();
                if place == self.search.last() || plan.contenders.len() != 2 {
                    bail!("BAD failed in the comparison with GOOD; its logs are in '{log}'");
                }
                self.add(path, &run);
                let why = "its server or a check of its data failed".to_string();
                self.keep(place, BuildAttempt::Failed { why, log })?;
            }
        }
        Ok(true)
    }

    fn add(&mut self, path: &Path, run: &Run) {
        if !self.search.add_run(&written::name(path), run) {
            note(&format!("'{}' is no comparison of this search", path.display()));
        }
    }

    fn keep(&mut self, place: usize, attempt: BuildAttempt) -> anyhow::Result<()> {
        self.folder.keep_attempt(place, &attempt)?;
        self.search.add_attempt(place, attempt);
        Ok(())
    }

    /// The build of a place; none if it cannot be built, which is remembered.
    fn build(&mut self, place: usize, layout: u32) -> anyhow::Result<Option<Box<CommitBuild>>> {
        if layout > 0 {
            return self.build_in(layout, place);
        }
        if let Some(BuildAttempt::Failed { .. }) = self.search.attempt(place) {
            return Ok(None);
        }
        let commit = commit_of(self.search.commit(place));
        match self.sources.build(&commit, &self.sources.options)? {
            CommitOutcome::Built(build) => {
                if self.search.attempt(place).is_none() {
                    self.keep(place, BuildAttempt::Built { code: build.code.clone() })?;
                }
                Ok(Some(build))
            }
            CommitOutcome::Failed { why, log } => {
                if place == 0 || place == self.search.last() {
                    bail!("{} was built, and now does not build: {why}", commit.short());
                }
                note(&format!("skipped {}, which does not build: {why}", commit.short()));
                let why = printable(&why).into_owned();
                self.keep(place, BuildAttempt::Failed { why, log })?;
                Ok(None)
            }
        }
    }

    /// The build of a place in another layout. Without it, the change is not compared in layouts.
    fn build_in(&mut self, layout: u32, place: usize) -> anyhow::Result<Option<Box<CommitBuild>>> {
        let commit = commit_of(self.search.commit(place));
        let options = &self.sources.options;
        let flags = source::flags_of_layout(self.sources.contender.dbms, options, layout);
        let options = source::BuildOptions { flags, ..options.clone() };
        match self.sources.build(&commit, &options)? {
            CommitOutcome::Built(build) => Ok(Some(build)),
            CommitOutcome::Failed { why, .. } => {
                note(&format!("{} does not build in another layout: {why}", commit.short()));
                self.search.without_layouts();
                Ok(None)
            }
        }
    }

    fn report(&self) -> JointReport {
        let (contender, repo) = (&self.sources.contender, self.sources.checkout.folder());
        let place = written::place(self.out, contender, Some(repo));
        BisectReport::of_commits(&self.search, place).formats()
    }

    /// Writes and prints the result.
    fn conclude(&self, json: bool) -> anyhow::Result<()> {
        super::tell(self.out, &self.report(), json)
    }

    /// The search that follows: inside of a merge, or on the side of GOOD if nothing is on that of
    /// BAD.
    fn further(&self, result: &SearchResult) -> anyhow::Result<Option<Exit>> {
        let plan = self.search.plan();
        let is_of_merge_base = !plan.notes.is_empty();
        if result.kind == SearchKind::Nothing && is_of_merge_base {
            let find =
                |name: &str| self.sources.ask(|tell| self.sources.checkout.commit(name, tell));
            // The change is the other way round on this side.
            let mut limits = SearchLimits::of_search(plan);
            limits.direction = match plan.direction {
                SearchDirection::Slower => SearchDirection::Faster,
                SearchDirection::Faster => SearchDirection::Slower,
                SearchDirection::Either => SearchDirection::Either,
            };
            let ends = SearchEnds {
                good: find(&self.search.commit(0).hash)?,
                bad: find(&plan.good)?,
                notes: Vec::new(),
                names: [self.search.commit(0).short().to_string(), plan.good.clone()],
                prior: None,
                limits,
            };
            note(&format!(
                "nothing between the merge base and {}; now on the side of GOOD",
                plan.bad
            ));
            return self.also(ends, &self.out.join(OF_GOOD)).map(Some);
        }
        let Some(found) = result.found.filter(|_| result.kind == SearchKind::Found) else {
            return Ok(None);
        };
        let [first, second, ..] = &self.search.commit(found.first).parents[..] else {
            return Ok(None);
        };
        let ask = |name: &str| self.sources.ask(|tell| self.sources.checkout.commit(name, tell));
        let (first, second) = (ask(first)?, ask(second)?);
        let base =
            self.sources.ask(|tell| self.sources.checkout.merge_base(&first, &second, tell))?;
        let Some(base) = base.filter(|base| base.hash != second.hash) else { return Ok(None) };
        note("it is a merge; now among the commits that it brought");
        let names = [base.short().to_string(), second.short().to_string()];
        let (notes, limits) = (Vec::new(), SearchLimits::of_search(plan));
        let ends = SearchEnds { good: base, bad: second, notes, names, prior: None, limits };
        self.also(ends, &self.out.join(INSIDE)).map(Some)
    }

    fn also(&self, ends: SearchEnds, out: &Path) -> anyhow::Result<Exit> {
        match SearchFolder::exists(out) {
            true => self.sources.go_on(out, self.template.clone()),
            false => self.sources.begin(ends, self.template.clone(), out),
        }
    }
}
