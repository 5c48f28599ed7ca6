//! How builds were compiled: with programs by the system's compiler.

use goblin::elf::Elf;
use rqps_plan::Flags;

use super::super::flags::{self, Looked};
use super::*;

const MYSQL: &str = "mysqld  Ver 8.0.33 for Linux on x86_64";
const MAIN: &str = "#include <stdio.h>\nint other(void);\nint third(void);\n\
                    int main(void) { puts(SAYS); return other() + third(); }\n";

/// Compiles a server that prints this when it is run, each of its three files with its own flags,
/// and links it with some.
fn build(root: &Path, program: &str, says: &str, files: [&str; 3], linked: &str) -> PathBuf {
    let server = root.join("bin").join(program);
    fs::create_dir_all(server.parent().unwrap()).unwrap();
    let sources = [MAIN, "int other(void) { return 0; }\n", "int third(void) { return 0; }\n"];
    let mut objects = Vec::new();
    for (index, (source, flags)) in sources.iter().zip(files).enumerate() {
        let (file, object) = (root.join(format!("{index}.c")), root.join(format!("{index}.o")));
        fs::write(&file, source).unwrap();
        let says = format!("-DSAYS={says:?}");
        cc(flags, |cc| cc.arg(says).arg("-c").arg(&file).arg("-o").arg(&object));
        objects.push(object);
    }
    cc(linked, |cc| cc.args(&objects).arg("-o").arg(&server));
    server
}

