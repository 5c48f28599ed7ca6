use super::*;
use crate::Microbenchmark;

fn micro() -> Comparison {
    Comparison::new(
        Microbenchmark {
            tables: 1,
            rows: crate::Count(1_000),
            clients: vec![1],
            read_time: Span(Duration::from_secs(1)),
            write_time: Span(Duration::from_secs(1)),
            tests: vec!["point-query".to_string()],
            fair_writes: true,
            pause: Span(Duration::ZERO),
            quiesce_after_each_write: false,
            check: false,
        }
        .into(),
    )
}

#[test]
fn a_remote_server_has_one_load_and_commands_that_name_it() {
    let contenders = ["a=mysql://h/d", "b=mysql@8.0.33"].map(|it| it.parse().unwrap());
    let refused = |comparison: &Comparison| {
        comparison.validate(&contenders).map_err(|error| error.to_string())
    };
    assert_eq!(refused(&micro()), Ok(()));
    let says = |comparison: Comparison, text: &str| {
        let error = refused(&comparison).unwrap_err();
        assert!(error.contains(text), "{error}");
    };
    assert_eq!(refused(&Comparison { method: Method::Runs, ..micro() }), Ok(()));
    let capped = Comparison { max_rate: Some(100.0), ..micro() };
    says(Comparison { method: Method::Runs, ..capped }, "--max-rate limits slices");
    says(Comparison { loads: Some(2), ..micro() }, "cannot compare a on 2 loads");
    says(Comparison { profile: Some(Profiled::All), ..micro() }, "cannot profile a");
    let restarted = |name: &str| Comparison { restarted: vec![name.to_string()], ..micro() };
    assert_eq!(refused(&restarted("a")), Ok(()));
    says(restarted("b"), "cannot restart 'b': rqps starts it itself");
    says(restarted("c"), "cannot restart 'c': no contender has this name");
}

#[test]
fn only_tables_of_remote_servers_are_measured_without_making_any() {
    let reading = Comparison { read_only: true, ..micro() };
    let refused = |contenders: [&str; 2], restarted: &[&str]| {
        let restarted = restarted.iter().map(|name| name.to_string()).collect();
        let reading = Comparison { restarted, ..reading.clone() };
        let contenders = contenders.map(|one| one.parse().unwrap());
        reading.validate(&contenders).map_err(|error| error.to_string())
    };
    let (a, b) = ("a=mysql://g/d", "b=mysql://h/d");
    assert_eq!(refused([a, b], &[]), Ok(()));
    for (contenders, restarted, says) in [
        ([a, "b=mysql@8.0.33"], &[][..], "b is none: rqps starts it"),
        ([a, "b=mysql://g/d?place=@b.sql"], &[], "b is none: its file"),
        ([a, b], &["a"], "a is none: a command restarts it"),
    ] {
        let error = refused(contenders, restarted).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_limit_of_operations_is_for_remote_servers_and_shared_by_clients() {
    let capped = |rate: f64| Comparison { max_rate: Some(rate), ..micro() };
    let on = |contender: &str| [contender.parse().unwrap(), "b=mysql@8.0.33".parse().unwrap()];
    assert_eq!(capped(100.0).validate(&on("a=mysql://h/d")), Ok(()));
    let refused = capped(100.0).validate(&on("a=mysql@8.0.33"));
    assert_eq!(refused, Err(ComparisonError::CappedBuilds));
    for nonsense in [0.0, f64::NAN] {
        let refused = capped(nonsense).validate(&on("a=mysql://h/d"));
        assert_eq!(refused, Err(ComparisonError::MaxRate));
    }
    assert_eq!(micro().spacing(), Duration::ZERO);
    assert_eq!(capped(100.0).spacing(), Duration::from_millis(10));
    let Workload::Microbenchmark(of) = micro().of else { unreachable!() };
    let four = Microbenchmark { clients: vec![4], ..of };
    let four = Comparison { max_rate: Some(100.0), ..Comparison::new(four.into()) };
    assert_eq!(four.spacing(), Duration::from_millis(40));
}

#[test]
fn a_rate_is_a_number_and_for_whole_runs() {
    let with = |rate: f64, method: Method| {
        Comparison { rate: Some(rate), method, ..micro() }.validate_rate()
    };
    assert_eq!(with(500.0, Method::Runs), Ok(()));
    assert_eq!(with(500.0, Method::Slices), Err(ComparisonError::SlicedRate));
    for nonsense in [0.0, -1.0, 1e9, f64::NAN, f64::INFINITY] {
        assert_eq!(with(nonsense, Method::Runs), Err(ComparisonError::Rate), "{nonsense}");
    }
}

#[test]
fn a_search_for_the_largest_rate_needs_five_rounds() {
    let two = ["postgres@17", "postgres@18"].map(|it| it.parse().unwrap());
    let of = |rounds, slo: Option<&str>| {
        let slo = slo.map(|level| level.parse().unwrap());
        let (fewest_rounds, method) = (rounds, Method::Runs);
        Comparison { rounds, fewest_rounds, slo, method, ..micro() }.validate(&two)
    };
    let few = Err(ComparisonError::TooSmall("rounds", "5".to_string()));
    assert_eq!(of(4, Some("p99<10ms")), few);
    assert_eq!(of(5, Some("p99<10ms")), Ok(()));
    assert_eq!(of(4, None), Ok(()));
}

#[test]
fn only_servers_of_one_dbms_that_valgrind_can_run_are_counted() {
    let comparison = micro();
    let why = |baseline: &str, contender: &str| {
        let [baseline, contender] = [baseline, contender].map(|it| it.parse().unwrap());
        comparison.uncountable(&contender, &baseline)
    };
    assert_eq!(why("postgres@17", "postgres@18"), None);
    assert_eq!(why("mysql@8.0", "mysql@9.7"), None);
    assert_eq!(why("sqlite", "sqlite?cache_size=1"), Some(RUNS_INSIDE));
    assert_eq!(why("mysql@8.0", "postgres@18"), Some(OTHER_DBMS));
    assert_eq!(why("postgres@18", "postgres://h/d"), Some(NOT_STARTED));
    assert_eq!(why("mariadb", "mariadb@10.11"), Some(HANGS));
    assert_eq!(why("mariadb", "mariadb?innodb_use_native_aio=OFF"), None);
}
