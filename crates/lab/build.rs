//! Builds the library that slows servers down for `rqps selftest`, to be a part of this crate: rqps
//! is one file.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "preload/recv.rs";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let of = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let library = PathBuf::from(of("OUT_DIR")).join("recv.so");
    let mut compiler = Command::new(of("RUSTC"));
    compiler.args(["--crate-name", "recv", "--crate-type", "cdylib", "--edition", "2024"]);
    compiler.args(["--target", &of("TARGET"), "-C", "panic=abort", "-C", "opt-level=2"]);
    // What it uses of the C library is found in the server that it is loaded into.
    compiler.args(["-C", "link-arg=-nostdlib", "-C", "strip=symbols", "-D", "warnings"]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.arg("-C").arg(format!("linker={linker}"));
    }
    compiler.arg("-o").arg(&library).arg(SOURCE);
    let status = compiler.status().unwrap_or_else(|error| panic!("{compiler:?}: {error}"));
    assert!(status.success(), "{compiler:?}: {status}");
}
