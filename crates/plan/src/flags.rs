//! How a build was compiled, as far as that is known, and what a reader must know before its
//! results.

use rqps_system::printable;
use serde::{Deserialize, Serialize};

/// Levels that distributions do not ship, and their meaning.
const UNUSUAL: [(&str, &str); 6] = [
    ("-O0", "built without optimisation"),
    ("-O", "built with little optimisation"),
    ("-O1", "built with little optimisation"),
    ("-Og", "built for debugging"),
    ("-Os", "built for size"),
    ("-Oz", "built for size"),
];

/// The flags of a compiler. Unknown ones are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Flags {
    /// `-O2`: the level of most of the code; `-O0` if none was given.
    pub level: Option<String>,
    /// Optimised when linked.
    pub lto: Option<bool>,
    /// Optimised by a profile of an earlier run.
    pub pgo: Option<bool>,
    pub assertions: Option<bool>,
    /// `address`, `thread`, …
    pub sanitizers: Vec<String>,
    /// The target processor: `x86-64-v3`, `native`.
    pub march: Option<String>,
    /// It computes CRC32C by the processor's instruction, where that can differ between builds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crc32: Option<bool>,
    /// `pie`, `relro`, `now`, `stack-protector`, `fortify`, `cf-protection`.
    pub hardening: Vec<String>,
    /// The compiler of most of the code, read from the same place as the level.
    pub compiler: Option<String>,
    /// Where the level was found.
    pub read_in: Option<String>,
    /// Why the level is not known.
    pub unknown: Option<String>,
}

impl Flags {
    /// Flags that cannot be read.
    pub fn unknown(why: impl Into<String>) -> Flags {
        Flags { unknown: Some(why.into()), ..Flags::default() }
    }

    /// The level and what distributions do not ship: `-Os`, `-O2 lto assertions`; `not known`
    /// without a level.
    pub fn short(&self) -> String {
        let mut words = vec![self.level.clone().unwrap_or_else(|| "not known".to_string())];
        words.extend(self.modes().into_iter().map(str::to_string));
        words.extend(self.march.iter().filter(|march| !is_usual(march)).cloned());
        words.extend(self.sanitizers.iter().map(|name| format!("{name}-sanitizer")));
        words.join(" ")
    }

    /// The same with why it is not known.
    pub fn told(&self) -> String {
        match (&self.level, &self.unknown) {
            (None, Some(why)) => format!("{}: {why}", self.short()),
            _ => self.short(),
        }
    }

    /// `gcc 12.2.0`, for any form of the compiler's name.
    pub fn compiler_name(&self) -> Option<String> {
        let told = self.compiler.as_deref()?;
        match compiler(told) {
            ("", _) | (_, "") => Some(told.to_string()),
            (family, version) => Some(format!("{family} {version}")),
        }
    }

    /// Everything known except the level: compiler, target and hardening.
    pub fn details(&self) -> Vec<String> {
        let modes = [
            ("LTO", self.lto),
            ("PGO", self.pgo),
            ("assertions", self.assertions),
            ("crc32 instructions", self.crc32),
        ];
        let told = modes.into_iter().filter_map(|(name, known)| match known? {
            true => Some(name.to_string()),
            false => Some(format!("no {name}")),
        });
        let mut details: Vec<String> = self.compiler.iter().cloned().chain(told).collect();
        details.extend(self.march.iter().map(|march| format!("for {march}")));
        details.extend(Some(self.hardening.join(" ")).filter(|words| !words.is_empty()));
        details.extend(self.read_in.iter().map(|place| format!("read in {place}")));
        details
    }

