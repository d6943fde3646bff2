//! Comparison of reports: differences in settings and in results.
//!
//! `values.rs` combines the values of a statistic, `slots.rs` the issue slots, and `parameters.rs`
//! finds the settings that differ. `text.rs`, `table.rs` and `html.rs` write the output.

mod html;
mod parameters;
mod slots;
mod table;
mod text;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use warpweave_params::{Diagnostics, Source};

use self::parameters::{Parameters, differing};
use self::slots::slot_rows;
use self::values::statistics_of;
use crate::address::any_index;
use crate::report::Record;

/// Maximum number of launches listed individually; beyond it they are summed per kernel.
const LAUNCHES_SHOWN: usize = 12;

/// Side of a comparison: one run, or several that repeat one experiment.
pub struct Side {
    /// Name of the side in the output.
    pub name: String,
    /// Reports of the side's runs; at least one.
    pub runs: Vec<Record>,
    /// System as built (`system.ron`) of the first run, if known.
    pub system: Option<Arc<Source>>,
}

/// Comparison of several sides with the first.
pub struct Comparison {
    sides: Vec<SideHead>,
    /// True if the sides executed the same number of instructions.
    same_program: bool,
    totals: Vec<Row>,
    kernels: Vec<Row>,
    /// Issue slots while kernels ran, in percent, of the run and of each measured kernel.
    slots: Vec<Row>,
    overrides: Vec<Parameter>,
    /// Differing parameters; `None` if a side has no system.
    system: Option<Vec<Parameter>>,
    /// Differing statistics by relative change, largest first.
    statistics: Vec<Row>,
    /// Parts of the machine that some sides do not have.
    alone: Vec<AlonePart>,
    /// Number of statistics that are equal on every side.
    equal: usize,
}

/// Part of the machine that some sides do not have.
struct AlonePart {
    /// Pattern of its instances.
    place: String,
    /// For each side, whether it has the part.
    has: Vec<bool>,
    /// Statistics of the part.
    rows: Vec<Row>,
}

struct SideHead {
    name: String,
    scenario: String,
    runs: usize,
    /// Final status of the runs, such as `done`.
    status: String,
}

/// Parameter that differs between the sides.
#[derive(Clone, Debug, PartialEq)]
struct Parameter {
    path: String,
    /// Number of instances with these values.
    instances: usize,
    /// Value per side; `None` if it is not set or does not exist.
    values: Vec<Option<String>>,
}

/// Quantity with its value on every side.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    /// Pattern of instances, a kernel, or empty.
    place: String,
    name: String,
    unit: String,
    cells: Vec<Option<Cell>>,
}

/// Value of a quantity on one side.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    /// Median over all runs of the side.
    value: f64,
    /// Minimum over the side's runs; the maximum is `most`.
    least: f64,
    most: f64,
    runs: usize,
}

/// Change of a side relative to the first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Change {
    /// Difference divided by the first side's value; `None` if that is 0.
    relative: Option<f64>,
    /// Difference divided by the larger magnitude, 0 to 2; rows are ranked by it.
    rank: f64,
    /// True if the ranges of both sides overlap; `None` if no side has repetitions.
    within_noise: Option<bool>,
}

impl Cell {
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self {
            value: f64::midpoint(low, high),
            least,
            most,
            runs: values.len(),
        })
    }

    fn change_to(&self, other: &Self) -> Change {
        let difference = other.value - self.value;
        let larger = self.value.abs().max(other.value.abs());
        let repeated = self.runs > 1 || other.runs > 1;
        Change {
            relative: (self.value != 0.0).then(|| difference / self.value),
            rank: if larger > 0.0 {
                difference.abs() / larger
            } else {
                0.0
            },
            within_noise: repeated.then_some(self.least <= other.most && other.least <= self.most),
        }
    }
}

impl Row {
    /// Returns the change of a side relative to the first.
    fn change(&self, side: usize) -> Option<Change> {
        let (first, other) = (self.cells[0].as_ref()?, self.cells[side].as_ref()?);
        Some(first.change_to(other))
    }

    fn changes(&self) -> impl Iterator<Item = Option<Change>> {
        (1..self.cells.len()).map(|side| self.change(side))
    }

    /// Returns the largest change; a quantity that only one side has ranks highest.
    fn rank(&self) -> f64 {
        let ranks = self.changes().map(|change| change.map_or(0.0, |c| c.rank));
        let missing = self.cells.iter().any(Option::is_none);
        ranks.fold(if missing { 1.0 } else { 0.0 }, f64::max)
    }

