//! What of an archive is unpacked: no more than running a server takes. A whole MySQL would fill
//! more than a gigabyte with debug builds, test suites and clients.

use std::path::Path;

/// Left out of what vendors pack: what starts with this, or ends with it after a star.
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

/// Kept of a folder that is left out: how the build was compiled.
const NOTES: &str = "docs/INFO_BIN";

/// Of the programs, only these are kept.
const PROGRAMS: &[&str] =
    &["mariadbd", "my_print_defaults", "mysqld", "resolveip", "mariadb-install-db"];

/// Kept of Debian packages, besides programs: libraries, and what the server reads.
const OF_DEBIAN: &[&str] =
    &["lib/", "usr/lib/", "usr/share/mariadb/", "usr/share/mysql/", "usr/share/postgresql/"];

/// Folders in these that are left out. `gconv` is for the C library to convert between character
/// sets, which servers do themselves; `pgxs` is for building extensions.
const NOT_OF_DEBIAN: &[&str] = &["gconv", "man", "mysql-test", "pgxs", "systemd", "tmpfiles.d"];

/// Whether a file of a vendor's archive, named by its path below the build, is needed.
pub(super) fn of_vendor(path: &Path) -> bool {
    let is_left_out = matches(LEFT_OUT, path) && path != Path::new(NOTES);
    !is_left_out && (!path.starts_with("bin") || is_program(path))
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

fn is_program(path: &Path) -> bool {
    path.file_name().is_some_and(|name| PROGRAMS.iter().any(|program| name == *program))
}

fn matches(patterns: &[&str], path: &Path) -> bool {
    // The folder itself is what starts with its name and a slash, too.
    let path = format!("{}/", path.display());
    patterns.iter().any(|pattern| match pattern.strip_prefix('*') {
        Some(end) => path.trim_end_matches('/').ends_with(end),
        None => path.starts_with(pattern),
    })
}
