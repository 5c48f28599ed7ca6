//! The benchmarks: their data, their statements in each dialect, and the checks that the data are
//! right. Knows nothing of how time is kept or what an operation cost.

mod explain;
mod index_only;
pub mod insert_benchmark;
pub mod microbenchmark;
mod random;
mod script;

pub use explain::Explained;
pub use random::{Random, stream};
pub use rqps_dbms::Dialect;

/// Whether a table of this name is one that a workload makes, in any of its forms: in a place of
/// rqps's own no other table is its to drop.
pub fn is_table(name: &str) -> bool {
    microbenchmark::is_table(name) || insert_benchmark::is_table(name)
}

/// Whether a name is a prefix and a number.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let digits = name.strip_prefix(prefix).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::is_table;

    #[test]
    fn tables_of_workloads_are_told_from_others() {
        for name in ["sbtest1", "sbtest12", "sbtest_made_by_rqps", "pi1", "pi2_p3"] {
            assert!(is_table(name), "{name}");
        }
        for name in ["sbtest", "sbtest1x", "sbtest_mine", "pi", "pi1_p", "pi1_copy", "pilots", "t"]
        {
            assert!(!is_table(name), "{name}");
        }
    }
}
