//! Instructions under callgrind: of a run, and per unit, which is the difference of two runs of
//! different length.
//!
//! The count does not depend on what else the machine does, so it can gate a change on a shared
//! machine, where times cannot.

use std::process::{Command, Stdio};

use warpweave_bench::Sample;

/// Whether callgrind can be started.
pub(crate) fn is_installed() -> bool {
    Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Instructions per unit of what `command` runs, given a length.
///
/// # Errors
/// What went wrong, as text.
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

/// Instructions of one run, from start to end, and what it printed.
///
/// # Errors
/// What went wrong, as text.
pub(crate) fn count(command: &Command) -> Result<(u64, String), String> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(command.get_program())
        .args(command.get_args())
        .output()
        .map_err(|e| format!("valgrind: {e}\nhint: apt-get install valgrind"))?;
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
