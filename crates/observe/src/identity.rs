//! Which machine this is, without telling its name: two containers on one host are one machine.

use std::fs;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Digits of a hash that distinguish machines.
const DIGITS: usize = 16;

/// Hashes, since results are shared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineIdentity {
    /// Of the boot of the kernel (random(4), boot_id), which containers have in common with their
    /// host.
    pub boot: String,
    /// Of the installation (machine-id(5)); none in most containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installation: Option<String>,
    /// Of the name of the host.
    pub host: String,
}

impl MachineIdentity {
    pub fn current() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_string();
        Self::from_texts(&text(BOOT), &text("/etc/machine-id"), &text(HOST))
    }

    fn from_texts(boot: &str, installation: &str, host: &str) -> Self {
        let installation = (!installation.is_empty()).then(|| hash(installation));
        MachineIdentity { boot: hash(boot), installation, host: hash(host) }
    }

    /// Whether both are one machine: one boot of a kernel, or one installation under one name.
    /// Clones of a virtual machine have one installation, but two names.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_installed = self.installation.is_some() && self.installation == other.installation;
        self.boot == other.boot || is_installed && self.host == other.host
    }

    /// Whether both look like copies of one machine.
    pub fn is_clone(&self, other: &Self) -> bool {
        self.installation.is_some()
            && self.installation == other.installation
            && !self.is_same(other)
    }
}

const BOOT: &str = "/proc/sys/kernel/random/boot_id";
const HOST: &str = "/proc/sys/kernel/hostname";

/// The name of this host.
pub fn host_name() -> String {
    fs::read_to_string(HOST).unwrap_or_default().trim().to_string()
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_of_a_host_are_one_machine_and_clones_are_two() {
        let host = MachineIdentity::from_texts("boot-1", "installed", "db1");
        let container = MachineIdentity::from_texts("boot-1", "", "7f3a");
        let rebooted = MachineIdentity::from_texts("boot-2", "installed", "db1");
        let clone = MachineIdentity::from_texts("boot-3", "installed", "db2");
        let other = MachineIdentity::from_texts("boot-4", "", "7f3a");
        assert!(host.is_same(&container) && host.is_same(&rebooted));
        assert!(!host.is_same(&clone) && host.is_clone(&clone));
        assert!(!container.is_same(&other), "names of containers say nothing");
        assert!(!host.is_clone(&rebooted) && !host.is_clone(&other));
    }

    #[test]
    fn nothing_of_a_name_can_be_read() {
        let here = MachineIdentity::current();
        assert!(here.is_same(&MachineIdentity::current()));
        let name = host_name();
        assert!(!name.is_empty() && !format!("{here:?}").contains(&name));
        assert_eq!(here.boot.len(), DIGITS);
    }
}
