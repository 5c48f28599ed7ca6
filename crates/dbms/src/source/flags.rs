//! How a build was compiled, read from its files. Nothing is run, and facts that no file contains
//! stay unknown: the default flags of a distribution are no evidence about a binary.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use goblin::elf::Elf;
use goblin::elf::dynamic::{DF_1_NOW, DF_BIND_NOW, DT_BIND_NOW};
use goblin::elf::header::ET_DYN;
use goblin::elf::program_header::PT_GNU_RELRO;
use memchr::memmem;
use rqps_plan::{Dbms, Flags};
use rqps_system::printable;

use super::dwarf;
use super::instructions::has_crc32;
use crate::descriptor::FlagsIn;
use crate::registry::descriptor;

/// The optimisation levels of compilers. Other words are synonyms of one of these, or not levels.
const LEVELS: [&str; 8] = ["-O0", "-O1", "-O2", "-O3", "-Os", "-Og", "-Oz", "-Ofast"];
/// In Postgres's CFLAGS for all versions and packagers, and in no other text of its server.
const OF_POSTGRES: &[u8] = b"-Wmissing-prototypes";
/// The places of the vendors' file about how MySQL and MariaDB were built.
const NOTES: [&str; 3] = ["docs/INFO_BIN", "share/doc/INFO_BIN", "INFO_BIN"];
/// The largest file to read beside the server.
const MOST: u64 = 64 << 20;
/// The functions of sanitizers that every program with one calls.
const SANITIZERS: [(&str, &str); 5] = [
    ("__asan_init", "address"),
    ("__tsan_init", "thread"),
    ("__msan_init", "memory"),
    ("__lsan_init", "leak"),
    ("__ubsan_handle_", "undefined"),
];
/// SQLite in one file, in the form that is compiled into rqps.
const SQLITE: &str = "sqlite3.c";

/// A server's program.
pub(super) struct Looked<'a> {
    pub(super) dbms: Dbms,
    /// Without the words after its dashes.
    pub(super) version: &'a str,
    /// As it reports it: `8.0.33-debug`.
    pub(super) told: &'a str,
    pub(super) server: &'a Path,
    pub(super) bytes: &'a [u8],
    pub(super) elf: Option<&'a Elf<'a>>,
    pub(super) compiler: Option<&'a str>,
}

pub(super) fn read(looked: &Looked) -> Flags {
    let Some(elf) = looked.elf else {
        return Flags::unknown("its server is not an ELF program");
    };
    let told = descriptor(looked.dbms, None).flags;
    let mut flags = match told {
        FlagsIn::Configure => {
            of_postgres(looked).unwrap_or_else(|| of_units(looked.bytes, elf, None))
        }
        FlagsIn::Notes => noted_beside(looked, of_units(looked.bytes, elf, None)),
        FlagsIn::Code => {
            Flags { crc32: has_crc32(looked.bytes, elf), ..of_units(looked.bytes, elf, None) }
        }
    };
    let program = Program::of(elf);
    flags.hardening = program.hardening(looked.bytes, elf);
    let sanitizers: BTreeSet<String> =
        flags.sanitizers.into_iter().chain(program.sanitizers()).collect();
    flags.sanitizers = sanitizers.into_iter().collect();
    flags.lto = flags.lto.or(program.has_lto().then_some(true));
    if told != FlagsIn::Configure {
        // Release builds of some versions call it as well, in a bundled library.
        let never = || (!program.names.contains("__assert_fail")).then_some(false);
        let is_debug = looked.told.split('-').any(|word| word == "debug");
        flags.assertions = is_debug.then_some(true).or(flags.assertions).or_else(never);
    }
    let compiler = || looked.compiler.map(|told| printable(told).into_owned());
    flags.compiler = flags.compiler.or_else(compiler);
    flags
}

/// The SQLite in rqps: from rqps's own debug information, or, if that was stripped, from cargo's
/// build of rqps.
pub(crate) fn of_sqlite(compile_options: &[String]) -> Flags {
    static FLAGS: OnceLock<Flags> = OnceLock::new();
    let mut flags = FLAGS.get_or_init(of_own_sqlite).clone();
    let has = |option: &str| compile_options.iter().any(|one| one == option);
    flags.assertions = Some(has("DEBUG"));
    let compiler = compile_options.iter().find_map(|one| one.strip_prefix("COMPILER="));
    flags.compiler = flags.compiler.or(compiler.map(|told| printable(told).into_owned()));
    flags
}

