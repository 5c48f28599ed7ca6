use std::os::unix::fs::MetadataExt;

use flate2::write::GzEncoder;
use tar::EntryType;
use tempfile::TempDir;

use super::*;
use crate::source::unpack::tests::{file, hard, member, symbolic};

/// The root of an image, in a folder in which everything else would be outside.
struct Unpacked(TempDir);

impl Unpacked {
    fn root(&self) -> PathBuf {
        self.0.path().join("root")
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root().join(name)).unwrap_or_else(|error| error.to_string())
    }

    fn has(&self, name: &str) -> bool {
        self.root().join(name).symlink_metadata().is_ok()
    }

    /// What is outside.
    fn escaped(&self) -> usize {
        fs::read_dir(self.0.path()).unwrap().count() - 1
    }
}

/// A plain tar archive.
fn tar(members: &[Vec<u8>]) -> Vec<u8> {
    [members.concat(), vec![0; 1024]].concat()
}

fn unpack_part(layers: &[&[Vec<u8>]], part: Part) -> (Unpacked, Result<(), String>) {
    let unpacked = Unpacked(tempfile::tempdir().unwrap());
    let root = unpacked.root();
    fs::create_dir(&root).unwrap();
    let mut target = Layers::new("x.tar", &root, part).unwrap();
    let mut unpack = || {
        for members in layers {
            let bytes = tar(members);
            let (compression, size) = (Compression::None, bytes.len() as u64);
            target.unpack(Layer { compression, bytes: &bytes[..], size }, &mut |_| Ok(()))?;
        }
        Ok(())
    };
    let done: Result<(), SourceError> = unpack().and_then(|()| target.finish());
    (unpacked, done.map_err(|error| error.to_string()))
}

fn unpacked(layers: &[&[Vec<u8>]]) -> Unpacked {
    let (unpacked, done) = unpack_part(layers, Part::ALL);
    done.unwrap();
    assert_eq!(unpacked.escaped(), 0);
    unpacked
}

fn refused(layers: &[&[Vec<u8>]], reason: &str) {
    let (unpacked, done) = unpack_part(layers, Part::ALL);
    let error = done.expect_err(reason);
    assert!(error.starts_with("archive 'x.tar' is refused: its member '"), "{error}");
    assert!(error.contains(reason), "{error}");
    assert_eq!(unpacked.escaped(), 0);
}

fn folder(name: &str) -> Vec<u8> {
    member(EntryType::Directory, name, 0o755, "", b"")
}

#[test]
fn an_upper_layer_replaces_what_lower_ones_have() {
    let lower = [
        file("bin/a", "old"),
        file("bin/b", "kept"),
        file("was/folder", "1"),
        file("was-file", "1"),
        symbolic("was-link", "bin/a"),
    ];
    let upper = [
        file("bin/a", "new"),
        file("was", "a file"),
        file("was-file/x", "below"),
        file("was-link", "a file"),
    ];
    // A folder comes before what is in it.
    let upper = [&upper[..2], &[folder("was-file")], &upper[2..]].concat();
    let image = unpacked(&[&lower, &upper]);
    let expected = [
        ("bin/a", "new"),
        ("bin/b", "kept"),
        ("was", "a file"),
        ("was-file/x", "below"),
        ("was-link", "a file"),
    ];
    for (name, content) in expected {
        assert_eq!(image.read(name), content, "{name}");
    }
}

#[test]
fn a_hidden_file_is_gone_and_one_of_the_same_layer_stays() {
    let lower = [file("a/x", "1"), file("a/y/z", "1"), symbolic("a/l", "x"), file("b", "1")];
    let hide = [file("a/.wh.x", ""), file("a/.wh.y", ""), file("a/.wh.l", ""), file(".wh.b", "")];
    let image = unpacked(&[&lower, &hide]);
    assert!(image.has("a") && !["a/x", "a/y", "a/l", "b"].iter().any(|name| image.has(name)));

    let image = unpacked(&[&lower, &[file("a/x", "new"), file("a/.wh.x", "")]]);
    assert_eq!(image.read("a/x"), "new");
    // It may come again.
    let image = unpacked(&[&lower, &hide, &[file("a/y", "new")]]);
    assert_eq!(image.read("a/y"), "new");
}

