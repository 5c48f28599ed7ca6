//! Tests that the real command line accepts the commands that findings suggest.

use clap::Parser;
use rqps_analysis::diagnosis::{Evidence, Next};
use rqps_plan::{Plan, Profiled};

use super::{Cli, Verb};

/// Comparisons as users write them.
const ASKED: [&[&str]; 13] = [
    &["sqlite", "sqlite?mmap_size=256M"],
    &["slow=sqlite?journal_mode=delete&synchronous=full", "sqlite", "--rows", "20K", "--clients=4"],
    &["postgres@17.6", "postgres@18.0", "--workload", "micro:range,scan", "--method", "runs"],
    &["postgres@17.6", "again=postgres@17.6", "postgres@/opt/my builds/pg", "--secs", "0.5"],
    &["mariadb@10.11/rocksdb", "new=mariadb@11.4/rocksdb:./my;ls.conf", "--tables", "8"],
    &["postgres", "postgres?search_path='$user'", "--io-bound", "--memory", "512M", "--seed", "7"],
    &["sqlite", "mysql@8.0.33", "--workload", "ibench:l.i0,l.x,l.i1", "--rows", "10K"],
    &["postgres@17.6", "postgres@18.0", "--workload", "ibench", "--margin", "7%", "--clients", "2"],
    &["postgres@17.6", "postgres@18.0", "--workload", "ibench", "--writes", "1M,250K"],
    &["postgres@17.6", "postgres@18.0", "--workload", "ibench@p2024:l.i0,l.x,l.i1"],
    &["postgres@17.6", "postgres@18.0", "--workload", "ibench@p2020", "--writes", "1M"],
    &["postgres@17.6", "postgres@18.0", "--workload", "micro:range", "--no-check"],
    &["postgres@17.6", "postgres@18.0", "--slice", "20ms", "--no-control", "--profile=all"],
];

/// With the same checks as a typed command.
fn plan(words: impl IntoIterator<Item = String>) -> Plan {
    let words: Vec<String> = words.into_iter().collect();
    match Cli::try_parse_from(&words).unwrap_or_else(|error| panic!("{words:?}: {error}")).verb {
        Verb::Compare(arguments) => {
            arguments.plan().unwrap_or_else(|error| panic!("{words:?}: {error:#}"))
        }
        _ => panic!("{words:?} is no comparison"),
    }
}

fn asked(words: &[&str]) -> Plan {
    plan(["rqps", "compare"].iter().chain(words).map(|word| word.to_string()))
}

fn comparison(plan: &Plan) -> &rqps_plan::Comparison {
    plan.comparison().expect("a comparison")
}

/// The command that ends a suggestion, as a shell takes it apart.
fn command(text: &str) -> Option<Vec<String>> {
    let at = text.find("rqps ")?;
    Some(shlex::split(&text[at..]).unwrap_or_else(|| panic!("no shell reads {text}")))
}

#[test]
fn every_command_that_a_finding_suggests_is_one_of_rqps() {
    for words in ASKED {
        let plan = asked(words);
        for contender in &plan.contenders[1..] {
            let pair = [plan.contenders[0].clone(), contender.clone()];
            for test in comparison(&plan).tests() {
                let evidence = Evidence {
                    again: plan.command_of(contender, &test).unwrap(),
                    can_be_profiled: comparison(&plan).can_be_profiled(&pair),
                    ..Evidence::new(rqps_plan::Class::Point)
                };
                for next in Next::ALL {
                    let text = next.text(&evidence);
                    let words = command(&text).unwrap_or_else(|| panic!("no command: {text}"));
                    match next {
                        Next::Doctor => assert!(Cli::try_parse_from(words).is_ok(), "{text}"),
                        _ => drop(self::plan(words)),
                    }
                }
            }
        }
    }
}

#[test]
fn a_test_that_is_measured_again_is_measured_as_it_was() {
    for words in ASKED {
        let first = asked(words);
        for contender in &first.contenders[1..] {
            for test in comparison(&first).tests() {
                let again = plan(command(&first.command_of(contender, &test).unwrap()).unwrap());
                assert_eq!(again.contenders, [first.contenders[0].clone(), contender.clone()]);
                assert_eq!(
                    (again.seed, again.cache, again.memory),
                    (first.seed, first.cache, first.memory)
                );
                let (first, again) = (comparison(&first), comparison(&again));
                assert_eq!(again.method_of(&test), first.method_of(&test));
                assert_eq!((again.slice, again.margin), (first.slice, first.margin));
                match first.of.is_chain() {
                    true => assert_eq!(again.of, first.of),
                    false => assert_eq!(again.of, first.of.only(&[test])),
                }
            }
        }
    }
}

#[test]
fn a_profile_is_suggested_where_it_can_be_made() {
    let suggested = |words: &[&str]| {
        let plan = asked(words);
        let evidence = Evidence {
            again: plan.command_of(&plan.contenders[1], &comparison(&plan).tests()[0]).unwrap(),
            can_be_profiled: comparison(&plan).can_be_profiled(&plan.contenders),
            ..Evidence::new(rqps_plan::Class::Point)
        };
        let again = self::plan(command(&Next::Profile.text(&evidence)).unwrap());
        comparison(&again).profile.clone()
    };
    assert_eq!(suggested(&["postgres@17.6", "postgres@18.0"]), Some(Profiled::All));
    assert_eq!(suggested(&["sqlite", "sqlite?mmap_size=256M"]), None);
    assert_eq!(suggested(&["postgres@17.6", "postgres@18.0", "--workload", "ibench"]), None);
}
