//! A server out of a container's image. The images are made here, as engines make them, of npm's
//! Postgres and the C library of this machine.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rqps_dbms::source::{Progress, obtain};
use rqps_dbms::{Home, Place, prepare};
use rqps_plan::{Build, Contender, Dbms, Source};
use rqps_system::{Cancel, Cancelled};
use rqps_wire::scalar;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::common::{Rqps, entries};

fn go_on(_: Progress) -> Result<(), Cancelled> {
    Ok(())
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where Postgres is in the image, as in those that are built from its source.
const BASE: &str = "usr/local";
/// The folder of libraries, as on Debian.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// The image in two layers: the C library under a Postgres of which one file is replaced.
struct Image {
    layers: Vec<Vec<u8>>,
    configuration: String,
}

impl Image {
    fn new(rqps: &Rqps) -> Image {
        let home = Home::at(rqps.home()).unwrap();
        let build = Build::Version { source: Some(Source::Npm), version: "17.6".to_string() };
        let npm = obtain(&home, Dbms::Postgres, &build, &mut go_on).unwrap().root;
        let mut base = tar::Builder::new(Vec::new());
        for library in libraries(&npm) {
            let name = library.file_name().unwrap();
            base.append_path_with_name(&library, Path::new(LIBRARIES).join(name)).unwrap();
        }
        // Absolute links, as Debian's are, lead to the image.
        let loader = "ld-linux-x86-64.so.2";
        link(&mut base, "lib64", "/usr/lib64");
        link(&mut base, &format!("usr/lib64/{loader}"), &format!("/{LIBRARIES}/{loader}"));
        link(&mut base, "usr/lib64/escape", "/etc/passwd");
        file(&mut base, &format!("{BASE}/bin/initdb"), "old");
        file(&mut base, &format!("{BASE}/share/hidden"), "old");
        let mut upper = tar::Builder::new(Vec::new());
        upper.follow_symlinks(false);
        for folder in ["bin", "lib", "share"] {
            upper.append_dir_all(Path::new(BASE).join(folder), npm.join(folder)).unwrap();
        }
        file(&mut upper, &format!("{BASE}/share/.wh.hidden"), "");
        let layers = [base, upper].map(|layer| layer.into_inner().unwrap()).to_vec();
        let digests: Vec<String> =
            layers.iter().map(|layer| format!("sha256:{}", sha256(layer))).collect();
        let configuration = json!({
            "architecture": "amd64",
            "os": "linux",
            "config": { "Entrypoint": ["docker-entrypoint.sh"], "Cmd": ["postgres"] },
            "rootfs": { "type": "layers", "diff_ids": digests },
        });
        Image { layers, configuration: configuration.to_string() }
    }

    fn id(&self) -> String {
        sha256(self.configuration.as_bytes())
    }

    /// As by `docker save`.
    fn saved(&self, at: &Path) {
        let mut tar = tar::Builder::new(File::create(at).unwrap());
        let configuration = format!("{}.json", self.id());
        file(&mut tar, &configuration, &self.configuration);
        let names: Vec<String> =
            self.layers.iter().map(|layer| format!("{}/layer.tar", sha256(layer))).collect();
        for (name, layer) in names.iter().zip(&self.layers) {
            bytes(&mut tar, name, layer);
        }
        let entry = json!({ "Config": configuration, "RepoTags": ["pg:17.6"], "Layers": names });
        file(&mut tar, "manifest.json", &json!([entry]).to_string());
        tar.finish().unwrap();
    }

    /// As an OCI layout with compressed layers.
    fn layout(&self, at: &Path) {
        let mut tar = tar::Builder::new(File::create(at).unwrap());
        let mut add = |content: &[u8]| {
            let digest = sha256(content);
            bytes(&mut tar, &format!("blobs/sha256/{digest}"), content);
            json!({ "digest": format!("sha256:{digest}"), "size": content.len() })
        };
        let layers: Vec<Value> = self.layers.iter().map(|layer| add(&gzip(at, layer))).collect();
        let config = add(self.configuration.as_bytes());
        let manifest = json!({ "schemaVersion": 2, "config": config, "layers": layers });
        let manifest = add(manifest.to_string().as_bytes());
        let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
        file(&mut tar, "index.json", &index.to_string());
        tar.finish().unwrap();
    }
}

fn file<W: std::io::Write>(tar: &mut tar::Builder<W>, name: &str, content: &str) {
    bytes(tar, name, content.as_bytes());
}

fn bytes<W: std::io::Write>(tar: &mut tar::Builder<W>, name: &str, content: &[u8]) {
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(content.len() as u64);
    tar.append_data(&mut header, name, content).unwrap();
}

fn link(tar: &mut tar::Builder<Vec<u8>>, name: &str, to: &str) {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    // The library would make an absolute one relative.
    header.set_path(name).unwrap();
    header.set_link_name_literal(to).unwrap();
    header.set_cksum();
    tar.append(&header, &[][..]).unwrap();
}

fn gzip(beside: &Path, content: &[u8]) -> Vec<u8> {
    let plain = beside.with_extension("plain");
    fs::write(&plain, content).unwrap();
    let output = Command::new("gzip").args(["-1", "-c"]).arg(&plain).output().unwrap();
    fs::remove_file(plain).unwrap();
    output.stdout
}

/// The libraries of this machine that a Postgres and its own libraries need, with the loader.
fn libraries(build: &Path) -> BTreeSet<PathBuf> {
    let lib = fs::read_dir(build.join("lib")).unwrap().map(|entry| entry.unwrap().path());
    let programs = ["postgres", "initdb"].map(|program| build.join("bin").join(program));
    let output = Command::new("ldd")
        .args(lib.filter(|path| path.is_file()).chain(programs))
        .env("LD_LIBRARY_PATH", build.join("lib"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split_whitespace().filter(|word| word.starts_with("/lib"));
    words.filter(|word| !word.ends_with(':')).map(PathBuf::from).collect()
}

/// The files of programs and libraries that a process has in its memory.
fn mapped(pid: u32) -> BTreeSet<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let code = maps.lines().filter(|line| line.contains(" r-xp "));
    let paths = code.filter_map(|line| line.split_whitespace().nth(5)).map(PathBuf::from);
    paths.filter(|path| path.is_absolute()).collect()
}

#[test]
fn a_server_of_an_image_runs_with_what_is_in_the_image_alone() {
    let rqps = Rqps::new();
    let image = Image::new(&rqps);
    let saved = rqps.path("saved.tar");
    image.saved(&saved);
    let home = Home::at(rqps.path("own")).unwrap();
    let contender: Contender = format!("postgres@image:{}", saved.display()).parse().unwrap();
    let postgres = prepare(&home, &contender, &mut go_on, &Cancel::default()).unwrap();
    let build = postgres.build().unwrap().clone();
    assert_eq!((build.version.as_str(), build.source.clone()), ("17.6", Some(Source::Image)));
    assert_eq!(build.archives[0].sha256, image.id());
    assert!(build.libc.as_ref().unwrap().starts_with("its own glibc 2."), "{:?}", build.libc);
    assert!(!build.root.join(BASE).join("share/hidden").exists());
    assert!(!build.root.join("usr/lib64/escape").exists());

    let place = Place { data: rqps.path("data"), log: rqps.path("log"), ..Place::default() };
    let mut server = postgres.start(&home, &place, &Cancel::default()).unwrap();
    let mut connection = server.target().connect().unwrap();
    let answer = scalar(&mut *connection, "SELECT sum(i) FROM generate_series(1, 9) i").unwrap();
    assert_eq!(answer.as_deref(), Some("45"));
    let code = mapped(server.process().unwrap());
    assert!(code.len() > 2 && code.iter().all(|path| path.starts_with(&build.root)), "{code:?}");
    drop(connection);
    server.stop().unwrap();

    let layout = rqps.path("layout.tar");
    image.layout(&layout);
    let named = Build::Image(layout.display().to_string());
    let mut none = |progress: Progress| panic!("{progress:?} for a build that is there");
    assert_eq!(obtain(&home, Dbms::Postgres, &named, &mut none).unwrap(), build);
}

#[test]
fn an_image_is_fetched_listed_and_pruned_like_other_builds() {
    let rqps = Rqps::new();
    let image = Image::new(&rqps);
    let home = rqps.path("own");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
    image.layout(&rqps.work().join("x.tar"));
    let run = |arguments: &str| {
        let mut command = rqps.command(arguments.split_whitespace());
        command.env("RQPS_HOME", &home);
        command.output().unwrap()
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let fetched = run("dbms fetch postgres@image:./x.tar");
    let (stdout, stderr) = (text(&fetched.stdout), text(&fetched.stderr));
    assert!(fetched.status.success(), "{stderr}");
    assert!(stdout.contains(&format!("configuration of image ./x.tar sha256 {}", image.id())));
    let told = "the entrypoint of image './x.tar' (docker-entrypoint.sh) is not run";
    assert!(stderr.contains(told), "{stderr}");

    // Without clients of registries.
    let mut list = rqps.command(["dbms", "list"]);
    let listed = text(&list.env("RQPS_HOME", &home).env("PATH", "/none").output().unwrap().stdout);
    let mut lines = listed.lines().map(str::trim_start);
    let is_it = |line: &str| line.starts_with("postgres@17.6 ") && line.contains("image:./x.tar");
    assert!(lines.any(is_it), "{listed}");
    assert_eq!(run("dbms fetch mariadb@image:./x.tar").status.code(), Some(2));
    let pruned = run("dbms prune --builds");
    assert!(pruned.status.success(), "{}", text(&pruned.stderr));
    let left = entries(&home.join("builds"));
    assert!(left.iter().all(|name| name.starts_with('.')), "{left:?}");
    fs::remove_file(rqps.work().join("x.tar")).unwrap();
}
