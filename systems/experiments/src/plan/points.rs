//! Machines of an experiment: every variant and control at every level, and those for headroom.

use warpweave_params::{Node, Placed};

use crate::file::{Combine, ExperimentFile, Sets};
use crate::model::Point;
use crate::read::Experiment;

/// Overrides in order, with their positions in the file.
pub(crate) type Overrides = Vec<(Placed<String>, Node)>;

/// Point with its overrides: the levels of the axes, and the variant.
pub(crate) struct Machine {
    pub(crate) point: Point,
    /// Name of the variant with its position in the file.
    pub(crate) named: Placed<String>,
    pub(crate) sets: Overrides,
}

/// Returns all machines in the order of the file: for each combination of levels all variants, then
/// all controls.
pub(crate) fn machines(file: &ExperimentFile) -> Vec<Machine> {
    let variants = file.variants.iter().map(|(name, sets)| (name, sets, false));
    let controls = file.controls.iter().map(|(name, sets)| (name, sets, true));
    let named: Vec<_> = variants.chain(controls).collect();
    let mut machines = Vec::new();
    for choice in combinations(file) {
        let axes = file.axes.iter().zip(&choice);
        let levels: Vec<(String, String)> = axes
            .clone()
            .map(|((name, axis), &level)| (name.value.clone(), axis.levels()[level].clone()))
            .collect();
        let of_levels: Overrides = axes
            .flat_map(|((_, axis), &level)| axis.sets(level))
            .collect();
        for (name, sets, control) in &named {
            let point = Point {
                variant: name.value.clone(),
                control: *control,
                levels: levels.clone(),
            };
            let own = sets.iter().cloned();
            let sets = of_levels.iter().cloned().chain(own).collect();
            machines.push(Machine {
                point,
                named: (*name).clone(),
                sets,
            });
        }
    }
    machines
}

/// Returns the machines for headroom: the baseline with further overrides.
pub(crate) fn headroom(experiment: &Experiment) -> Vec<Machine> {
    let file = &experiment.file;
    let all = machines(file);
    let baseline = all
        .first()
        .map(|first| experiment.baseline.of(&first.point));
    let mut all = all.into_iter();
    let Some(baseline) = all.find(|machine| Some(&machine.point) == baseline.as_ref()) else {
        return Vec::new();
    };
    let machine = |(name, sets): &(Placed<String>, Sets)| Machine {
        point: Point {
            variant: name.value.clone(),
            control: true,
            levels: baseline.point.levels.clone(),
        },
        named: name.clone(),
        sets: baseline.sets.iter().chain(sets).cloned().collect(),
    };
    file.headroom.machines.iter().map(machine).collect()
}

/// Returns the points alone, first variants, then controls.
pub(crate) fn points(file: &ExperimentFile) -> Vec<Point> {
    let mut points: Vec<Point> = machines(file)
        .into_iter()
        .map(|machine| machine.point)
        .collect();
    points.sort_by_key(|point| point.control);
    points
}

/// Returns each combination as the level index of every axis.
fn combinations(file: &ExperimentFile) -> Vec<Vec<usize>> {
    let counts: Vec<usize> = file
        .axes
        .iter()
        .map(|(_, axis)| axis.levels().len())
        .collect();
    if file.combine == Combine::Zip && !counts.is_empty() {
        let shortest = counts.iter().copied().min().unwrap_or(0);
        return (0..shortest)
            .map(|level| vec![level; counts.len()])
            .collect();
    }
    let mut all = vec![Vec::new()];
    for count in counts {
        let longer = all.iter().flat_map(|chosen: &Vec<usize>| {
            (0..count).map(move |level| {
                let mut chosen = chosen.clone();
                chosen.push(level);
                chosen
            })
        });
        all = longer.collect();
    }
    all
}
