//! Which parts of an archive are unpacked: only those for running a server. A complete MySQL has
//! more than a gigabyte, with debug builds, test suites and clients.

use std::path::Path;

use crate::descriptor::Descriptor;

/// Omitted from vendors' archives: paths with this start, or, after a star, with this end.
const LEFT_OUT: &[&str] = &[
    "data/",
    "docs/",
    "include/",
    "man/",
    "mysql-test/",
    "share/aclocal/",
    "sql-bench/",
    "support-files/",
    // Client libraries, and the server as a library.
    "lib/libmysqlclient",
    "lib/libmysqld",
    "lib/pkgconfig/",
    "libs/libmariadb.so",
    "libs/libmysqlclient",
    "*.a",
    // Debug builds of the plugins.
    "lib/plugin/debug/",
    // Dictionaries of the Japanese full-text parser, and connectors to other databases.
    "lib/mecab/",
    "*.jar",
];

/// Kept from an omitted folder: how the build was compiled.
const NOTES: &str = "docs/INFO_BIN";

/// The only programs that are kept.
const PROGRAMS: &[&str] =
    &["mariadbd", "my_print_defaults", "mysqld", "resolveip", "mariadb-install-db"];

/// Kept from Debian packages, besides programs: libraries, and files that the server reads.
const OF_DEBIAN: &[&str] =
    &["lib/", "usr/lib/", "usr/share/mariadb/", "usr/share/mysql/", "usr/share/postgresql/"];

/// Omitted folders in these. `gconv` is for the C library's conversion of character sets, which
/// servers do themselves; `pgxs` is for building extensions.
const NOT_OF_DEBIAN: &[&str] = &["gconv", "man", "mysql-test", "pgxs", "systemd", "tmpfiles.d"];

/// Whether a file of a vendor's archive, named by its path below the build, is needed.
pub(super) fn of_vendor(path: &Path) -> bool {
    let is_left_out = matches(LEFT_OUT, path) && path != Path::new(NOTES);
    !is_left_out && (!path.starts_with("bin") || is_program(path))
}

/// The same where the build is one library: an artifact has it for many systems.
pub(super) fn of_library(of: &Descriptor, path: &Path) -> bool {
    of.programs.iter().any(|program| path == Path::new(program))
}

/// The same for a file of a Debian package.
pub(super) fn of_debian(path: &Path) -> bool {
    match path.starts_with("usr/sbin") || path.starts_with("usr/bin") {
        true => is_program(path),
        false => {
            let left_out = |part| NOT_OF_DEBIAN.iter().any(|folder| part == *folder);
            matches(OF_DEBIAN, path) && !path.iter().any(left_out)
        }
    }
}

/// Omitted from images: folders without programs, libraries or files that a server reads.
const NOT_OF_IMAGES: &[&str] = &[
    "boot/",
    "dev/",
    "etc/",
    "home/",
    "media/",
    "mnt/",
    "proc/",
    "root/",
    "run/",
    "srv/",
    "sys/",
    "tmp/",
    "usr/include/",
    "usr/share/doc/",
    "usr/share/info/",
    "usr/share/locale/",
    "usr/share/man/",
    "usr/share/zoneinfo/",
    "usr/src/",
    "var/",
];

/// The same for a file of a container's image.
pub(super) fn of_image(path: &Path) -> bool {
    !matches(NOT_OF_IMAGES, path)
}

fn is_program(path: &Path) -> bool {
    path.file_name().is_some_and(|name| PROGRAMS.iter().any(|program| name == *program))
}

fn matches(patterns: &[&str], path: &Path) -> bool {
    // The folder itself also matches its name with a slash.
    let path = format!("{}/", path.display());
    patterns.iter().any(|pattern| match pattern.strip_prefix('*') {
        Some(end) => path.trim_end_matches('/').ends_with(end),
        None => path.starts_with(pattern),
    })
}