    /// Returns the largest absolute difference to the first side.
    fn difference(&self) -> f64 {
        let values = self.cells.iter().flatten().map(|cell| cell.value);
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), x| {
            (least.min(x), most.max(x))
        });
        most - least
    }

    fn is_equal(&self) -> bool {
        let numbers = |cell: &Option<Cell>| cell.map(|c| (c.value, c.least, c.most));
        let mut cells = self.cells.iter();
        cells.all(|cell| numbers(cell) == numbers(&self.cells[0]))
    }
}

impl Comparison {
    /// Compares all sides with the first one.
    ///
    /// # Errors
    /// Fails if a system cannot be read.
    ///
    /// # Panics
    /// Panics if there are no sides, or if a side has no runs.
    pub fn of(sides: &[Side]) -> Result<Self, Diagnostics> {
        assert!(!sides.is_empty() && sides.iter().all(|side| !side.runs.is_empty()));
        let systems: Option<Vec<&Arc<Source>>> =
            sides.iter().map(|side| side.system.as_ref()).collect();
        let system = systems.map(|texts| {
            let read = texts.into_iter().map(Parameters::of_system);
            let all = read.collect::<Result<Vec<_>, _>>()?;
            Ok::<_, Diagnostics>(differing(&all))
        });
        let overrides: Vec<_> = sides.iter().map(Parameters::of_overrides).collect();
        let all = rows(sides, statistics_of);
        let equal = all.iter().filter(|row| row.is_equal()).count();
        let different = all.into_iter().filter(|row| !row.is_equal()).collect();
        let (alone, mut statistics) = alone(different, sides);
        // Stable: equal changes stay in the order of their names.
        statistics.sort_by(|a, b| {
            let by_rank = b.rank().total_cmp(&a.rank());
            by_rank.then(b.difference().total_cmp(&a.difference()))
        });
        let instructions = |run: &Record| run.thread_instructions;
        let executed = instructions(&sides[0].runs[0]);
        let mut runs = sides.iter().flat_map(|side| &side.runs);
        Ok(Self {
            same_program: runs.all(|run| instructions(run) == executed),
            sides: sides.iter().map(SideHead::of).collect(),
            totals: rows(sides, totals_of),
            kernels: kernel_rows(sides),
            slots: slot_rows(sides),
            overrides: differing(&overrides),
            system: system.transpose()?,
            statistics,
            alone,
            equal,
        })
    }
}

impl SideHead {
    fn of(side: &Side) -> Self {
        let mut statuses: Vec<&str> = side.runs.iter().map(|run| run.status.as_str()).collect();
        statuses.dedup();
        Self {
            name: side.name.clone(),
            scenario: side.runs[0].scenario.clone(),
            runs: side.runs.len(),
            status: statuses.join(", "),
        }
    }
}

/// Takes the rows of parts that some sides do not have out of `rows`.
fn alone(rows: Vec<Row>, sides: &[Side]) -> (Vec<AlonePart>, Vec<Row>) {
    let patterns = |side: &Side| -> BTreeSet<String> {
        let paths = side.runs.iter().flat_map(|run| run.stats.keys());
        paths.map(|path| any_index(path)).collect()
    };
    let patterns: Vec<BTreeSet<String>> = sides.iter().map(patterns).collect();
    let mut alone: Vec<AlonePart> = Vec::new();
    let mut others = Vec::new();
    for row in rows {
        let has: Vec<bool> = patterns.iter().map(|of| of.contains(&row.place)).collect();
        if has.iter().all(|has| *has) {
            others.push(row);
            continue;
        }
        match alone.iter_mut().find(|part| part.place == row.place) {
            Some(part) => part.rows.push(row),
            None => alone.push(AlonePart {
                place: row.place.clone(),
                has,
                rows: vec![row],
            }),
        }
    }
    (alone, others)
}

/// Quantities of a run, each with place, name, unit and value.
type ComparedStatistic = Vec<(String, String, String, f64)>;

/// Returns a row for each quantity that any run has, in the order of first occurrence.
fn rows(sides: &[Side], of: impl Fn(&Record) -> ComparedStatistic) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut at: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut values: Vec<Vec<Vec<f64>>> = Vec::new();
    for (side, of_side) in sides.iter().enumerate() {
        for run in &of_side.runs {
            for (place, name, unit, value) in of(run) {
                let row = *at.entry((place, name)).or_insert_with_key(|(place, name)| {
                    rows.push(Row {
                        place: place.clone(),
                        name: name.clone(),
                        unit,
                        cells: Vec::new(),
                    });
                    values.push(vec![Vec::new(); sides.len()]);
                    rows.len() - 1
                });
                values[row][side].push(value);
            }
        }
    }
    for (row, values) in rows.iter_mut().zip(values) {
        row.cells = values.into_iter().map(Cell::of).collect();
    }
    rows
}

