use std::io::Write;
use std::os::unix::fs::MetadataExt;

use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;
use rqps_system::Cancelled;
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::source::progress::Progress;

/// A hostile member: the name is written into the header without any check.
pub(super) fn member(
    kind: EntryType,
    name: &str,
    mode: u32,
    link: &str,
    content: &[u8],
) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(content.len() as u64);
    let gnu = header.as_gnu_mut().unwrap();
    gnu.name[..name.len()].copy_from_slice(name.as_bytes());
    gnu.linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_cksum();
    let mut tar = Builder::new(Vec::new());
    tar.append(&header, content).unwrap();
    let mut bytes = tar.into_inner().unwrap();
    bytes.truncate(bytes.len() - 1024);
    bytes
}

pub(super) fn file(name: &str, content: &str) -> Vec<u8> {
    member(EntryType::Regular, name, 0o644, "", content.as_bytes())
}

pub(super) fn symbolic(name: &str, to: &str) -> Vec<u8> {
    member(EntryType::Symlink, name, 0o777, to, b"")
}

pub(super) fn hard(name: &str, to: &str) -> Vec<u8> {
    member(EntryType::Link, name, 0o644, to, b"")
}

pub(super) fn gzip(members: &[Vec<u8>]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(&members.concat()).unwrap();
    out.write_all(&[0; 1024]).unwrap();
    out.finish().unwrap()
}

/// A folder with the target in it, so that an escaping member is beside the target.
struct Place {
    outer: TempDir,
}

impl Place {
    fn new() -> Place {
        let outer = tempfile::tempdir().unwrap();
        fs::create_dir(outer.path().join("target")).unwrap();
        Place { outer }
    }

    fn target(&self) -> PathBuf {
        self.outer.path().join("target")
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.target().join(name)).unwrap()
    }

    fn unpack(&self, bytes: &[u8], compression: Compression, below: &str) -> Result<(), String> {
        self.unpack_part(bytes, compression, Part { below, ..Part::ALL })
    }

    fn unpack_part(
        &self,
        bytes: &[u8],
        compression: Compression,
        part: Part,
    ) -> Result<(), String> {
        let size = bytes.len() as u64;
        let tarball = Tarball { name: "a.tgz", compression, bytes, size, part };
        let unpacked = tarball.unpack(&self.target(), &mut |_| Ok(()));
        unpacked.map_err(|error| error.to_string())
    }

    fn unzip(&self, bytes: &[u8], part: Part) -> Result<Vec<Progress>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, bytes).unwrap();
        let mut seen = Vec::new();
        let unpacked = Zip::open(file.path(), "a.zip").and_then(|zip| {
            zip.unpack(part, &self.target(), &mut |progress| {
                seen.push(progress);
                Ok(())
            })
        });
        unpacked.map(|()| seen).map_err(|error| error.to_string())
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.target().join(name)).unwrap().mode() & 0o7777
    }

    fn escaped(&self) -> Vec<PathBuf> {
        let beside = fs::read_dir(self.outer.path()).unwrap().map(|entry| entry.unwrap().path());
        beside.filter(|path| *path != self.target()).collect()
    }
}

fn unpacked(members: &[Vec<u8>], below: &str) -> Place {
    let place = Place::new();
    place.unpack(&gzip(members), Compression::Gzip, below).unwrap();
    place
}

/// Asserts that an archive is rejected for this reason, and that nothing escaped.
fn refused(members: &[Vec<u8>], reason: &str) {
    let place = Place::new();
    let error = place.unpack(&gzip(members), Compression::Gzip, "").unwrap_err();
    assert!(error.contains(reason), "{error}");
    assert_eq!(place.escaped(), Vec::<PathBuf>::new());
}

#[test]
fn files_folders_and_links_arrive() {
    let place = unpacked(
        &[
            file("./lib/libpq.so.5.17", "code"),
            symbolic("lib/libpq.so", "libpq.so.5.17"),
            symbolic("bin/lib", "../lib"),
            hard("lib/copy", "lib/libpq.so.5.17"),
            member(EntryType::Directory, "share/", 0o700, "", b""),
        ],
        "",
    );
    for name in ["lib/libpq.so.5.17", "lib/libpq.so", "bin/lib/libpq.so", "lib/copy"] {
        assert_eq!(place.read(name), "code", "{name}");
    }
    assert_eq!((place.mode("share"), place.mode("lib")), (0o755, 0o755));
}

#[test]
fn only_what_lies_below_the_folder_is_unpacked() {
    let place = unpacked(&[file("package/native/bin/x", "1"), file("package/y", "2")], "package");
    assert_eq!(place.read("native/bin/x"), "1");
    let place = unpacked(
        &[
            file("package/native/bin/x", "1"),
            hard("package/native/bin/z", "package/native/bin/x"),
            file("package/y", "2"),
        ],
        "package/native",
    );
    assert_eq!(place.read("bin/z"), "1");
    assert!(!place.target().join("y").exists());
}

