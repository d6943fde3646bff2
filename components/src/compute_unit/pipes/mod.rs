//! The execution pipes: when results come, and what of local memory and register file is busy.

pub(crate) mod bank_conflicts;
pub(crate) mod class_pipes;
pub(crate) mod local_memory;
pub(crate) mod register_file;
pub(crate) mod wheel;

use warpweave_framework::State;
use warpweave_trace::Class;

use self::class_pipes::ClassPipes;
use self::local_memory::LocalMemory;
use self::register_file::RegisterFile;
use self::wheel::Wheel;
use crate::compute_unit::decoded::DecodedProgram;
use crate::compute_unit::spec::ComputeUnitSpec;

/// The pipes of a unit.
#[derive(State)]
pub(crate) struct Pipes {
    #[state(flatten)]
    pub(crate) wheel: Wheel,
    /// By scheduler.
    #[state(parts)]
    pub(crate) classes: Box<[ClassPipes]>,
    #[state(part)]
    pub(crate) local_memory: LocalMemory,
    /// Register file limits; `None` if operand reads and result writes are unlimited.
    #[state(part)]
    pub(crate) register_file: Option<Box<RegisterFile>>,
}

impl Pipes {
    pub(crate) fn new(spec: &ComputeUnitSpec, decoded: &DecodedProgram) -> Self {
        let horizon = horizon(spec, decoded);
        Self {
            wheel: Wheel::new(horizon),
            classes: vec![ClassPipes::new(); spec.schedulers as usize].into(),
            local_memory: LocalMemory::new(&spec.local_memory),
            register_file: RegisterFile::of(spec, decoded.sources_max, horizon),
        }
    }
}

/// The longest that a result or event takes.
fn horizon(spec: &ComputeUnitSpec, decoded: &DecodedProgram) -> u64 {
    let classes = Class::ALL.iter();
    let latencies = classes.map(|&class| spec.classes.of(class).latency + spec.operand_latency);
    let others = [
        spec.start_latency,
        spec.constant_latency + spec.operand_latency,
        spec.load_store.writeback_latency,
        spec.longest_readonly_writeback(),
        spec.local_memory.latency
            + spec.operand_latency
            + spec.local_memory.delay(decoded.conflicts_max + 1),
        spec.classes.barrier.latency + spec.barrier_interval * spec.wavefront_slots,
    ];
    let longest = latencies.chain(others).max().unwrap_or(1);
    let banks = spec.register_banks.as_ref();
    let wait = banks.map_or(0, |banks| banks.longest_wait(decoded.sources_max));
    u64::from(longest) + u64::from(wait)
}
