//! A machine that dies while a step is being written, and files that have lost their end: the steps
//! before are kept, or the damage is told. Never is a part taken for the whole.

use std::fs;
use std::path::{Path, PathBuf};

use hdrhistogram::Histogram;
use rqps_plan::{
    Class, Count, Counts, Design, InsertBenchmark, Operation, Plan, Profile, Workload,
};
use rqps_store::{Manifest, Measurement, RoundRecord, Run, RunDirectory, Status, WorkRecord};
use rusqlite::Connection;

const RESULTS: &str = "results.sqlite";
const JOURNAL: &str = "results.sqlite-journal";
const PAGE: usize = 4096;
/// A page as the journal has it: its number before it, a checksum after it.
const PAGE_RECORD: usize = 4 + PAGE + 4;

fn done(place: u32) -> RoundRecord {
    let mut service = Histogram::new_with_bounds(1_000, 3_600_000_000_000, 3).unwrap();
    // So many different times that the record takes more than a page.
    (1..400).for_each(|n| service.record_n(n * 7_919, n).unwrap());
    let work = WorkRecord { service, ..WorkRecord::of_several(Operation::Query) };
    let work = vec![work.packed()];
    let measured = Measurement { status: Status::Done, work, ..Measurement::default() };
    RoundRecord {
        test: format!("step {place}"),
        place,
        arms: [("sqlite".to_string(), measured)].into(),
        ..RoundRecord::new(Class::Range, Counts::Queries)
    }
}

fn do_step(run: &mut RunDirectory, place: u32) {
    let mut round = done(place);
    run.begin(&mut round).unwrap();
    run.save(&round).unwrap();
}

/// A run of which two steps are done. On a file system in memory if there is one: it is opened
/// thousands of times.
fn two_steps() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
    let directory = tempfile::tempdir_in(parent).unwrap();
    let plan = Plan {
        contenders: vec!["sqlite".parse().unwrap()],
        seed: 7,
        cache: None,
        memory: None,
        design: Design::Single(Workload::InsertBenchmark(InsertBenchmark::new(
            Profile::P2025,
            Count(1_000),
        ))),
    };
    let mut run = RunDirectory::create(directory.path(), plan, Manifest::default()).unwrap();
    do_step(&mut run, 0);
    do_step(&mut run, 1);
    directory
}

/// What a machine leaves that dies in the middle of a third step's commit.
struct Died {
    before: Vec<u8>,
    /// With a part of what the commit writes.
    database: Vec<u8>,
    journal: Vec<u8>,
}

impl Died {
    /// A commit of the same size as a step's, stopped when all but its last write has been made.
    fn in_commit(path: &Path) -> Died {
        let (results, journal) = (path.join(RESULTS), path.join(JOURNAL));
        let before = fs::read(&results).unwrap();
        let connection = Connection::open(&results).unwrap();
        // Pages are written before the commit as soon as there is no room for them in memory.
        connection.execute_batch("pragma cache_size = 1; pragma cache_spill = 1").unwrap();
        let copy = "begin immediate;
            update measurement set status = 'failed', error = 'lost';
            update work set operations = 0;
            with recursive seconds(n) as (select 0 union all select n + 1 from seconds where n < 9999)
            insert into second select id, n, n, n, n from seconds, work";
        connection.execute_batch(copy).unwrap();
        let died = Died {
            before,
            database: fs::read(&results).unwrap(),
            journal: fs::read(journal).unwrap(),
        };
        assert!(died.database.len() > died.before.len() + PAGE);
        assert!(died.journal.len() > 2 * PAGE_RECORD);
        connection.execute_batch("rollback").unwrap();
        died
    }
}

struct Files(PathBuf);

impl Files {
    fn put(&self, database: &[u8], journal: Option<&[u8]>) {
        fs::write(self.0.join(RESULTS), database).unwrap();
        match journal {
            Some(journal) => fs::write(self.0.join(JOURNAL), journal).unwrap(),
            None => drop(fs::remove_file(self.0.join(JOURNAL))),
        }
    }

    /// The run can be gone on with, and all is as it was before the commit.
    fn is_taken_back(&self, before: &[u8], case: &str) {
        let run = RunDirectory::resume(&self.0).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(run.done(1).unwrap(), [0, 1], "{case}");
        assert!(fs::read(self.0.join(RESULTS)).unwrap() == before, "{case}");
    }
}

#[test]
fn a_commit_that_was_cut_short_leaves_the_steps_before_it() {
    let directory = two_steps();
    let files = Files(directory.path().to_path_buf());
    let died = Died::in_commit(directory.path());

    // The database is not written to before the journal is whole.
    let last_record = died.journal.len() - PAGE_RECORD;
    for length in (0..last_record).step_by(101).chain(last_record..=died.journal.len()) {
        files.put(&died.before, Some(&died.journal[..length]));
        files.is_taken_back(&died.before, &format!("{length} bytes of the journal"));
    }
    // Then it is, and grows: no length of it matters while the journal is there.
    let last_page = died.database.len() - PAGE;
    for length in (died.before.len()..last_page).step_by(997).chain(last_page..=died.database.len())
    {
        files.put(&died.database[..length], Some(&died.journal));
        files.is_taken_back(&died.before, &format!("{length} bytes of the database"));
    }
    files.put(&died.database, Some(&died.journal));
    let mut run = RunDirectory::resume(directory.path()).unwrap();
    do_step(&mut run, 2);
    assert_eq!(run.done(1).unwrap(), [0, 1, 2]);
}

#[test]
fn a_run_that_died_in_a_commit_can_be_looked_at() {
    let directory = two_steps();
    let died = Died::in_commit(directory.path());
    Files(directory.path().to_path_buf()).put(&died.database, Some(&died.journal));
    let rounds = Run::open(directory.path()).unwrap().rounds;
    let statuses: Vec<Status> = rounds.iter().map(|round| round.arms["sqlite"].status).collect();
    assert_eq!(statuses, [Status::Done; 2]);
}

#[test]
fn a_database_that_has_lost_any_part_of_its_end_is_refused() {
    let directory = two_steps();
    let files = Files(directory.path().to_path_buf());
    let whole = fs::read(directory.path().join(RESULTS)).unwrap();
    let cuts = whole.len() - 2 * PAGE..whole.len();
    for length in (0..cuts.start).step_by(997).chain(cuts) {
        files.put(&whole[..length], None);
        let error = Run::open(directory.path()).unwrap_err().to_string();
        assert!(error.contains("results.sqlite"), "{length} bytes: {error}");
        let error = RunDirectory::resume(directory.path()).unwrap_err().to_string();
        assert!(error.contains("results.sqlite"), "{length} bytes: {error}");
    }
    files.put(&whole, None);
    files.is_taken_back(&whole, "all of it");
}

#[test]
fn a_plan_or_manifest_that_has_lost_its_end_is_refused() {
    let directory = two_steps();
    let expected = Run::open(directory.path()).unwrap();
    for name in ["plan.toml", "manifest.json"] {
        let file = directory.path().join(name);
        let whole = fs::read(&file).unwrap();
        for length in 0..whole.len() {
            fs::write(&file, &whole[..length]).unwrap();
            match Run::open(directory.path()) {
                Err(error) => assert!(error.to_string().contains(name), "{length}: {error}"),
                Ok(run) => assert_eq!(run.plan, expected.plan, "{name} cut after {length}"),
            }
        }
        fs::write(&file, &whole).unwrap();
    }
}