fn of_own_sqlite() -> Flags {
    let bytes = std::fs::read("/proc/self/exe").unwrap_or_default();
    let Ok(elf) = Elf::parse(&bytes) else {
        return of_cargo();
    };
    let program = Program::of(&elf);
    let told = of_units(&bytes, &elf, Some(SQLITE));
    let flags = if told.level.is_some() { told } else { of_cargo() };
    Flags { hardening: program.hardening(&bytes, &elf), ..flags }
}

/// The cc crate compiles at the level of cargo's profile, and CFLAGS come last.
fn of_cargo() -> Flags {
    let words = env!("C_IS_COMPILED_WITH");
    Words::of(words.split(' ')).into_flags("how cargo built rqps".to_string())
}

/// The flags in a compiler's command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Words {
    level: Option<&'static str>,
    lto: bool,
    pgo: bool,
    march: Option<String>,
    sanitizers: BTreeSet<String>,
    /// C's assertions, or MySQL's, are disabled.
    has_no_assertions: bool,
}

impl Words {
    /// As for compilers, the last of contradicting flags counts.
    fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Words {
        let mut said = Words::default();
        for word in words {
            if let Some(number) = word.strip_prefix("-O") {
                let is_high = number.parse::<u32>().is_ok_and(|number| number > 3);
                let word = if number.is_empty() { "-O1" } else { word };
                let word = if is_high { "-O3" } else { word };
                said.level = LEVELS.into_iter().find(|level| *level == word).or(said.level);
            } else if word == "-flto" || word.starts_with("-flto=") {
                said.lto = true;
            } else if word == "-fno-lto" {
                said.lto = false;
            } else if ["-fprofile-use", "-fauto-profile", "-fprofile-instr-use"]
                .iter()
                .any(|start| word.starts_with(start))
            {
                said.pgo = true;
            } else if let Some(march) = word.strip_prefix("-march=").filter(|name| is_plain(name)) {
                said.march = Some(march.to_string());
            } else if let Some(names) = word.strip_prefix("-fsanitize=") {
                let names = names.split(',').filter(|name| is_plain(name));
                said.sanitizers.extend(names.map(str::to_string));
            } else if word == "-DNDEBUG" || word == "-DDBUG_OFF" {
                said.has_no_assertions = true;
            }
        }
        said
    }

    /// A command line without a level means `-O0`.
    fn into_flags(self, read_in: String) -> Flags {
        Flags {
            level: Some(self.level.unwrap_or("-O0").to_string()),
            lto: Some(self.lto),
            pgo: Some(self.pgo),
            march: self.march,
            sanitizers: self.sanitizers.into_iter().collect(),
            read_in: Some(read_in),
            ..Flags::default()
        }
    }
}

/// Whether a name has the form of those of processors and sanitizers.
fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    (1..=40).contains(&name.len()) && name.chars().all(is_plain)
}

/// The CFLAGS of Postgres, stored for `pg_config`: since 10 in the server, before only in that
/// program.
fn of_postgres(looked: &Looked) -> Option<Flags> {
    let told = |bytes: &[u8], name: &str| {
        let strings = Strings(bytes);
        let cflags = strings.with(OF_POSTGRES).next()?;
        let lines = [&b"'--with"[..], b"'--prefix", b"'--enable", b"'--disable"];
        let line = lines.into_iter().find_map(|start| strings.with(start).next());
        Some(of_configured(cflags, line.unwrap_or_default(), name))
    };
    told(looked.bytes, "its server's CFLAGS").or_else(|| {
        let beside = small(&looked.server.with_file_name("pg_config"))?;
        // `pg_config` may belong to another version, for clients.
        let version = format!("PostgreSQL {}\0", looked.version);
        memmem::find(&beside, version.as_bytes())?;
        told(&beside, "pg_config's CFLAGS")
    })
}

