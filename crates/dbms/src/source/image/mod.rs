//! Builds in containers' images, from a file or of docker and podman. An image's files are unpacked
//! like the packages of a distribution, and its server is run by the image's own dynamic loader. No
//! container is run, and nothing of an image but its server's programs.

mod engine;
pub(super) mod error;
mod manifest;

use std::fs;
use std::path::{Component, Path, PathBuf};

use goblin::elf::Elf;
use rqps_plan::{Dbms, Source, is_path};
use rqps_system::private_folder;

pub use error::ImageError;
use manifest::ImageFile;

use super::error::{SourceError, at};
use super::installed::{Archive, Fetched, Installed};
use super::loader::Loader;
use super::machine::{Machine, own};
use super::progress::{Progress, Tell};
use super::unpack::{Layers, Most, Part};
use super::{debian, layout, needed, probe, store};
use crate::descriptor::Installs;
use crate::home::Home;
use crate::registry::descriptor;

/// How much of an image's hash is in the name of its folder.
const SHORT: usize = 16;

/// The folders of libraries of distributions that name none after the processor.
const LIBRARIES: [&str; 6] =
    ["lib64", "usr/lib64", "lib", "usr/lib", "usr/local/lib64", "usr/local/lib"];

/// The build of an image that is in the store. An engine is asked for the hash of the image, and a
/// file is read as far as it is needed for this.
pub(super) fn present(
    machine: &Machine,
    home: &Home,
    dbms: Dbms,
    image: &str,
    tell: &mut Tell,
) -> Result<Option<Installed>, SourceError> {
    let id = match is_path(image) {
        true => ImageFile::open(&own(Path::new(image))?, image, machine.arch)?.id,
        false => {
            let folder = private_folder().map_err(at(&std::env::temp_dir()))?;
            engine::find(machine, image, folder.path(), tell)?.1
        }
    };
    stored(home, dbms, &id)
}

/// The build of an image, whose layers are unpacked unless it is in the store.
pub(super) fn obtain(
    machine: &Machine,
    home: &Home,
    dbms: Dbms,
    image: &str,
    tell: &mut Tell,
) -> Result<Installed, SourceError> {
    let changing = store::Changing::begin(home, tell)?;
    let downloads = changing.downloads()?;
    let file = match is_path(image) {
        true => own(Path::new(image))?,
        false => engine::save(machine, image, downloads.path(), tell)?,
    };
    let file = ImageFile::open(&file, image, machine.arch)?;
    // Another rqps may have unpacked it until now, or the engine names images otherwise.
    if let Some(stored) = stored(home, dbms, &file.id)? {
        return Ok(stored);
    }
    let build = changing.build()?;
    let root = build.path();
    unpack(&file, image, root, tell)?;
    if let Some(program) = file.entrypoint.clone() {
        tell(Progress::EntryPoint { image: image.to_string(), program })?;
    }
    let archives = vec![Archive { name: image.to_string(), sha256: file.id.clone() }];
    let installed = describe(dbms, image, root, archives, tell)?;
    let folder = format!("{dbms}-{}-{}", Source::Image, &file.id[..SHORT]);
    changing.finish_as(build, installed, &folder)
}

fn stored(home: &Home, dbms: Dbms, id: &str) -> Result<Option<Installed>, SourceError> {
    let is_it = |build: &Installed| {
        let is_of_image = build.archives.iter().any(|archive| archive.sha256 == id);
        build.dbms == dbms && build.source == Some(Source::Image) && is_of_image
    };
    Ok(store::builds(home)?.into_iter().find(is_it))
}