#[test]
fn an_opaque_folder_has_only_what_its_layer_and_upper_ones_have() {
    let lower = [file("a/x", "1"), file("a/y/z", "1"), symbolic("a/l", "x"), file("b", "1")];
    let opaque = file("a/.wh..wh..opq", "");
    for upper in [
        [opaque.clone(), file("a/new", "2"), file("a/y/new", "2")],
        [file("a/new", "2"), file("a/y/new", "2"), opaque],
    ] {
        let image = unpacked(&[&lower, &upper, &[file("a/last", "3")]]);
        for name in ["a/new", "a/y/new", "a/last", "b"] {
            assert!(image.has(name), "{name}");
        }
        assert!(!["a/x", "a/y/z", "a/l"].iter().any(|name| image.has(name)));
        assert!(!image.has("a/.wh..wh..opq"));
    }
    let image = unpacked(&[&lower, &[file(".wh..wh..opq", "")]]);
    assert_eq!(fs::read_dir(image.root()).unwrap().count(), 0);
}

#[test]
fn links_lead_to_the_same_files_as_in_a_container() {
    let image = unpacked(&[
        &[
            file("usr/lib/x/lib.so.1", "code"),
            symbolic("lib", "usr/lib"),
            symbolic("usr/lib/x/lib.so", "lib.so.1"),
            symbolic("usr/absolute", "/lib/x/lib.so"),
            symbolic("usr/deep/er", "../../lib/x"),
            symbolic("usr/self", "."),
            symbolic("lib64", "/usr/lib64"),
            symbolic("usr/lib64/only.so", "/lib/x/lib.so"),
        ],
        // By the link.
        &[file("lib/x/own", "own"), symbolic("usr/deep/up", "../absolute")],
    ]);
    for name in
        ["lib/x/lib.so", "usr/absolute", "usr/deep/er/lib.so.1", "usr/deep/up", "lib64/only.so"]
    {
        assert_eq!(image.read(name), "code", "{name}");
    }
    assert_eq!(image.read("usr/lib/x/own"), "own");
    assert!(image.root().join("usr/self/lib").is_dir());
    // No link has another one on its way, so none of the host can be.
    assert_eq!(
        fs::read_link(image.root().join("usr/absolute")).unwrap(),
        Path::new("../usr/lib/x/lib.so.1")
    );
}

#[test]
fn links_that_lead_nowhere_are_left_out() {
    let image = unpacked(&[&[
        symbolic("etc", "/nowhere"),
        symbolic("passwd", "/etc/passwd"),
        symbolic("a", "b"),
        symbolic("b", "a"),
        file("there", ""),
    ]]);
    assert_eq!(fs::read_dir(image.root()).unwrap().count(), 1);
}

#[test]
fn hard_links_are_of_the_file_that_was_there() {
    let image = unpacked(&[
        &[file("a", "old"), symbolic("to-a", "a")],
        &[hard("b", "a"), hard("c", "b"), hard("again", "to-a")],
        &[file("a", "new"), file(".wh.b", "")],
    ]);
    assert_eq!((image.read("a"), image.read("c")), ("new".into(), "old".into()));
    assert!(!image.has("b"));
    assert_eq!(image.read("again"), "new", "a link to a link is a link");
    let part = Part { needed: &|path| !path.starts_with("doc"), ..Part::ALL };
    let (image, done) = unpack_part(&[&[file("doc/x", "1"), hard("x", "doc/x")]], part);
    assert_eq!((done, image.has("x")), (Ok(()), false));
}

#[test]
fn members_that_lead_outside_are_refused() {
    refused(&[&[file("../x", "")]], "'../x' leaves the target folder");
    refused(&[&[file("a/../../x", "")]], "leaves the target folder");
    refused(&[&[file("/../x", "")]], "leaves the target folder");
    refused(&[&[hard("x", "../../etc/passwd")]], "leaves the target folder");
    refused(&[&[hard("x", "/etc/passwd")]], "links to a member that is not there");
    refused(&[&[hard("x", "y")]], "links to a member that is not there");
    refused(&[&[hard("x", ".")]], "links to a member that is not there");
    refused(&[&[symbolic("x", "../y")]], "links to outside the image");
    refused(&[&[symbolic("a/b", "/../y")]], "links to outside the image");
    refused(&[&[symbolic("a/b/d", "../.."), symbolic("a/b/e", "d/../x")]], "links to outside");
    // The way of a member, in the same layer or another one.
    refused(&[&[symbolic("a", "../.."), file("a/x", "")]], "links to outside the image");
    refused(&[&[symbolic("a", "..")], &[file("a/.wh.root", "")]], "links to outside the image");
    refused(&[&[symbolic("a", "b"), symbolic("b", "a"), file("a/x", "")]], "in a circle");
    refused(&[&[file("a", ""), file("a/x", "")]], "lies below a member that is not a folder");
}

