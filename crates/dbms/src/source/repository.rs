//! A repository of Debian packages that the user has named.

use std::borrow::Cow;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rqps_plan::{Dbms, SourceName};

use super::error::{SourceError, at};

/// The schemes of its address. Packages in a folder are copied, since apt would otherwise use them
/// in place.
pub(super) const SCHEMES: [(&str, &str); 3] =
    [("https://", "https://"), ("http://", "http://"), ("file:/", "copy:/")];

/// A key in text form, as published.
pub(super) const ARMOURED: &[u8] = b"-----BEGIN PGP PUBLIC KEY BLOCK-----";

/// A repository of packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    pub(super) name: SourceName,
    pub(super) uri: String,
    pub(super) suite: String,
    /// None where the suite is a folder with the packages.
    pub(super) components: Vec<String>,
    /// The key for its lists.
    pub(super) key: Vec<u8>,
    /// The suite of Debian with the dependencies of its packages; none if it has them itself.
    pub(super) base: Option<String>,
    /// The packages of each DBMS, the server's first.
    pub(super) packages: Vec<(Dbms, Vec<String>)>,
}

impl Repository {
    /// Its source entry for apt, with its key in apt's folder. The user's settings cannot make it
    /// less strict.
    pub(super) fn stanza(&self, folder: &Path, arch: &str) -> Result<String, SourceError> {
        // Apt recognises the kind of key by the file name.
        let kind = if self.key.starts_with(ARMOURED) { "asc" } else { "gpg" };
        let key = folder.join(format!("key.{kind}"));
        fs::write(&key, &self.key).map_err(at(&key))?;
        // Readable by the user that apt downloads as.
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).map_err(at(&key))?;
        let scheme = SCHEMES.iter().find(|(scheme, _)| self.uri.starts_with(scheme));
        let uri = scheme.map_or(Cow::from(&self.uri), |(scheme, apts)| {
            Cow::from(self.uri.replacen(scheme, apts, 1))
        });
        let components = match &self.components[..] {
            [] => String::new(),
            components => format!("Components: {}\n", components.join(" ")),
        };
        Ok(format!(
            "Types: deb\nURIs: {uri}\nSuites: {}\n{components}Architectures: {arch}\n\
             Targets: Packages\nSigned-By: {}\nCheck-Date: yes\nCheck-Valid-Until: yes\n\
             Allow-Insecure: no\nAllow-Weak: no\nAllow-Downgrade-To-Insecure: no\n",
            self.suite,
            key.display()
        ))
    }
}
