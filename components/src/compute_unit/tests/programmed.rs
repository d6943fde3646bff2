//! The programmable scheduler in a unit with a memory: groups in a loop, and progress.

use warpweave_framework::Link;

use super::*;
use crate::artefact::Artefacts;
use crate::building_blocks::{EchoMemory, EchoMemorySpec};
use crate::locality_plan::{LaunchLocality, LocalityPlan, LoopPlan};

const ROUNDS: u64 = 6;

/// Instructions of the loop after the one before it.
const LOAD: u32 = 1;
const BARRIER: u32 = 2;
const BRANCH: u32 = 3;
const EXIT: u32 = 4;

/// Kernel of one loop that loads and, if `has_barrier`, waits at a barrier in every round.
/// Wavefront `w` of a work-group runs `rounds[w]` rounds.
fn looping(rounds: &[u64], work_groups: u32, has_barrier: bool) -> KernelTrace {
    let code = Arc::new(Code {
        name: "looping".to_owned(),
        instructions: vec![
            op(Class::IntAdd, &[1], &[]),
            op(Class::Load, &[2], &[1]).accessing(Space::Global, 4),
            op(Class::Barrier, &[], &[2]),
            op(Class::Branch, &[], &[2]),
            op(Class::Exit, &[], &[2]),
        ],
        registers_per_thread: 16,
        ..Code::default()
    });
    let block = [32 * rounds.len() as u32, 1, 1];
    let mut writer = KernelWriter::new(code, [work_groups, 1, 1], block, 0, Vec::new()).unwrap();
    for work_group in 0..work_groups {
        for (wavefront, &rounds) in (0..).zip(rounds) {
            let mut stream = StreamWriter::new();
            stream.step(0, ALL);
            for round in 0..rounds {
                let line = u64::from(work_group * 8 + wavefront) * ROUNDS + round;
                stream.access(LOAD, ALL, Space::Global, false, &strided(128 * line, 4));
                if has_barrier {
                    stream.step(BARRIER, ALL);
                }
                stream.step(BRANCH, ALL);
            }
            stream.step(EXIT, ALL);
            writer
                .finish_wavefront(work_group, wavefront, stream)
                .unwrap();
        }
    }
    writer.finish().unwrap()
}

/// Plan in which each wavefront of the loop uses this many of 128 lines.
fn plan(lines: u32) -> LocalityPlan {
    let known = LoopPlan {
        instructions: (0..EXIT as usize).collect(),
        intra: (1..=64).map(|group| group * lines).collect(),
        ..LoopPlan::default()
    };
    LocalityPlan {
        launches: vec![LaunchLocality {
            loops: vec![known],
            ..LaunchLocality::default()
        }],
    }
}

/// Results of a run of 20000 cycles.
struct Ran {
    /// Cycles in which work-groups ended, in order.
    ends: Vec<Cycle>,
    /// Cycles in which loads arrived at the memory, with their wavefront slots.
    loads: Vec<(Cycle, u8)>,
    /// Entries into grouped loops, in a unit with one scheduler.
    loops_entered: Option<u64>,
}

fn run(
    scheduler: Policy<WavefrontScheduling>,
    schedulers: u32,
    kernel: KernelTrace,
    plan: LocalityPlan,
) -> Ran {
    let work_groups = kernel.work_groups();
    let program = Arc::new(Program {
        name: "test".to_owned(),
        allocations: Vec::new(),
        commands: Vec::new(),
        kernels: vec![Arc::new(kernel)],
        front_end: FrontEnd::default(),
    });
    let mut artefacts = Artefacts::of(Arc::clone(&program));
    artefacts.add(program.hash(), plan);
    let mut environment = Environment::new("cu", 1);
    environment.provide(program);
    environment.provide(Arc::new(artefacts));
    let spec = ComputeUnitSpec {
        wavefront_slots: 16,
        schedulers,
        scheduler,
        registers: 1 << 16,
        ..spec()
    };
    let mut bench = TestBench::new();
    bench.add("cu", ComputeUnit::build(spec, &environment).unwrap());
    let mut memory = EchoMemory::new(&EchoMemorySpec::latency(40)).unwrap();
    let arrivals = memory.arrivals();
    bench.add("memory", memory);
    let builder = bench.builder();
    builder.connect("cu.memory", "memory.up", Link::latency(1));
    let dispatch = bench.source("cu.dispatch.dispatch");
    let completion: Sink<Completion> = bench.sink("cu.dispatch.completion");
    for work_group in 0..work_groups {
        let start = Dispatch::Start {
            kernel: 0,
            work_group,
            slot: work_group as u16,
            hint: 0,
        };
        dispatch.send_at(1 + u64::from(work_group), start);
    }
    bench.step(20_000);
    let ends = completion.take_all().into_iter().map(|(cycle, _)| cycle);
    let loads = arrivals.take_all().into_iter();
    let statistics = bench.statistics("cu");
    Ran {
        ends: ends.collect(),
        loads: loads
            .map(|(cycle, request)| (cycle, request.source.wavefront_slot))
            .collect(),
        loops_entered: statistics.counter("loops_entered"),
    }
}

fn programmed(spec: ProgrammedSpec) -> Policy<WavefrontScheduling> {
    Policy::of::<Programmed>(&spec)
}

