//! `warpweave bench cache`.

use std::path::PathBuf;

use crate::Format;
use crate::outcome::{CommandResult, Failure};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Request trace: comma-separated text, plain or gzip.
    #[arg(long)]
    trace: PathBuf,
    /// Form of the report on standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let form = if arguments.format == Format::Json {
        "JSON"
    } else {
        "text"
    };
    Err(Failure::InputText(format!(
        "{}: no {form} yet",
        arguments.trace.display()
    )))
}
