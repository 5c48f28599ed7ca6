//! Asks the baseline again, since it may differ from itself: by a random function, the time, or an
//! order that its plan decides.

use rqps_plan::RowsVerdict;
use rqps_wire::Error;

use super::tables::{table_answer, tables};
use super::{AskedArm, Exam, Undo, begin, rollback};
use crate::answers::ArmRole;
use crate::sql::answer::{Answer, AnswerDigest};
use crate::task::WorkloadError;

/// How often the baseline is asked again when another arm differs.
const AGAIN: usize = 2;

impl Exam<'_> {
    /// Asks the baseline the same set again: it may differ from itself.
    pub(super) fn ask_base_again(
        &mut self,
        set: usize,
        before: &[Answer],
    ) -> Result<(), WorkloadError> {
        if matches!(self.undo, Undo::All | Undo::Never) {
            return Ok(());
        }
        for _ in 0..AGAIN {
            let (is_across, undo, base) = (self.is_across, self.undo, self.base);
            let dialect = self.arms[base].site.dialect;
            let Some(client) = &mut self.arms[base].client else { return Ok(()) };
            let mut again = || {
                if undo == Undo::Each {
                    client.connection().run(rollback(dialect))?;
                    client.connection().run(begin(dialect))?;
                }
                client.answers(set, is_across)
            };
            match again() {
                Ok(after) => {
                    let (_, found) = self.likeness(base, before, &after);
                    self.note_base_differs(&found, "executed again");
                }
                Err(error) => self.fail(base, error, "executed again: ")?,
            }
        }
        Ok(())
    }

    /// The same of a query that writes: all sets are executed again, once they are undone.
    pub(super) fn check_writes_again(&mut self, chosen: &[usize]) -> Result<(), WorkloadError> {
        let is_control = |arm: &AskedArm<'_>| arm.role == ArmRole::Control;
        let differs = |arm: &AskedArm<'_>| arm.answers.verdict == RowsVerdict::Different;
        if self.arms.iter().any(is_control) || !self.arms.iter().any(differs) {
            return Ok(());
        }
        if self.undo == Undo::Never {
            let why = "what it commits cannot be executed again, and there is no A/A control";
            self.base_differs.get_or_insert(why.to_string());
            return Ok(());
        }
        let (base, is_across) = (self.base, self.is_across);
        let dialect = self.arms[base].site.dialect;
        let before = std::mem::take(&mut self.answered);
        let Some(client) = &mut self.arms[base].client else { return Ok(()) };
        let mut again = || -> Result<Vec<(AnswerDigest, u64)>, Error> {
            client.connection().run(rollback(dialect))?;
            client.connection().run(begin(dialect))?;
            let mut after = Vec::new();
            for set in chosen {
                let answers = client.answers(*set, is_across)?;
                after.extend(answers.iter().map(|one| (one.digest(), one.changed)));
            }
            for (_, table) in tables(client.connection(), dialect)? {
                let answer = table_answer(client.connection(), &table, is_across)?;
                after.push((answer.digest(), answer.count));
            }
            Ok(after)
        };
        match again() {
            Ok(after) => {
                let mut pairs = before.iter().zip(&after);
                let is_same = |(one, other): (&(AnswerDigest, u64), &(AnswerDigest, u64))| {
                    one.0.rounded == other.0.rounded && one.1 == other.1
                };
                if before.len() != after.len() || !pairs.all(is_same) {
                    let why = "the baseline differs from itself (executed again)".to_string();
                    self.base_differs.get_or_insert(why);
                }
                Ok(())
            }
            Err(error) => self.fail(base, error, "executed again: "),
        }
    }
}