    fn modes(&self) -> Vec<&'static str> {
        let modes = [("lto", self.lto), ("pgo", self.pgo), ("assertions", self.assertions)];
        modes.into_iter().filter(|(_, known)| *known == Some(true)).map(|(name, _)| name).collect()
    }

    /// What makes it unlike usual builds: `built for size (-Os)`.
    pub fn unusual(&self) -> Option<String> {
        let level = self.level.as_deref().and_then(|level| {
            let (_, what) = UNUSUAL.iter().find(|(unusual, _)| *unusual == level)?;
            Some(format!("{what} ({level})"))
        });
        let assertions = self.assertions == Some(true);
        let mut with: Vec<String> =
            self.sanitizers.iter().map(|name| format!("the {name} sanitizer")).collect();
        with.extend(assertions.then(|| "assertions".to_string()));
        match (level, with.is_empty()) {
            (None, true) => None,
            (Some(level), true) => Some(level),
            (None, false) => Some(format!("built with {}", with.join(" and "))),
            (Some(level), false) => Some(format!("{level}, with {}", with.join(" and "))),
        }
    }

    /// The same in one or two words.
    pub fn mark(&self) -> Option<String> {
        self.unusual()?;
        let is_unusual = |level: &&String| UNUSUAL.iter().any(|(known, _)| known == level);
        let mut words: Vec<String> = self.level.iter().filter(is_unusual).cloned().collect();
        words.extend((self.assertions == Some(true)).then(|| "assertions".to_string()));
        words.extend(self.sanitizers.iter().map(|name| format!("{name}-sanitizer")));
        Some(words.join(" "))
    }

    /// How two builds were compiled differently, as far as both are known.
    pub fn differences(&self, other: &Flags) -> Vec<&'static str> {
        fn differ<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            matches!((one, other), (Some(one), Some(other)) if one != other)
        }
        let march = |flags: &Flags| Some(flags.march.clone().filter(|march| !is_usual(march)));
        let known = self.level.is_some() && other.level.is_some();
        let compilers = [self, other].map(|flags| flags.compiler.as_deref().map(compiler));
        let [one, second] = compilers;
        let all = [
            ("optimisation level", differ(self.level.as_ref(), other.level.as_ref())),
            ("LTO", differ(self.lto, other.lto)),
            ("PGO", differ(self.pgo, other.pgo)),
            ("assertions", differ(self.assertions, other.assertions)),
            ("sanitizers", self.sanitizers != other.sanitizers),
            ("-march", known && march(self) != march(other)),
            ("crc32 instructions", differ(self.crc32, other.crc32)),
            ("compiler", differ(one, second)),
        ];
        all.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| what).collect()
    }

    /// Flags from an untrusted run, without control characters.
    pub fn printable(self) -> Flags {
        let one = |text: String| printable(&text).into_owned();
        let some = |text: Option<String>| text.map(one);
        let all = |texts: Vec<String>| texts.into_iter().map(one).collect();
        Flags {
            level: some(self.level),
            lto: self.lto,
            pgo: self.pgo,
            assertions: self.assertions,
            crc32: self.crc32,
            sanitizers: all(self.sanitizers),
            march: some(self.march),
            hardening: all(self.hardening),
            compiler: some(self.compiler),
            read_in: some(self.read_in),
            unknown: some(self.unknown),
        }
    }
}

/// Whether a target is a compiler's default.
fn is_usual(march: &str) -> bool {
    matches!(march, "x86-64" | "armv8-a" | "generic")
}

