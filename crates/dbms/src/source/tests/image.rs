//! Builds in containers' images, from files made here and from engines that are shell scripts.

use std::collections::BTreeMap;

use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::*;
use crate::source::digest::sha256_of;

const LOADER: &str = "lib64/ld-linux-x86-64.so.2";
const SERVER: &str = "usr/lib/postgresql/17/bin/postgres";

/// What is in an image.
#[derive(Clone)]
struct Made {
    layers: Vec<Vec<u8>>,
    configuration: Value,
}

/// A tar archive of files.
fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, name, *content).unwrap();
    }
    tar.into_inner().unwrap()
}

/// A program in machine code that says only which loader it needs.
fn program(loader: &str) -> Vec<u8> {
    let loader = format!("/{loader}\0");
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(16, 0);
    // ET_DYN of x86-64, with one program header behind this one.
    let half = |number: u16| number.to_le_bytes().to_vec();
    let word = |number: u32| number.to_le_bytes().to_vec();
    let long = |number: u64| number.to_le_bytes().to_vec();
    let (header, segment) = (64, 56);
    elf.extend([half(3), half(62), word(1), long(0), long(header), long(0), word(0)].concat());
    elf.extend([64, segment, 1, 64, 0, 0].map(half).concat());
    let length = loader.len() as u64;
    let at = header + u64::from(segment);
    elf.extend([word(3), word(4)].concat());
    elf.extend([at, at, at, length, length, 1].map(long).concat());
    elf.extend(loader.bytes());
    elf
}

impl Made {
    fn new() -> Made {
        // In the place of a loader: says what the server would.
        let loader = "#!/bin/sh\n\
                      case $1 in --version) echo 'ld.so (Debian) stable version 2.43.'; exit;; esac\n\
                      echo 'postgres (PostgreSQL) 17.6 (Debian 17.6-1)'\n";
        let base = tar(&[(LOADER, loader.as_bytes()), ("etc/passwd", b"x"), ("usr/lib/old", b"")]);
        let (program, initdb) = (program(LOADER), "usr/lib/postgresql/17/bin/initdb");
        let server = tar(&[(SERVER, &program), (initdb, &program), ("usr/lib/.wh.old", b"")]);
        Made::of(vec![base, server])
    }

    /// With a third layer, which is larger than headers of members may be.
    fn large() -> Made {
        let mut made = Made::new();
        made.layers.push(tar(&[("usr/lib/large", &vec![0; 3 << 20])]));
        Made::of(made.layers)
    }

    fn of(layers: Vec<Vec<u8>>) -> Made {
        let digests: Vec<_> = layers.iter().map(|it| format!("sha256:{}", sha256_of(it))).collect();
        let configuration = json!({
            "architecture": "amd64",
            "os": "linux",
            "config": { "Entrypoint": ["docker-entrypoint.sh"], "Cmd": ["postgres"] },
            "rootfs": { "type": "layers", "diff_ids": digests },
        });
        Made { layers, configuration }
    }

    fn id(&self) -> String {
        sha256_of(self.configuration.to_string().as_bytes())
    }

    fn with(&self, key: &str, value: Value) -> Made {
        let mut made = self.clone();
        made.configuration[key] = value;
        made
    }

    /// As `docker save` wrote it before it wrote layouts.
    fn docker(&self) -> Vec<u8> {
        let configuration = self.configuration.to_string();
        let name = format!("{}.json", sha256_of(configuration.as_bytes()));
        let names: Vec<_> = (0..self.layers.len()).map(|n| format!("{n}/layer.tar")).collect();
        let manifest = json!([{ "Config": name, "RepoTags": ["pg:17"], "Layers": names }]);
        let manifest = manifest.to_string();
        let mut files: Vec<(&str, &[u8])> = vec![(&name, configuration.as_bytes())];
        files.extend(names.iter().zip(&self.layers).map(|(name, it)| (name.as_str(), &it[..])));
        files.push(("manifest.json", manifest.as_bytes()));
        tar(&files)
    }

