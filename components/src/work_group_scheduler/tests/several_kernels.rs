//! Test of a policy that sees several kernels at once.

use warpweave_framework::{NoFields, PolicyContext, Stateful};

use super::scripted::{Scripted, scripted};
use super::*;
use crate::launch::{KernelLaunch, KernelReady};

/// Log of the notifications to the policy below.
static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Serves the kernel of highest priority that fits some unit, its last work-group first, on the
/// last unit.
#[derive(Statistics)]
struct Urgent {
    /// Number and unplaced work-groups of each kernel.
    kernels: Vec<(u32, u32)>,
}

fn hear(what: String) {
    HEARD.lock().push(what);
}

impl PolicyKind for Urgent {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "Urgent";
    const SUMMARY: &'static str = "For tests";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(Box::new(Self {
            kernels: Vec::new(),
        }))
    }
}

impl Stateful for Urgent {}

impl PlacementPolicy for Urgent {
    fn arrived(&mut self, kernel: Kernel<'_>, machine: &Machine) {
        hear(format!(
            "kernel {} of {:?} x {:?}, priority {}, hint {}, parent {:?}, {} attributes",
            kernel.number(),
            kernel.grid(),
            kernel.block(),
            kernel.priority(),
            kernel.hint(),
            kernel.parent(),
            kernel.attributes().len()
        ));
        assert_eq!(machine.unplaced(kernel.number()), kernel.work_groups());
        self.kernels.push((kernel.number(), kernel.work_groups()));
        let priority = |number| machine.kernel(number).map_or(0, |kernel| kernel.priority());
        self.kernels
            .sort_by_key(|&(number, _)| u8::MAX - priority(number));
    }

    fn choose(
        &mut self,
        machine: &Machine,
        sendable: &mut dyn FnMut(u32) -> bool,
    ) -> PlacementChoice<Placement> {
        for &(kernel, left) in &self.kernels {
            let mut units = (0..machine.site().units()).rev();
            let unit = units.find(|&unit| machine.room(unit, kernel) > 0 && sendable(unit));
            if let (Some(unit), Some(work_group)) = (unit, left.checked_sub(1)) {
                return PlacementChoice::Place(Placement {
                    kernel,
                    work_group,
                    unit,
                });
            }
        }
        PlacementChoice::UnitBusy
    }

    fn placed(&mut self, placed: Placement, machine: &Machine) {
        for (number, left) in &mut self.kernels {
            *left -= u32::from(*number == placed.kernel);
        }
        let residents: Vec<_> = machine.residents(placed.unit).collect();
        hear(format!("unit {} holds {residents:?}", placed.unit));
    }

    fn all_placed(&mut self, kernel: u32, _: &Machine) {
        self.kernels.retain(|&(number, _)| number != kernel);
        hear(format!("all of {kernel} placed"));
    }

    fn finished(&mut self, finished: Placement, machine: &Machine) {
        let resident = machine.resident(finished.unit);
        hear(format!("{finished:?} finished, {resident} stay"));
    }

    fn completed(&mut self, kernel: u32, _: &Machine) {
        hear(format!("{kernel} completed"));
    }
}

fn start(s: &mut Scripted, cycle: Cycle, unit: usize, kernel: u32, work_group: u32, slot: u16) {
    let start = Dispatch::Start {
        kernel,
        work_group,
        slot,
        hint: 40 + kernel,
    };
    let dispatch = s.dispatches[unit].clone();
    s.bench.expect_at(&dispatch, cycle, &start);
}

#[test]
fn a_policy_serves_several_kernels_and_hears_of_each() {
    let spec = WorkGroupSchedulerSpec {
        clusters: 1,
        dispatches_per_cycle: 1,
        invalidate_at: InvalidateAt::Never,
        ..spec::<Urgent>()
    };
    let mut s = scripted(spec, &[(3, 2, 0, 0), (2, 1, 0, 0)]);
    let ready = |kernel, priority| KernelReady {
        priority,
        hint: 40 + kernel,
        ..KernelLaunch::plain(kernel, 0).into()
    };
    s.ready.send_at(5, ready(0, 1));
    s.ready.send_at(6, ready(1, 2));
    start(&mut s, 5, 1, 0, 2, 0);
    start(&mut s, 6, 1, 1, 1, 1);
    start(&mut s, 7, 0, 1, 0, 0);
    start(&mut s, 8, 0, 0, 1, 1);
    s.completions[1].send_at(
        20,
        Completion::WorkGroup {
            kernel: 1,
            work_group: 1,
            slot: 1,
        },
    );
    s.completions[0].send_at(
        21,
        Completion::WorkGroup {
            kernel: 1,
            work_group: 0,
            slot: 0,
        },
    );
    start(&mut s, 20, 1, 0, 0, 1);
    s.bench.expect_at(&s.done, 21, &KernelDone { kernel: 1 });
    let heard = std::mem::take(&mut *HEARD.lock());
    let finished = |work_group, unit, stay| {
        let placement = Placement {
            kernel: 1,
            work_group,
            unit,
        };
        format!("{placement:?} finished, {stay} stay")
    };
    let expected = [
        "kernel 0 of [3, 1, 1] x [64, 1, 1], priority 1, hint 40, parent None, 0 attributes"
            .to_owned(),
        "unit 1 holds [(0, 2)]".to_owned(),
        "kernel 1 of [2, 1, 1] x [32, 1, 1], priority 2, hint 41, parent None, 0 attributes"
            .to_owned(),
        "unit 1 holds [(0, 2), (1, 1)]".to_owned(),
        "unit 0 holds [(1, 0)]".to_owned(),
        "all of 1 placed".to_owned(),
        "unit 0 holds [(1, 0), (0, 1)]".to_owned(),
        finished(1, 1, 1),
        "unit 1 holds [(0, 2), (0, 0)]".to_owned(),
        "all of 0 placed".to_owned(),
        finished(0, 0, 1),
        "1 completed".to_owned(),
    ];
    assert_eq!(heard, expected);
}
