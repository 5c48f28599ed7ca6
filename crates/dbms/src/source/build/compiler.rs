//! The compiler of a build, and its linker tools.

use std::path::{Path, PathBuf};

use rqps_system::{others_can_change, program};

use super::error::BuildError;
use super::recipe::Recipe;
use super::variant::Options;
use crate::source::digest;
use crate::source::error::{SourceError, at};
use crate::source::machine::Machine;
use crate::source::probe;
use crate::source::progress::{Progress, Tell};

pub(super) struct Compiler {
    /// Its name on PATH, or its path.
    pub(super) cc: String,
    pub(super) cxx: String,
    program: PathBuf,
    /// Tools for link-time optimisation, by their variables in builds.
    pub(super) tools: Vec<(&'static str, String)>,
    pub(super) lto: Option<Lto>,
}

/// Flags for link-time optimisation.
pub(super) struct Lto {
    pub(super) compile: &'static str,
    pub(super) link: &'static str,
}

/// The identity of a compiler, in its own words.
pub(super) struct Identity {
    /// `gcc (Debian 12.2.0-14+deb12u1) 12.2.0`
    pub(super) name: String,
    pub(super) said: String,
    pub(super) sha256: String,
}

impl Compiler {
    /// Finds it, and all other programs of a build: an error names the missing ones.
    pub(super) fn find(
        what: &str,
        recipe: &Recipe,
        version: Option<&str>,
        options: &Options,
        machine: &Machine,
    ) -> Result<Compiler, SourceError> {
        let cc = options.compiler.clone().unwrap_or_else(|| recipe.cc.clone());
        let mut missing: Vec<(String, String)> = Vec::new();
        let mut all: Vec<PathBuf> = Vec::new();
        let found = |name: &str| match Path::new(name).is_absolute() {
            true => Some(PathBuf::from(name)).filter(|path| path.is_file()),
            false => program::find(name, &machine.path),
        };
        let mut need = |name: &str, package: String| {
            let program = found(name);
            match &program {
                Some(program) => all.push(program.clone()),
                None => missing.push((name.to_string(), package)),
            }
            program.unwrap_or_default()
        };
        let program = need(&cc, base(&cc).to_string());
        let is_clang = base(&cc).contains("clang");
        let mut tools = Vec::new();
        if options.lto {
            let (ar, ranlib, package) = match is_clang {
                true => (
                    beside(&cc, "llvm-ar"),
                    beside(&cc, "llvm-ranlib"),
                    beside_package("llvm", &cc),
                ),
                false => (beside(&cc, "gcc-ar"), beside(&cc, "gcc-ranlib"), base(&cc).to_string()),
            };
            for (variable, tool) in [("AR", ar), ("RANLIB", ranlib)] {
                need(&tool, package.clone());
                tools.push((variable, tool));
            }
            if is_clang {
                need("ld.lld", "lld".to_string());
            }
        }
        for needed in recipe.needs(version) {
            need(&needed.program, needed.package.clone());
        }
        need("nice", "coreutils".to_string());
        if !missing.is_empty() {
            let (programs, mut packages): (Vec<_>, Vec<_>) = missing.into_iter().unzip();
            packages.dedup();
            let what = what.to_string();
            return Err(BuildError::MissingTools { what, programs, packages }.into());
        }
        // Each of them determines the server's program.
        for program in all {
            if let Some(found) = others_can_change(&program) {
                return Err(SourceError::ForeignClient { program, found });
            }
        }
        let lto = options.lto.then_some(match is_clang {
            true => Lto { compile: "-flto=thin", link: "-flto=thin -fuse-ld=lld" },
            false => Lto { compile: "-flto=auto", link: "-flto=auto" },
        });
        Ok(Compiler { cxx: cxx(&cc), cc, program, tools, lto })
    }

    /// Asks for its identity.
    pub(super) fn identity(&self, what: &str, tell: &mut Tell) -> Result<Identity, SourceError> {
        let asking = Progress::Asking { server: self.program.clone() };
        let failed = |reason| {
            let (what, compiler) = (what.to_string(), self.cc.clone());
            SourceError::Build(BuildError::Compiler { what, compiler, reason })
        };
        let args = ["--version".into()];
        let said = match probe::ask(&self.program, &args, probe::PATIENCE, asking, tell) {
            Err(SourceError::DoesNotRun { reason, .. }) => return Err(failed(reason)),
            said => said?,
        };
        let first = said.stdout.lines().next().map(str::trim).filter(|line| !line.is_empty());
        let (true, Some(name)) = (said.status.success(), first) else {
            let reason = said.stderr.lines().next().map(str::to_string);
            return Err(failed(reason.unwrap_or_else(|| said.status.to_string())));
        };
        let program = self.program.canonicalize().map_err(at(&self.program))?;
        let sha256 = digest::sha256(&program)?;
        Ok(Identity { name: name.to_string(), said: said.stdout.clone(), sha256 })
    }
}

/// The C library of linked programs: `glibc 2.36`.
pub(super) fn libc(machine: &Machine, tell: &mut Tell) -> Result<String, SourceError> {
    let unknown = || "a C library of unknown version".to_string();
    let Some(program) = program::find("getconf", &machine.path) else { return Ok(unknown()) };
    let asking = Progress::Asking { server: program.clone() };
    match probe::ask(&program, &["GNU_LIBC_VERSION".into()], probe::PATIENCE, asking, tell) {
        Ok(said) if said.status.success() => Ok(said.stdout.trim().to_string()),
        Ok(_) | Err(SourceError::DoesNotRun { .. }) => Ok(unknown()),
        Err(error) => Err(error),
    }
}

fn base(cc: &str) -> &str {
    cc.rsplit('/').next().unwrap_or(cc)
}

/// The C++ compiler for a C compiler: `clang++-16` for `clang-16`.
fn cxx(cc: &str) -> String {
    let (folder, name) = cc.split_at(cc.len() - base(cc).len());
    let named = [("clang", "clang++"), ("gcc", "g++"), ("cc", "c++")];
    let name =
        named.iter().find(|(c, _)| name.contains(c)).map(|(c, cxx)| name.replacen(c, cxx, 1));
    name.map_or("c++".to_string(), |name| format!("{folder}{name}"))
}

/// A tool of the same release: `gcc-ar-13` for `gcc-13`.
fn beside(cc: &str, tool: &str) -> String {
    let (folder, name) = cc.split_at(cc.len() - base(cc).len());
    format!("{folder}{tool}{}", release(name))
}

fn beside_package(package: &str, cc: &str) -> String {
    format!("{package}{}", release(base(cc)))
}

/// `-13` of `gcc-13`.
fn release(name: &str) -> &str {
    let end = name.rfind('-').map_or("", |dash| &name[dash..]);
    if end.len() > 1 && end[1..].bytes().all(|byte| byte.is_ascii_digit()) { end } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_of_a_compiler_are_of_its_release() {
        for (cc, expected, ar) in [
            ("gcc", "g++", "gcc-ar"),
            ("gcc-13", "g++-13", "gcc-ar-13"),
            ("/opt/bin/gcc-13", "/opt/bin/g++-13", "/opt/bin/gcc-ar-13"),
            ("x86_64-linux-gnu-gcc", "x86_64-linux-gnu-g++", "gcc-ar"),
            ("cc", "c++", "gcc-ar"),
        ] {
            assert_eq!((cxx(cc).as_str(), beside(cc, "gcc-ar").as_str()), (expected, ar));
        }
        assert_eq!(
            (cxx("clang-16"), beside("clang-16", "llvm-ar")),
            ("clang++-16".into(), "llvm-ar-16".into())
        );
    }
}