    /// As an OCI layout: each layer is compressed in another way, and the list has an image of
    /// another architecture, one that was not saved, and a statement about this one.
    fn oci(&self) -> Vec<u8> {
        let mut blobs: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut add = |bytes: Vec<u8>| {
            let (digest, size) = (sha256_of(&bytes), bytes.len());
            blobs.insert(format!("blobs/sha256/{digest}"), bytes);
            json!({ "digest": format!("sha256:{digest}"), "size": size })
        };
        let layers = self.layers.iter().enumerate().map(|(number, layer)| match number % 3 {
            0 => add(zstd::encode_all(&layer[..], 1).unwrap()),
            1 => {
                let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::fast());
                gzip.write_all(layer).unwrap();
                add(gzip.finish().unwrap())
            }
            _ => add(layer.clone()),
        });
        let layers: Vec<Value> = layers.collect();
        let mut manifest = |configuration: &Value| {
            let config = add(configuration.to_string().into_bytes());
            add(json!({ "config": config, "layers": layers }).to_string().into_bytes())
        };
        let this = manifest(&self.configuration);
        let other = manifest(&self.with("architecture", json!("arm64")).configuration);
        let mut about = manifest(&json!({ "architecture": "unknown", "os": "unknown" }));
        about["annotations"] = json!({ "vnd.docker.reference.type": "attestation-manifest" });
        let absent = json!({ "digest": format!("sha256:{}", sha256_of(b"not saved")) });
        let list = json!({ "manifests": [other, absent, this, about] });
        let list = add(list.to_string().into_bytes());
        let index = json!({ "schemaVersion": 2, "manifests": [list] }).to_string();
        let mut files: Vec<(&str, &[u8])> = vec![("index.json", index.as_bytes())];
        files.extend(blobs.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])));
        tar(&files)
    }
}

impl World {
    /// The contender of an image in a file.
    fn image(&self, bytes: &[u8]) -> Build {
        let file = self.file("x.tar");
        fs::write(&file, bytes).unwrap();
        Build::Image(file.display().to_string())
    }

    /// The error of one, without the folder of the test, and that nothing was left.
    fn image_error(&self, bytes: &[u8]) -> String {
        let build = self.image(bytes);
        self.error_of_image(Dbms::Postgres, build)
    }

    fn error_of_image(&self, dbms: Dbms, build: Build) -> String {
        let error = self.error_of(dbms, build);
        assert_eq!(self.kept(), [] as [&str; 0], "{error}");
        assert!(!error.contains('\n'), "{error}");
        error.replace(&format!("{}/", self.folder.path().display()), "")
    }

    /// An engine that has one image, `pg:17`.
    fn engine(&self, name: &str, id: &str) {
        let (saved, folder) = (self.file("saved.tar"), self.folder.path().display());
        fs::write(saved, Made::new().docker()).unwrap();
        self.program(
            name,
            &format!(
                "echo \"{name} $*\" >> {folder}/calls\n\
                 case \"$*\" in\n\
                 'image inspect --format {{{{.Id}}}} pg:17') echo '{id}';;\n\
                 'save --output '*' pg:17') cp {folder}/saved.tar \"$3\";;\n\
                 *) echo 'Error: No such image: x' >&2; exit 1;;\n\
                 esac"
            ),
        );
    }
}

fn id() -> String {
    Made::new().id()
}

