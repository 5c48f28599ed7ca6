//! A repository of SQLite with a known truth: the library is compiled once with its `sqlite3_step`
//! under another name, and the commits change the function in front of it, which spins for a given
//! number of turns. A commit is built in a tenth of a second.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::{open_to_all, store};

/// A commit to make.
pub(crate) struct Change {
    pub(crate) subject: String,
    pub(crate) source: String,
    /// Commits on a branch from the commit before, which this one merges.
    pub(crate) merges: Vec<Change>,
}

/// The function in front of SQLite's, with something in the library that differs.
pub(crate) fn shim(turns: u32, differs: &str, remark: &str) -> String {
    format!(
        "/* {remark} */\nconst char rqps_differs[] = \"{differs}\";\nint rqps_real_step(void *);\n\
         int sqlite3_step(void *statement) {{\n\
         \x20   for (volatile int turn = 0; turn < {turns}; turn++);\n\
         \x20   return rqps_real_step(statement);\n}}\n"
    )
}

pub(crate) fn change(subject: &str, source: String) -> Change {
    Change { subject: subject.to_string(), source, merges: Vec::new() }
}

/// 64 commits after the first, the change among them; some do not compile, some change only a
/// remark, one merges others, and one takes back the one before.
pub(crate) fn sixty_four(culprit: usize, spin: u32) -> Vec<Change> {
    let mut all = vec![change("the first", shim(0, "0", ""))];
    let mut differs = "0".to_string();
    for place in 1..=64 {
        let turns = if place >= culprit { spin } else { 0 };
        let name = format!("{place}");
        let made = match place {
            7 | 23 | 24 | 45 | 58 => change(&name, "int sqlite3_step(void *x { return; }\n".into()),
            3 | 11 | 19 | 27 | 35 | 43 | 51 | 59 => change(&name, shim(turns, &differs, &name)),
            16 => change("16", shim(turns, "taken back", "")),
            17 => change("Revert \"16\"", shim(turns, &differs, "")),
            _ => {
                differs.clone_from(&name);
                let subject = if place == culprit { "the culprit" } else { &name };
                let mut made = change(subject, shim(turns, &differs, ""));
                if place == 30 {
                    let inner = |name: &str| change(name, shim(0, name, ""));
                    made.merges = vec![inner("30 inside 1"), inner("30 inside 2")];
                }
                made
            }
        };
        all.push(made);
    }
    all
}

/// Commits, their recipe, and what it links.
pub(crate) struct History {
    pub(crate) repo: PathBuf,
    pub(crate) recipe: PathBuf,
    pub(crate) object: &'static Path,
}

impl History {
    /// The arguments of a search between the first and the last commit.
    pub(crate) fn search(&self, out: &Path) -> Vec<String> {
        let [repo, recipe, out] =
            [self.repo.as_path(), &self.recipe, out].map(|path| path.display().to_string());
        let words = "sqlite@git:v1 sqlite@git:main --workload micro:point-query --rows 5K \
                     --secs 0.2 --no-guards";
        let paths = ["--repo", &repo, "--recipe", &recipe, "--out", &out];
        words.split_whitespace().chain(paths).map(str::to_string).collect()
    }

    /// Makes a repository below a folder: the first commit has the tag `v1`, the last is `main`.
    pub(crate) fn new(folder: &Path, changes: &[Change]) -> History {
        let object = object();
        let (repo, recipe) = (folder.join("repo"), folder.join("recipe.toml"));
        fs::write(&recipe, recipe_text(object)).unwrap();
        git(folder, &["init", "--quiet", "--initial-branch=main", repo.to_str().unwrap()]);
        let mut import = Import::default();
        let mut last = None;
        for change in changes {
            last = Some(import.add(change, last));
        }
        let mut command = Command::new("git");
        command.arg("-C").arg(&repo).args(["fast-import", "--quiet", "--force"]);
        let mut running = command.stdin(Stdio::piped()).spawn().unwrap();
        running.stdin.take().unwrap().write_all(import.stream.as_bytes()).unwrap();
        assert!(running.wait().unwrap().success());
        git(&repo, &["reset", "--hard", "--quiet", "main"]);
        History { repo, recipe, object }
    }
}

