//! Asks all arms the same sets of a query, on data as they were loaded, and compares what they
//! answer with the baseline.

mod again;
mod tables;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rqps_dbms::Dialect;
use rqps_plan::{Dbms, RowsVerdict, SqlWorkload};
use rqps_wire::Error;
use sha2::{Digest, Sha256};

use crate::answers::{AnswerExaminer, AnsweringArm, ArmAnswers, ArmRole, TestAnswers};
use crate::sql::answer::{Answer, AnswerDigest, returned, unexpected};
use crate::sql::client::{QueryClient, encoded};
use crate::sql::csv::Record;
use crate::sql::driver::{SETS, explained_query};
use crate::sql::faults::FolderError;
use crate::sql::folder::{FolderScope, SqlFolder};
use crate::sql::likeness::{Likeness, LikenessRule, RowDifference, RowSequence, likeness};
use crate::sql::limited::{drawn_rows, within};
use crate::sql::placeholders::Bound;
use crate::sql::query::{Enclosing, RowOrder, SqlQuery};
use crate::sql::sample::sample;
use crate::sql::sets::draw;
use crate::sql::source::folder;
use crate::task::{Site, WorkloadError};

/// Sets of a query that reads, or undoes what it writes; and of one that writes.
const READ_SETS: usize = 20;
const WRITE_SETS: usize = 100;
/// Of these, the sets whose query plans are kept.
const PLANNED_SETS: usize = 5;
/// An execution is ended after this time, if the file says nothing else.
const UNANSWERED: Duration = Duration::from_secs(10);
/// No further set is executed after this time.
const LONGEST: Duration = Duration::from_secs(20);

/// The arms of a comparison on a folder.
pub(crate) struct SqlExaminer<'a> {
    arms: Vec<(AnsweringArm<'a>, Rc<SqlFolder>)>,
    base: usize,
}

impl<'a> SqlExaminer<'a> {
    pub(crate) fn new(
        plan: &'a SqlWorkload,
        arms: Vec<AnsweringArm<'a>>,
    ) -> Result<Self, WorkloadError> {
        let mut folders: BTreeMap<&str, Rc<SqlFolder>> = BTreeMap::new();
        let mut with_folders = Vec::new();
        for arm in arms {
            let Site { dbms, dialect, .. } = arm.site;
            let read = match folders.get(dbms.name()) {
                Some(read) => Rc::clone(read),
                None => Rc::new(folder(&plan.source, (dbms, dialect), FolderScope::WithoutData)?),
            };
            folders.insert(dbms.name(), Rc::clone(&read));
            with_folders.push((arm, read));
        }
        let is_base = |(arm, _): &(AnsweringArm<'_>, _)| arm.role == ArmRole::Baseline;
        let base = with_folders.iter().position(is_base).unwrap_or_default();
        Ok(SqlExaminer { arms: with_folders, base })
    }
}

impl AnswerExaminer for SqlExaminer<'_> {
    fn examine(&self, test: &str) -> Result<TestAnswers, WorkloadError> {
        let (base, folder) = &self.arms[self.base];
        let query = |folder: &'_ Rc<SqlFolder>| {
            let place = folder.queries.iter().position(|query| query.id == test);
            place.ok_or_else(|| FolderError::new("queries", format!("'{test}' has gone")))
        };
        let places = self.arms.iter().map(|(_, folder)| query(folder));
        let places: Vec<usize> = places.collect::<Result<_, _>>()?;
        let queries: Vec<&SqlQuery> =
            self.arms.iter().zip(&places).map(|((_, folder), at)| &folder.queries[*at]).collect();
        let asked = queries[self.base];
        let mut connection = base.site.target.connect()?;
        let select = &mut |sql: &str| drawn_rows(&mut *connection, sql);
        let drawn = draw(asked, &folder.columns, base.site.seed, SETS, select)?;
        drop(connection);
        let undo = Undo::of(asked);
        let most = if undo == Undo::All || undo == Undo::Never { WRITE_SETS } else { READ_SETS };
        let chosen = sample(&drawn.sets, most);
        let is_across = self.arms.iter().any(|(arm, _)| arm.site.dbms != base.site.dbms);
        let mut exam = Exam {
            asked,
            arms: Vec::new(),
            sets: &drawn.sets,
            base: self.base,
            undo,
            is_across,
            is_spent: false,
            base_differs: None,
            is_order_open: false,
            answered: Vec::new(),
        };
        for ((arm, _), query) in self.arms.iter().zip(queries) {
            exam.arms.push(exam.connected(arm, query, &chosen)?);
        }
        exam.ask(&chosen)?;
        Ok(exam.concluded(drawn.remark))
    }
}

