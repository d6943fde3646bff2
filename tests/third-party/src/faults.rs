//! Policies that each break one promise, to show that the violation is found.

use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave::components::cache::replacement::{AnyReplacement, Replacement, ReplacementPolicy};
use warpweave::components::compute_unit::{
    Issue, SchedulerView, Throttled, WavefrontPolicy, WavefrontScheduler, WavefrontScheduling,
};
use warpweave::components::work_group_scheduler::{
    Assignment, Kernel, OldestFirst, OneKernelPolicy, PlacementChoice, PlacementPolicy,
    WorkGroupPlacement,
};
use warpweave::framework::{
    NeutralSpec, NoFields, PolicyContext, PolicyKind, SpecError, State, Stateful, Statistics,
};

/// Places the first work-group again and again.
#[derive(State, Statistics)]
pub(crate) struct Repeats {
    #[state(skip)]
    unit: u32,
    room: bool,
}

impl PolicyKind for Repeats {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "Repeats";
    const SUMMARY: &'static str = "Broken: places a work-group twice";
    type Spec = NoFields;

    fn build(
        _spec: NoFields,
        _context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(OldestFirst::boxed(Self {
            unit: 0,
            room: false,
        }))
    }
}

impl OneKernelPolicy for Repeats {
    fn begin(&mut self, _kernel: Kernel<'_>) {}

    fn update(&mut self, unit: u32, _resident: u32, room: u32) {
        if unit == self.unit {
            self.room = room > 0;
        }
    }

    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> PlacementChoice<Assignment> {
        if !self.room {
            return PlacementChoice::UnitsFull;
        }
        if !sendable(self.unit) {
            return PlacementChoice::UnitBusy;
        }
        PlacementChoice::Place(Assignment {
            work_group: 0,
            unit: self.unit,
        })
    }

    fn placed(&mut self, _placed: Assignment) {}
}

/// Fault that the scheduler below injects.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
enum Fault {
    /// Starves the oldest wavefront by never letting it issue.
    Starves,
    /// Chooses by a counter shared by all runs of the process.
    Remembers,
    /// Counts the calls that ask for a choice.
    Counts,
    /// Chooses by the thread on which it runs.
    Threads,
    /// Omits from its state the value by which it chooses.
    Forgets,
    /// Refuses to name its state for checkpoints and hashes.
    Hides,
    /// Panics in a choice at cycle 200 or later.
    Panics,
    /// Makes a choice where none is allowed.
    Meddles,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrokenSpec {
    /// Fault to inject into the scheduler.
    fault: Fault,
}

/// Round-robin wavefront scheduler with one injected fault.
#[derive(Statistics)]
pub(crate) struct Broken {
    fault: Fault,
    turn: u64,
    asked: AtomicU64,
}

/// Number of instructions issued by all runs of this process.
static EVER_ISSUED: AtomicU64 = AtomicU64::new(0);

impl PolicyKind for Broken {
    type Role = WavefrontScheduling;
    const NAME: &'static str = "Broken";
    const SUMMARY: &'static str = "Broken: does one thing wrong";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "Broken(fault: Meddles)",
        like: "Gto",
    });
    type Spec = BrokenSpec;

    fn build(
        spec: BrokenSpec,
        _context: &PolicyContext<'_, WavefrontScheduling>,
    ) -> Result<WavefrontPolicy, SpecError> {
        Ok(WavefrontPolicy::open(Self {
            fault: spec.fault,
            turn: 0,
            asked: AtomicU64::new(0),
        }))
    }
}

impl WavefrontScheduler for Broken {
    fn throttled(&self, view: &SchedulerView<'_>) -> Throttled {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.fault == Fault::Starves && view.present != 0 {
            return Throttled::all(1 << view.ages.oldest(view.present));
        }
        Throttled::default()
    }

    fn pick(&self, ready: u64, view: &SchedulerView<'_>) -> usize {
        assert!(self.fault != Fault::Panics || view.now < 200, "it is late");
        let number = match self.fault {
            Fault::Remembers => EVER_ISSUED.fetch_add(1, Ordering::Relaxed),
            Fault::Counts => self.asked.load(Ordering::Relaxed),
            Fault::Threads => {
                let name = std::thread::current().name().map_or(0, str::len);
                self.turn + name as u64
            }
            _ => self.turn,
        };
        let ready: Vec<usize> = (0..64).filter(|slot| ready >> slot & 1 == 1).collect();
        ready[number as usize % ready.len()]
    }

    fn issued(&mut self, _issue: &Issue, _view: &SchedulerView<'_>) {
        self.turn += 1;
    }
}

impl Stateful for Broken {
    fn state(&mut self, state: &mut State<'_>) {
        match self.fault {
            Fault::Forgets => {}
            Fault::Hides => state.refuse("it does not name its state"),
            _ => state.field("turn", &mut self.turn),
        }
    }
}

/// Chooses a way that does not exist.
#[derive(State, Statistics)]
pub(crate) struct Nowhere;

impl PolicyKind for Nowhere {
    type Role = Replacement;
    const NAME: &'static str = "Nowhere";
    const SUMMARY: &'static str = "Broken: chooses a way that there is not";
    type Spec = NoFields;

    fn build(
        _spec: NoFields,
        context: &PolicyContext<'_, Replacement>,
    ) -> Result<AnyReplacement, SpecError> {
        Ok(AnyReplacement::open::<Self>(Self, context))
    }
}

impl ReplacementPolicy for Nowhere {
    fn used(&mut self, _set: usize, _way: usize) {}

    fn installed(&mut self, _set: usize, _way: usize) {}

    fn victim(&self, _set: usize, _may_leave: &dyn Fn(usize) -> bool) -> Option<usize> {
        Some(usize::MAX)
    }
}