fn totals_of(run: &Record) -> ComparedStatistic {
    let total = |name: &str, unit: &str, value: f64| {
        (String::new(), name.to_owned(), unit.to_owned(), value)
    };
    let mut totals = vec![
        total("cycles", "cycles", run.cycles as f64),
        total("IPC", "", run.ipc),
        total(
            "wavefront instructions",
            "instructions",
            run.wavefront_instructions as f64,
        ),
    ];
    totals.extend(run.occupancy.map(|x| total("occupancy", "", x)));
    let in_kernels = run.kernel_time.as_ref().and_then(|time| time.occupancy);
    totals.extend(in_kernels.map(|x| total("occupancy in kernels", "", x)));
    if let Some(energy) = &run.energy {
        totals.push(total("energy, uncalibrated", "J", energy.total_j));
        totals.push(total("EDP, uncalibrated", "Js", energy.edp_js));
    }
    totals
}

/// Returns the function that names a launch: by its kernel alone if any run has many launches.
fn launch_names(sides: &[Side]) -> impl Fn(&str, u32) -> String + use<> {
    let mut runs = sides.iter().flat_map(|side| &side.runs);
    let one_by_one = runs.all(|run| run.kernels.len() <= LAUNCHES_SHOWN);
    move |name, number| {
        if one_by_one {
            format!("{name} #{number}")
        } else {
            name.to_owned()
        }
    }
}

/// Returns rows with cycles and IPC of every launch, or of every kernel if a run has many launches.
fn kernel_rows(sides: &[Side]) -> Vec<Row> {
    let names = launch_names(sides);
    rows(sides, |run| {
        let mut found: Vec<(String, u64, u64)> = Vec::new();
        for kernel in &run.kernels {
            let Some(cycles) = kernel.run_cycles else {
                continue;
            };
            let name = names(&kernel.name, kernel.number);
            let at = found.iter().position(|(known, ..)| *known == name);
            let at = at.unwrap_or_else(|| {
                found.push((name, 0, 0));
                found.len() - 1
            });
            let (_, sum, instructions) = &mut found[at];
            *sum = sum.saturating_add(cycles);
            *instructions = instructions.saturating_add(kernel.wavefront_instructions);
        }
        let counted = found.into_iter().flat_map(|(name, cycles, instructions)| {
            let ipc = crate::report::evidence::quotient(instructions, cycles);
            let cycles = (
                name.clone(),
                "cycles".into(),
                "cycles".into(),
                cycles as f64,
            );
            [cycles, (name, "IPC".into(), String::new(), ipc)]
        });
        counted.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(values: &[f64]) -> Cell {
        Cell::of(values.to_vec()).unwrap()
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "these are exact")]
    fn several_runs_are_their_median_and_range() {
        let odd = cell(&[3.0, 1.0, 2.0]);
        assert_eq!(
            (odd.value, odd.least, odd.most, odd.runs),
            (2.0, 1.0, 3.0, 3)
        );
        assert_eq!(cell(&[1.0, 4.0]).value, 2.5);
        assert_eq!(Cell::of(Vec::new()), None);
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "these are exact")]
    fn changes_are_relative_to_the_first_side() {
        let change = cell(&[4.0]).change_to(&cell(&[5.0]));
        assert_eq!(change.relative, Some(0.25));
        assert_eq!(change.within_noise, None);
        let from_nothing = cell(&[0.0]).change_to(&cell(&[5.0]));
        assert_eq!((from_nothing.relative, from_nothing.rank), (None, 1.0));
        assert_eq!(cell(&[0.0]).change_to(&cell(&[0.0])).rank, 0.0);
    }

    #[test]
    fn ranges_that_overlap_are_noise() {
        let noisy = cell(&[10.0, 12.0, 14.0]);
        let within = |other: &[f64]| noisy.change_to(&cell(other)).within_noise;
        assert_eq!(within(&[14.0]), Some(true));
        assert_eq!(within(&[13.0, 20.0, 30.0]), Some(true));
        assert_eq!(within(&[15.0, 20.0]), Some(false));
        assert_eq!(within(&[9.0]), Some(false));
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "these are exact")]
    fn what_one_side_alone_has_ranks_with_what_came_from_nothing() {
        let row = |cells: [Option<Cell>; 2]| Row {
            place: String::new(),
            name: String::new(),
            unit: String::new(),
            cells: cells.into(),
        };
        assert_eq!(row([None, Some(cell(&[1.0]))]).rank(), 1.0);
        assert!(!row([None, Some(cell(&[1.0]))]).is_equal());
        let equal = row([Some(cell(&[1.0])), Some(cell(&[1.0, 1.0]))]);
        assert!(equal.is_equal() && equal.rank() == 0.0);
    }
}
