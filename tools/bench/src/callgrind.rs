//! Instruction counts under callgrind: of a run, or per unit, from the difference of two runs of
//! different length.
//!
//! The count does not depend on other load. It can therefore gate a change on a shared machine,
//! where times cannot.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use warpweave_bench::Sample;

/// True if callgrind counts instructions here.
pub(crate) fn is_installed() -> bool {
    Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Counts instructions per unit of the command returned by `command` for a length.
///
/// # Errors
/// Returns the reason for the failure as text.
pub(crate) fn per_unit(command: impl Fn(u64) -> Command, lengths: [u64; 2]) -> Result<f64, String> {
    let [short, long] = lengths.map(|length| {
        let (instructions, output) = count(&command(length))?;
        let sample = Sample::parse(&output);
        let sample = sample.ok_or_else(|| format!("no sample in the output:\n{output}"))?;
        Ok::<_, String>((instructions, sample.units))
    });
    let ((fewer, few), (more, many)) = (short?, long?);
    if many <= few || more <= fewer {
        return Err(format!(
            "runs of {few} and {many} units took {fewer} and {more} instructions"
        ));
    }
    Ok((more - fewer) as f64 / (many - few) as f64)
}

/// Counts the instructions of one run from start to end, and captures its output.
///
/// # Errors
/// Returns the reason for the failure as text.
pub(crate) fn count(command: &Command) -> Result<(u64, String), String> {
    let output = under_callgrind(command, Path::new("/dev/null"))?;
    let (data, log) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr),
    );
    let collected = log
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .and_then(|(_, count)| count.trim().parse().ok());
    match collected {
        Some(instructions) if output.status.success() => Ok((instructions, data)),
        _ => Err(format!("callgrind gave no count:\n{log}{data}")),
    }
}

/// Returns callgrind's profile of one run: instructions by function.
///
/// # Errors
/// Returns the reason for the failure as text.
pub(crate) fn profile(command: &Command) -> Result<String, String> {
    let name = format!("warpweave-profile-{}.out", std::process::id());
    let file = std::env::temp_dir().join(name);
    let output = under_callgrind(command, &file)?;
    let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()));
    let _ = fs::remove_file(&file);
    if output.status.success() {
        text
    } else {
        let log = String::from_utf8_lossy(&output.stderr);
        Err(format!("the run under callgrind failed:\n{log}"))
    }
}

/// Runs the command under callgrind, which writes to `file`.
fn under_callgrind(command: &Command, file: &Path) -> Result<Output, String> {
    Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(command.get_program())
        .args(command.get_args())
        .output()
        .map_err(|e| format!("valgrind: {e}\nhint: apt-get install valgrind"))
}
