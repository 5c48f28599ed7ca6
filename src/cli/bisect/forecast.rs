//! What a search among commits will take, and how it builds them.

use rqps_dbms::source::{self, Commit};
use rqps_plan::Plan;
use rqps_study::{SearchedCommit, expected_comparisons};

use super::commits::CommitSources;
use crate::cli::output::note;
use crate::cli::units::{Bytes, Roughly};

/// The change is expected to be this many times the error of a comparison.
const SIZE_BY_ERROR: f64 = 6.0;

impl CommitSources<'_, '_> {
    /// Says beforehand what the search takes.
    pub(super) fn announce(
        &self,
        plan: &Plan,
        commits: &[SearchedCommit],
        quiet: usize,
        notes: &[String],
    ) -> anyhow::Result<()> {
        let count = commits.len() - 1;
        let [first, last] = [&commits[0], &commits[count]].map(SearchedCommit::short);
        notes.iter().for_each(|text| note(text));
        note(&format!(
            "{}: {count} commits from {first} to {last}; {quiet} of them touch only files that cannot \
             change the server",
            self.contender
        ));
        let (time, disk) = self.work.estimate(plan)?;
        // One for the ends, one to confirm.
        let comparisons = expected_comparisons(count, SIZE_BY_ERROR) + 1;
        note(&format!(
            "about {comparisons} comparisons of at most {} each, and as many builds of about {}; at most \
             {} of disk",
            Roughly(time),
            Roughly(self.of.time),
            Bytes(disk + (self.of.megabytes << 20))
        ));
        Ok(())
    }

    /// Says how the ends are built. The steps may change on the way from one to the other.
    pub(super) fn show_steps(&self, ends: [&Commit; 2]) -> anyhow::Result<()> {
        let dbms = self.contender.dbms;
        let steps = |commit: &Commit| {
            let of = (&self.checkout, commit);
            self.ask(|tell| source::commit_steps(dbms, of, &self.options, tell))
        };
        let [good, bad] = [steps(ends[0])?, steps(ends[1])?];
        let is_alike = good.steps == bad.steps;
        let shown = [("GOOD", ends[0], &good), ("BAD", ends[1], &bad)];
        for (name, commit, built) in shown.into_iter().skip(usize::from(is_alike)) {
            let name = if is_alike { "each commit" } else { name };
            note(&format!("{name} is built like {}, which is {}:", commit.short(), built.version));
            for (step, commands) in &built.steps {
                let mut lines = commands.iter();
                note(&format!("  {step:<9}  {}", lines.next().map_or("", String::as_str)));
                lines.for_each(|line| note(&format!("  {:<9}  {line}", "")));
            }
        }
        Ok(())
    }
}
