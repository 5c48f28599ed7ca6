//! A real sshd on this machine, with a folder and a home that are not those of the test: cells are
//! sent, measured there, resumed when they are killed, and fetched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::{Value, json};

use super::{has, port};
use crate::common::fleets::SmallFleet;
use crate::common::{Rqps, Running, await_that, processes};

/// An sshd with keys of its own, which ends when it is dropped.
struct Daemon {
    root: PathBuf,
    child: Child,
}

impl Daemon {
    fn start(root: &Path) -> Daemon {
        fs::create_dir_all(root).unwrap();
        fs::create_dir_all("/run/sshd").unwrap();
        for key in ["host", "user"] {
            let mut made = Command::new("ssh-keygen");
            made.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(root.join(key));
            assert!(made.status().unwrap().success(), "{key}");
        }
        let (port, d) = (port(), root.display());
        fs::write(
            root.join("sshd_config"),
            format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {d}/host\nPidFile {d}/pid\n\
                 AuthorizedKeysFile {d}/user.pub\nStrictModes no\nUsePAM no\n\
                 PasswordAuthentication no\nPermitRootLogin yes\n"
            ),
        )
        .unwrap();
        fs::write(
            root.join("ssh_config"),
            format!(
                "Host loop\n HostName 127.0.0.1\n Port {port}\n IdentityFile {d}/user\n\
                 \x20IdentitiesOnly yes\n UserKnownHostsFile {d}/known\n"
            ),
        )
        .unwrap();
        let sshd = ["/usr/sbin/sshd", "/usr/bin/sshd"].iter().find(|path| Path::new(path).exists());
        let mut command = Command::new(sshd.expect("sshd is installed"));
        let child = command.args(["-D", "-e", "-f"]).arg(root.join("sshd_config")).spawn().unwrap();
        await_that("sshd listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        let key = fs::read_to_string(root.join("host.pub")).unwrap();
        fs::write(root.join("known.later"), format!("[127.0.0.1]:{port} {key}")).unwrap();
        Daemon { root: root.to_path_buf(), child }
    }

    fn make_known(&self) {
        fs::rename(self.root.join("known.later"), self.root.join("known")).unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn cells_are_sent_resumed_and_fetched() {
    if !has(&["ssh", "ssh-keygen", "sshd", "tar", "base64"]) {
        return;
    }
    let rqps = Rqps::alone();
    let daemon = Daemon::start(&rqps.path("sshd"));
    let (far, far_home) = (rqps.path("it's far"), rqps.path("far-home"));
    fs::create_dir(&far_home).unwrap();
    let on = format!(
        "repeats = 2\n[on.ssh]\nrqps = '{}'\nhome = '{}'\nfolder = \"{}\"\nconfig = '{}'\n\
         [[machine]]\nname = 'far'\nhosts = ['loop']\n",
        env!("CARGO_BIN_EXE_rqps"),
        far_home.display(),
        far.display(),
        daemon.root.join("ssh_config").display(),
    );
    let fleet = SmallFleet::long(&rqps, &on);
    let dir = fleet.dir().display().to_string();
    let shown = fleet.verb(&format!("submit {dir} --dry-run")).ok().stdout;
    assert_eq!(shown.matches("-oBatchMode=yes").count(), 2, "{shown}");

    // A host that nobody has vouched for is not trusted.
    fleet.on_dir("submit").expect_code(3).says(&["Host key verification failed"]);
    assert!(!far.exists());
    daemon.make_known();

    let cells = fleet.cells();
    let submit = Running::start(rqps.command(["fleet", "submit", &dir]));
    let there = far.join("cells").join(&cells[0]);
    await_that("the first cell is measured", || there.join("run.partial/results.sqlite").exists());
    let lease: Value =
        serde_json::from_str(&fs::read_to_string(there.join("lease")).unwrap()).unwrap();
    processes::kill(lease["holder"]["pid"].as_i64().unwrap() as i32);
    submit.finish().ok();
    for id in &cells {
        assert_eq!(fleet.rounds(id), 12, "{id}");
    }
    let attempts = fleet.attempts(&cells[0]);
    assert_eq!(attempts, [Value::Null, json!("measured")], "killed, and resumed");
    assert!(fleet.states().iter().all(|(_, state)| state == "done"));
    assert!(fleet.on_dir("report").ok().stdout.contains("on 1 machine"));
    fleet.on_dir("collect").ok().says(&["collected 0 cells"]);
}
