//! Variants: how builds of one version are requested, what they are called, and the keys that they
//! are stored under.

use std::path::PathBuf;
use std::time::Duration;

use rqps_plan::Dbms;

use super::error::BuildError;
use super::recipe::Recipe;
use crate::source::digest;

/// The default time limit of a build.
pub const LIMIT: Duration = Duration::from_secs(60 * 60);
/// The longest name that is made from flags.
const LONGEST: usize = 60;

/// Differences of a build from the recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// For the compiler, in place of the recipe's.
    pub flags: Option<String>,
    /// A program on PATH, or its path.
    pub compiler: Option<String>,
    /// Link-time optimisation.
    pub lto: bool,
    /// A tarball, a folder of tarballs or a folder with sources.
    pub source: Option<PathBuf>,
    /// The file with the recipe, in place of rqps's own.
    pub recipe: Option<PathBuf>,
    /// The name of the build after the version, in place of a derived one.
    pub name: Option<String>,
    /// The time limit.
    pub limit: Duration,
    /// Whether a build that failed before is tried again.
    pub retry: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            flags: None,
            compiler: None,
            lto: false,
            source: None,
            recipe: None,
            name: None,
            limit: LIMIT,
            retry: false,
        }
    }
}

impl Options {
    pub(super) fn check(&self) -> Result<(), BuildError> {
        let wrong = |option, value: &str, why| {
            Err(BuildError::Option { option, value: value.to_string(), why })
        };
        match (&self.flags, &self.compiler, &self.name) {
            (Some(flags), ..) if flags.chars().any(char::is_control) => {
                wrong("flags", flags, "contains a control character")
            }
            (Some(flags), ..) if flags.trim().is_empty() => wrong("flags", flags, "is empty"),
            (_, Some(compiler), _)
                if compiler.is_empty() || compiler.contains(char::is_whitespace) =>
            {
                wrong("cc", compiler, "is not a program. Name one on PATH, or its path")
            }
            (.., Some(name)) if !is_name(name) => wrong(
                "name",
                name,
                "may contain only letters, digits, '.', '-' and '_', at most 80",
            ),
            _ => Ok(()),
        }
    }

    /// The requested recipe, or rqps's own.
    pub(super) fn recipe(&self, dbms: Dbms) -> Result<Recipe, BuildError> {
        match &self.recipe {
            Some(file) => Recipe::read(file, dbms),
            None => Recipe::of(dbms),
        }
    }

    /// The requested flags, with one space between them.
    pub(super) fn flags(&self, recipe: &Recipe) -> String {
        let flags = self.flags.as_deref().unwrap_or(&recipe.flags);
        flags.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The name of the build; none for a release built by the recipe without changes. `foreign`
    /// distinguishes its sources from those of the release.
    pub(super) fn variant(&self, recipe: &Recipe, foreign: Option<String>) -> Option<String> {
        if self.name.is_some() {
            return self.name.clone();
        }
        let compiler = self.compiler.as_deref().filter(|compiler| *compiler != recipe.cc);
        let compiler = compiler.map(|path| path.rsplit('/').next().unwrap_or(path));
        let flags = self.flags(recipe);
        let flags = if flags == recipe.flags { "" } else { &flags };
        let words = compiler.into_iter().chain(flags.split(' '));
        let words = words.chain(self.lto.then_some("lto")).map(plain);
        let words: Vec<String> = words.chain(foreign).filter(|word| !word.is_empty()).collect();
        let name = words.join("-");
        match name.len() {
            0 => None,
            1..=LONGEST => Some(name),
            // The hash distinguishes other flags.
            _ => Some(format!("{}-{}", &name[..LONGEST - 9], &hash(&name)[..8])),
        }
    }
}

/// A word of a name: `-march=native` as `march-native`.
fn plain(word: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    word.chars().map(kept).collect::<String>().trim_matches('-').to_string()
}

fn is_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=80).contains(&name.len()) && name.chars().all(is_allowed)
}

/// Everything that determines the build of sources.
pub(super) struct Key {
    pub(super) recipe: String,
    pub(super) flags: String,
    pub(super) lto: bool,
    pub(super) cc: String,
    /// What the compiler says of itself, and its program's SHA-256.
    pub(super) compiler: String,
    pub(super) compiler_sha256: String,
    pub(super) libc: String,
    pub(super) arch: String,
}

