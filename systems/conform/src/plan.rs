//! Locality plan of a generated program, for policies that need one.

use std::collections::BTreeSet;

use warpweave_components::locality_plan::{Direction, LaunchLocality, LocalityPlan, LoopPlan};
use warpweave_trace::{KernelTrace, Program};

/// Lines per wavefront in every loop: two wavefronts fit the 115 lines of a usual cache.
const LINES: u32 = 40;

/// Returns a plan that maps every launch along x, with lines for every loop of its code.
pub(super) fn plan(program: &Program) -> LocalityPlan {
    let launches = program.kernels.iter().map(|kernel| locality(kernel));
    LocalityPlan {
        launches: launches.collect(),
    }
}

fn locality(kernel: &KernelTrace) -> LaunchLocality {
    let instructions = || (0..).zip(&kernel.code.instructions);
    let heads: BTreeSet<u32> = instructions().filter_map(|(_, i)| i.loop_head).collect();
    let known = |head: u32| {
        let inside = instructions().filter(|(_, i)| i.loop_head == Some(head));
        let inside = inside.map(|(pc, _): (usize, _)| pc);
        LoopPlan {
            instructions: inside.chain((head as usize).checked_sub(1)).collect(),
            intra: (1..=64).map(|group| group * LINES).collect(),
            ..LoopPlan::default()
        }
    };
    LaunchLocality {
        direction: Direction::AlongX,
        distance: 1,
        loops: heads.into_iter().map(known).collect(),
    }
}
