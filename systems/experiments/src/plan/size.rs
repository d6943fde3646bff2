//! Number of runs of an experiment and the memory of their plan, before any of them is made.

use warpweave_files::{Ledger, OverBudget};
use warpweave_params::{Diagnostic, Node, Placed};

use super::PlannedRun;
use super::points::Machine;
use super::{RequestedRun, ResolvedRun};
use crate::file::{Axis, Combine, ExperimentFile, Sets, StatedWorkload};
use crate::model::RunId;

/// Bytes of one run without its axes and overrides: its forms while planning, and their text.
const RUN_BYTES: usize = 4096
    + size_of::<Machine>()
    + size_of::<RequestedRun>()
    + size_of::<ResolvedRun>()
    + size_of::<PlannedRun>()
    + 2 * size_of::<RunId>();

/// Number of copies of the levels of a run: in the machine, in two lists of ids, while planning.
const COPIES: usize = 4;

/// Bytes of a value in a description for each character it is written with.
const BYTES_PER_CHARACTER: usize = 16;

/// Maximum number of axes that a message names.
const NAMED: usize = 4;

/// Charges the plan of all runs, before any of them is made.
///
/// # Errors
/// Returns an error that names the axes and the number of runs if the budget is too small.
pub(super) fn charge(file: &ExperimentFile, ledger: &Ledger) -> Result<(), Diagnostic> {
    let runs = runs(file);
    let bytes = runs.and_then(|runs| runs.checked_mul(run_bytes(file) as u128));
    let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
    let what = format!("the plan of {} runs", shown(runs));
    let charged = match bytes {
        Some(bytes) => ledger.charge(&what, bytes),
        None => Err(beyond(what, ledger)),
    };
    charged.map_err(|error| refused(file, error))
}

fn refused(file: &ExperimentFile, error: OverBudget) -> Diagnostic {
    let error = Diagnostic::from(error);
    let pairs = file.perturb.as_ref().map(|perturb| &perturb.pairs);
    let place = match file.axes.iter().next() {
        Some((name, _)) => name.place.as_ref(),
        None => pairs.and_then(|pairs| pairs.place.as_ref()),
    };
    let mut names: Vec<String> = file
        .axes
        .iter()
        .take(NAMED)
        .map(|(name, axis)| format!("`{}` ({} levels)", name.value, axis.count()))
        .collect();
    let more = file.axes.iter().count() - names.len();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let axes = match names.as_slice() {
        [] => String::new(),
        names => format!(
            "{} combinations of the axes {}, ",
            shown(combinations(file)),
            names.join(", ")
        ),
    };
    let message = format!(
        "too many runs: {axes}{} variants and controls, {} pairs, {} workloads; {}",
        file.variants.iter().count() + file.controls.iter().count(),
        pairs.map_or(1, |pairs| pairs.value),
        file.workloads.iter().count(),
        error.message
    );
    let hint = "use fewer axes or levels, or `combine: Zip`; or set a higher limit with `--memory-limit SIZE`";
    Diagnostic {
        message,
        place: place.cloned(),
        ..error.hint(hint)
    }
}

fn beyond(what: String, ledger: &Ledger) -> OverBudget {
    let budget = ledger.budget();
    OverBudget {
        what,
        wanted: u64::MAX,
        left: budget.limit().saturating_sub(budget.charged()),
        limit: budget.limit(),
    }
}

fn shown(number: Option<u128>) -> String {
    number.map_or_else(|| "more than 2^128".to_owned(), |number| number.to_string())
}

/// Returns the number of combinations of levels; `None` if it does not fit.
fn combinations(file: &ExperimentFile) -> Option<u128> {
    let mut counts = file.axes.iter().map(|(_, axis)| axis.count() as u128);
    if file.combine == Combine::Zip {
        return Some(counts.min().unwrap_or(1));
    }
    counts.try_fold(1_u128, u128::checked_mul)
}

/// Returns the number of runs; `None` if it does not fit.
fn runs(file: &ExperimentFile) -> Option<u128> {
    let [variants, controls] =
        [&file.variants, &file.controls].map(|named| named.iter().count() as u128);
    let pairs = u128::from(super::pairs(file));
    let confirming = if file.confirm.is_some() { variants } else { 0 };
    let machines = (variants + controls) * pairs + confirming;
    let workloads = file.workloads.iter().count() as u128;
    let compared = combinations(file)?.checked_mul(machines.checked_mul(workloads)?)?;
    let headroom = file.headroom.machines.iter().count() as u128;
    compared.checked_add(headroom.checked_mul(workloads)?)
}

/// Returns a bound on the bytes of one run's plan.
fn run_bytes(file: &ExperimentFile) -> usize {
    let most = |sizes: &mut dyn Iterator<Item = usize>| sizes.max().unwrap_or(0);
    let axes = file.axes.iter().map(|(name, axis)| {
        let (text, overrides) = match axis {
            Axis::Values { path, values } => (
                most(&mut values.iter().map(text_of)),
                most(&mut values.iter().map(|value| override_bytes(path, value))),
            ),
            Axis::Sets(sets) => (
                most(&mut sets.names().map(str::len)),
                most(&mut sets.iter().map(|(_, sets)| bytes_of(sets))),
            ),
        };
        COPIES * (size_of::<(String, String)>() + name.value.len() + text) + overrides
    });
    let points = [&file.variants, &file.controls, &file.headroom.machines];
    let points = points.into_iter().flat_map(|named| named.iter());
    let of_workload = |workload: &StatedWorkload| bytes_of(&workload.sets);
    let draws = file.perturb.iter().flat_map(|perturb| perturb.draws.iter());
    let draws = draws
        .map(|(path, values)| most(&mut values.iter().map(|value| override_bytes(path, value))));
    let confirming = file.confirm.iter().map(|confirm| bytes_of(&confirm.sets));
    RUN_BYTES
        + axes.sum::<usize>()
        + most(&mut points.map(|(name, sets)| COPIES * name.value.len() + bytes_of(sets)))
        + most(
            &mut file
                .workloads
                .iter()
                .map(|(_, workload)| of_workload(workload)),
        )
        + bytes_of(&file.sets)
        + draws.sum::<usize>()
        + confirming.sum::<usize>()
}

fn bytes_of(sets: &Sets) -> usize {
    sets.iter()
        .map(|(path, value)| override_bytes(path, value))
        .sum()
}

/// Returns the bytes of an override, once among those of a machine and once among those of a run.
fn override_bytes(path: &Placed<String>, value: &Node) -> usize {
    2 * (size_of::<(Placed<String>, Node)>()
        + path.value.len()
        + BYTES_PER_CHARACTER * text_of(value))
}

fn text_of(value: &Node) -> usize {
    (value.span.end - value.span.start) as usize
}
