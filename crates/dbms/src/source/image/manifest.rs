//! What is in an image's file: made by `docker save` (`manifest.json`), or an OCI layout
//! (`index.json`) in a tar archive. Newer engines write a file that is both.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Take};
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ImageError;
use crate::source::digest::{SHA256, sha256_of};
use crate::source::error::{SourceError, at};
use crate::source::unpack::{Compression, Indexed, Layer, index};

/// More files than an image has layers, configurations and manifests.
const MOST_MEMBERS: usize = 10_000;
/// The longest text in it, in bytes.
const LONGEST: u64 = 4 << 20;
/// More images and lists of images than it has.
const MOST_LISTED: usize = 1000;

/// A file with an image.
pub(super) struct ImageFile<'a> {
    /// As the user named it.
    name: &'a str,
    file: File,
    members: BTreeMap<PathBuf, Indexed>,
    /// The SHA-256 of the configuration.
    pub(super) id: String,
    /// Layers from the lowest on, with the SHA-256 of each tar archive.
    pub(super) layers: Vec<(PathBuf, String)>,
    /// What it would start as a container.
    pub(super) entrypoint: Option<String>,
}

/// An image of a file, before its configuration is read.
struct ListedImage {
    name: String,
    configuration: PathBuf,
    /// None where only the path names it.
    digest: Option<String>,
    layers: Vec<PathBuf>,
}

/// An entry of `manifest.json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Saved {
    config: PathBuf,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    layers: Vec<PathBuf>,
}

/// A list of manifests, or a manifest.
#[derive(Deserialize)]
struct OciManifest {
    #[serde(default)]
    manifests: Vec<Blob>,
    config: Option<Blob>,
    #[serde(default)]
    layers: Vec<Blob>,
}