#[test]
fn a_saved_image_and_a_layout_of_it_are_one_build() {
    let world = World::new();
    let mut told = Vec::new();
    let mut obtain = |bytes: &[u8]| {
        let mut tell = |progress| {
            told.push(progress);
            Ok(())
        };
        let build = world.image(bytes);
        world.machine.obtain(&world.home, Dbms::Postgres, &build, &mut tell).unwrap()
    };
    let installed = obtain(&Made::large().oci());
    assert_eq!((installed.version.as_str(), &installed.source), ("17.6", &Some(Source::Image)));
    assert_eq!(installed.libc.as_deref(), Some("its own glibc 2.43"));
    let id = Made::large().id();
    assert_eq!(installed.archives[0].sha256, id);
    assert!(installed.root.ends_with(format!("postgres-image-{}", &id[..16])));
    assert!(installed.root.join(SERVER).is_file());
    for absent in ["etc", "usr/lib/old", "usr/lib/.wh.old"] {
        assert!(!installed.root.join(absent).exists(), "{absent}");
    }
    let (program, args) = installed.command(&installed.server().unwrap());
    assert_eq!(program, installed.root.join(LOADER));
    assert_eq!(args[0], "--library-path");

    assert_eq!(obtain(&Made::large().docker()), installed);
    let entrypoints = told.iter().filter_map(|progress| match progress {
        Progress::EntryPoint { program, .. } => Some(program.as_str()),
        _ => None,
    });
    assert_eq!(entrypoints.collect::<Vec<_>>(), ["docker-entrypoint.sh"]);
    // It is used where it is named, and removed like others.
    assert!(world.obtain(Build::Any).is_err());
    assert!(world.error(version("17")).contains("postgres 17"));
    remove(&world.home, &installed, &mut go_on).unwrap();
    assert_eq!(world.kept(), [] as [&str; 0]);
}

#[test]
fn the_loader_of_musl_is_told_whole_paths() {
    let world = World::new();
    let musl = "lib/ld-musl-x86_64.so.1";
    let loader = "#!/bin/sh\n\
                  case $1 in --version) echo 'Version 1.2.5' >&2; exit 1;; esac\n\
                  echo 'postgres (PostgreSQL) 17.6'\n";
    let program = program(musl);
    let (server, initdb) = ("usr/local/bin/postgres", "usr/local/bin/initdb");
    let files = [(musl, loader.as_bytes()), (server, &program), (initdb, &program)];
    let build = world.image(&Made::of(vec![tar(&files)]).docker());
    let installed = world.obtain(build).unwrap();
    assert_eq!(installed.libc.as_deref(), Some("its own musl 1.2.5"));
    // It has no word for the folder of the program.
    let (_, args) = installed.command(&installed.server().unwrap());
    let lib = installed.root.join("lib").display().to_string();
    let folders = args[1].to_str().unwrap().split(':').collect::<Vec<_>>();
    assert!(folders.contains(&lib.as_str()), "{folders:?}");
    let script = fs::read_to_string(installed.root.join("rqps.initdb/postgres")).unwrap();
    assert!(script.contains("--library-path \"$root/lib\""), "{script}");
}

#[test]
fn what_is_no_image_for_this_machine_is_refused() {
    let world = World::new();
    let made = Made::new();
    for (bytes, expected) in [
        (b"text".to_vec(), "'x.tar' is no container's image: it is not a tar archive"),
        (tar(&[("a", b"")]), "'x.tar' is no container's image: it has neither manifest.json nor"),
        (tar(&[("manifest.json", b"[]")]), "'x.tar' is no container's image: it lists none"),
        (tar(&[("manifest.json", b"{}")]), "its file 'manifest.json' has an unexpected form"),
        (
            zstd::encode_all(&made.docker()[..], 1).unwrap(),
            "'x.tar' is compressed as a whole. Decompress it, as with 'zstd -d'",
        ),
        (
            made.with("architecture", json!("arm64")).docker(),
            "image 'x.tar' is for linux/arm64, and this machine needs linux/amd64. Get the image",
        ),
        (made.with("os", json!("windows")).docker(), "image 'x.tar' is for windows/amd64"),
        (
            Made::of(made.layers[..1].to_vec()).docker(),
            "image 'x.tar' has no server of postgres: it has none of bin/postgres, usr/lib/postgresql",
        ),
        (
            Made::of(vec![tar(&[("bin/postgres", b"#!/bin/sh\n")])]).docker(),
            "in image 'x.tar' cannot be started: its bin/postgres is not a program in machine code",
        ),
        (
            Made::of(vec![tar(&[("bin/postgres", &program(LOADER))])]).docker(),
            "its bin/postgres needs the dynamic loader /lib64/ld-linux-x86-64.so.2, which it lacks",
        ),
    ] {
        let error = world.image_error(&bytes);
        assert!(error.contains(expected), "{error}");
    }
    let error = world.error_of_image(Dbms::Postgres, Build::Image("/nowhere/x.tar".into()));
    assert!(error.contains("'/nowhere/x.tar' is no container's image: there is no such file"));
    let folder = Build::Image(world.file("path").display().to_string());
    assert!(world.error_of_image(Dbms::Postgres, folder).contains("it is not a file"));
    let error = world.error_of_image(Dbms::Mysql, world.image(&made.docker()));
    assert!(error.contains("has no server of mysql: it has none of bin/mysqld, "), "{error}");
}