fn unpack(file: &ImageFile, image: &str, root: &Path, tell: &mut Tell) -> Result<(), SourceError> {
    let part = Part { needed: &needed::of_image, most: Most::OF_AN_IMAGE, ..Part::ALL };
    let mut layers = Layers::new(image, root, part)?;
    let mut sizes = Vec::new();
    for (path, _) in &file.layers {
        sizes.push(file.layer(path)?.size);
    }
    let total = sizes.iter().sum();
    let mut before = 0;
    for (number, ((path, digest), size)) in (1..).zip(file.layers.iter().zip(sizes)) {
        let found = layers.unpack(file.layer(path)?, &mut |progress| match progress {
            Progress::Unpacking { done, .. } => {
                tell(Progress::Unpacking { done: before + done, total })
            }
            other => tell(other),
        })?;
        file.check(&format!("layer {number}"), digest, &found)?;
        before += size;
    }
    layers.finish()
}

/// Describes the unpacked build. Its errors are about the image, since its folder is removed then.
fn describe(
    dbms: Dbms,
    image: &str,
    root: &Path,
    archives: Vec<Archive>,
    tell: &mut Tell,
) -> Result<Installed, SourceError> {
    let of_image = |error: SourceError| -> SourceError {
        let image = image.to_string();
        let no_start = |reason: String| ImageError::NoStart { image: image.clone(), reason };
        match error {
            SourceError::NotABuild { .. } => {
                let programs = descriptor(dbms, None).programs;
                ImageError::NoServer { image, dbms, programs }.into()
            }
            SourceError::OtherDbms { found, wanted, .. } => {
                ImageError::OtherDbms { image, found, wanted }.into()
            }
            SourceError::DoesNotRun { reason, .. } => no_start(reason).into(),
            SourceError::MissingLibrary { library, .. } => {
                no_start(format!("the image lacks {library}")).into()
            }
            other => other,
        }
    };
    let server = layout::server(dbms, root).map_err(of_image)?;
    let no_start = |reason| ImageError::NoStart { image: image.to_string(), reason };
    let loader = loader(root, &server)?.map_err(no_start)?;
    if let (Some(loader), Installs::ByVersion) = (&loader, descriptor(dbms, None).installed) {
        if !server.with_file_name("initdb").is_file() {
            return Err(no_start("it has no initdb beside its server".to_string()).into());
        }
        loader.prepare_initdb(root, &server)?;
    }
    let fetched = Fetched { archives, loader };
    probe::describe(dbms, Some(Source::Image), root, fetched, tell).map_err(of_image)
}

/// The loader that a server's program asks for; none for one without libraries, and why none of the
/// image can be used.
fn loader(root: &Path, server: &Path) -> Result<Result<Option<Loader>, String>, SourceError> {
    let bytes = fs::read(server).map_err(at(server))?;
    let name = server.strip_prefix(root).unwrap_or(server).display();
    let Ok(elf) = Elf::parse(&bytes) else {
        return Ok(Err(format!("its {name} is not a program in machine code")));
    };
    let Some(asked) = elf.interpreter else { return Ok(Ok(None)) };
    let program: PathBuf = Path::new(asked).components().skip(1).collect();
    let is_plain = program.components().all(|part| matches!(part, Component::Normal(_)));
    if !asked.starts_with('/') || !is_plain || !root.join(&program).is_file() {
        return Ok(Err(format!("its {name} needs the dynamic loader {asked}, which it lacks")));
    }
    Ok(Ok(Some(Loader { program: Some(program), library_path: library_path(root, server) })))
}

/// The folders in which the loader would look for libraries, relative to the root, and that of the
/// server's own.
fn library_path(root: &Path, server: &Path) -> Vec<PathBuf> {
    let own = server.ancestors().nth(2).and_then(|base| base.strip_prefix(root).ok());
    let own = own.into_iter().flat_map(|base| [base.join("lib"), base.join("lib64")]);
    let of_system = LIBRARIES.map(PathBuf::from);
    let mut known = Vec::new();
    let mut folders = Vec::new();
    for folder in own.chain(debian::library_path(root)).chain(of_system) {
        let Ok(real) = root.join(&folder).canonicalize() else { continue };
        if !known.contains(&real) {
            known.push(real);
            folders.push(folder);
        }
    }
    folders
}