/// From the settings of a remote server.
pub(crate) fn of_pg_config(cflags: &str, configure: &str) -> Flags {
    of_configured(cflags, configure, "its pg_config")
}

fn of_configured(cflags: &str, configure: &str, place: &str) -> Flags {
    let flags = Words::of(cflags.split_whitespace()).into_flags(place.to_string());
    // A build by meson, or without any option, has no such line.
    let is_told = !configure.trim().is_empty();
    let has_assertions = configure.contains("--enable-cassert");
    Flags { assertions: is_told.then_some(has_assertions), ..flags }
}

/// The strings of a program.
#[derive(Clone, Copy)]
struct Strings<'a>(&'a [u8]);

impl<'a> Strings<'a> {
    /// The strings that contain this.
    fn with(self, part: &[u8]) -> impl Iterator<Item = &'a str> {
        let Strings(bytes) = self;
        let places: Vec<usize> = memmem::find_iter(bytes, part).collect();
        places.into_iter().filter_map(move |place| {
            let start = memchr::memrchr(0, &bytes[..place]).map_or(0, |zero| zero + 1);
            let end = memchr::memchr(0, &bytes[place..]).map_or(bytes.len(), |end| place + end);
            std::str::from_utf8(&bytes[start..end]).ok()
        })
    }
}

/// The flags from the program, or else from the vendor's notes.
fn noted_beside(looked: &Looked, told: Flags) -> Flags {
    let Some(why) = &told.unknown else { return told };
    match of_notes(looked.server) {
        Some(notes) => Flags { compiler: told.compiler, ..notes },
        None => {
            let why = format!("{why}, and has no {} beside it", NOTES[0]);
            Flags { unknown: Some(why), ..told }
        }
    }
}

/// The notes of MySQL's and MariaDB's vendors on how the folder `sql` was compiled, above the
/// server's folder.
fn of_notes(server: &Path) -> Option<Flags> {
    let base = server.ancestors().nth(2)?;
    let (name, notes) = NOTES.iter().find_map(|name| Some((name, small(&base.join(name))?)))?;
    notes_say(&String::from_utf8_lossy(&notes), name)
}

/// Older notes have the flags of a folder (`CXX_FLAGS = -O3`), newer ones those of cmake, which
/// adds the flags of the build type.
fn notes_say(notes: &str, name: &str) -> Option<Flags> {
    let value = |of: &str| {
        let mut values = notes.lines().filter_map(|line| line.strip_prefix(of));
        values.find_map(|rest| rest.strip_prefix(" = ").or(rest.strip_prefix(": ")))
    };
    let kind = value("CMAKE_BUILD_TYPE").unwrap_or_default().to_ascii_uppercase();
    let of_kind = format!("CMAKE_CXX_FLAGS_{kind}");
    let of_all = value("CXX_FLAGS").or_else(|| value("CMAKE_CXX_FLAGS"))?;
    let all = [Some(of_all), value("CXX_DEFINES"), value(&of_kind)];
    let words = Words::of(all.into_iter().flatten().flat_map(str::split_whitespace));
    let has_none = words.has_no_assertions;
    let flags = words.into_flags(format!("its {name}"));
    Some(Flags { assertions: has_none.then_some(false), ..flags })
}

/// The flags of most compile units: a file in assembler, or of a bundled library, does not
/// represent the build.
fn of_units(bytes: &[u8], elf: &Elf, file: Option<&str>) -> Flags {
    match dwarf::producers(bytes, elf, file) {
        Ok(producers) => told_by(&producers),
        Err(why) => Flags::unknown(why),
    }
}

