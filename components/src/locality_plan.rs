//! Locality plan of a program: where the work-groups of each launch reuse each other's lines, and
//! how many lines the loops of its kernel touch. Policies that map or group by locality read it.
//!
//! The plan is an [artefact](crate::artefact) of one program trace.
//!
//! ```text
//!   analysis or file ──► LocalityPlan ──► work_group_placement/Mapped      direction of a launch
//!                                     └─► wavefront_scheduler/Programmed   lines of its loops
//! ```

use fixedbitset::FixedBitSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_random::CounterRng;

/// Name of the plan in messages.
pub const WHAT: &str = "a locality plan";

/// Greatest number of wavefronts in a group for which a plan counts lines.
pub const GROUP_MAX: usize = 64;

/// Direction in which consecutive work-groups of a compute unit follow each other in the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Direction {
    /// None: work-groups go to the units in turn.
    #[default]
    RoundRobin,
    /// Whole rows of the grid go to a unit.
    AlongX,
    /// Whole columns of the grid go to a unit.
    AlongY,
}

impl Direction {
    /// Returns the direction with x and y exchanged.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::RoundRobin => Self::RoundRobin,
            Self::AlongX => Self::AlongY,
            Self::AlongY => Self::AlongX,
        }
    }
}

/// Locality of every launch of a program; see the [module](self).
///
/// ```
/// use warpweave_components::locality_plan::{Direction, LaunchLocality, LocalityPlan};
///
/// let along_x = LaunchLocality { direction: Direction::AlongX, distance: 3, loops: Vec::new() };
/// let plan = LocalityPlan { launches: vec![along_x] };
/// assert_eq!(plan.launch(0).direction, Direction::AlongX);
/// // Launches that the plan does not know have no locality.
/// assert_eq!(plan.launch(1), &LaunchLocality::default());
/// assert_eq!(plan.opposite().launch(0).direction, Direction::AlongY);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalityPlan {
    /// By number of the launch in the program.
    pub launches: Vec<LaunchLocality>,
}

/// Locality of one launch. The default has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchLocality {
    /// Direction in which reuse between work-groups reaches farthest.
    pub direction: Direction,
    /// Greatest distance in work-groups at which a line is reused along the direction; 0 without
    /// one.
    pub distance: u32,
    /// Loops of the kernel with loads from global memory, in any order.
    pub loops: Vec<LoopPlan>,
}

/// Lines that a loop touches, by number of wavefronts: entry `g - 1` counts distinct lines of `g`
/// consecutive ones. An empty list says that there is no reuse of this kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopPlan {
    /// Instructions of the loop, by index in the kernel's code, with the last one of each block
    /// that enters it.
    #[serde(deserialize_with = "crate::bits::read")]
    pub instructions: FixedBitSet,
    /// Lines until a wavefront touches one of its own lines again.
    pub intra: Vec<u32>,
    /// Lines until another wavefront of the work-group touches one again.
    pub inter: Vec<u32>,
    /// Lines until another wavefront touches one again, over work-groups along the direction.
    pub along: Vec<u32>,
    /// Lines per wavefront that loads without a known address touch at worst in one iteration.
    /// They are not among the lines of the lists.
    pub irregular: u32,
}

static NOWHERE: LaunchLocality = LaunchLocality {
    direction: Direction::RoundRobin,
    distance: 0,
    loops: Vec::new(),
};

impl LocalityPlan {
    /// Returns the locality of a launch; none for a launch that the plan does not know.
    pub fn launch(&self, number: u32) -> &LaunchLocality {
        self.launches.get(number as usize).unwrap_or(&NOWHERE)
    }

    /// Exchanges x and y in every launch. A gain that a policy has with this plan too does not come
    /// from the right direction.
    #[must_use]
    pub fn opposite(mut self) -> Self {
        for launch in &mut self.launches {
            launch.direction = launch.direction.opposite();
        }
        self
    }

    /// Deals directions at random among the launches, and lines at random among all loops. A
    /// program with one launch and one loop keeps its plan.
    #[must_use]
    pub fn shuffled(mut self, seed: u64) -> Self {
        let directions = self.launches.iter();
        let mut directions: Vec<_> = directions.map(|l| (l.direction, l.distance)).collect();
        deal(&mut directions, seed, "directions of a locality plan");
        for (launch, dealt) in self.launches.iter_mut().zip(directions) {
            (launch.direction, launch.distance) = dealt;
        }
        let mut loops: Vec<&mut LoopPlan> = Vec::new();
        loops.extend(self.launches.iter_mut().flat_map(|l| &mut l.loops));
        let mut lines: Vec<LoopPlan> = loops.iter().map(|l| LoopPlan::clone(l)).collect();
        deal(&mut lines, seed, "loops of a locality plan");
        for (known, dealt) in loops.into_iter().zip(lines) {
            let instructions = std::mem::take(&mut known.instructions);
            *known = LoopPlan {
                instructions,
                ..dealt
            };
        }
        self
    }
}

/// Permutes the items at random (Fisher and Yates).
fn deal<T>(items: &mut [T], seed: u64, what: &str) {
    let dice = CounterRng::new(seed, what);
    for at in (1..items.len()).rev() {
        items.swap(at, dice.below(at as u64, at as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(launches: u32) -> LocalityPlan {
        let directions = [Direction::AlongX, Direction::AlongY, Direction::RoundRobin];
        let launch = |number: u32| LaunchLocality {
            direction: directions[number as usize % 3],
            distance: number,
            loops: vec![LoopPlan {
                instructions: std::iter::once(number as usize).collect(),
                intra: vec![number],
                ..LoopPlan::default()
            }],
        };
        LocalityPlan {
            launches: (0..launches).map(launch).collect(),
        }
    }

    #[test]
    fn a_shuffled_plan_has_the_same_directions_and_lines_and_loops_stay_where_they_are() {
        let (plain, shuffled) = (plan(20), plan(20).shuffled(1));
        assert_ne!(shuffled, plain);
        assert_ne!(shuffled, plan(20).shuffled(2));
        assert_eq!(shuffled, plan(20).shuffled(1));
        let sorted = |of: &LocalityPlan, value: fn(&LaunchLocality) -> u32| {
            let mut values: Vec<u32> = of.launches.iter().map(value).collect();
            values.sort_unstable();
            values
        };
        let lines = |l: &LaunchLocality| l.loops[0].intra[0];
        for value in [|l: &LaunchLocality| l.distance, lines] {
            assert_eq!(sorted(&shuffled, value), sorted(&plain, value));
        }
        for (shuffled, plain) in shuffled.launches.iter().zip(&plain.launches) {
            assert_eq!(shuffled.loops[0].instructions, plain.loops[0].instructions);
        }
    }

    #[test]
    fn a_plan_of_one_launch_and_one_loop_has_nothing_to_shuffle() {
        assert_eq!(plan(1).shuffled(1), plan(1));
    }

    #[test]
    fn the_opposite_of_the_opposite_is_the_plan() {
        assert_ne!(plan(2).opposite(), plan(2));
        assert_eq!(plan(2).opposite().opposite(), plan(2));
    }
}