#[test]
fn xz_is_read_too() {
    let mut out = XzEncoder::new(Vec::new(), 0);
    out.write_all(&[file("bin/x", "1"), vec![0; 1024]].concat()).unwrap();
    let place = Place::new();
    place.unpack(&out.finish().unwrap(), Compression::Xz, "").unwrap();
    assert_eq!(place.read("bin/x"), "1");
}

#[test]
fn of_the_mode_only_the_executable_bit_is_kept() {
    for (given, kept) in [(0o4755, 0o755), (0o2711, 0o755), (0o1600, 0o644), (0o666, 0o644)] {
        let place = unpacked(&[member(EntryType::Regular, "x", given, "", b"")], "");
        assert_eq!(place.mode("x"), kept, "{given:o}");
    }
}

#[test]
fn members_that_leave_the_target_folder_are_refused() {
    refused(&[file("../x", "")], "member '../x' leaves the target folder");
    refused(&[file("a/../../x", "")], "leaves the target folder");
    refused(&[file("/tmp/rqps-x", "")], "leaves the target folder");
    refused(&[hard("x", "../../etc/passwd")], "leaves the target folder");
    refused(&[hard("x", "/etc/passwd")], "leaves the target folder");
    refused(&[symbolic("x", "/etc")], "links to outside");
    refused(&[symbolic("x", "../y")], "links to outside");
    refused(&[symbolic("a/b", "../../y")], "links to outside");
    // It seems to stay inside, but 'd' leads up.
    refused(&[symbolic("a/b/d", "../.."), symbolic("a/b/e", "d/../x")], "links to outside");
}

#[test]
fn nothing_is_written_through_a_link() {
    refused(&[symbolic("a", "b"), file("a/x", "")], "has the path of another member");
    refused(
        &[symbolic("a", "b"), symbolic("a/x", "y")],
        "lies below a member that is not a folder",
    );
    refused(&[file("a", ""), file("a/x", "")], "lies below a member that is not a folder");
    refused(&[file("a", "1"), file("a", "2")], "has the path of another member");
    refused(&[hard("a", "b")], "No such file");
}

#[test]
fn devices_and_pipes_are_refused() {
    for kind in [EntryType::Char, EntryType::Block, EntryType::Fifo] {
        refused(&[member(kind, "x", 0o666, "", b"")], "is not a file, a folder or a link");
    }
}

/// Limits that a test can reach.
const LITTLE: Part = Part { most: Most { bytes: 4 << 20, members: 20 }, ..Part::ALL };

#[test]
fn an_archive_holds_no_more_than_a_build_can_have() {
    let members = |count: usize| (0..count).map(|n| file(&format!("m{n}"), "")).collect::<Vec<_>>();
    let zeros = "\0".repeat(3 << 20);
    let unpack = |members: &[Vec<u8>], part| {
        Place::new().unpack_part(&gzip(members), Compression::Gzip, part)
    };
    unpack(&members(20), LITTLE).unwrap();
    let error = unpack(&members(21), LITTLE).unwrap_err();
    assert!(
        error.ends_with("its member 'm20' exceeds the number of members that a build may have"),
        "{error}"
    );

    unpack(&[file("a", &zeros)], LITTLE).unwrap();
    let twice = [file("a", &zeros), file("b", &zeros)];
    let error = unpack(&twice, LITTLE).unwrap_err();
    assert!(error.contains("it is larger than a build may be"), "{error}");
    let none = Part { needed: &|_| false, ..LITTLE };
    let error = unpack(&twice, none).unwrap_err();
    assert!(error.contains("it is larger than a build may be"), "not needed: {error}");

    let zip_of = |names: &[&str]| {
        let members: Vec<_> = names.iter().map(|name| (*name, FILE, zeros.as_str())).collect();
        Place::new().unzip(&zip(&members), LITTLE).map(drop)
    };
    zip_of(&["a"]).unwrap();
    let error = zip_of(&["a", "b"]).unwrap_err();
    assert!(error.ends_with("its member 'b' makes it larger than a build may be"), "{error}");
}