fn cc(flags: &str, with: impl FnOnce(&mut Command) -> &mut Command) {
    let mut command = Command::new("cc");
    let output = with(command.args(flags.split_whitespace())).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn mysql(world: &World, files: [&str; 3], linked: &str) -> Flags {
    let own = world.file("own");
    build(&own, "mysqld", MYSQL, files, linked);
    world.obtain_of(Dbms::Mysql, Build::Path(own)).unwrap().flags.unwrap()
}

#[test]
fn debug_information_of_all_kinds_tells_the_level_of_most_files() {
    for kind in ["-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-gdwarf64 -gdwarf-5"] {
        let world = World::new();
        let [most, least] = ["-O3", "-O0"].map(|level| format!("{kind} {level}"));
        for linked in ["", "-gz=zlib"] {
            let flags = mysql(&world, [&most, &least, &most], linked);
            let told = (flags.level.as_deref(), flags.read_in.as_deref());
            let expected = "debug information (2 of 3 compile units)";
            assert_eq!(told, (Some("-O3"), Some(expected)), "{kind} {linked}: {flags:?}");
            assert!(flags.compiler.unwrap().starts_with("GNU C"));
            assert_eq!((flags.lto, flags.assertions), (Some(false), Some(false)));
        }
    }
}

#[test]
fn what_was_stripped_is_not_known_and_what_is_in_the_program_is() {
    let world = World::new();
    let hard = "-O2 -g -fPIE -fstack-protector-all -Wl,-z,relro,-z,now -pie -s";
    let soft = "-O2 -g -fno-pie -fno-stack-protector -Wl,-z,norelro,-z,lazy -no-pie -s";
    let flags = mysql(&world, [hard; 3], hard);
    assert_eq!(flags.level, None);
    let why = "not known: it was stripped of its debug information, and has no docs/INFO_BIN \
               beside it";
    assert_eq!(flags.told(), why);
    for what in ["pie", "relro", "now", "stack-protector"] {
        assert!(flags.hardening.iter().any(|has| has == what), "{what}: {flags:?}");
    }
    assert_eq!(flags.lto, None, "as little as the level");
    let flags = mysql(&world, [soft; 3], soft);
    for what in ["pie", "relro", "now", "stack-protector"] {
        assert!(!flags.hardening.iter().any(|has| has == what), "{what}: {flags:?}");
    }
}

#[test]
fn link_time_optimisation_and_sanitizers_are_seen() {
    let world = World::new();
    let flags = mysql(&world, ["-O2 -g -flto"; 3], "-O2 -g -flto");
    assert_eq!(flags.short(), "-O2 lto", "{flags:?}");
    // The calls of a sanitizer show it, since a stripped program has nothing else.
    let flags = mysql(&world, ["-O2 -Dthird=__asan_init"; 3], "-rdynamic -s");
    assert_eq!(flags.sanitizers, ["address"], "{flags:?}");
    assert_eq!(flags.unusual().as_deref(), Some("built with the address sanitizer"));
}

#[test]
fn a_debug_build_of_mysql_has_assertions() {
    let world = World::new();
    let own = world.file("own");
    build(&own, "mysqld", &MYSQL.replace("8.0.33", "8.0.33-debug"), ["-O2 -g"; 3], "");
    let installed = world.obtain_of(Dbms::Mysql, Build::Path(own)).unwrap();
    assert_eq!(installed.version, "8.0.33");
    assert_eq!(installed.flags.unwrap().short(), "-O2 assertions");
}

#[test]
fn the_notes_of_a_vendor_are_asked_for_what_was_stripped() {
    let world = World::new();
    fs::create_dir_all(world.file("own/docs")).unwrap();
    fs::write(world.file("own/docs/INFO_BIN"), "CXX_FLAGS = -g -O2 -DNDEBUG\n").unwrap();
    let flags = mysql(&world, ["-O1 -g"; 3], "-s");
    assert_eq!(flags.level.as_deref(), Some("-O2"));
    assert_eq!(flags.read_in.as_deref(), Some("its docs/INFO_BIN"));
    // The program's own information takes precedence.
    assert_eq!(mysql(&world, ["-O1 -g"; 3], "").level.as_deref(), Some("-O1"));
}

fn postgres(world: &World, cflags: &str, configure: &str, version: &str) -> Installed {
    let own = world.file("own");
    let says = format!("postgres (PostgreSQL) {version}\0{cflags}\0{configure}\0");
    // Bytes after the end of the output.
    build(&own, "postgres", &says, ["-O2"; 3], "-s");
    world.obtain(Build::Path(own)).unwrap()
}

#[test]
fn postgres_keeps_its_flags_in_its_server() {
    let world = World::new();
    let flags =
        |cflags: &str, configure: &str| postgres(&world, cflags, configure, "17.6").flags.unwrap();
    let cflags = "-Wall -Wmissing-prototypes -fwrapv -Os";
    let size = flags(cflags, " '--prefix=/usr' '--without-icu'");
    assert_eq!((size.short().as_str(), size.assertions), ("-Os", Some(false)));
    assert_eq!(size.read_in.as_deref(), Some("its server's CFLAGS"));
    let debug = flags("-Wall -Wmissing-prototypes -g", "'--enable-cassert' '--enable-debug'");
    assert_eq!(debug.short(), "-O0 assertions");
    let meson = flags("-Wall -Wmissing-prototypes -O2", "");
    assert_eq!((meson.short().as_str(), meson.assertions), ("-O2", None));
    let neither = flags("-Wall", "");
    assert_eq!(neither.told(), "not known: it was stripped of its debug information");
}

#[test]
fn an_old_postgres_keeps_its_flags_in_the_pg_config_of_its_version() {
    let world = World::new();
    let beside = world.file("own/bin/pg_config");
    fs::create_dir_all(beside.parent().unwrap()).unwrap();
    let told = "PostgreSQL 9.6.24\0-Wall -Wmissing-prototypes -O2\0'--enable-nls'\0";
    fs::write(&beside, told).unwrap();
    let flags = postgres(&world, "", "", "9.6.24").flags.unwrap();
    assert_eq!((flags.short().as_str(), flags.assertions), ("-O2", Some(false)));
    assert_eq!(flags.read_in.as_deref(), Some("pg_config's CFLAGS"));
    let other = postgres(&world, "", "", "9.6.2").flags.unwrap();
    assert_eq!(other.level, None, "that of another version says nothing of this one");
}

#[test]
fn damaged_programs_are_read_as_far_as_they_go() {
    let folder = tempfile::tempdir().unwrap();
    for linked in ["", "-gz=zlib"] {
        let server = build(folder.path(), "mysqld", MYSQL, ["-O2 -g"; 3], linked);
        let whole = fs::read(&server).unwrap();
        let read = |bytes: &[u8]| {
            let elf = Elf::parse(bytes).ok();
            flags::read(&Looked {
                dbms: Dbms::Mysql,
                version: "8.0.33",
                told: "8.0.33",
                server: &server,
                bytes,
                elf: elf.as_ref(),
                compiler: None,
            })
        };
        assert_eq!(read(&whole).level.as_deref(), Some("-O2"));
        let elf = Elf::parse(&whole).unwrap();
        let of_debug = |at: usize| {
            let name = elf.shdr_strtab.get_at(at).unwrap_or_default();
            name.starts_with(".debug_info") || name.starts_with(".debug_abbrev")
        };
        let headers = elf.section_headers.iter().filter(|header| of_debug(header.sh_name));
        let places: Vec<usize> = headers.flat_map(|header| header.file_range().unwrap()).collect();
        let (mut unknown, mut state) = (0, 1_u32);
        let mut draw = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize
        };
        for _ in 0..2_000 {
            let mut bytes = whole.clone();
            for _ in 0..3 {
                bytes[places[draw() % places.len()]] = draw() as u8;
            }
            unknown += usize::from(read(&bytes).unknown.is_some());
        }
        assert!(unknown > 0);
        for length in (0..whole.len()).step_by(301) {
            read(&whole[..length]);
        }
    }
}

#[test]
fn a_build_that_an_older_rqps_fetched_is_looked_at_once_more() {
    let world = World::with_npm();
    let installed = world.obtain(version("17.6")).unwrap();
    let why = "its server is not an ELF program";
    assert_eq!(installed.flags, Some(Flags::unknown(why)), "a script");
    let description = installed.root.join("installed.json");
    let text = fs::read_to_string(&description).unwrap();
    let mut old: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(old.as_object_mut().unwrap().remove("flags").is_some());
    fs::write(&description, old.to_string()).unwrap();
    assert_eq!(world.obtain(version("17.6")).unwrap(), installed);
    let now: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&description).unwrap()).unwrap();
    assert_eq!(now["flags"]["unknown"], why, "so that it is not read each time");
    let mode = fs::metadata(&description).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    // Known flags are not read again.
    fs::write(&description, text.replace(why, "told before")).unwrap();
    let kept = world.obtain(version("17.6")).unwrap().flags.unwrap();
    assert_eq!(kept.unknown.as_deref(), Some("told before"));
}
