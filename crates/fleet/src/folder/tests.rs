use rqps_plan::{Comparison, Design, InsertBenchmark, Plan, Profile, Workload};

use super::*;
use crate::attempt::CellExit;
use crate::cell::cells;

const TEXT: &str =
    "plan = 'pg.toml'\n[on.local]\n[[machine]]\nname = 'm1'\n[[machine]]\nname = 'm2'\n";

fn plan() -> Plan {
    let benchmark = InsertBenchmark::new(Profile::P2025, "1K".parse().unwrap());
    Plan {
        contenders: ["a=sqlite", "b=sqlite"].map(|it| it.parse().unwrap()).into(),
        seed: 1,
        cache: None,
        memory: None,
        design: Design::Comparison(Comparison::new(Workload::InsertBenchmark(benchmark))),
    }
}

fn planned(text: &str) -> Vec<CellSpec> {
    let file = FleetFile::parse(text).unwrap();
    cells(&file, &[("compare-x".to_string(), plan(), "1h".parse().unwrap())], "abc")
}

fn made(folder: &Path) -> FleetFolder {
    FleetFolder::create(folder, TEXT, "[compare.x]\n", &planned(TEXT)).unwrap()
}

fn first(fleet: &FleetFolder) -> CellFolder {
    fleet.cells().remove(0).1.unwrap()
}

#[test]
fn a_folder_is_opened_as_it_was_planned_and_planning_again_changes_nothing() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("fleet");
    let fleet = made(&path);
    let cell = first(&fleet);
    fs::create_dir(cell.run()).unwrap();
    let again = made(&path);
    let opened = FleetFolder::open(&path).unwrap();
    let ids = |of: &FleetFolder| -> Vec<String> {
        of.cells().into_iter().map(|(id, _)| id.to_string()).collect()
    };
    assert_eq!((ids(&fleet), ids(&fleet)), (ids(&again), ids(&opened)));
    assert_eq!(first(&opened).spec, cell.spec);
    assert!(first(&opened).is_done() && opened.earlier() == 0);
}

#[test]
fn cells_of_an_earlier_plan_stay_and_are_no_longer_planned() {
    let outer = tempfile::tempdir().unwrap();
    made(outer.path());
    let text = TEXT.replace("'m2'", "'m3'");
    let fleet = FleetFolder::create(outer.path(), &text, "[compare.x]\n", &planned(&text)).unwrap();
    assert_eq!((fleet.cells().len(), fleet.earlier()), (2, 1));
    let old = planned(TEXT).remove(1).id;
    let error = fleet.cell(&old).unwrap_err().to_string();
    assert!(error.contains("is not in this fleet"), "{error}");
}

#[test]
fn what_is_not_of_this_fleet_is_refused() {
    let outer = tempfile::tempdir().unwrap();
    let theirs = outer.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("precious"), "").unwrap();
    let error = FleetFolder::create(&theirs, TEXT, "", &planned(TEXT)).unwrap_err();
    assert!(matches!(error, FleetError::NotEmpty(_)), "{error}");
    let error = FleetFolder::open(&theirs).unwrap_err().to_string();
    assert!(error.contains("is not the folder of a fleet"), "{error}");

    let path = outer.path().join("fleet");
    let fleet = made(&path);
    for id in ["../../x", "", "zzz", "a b"] {
        assert!(matches!(fleet.cell(id), Err(FleetError::NoCell { .. })), "{id}");
    }
    let cell = first(&fleet);
    let spec = cell.path.join(SPEC);
    let text = fs::read_to_string(&spec).unwrap();
    fs::write(&spec, text.replace("seed = 1", "seed = 2")).unwrap();
    let error = fleet.cell(&cell.spec.id).unwrap_err();
    assert!(matches!(error, FleetError::Changed { .. }), "{error}");
    assert!(fleet.cells()[1].1.is_ok(), "the others are shown");

    fs::write(path.join(FILE), TEXT.replace("'m1'", "'m9'")).unwrap();
    let error = FleetFolder::open(&path).unwrap_err().to_string();
    assert!(error.contains("it was edited after the fleet was planned"), "{error}");
    fs::write(path.join(INDEX), "{").unwrap();
    let error = FleetFolder::open(&path).unwrap_err().to_string();
    assert!(error.contains("fleet.json' is damaged"), "{error}");
}

#[test]
fn a_cell_of_a_link_is_not_followed() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("fleet");
    let fleet = made(&path);
    let cell = first(&fleet);
    let elsewhere = outer.path().join("elsewhere");
    fs::rename(&cell.path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &cell.path).unwrap();
    assert!(matches!(fleet.cell(&cell.spec.id), Err(FleetError::Path(_))));
}

#[test]
fn the_state_of_a_cell_is_that_of_its_folder() {
    let outer = tempfile::tempdir().unwrap();
    let fleet = made(&outer.path().join("fleet"));
    let cell = first(&fleet);
    let told = |cell: &CellFolder| format!("{}: {}", cell.state().name(), cell.state().told());
    assert_eq!(told(&cell), "waiting: ");

    let lease = CellLease::take(&cell.path, &cell.spec.id, &|_| false).unwrap();
    assert!(told(&cell).starts_with("running: "), "{}", told(&cell));
    drop(lease);

    let ended = |exit, why: &str| {
        let (attempt, path) = Attempt::begin(&cell.path).unwrap();
        attempt.end(&path, exit, Some(why.to_string())).unwrap();
    };
    ended(CellExit::Busy, "the machine was busy");
    assert!(told(&cell).starts_with("waiting: the machine was busy"), "{}", told(&cell));
    ended(CellExit::Failed, "no disk");
    assert_eq!(told(&cell), "failed: no disk (attempt 2)");
    Attempt::forgive(&cell.path).unwrap();
    assert!(told(&cell).starts_with("waiting: to be tried again"), "{}", told(&cell));
    ended(CellExit::Measured, "");
    assert!(told(&cell).starts_with("damaged: "), "its run is missing");

    fs::create_dir(cell.partial()).unwrap();
    cell.finish().unwrap();
    assert_eq!(told(&cell), "done: ");
    fs::write(cell.path.join("attempts/9.json"), "{").unwrap();
    assert_eq!(told(&cell), "damaged: cannot read attempts/9.json");
}

#[test]
fn what_another_machine_began_is_kept() {
    let outer = tempfile::tempdir().unwrap();
    let cell = first(&made(&outer.path().join("fleet")));
    for number in [1, 2] {
        fs::create_dir(cell.partial()).unwrap();
        fs::write(cell.partial().join("round"), number.to_string()).unwrap();
        let aside = cell.set_aside().unwrap();
        assert!(aside.ends_with(format!("run.aside-{number}")), "{}", aside.display());
        assert_eq!(fs::read_to_string(aside.join("round")).unwrap(), number.to_string());
    }
}
