//! The flags of `rqps dbbench`, and the workload of a comparison.

use clap::Args;
use rqps_plan::{Count, DBBENCH_TESTS, Dbbench, Span, Workload, suggestion};

use crate::asked::{Asked, FlagError, Reads};
use crate::task::{UnknownTest, WorkloadError};

#[derive(Args)]
#[command(next_help_heading = "What to measure")]
pub(crate) struct DbbenchFlags {
    /// Number of keys, of 20 bytes with values of 400 bytes.
    #[arg(long, value_name = "N", default_value = "1M")]
    rows: Count,
    /// Number of clients, each a thread in the process of the database.
    #[arg(long, value_name = "N", default_value_t = 1)]
    clients: u32,
    /// Measured time of each test that reads.
    #[arg(long, value_name = "SECONDS", default_value = "10")]
    secs: Span,
    /// Tests in their order, of fillseq, readrandom, fwdrange, revrange, multireadrandom, overwrite
    ///
    /// readwhilewriting, fwdrangewhilewriting and revrangewhilewriting are beside a writer.
    /// The load before them puts the same keys as fillseq.
    #[arg(
        long,
        value_name = "TEST,…",
        value_delimiter = ',',
        default_value = "readrandom,fwdrange,revrange,multireadrandom,overwrite"
    )]
    tests: Vec<String>,
    /// Do not check the data.
    #[arg(long)]
    no_check: bool,
}

impl Reads for DbbenchFlags {
    fn workload(self) -> Result<Workload, FlagError> {
        let DbbenchFlags { rows: keys, clients, secs: time, tests, no_check } = self;
        Ok(Dbbench { keys, clients, time, tests, check: !no_check }.into())
    }
}

/// The workload of a comparison.
pub(crate) fn asked(asked: &Asked<'_>) -> Result<Workload, FlagError> {
    if asked.tables.is_some() || asked.writes.is_some() {
        let reason = "a database of db_bench has no tables. Drop --tables and --writes";
        return Err(FlagError(reason.to_string()));
    }
    let tests = select(&asked.workload.names)?;
    let time = asked.secs.unwrap_or_else(|| (asked.fitting)(tests.len()));
    let (keys, clients, check) = (asked.rows(), asked.clients, asked.check);
    Ok(Dbbench { keys, clients, time, tests, check }.into())
}

/// The names of all, or of these if there are such tests.
pub(crate) fn select(names: &[String]) -> Result<Vec<String>, WorkloadError> {
    match names.iter().find(|name| Dbbench::test(name).is_none()) {
        None => Ok(names.to_vec()),
        Some(name) => {
            let hint = suggestion(name, DBBENCH_TESTS.iter().map(|test| test.name));
            Err(UnknownTest { name: name.clone(), hint }.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use rqps_worker::Kind;

    use super::*;

    #[test]
    fn the_process_of_a_database_knows_every_test() {
        for test in &DBBENCH_TESTS {
            let kind = Kind::from_name(test.name);
            assert_eq!(kind.map(Kind::writes), Some(test.class.writes()), "{}", test.name);
        }
        assert_eq!(DBBENCH_TESTS.len(), Kind::ALL.len());
        assert_eq!(Dbbench::ROW_BYTES, rqps_worker::ROW_BYTES);
    }

    #[test]
    fn the_default_tests_exist() {
        let flags = clap::Command::new("dbbench");
        let flags = DbbenchFlags::augment_args(flags).get_matches_from(["dbbench"]);
        let flags = <DbbenchFlags as clap::FromArgMatches>::from_arg_matches(&flags).unwrap();
        let plan = flags.workload().unwrap();
        plan.validate(&[]).unwrap();
        assert_eq!(plan.tests().len(), 5);
    }

    #[test]
    fn an_unknown_test_is_answered_with_the_nearest() {
        let error = select(&["fwdrnge".to_string()]).unwrap_err().to_string();
        assert!(error.contains("'fwdrnge': did you mean 'fwdrange'?"), "{error}");
    }
}