fn told_by(producers: &BTreeMap<String, usize>) -> Flags {
    let of_code: Vec<Producer> = producers.iter().filter_map(Producer::of).collect();
    let units: usize = of_code.iter().map(|one| one.units).sum();
    let Some(most) = of_code.iter().max_by_key(|one| one.units) else {
        return Flags::unknown("its debug information names no compiler");
    };
    let noted: Vec<&Producer> = of_code.iter().filter(|one| one.notes_flags).collect();
    let with_flags: usize = noted.iter().map(|one| one.units).sum();
    if 2 * with_flags <= units {
        let why = format!("{} notes no flags in debug information", most.compiler);
        let compiler = Some(most.compiler.clone());
        return Flags { compiler, ..Flags::unknown(why) };
    }
    let level = |one: &Producer| one.words.level.unwrap_or("-O0").to_string();
    let level = common(&noted, |one| Some(level(one)));
    let at_level = |one: &&&Producer| one.words.level.unwrap_or("-O0") == level;
    let of_level: usize = noted.iter().filter(at_level).map(|one| one.units).sum();
    let most_are = |is: fn(&Words) -> bool| {
        let those = noted.iter().filter(|one| is(&one.words)).map(|one| one.units);
        Some(2 * those.sum::<usize>() > with_flags)
    };
    let sanitizers =
        common(&noted, |one| Some(Vec::from_iter(one.words.sanitizers.iter().cloned()).join(",")));
    let march = common(&noted, |one| Some(one.words.march.clone().unwrap_or_default()));
    let place = match units {
        1 => "debug information".to_string(),
        units => format!("debug information ({of_level} of {units} compile units)"),
    };
    Flags {
        level: Some(level),
        lto: most_are(|words| words.lto),
        pgo: most_are(|words| words.pgo),
        sanitizers: sanitizers.split(',').filter(|name| !name.is_empty()).map(Into::into).collect(),
        march: Some(march).filter(|march| !march.is_empty()),
        compiler: Some(common(&noted, |one| Some(one.compiler.clone()))),
        read_in: Some(place),
        ..Flags::default()
    }
}

/// The value of most units.
fn common(producers: &[&Producer], of: impl Fn(&Producer) -> Option<String>) -> String {
    let mut units: BTreeMap<String, usize> = BTreeMap::new();
    for one in producers {
        *units.entry(of(one).unwrap_or_default()).or_default() += one.units;
    }
    let most = units.into_iter().max_by_key(|(_, units)| *units);
    most.map_or(String::new(), |(what, _)| what)
}

/// A compiler of C or C++, with its flags: `GNU C++17 12.2.0 -mtune=generic -O2 -fPIE`.
struct Producer {
    units: usize,
    compiler: String,
    /// gcc records its flags, and default ones for the processor; clang records none.
    notes_flags: bool,
    words: Words,
}

impl Producer {
    fn of((told, units): (&String, &usize)) -> Option<Producer> {
        let is_c = ["GNU C", "GNU GIMPLE"].iter().any(|start| told.starts_with(start));
        let is_clang = told.contains("clang version");
        if !is_c && !is_clang {
            return None;
        }
        let (compiler, flags) = match told.find(" -") {
            Some(end) => told.split_at(end),
            None => (told.as_str(), ""),
        };
        Some(Producer {
            units: *units,
            compiler: printable(compiler.trim()).chars().take(120).collect(),
            notes_flags: !flags.is_empty(),
            words: Words::of(flags.split_whitespace()),
        })
    }
}

/// The functions that a program calls, and those in it if it was not stripped.
struct Program {
    names: BTreeSet<String>,
    is_lto: bool,
}

impl Program {
    fn of(elf: &Elf) -> Program {
        let dynamic = elf.dynsyms.iter().filter_map(|symbol| elf.dynstrtab.get_at(symbol.st_name));
        let own = elf.syms.iter().filter_map(|symbol| elf.strtab.get_at(symbol.st_name));
        let mut program = Program { names: BTreeSet::new(), is_lto: false };
        for name in dynamic.chain(own) {
            program.is_lto |= name.contains(".lto_priv");
            if name.starts_with("__") {
                // `__stack_chk_fail@GLIBC_2.4`
                let name = name.split('@').next().unwrap_or(name);
                program.names.insert(name.to_string());
            }
        }
        let sections = elf.section_headers.iter();
        let mut sections = sections.filter_map(|header| elf.shdr_strtab.get_at(header.sh_name));
        program.is_lto |= sections.any(|name| name.starts_with(".gnu.lto_"));
        program
    }

    fn has_lto(&self) -> bool {
        self.is_lto
    }

    fn sanitizers(&self) -> impl Iterator<Item = String> {
        let has = |start: &str| self.names.iter().any(|name| name.starts_with(start));
        SANITIZERS
            .into_iter()
            .filter(move |(start, _)| has(start))
            .map(|(_, name)| name.to_string())
    }