/// How what the query changes is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Undo {
    /// It changes nothing.
    Nothing,
    /// After each set, as the query does itself.
    Each,
    /// After all sets.
    All,
    /// It commits.
    Never,
}

impl Undo {
    fn of(query: &SqlQuery) -> Undo {
        match query.options.transaction {
            Enclosing::Rollback => Undo::Each,
            _ if !query.class.writes() => Undo::Nothing,
            _ if query.statements.iter().any(|one| one.may_commit) => Undo::Never,
            _ => Undo::All,
        }
    }
}

/// An arm that is asked.
struct AskedArm<'e> {
    site: Site<'e>,
    role: ArmRole,
    /// None once it has failed.
    client: Option<QueryClient>,
    answers: ArmAnswers,
    digest: Sha256,
}

/// One query, asked of all arms.
struct Exam<'e> {
    asked: &'e SqlQuery,
    arms: Vec<AskedArm<'e>>,
    sets: &'e [Record],
    base: usize,
    undo: Undo,
    is_across: bool,
    is_spent: bool,
    /// Why nothing can be compared with the baseline.
    base_differs: Option<String>,
    /// The baseline itself returns rows in another order the next time.
    is_order_open: bool,
    /// Digests of what the baseline answered and left in its tables, to ask it again.
    answered: Vec<(AnswerDigest, u64)>,
}