#[test]
fn of_several_images_none_is_chosen() {
    let world = World::new();
    let configuration = Made::of(Vec::new()).configuration.to_string();
    let entry = |tag: &str| json!({ "Config": "c.json", "RepoTags": [tag], "Layers": [] });
    let manifest = json!([entry("pg:16"), entry("pg:17")]).to_string();
    let bytes =
        tar(&[("c.json", configuration.as_bytes()), ("manifest.json", manifest.as_bytes())]);
    assert_eq!(
        world.image_error(&bytes),
        "'x.tar' has several images (pg:16, pg:17). Save one, as with 'docker save -o FILE pg:16'"
    );
}

#[test]
fn a_list_of_images_has_an_end() {
    let world = World::new();
    let list = |digest: String| {
        let entry = json!({ "digest": format!("sha256:{digest}") });
        json!({ "manifests": vec![entry; 40] }).to_string()
    };
    let mut files: Vec<(String, String)> = Vec::new();
    let mut text = json!({ "manifests": [] }).to_string();
    for _ in 0..5 {
        let digest = sha256_of(text.as_bytes());
        files.push((format!("blobs/sha256/{digest}"), text));
        text = list(digest);
    }
    files.push(("index.json".to_string(), text));
    let files = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes()));
    let error = world.image_error(&tar(&files.collect::<Vec<_>>()));
    assert!(error.contains("it lists more than 1000 images"), "{error}");
}

#[test]
fn a_digest_that_does_not_match_is_refused() {
    let world = World::new();
    let made = Made::new();
    let other = Made { layers: vec![made.layers[0].clone(), tar(&[("x", b"")])], ..made.clone() };
    for bytes in [other.docker(), other.oci()] {
        let error = world.image_error(&bytes);
        let expected = "image 'x.tar' is refused: layer 2 has the SHA-256 ";
        assert!(error.starts_with(expected), "{error}");
        assert!(error.contains(&sha256_of(&other.layers[1])), "{error}");
        assert!(error.contains(&format!("named by {}", sha256_of(&made.layers[1]))), "{error}");
    }
    for (bytes, what) in [
        (made.docker(), "its configuration"),
        (made.oci(), "its configuration"),
        (made.oci(), "a manifest"),
    ] {
        // Another text of the same length, where the text is named by its hash.
        let (from, to) = match what {
            "a manifest" => (&b"\"layers\":[{"[..], &b"\"Layers\":[{"[..]),
            _ => (&b"docker-entrypoint.sh"[..], &b"another-program---.x"[..]),
        };
        let at = memchr::memmem::find(&bytes, from).unwrap();
        let mut changed = bytes.clone();
        changed[at..at + to.len()].copy_from_slice(to);
        let error = world.image_error(&changed);
        assert!(error.contains(&format!("refused: {what} has the SHA-256 ")), "{error}");
    }
}

#[test]
fn a_cut_file_is_an_error_wherever_it_ends() {
    let world = World::new();
    for whole in [Made::new().docker(), Made::new().oci()] {
        // At the end are zeros, without which nothing is missing.
        let end = whole.iter().rposition(|byte| *byte != 0).unwrap();
        for length in (0..end).step_by(211).chain([end]) {
            let error = world.image_error(&whole[..length]);
            let kinds = ["is no container's image", "is incomplete", "cannot be unpacked"];
            assert!(kinds.iter().any(|kind| error.contains(kind)), "{length}: {error}");
        }
    }
}