/// What `git fast-import` reads (git-fast-import(1)).
#[derive(Default)]
struct Import {
    stream: String,
    marks: usize,
}

impl Import {
    /// Adds a commit after another, and returns its mark.
    fn add(&mut self, change: &Change, after: Option<usize>) -> usize {
        let mut merged = after;
        for inner in &change.merges {
            merged = Some(self.add(inner, merged));
        }
        self.marks += 1;
        let mark = self.marks;
        let text = |text: &str| format!("data {}\n{text}\n", text.len());
        let who = format!("t <t@t> {} +0000", 1_600_000_000 + mark * 60);
        self.stream += &format!("commit refs/heads/main\nmark :{mark}\ncommitter {who}\n");
        self.stream += &text(&change.subject);
        if let Some(after) = after {
            self.stream += &format!("from :{after}\n");
        }
        if let Some(merged) = merged.filter(|merged| Some(*merged) != after) {
            self.stream += &format!("merge :{merged}\n");
        }
        for (name, content) in [("VERSION", version()), ("shim.c", change.source.clone())] {
            self.stream += &format!("M 100644 inline {name}\n{}", text(&content));
        }
        self.stream += "\n";
        if after.is_none() {
            self.stream += &format!("reset refs/tags/v1\nfrom :{mark}\n\n");
        }
        mark
    }
}

/// Runs git with nothing of this machine's configuration, and returns what it prints.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

fn recipe_text(object: &Path) -> String {
    let object = object.display();
    format!(
        r#"dbms = "sqlite"
product = "lib/libsqlite3.so"
prefix = "/usr/local/rqps"
cc = "gcc"
flags = "-O2 -g"
seconds = 1
megabytes = 20
quiet = ["doc/"]

[[version]]
file = "VERSION"
marks = [""]

[tarball]
folder = "{{version}}"
names = ["sqlite-{{version}}.tar.gz"]
checksum = "{{tarball}}.sha256"

[[way]]
file = "shim.c"
configure = "true"
build = '"$CC" $CFLAGS -shared -fPIC -Wl,-Bsymbolic -o libsqlite3.so "$SRC/shim.c" {object} -lm'
install = 'mkdir -p "$ROOT$PREFIX/lib"; cp libsqlite3.so "$ROOT$PREFIX/lib/"'
"#
    )
}

/// The folder of SQLite's sources in the registry of cargo: those that rqps is built from.
fn sqlite() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(find_sqlite)
}

fn find_sqlite() -> PathBuf {
    let arguments = ["metadata", "--offline", "--locked", "--format-version", "1"];
    let output = Command::new(env!("CARGO")).args(arguments).output().unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let package = packages.find(|package| package["name"] == "libsqlite3-sys").unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().join("sqlite3")
}

/// The version of SQLite, from its header.
fn version() -> String {
    let header = fs::read_to_string(sqlite().join("sqlite3.h")).unwrap();
    let line = header.lines().find(|line| line.starts_with("#define SQLITE_VERSION ")).unwrap();
    line.split('"').nth(1).unwrap().to_string()
}

/// SQLite compiled with its function renamed; once for all tests, since it takes some 20 seconds.
fn object() -> &'static Path {
    static OBJECT: OnceLock<PathBuf> = OnceLock::new();
    OBJECT.get_or_init(compiled)
}

fn compiled() -> PathBuf {
    let folder = store().join("history");
    let object = folder.join(format!("sqlite-{}.o", version()));
    if object.exists() {
        return object;
    }
    fs::create_dir_all(&folder).unwrap();
    open_to_all(&folder);
    let begun = tempfile::Builder::new().suffix(".o").tempfile_in(&folder).unwrap();
    let mut command = Command::new("gcc");
    command.args(["-O1", "-fPIC", "-DSQLITE_THREADSAFE=1", "-DSQLITE_ENABLE_COLUMN_METADATA"]);
    command.args(["-Dsqlite3_step=rqps_real_step", "-c", "-o"]).arg(begun.path());
    assert!(command.arg(sqlite().join("sqlite3.c")).status().unwrap().success());
    open_to_all(begun.path());
    begun.persist(&object).unwrap();
    object
}