#[derive(Deserialize)]
struct Blob {
    digest: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// Of an image; a list may also have what is none.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Configuration {
    architecture: String,
    os: String,
    config: Option<Execution>,
    rootfs: RootFilesystem,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Execution {
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
struct RootFilesystem {
    diff_ids: Vec<String>,
}

impl<'a> ImageFile<'a> {
    /// Reads what a file has, and chooses its image for a processor architecture.
    pub(super) fn open(
        path: &Path,
        name: &'a str,
        arch: &str,
    ) -> Result<ImageFile<'a>, SourceError> {
        let image = || name.to_string();
        let no_image = |reason: &str| ImageError::NotOne { image: image(), reason: reason.into() };
        let found = path.metadata().map_err(|error| match error.kind() {
            ErrorKind::NotFound => no_image("there is no such file").into(),
            _ => at(path)(error),
        })?;
        // A pipe would not even open.
        if !found.is_file() {
            return Err(no_image("it is not a file").into());
        }
        let file = File::open(path).map_err(at(path))?;
        let how = match Compression::of(&file).map_err(at(path))? {
            Some(Compression::None) => None,
            Some(Compression::Gzip) => Some("'gunzip'"),
            Some(Compression::Zstd) => Some("'zstd -d'"),
            Some(Compression::Xz) => Some("'unxz'"),
            Some(Compression::Bzip2) => Some("'bunzip2'"),
            None => return Err(no_image("it is not a tar archive").into()),
        };
        if let Some(how) = how {
            return Err(ImageError::Compressed { image: image(), how }.into());
        }
        let members = index(name, &file, MOST_MEMBERS)?;
        let members = members.into_iter().map(|(path, found)| (plain(&path), found)).collect();
        let (id, layers) = (String::new(), Vec::new());
        let mut this = ImageFile { name, file, members, id, layers, entrypoint: None };
        this.choose(arch)?;
        Ok(this)
    }

    fn choose(&mut self, arch: &str) -> Result<(), SourceError> {
        let wanted = platform("linux", arch);
        let mut others = Vec::new();
        let mut fitting = Vec::new();
        for listed in self.images()? {
            let text = self.text(&listed.configuration)?;
            let id = sha256_of(&text);
            if let Some(expected) = &listed.digest {
                self.check("its configuration", expected, &id)?;
            }
            let read: Configuration = self.parse(&listed.configuration, &text)?;
            match platform(&read.os, &read.architecture) {
                found if found == wanted => fitting.push((listed, id, read)),
                found if read.os.is_empty() => tracing::debug!("{found}: no image"),
                found => others.push(found),
            }
        }
        let image = self.name.to_string();
        if fitting.len() > 1 {
            let names = fitting.into_iter().map(|(listed, ..)| listed.name).collect();
            return Err(ImageError::Several { image, names }.into());
        }
        let Some((listed, id, read)) = fitting.pop() else {
            return Err(match others.is_empty() {
                true => ImageError::NotOne { image, reason: "it lists none".to_string() },
                false => ImageError::Platform { image, found: others.join(" and "), wanted },
            }
            .into());
        };
        let digests = read.rootfs.diff_ids;
        if digests.len() != listed.layers.len() {
            let (named, found) = (digests.len(), listed.layers.len());
            let reason = format!("its configuration names {named} layers, and it has {found}");
            return Err(ImageError::Damaged { image, reason }.into());
        }
        for (layer, digest) in listed.layers.into_iter().zip(digests) {
            self.member(&layer)?;
            self.layers.push((layer, self.digest(&digest)?.to_string()));
        }
        self.id = id;
        let started = read.config.and_then(|it| it.entrypoint.or(it.cmd));
        self.entrypoint = started.map(|words| words.join(" "));
        Ok(())
    }

    fn images(&self) -> Result<Vec<ListedImage>, SourceError> {
        let (docker, oci) = (Path::new("manifest.json"), Path::new("index.json"));
        if self.members.contains_key(docker) {
            let saved: Vec<Saved> = self.parse(docker, &self.text(docker)?)?;
            if saved.len() > MOST_LISTED {
                return Err(self.endless());
            }
            let images = saved.into_iter().map(|saved| {
                let mut tags = saved.repo_tags.unwrap_or_default();
                let named = saved.config.file_stem().unwrap_or_default().to_string_lossy();
                let digest = Some(named.to_string()).filter(|named| is_sha256(named));
                let name = if tags.is_empty() { named.to_string() } else { tags.remove(0) };
                ListedImage { name, digest, configuration: saved.config, layers: saved.layers }
            });
            return Ok(images.collect());
        }
        if self.members.contains_key(oci) {
            let mut images = Vec::new();
            let listed = self.parse(oci, &self.text(oci)?)?;
            self.collect("index.json", listed, &mut 0, &mut images)?;
            return Ok(images);
        }
        let reason = "it has neither manifest.json nor index.json".to_string();
        Err(ImageError::NotOne { image: self.name.to_string(), reason }.into())
    }

    /// Adds the images of a list, and of lists in it.
    fn collect(
        &self,
        name: &str,
        read: OciManifest,
        count: &mut usize,
        into: &mut Vec<ListedImage>,
    ) -> Result<(), SourceError> {
        if let Some(config) = read.config {
            let layers = read.layers.iter().map(|layer| self.blob(&layer.digest));
            into.push(ListedImage {
                name: name.to_string(),
                configuration: self.blob(&config.digest)?,
                digest: Some(self.digest(&config.digest)?.to_string()),
                layers: layers.collect::<Result<_, _>>()?,
            });
        }
        for listed in read.manifests {
            // How it was made, in the form of an image.
            if listed.annotations.contains_key("vnd.docker.reference.type") {
                continue;
            }
            *count += 1;
            if *count > MOST_LISTED {
                return Err(self.endless());
            }
            let path = self.blob(&listed.digest)?;
            // Of an image for several platforms, engines save those that they have.
            if !self.members.contains_key(&path) {
                continue;
            }
            let text = self.text(&path)?;
            self.check("a manifest", self.digest(&listed.digest)?, &sha256_of(&text))?;
            let named = listed.annotations.get("org.opencontainers.image.ref.name");
            let name = named.map_or(name, String::as_str);
            self.collect(name, self.parse(&path, &text)?, count, into)?;
        }
        Ok(())
    }

    /// A layer, to be unpacked.
    pub(super) fn layer(&self, path: &Path) -> Result<Layer<impl std::io::Read + '_>, SourceError> {
        let (offset, size) = self.member(path)?;
        let failed = |error: std::io::Error| self.damaged(format!("{}: {error}", path.display()));
        let compression = Compression::at(&self.file, offset).map_err(failed)?;
        let bytes = FileSection { file: &self.file, at: offset };
        let bytes: Take<FileSection> = std::io::Read::take(bytes, size);
        // An empty one has no magic number, and what is no archive is found out when it is read.
        Ok(Layer { compression: compression.unwrap_or(Compression::None), bytes, size })
    }