/// The family and the version of a compiler, for any form of its name: `gcc (Debian
/// 12.2.0-14+deb12u1) 12.2.0` and `GNU C++17 12.2.0` are the same.
fn compiler(told: &str) -> (&'static str, &str) {
    let lower = told.to_ascii_lowercase();
    let families = [("clang", "clang"), ("gcc", "gcc"), ("gnu", "gcc"), ("icc", "icc")];
    let family = families.iter().find(|(word, _)| lower.contains(word)).map_or("", |(_, is)| is);
    let starts = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let version = told.split([' ', '(', ')', ',']).find(starts).unwrap_or_default();
    (family, version.split(['-', '+', '~']).next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(level: &str) -> Flags {
        Flags { level: Some(level.to_string()), ..Flags::default() }
    }

    #[test]
    fn what_distributions_do_not_ship_is_unusual() {
        for (flags, unusual, mark) in [
            (level("-O2"), None, None),
            (level("-O3"), None, None),
            (Flags::unknown("it was stripped"), None, None),
            (level("-Os"), Some("built for size (-Os)"), Some("-Os")),
            (level("-O0"), Some("built without optimisation (-O0)"), Some("-O0")),
            (level("-O1"), Some("built with little optimisation (-O1)"), Some("-O1")),
            (
                Flags { assertions: Some(true), ..level("-O2") },
                Some("built with assertions"),
                Some("assertions"),
            ),
            (Flags { assertions: Some(false), ..level("-O2") }, None, None),
            (
                Flags {
                    assertions: Some(true),
                    sanitizers: vec!["address".to_string()],
                    ..level("-Og")
                },
                Some("built for debugging (-Og), with the address sanitizer and assertions"),
                Some("-Og assertions address-sanitizer"),
            ),
        ] {
            assert_eq!(flags.unusual().as_deref(), unusual, "{flags:?}");
            assert_eq!(flags.mark().as_deref(), mark, "{flags:?}");
        }
    }

    #[test]
    fn a_line_of_a_table_has_what_is_not_usual() {
        let tuned = Flags {
            lto: Some(true),
            pgo: Some(false),
            march: Some("native".to_string()),
            ..level("-O3")
        };
        assert_eq!(tuned.short(), "-O3 lto native");
        assert_eq!(Flags { march: Some("x86-64".to_string()), ..level("-O2") }.short(), "-O2");
        let stripped =
            Flags { sanitizers: vec!["thread".to_string()], ..Flags::unknown("stripped") };
        assert_eq!(stripped.short(), "not known thread-sanitizer");
        assert_eq!(stripped.told(), "not known thread-sanitizer: stripped");
        assert_eq!(tuned.details(), ["LTO", "no PGO", "for native"]);
    }

    #[test]
    fn what_is_known_of_only_one_does_not_differ() {
        let unknown = Flags::unknown("stripped");
        assert!(unknown.differences(&level("-O2")).is_empty());
        assert!(level("-O2").differences(&unknown).is_empty());
        let lto = Flags { lto: Some(true), ..level("-O2") };
        assert!(lto.differences(&level("-O2")).is_empty());
        let plain = Flags { lto: Some(false), ..level("-Os") };
        assert_eq!(lto.differences(&plain), ["optimisation level", "LTO"]);
        let hardware = Flags { crc32: Some(true), ..level("-O2") };
        let software = Flags { crc32: Some(false), ..level("-O2") };
        assert_eq!(hardware.differences(&software), ["crc32 instructions"]);
        assert_eq!(software.details(), ["no crc32 instructions"]);
        let native = Flags { march: Some("native".to_string()), ..level("-O2") };
        assert_eq!(native.differences(&level("-O2")), ["-march"], "none is what all take");
    }

    #[test]
    fn compilers_are_told_apart_by_family_and_version_and_not_by_packager() {
        let by = |compiler: &str| Flags { compiler: Some(compiler.to_string()), ..level("-O2") };
        let debian = by("gcc (Debian 12.2.0-14+deb12u1) 12.2.0");
        for same in ["GNU C++17 12.2.0", "GCC: (Debian 12.2.0-14) 12.2.0", "gcc 12.2.0"] {
            assert!(debian.differences(&by(same)).is_empty(), "{same}");
        }
        for other in ["gcc (Debian 14.2.0-19) 14.2.0", "Debian clang version 12.2.0", "clang 14"] {
            assert_eq!(debian.differences(&by(other)), ["compiler"], "{other}");
        }
    }

    #[test]
    fn flags_from_elsewhere_steer_nothing() {
        let steers = || Some("\x1b[2J".to_string());
        let flags = Flags {
            level: steers(),
            march: steers(),
            compiler: steers(),
            read_in: steers(),
            unknown: steers(),
            sanitizers: steers().into_iter().collect(),
            hardening: steers().into_iter().collect(),
            ..Flags::default()
        };
        let shown = format!("{:?}", flags.printable());
        assert!(!shown.contains(r"\u{1b}"), "{shown}");
        assert_eq!(shown.matches(r"\\x1b[2J").count(), 7, "{shown}");
    }
}