#[test]
fn headers_are_not_read_however_long() {
    let long = |kind, bytes: usize| member(kind, "h", 0o644, "", "x".repeat(bytes).as_bytes());
    for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
        refused(&[long(kind, 2 << 20), file("x", "")], "it is larger than a build may be");
        // Also where there are many.
        let many: Vec<_> =
            (0..600).map(|_| member(EntryType::XGlobalHeader, "g", 0, "", b"")).collect();
        unpacked(&many, "");
    }
    refused(&[long(EntryType::GNULongName, 5000), file("x", "")], "has a path that is too long");
    let link = [long(EntryType::GNULongLink, 5000), symbolic("x", "y")];
    refused(&link, "links to a path that is too long");
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::GNUSparse);
    header.set_path("x").unwrap();
    header.set_size(0);
    // It would be read as two gigabytes of zeros.
    let gnu = header.as_gnu_mut().unwrap();
    gnu.realsize = *b"20000000000\0";
    gnu.sparse[0].offset = gnu.realsize;
    gnu.sparse[0].numbytes = *b"00000000000\0";
    header.set_cksum();
    refused(&[header.as_bytes().to_vec()], "is a sparse file");
}

#[test]
fn a_zip_member_is_no_longer_than_it_says() {
    let mut bytes = zip(&[("bin/a", FILE, &"\0".repeat(1 << 20))]);
    let central = memchr::memmem::find(&bytes, b"PK\x01\x02").unwrap();
    for uncompressed in [central + 24, 22] {
        bytes[uncompressed..uncompressed + 4].copy_from_slice(&100_u32.to_le_bytes());
    }
    let place = Place::new();
    let error = place.unzip(&bytes, Part::ALL).unwrap_err();
    assert!(error.contains("larger than its declared uncompressed size"), "{error}");
    assert!(fs::metadata(place.target().join("bin/a")).unwrap().len() <= 100);
}

#[test]
fn what_is_unpacked_is_nobody_elses_to_change() {
    let own = rustix::process::geteuid().as_raw();
    let members = [
        member(EntryType::Directory, "open/", 0o777, "", b""),
        member(EntryType::Regular, "open/x", 0o4777, "", b""),
    ];
    let place = unpacked(&members, "");
    for name in ["open", "open/x"] {
        assert_eq!(place.mode(name), 0o755, "{name}");
        assert_eq!(fs::metadata(place.target().join(name)).unwrap().uid(), own, "{name}");
    }
}

#[test]
fn a_damaged_archive_is_an_error_wherever_it_ends() {
    let text: String =
        (0..20_000).map(|n: u32| format!("{:x} ", n.wrapping_mul(2654435761))).collect();
    let whole = gzip(&[file("x", &text), file("y", "1")]);
    for length in [0, 5, 100, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let place = Place::new();
        let error = place.unpack(&whole[..length], Compression::Gzip, "").unwrap_err();
        assert!(error.contains("'a.tgz' cannot be unpacked"), "{length}: {error}");
    }
    let mut changed = whole.clone();
    let checksum = changed.len() - 6;
    changed[checksum] ^= 1;
    assert!(Place::new().unpack(&changed, Compression::Gzip, "").is_err());
    assert!(Place::new().unpack(b"<html>not found</html>", Compression::Gzip, "").is_err());
}

#[test]
fn progress_reaches_the_size_of_the_archive() {
    let bytes = gzip(&[file("x", "1"), file("y", "2")]);
    let place = Place::new();
    let mut seen = Vec::new();
    let size = bytes.len() as u64;
    let compression = Compression::Gzip;
    Tarball { name: "a", compression, bytes: &bytes[..], size, part: Part::ALL }
        .unpack(&place.target(), &mut |progress| {
            seen.push(progress);
            Ok(())
        })
        .unwrap();
    assert_eq!(seen.last(), Some(&Progress::Unpacking { done: size, total: size }));
}

#[test]
fn what_is_not_needed_is_left_out() {
    let needed = |path: &Path| !path.starts_with("man");
    let part = Part { below: "build", needed: &needed, ..Part::ALL };
    let members = [("build/man/a", FILE, "1"), ("build/bin/b", FILE, "22"), ("c", FILE, "3")];
    let place = Place::new();
    let seen = place.unzip(&zip(&members), part).unwrap();
    assert_eq!(seen.last(), Some(&Progress::Unpacking { done: 2, total: 2 }));
    assert_eq!(place.read("bin/b"), "22");
    assert_eq!(fs::read_dir(place.target()).unwrap().count(), 1);

    let place = Place::new();
    let bytes = gzip(&[file("build/man/a", "1"), file("build/bin/b", "22"), file("c", "3")]);
    let (compression, size) = (Compression::Gzip, bytes.len() as u64);
    let tarball = Tarball { name: "a", compression, bytes: &bytes[..], size, part };
    tarball.unpack(&place.target(), &mut |_| Ok(())).unwrap();
    assert_eq!(place.read("bin/b"), "22");
    assert_eq!(fs::read_dir(place.target()).unwrap().count(), 1);
}

const FILE: u32 = 0o100644;
const LINK: u32 = 0o120777;

