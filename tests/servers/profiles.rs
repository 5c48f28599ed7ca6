//! Profiles of real servers.

use crate::common::Rqps;
use crate::common::result::RunResult;

const SMALL: &str = "--rows 2K --secs 0.2 --rounds 3 --no-guards";

/// Needs perf, and a machine that lets it sample: without either the comparison says what is
/// missing, and this test fails with that.
#[test]
fn a_profile_names_the_functions_of_a_real_server() {
    let rqps = Rqps::with_own_locks();
    let arguments = format!(
        "postgres@17.6 postgres@18.0 --workload micro:point-query --no-control --profile=point-query \
         --instructions=none --keep-data {SMALL}"
    );
    let ended = rqps.start("compare", &arguments).finish();
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    assert!(ended.stdout.contains("Profile of point-query"), "{}", ended.stdout);
    let found = &RunResult::of(&rqps.out()).0["comparison"];
    let profile = &found["contenders"][0]["profiles"][0];
    assert_eq!(profile["test"], "point-query");
    for side in ["baseline", "contender"] {
        let of = |key: &str| profile[side][key].as_f64().unwrap();
        assert_eq!(of("runs"), 4.0);
        // Samples are of CPU time, so they come to no more than what the kernel counts, however
        // busy the machine is, and to less where it stands still and takes none.
        assert!((0.1..1.3).contains(&(of("sampled") / of("counted"))), "{}", profile[side]);
        assert!(of("unnamed") < 0.2 && of("cut") < 0.5, "{}", profile[side]);
    }
    let all = profile["inclusive"].as_array().unwrap();
    for name in ["PostgresMain", "ExecInitNode", "btgettuple"] {
        assert!(all.iter().any(|one| one["name"] == name), "no {name} in {all:#?}");
    }
    let kept = std::fs::read_dir(rqps.out().join("profiles")).unwrap().count();
    assert_eq!(kept, 8, "a file for each profile");
    // What the rounds have left was profiled, too, and stays.
    for place in 0..2 {
        let data = rqps.data(place);
        let load = data.with_file_name(format!("{place}-load3"));
        assert!(
            load.join("PG_VERSION").exists(),
            "{:?}",
            crate::common::entries(data.parent().unwrap())
        );
    }
    rqps.assert_no_server_is_left();
}