impl<'e> Exam<'e> {
    /// Connects an arm, with its plans. One that does not know the statements has failed.
    fn connected(
        &self,
        arm: &AnsweringArm<'e>,
        query: &SqlQuery,
        chosen: &[usize],
    ) -> Result<AskedArm<'e>, WorkloadError> {
        let site = arm.site;
        let names = |query: &SqlQuery| -> Vec<String> {
            query.options.parameters.iter().map(|it| it.name.clone()).collect()
        };
        let mut asked = AskedArm {
            site,
            role: arm.role,
            client: None,
            answers: ArmAnswers::default(),
            digest: Sha256::new(),
        };
        if names(query) != names(self.asked) {
            asked.answers.verdict = RowsVerdict::NotComparable;
            let detail =
                format!("{} declares other parameters than {}", query.file, self.asked.file);
            asked.answers.detail = Some(detail);
            return Ok(asked);
        }
        let sets = Arc::new(encoded(query, self.sets));
        let mut connection = site.target.connect()?;
        for set in chosen.iter().take(PLANNED_SETS) {
            match explained_query(&mut *connection, site.dialect, query, Some(&sets[*set])) {
                Ok(plans) => asked.answers.plans.push(plans),
                Err(error) if error.is_disconnect() => return Err(error.into()),
                // What it cannot explain it may still execute.
                Err(_) => break,
            }
        }
        match QueryClient::new(connection, query, site.dialect, sets, 0) {
            Ok(client) => asked.client = Some(client),
            Err(error) => {
                let error = refused(error)?;
                asked.answers.verdict = RowsVerdict::Fails;
                asked.answers.detail = Some(format!("it cannot be prepared: {error}"));
            }
        }
        Ok(asked)
    }

    fn ask(&mut self, chosen: &[usize]) -> Result<(), WorkloadError> {
        if self.arms[self.base].client.is_none() {
            return Ok(());
        }
        self.check_that_it_reads(chosen[0])?;
        let began = Instant::now();
        let mut rows_by_set = Vec::new();
        if self.undo == Undo::All {
            self.all(begin)?;
        }
        for (number, set) in chosen.iter().enumerate() {
            if number > 0 && began.elapsed() > LONGEST {
                break;
            }
            if self.undo == Undo::Each {
                self.all(begin)?;
            }
            let answers = (0..self.arms.len()).map(|place| self.answers(place, number, *set));
            let answers: Vec<Option<Vec<Answer>>> = answers.collect::<Result<_, _>>()?;
            let Some(base) = &answers[self.base] else { break };
            rows_by_set.push(returned(base));
            self.answered.extend(base.iter().map(|one| (one.digest(), one.changed)));
            self.compare(number, *set, &answers)?;
            if self.undo == Undo::Each {
                if number == 0 {
                    self.compare_tables()?;
                }
                self.all(rollback)?;
                if number == 0 {
                    self.compare_loads()?;
                }
            }
        }
        if matches!(self.undo, Undo::All | Undo::Never) && self.arms[self.base].client.is_some() {
            self.compare_tables()?;
            self.check_writes_again(&chosen[..rows_by_set.len()])?;
            if self.undo == Undo::All {
                self.all(rollback)?;
                self.compare_loads()?;
            }
        }
        self.is_spent |= self.undo == Undo::Never;
        let empty = rows_by_set.iter().filter(|rows| **rows == Some(0)).count();
        if 2 * empty > rows_by_set.len() {
            let note = match rows_by_set.len() {
                1 => "it returns no row".to_string(),
                all => format!("it returns no row for {empty} of {all} sets of values"),
            };
            self.arms[self.base].answers.note = Some(note);
        }
        Ok(())
    }

    /// An error if a query writes whose class says that it reads: rounds would not have the same
    /// data.
    fn check_that_it_reads(&mut self, set: usize) -> Result<(), WorkloadError> {
        if self.undo != Undo::Nothing {
            return Ok(());
        }
        let limit = self.asked.options.timeout.or(UNANSWERED);
        let base = &mut self.arms[self.base];
        let ([begin, end], code_of_writing) = base.site.dialect.read_only;
        let Some(client) = &mut base.client else { return Ok(()) };
        let interrupter = client.connection().interrupter()?;
        let execute = || client.connection().run(begin).and_then(|_| client.answers(set, false));
        let (answers, is_late) = within(limit, &interrupter, execute);
        let ended = client.connection().run(end);
        if is_late {
            self.give_up(self.base, "", limit);
            return Ok(());
        }
        match answers {
            Err(Error::Server { code, .. })
                if code.split(", ").any(|code| code == code_of_writing) =>
            {
                let what = "it writes, although its class says that it reads. Write class = update \
                            for it, or transaction = rollback";
                Err(FolderError::new(&self.asked.file, what).into())
            }
            // Other errors come again.
            _ => match ended {
                Ok(_) => Ok(()),
                Err(error) => self.fail(self.base, error, ""),
            },
        }
    }

    /// Sends each arm that has not failed something around an execution.
    fn all(&mut self, statement: fn(Dialect) -> &'static str) -> Result<(), WorkloadError> {
        for place in 0..self.arms.len() {
            let arm = &mut self.arms[place];
            let statement = statement(arm.site.dialect);
            let Some(client) = &mut arm.client else { continue };
            if let Err(error) = client.connection().run(statement) {
                self.fail(place, error, "")?;
            }
        }
        Ok(())
    }

    /// What an arm answers to a set; none if it fails or has failed.
    fn answers(
        &mut self,
        place: usize,
        number: usize,
        set: usize,
    ) -> Result<Option<Vec<Answer>>, WorkloadError> {
        let (is_across, rows) = (self.is_across, self.asked.options.rows);
        let limit = self.asked.options.timeout.or(UNANSWERED);
        let arm = &mut self.arms[place];
        let Some(client) = &mut arm.client else { return Ok(None) };
        let nth = format!("set {} of values: ", number + 1);
        let interrupter = client.connection().interrupter()?;
        let answers = match within(limit, &interrupter, || client.answers(set, is_across)) {
            (_, true) => {
                self.give_up(place, &nth, limit);
                return Ok(None);
            }
            (Ok(answers), false) => answers,
            (Err(error), false) => {
                self.fail(place, error, &nth)?;
                return Ok(None);
            }
        };
        arm.answers.sets += 1;
        for answer in &answers {
            arm.answers.rows += answer.count;
            arm.digest.update(answer.digest().rounded.to_le_bytes());
            arm.digest.update(answer.changed.to_le_bytes());
        }
        if let Some(what) = unexpected(rows, &answers) {
            let detail = format!("{nth}{what}");
            arm.answers.verdict = RowsVerdict::Fails;
            arm.answers.detail.get_or_insert(detail);
        }
        Ok(Some(answers))
    }

    /// An arm has given no answer in time. How long it takes is for the measurement to say.
    fn give_up(&mut self, place: usize, nth: &str, limit: Duration) {
        let detail = format!("{nth}no answer within {} s", limit.as_secs_f64());
        if place == self.base {
            self.base_differs = Some(format!("the baseline gave no answer ({detail})"));
        }
        self.drop_client(place);
        let answers = &mut self.arms[place].answers;
        (answers.verdict, answers.detail) = (RowsVerdict::NotComparable, Some(detail));
    }

    fn drop_client(&mut self, place: usize) {
        if let Some(mut client) = self.arms[place].client.take()
            && self.undo != Undo::Nothing
        {
            // If it has ended, so has its transaction.
            let _ = client.connection().run("ROLLBACK");
        }
    }

    /// An arm cannot go on.
    fn fail(&mut self, place: usize, error: Error, nth: &str) -> Result<(), WorkloadError> {
        self.is_spent |= error.is_disconnect();
        let error = refused(error)?;
        self.drop_client(place);
        let arm = &mut self.arms[place];
        arm.answers.verdict = RowsVerdict::Fails;
        arm.answers.detail = Some(format!("{nth}{error}"));
        Ok(())
    }

    fn rule(&self, place: usize, statement: Option<&Bound>) -> LikenessRule {
        let is_ordered = statement.is_some_and(|statement| statement.is_ordered);
        let order = match self.asked.options.order {
            RowOrder::Exact if statement.is_some() => RowSequence::Exact,
            RowOrder::Auto if is_ordered => RowSequence::Ordered,
            _ => RowSequence::Free,
        };
        LikenessRule {
            order,
            float: self.asked.options.float,
            is_across: self.is_of_another(place),
        }
    }

    fn is_of_another(&self, place: usize) -> bool {
        let dbms = |place: usize| -> Dbms { self.arms[place].site.dbms };
        dbms(place) != dbms(self.base)
    }

    /// How the answers of an arm to a set compare with the baseline's, and at which statement.
    fn likeness(&self, place: usize, base: &[Answer], other: &[Answer]) -> (usize, Likeness) {
        let mut found = (0, Likeness::Same);
        let pairs = base.iter().zip(other).zip(&self.asked.statements).enumerate();
        for (number, ((base, other), statement)) in pairs {
            match likeness(base, other, self.rule(place, Some(statement))) {
                Likeness::Same => {}
                Likeness::Order => found = (number, Likeness::Order),
                different => return (number, different),
            }
        }
        found
    }

    fn compare(
        &mut self,
        number: usize,
        set: usize,
        answers: &[Option<Vec<Answer>>],
    ) -> Result<(), WorkloadError> {
        let Some(base) = &answers[self.base] else { return Ok(()) };
        if self.asked.options.order == RowOrder::Ignore {
            return Ok(());
        }
        let mut is_confirmed = false;
        for (place, other) in answers.iter().enumerate() {
            let Some(other) = other.as_ref().filter(|_| place != self.base) else { continue };
            let (statement, found) = self.likeness(place, base, other);
            if found == Likeness::Same {
                continue;
            }
            if self.arms[place].role == ArmRole::Control {
                self.note_base_differs(&found, "the A/A control");
            } else if !is_confirmed {
                self.ask_base_again(set, base)?;
                is_confirmed = true;
            }
            let tie = self.asked.statements[statement].may_tie;
            let text = self.asked.statements[statement]
                .filled(|place| format!(":{}", self.asked.options.parameters[place].name));
            let values = self.asked.options.parameters.iter().zip(&self.sets[set]);
            let values = values.map(|(parameter, value)| {
                format!("{} = {}", parameter.name, value.as_deref().unwrap_or("NULL"))
            });
            let values: Vec<String> = values.collect();
            let about = format!("set {}: {}\n{text}\n", number + 1, values.join(", "));
            self.note(place, found, tie, &format!("set {} of values: ", number + 1), &about);
        }
        Ok(())
    }

    /// Notes what an arm answers otherwise than the baseline; the first difference is told.
    fn note(&mut self, place: usize, found: Likeness, tie: bool, nth: &str, about: &str) {
        let answers = &mut self.arms[place].answers;
        match found {
            Likeness::Same => {}
            Likeness::Order if answers.verdict == RowsVerdict::Same => {
                answers.verdict = RowsVerdict::Order;
                answers.detail = Some(format!("{nth}the same rows in another order"));
            }
            Likeness::Order => {}
            Likeness::Different(RowDifference { what, has_same_count, rows: [missing, new] }) => {
                let is_first = answers.verdict != RowsVerdict::Different;
                let is_tie = tie && has_same_count;
                answers.may_tie = is_tie && (is_first || answers.may_tie);
                if !is_first || answers.verdict == RowsVerdict::Fails {
                    return;
                }
                answers.verdict = RowsVerdict::Different;
                answers.detail = Some(format!("{nth}{what}"));
                let missing = missing.iter().map(|row| format!("only the baseline: {row}\n"));
                let new = new.iter().map(|row| format!("only the contender: {row}\n"));
                let rows: String = missing.chain(new).collect();
                answers.differing = Some(format!("{about}{what}\n{rows}"));
            }
        }
    }

    fn note_base_differs(&mut self, found: &Likeness, whom: &str) {
        match found {
            Likeness::Same => {}
            Likeness::Order => self.is_order_open = true,
            Likeness::Different(_) => {
                let why = format!("the baseline differs from itself ({whom})");
                self.base_differs.get_or_insert(why);
            }
        }
    }

    /// The verdicts, when all is known of the baseline.
    fn concluded(self, remark: Option<String>) -> TestAnswers {
        let Exam { arms, base, base_differs, is_order_open, is_spent, .. } = self;
        let base_fails = arms[base].answers.verdict == RowsVerdict::Fails;
        let concluded = arms.into_iter().enumerate().map(|(place, arm)| {
            let mut answers = arm.answers;
            answers.digest =
                arm.digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
            let why = match &base_differs {
                _ if answers.verdict == RowsVerdict::Fails => None,
                _ if place != base && base_fails => Some("the baseline fails"),
                Some(why) => Some(why.as_str()),
                None => None,
            };
            if let Some(why) = why {
                answers.verdict = RowsVerdict::NotComparable;
                (answers.detail, answers.differing) = (Some(why.to_string()), None);
            } else if answers.verdict == RowsVerdict::Order && is_order_open {
                (answers.verdict, answers.detail) = (RowsVerdict::Same, None);
            }
            if place == base {
                let notes = [answers.note.take(), remark.clone()].into_iter().flatten();
                let notes: Vec<String> = notes.collect();
                answers.note = (!notes.is_empty()).then(|| notes.join("; "));
            }
            answers
        });
        TestAnswers { arms: concluded.collect(), is_spent }
    }
}

/// The text of an error of the DBMS; a cancelled session is no answer.
fn refused(error: Error) -> Result<String, WorkloadError> {
    match error {
        Error::Interrupted(_) => Err(error.into()),
        error => Ok(error.to_string()),
    }
}

fn begin(dialect: Dialect) -> &'static str {
    dialect.begin(true)
}

fn rollback(_: Dialect) -> &'static str {
    "ROLLBACK"
}
