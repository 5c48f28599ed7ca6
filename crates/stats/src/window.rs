//! The raw totals of one step of one contender, from which the columns are computed.

/// Which operation the cost of a step is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Normaliser {
    /// Load and write steps: per row inserted, or per row indexed in l.x.
    #[default]
    Insert,
    /// Read-write steps: per query; written amounts stay per row inserted.
    Query,
}

/// Totals over one measured window. What could not be read is `None`, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window<'a> {
    pub normaliser: Normaliser,
    /// Length of the window in seconds.
    pub seconds: f64,
    /// CPUs of the host.
    pub cpus: u32,
    /// Rows inserted by all clients; in l.x the rows indexed, each counted once.
    pub inserts: u64,
    /// Queries (statements) by all clients.
    pub queries: u64,
    /// Requests that the block device completed, by anyone.
    pub device_reads: Option<u64>,
    pub device_read_bytes: Option<u64>,
    pub device_writes: Option<u64>,
    pub device_write_bytes: Option<u64>,
    pub device_flushes: Option<u64>,
    /// Context switches of the whole host.
    pub host_switches: Option<u64>,
    /// Busy CPU microseconds of the whole host: client, DBMS and everything else.
    pub host_cpu: Option<u64>,
    /// CPU microseconds that the hypervisor gave to others.
    pub host_steal: Option<u64>,
    /// CPU microseconds of the DBMS's processes.
    pub server_cpu_user: Option<u64>,
    pub server_cpu_system: Option<u64>,
    pub server_voluntary_switches: Option<u64>,
    pub server_involuntary_switches: Option<u64>,
    /// Microseconds that the DBMS's threads waited for a CPU.
    pub server_run_queue_wait: Option<u64>,
    pub server_read_bytes: Option<u64>,
    pub server_write_bytes: Option<u64>,
    /// CPU microseconds of the client's workers; none when they share a process with the DBMS.
    pub client_cpu_user: Option<u64>,
    pub client_cpu_system: Option<u64>,
    pub client_voluntary_switches: Option<u64>,
    pub client_involuntary_switches: Option<u64>,
    /// At the end of the window.
    pub database_bytes: Option<u64>,
    pub directory_bytes: Option<u64>,
    pub rss_bytes: Option<u64>,
    /// The longest response in nanoseconds: of inserts, or of queries in a read-write step.
    pub longest_response: Option<u64>,
    /// Operations per second of client 1 in each whole second of the window: rows inserted, or
    /// queries in a read-write step. Empty where a rate means nothing (l.x).
    pub rates: &'a [f64],
}

impl Window<'_> {
    /// Rows inserted (in l.x indexed) per second.
    pub fn insert_rate(&self) -> Option<f64> {
        self.per_second(Some(self.inserts))
    }

    /// Queries per second.
    pub fn query_rate(&self) -> Option<f64> {
        self.per_second(Some(self.queries))
    }

    /// The operations that cost is divided by.
    pub fn operations(&self) -> u64 {
        match self.normaliser {
            Normaliser::Insert => self.inserts,
            Normaliser::Query => self.queries,
        }
    }

    /// `total` / seconds.
    pub fn per_second(&self, total: Option<u64>) -> Option<f64> {
        ratio(total? as f64, self.seconds)
    }

    /// `total` / operations.
    pub fn per_operation(&self, total: Option<u64>) -> Option<f64> {
        ratio(total? as f64, self.operations() as f64)
    }

    /// `total` / rows inserted.
    pub fn per_insert(&self, total: Option<u64>) -> Option<f64> {
        ratio(total? as f64, self.inserts as f64)
    }

    /// `micros` of CPU as a percentage of all CPUs over the whole window.
    pub fn percent_of_cpus(&self, micros: Option<u64>) -> Option<f64> {
        ratio(micros? as f64 * 100.0, self.seconds * 1e6 * f64::from(self.cpus))
    }

    /// User and system CPU of the DBMS in microseconds.
    pub fn server_cpu(&self) -> Option<u64> {
        sum(self.server_cpu_user, self.server_cpu_system)
    }

    /// User and system CPU of the client in microseconds.
    pub fn client_cpu(&self) -> Option<u64> {
        sum(self.client_cpu_user, self.client_cpu_system)
    }
}

fn sum(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    Some(left? + right?)
}

/// None rather than infinity or NaN, which no format could carry.
fn ratio(value: f64, by: f64) -> Option<f64> {
    (by > 0.0).then(|| value / by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_divided_by_zero() {
        let empty = Window::default();
        assert_eq!(empty.insert_rate(), None);
        assert_eq!(empty.per_operation(Some(5)), None);
        assert_eq!(empty.percent_of_cpus(Some(5)), None);
    }

    #[test]
    fn cpu_of_a_side_needs_both_of_its_halves() {
        let half = Window { server_cpu_user: Some(5), ..Window::default() };
        assert_eq!(half.server_cpu(), None);
        let whole = Window { server_cpu_system: Some(2), ..half };
        assert_eq!(whole.server_cpu(), Some(7));
    }
}