/// CMP-M6, progress: members at a barrier give way to the wavefronts they wait for.
#[test]
fn cmp_m6_every_wavefront_of_a_loop_with_loads_and_a_barrier_finishes() {
    for others in [OutsideGroup::NoLoads, OutsideGroup::Nothing] {
        for (schedulers, work_groups) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
            for rounds in [[ROUNDS; 8], [6, 1, 6, 2, 6, 3, 6, 0]] {
                let spec = ProgrammedSpec {
                    group: GroupSize::Fixed(4),
                    others,
                    ..ProgrammedSpec::default()
                };
                let has_barrier = rounds[1] == ROUNDS;
                let kernel = looping(&rounds, work_groups, has_barrier);
                let ran = run(programmed(spec), schedulers, kernel, plan(20));
                assert_eq!(
                    ran.ends.len(),
                    work_groups as usize,
                    "{others:?}, {schedulers} schedulers, {work_groups} work-groups, {rounds:?}"
                );
            }
        }
    }
}

/// Early returns inside the loop: the last wavefronts of a work-group wait at barriers alone.
#[test]
fn cmp_m6_a_wavefront_that_ends_in_the_loop_does_not_keep_its_membership() {
    let spec = ProgrammedSpec {
        group: GroupSize::Fixed(1),
        ..ProgrammedSpec::default()
    };
    let ran = run(programmed(spec), 2, looping(&[1, 6, 6], 2, false), plan(20));
    assert_eq!(ran.ends.len(), 2);
    // One wavefront after the other, the oldest first.
    let mut slots: Vec<u8> = ran.loads.iter().map(|(_, slot)| *slot).collect();
    slots.dedup();
    assert_eq!(slots, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn cmp_m6_the_oldest_wavefronts_of_the_unit_load_and_the_next_one_follows() {
    // 20 lines each: five members of eight, over both schedulers.
    let kernel = looping(&[ROUNDS; 8], 1, false);
    let ran = run(programmed(ProgrammedSpec::default()), 2, kernel, plan(20));
    let loads_of = |slot: u8| ran.loads.iter().filter(move |load| load.1 == slot);
    let first = |slot| loads_of(slot).map(|load| load.0).min().unwrap();
    let last = |slot| loads_of(slot).map(|load| load.0).max().unwrap();
    let first_end = (0..5).map(last).min().unwrap();
    for slot in 5..8 {
        assert!(first(slot) > first_end, "{:?}", ran.loads);
    }
    assert_eq!(ran.loops_entered, None, "statistics are by scheduler");
}

#[test]
fn a_loop_whose_wavefronts_fit_is_left_alone_cycle_for_cycle() {
    let of = |scheduler, schedulers, lines| {
        let ran = run(
            scheduler,
            schedulers,
            looping(&[ROUNDS; 8], 2, true),
            plan(lines),
        );
        (ran.ends, ran.loads)
    };
    for schedulers in [1, 2] {
        let gto = of(Policy::plain::<Gto>(), schedulers, 2);
        let fits = programmed(ProgrammedSpec::default());
        assert_eq!(of(fits, schedulers, 2), gto);
        let fixed = programmed(ProgrammedSpec {
            group: GroupSize::Fixed(64),
            inside: InsideGroup::Gto,
            ..ProgrammedSpec::default()
        });
        assert_eq!(of(fixed, schedulers, 20), gto);
        let grouped = programmed(ProgrammedSpec::default());
        assert_ne!(of(grouped, schedulers, 20), gto);
    }
}

#[test]
fn a_wavefront_that_enters_or_leaves_a_grouped_loop_pauses() {
    let end = |entry_cycles| {
        let spec = ProgrammedSpec {
            group: GroupSize::Fixed(1),
            entry_cycles,
            ..ProgrammedSpec::default()
        };
        run(programmed(spec), 1, looping(&[1], 1, false), plan(20)).ends[0]
    };
    let free = end(0);
    // The entry delays the load; the instruction after the loop ends the wavefront.
    assert_eq!(end(10) - free, 10 - 3);
}

#[test]
fn drawn_sizes_are_for_the_loops_of_the_plan_alone() {
    let of = |lines, seed| {
        let spec = ProgrammedSpec {
            group: GroupSize::Drawn { seed },
            ..ProgrammedSpec::default()
        };
        let ran = run(
            programmed(spec),
            1,
            looping(&[ROUNDS; 8], 1, false),
            plan(lines),
        );
        (ran.loops_entered, ran.loads)
    };
    assert_eq!(of(2, 1).0, Some(0));
    assert_eq!(of(20, 1).0, Some(8));
    let drawn: std::collections::BTreeSet<_> = (0..8).map(|seed| of(20, seed).1).collect();
    assert!(drawn.len() > 2, "{}", drawn.len());
}

#[test]
fn a_scheduler_without_a_plan_is_refused() {
    let scheduler = programmed(ProgrammedSpec::default());
    let environment = program(vec![looping(&[1], 1, false)]);
    let spec = ComputeUnitSpec {
        scheduler,
        ..spec()
    };
    let said = ComputeUnit::build(spec, &environment).err().unwrap();
    assert_eq!(
        said.message,
        "a locality plan is required, but none was provided"
    );
    assert_eq!(said.field, "scheduler");
}
