//! Main of the `warpweave` program, with the component kinds of this repository.

use std::process::ExitCode;

fn main() -> ExitCode {
    warpweave::cli::main(warpweave::standard_registry())
}
