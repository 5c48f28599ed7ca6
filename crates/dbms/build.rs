//! Notes how the C in rqps is compiled, which is its SQLite: the program says so later.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A development build compiles SQLite at another level than this package: see the profiles in
    // rqps's Cargo.toml.
    let is_development = env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    let level = env::var("OPT_LEVEL").ok().filter(|_| !is_development);
    let level = match level.as_deref() {
        None => "2",
        // For gcc the cc crate has no other.
        Some("z") => "s",
        Some(level) => level,
    };
    let mut words = vec![format!("-O{level}")];
    let target = env::var("TARGET").unwrap_or_default();
    // In the order of the cc crate, the most particular one only.
    let names = [
        format!("CFLAGS_{target}"),
        format!("CFLAGS_{}", target.replace('-', "_")),
        "TARGET_CFLAGS".to_string(),
        "CFLAGS".to_string(),
    ];
    for name in &names {
        println!("cargo:rerun-if-env-changed={name}");
    }
    words.extend(names.iter().find_map(|name| env::var(name).ok()));
    println!("cargo:rustc-env=C_IS_COMPILED_WITH={}", words.join(" ").replace('\n', " "));
}