    fn hardening(&self, bytes: &[u8], elf: &Elf) -> Vec<String> {
        let info = elf.dynamic.as_ref().map(|dynamic| &dynamic.info);
        let tags = elf.dynamic.iter().flat_map(|dynamic| &dynamic.dyns);
        let binds_now = tags.into_iter().any(|entry| entry.d_tag == DT_BIND_NOW)
            || info
                .is_some_and(|info| info.flags & DF_BIND_NOW != 0 || info.flags_1 & DF_1_NOW != 0);
        let is_checked = |name: &String| {
            // Such as `__memcpy_chk`; the excluded one is that of the stack.
            name.ends_with("_chk") && name.len() > "___chk".len()
        };
        let found = [
            ("pie", elf.header.e_type == ET_DYN && elf.interpreter.is_some()),
            ("relro", elf.program_headers.iter().any(|one| one.p_type == PT_GNU_RELRO)),
            ("now", binds_now),
            ("stack-protector", self.names.contains("__stack_chk_fail")),
            ("fortify", self.names.iter().any(is_checked)),
            ("cf-protection", protects_branches(bytes, elf)),
        ];
        found.into_iter().filter(|(_, has)| *has).map(|(name, _)| name.to_string()).collect()
    }
}

/// Whether all code has marked branch targets, or shadow stacks (System V ABI, Program Property).
fn protects_branches(bytes: &[u8], elf: &Elf) -> bool {
    const X86: [u8; 8] = [0x02, 0, 0, 0xc0, 4, 0, 0, 0];
    const ARM: [u8; 8] = [0, 0, 0, 0xc0, 4, 0, 0, 0];
    let is_note = |at: usize| elf.shdr_strtab.get_at(at) == Some(".note.gnu.property");
    let note = elf.section_headers.iter().find(|header| is_note(header.sh_name));
    let content = note.and_then(|header| bytes.get(header.file_range()?)).unwrap_or_default();
    let property = if elf.header.e_machine == goblin::elf::header::EM_AARCH64 { ARM } else { X86 };
    let place = memmem::find(content, &property).map(|place| place + property.len());
    place.and_then(|place| content.get(place)).is_some_and(|features| features & 3 != 0)
}

