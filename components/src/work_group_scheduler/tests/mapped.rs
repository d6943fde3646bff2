//! Tests of the mapping unit without a scheduler.

use warpweave_trace::Attribute;

use super::policies::{Bare, placed, site};
use super::*;
use crate::artefact::Artefacts;
use crate::launch::KernelLaunch;
use crate::locality_plan::{Direction, LaunchLocality, LocalityPlan};
use crate::work_group_table::{UnitOrders, WorkGroupTable};

/// Program of one launch with this grid.
fn grid(grid: [u32; 3], attributes: Vec<Attribute>) -> Program {
    let mut program = program(&[(1, 1, 0, 0)], Vec::new());
    let code = Arc::clone(&program.kernels[0].code);
    let launch = KernelTrace::without_streams(code, grid, [32, 1, 1], 0, attributes);
    program.kernels[0] = Arc::new(launch.unwrap());
    program
}

fn fixed(direction: Direction) -> MappedSpec {
    MappedSpec {
        by: MapBy::Fixed(direction),
        ..MappedSpec::default()
    }
}

fn mapped(spec: &MappedSpec, units: u32, contexts: usize, program: Program) -> Bare {
    let policy = Policy::of::<Mapped>(spec);
    let environment = Environment::new("dut", 3);
    Bare::running(&policy, &environment, site(1, units), contexts, program)
}

/// Work-groups of each unit in the order in which it runs them, one at a time.
fn runs(spec: &MappedSpec, units: u32, program: Program) -> Vec<Vec<u32>> {
    let mut bare = mapped(spec, units, 1, program);
    let mut runs = vec![Vec::new(); units as usize];
    loop {
        bare.fill();
        let running = bare.contents.clone();
        if running.concat().is_empty() {
            return runs;
        }
        for (unit, running) in running.iter().enumerate() {
            for &work_group in running {
                runs[unit].push(work_group);
                bare.end(unit, work_group);
            }
        }
    }
}

fn by(by: MapBy) -> MappedSpec {
    MappedSpec {
        by,
        ..MappedSpec::default()
    }
}

/// Environment of a run with a table for the first launch.
fn with_table(program: &Program, orders: UnitOrders) -> Environment {
    let mut table = WorkGroupTable::default();
    table.launches.insert(0, Arc::new(orders));
    let program = Arc::new(program.clone());
    let mut artefacts = Artefacts::of(Arc::clone(&program));
    artefacts.add(program.hash(), table);
    let mut environment = Environment::new("dut", 3);
    environment.provide(Arc::new(artefacts));
    environment
}

#[test]
fn a_unit_runs_the_work_groups_of_its_table_in_their_order() {
    let program = grid([3, 2, 1], Vec::new());
    let environment = with_table(&program, vec![vec![5, 0, 3], vec![1, 4, 2]]);
    let policy = Policy::of::<Mapped>(&by(MapBy::Table));
    let mut bare = Bare::running(&policy, &environment, site(1, 3), 1, program);
    bare.fill();
    // The third unit is not in the table.
    assert_eq!(bare.contents, [vec![5], vec![1], vec![]]);
    bare.end(0, 5);
    bare.end(1, 1);
    bare.fill();
    assert_eq!(bare.contents, [vec![0], vec![4], vec![]]);
}

#[test]
fn cmp_m5_a_unit_runs_its_part_of_the_grid_along_the_direction() {
    let of = |spec: &MappedSpec| runs(spec, 4, grid([5, 5, 1], Vec::new()));
    for direction in [Direction::AlongX, Direction::AlongY] {
        for remainder in [Remainder::Balanced, Remainder::CeilChunk] {
            let spec = MappedSpec {
                remainder,
                ..fixed(direction)
            };
            assert_eq!(of(&spec), assign([5, 5, 1], 4, direction, remainder));
        }
    }
    let linear = MappedSpec {
        order: QueueOrder::Linear,
        ..fixed(Direction::AlongY)
    };
    assert_eq!(of(&linear)[0], [0, 4, 5, 9, 10, 15, 20]);
}

#[test]
fn a_freed_place_takes_the_head_of_its_own_units_queue() {
    let program = grid([4, 4, 1], Vec::new());
    let mut bare = mapped(&fixed(Direction::AlongX), 2, 2, program);
    bare.fill();
    assert_eq!(bare.contents, [[0, 1], [8, 9]]);
    bare.end(1, 8);
    assert_eq!(bare.step(), Some(placed(1, 10)));
    assert_eq!(bare.choose(), PlacementChoice::UnitsFull);
}

#[test]
fn a_unit_whose_queue_is_empty_steals_only_where_it_may() {
    for (steal, next) in [
        (Steal::Never, None),
        (Steal::Longest, Some(placed(0, 8))),
        (Steal::Next, Some(placed(0, 5))),
    ] {
        // Units 0, 1 and 2 have 1, 3 and 5 work-groups.
        let spec = MappedSpec {
            steal,
            ..by(MapBy::Table)
        };
        let orders = vec![vec![0], vec![1, 3, 5], vec![2, 4, 6, 7, 8]];
        let program = grid([9, 1, 1], Vec::new());
        let environment = with_table(&program, orders);
        let policy = Policy::of::<Mapped>(&spec);
        let mut bare = Bare::running(&policy, &environment, site(1, 3), 1, program);
        bare.fill();
        assert_eq!(bare.contents, [[0], [1], [2]]);
        bare.end(0, 0);
        assert_eq!(bare.step(), next, "{steal:?}");
        if next.is_none() {
            assert_eq!(bare.choose(), PlacementChoice::HeldBack);
        }
    }
}

