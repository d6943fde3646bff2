//! Arguments of the command on the command line.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::arguments::power_of_two;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Scenario, program trace (`trace record`), or PTX file (`.ptx`).
    pub(super) file: PathBuf,
    /// Show only launches of this kernel; required for a PTX file with several.
    #[arg(long, value_name = "NAME")]
    pub(super) kernel: Option<String>,
    /// Work-groups of the launch along x, y and z, for a PTX file: `X`, `X,Y` or `X,Y,Z`.
    #[arg(long, value_name = "X,Y,Z", value_parser = extents)]
    pub(super) grid: Option<[u32; 3]>,
    /// Threads of a work-group along x, y and z, for a PTX file.
    #[arg(long, value_name = "X,Y,Z", value_parser = extents)]
    pub(super) block: Option<[u32; 3]>,
    /// Argument of the kernel, in order, for a PTX file: a number, or `buffer:BYTES` for the
    /// address of a buffer; may be repeated.
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true)]
    pub(super) args: Vec<String>,
    /// Size of a cache line in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 128, value_parser = power_of_two)]
    pub(super) line_bytes: u64,
    /// Count stores too in the direction of a launch.
    #[arg(long)]
    pub(super) include_stores: bool,
    /// Hold every access of the program against the analysis; a difference ends with exit code 1.
    #[arg(long)]
    pub(super) verify: bool,
    /// Write the program's locality plan to this file, for `locality` of a scenario.
    #[arg(long, value_name = "FILE")]
    pub(super) plan: Option<PathBuf>,
    /// Override a value of a scenario, `path=value`; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(super) sets: Vec<String>,
    /// Output format: text page, table or JSON.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    pub(super) format: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// Human-readable page with forms and witnesses.
    Text,
    /// Table with one row for each load, store or atomic.
    Csv,
    /// JSON object with all results of all launches.
    Json,
}

fn extents(text: &str) -> Result<[u32; 3], String> {
    let mut extents = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("up to three whole numbers, such as 4,4,1".to_owned());
    }
    for (extent, part) in extents.iter_mut().zip(parts) {
        let number = part.trim().parse().ok().filter(|&number| number > 0);
        *extent = number.ok_or("whole numbers from 1, such as 4,4,1")?;
    }
    Ok(extents)
}
