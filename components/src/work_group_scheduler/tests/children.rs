//! Tests of placement policies that depend on the parent of a kernel.

use super::*;
use crate::launch::{KernelLaunch, LaunchHint};

/// Device whose units have one context each, for kernels of one work-group.
struct Family {
    policy: Box<dyn PlacementPolicy>,
    machine: Machine,
    /// True while kernels that arrive were launched by cold monitors.
    cold: bool,
}

impl Family {
    fn new(policy: &Policy<WorkGroupPlacement>, units: u32, parents: &[Option<u32>]) -> Self {
        let site = PlacementSite {
            clusters: units,
            units_per_cluster: 1,
        };
        let environment = Environment::new("dut", 3);
        let policy = policy.build("policy", &environment, &site, 0).unwrap();
        let by = |parent: &Option<u32>| parent.map(|kernel| (kernel, 0, 0, 0));
        let parents: Vec<_> = parents.iter().map(by).collect();
        let mut machine = Machine::new(site, Arc::new(family(&parents)));
        machine.equip(UnitLimits {
            work_group_slots: 1,
            ..LIMITS
        });
        Self {
            policy,
            machine,
            cold: false,
        }
    }

    fn arrive(&mut self, kernel: u32, priority: u8, unit: Option<u16>) {
        let hint = LaunchHint {
            unit,
            relation: None,
            is_bound: self.cold,
        };
        let launch = KernelLaunch {
            priority,
            hint: hint.to_word(),
            ..KernelLaunch::plain(kernel, kernel)
        };
        self.machine.accept(launch.into(), 0).unwrap();
        let kernel = self.machine.kernel(kernel).unwrap();
        self.policy.arrived(kernel, &self.machine);
    }

    /// Makes the next placement and returns its kernel and unit.
    fn step(&mut self) -> Option<(u32, u32)> {
        let PlacementChoice::Place(placed) = self.policy.choose(&self.machine, &mut |_| true)
        else {
            return None;
        };
        assert_eq!(self.machine.check(placed), Ok(()));
        let mut accesses = Vec::new();
        self.policy.accesses(placed, &self.machine, &mut accesses);
        let key = self.machine.key_of(placed.kernel).unwrap();
        assert!(self.machine.place(key, placed).is_ok());
        self.policy.placed(placed, &self.machine);
        Some((placed.kernel, placed.unit))
    }

    fn end(&mut self, kernel: u32, unit: u32) {
        let ended = Placement {
            kernel,
            work_group: 0,
            unit,
        };
        assert!(self.machine.end(ended, 0).is_some(), "{ended:?} runs");
        self.policy.finished(ended, &self.machine);
    }
}

fn laser(parent_gone: ParentGone) -> Policy<WorkGroupPlacement> {
    Policy::of::<Laser>(&LaserSpec {
        queues: QueuesSpec {
            stealing: Stealing::Never,
            memory: None,
        },
        parent_gone,
        ..LaserSpec::default()
    })
}

/// LSR-M13: a child of high priority goes to the unit that runs its parent, others go to the
/// shortest queue.
#[test]
fn lsr_m13_urgent_children_go_to_the_unit_of_their_parent() {
    let mut family = Family::new(
        &laser(ParentGone::default()),
        3,
        &[None, None, Some(1), Some(1)],
    );
    for kernel in 0..2 {
        family.arrive(kernel, 0, None);
    }
    assert_eq!(family.step(), Some((0, 0)));
    // The queue of unit 1 is the shortest, since that of unit 0 held kernel 0 when kernel 1 came.
    assert_eq!(family.step(), Some((1, 1)));
    family.arrive(2, 1, Some(1));
    family.arrive(3, 0, Some(1));
    assert_eq!(family.step(), None);
    family.end(0, 0);
    assert_eq!(family.step(), Some((3, 0)));
    family.end(1, 1);
    assert_eq!(family.step(), Some((2, 1)));
}

#[test]
fn lsr_m13_the_unit_of_a_parent_that_is_gone_is_remembered_if_so_described() {
    for (parent_gone, unit) in [
        (ParentGone::ShortestQueue, 0),
        (ParentGone::LastUnit, 1),
        (ParentGone::LaunchUnit, 1),
    ] {
        let mut family = Family::new(&laser(parent_gone), 2, &[None, None, Some(1)]);
        for kernel in 0..2 {
            family.arrive(kernel, 0, None);
        }
        assert_eq!((family.step(), family.step()), (Some((0, 0)), Some((1, 1))));
        family.end(0, 0);
        family.end(1, 1);
        family.arrive(2, 1, Some(1));
        assert_eq!(family.step(), Some((2, unit)), "{parent_gone:?}");
    }
}

