//! Recorded accesses of a program held against what was found.

use std::process::ExitCode;

use warpweave_trace::Program;

use super::found::Found;
use crate::outcome::to_stderr;

/// Holds the accesses of every launch against the analysis and prints the result.
pub(super) fn verify(found: &[Found], program: &Program) -> ExitCode {
    let (mut accesses, mut unknown, mut equal, mut skipped) = (0, 0, 0, 0);
    for of in found {
        for &number in &of.group.launches {
            let kernel = &program.kernels[number as usize];
            let head = of.group.head(&program.allocations);
            match of.analysis.verify(&head, kernel) {
                Ok(verified) => {
                    accesses += verified.accesses;
                    unknown += verified.unknown;
                    equal += verified.equal_sets;
                    skipped += verified.skipped;
                }
                Err(violation) => {
                    let name = &of.group.code.name;
                    to_stderr(&format!("error: launch {number} of {name}: {violation}"));
                    return ExitCode::from(1);
                }
            }
        }
    }
    to_stderr(&format!(
        "verified: {accesses} accesses lie where the analysis says, {unknown} are of unknown addresses; {equal} exact sets are equal, {skipped} sets are too large"
    ));
    ExitCode::SUCCESS
}
