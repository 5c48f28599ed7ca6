//! Copies of a build that are known to differ: in where their code lies, or by a known number of
//! instructions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use rqps_dbms::Installed;

/// Instructions of the loop below.
pub(crate) const ADDED: f64 = 500.0;
/// The function that has them.
pub(crate) const FUNCTION: &str = "send";

/// `send` of the C library with a loop before it: it takes the place of the server's, since the
/// server needs this library before the C library. Servers send each result with it.
const SPINNING: &str = r#"
#include <stddef.h>
#include <sys/types.h>
#include <sys/socket.h>

ssize_t send(int socket, const void *data, size_t length, int flags)
{
    long left = 250;
    __asm__ volatile("1: dec %0\n jnz 1b" : "+r"(left) : : "cc");
    return sendto(socket, data, length, flags, NULL, 0);
}
"#;

/// A folder that the user of servers can read, removed when it is dropped.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("rqps-causes-").tempdir_in("/var/tmp")?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        Ok(Folder(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The same code with a new dynamic section, for which patchelf moves parts of the file. The
    /// library that it names is one that the C library has anyway.
    pub(crate) fn moved(&self, build: &Installed) -> anyhow::Result<PathBuf> {
        let (root, server) = self.copy(build, "moved")?;
        run(Command::new("patchelf").args(["--add-needed", "libm.so.6"]).arg(server))?;
        Ok(root)
    }

    /// Executes [`ADDED`] instructions more for each result that it sends.
    pub(crate) fn spinning(&self, build: &Installed) -> anyhow::Result<PathBuf> {
        let (root, server) = self.copy(build, "spinning")?;
        let (source, library) =
            (self.path().join("spinning.c"), self.path().join("libspinning.so"));
        fs::write(&source, SPINNING)?;
        run(Command::new("cc").args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source))?;
        run(Command::new("patchelf").arg("--add-needed").arg(&library).arg(server))?;
        Ok(root)
    }

    /// A copy of the build, and the program of the server in it.
    fn copy(&self, build: &Installed, name: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
        let (base, server) = (build.base()?, build.server()?);
        let copy = self.path().join(name);
        run(Command::new("cp").arg("-a").arg(&base).arg(&copy))?;
        let inside = server.strip_prefix(&base).context("the server is in its build")?;
        let server = copy.join(inside);
        Ok((copy, server))
    }
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} ended with {}: {}", output.status, said.trim_end());
    }
    Ok(())
}