/// LSR-M13 and M14 item 7: a child of a cold monitor runs on the launching unit, even if others are
/// idle.
#[test]
fn lsr_m14_children_of_a_cold_monitor_wait_for_the_unit_that_launched_them() {
    for stealing in [
        Stealing::OwnerFirst,
        Stealing::IfLongerThan(0),
        Stealing::Literal,
    ] {
        let policy = Policy::of::<Laser>(&LaserSpec {
            queues: QueuesSpec {
                stealing,
                memory: None,
            },
            ..LaserSpec::default()
        });
        let mut family = Family::new(&policy, 2, &[None, Some(0), Some(0)]);
        family.arrive(0, 0, None);
        assert_eq!(family.step(), Some((0, 0)));
        family.cold = true;
        family.arrive(1, 1, Some(0));
        assert_eq!(family.step(), None, "{stealing:?}");
        // One that is merely urgent goes wherever there is room, if its own unit has none.
        family.cold = false;
        family.arrive(2, 1, Some(0));
        assert_eq!(family.step(), Some((2, 1)), "{stealing:?}");
        family.end(0, 0);
        assert_eq!(family.step(), Some((1, 0)), "{stealing:?}");
    }
}

/// LSR-M10: the worked example of the three readings, with two contexts per unit.
#[test]
fn lsr_m10_the_owner_of_a_queue_goes_first_unless_units_steal_literally() {
    let run = |stealing, kernels: usize| {
        let policy = Policy::of::<Laser>(&LaserSpec {
            queues: QueuesSpec {
                stealing,
                memory: None,
            },
            ..LaserSpec::default()
        });
        let parents: Vec<Option<u32>> = std::iter::once(None)
            .chain(std::iter::repeat_n(Some(0), kernels))
            .collect();
        let mut family = Family::new(&policy, 2, &parents);
        family.machine.equip(UnitLimits {
            work_group_slots: 2,
            ..LIMITS
        });
        for kernel in 1..=kernels as u32 {
            family.arrive(kernel, 1, Some(0));
        }
        std::iter::from_fn(|| family.step()).collect::<Vec<_>>()
    };
    let (a, b, c) = (1, 2, 3);
    let owner_first = run(Stealing::OwnerFirst, 3);
    assert_eq!(owner_first, [(a, 0), (b, 0), (c, 1)]);
    assert_eq!(run(Stealing::IfLongerThan(1), 3), [(a, 0), (b, 0)]);
    assert_eq!(run(Stealing::Literal, 3), [(a, 0), (c, 1), (b, 0)]);
    let thefts = |stealing| {
        let placed = run(stealing, 2);
        placed.iter().filter(|(_, unit)| *unit == 1).count()
    };
    assert_eq!(thefts(Stealing::OwnerFirst), 0);
    assert_eq!(thefts(Stealing::IfLongerThan(1)), 0);
    assert_eq!(thefts(Stealing::Literal), 1);
}

/// BAS-M8: children precede kernels of the host, and deeper ones go first, each on the unit that
/// launched it. A unit without work adopts the queues of another.
#[test]
fn bas_m8_children_are_bound_to_the_unit_that_launched_them_and_deeper_ones_go_first() {
    let parents = [None, Some(0), Some(1), None, Some(0), Some(0)];
    let mut family = Family::new(&Policy::plain::<LaPerm>(), 2, &parents);
    family.arrive(0, 0, None);
    assert_eq!(family.step(), Some((0, 0)));
    family.end(0, 0);
    for (kernel, unit) in [(1, 0), (2, 0), (4, 0)] {
        family.arrive(kernel, 0, Some(unit));
    }
    family.arrive(3, 0, None);
    // Kernel 2 is deeper than 1; unit 1 has no children and takes from the host.
    assert_eq!(family.step(), Some((2, 0)));
    assert_eq!(family.step(), Some((3, 1)));
    family.end(2, 0);
    assert_eq!(family.step(), Some((1, 0)));
    family.end(3, 1);
    // Unit 1 has nothing left and drains the queues of unit 0.
    assert_eq!(family.step(), Some((4, 1)));
    family.arrive(5, 0, Some(1));
    family.end(4, 1);
    assert_eq!(family.step(), Some((5, 1)));
}