    /// Compares a hash with the one that names something.
    pub(super) fn check(&self, what: &str, expected: &str, found: &str) -> Result<(), SourceError> {
        if expected == found {
            return Ok(());
        }
        let (image, what) = (self.name.to_string(), what.to_string());
        let (expected, found) = (expected.to_string(), found.to_string());
        Err(ImageError::Digest { image, what, expected, found }.into())
    }

    fn endless(&self) -> SourceError {
        let reason = format!("it lists more than {MOST_LISTED} images");
        ImageError::NotOne { image: self.name.to_string(), reason }.into()
    }

    fn damaged(&self, reason: String) -> SourceError {
        ImageError::Damaged { image: self.name.to_string(), reason }.into()
    }

    fn digest<'d>(&self, digest: &'d str) -> Result<&'d str, SourceError> {
        let hex = digest.strip_prefix(SHA256).filter(|hex| is_sha256(hex));
        hex.ok_or_else(|| self.damaged(format!("'{digest}' is no SHA-256")))
    }

    fn blob(&self, digest: &str) -> Result<PathBuf, SourceError> {
        Ok(Path::new("blobs/sha256").join(self.digest(digest)?))
    }

    /// Where a file is in the archive, and its size. `docker save` once stored a layer that several
    /// images have as a link.
    fn member(&self, path: &Path) -> Result<(u64, u64), SourceError> {
        let found = match self.members.get(&plain(path)) {
            Some(Indexed::Symbolic(target)) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                self.members.get(&plain(&folder.join(target)))
            }
            found => found,
        };
        match found {
            Some(Indexed::File { offset, size }) => Ok((*offset, *size)),
            _ => Err(self.damaged(format!("its file '{}' is missing", path.display()))),
        }
    }

    fn text(&self, path: &Path) -> Result<Vec<u8>, SourceError> {
        let (offset, size) = self.member(path)?;
        if size > LONGEST {
            return Err(self.damaged(format!("its file '{}' is too long", path.display())));
        }
        let mut text = vec![0; size as usize];
        let read = self.file.read_exact_at(&mut text, offset);
        read.map_err(|error| self.damaged(format!("{}: {error}", path.display())))?;
        Ok(text)
    }

    fn parse<T: DeserializeOwned>(&self, path: &Path, text: &[u8]) -> Result<T, SourceError> {
        serde_json::from_slice(text).map_err(|error| {
            let reason = format!("its file '{}' has an unexpected form: {error}", path.display());
            ImageError::NotOne { image: self.name.to_string(), reason }.into()
        })
    }
}

/// As images name it: `linux/amd64`.
fn platform(os: &str, arch: &str) -> String {
    let arch = match arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{os}/{arch}")
}

fn is_sha256(hex: &str) -> bool {
    hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A path in the archive without `.` and `..`, by which members are looked up; no file has it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => plain.push(part),
            Component::ParentDir => drop(plain.pop()),
            _ => {}
        }
    }
    plain
}

/// A file from an offset on, whatever else is read of it.
struct FileSection<'a> {
    file: &'a File,
    at: u64,
}

impl std::io::Read for FileSection<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
