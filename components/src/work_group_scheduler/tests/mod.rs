//! Tests of the scheduler: its [`policies`] alone, those that use [`children`] or are [`mapped`],
//! and the scheduler between [`scripted`] neighbors. Further the [`facts`] it receives,
//! [`several_kernels`] at once, [`cooperative`] and [`placed`] launches, and queues in memory
//! ([`queue_memory`]). The whole [`launch_path`] runs with host driver and GMU, and with a
//! [`fake_unit`] in place of each compute unit.

mod children;
mod cooperative;
mod facts;
mod fake_unit;
mod launch_path;
mod mapped;
mod placed;
mod policies;
mod queue_memory;
mod scripted;
mod several_kernels;

use std::sync::Arc;

use parking_lot::Mutex;
use proptest::prelude::*;
use warpweave_framework::{Cycle, EngineOptions, Link, Order, Policy, PolicyKind, Sink, TestBench};
use warpweave_trace::{
    Class, Code, FrontEnd, HostCommand, Instruction, KernelTrace, KernelWriter, Parent,
    StreamWriter,
};

use super::*;
use crate::launch::{Dispatch, KernelDone};
use crate::locality_plan::Direction;
use crate::occupancy::UnitLimits;

/// Number of work-groups, wavefronts, registers per thread, and local bytes.
pub(crate) type KernelShape = (u32, u32, u32, u32);

pub(crate) fn program(kernels: &[KernelShape], commands: Vec<HostCommand>) -> Program {
    Program {
        name: "test".to_owned(),
        allocations: vec![warpweave_trace::Allocation {
            name: "data".to_owned(),
            base: 0,
            bytes: 1 << 20,
        }],
        commands,
        kernels: kernels
            .iter()
            .map(|&shape| Arc::new(kernel(shape)))
            .collect(),
        front_end: FrontEnd::default(),
    }
}

/// Creates a program of one-wavefront kernels. Each is launched by the host, or by a lane of
/// another kernel's only wavefront: kernel, record, lane, stream.
pub(crate) fn family(launched_by: &[Option<(u32, u32, u8, u32)>]) -> Program {
    let mut all = program(&vec![(1, 1, 0, 0); launched_by.len()], Vec::new());
    for (kernel, by) in all.kernels.iter_mut().zip(launched_by) {
        let parent = by.map(|(kernel, record, lane, stream)| Parent {
            kernel,
            work_group: 0,
            wavefront: 0,
            record,
            lane,
            stream,
        });
        Arc::get_mut(kernel).expect("not shared yet").parent = parent;
    }
    all
}

/// Creates a program of kernels with so many work-groups of one wavefront. Each is launched by the
/// host, or by a work-group of another kernel.
pub(crate) fn family_of(work_groups: u32, launched_by: &[Option<(u32, u32)>]) -> Program {
    let mut all = program(&vec![(work_groups, 1, 0, 0); launched_by.len()], Vec::new());
    for (kernel, by) in all.kernels.iter_mut().zip(launched_by) {
        let parent = by.map(|(kernel, work_group)| Parent {
            kernel,
            work_group,
            wavefront: 0,
            record: 0,
            lane: 0,
            stream: 7,
        });
        Arc::get_mut(kernel).expect("not shared yet").parent = parent;
    }
    all
}

fn kernel((work_groups, wavefronts, registers, local_bytes): KernelShape) -> KernelTrace {
    let code = Arc::new(Code {
        name: "nothing".to_owned(),
        instructions: vec![Instruction::new("exit", Class::Exit)],
        registers_per_thread: registers,
        static_local_bytes: local_bytes,
        ..Code::default()
    });
    let mut writer = KernelWriter::new(
        code,
        [work_groups, 1, 1],
        [32 * wavefronts, 1, 1],
        0,
        Vec::new(),
    )
    .unwrap();
    for work_group in 0..work_groups {
        for wavefront in 0..wavefronts {
            let mut stream = StreamWriter::new();
            stream.step(0, u32::MAX);
            writer
                .finish_wavefront(work_group, wavefront, stream)
                .unwrap();
        }
    }
    writer.finish().unwrap()
}

/// Returns the engine options under which results must be equal.
pub(crate) fn engines() -> [EngineOptions; 3] {
    [
        EngineOptions::default(),
        EngineOptions {
            sleeping: false,
            ..EngineOptions::default()
        },
        EngineOptions {
            order: Order::Shuffled { seed: 7 },
            ..EngineOptions::default()
        },
    ]
}

/// Returns every policy provided with the scheduler, starting with those that have one order over
/// all contexts.
fn every_policy() -> Vec<Policy<WorkGroupPlacement>> {
    vec![
        Policy::plain::<TwoLevelRoundRobin>(),
        Policy::plain::<GlobalRoundRobin>(),
        Policy::plain::<GreedyClustering>(),
        Policy::plain::<Distributed>(),
        Policy::plain::<DistributedBlock>(),
        Policy::of::<DistributedBlock>(&DistributedBlockSpec { relax_last: true }),
        Policy::plain::<DemandRoundRobin>(),
        Policy::plain::<BlockRoundRobin>(),
        Policy::plain::<StrictRoundRobin>(),
        Policy::plain::<RandomRoundRobin>(),
        Policy::plain::<ShortestQueue>(),
        Policy::plain::<Laser>(),
        Policy::plain::<LaPerm>(),
        Policy::of::<Mapped>(&MappedSpec {
            by: MapBy::Fixed(Direction::AlongX),
            ..MappedSpec::default()
        }),
    ]
}

/// True if a policy needs room for two work-groups.
fn places_pairs(policy: &Policy<WorkGroupPlacement>) -> bool {
    ["DistributedBlock", "BlockRoundRobin"].contains(&policy.name())
}

const LIMITS: UnitLimits = UnitLimits {
    wavefront_slots: 48,
    work_group_slots: 2,
    registers: 32768,
    register_partitions: 1,
    register_granularity: 64,
    local_memory_bytes: 16384,
};

fn spec<P: PolicyKind<Role = WorkGroupPlacement, Spec: Default>>() -> WorkGroupSchedulerSpec {
    spec_of(Policy::plain::<P>())
}

fn spec_of(policy: Policy<WorkGroupPlacement>) -> WorkGroupSchedulerSpec {
    WorkGroupSchedulerSpec {
        clusters: 2,
        units_per_cluster: 2,
        unit: LIMITS.into(),
        policy,
        dispatches_per_cycle: 4,
        kernel_slots: 4,
        invalidate_at: InvalidateAt::KernelEnd,
        second_level: None,
        announce: Announce::Never,
    }
}
