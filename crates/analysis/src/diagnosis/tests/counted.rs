//! What counters of the DBMS say of its own work.

use super::*;

/// A counter per operation, of baseline and contender.
fn counts(case: Case, name: &str, base: f64, contender: f64) -> Case {
    let log = if base > 0.0 { sure((contender / base).ln()) } else { unsure(0.0) };
    case.metric(name, 1.0).with(|evidence| {
        let change = Change { base, contender, log, noise: 0.002 };
        evidence.metrics.insert(name.to_string(), change);
    })
}

fn slower_gets() -> Case {
    Case::slower("readrandom", Class::Point, -20.0).part(Part::ServerUser, 0.9)
}

#[test]
fn r18_comparisons_of_keys_are_named_in_place_of_cpu() {
    let finding = counts(slower_gets(), "user_key_comparison_count", 20.0, 26.0).only();
    assert_eq!((finding.cause, finding.confidence), (Cause::Search, Confidence::Strong));
    assert!(finding.statement.contains(
        "comparisons of keys per operation (user_key_comparison_count) change by +30.0 %"
    ));
    let few = counts(slower_gets(), "user_key_comparison_count", 20.0, 20.4);
    assert!(few.causes().contains(&(Cause::Search, Confidence::Hint)), "{:?}", few.causes());
    let as_many = counts(slower_gets(), "user_key_comparison_count", 20.0, 20.0);
    assert!(!as_many.has(Cause::Search));
}

#[test]
fn r19_a_cache_that_does_not_hold_the_blocks_is_told_with_its_numbers() {
    let case = counts(slower_gets(), "block_read_count", 0.0, 1.4);
    let case = counts(case, "block_cache_hit_count", 2.0, 0.6);
    let finding = case.only();
    assert_eq!((finding.cause, finding.confidence), (Cause::Cache, Confidence::Strong));
    assert_eq!(
        finding.statement,
        "-20.0 % operations/s: an operation reads 1.4 blocks from files, 0.0 in the baseline \
         (block_read_count); it finds 0.6 in the cache, 2.0 in the baseline \
         (block_cache_hit_count) (strong)."
    );
    let case = counts(slower_gets(), "block_read_count", 0.5, 1.4);
    let case = counts(case, "rocksdb.last.level.read.bytes", 100.0, 9_000.0);
    let finding = counts(case, "rocksdb.non.last.level.read.bytes", 100.0, 1_000.0).only();
    assert!(finding.statement.contains("90 % are of the last level"), "{}", finding.statement);
    assert!(!counts(slower_gets(), "block_read_count", 0.0, 0.01).has(Cause::Cache));
}

#[test]
fn r20_background_threads_are_a_cause_if_their_share_differs_by_more_than_the_margin() {
    let case = |margin: f64, background: f64| {
        let case = counts(slower_gets(), "cpu.serving", 4_000.0, 4_000.0);
        let case = counts(case, "cpu.background", 40.0, background);
        case.with(|evidence| evidence.margin = margin)
    };
    let finding = case(0.02, 1_000.0).only();
    assert_eq!(finding.cause, Cause::Background);
    assert!(
        finding
            .statement
            .contains("background threads use 20.0 % of the server's CPU, 1.0 % in the baseline"),
        "{}",
        finding.statement
    );
    assert!(!case(0.3, 1_000.0).has(Cause::Background), "the margin is larger");
    assert!(!case(0.0, 60.0).has(Cause::Background), "half of a percent is the noise of reading");
}

#[test]
fn r21_stalls_hold_up_writers_and_nobody_else() {
    let case = |class| Case::slower("overwrite", class, -30.0).part(Part::Rest, 0.8);
    let finding = counts(case(Class::Update), "rocksdb.stall.micros", 1.0, 4.0).only();
    assert_eq!((finding.cause, finding.confidence), (Cause::Stalls, Confidence::Strong));
    assert!(!counts(case(Class::Point), "rocksdb.stall.micros", 1.0, 4.0).has(Cause::Stalls));
}
