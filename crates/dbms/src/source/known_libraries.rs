//! Debian's packages with the libraries of prebuilt servers.

/// The Debian packages with the libraries of prebuilt servers.
const LIBRARIES: &[(&str, &str)] = &[
    ("libaio.so.1", "libaio1"),
    ("libatomic.so.1", "libatomic1"),
    ("libcrypt.so.1", "libcrypt1"),
    ("libjemalloc.so.2", "libjemalloc2"),
    ("liblz4.so.1", "liblz4-1"),
    ("libncurses.so.5", "libncurses5"),
    ("libncurses.so.6", "libncurses6"),
    ("libnuma.so.1", "libnuma1"),
    ("libpcre2-8.so.0", "libpcre2-8-0"),
    ("libpmem.so.1", "libpmem1"),
    ("libsnappy.so.1", "libsnappy1v5"),
    ("libssl.so.1.1", "libssl1.1"),
    ("libssl.so.3", "libssl3"),
    ("libstdc++.so.6", "libstdc++6"),
    ("libsystemd.so.0", "libsystemd0"),
    ("libtinfo.so.5", "libtinfo5"),
    ("libtinfo.so.6", "libtinfo6"),
    ("liburing.so.2", "liburing2"),
    ("libwrap.so.0", "libwrap0"),
    ("libxml2.so.2", "libxml2"),
    ("libzstd.so.1", "libzstd1"),
];

/// The Debian package with a library.
pub(super) fn package(library: &str) -> Option<&'static str> {
    LIBRARIES.iter().find(|known| known.0 == library).map(|known| known.1)
}
