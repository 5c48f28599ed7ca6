//! rqps measures which database build or config is faster, slower or the same.
//!
//! The verbs are in [`cli`]; everything that measures is in the crates below.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