/// The control keeps the load of every unit and nothing of the rows.
#[test]
fn shuffled_queues_are_as_long_and_hold_each_work_group_once() {
    let of = |seed| {
        let spec = MappedSpec {
            deal: Deal::Shuffled { seed },
            ..fixed(Direction::AlongX)
        };
        runs(&spec, 4, grid([18, 18, 1], Vec::new()))
    };
    let plain = runs(&fixed(Direction::AlongX), 4, grid([18, 18, 1], Vec::new()));
    let (first, second) = (of(1), of(2));
    assert_ne!(first, second);
    assert_eq!(first, of(1));
    let lengths = |of: &[Vec<u32>]| of.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(lengths(&first), lengths(&plain));
    let mut all = first.concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..18 * 18));
    // Few neighbours in a row are still on one unit.
    let pairs = |of: &[Vec<u32>]| -> usize {
        let pairs = of
            .iter()
            .map(|w| w.windows(2).filter(|w| w[0] + 1 == w[1]).count());
        pairs.sum()
    };
    assert!(pairs(&first) * 2 < pairs(&plain));
}

#[test]
fn the_plan_gives_each_launch_its_direction() {
    let program = grid([4, 4, 1], Vec::new());
    let launch = LaunchLocality {
        direction: Direction::AlongY,
        distance: 1,
        loops: Vec::new(),
    };
    let plan = LocalityPlan {
        launches: vec![launch],
    };
    let known = Arc::new(program.clone());
    let mut artefacts = Artefacts::of(Arc::clone(&known));
    artefacts.add(known.hash(), plan);
    let mut environment = Environment::new("dut", 3);
    environment.provide(Arc::new(artefacts));
    let policy = Policy::plain::<Mapped>();
    let mut bare = Bare::running(&policy, &environment, site(1, 2), 2, program);
    bare.fill();
    assert_eq!(bare.contents, [[0, 4], [2, 6]]);
}

#[test]
fn a_plan_that_is_asked_for_and_absent_is_refused() {
    let policy = Policy::plain::<Mapped>();
    let built = policy.build("policy", &Environment::new("dut", 3), &site(1, 2), 0);
    let said = built.err().unwrap();
    assert_eq!(
        said.message,
        "by: a locality plan is required, but none was provided"
    );
}

/// CMP-M1: the control register of the paper.
#[test]
fn cmp_m1_the_attribute_of_the_launch_gives_the_direction() {
    let spec = MappedSpec {
        by: MapBy::Attribute,
        ..MappedSpec::default()
    };
    let of = |value: Option<u64>| {
        let attributes = value.map(|value| Attribute::new("work_group_map", value));
        runs(&spec, 2, grid([2, 2, 1], attributes.into_iter().collect()))
    };
    assert_eq!(of(None), [[0, 2], [1, 3]]);
    assert_eq!(of(Some(0)), [[0, 2], [1, 3]]);
    assert_eq!(of(Some(1)), [[0, 1], [2, 3]]);
    assert_eq!(of(Some(2)), [[0, 2], [1, 3]]);
}

/// Asks the policy whether it can place a launch.
fn accepted(spec: &MappedSpec, program: Program) -> Result<(), String> {
    accepted_with(spec, &Environment::new("dut", 3), program)
}

fn accepted_with(
    spec: &MappedSpec,
    environment: &Environment,
    program: Program,
) -> Result<(), String> {
    let (policy, site) = (Policy::of::<Mapped>(spec), site(1, 2));
    let policy = policy.build("policy", environment, &site, 0);
    let mut machine = Machine::new(site, Arc::new(program));
    machine.equip(LIMITS);
    machine.accept(KernelLaunch::plain(0, 0).into(), 0).unwrap();
    policy.unwrap().accepts(&machine.kernel(0).unwrap())
}

#[test]
fn a_launch_with_an_unknown_direction_or_another_size_than_the_table_is_refused() {
    let attributes = vec![Attribute::new("work_group_map", 3)];
    let said = accepted(&by(MapBy::Attribute), grid([2, 2, 1], attributes));
    assert_eq!(
        said.unwrap_err(),
        "the launch of kernel `nothing` has the attribute work_group_map = 3, expected 0 (none), 1 (along x) or 2 (along y)"
    );
    let table = |extents: [u32; 3], orders| {
        let program = grid(extents, Vec::new());
        let environment = with_table(&program, orders);
        accepted_with(&by(MapBy::Table), &environment, program)
    };
    assert_eq!(table([3, 1, 1], vec![vec![2, 0], vec![1]]), Ok(()));
    assert_eq!(
        table([2, 2, 1], vec![vec![2, 0], vec![1]]).unwrap_err(),
        "the table of launch 0 has 3 work-groups, but kernel `nothing` has 4"
    );
    let environment = with_table(&grid([2, 1, 1], Vec::new()), vec![vec![0], vec![1], vec![]]);
    let built =
        Policy::of::<Mapped>(&by(MapBy::Table)).build("policy", &environment, &site(1, 2), 0);
    assert_eq!(
        built.err().unwrap().message,
        "by: the table of launch 0 has 3 units, but there are 2"
    );
}