impl Key {
    /// The folder name of the build of sources with this hash, of a tarball or of a tree. All have
    /// the same length, since a server is started with paths that contain it.
    pub(super) fn folder(&self, sources: &str) -> String {
        self.folder_of("src", sources)
    }

    /// The same of sources of another kind.
    pub(super) fn folder_of(&self, kind: &str, sources: &str) -> String {
        let Key { recipe, flags, lto, cc, compiler, compiler_sha256, libc, arch } = self;
        let all = format!(
            "recipe {recipe}\nflags {flags}\nlto {lto}\ncc {cc}\ncompiler {compiler_sha256}\n{compiler}\n\
             libc {libc}\narch {arch}\n"
        );
        format!("{kind}-{}-{}", &sources[..12.min(sources.len())], &hash(&all)[..8])
    }
}

fn hash(text: &str) -> String {
    digest::sha256_of(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use rqps_plan::Dbms;

    use super::*;

    fn name(options: Options) -> Option<String> {
        options.check().unwrap();
        options.variant(&Recipe::of(Dbms::Postgres).unwrap(), None)
    }

    fn flags(flags: &str) -> Options {
        Options { flags: Some(flags.to_string()), ..Options::default() }
    }

    #[test]
    fn a_variant_is_named_after_what_is_special_about_it() {
        let clang = |options| Options { compiler: Some("clang".into()), ..options };
        let path = Options { compiler: Some("/opt/gcc-13/bin/gcc-13".into()), ..flags("-Os") };
        for (options, expected) in [
            (Options::default(), None),
            (flags(" -O2   -g"), None),
            (Options { compiler: Some("gcc".into()), ..Options::default() }, None),
            (flags("-Os -g"), Some("Os-g")),
            (flags("-O3 -march=native"), Some("O3-march-native")),
            (clang(Options::default()), Some("clang")),
            (clang(Options { lto: true, ..flags("-O3") }), Some("clang-O3-lto")),
            (path, Some("gcc-13-Os")),
            (Options { name: Some("mine".into()), ..flags("-O3") }, Some("mine")),
        ] {
            assert_eq!(name(options.clone()).as_deref(), expected, "{options:?}");
        }
        let long = |last: &str| name(flags(&format!("{}{last}", "-fno-such ".repeat(20)))).unwrap();
        assert!(long("-Da").len() == LONGEST && long("-Da") != long("-Db"));
        assert!(is_name(&long("-Da")));
    }

    #[test]
    fn what_cannot_be_a_name_or_a_flag_is_refused() {
        let option = |name: &str| Options { name: Some(name.to_string()), ..Options::default() };
        for name in ["", "a b", "a/b", "a+b", "ü", &"a".repeat(81)] {
            let error = option(name).check().unwrap_err().to_string();
            assert!(error.starts_with("--name '"), "{error}");
        }
        assert!(flags("-O2\n-g").check().is_err() && flags(" ").check().is_err());
        let compiler = Options { compiler: Some("gcc -m32".into()), ..Options::default() };
        assert!(compiler.check().unwrap_err().to_string().contains("is not a program"));
    }

    #[test]
    fn folders_have_one_length_and_another_name_for_whatever_differs() {
        let key = || Key {
            recipe: "r".into(),
            flags: "-O2".into(),
            lto: false,
            cc: "gcc".into(),
            compiler: "gcc 12".into(),
            compiler_sha256: "00".into(),
            libc: "glibc 2.36".into(),
            arch: "x86_64".into(),
        };
        let sources = "0123456789abcdef".repeat(4);
        let mut folders = vec![
            key().folder(&sources),
            key().folder(&sources.replace("0123", "3210")),
            Key { recipe: "s".into(), ..key() }.folder(&sources),
            Key { flags: "-O3".into(), ..key() }.folder(&sources),
            Key { lto: true, ..key() }.folder(&sources),
            Key { cc: "clang".into(), ..key() }.folder(&sources),
            Key { compiler: "gcc 13".into(), ..key() }.folder(&sources),
            Key { compiler_sha256: "01".into(), ..key() }.folder(&sources),
            Key { libc: "glibc 2.41".into(), ..key() }.folder(&sources),
            Key { arch: "aarch64".into(), ..key() }.folder(&sources),
        ];
        assert_eq!(folders[0], key().folder(&sources));
        assert!(folders[0].starts_with("src-0123456789ab-"), "{}", folders[0]);
        assert!(folders.iter().all(|folder| folder.len() == "src-123456789012-12345678".len()));
        folders.sort();
        folders.dedup();
        assert_eq!(folders.len(), 10);
    }
}