/// A hostile zip file: the mode is written without any check.
fn zip(members: &[(&str, u32, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, _, content) in members {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    let mut bytes = writer.finish().unwrap().into_inner();
    let mut from = 0;
    for (_, mode, _) in members {
        from += memchr::memmem::find(&bytes[from..], b"PK\x01\x02").unwrap();
        bytes[from + 5] = 3;
        bytes[from + 40..from + 42].copy_from_slice(&u16::try_from(*mode).unwrap().to_le_bytes());
        from += 4;
    }
    bytes
}

/// Asserts that a zip file is rejected for this reason, and that nothing escaped.
fn zip_refused(members: &[(&str, u32, &str)], reason: &str) {
    let place = Place::new();
    let error = place.unzip(&zip(members), Part::ALL).unwrap_err();
    assert!(error.contains(reason), "{error}");
    assert_eq!(place.escaped(), Vec::<PathBuf>::new());
}

#[test]
fn of_a_zip_files_folders_and_links_arrive() {
    let place = Place::new();
    let members = [
        ("./lib/a.so.1", FILE, "code"),
        ("lib/a.so", LINK, "a.so.1"),
        ("share/", 0o040700, ""),
        ("run.sh", 0o106755, ""),
        ("share/read", 0o106666, ""),
        // Without a type, as from tools that store only permissions; and without any mode.
        ("sbin/x", 0o755, ""),
        ("bin/server", 0, ""),
        ("share/text", 0, ""),
    ];
    place.unzip(&zip(&members), Part::ALL).unwrap();
    assert_eq!(place.read("lib/a.so"), "code");
    for program in ["run.sh", "sbin/x", "bin/server", "share", "lib"] {
        assert_eq!(place.mode(program), 0o755, "{program}");
    }
    for text in ["share/read", "share/text", "lib/a.so.1"] {
        assert_eq!(place.mode(text), 0o644, "{text}");
    }
}

#[test]
fn of_a_zip_nothing_leaves_the_target_folder() {
    zip_refused(&[("../x", FILE, "")], "member '../x' leaves the target folder");
    zip_refused(&[("a/../../x", FILE, "")], "leaves the target folder");
    zip_refused(&[("/tmp/rqps-x", FILE, "")], "leaves the target folder");
    zip_refused(&[("x", LINK, "/etc")], "links to outside");
    zip_refused(&[("x", LINK, "../y")], "links to outside");
    zip_refused(&[("x", LINK, "")], "is a link without a target");
    zip_refused(&[("x", LINK, &"a/".repeat(100_000))], "File name too long");
    zip_refused(&[("a", LINK, "b"), ("a/x", FILE, "")], "has the path of another member");
    zip_refused(&[("a", FILE, ""), ("a/x", FILE, "")], "lies below a member that is not a folder");
    for kind in [0o020666, 0o060666, 0o010666, 0o140666] {
        zip_refused(&[("x", kind, "")], "is not a file, a folder or a link");
    }
}

#[test]
fn a_damaged_zip_is_an_error_wherever_it_ends() {
    let text = "some text ".repeat(10_000);
    let whole = zip(&[("x", FILE, &text), ("y", FILE, "1")]);
    for length in [0, 5, 100, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let error = Place::new().unzip(&whole[..length], Part::ALL).unwrap_err();
        assert!(error.contains("'a.zip' cannot be unpacked"), "{length}: {error}");
    }
    let mut changed = whole.clone();
    let content = memchr::memmem::rfind(&whole, b"PK\x03\x04").unwrap() - 3;
    changed[content] ^= 1;
    let error = Place::new().unzip(&changed, Part::ALL).unwrap_err();
    assert!(error.ends_with("It is damaged; fetch it again"), "{error}");
}

#[test]
fn unpacking_a_zip_ends_when_cancelled() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, zip(&[("x", FILE, "1")])).unwrap();
    let zip = Zip::open(file.path(), "a.zip").unwrap();
    let unpacked = zip.unpack(Part::ALL, &Place::new().target(), &mut |_| Err(Cancelled));
    assert!(matches!(unpacked, Err(SourceError::Cancelled(_))));
}

#[test]
fn listed_links_stay_inside() {
    let place = unpacked(&[file("lib/a.so.1", "code")], "");
    let link = |at: &str, to: &str| {
        let error = link_all("a", &place.target(), [(at.into(), to.into())]);
        error.map_err(|error| error.to_string())
    };
    link("lib/a.so", "lib/a.so.1").unwrap();
    link("deep/er/a.so", "lib/a.so.1").unwrap();
    assert_eq!(place.read("lib/a.so") + &place.read("deep/er/a.so"), "codecode");
    for (at, to) in [("../a", "lib/a.so.1"), ("x", "../../etc/passwd"), ("y", "/etc/passwd")] {
        assert!(link(at, to).unwrap_err().contains("leaves the target folder"));
    }
}