#[test]
fn a_name_that_hides_nothing_removes_nothing() {
    for name in [".wh.", "a/.wh.", "a/.wh..", "a/.wh..."] {
        refused(&[&[file("a/x", "1")], &[file(name, "")]], "hides a file without a name");
    }
    let image = unpacked(&[
        &[file("a/x", "1")],
        &[file(".", ""), folder("./"), symbolic("./", "/etc"), file("a/.wh..wh.plnk", "")],
    ]);
    assert_eq!(image.read("a/x"), "1");
    assert_eq!(fs::read_dir(image.root()).unwrap().count(), 1);
}

#[test]
fn through_a_link_to_the_root_of_the_host_all_stays_inside() {
    let image = unpacked(&[
        &[folder("/"), symbolic("host", "/"), file("host/a", "1"), file("/host/etc/b", "2")],
        &[file("host/.wh.a", "")],
    ]);
    assert!(!image.has("a"));
    assert_eq!(image.read("etc/b"), "2");
}

#[test]
fn devices_are_left_out_and_modes_are_plain() {
    let of_kind = |kind, name| member(kind, name, 0o4777, "", b"");
    let image = unpacked(&[&[
        of_kind(EntryType::Char, "null"),
        of_kind(EntryType::Block, "disk"),
        of_kind(EntryType::Fifo, "pipe"),
        of_kind(EntryType::Regular, "su"),
    ]]);
    assert_eq!(fs::read_dir(image.root()).unwrap().count(), 1);
    assert_eq!(fs::metadata(image.root().join("su")).unwrap().mode() & 0o7777, 0o755);
}

#[test]
fn all_layers_together_have_a_limit() {
    let little = Part { most: Most { bytes: 3 << 20, members: 4 }, ..Part::ALL };
    let half = [file("a", &"\0".repeat(1 << 20))];
    let (_, done) = unpack_part(&[&half, &half], little);
    done.unwrap();
    let large = [file("b", &"\0".repeat(2 << 20))];
    // Also what is not needed, or replaced later.
    let nothing = Part { needed: &|_| false, ..little };
    for part in [little, nothing] {
        let (_, done) = unpack_part(&[&large, &large], part);
        let error = done.unwrap_err();
        let expected = "image 'x.tar' is refused: it unpacks to more than 0 GB";
        assert!(error.starts_with(expected), "{error}");
    }
    let (_, done) =
        unpack_part(&[&(0..5).map(|n| file(&n.to_string(), "")).collect::<Vec<_>>()], little);
    assert!(done.unwrap_err().contains("exceeds the number of members"));
}

#[test]
fn layers_are_read_plain_and_compressed_and_have_the_hash_of_the_plain_one() {
    let plain = tar(&[file("x", &"text ".repeat(10_000))]);
    let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    io::copy(&mut &plain[..], &mut gzip).unwrap();
    let expected = crate::source::digest::sha256_of(&plain);
    for (compression, bytes) in [
        (Compression::None, plain.clone()),
        (Compression::Gzip, gzip.finish().unwrap()),
        (Compression::Zstd, zstd::encode_all(&plain[..], 1).unwrap()),
    ] {
        let unpack = |bytes: &[u8]| {
            let folder = tempfile::tempdir().unwrap();
            let mut layers = Layers::new("x.tar", folder.path(), Part::ALL).unwrap();
            let (mut last, size) = (0, bytes.len() as u64);
            let digest = layers.unpack(Layer { compression, bytes, size }, &mut |progress| {
                let Progress::Unpacking { done, .. } = progress else { panic!("{progress:?}") };
                last = done;
                Ok(())
            });
            digest.map(|digest| (digest, last)).map_err(|error| error.to_string())
        };
        let (digest, told) = unpack(&bytes).unwrap();
        assert_eq!(digest, expected);
        assert!((1..=bytes.len() as u64).contains(&told), "{told} of {}", bytes.len());
        // Cut off, as a whole or in its content.
        for length in [bytes.len() / 2, 1] {
            assert!(unpack(&bytes[..length]).unwrap_err().contains("'x.tar' cannot be unpacked"));
        }
    }
}
