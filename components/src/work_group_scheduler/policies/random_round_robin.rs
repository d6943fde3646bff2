//! Random round robin: within each round, work-groups are assigned to units at random.

use std::collections::VecDeque;

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics};
use warpweave_random::nth;

use crate::work_group_scheduler::{
    Assignment, Kernel, OldestFirst, OneKernelPolicy, PlacementChoice, PlacementPolicy,
    PlacementSite, WorkGroupPlacement,
};

/// Works in rounds: the contexts free at the start of a round are put in random order and get the
/// next work-groups in that order. A context freed during a round waits for the next one. The first
/// round fills the empty device; later ones use the contexts freed since.
///
/// The order depends only on the run's seed and the number of contexts drawn before.
///
/// Source: "Locality-Aware CTA Clustering for Modern GPUs", section 3.1, the pattern of real
/// programs; that a round uses the free contexts is own choice.
#[derive(State, Statistics)]
pub struct RandomRoundRobin {
    #[state(skip)]
    seed: u64,
    /// Number of contexts drawn so far, for all kernels.
    drawn: u64,
    next: u32,
    /// Number of work-groups that fit each unit now.
    #[state(array)]
    room: Vec<u32>,
    /// Units that get the next work-groups in this round.
    turn: VecDeque<u32>,
}

impl RandomRoundRobin {
    fn new(seed: u64, site: PlacementSite) -> Self {
        Self {
            seed,
            drawn: 0,
            next: 0,
            room: vec![0; site.units() as usize],
            turn: VecDeque::new(),
        }
    }

    /// Starts a round with a random permutation of the free contexts (Fisher and Yates).
    fn draw(&mut self) {
        for (unit, &room) in self.room.iter().enumerate() {
            self.turn.extend((0..room).map(|_| unit as u32));
        }
        for place in (1..self.turn.len()).rev() {
            let number = u128::from(nth(self.seed, self.drawn));
            self.drawn += 1;
            // Of 0..=place.
            let other = (number * (place as u128 + 1)) >> 64;
            self.turn.swap(place, other as usize);
        }
    }
}

impl PolicyKind for RandomRoundRobin {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "RandomRoundRobin";
    const SUMMARY: &'static str =
        "Assigns the next work-groups to free contexts in random order, round by round";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        let policy = Self::new(context.seed(), *context.site);
        Ok(OldestFirst::boxed(policy))
    }
}

impl OneKernelPolicy for RandomRoundRobin {
    fn begin(&mut self, _kernel: Kernel<'_>) {
        self.next = 0;
        self.turn.clear();
    }

    fn update(&mut self, unit: u32, _resident: u32, room: u32) {
        self.room[unit as usize] = room;
    }

    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> PlacementChoice<Assignment> {
        if self.turn.is_empty() {
            // Contexts are drawn on the notification that some are free; a repeated query draws
            // nothing new.
            self.draw();
        }
        match self.turn.front() {
            None => PlacementChoice::UnitsFull,
            Some(&unit) if !sendable(unit) => PlacementChoice::UnitBusy,
            Some(&unit) => PlacementChoice::Place(Assignment {
                work_group: self.next,
                unit,
            }),
        }
    }

    fn placed(&mut self, _placed: Assignment) {
        self.next += 1;
        self.turn.pop_front();
    }
}