#[test]
fn names_in_an_image_lead_to_no_file_of_the_host() {
    let world = World::new();
    fs::write(world.file("secret.json"), Made::new().configuration.to_string()).unwrap();
    for config in ["../secret.json", &world.file("secret.json").display().to_string()] {
        let manifest = json!([{ "Config": config, "Layers": [] }]).to_string();
        let error = world.image_error(&tar(&[("manifest.json", manifest.as_bytes())]));
        assert!(error.contains("is incomplete: its file '"), "{error}");
    }
    let blob = json!({ "digest": "sha256:../../../secret.json" });
    for index in [json!({ "manifests": [blob] }), json!({ "config": blob, "layers": [] })] {
        let error = world.image_error(&tar(&[("index.json", index.to_string().as_bytes())]));
        assert!(error.contains("'sha256:../../../secret.json' is no SHA-256"), "{error}");
    }
    let hostile = Made::of(vec![tar(&[("a", b"")]), {
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.as_gnu_mut().unwrap().name[..4].copy_from_slice(b"../x");
        header.set_cksum();
        header.as_bytes().to_vec()
    }]);
    let error = world.image_error(&hostile.docker());
    assert_eq!(error, "archive 'x.tar' is refused: its member '../x' leaves the target folder");
}

#[test]
fn cancelling_leaves_nothing_of_an_image_behind() {
    let world = World::new();
    let build = world.image(&Made::new().oci());
    for stage in 0.. {
        let left = Cell::new(stage);
        let mut tell = |_| match left.get() {
            0 => Err(Cancelled),
            _ => {
                left.set(left.get() - 1);
                Ok(())
            }
        };
        match world.machine.obtain(&world.home, Dbms::Postgres, &build, &mut tell) {
            Ok(_) => return assert!(stage > 5, "{stage}"),
            Err(error) => assert!(matches!(error, SourceError::Cancelled(_)), "{error}"),
        }
        assert_eq!(world.kept(), [] as [&str; 0], "{stage}");
    }
}

#[test]
fn an_engine_saves_the_image_that_is_not_in_the_store() {
    let named = |image: &str| Build::Image(image.to_string());
    let world = World::new();
    let error = world.error_of_image(Dbms::Postgres, named("pg:17"));
    let expected = "cannot get image 'pg:17': neither docker nor podman is on PATH. Install one";
    assert!(error.starts_with(expected), "{error}");

    world.engine("docker", &format!("sha256:{}", id()));
    let error = world.error_of_image(Dbms::Postgres, named("pg:18"));
    assert_eq!(
        error,
        "cannot get image 'pg:18': docker: Error: No such image: x; podman is not on PATH. rqps pulls \
         no image: get it, as with 'docker pull pg:18'"
    );
    let installed = world.obtain(named("pg:17")).unwrap();
    assert_eq!((&*installed.archives[0].name, &installed.archives[0].sha256), ("pg:17", &id()));
    assert!(!fs::read_to_string(world.file("calls")).unwrap().contains(" run"));
    // The engine's hash is that of a build in the store.
    let before = world.calls();
    assert_eq!(world.obtain(named("pg:17")).unwrap(), installed);
    assert_eq!(world.calls(), before + 1, "it is not saved again");

    // An engine that names images by other hashes saves it again; the second one has it, too.
    let world = World::new();
    world.program("docker", "echo 'Cannot connect to the Docker daemon.' >&2; exit 1");
    world.engine("podman", "of another kind");
    let installed = world.obtain(named("pg:17")).unwrap();
    assert_eq!(world.obtain(named("pg:17")).unwrap(), installed);
}

#[test]
fn an_engine_that_fails_to_save_leaves_nothing() {
    let world = World::new();
    world
        .program("docker", "case $1 in image) echo x;; *) echo 'no such thing' >&2; exit 1;; esac");
    let error = world.error_of_image(Dbms::Postgres, Build::Image("pg:17".to_string()));
    assert_eq!(error, "docker save failed: no such thing");
}
