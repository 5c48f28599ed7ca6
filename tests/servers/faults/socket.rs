//! A server whose socket is gone: connections that are open go on, those that are to be opened
//! cannot be.

use crate::common::result::RunResult;
use crate::common::{Rqps, entries};

#[test]
#[ignore = "nightly: what ends a step is told in the same way"]
fn a_socket_that_was_deleted_is_named_and_the_rest_can_be_done() {
    let rqps = Rqps::new();
    let steps = ["l.i0", "l.x", "l.i1", "l.i2", "qr100"];
    let arguments = format!(
        "p=postgres@17.6 --rows 2K --writes 500,50 --rates 100 --query-secs 6 --pause 0 --only {}",
        steps.join(",")
    );
    let running = rqps.start_ibench(&arguments);
    running.wait_for("qr100 (5 of 5)");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let run = rqps.home().join("run");
    let folders = entries(&run).into_iter().map(|name| run.join(name).join("socket"));
    let sockets: Vec<_> = folders
        .flat_map(|folder| entries(&folder).into_iter().map(move |name| folder.join(name)))
        .filter(|path| path.to_string_lossy().contains(".s.PGSQL.") && !path.ends_with(".lock"))
        .collect();
    assert!(!sockets.is_empty(), "a socket in {}", run.display());
    sockets.iter().for_each(|socket| std::fs::remove_file(socket).unwrap());
    let ended = running.finish().expect_code(3);
    let socket = sockets[0].display().to_string();
    let socket = socket.trim_end_matches(".lock");
    ended.says(&["error: p: qr100: cannot connect to ", socket, "No such file", "--resume"]);
    rqps.assert_no_server_is_left();
    let failed = RunResult::of(&rqps.out());
    assert_eq!(failed.last_state(), "p qr100 failed");
    rqps.resume().ok();
    let result = RunResult::of(&rqps.out());
    assert_eq!(result.steps(), steps);
    result.assert_completes(&failed);
    rqps.assert_nothing_is_left();
}