/// A small file beside the server, if it exists.
fn small(path: &Path) -> Option<Vec<u8>> {
    let is_small = path.metadata().is_ok_and(|about| about.is_file() && about.len() <= MOST);
    let file = File::open(path).ok().filter(|_| is_small)?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(words: &str) -> Option<&'static str> {
        Words::of(words.split(' ')).level
    }

    #[test]
    fn of_several_levels_the_last_counts() {
        for (words, expected) in [
            ("-g -O2", Some("-O2")),
            ("-O2 -O0", Some("-O0")),
            ("-O", Some("-O1")),
            ("-O3 -Os -DX", Some("-Os")),
            ("-O7", Some("-O3")),
            ("-O2 -Oops", Some("-O2")),
            ("-g", None),
        ] {
            assert_eq!(level(words), expected, "{words}");
        }
        let flags = Words::of(["-g"]).into_flags(String::new());
        assert_eq!(flags.level.as_deref(), Some("-O0"), "as a compiler takes it");
    }

    #[test]
    fn more_is_read_than_the_level() {
        let line = "-O3 -flto=auto -fno-lto -flto -fprofile-use=x.gcda -march=x86-64-v3 \
                    -fsanitize=address,undefined -march=\x1b[2J";
        let words = Words::of(line.split_whitespace());
        assert!(words.lto && words.pgo);
        assert_eq!(words.march.as_deref(), Some("x86-64-v3"), "what is no name is none");
        assert_eq!(Vec::from_iter(&words.sanitizers), ["address", "undefined"]);
        let none = Words::of(["-fno-lto", "-fprofile-arcs"]);
        assert!(!none.lto && !none.pgo);
    }

    fn told(producers: &[(&str, usize)]) -> Flags {
        told_by(&producers.iter().map(|(told, units)| (told.to_string(), *units)).collect())
    }

    #[test]
    fn the_level_is_that_of_most_code() {
        let flags = told(&[
            (
                "GNU C++17 12.1.1 20220628 (Red Hat 12.1.1-3) -mtune=generic -march=x86-64 -g -O2",
                900,
            ),
            ("GNU C11 12.1.1 20220628 (Red Hat 12.1.1-3) -mtune=generic -march=x86-64 -O3", 40),
            ("GNU C17 8.5.0 -mtune=generic -march=x86-64 -g", 60),
            ("GNU AS 2.35.2", 5000),
            ("clang LLVM (rustc version 1.95.0)", 5000),
        ]);
        assert_eq!(flags.level.as_deref(), Some("-O2"));
        assert_eq!((flags.lto, flags.pgo), (Some(false), Some(false)));
        assert_eq!(flags.compiler.as_deref(), Some("GNU C++17 12.1.1 20220628 (Red Hat 12.1.1-3)"));
        assert_eq!(flags.read_in.as_deref(), Some("debug information (900 of 1000 compile units)"));
    }

    #[test]
    fn a_compiler_that_notes_nothing_does_not_make_it_unoptimised() {
        for (producers, reason) in [
            (
                &[("clang version 14.0.6", 9), ("GNU C17 12.2.0 -mtune=generic -O2", 2)][..],
                "clang version 14.0.6 notes no flags in debug information",
            ),
            (&[("GNU C++ 4.4.7", 9)], "GNU C++ 4.4.7 notes no flags in debug information"),
            (&[("GNU AS 2.35.2", 1)], "its debug information names no compiler"),
            (&[], "its debug information names no compiler"),
        ] {
            assert_eq!(told(producers).unknown.as_deref(), Some(reason));
        }
        let none = told(&[("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g", 3)]);
        assert_eq!(none.level.as_deref(), Some("-O0"), "gcc noted its flags, and no level");
    }

    /// The notes of MySQL's vendor for 5.6 and for 8.0.
    #[test]
    fn notes_of_the_vendor_tell_the_flags_of_the_server() {
        let old = "===== Compiler flags used (from the 'sql/' subdirectory): =====\n\
                   C_FLAGS =  -fPIC -O1 -g\n\
                   CXX_FLAGS =  -fPIC -Wall -O3 -g -DDBUG_OFF -I/pb2/include\n\
                   CXX_DEFINES = -DHAVE_CONFIG_H -DMYSQL_SERVER\n";
        let new = "CMAKE_BUILD_TYPE:STRING=Debug\n===== Compiler flags used: =====\n\
                   CMAKE_BUILD_TYPE: RelWithDebInfo\n\
                   CMAKE_CXX_FLAGS: -std=c++17 -O1 -g -Wp,-D_FORTIFY_SOURCE=2\n\
                   CMAKE_CXX_FLAGS_DEBUG: -O0\n\
                   CMAKE_CXX_FLAGS_RELWITHDEBINFO: -O2 -g -DNDEBUG -g1\n";
        for (notes, level) in [(old, "-O3"), (new, "-O2")] {
            let flags = notes_say(notes, "docs/INFO_BIN").unwrap();
            assert_eq!(flags.level.as_deref(), Some(level), "{notes}");
            assert_eq!(flags.assertions, Some(false));
            assert_eq!(flags.read_in.as_deref(), Some("its docs/INFO_BIN"));
        }
        let debug = notes_say("CXX_FLAGS = -g -O0\n", "docs/INFO_BIN").unwrap();
        assert_eq!((debug.level.as_deref(), debug.assertions), (Some("-O0"), None));
        assert_eq!(notes_say("no flags here", "docs/INFO_BIN"), None);
    }

    /// Two independent sources.
    #[test]
    fn the_sqlite_in_this_program_is_compiled_as_cargo_was_told() {
        let own = of_own_sqlite();
        assert!(own.read_in.as_ref().unwrap().contains("debug information"), "{own:?}");
        assert_eq!(own.level, of_cargo().level);
        let told = of_sqlite(&["COMPILER=gcc-12.2.0".to_string(), "DEBUG".to_string()]);
        assert_eq!(told.assertions, Some(true));
        assert_eq!(of_sqlite(&[]).assertions, Some(false));
    }
}
