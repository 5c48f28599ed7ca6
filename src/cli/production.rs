//! Limits of what a comparison may ask of remote servers that others depend on.

use std::time::Duration;

use anyhow::bail;
use clap::Args;
use rqps_lab::PlanEstimate;
use rqps_plan::{Comparison, Contender, Memory, Plan, Span};

use super::headings::REMOTE;
use super::units::{Bytes, Roughly};

#[derive(Args, Default)]
pub(crate) struct RemoteLimits {
    /// Make nothing on remote servers: measure queries on the tables that they have
    ///
    /// This is for --workload sql:DIR with nothing but queries. Sessions are set to read only, and
    /// a query that may write is refused before anything starts. Standbys can be measured, too.
    #[arg(long, help_heading = REMOTE, conflicts_with = "loads")]
    pub(crate) read_only: bool,
    /// Refuse a plan with more connections of clients than this
    ///
    /// Counted are those of all contenders and A/A controls on remote servers, at a time.
    #[arg(long, value_name = "N", help_heading = REMOTE)]
    max_clients: Option<u64>,
    /// Hold operations back to this many per second, of all contenders together
    ///
    /// Clients then wait between operations, warm-up included. A test that is held back has
    /// verdicts on the percentiles of its times, and none on its throughput. Loads and checks of
    /// the data are not held back.
    #[arg(long, value_name = "N", help_heading = REMOTE,
        conflicts_with_all = ["rate", "slo"])]
    pub(crate) max_rate: Option<f64>,
    /// Start no round that would exceed this time, and refuse a plan that cannot be kept
    ///
    /// It is a --budget within which the fewest rounds for a verdict must fit, by the estimate.
    #[arg(long, value_name = "MINUTES", help_heading = REMOTE)]
    max_minutes: Option<u32>,
    /// Refuse a plan whose tables on remote servers are larger, such as 2G
    ///
    /// Counted are tables and indexes of all contenders and A/A controls, by the estimate.
    #[arg(long, value_name = "SIZE", help_heading = REMOTE)]
    max_bytes: Option<Memory>,
}

impl RemoteLimits {
    /// The budget, no longer than what is allowed.
    pub(crate) fn budget(&self, asked: Option<Span>) -> Option<Span> {
        let most = self.max_minutes.map(|minutes| Duration::from_secs(60 * u64::from(minutes)));
        let all = asked.map(|span| span.0).into_iter().chain(most);
        all.min().map(Span)
    }

    /// Refuses a plan that does not keep them, before anything is started.
    pub(crate) fn check(&self, plan: &Plan) -> anyhow::Result<()> {
        let Some(comparison) = plan.comparison() else { return Ok(()) };
        let given = [
            ("--max-clients", self.max_clients.is_some()),
            ("--max-minutes", self.max_minutes.is_some()),
            ("--max-bytes", self.max_bytes.is_some()),
        ];
        let Some((flag, _)) = given.into_iter().find(|(_, is_given)| *is_given) else {
            return Ok(());
        };
        if !plan.contenders.iter().any(Contender::is_remote) {
            bail!("{flag} is a limit on remote servers, and no contender is a URL. Drop it");
        }
        let (cpus, memory) = (rqps_observe::cpus(), rqps_dbms::memory());
        self.check_estimate(comparison, &rqps_lab::estimate(plan, cpus, memory)?)
    }

    fn check_estimate(&self, plan: &Comparison, estimate: &PlanEstimate) -> anyhow::Result<()> {
        let remote = &estimate.remote;
        let arms = remote.arms.join(", ");
        if let Some(most) = self.max_clients
            && remote.clients > most
        {
            bail!(
                "--max-clients allows {most} connections, and {} are needed: {} for each of {arms}. \
                 Use fewer --clients or contenders, or --no-control",
                remote.clients,
                plan.of.connections()
            );
        }
        if let Some(Memory(most)) = self.max_bytes
            && remote.bytes > most
        {
            bail!(
                "--max-bytes allows {}, and the tables of {arms} need about {}. Use fewer --rows or \
                 contenders, or --no-control",
                Bytes(most),
                Bytes(remote.bytes)
            );
        }
        if let Some(minutes) = self.max_minutes
            && estimate.budgeted() > Duration::from_secs(60 * u64::from(minutes))
        {
            bail!(
                "--max-minutes allows {minutes}, and the {} rounds that a verdict needs take about {}. \
                 Use fewer tests, rows or contenders, a shorter --secs, or fewer --rounds",
                plan.fewest_rounds,
                Roughly(estimate.budgeted())
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rqps_plan::{Microbenchmark, Workload};

    use super::*;

    fn plan(contenders: [&str; 2]) -> Plan {
        let moment: Span = "10s".parse().unwrap();
        let benchmark = Microbenchmark {
            tables: 1,
            rows: "1M".parse().unwrap(),
            clients: vec![2],
            read_time: moment,
            write_time: moment,
            tests: vec!["point-query".to_string()],
            fair_writes: true,
            pause: "0s".parse().unwrap(),
            quiesce_after_each_write: false,
            check: true,
        };
        Plan {
            contenders: contenders.map(|one| one.parse().unwrap()).to_vec(),
            seed: 1,
            cache: None,
            memory: None,
            design: Comparison::new(Workload::from(benchmark)).into(),
        }
    }

    const URLS: [&str; 2] = ["a=mysql://g/d", "b=mysql://h/d"];

    #[test]
    fn a_plan_beyond_a_limit_is_refused_with_what_it_needs() {
        let refused = |limits: RemoteLimits| limits.check(&plan(URLS)).unwrap_err().to_string();
        let clients = |most| RemoteLimits { max_clients: Some(most), ..RemoteLimits::default() };
        assert!(clients(8).check(&plan(URLS)).is_ok());
        let error = refused(clients(7));
        assert!(error.contains("8 are needed: 2 for each of a, b, A/A control of b"), "{error}");
        let bytes =
            |most| RemoteLimits { max_bytes: Some(Memory(most)), ..RemoteLimits::default() };
        assert!(bytes(100 << 30).check(&plan(URLS)).is_ok());
        let error = refused(bytes(1 << 20));
        assert!(error.contains("--max-bytes allows 1.00 MiB"), "{error}");
        let minutes = |most| RemoteLimits { max_minutes: Some(most), ..RemoteLimits::default() };
        assert!(minutes(600).check(&plan(URLS)).is_ok());
        let error = refused(minutes(1));
        assert!(error.contains("the 6 rounds that a verdict needs"), "{error}");
    }

    #[test]
    fn limits_are_for_remote_servers_and_the_shorter_budget_counts() {
        let limits = RemoteLimits { max_minutes: Some(10), ..RemoteLimits::default() };
        let error = limits.check(&plan(["a=sqlite", "b=sqlite"])).unwrap_err().to_string();
        assert!(error.starts_with("--max-minutes is a limit on remote servers"), "{error}");
        let span = |text: &str| text.parse::<Span>().unwrap();
        assert_eq!(limits.budget(Some(span("5m"))), Some(span("5m")));
        assert_eq!(limits.budget(Some(span("1h"))), Some(span("10m")));
        assert_eq!(limits.budget(None), Some(span("10m")));
        assert_eq!(RemoteLimits::default().budget(None), None);
    }
}
