//! Interpreter loop: executes the decoded instructions of one wavefront.
//!
//! What executes an operation on registers is inlined into the loop. The choice of the operation is
//! one jump, and the position within the turn stays in registers of the host.

use crate::exec::barrier::Shared;
use crate::exec::error::{Fault, FaultKind};
use crate::exec::exchange::exchange;
use crate::exec::observe::{Arrival, Frames, Observer, Step};
use crate::exec::texture;
use crate::exec::wavefront::{State, Wavefront};
use crate::exec::{Machine, Progress};
use crate::kernel::Kernel;
use crate::ops::{Barrier, BarrierKind, Op};

/// Reason for which a wavefront stopped executing.
pub(super) enum Pause {
    /// The instruction quantum of its turn is used up.
    Quantum,
    /// The wavefront waits for others at a barrier.
    Barrier,
    /// All threads of the wavefront have ended.
    Done,
}

/// Continuation of a wavefront after an instruction.
enum Flow {
    /// The instruction is recorded as a step, and the next one follows.
    Step,
    /// The next instruction follows, as usual.
    Next,
    /// The next instruction is at the pc of the top path, which may be another one.
    Path,
    /// The wavefront waits at a barrier.
    Wait,
}

/// Position of a wavefront within its turn. It holds copies of the path's pc and of the launch's
/// progress, valid while instructions only change registers.
struct Turn<'l> {
    kernel: &'l Kernel,
    pc: u32,
    /// Number of instructions that the launch has executed, with this one.
    steps: u64,
    /// Value of `steps` at which the turn ends.
    end: u64,
}

impl Turn<'_> {
    /// Brings the path and the launch's progress up to date.
    #[inline(always)]
    fn put_back(&self, wavefront: &mut Wavefront, progress: &mut Progress) {
        progress.steps = self.steps;
        if let Some(top) = wavefront.paths.last_mut() {
            top.pc = self.pc;
        }
    }

    /// Records the instruction as a step, as [`Self::put_back`] brings everything up to date.
    #[inline(always)]
    fn record(&self, wavefront: &mut Wavefront, progress: &mut Progress, mask: u32) {
        self.put_back(wavefront, progress);
        wavefront.writer.step(self.pc, mask);
    }
}

impl<O: Observer> Machine<'_, O> {
    /// Executes up to `quantum` instructions of a wavefront.
    pub(super) fn run(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        quantum: u32,
    ) -> Result<Pause, Fault> {
        let kernel = self.kernel;
        let ops = &kernel.ops[..];
        let mut turn = Turn {
            kernel,
            pc: 0,
            steps: self.progress.steps,
            end: self.progress.steps + u64::from(quantum),
        };
        'paths: loop {
            let Some(&path) = wavefront.paths.last() else {
                wavefront.state = State::Done;
                return Ok(Pause::Done);
            };
            turn.pc = path.pc;
            loop {
                if turn.steps == turn.end {
                    turn.put_back(wavefront, &mut self.progress);
                    return Ok(Pause::Quantum);
                }
                turn.steps += 1;
                let decoded = &ops[turn.pc as usize];
                let mask = if decoded.guard.is_always() {
                    path.mask
                } else {
                    path.mask & wavefront.registers.predicate(decoded.guard)
                };
                if O::WATCHES {
                    turn.put_back(wavefront, &mut self.progress);
                    self.observe_step(wavefront, path.mask, mask);
                }
                match self.execute(&decoded.op, wavefront, shared, &turn, mask)? {
                    Flow::Step => wavefront.writer.step(turn.pc, mask),
                    Flow::Next => {}
                    Flow::Path => continue 'paths,
                    Flow::Wait => return Ok(Pause::Barrier),
                }
                turn.pc += 1;
                // The path joins the one below at the meeting point.
                if turn.pc == path.meet {
                    turn.put_back(wavefront, &mut self.progress);
                    wavefront.settle(kernel);
                    continue 'paths;
                }
            }
        }
    }

    /// Executes an operation. Those on registers alone have a function for each class.
    ///
    /// Each has its own arm, so that an inlined function knows which operation it executes.
    #[inline(always)]
    #[expect(clippy::match_same_arms)]
    fn execute(
        &mut self,
        op: &Op,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        turn: &Turn<'_>,
        mask: u32,
    ) -> Result<Flow, Fault> {
        let tables = &turn.kernel.tables;
        let progress = &mut self.progress;
        match op {
            Op::Move32 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Move64 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Unary32 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Unary64 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Widen { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Narrow { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Binary32 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Binary64 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::BinaryWide { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Shift64 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::ShiftBy32 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::ShiftBy64 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Ternary32 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Ternary64 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::TernaryWide { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Extract64 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Insert32 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Insert64 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Lop3 { .. } => self.data.compute(op, &mut wavefront.registers, mask),
            Op::Lop3Test { .. } => self.data.compare(op, &mut wavefront.registers, mask),
            Op::Compare32 { .. } => self.data.compare(op, &mut wavefront.registers, mask),
            Op::Compare64 { .. } => self.data.compare(op, &mut wavefront.registers, mask),
            Op::Set32 { .. } => self.data.compare(op, &mut wavefront.registers, mask),
            Op::Set64 { .. } => self.data.compare(op, &mut wavefront.registers, mask),
            Op::ComparePair { .. } => self.data.compare(op, &mut wavefront.registers, mask),
            Op::SetPair { .. } => self.data.compare(op, &mut wavefront.registers, mask),
            Op::Select32 { .. } => self.data.compare(op, &mut wavefront.registers, mask),
            Op::Select64 { .. } => self.data.compare(op, &mut wavefront.registers, mask),
            Op::Predicate { .. } => self.data.compare(op, &mut wavefront.registers, mask),
            Op::IsSpace { .. } => self.data.compare(op, &mut wavefront.registers, mask),
            Op::Join { .. } => self.data.convert(op, tables, wavefront, mask),
            Op::Part { .. } => self.data.convert(op, tables, wavefront, mask),
            Op::Carry(_) => self.data.convert(op, tables, wavefront, mask),
            Op::Pack(_) => self.data.convert(op, tables, wavefront, mask),
            Op::MoveVector(_) => self.data.convert(op, tables, wavefront, mask),
            Op::Unpack(_) => self.data.convert(op, tables, wavefront, mask),
            Op::Convert(_) => self.data.convert(op, tables, wavefront, mask),
            Op::Scalar(_) => self.data.convert(op, tables, wavefront, mask),
            Op::FrameAddress { .. } => wavefront.change_frame(op, &self.data.constants, mask)?,
            Op::SaveStack { .. } => wavefront.change_frame(op, &self.data.constants, mask)?,
            Op::RestoreStack { .. } => wavefront.change_frame(op, &self.data.constants, mask)?,
            Op::Allocate { .. } => {
                turn.put_back(wavefront, progress);
                wavefront.change_frame(op, &self.data.constants, mask)?;
            }
            Op::Shuffle(_) => exchange(op, tables, wavefront, &self.data.constants, mask),
            Op::Vote(_) => exchange(op, tables, wavefront, &self.data.constants, mask),
            Op::Match { .. } => exchange(op, tables, wavefront, &self.data.constants, mask),
            Op::MatchAll { .. } => exchange(op, tables, wavefront, &self.data.constants, mask),
            Op::Reduce { .. } => exchange(op, tables, wavefront, &self.data.constants, mask),
            Op::Elect { .. } => exchange(op, tables, wavefront, &self.data.constants, mask),
            Op::ActiveMask { .. } => exchange(op, tables, wavefront, &self.data.constants, mask),
            Op::Branch { target, meet } => {
                turn.record(wavefront, progress, mask);
                wavefront.branch(turn.kernel, mask, *target, *meet);
                return Ok(Flow::Path);
            }
            Op::BranchIndexed(at) => {
                turn.record(wavefront, progress, mask);
                wavefront.branch_indexed(turn.kernel, &self.data.constants, *at, mask)?;
                return Ok(Flow::Path);
            }
            Op::Load(at) if mask != 0 => return self.run_load(wavefront, shared, turn, mask, *at),
            Op::Store(at) if mask != 0 => {
                return self.run_store(wavefront, shared, turn, mask, *at);
            }
            Op::Prefetch(at) if mask != 0 => {
                self.prefetch(wavefront, turn.pc, mask, *at);
                return Ok(Flow::Next);
            }
            Op::Atomic(at) if mask != 0 => {
                turn.put_back(wavefront, progress);
                self.atomic(wavefront, shared, turn.pc, mask, *at)?;
                return Ok(Flow::Next);
            }
            Op::AtomicVector { .. } | Op::LoadMatrix(_) | Op::Missing(_) if mask != 0 => {
                turn.put_back(wavefront, progress);
                self.run_seldom(op, wavefront, shared, (turn.pc, mask))?;
                return Ok(Flow::Next);
            }
            Op::Texture(at) if mask != 0 => {
                turn.put_back(wavefront, progress);
                self.read_texture(wavefront, turn.pc, mask, *at)?;
                return Ok(Flow::Next);
            }
            Op::TextureQuery { query, d, texture } if mask != 0 => {
                turn.put_back(wavefront, progress);
                let (device, constants) = (&*self.memory.device, &self.data.constants);
                texture::query(*query, *texture, device, constants, wavefront, *d, mask)?;
            }
            Op::Barrier(at) if mask != 0 => {
                turn.record(wavefront, progress, mask);
                return self.run_barrier(wavefront, shared, mask, *at);
            }
            Op::Call(at) if mask != 0 => {
                turn.record(wavefront, progress, mask);
                return self.run_call(wavefront, mask, *at);
            }
            Op::CallIndirect(at) if mask != 0 => {
                turn.put_back(wavefront, progress);
                return self.run_indirect_call(wavefront, turn, mask, *at);
            }
            Op::External(at) if mask != 0 => {
                turn.put_back(wavefront, progress);
                self.external(wavefront, shared, (turn.pc, mask), *at)?;
                return Ok(Flow::Next);
            }
            Op::Return | Op::Exit if mask != 0 => {
                turn.record(wavefront, progress, mask);
                wavefront.leave(turn.kernel, mask, matches!(op, Op::Exit));
                return Ok(Flow::Path);
            }
            Op::Trap if mask != 0 => {
                turn.put_back(wavefront, progress);
                let lane = mask.trailing_zeros() as usize;
                return Err(Fault::at(lane, FaultKind::Trap));
            }
            // Nothing functional, or no lane does it.
            Op::Nothing
            | Op::Load(_)
            | Op::Store(_)
            | Op::Prefetch(_)
            | Op::Atomic(_)
            | Op::AtomicVector { .. }
            | Op::LoadMatrix(_)
            | Op::Texture(_)
            | Op::TextureQuery { .. }
            | Op::Barrier(_)
            | Op::Call(_)
            | Op::CallIndirect(_)
            | Op::External(_)
            | Op::Missing(_)
            | Op::Return
            | Op::Exit
            | Op::Trap => {}
        }
        Ok(Flow::Step)
    }

    /// Executes operations of seldom forms, out of line so that the loop stays small. The state of
    /// the loop is put back before: a reference to it would keep it in memory.
    #[inline(never)]
    fn run_seldom(
        &mut self,
        op: &Op,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        place: (u32, u32),
    ) -> Result<(), Fault> {
        match *op {
            Op::AtomicVector { first, count } => {
                self.atomic_vector(wavefront, shared, place, (first, count))
            }
            Op::LoadMatrix(at) => self.load_matrix(wavefront, shared, place, at),
            Op::Missing(at) => {
                let (name, nearest) = self.kernel.tables.control.missing[at as usize].clone();
                let lane = place.1.trailing_zeros() as usize;
                Err(Fault::at(lane, FaultKind::Missing { name, nearest }))
            }
            _ => unreachable!("the caller names the operations"),
        }
    }

    #[inline(always)]
    fn run_load(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &Shared,
        turn: &Turn<'_>,
        mask: u32,
        at: u32,
    ) -> Result<Flow, Fault> {
        let access = &turn.kernel.tables.accesses[at as usize];
        let is_usual = mask == u32::MAX && access.whole;
        if is_usual && self.load_full_wavefront(wavefront, shared, turn.pc, access) {
            return Ok(Flow::Next);
        }
        if let Err(fault) = self.load(wavefront, shared, turn.pc, mask, at) {
            turn.put_back(wavefront, &mut self.progress);
            return Err(fault);
        }
        Ok(Flow::Next)
    }

    #[inline(always)]
    fn run_store(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        turn: &Turn<'_>,
        mask: u32,
        at: u32,
    ) -> Result<Flow, Fault> {
        let access = &turn.kernel.tables.accesses[at as usize];
        let is_usual = mask == u32::MAX && access.whole;
        if is_usual && self.store_full_wavefront(wavefront, shared, turn.pc, access) {
            self.progress.last_effect = turn.steps;
            return Ok(Flow::Next);
        }
        turn.put_back(wavefront, &mut self.progress);
        self.store(wavefront, shared, turn.pc, mask, at)?;
        Ok(Flow::Next)
    }

    fn read_texture(
        &mut self,
        wavefront: &mut Wavefront,
        pc: u32,
        mask: u32,
        at: u32,
    ) -> Result<(), Fault> {
        let read = &self.kernel.tables.textures[at as usize];
        let constants = &self.data.constants;
        texture::read(read, &mut self.memory, constants, wavefront, pc, mask)
    }

    #[inline(always)]
    fn run_barrier(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        mask: u32,
        at: u32,
    ) -> Result<Flow, Fault> {
        let barrier = self.kernel.tables.barriers[at as usize];
        let waits = self.arrive(wavefront, shared, barrier, mask)?;
        wavefront.advance(self.kernel);
        Ok(if waits { Flow::Wait } else { Flow::Path })
    }

    #[inline(always)]
    fn run_indirect_call(
        &mut self,
        wavefront: &mut Wavefront,
        turn: &Turn<'_>,
        mask: u32,
        at: u32,
    ) -> Result<Flow, Fault> {
        let constants = &self.data.constants;
        let Some(site) = wavefront.called(turn.kernel, constants, at, mask)? else {
            return Ok(Flow::Path);
        };
        wavefront.writer.step(turn.pc, mask);
        self.run_call(wavefront, mask, site)
    }

    /// Opens a call, unless too many are open.
    fn run_call(&mut self, wavefront: &mut Wavefront, mask: u32, site: u32) -> Result<Flow, Fault> {
        if wavefront.activations.len() > self.options.call_depth as usize {
            return Err(Fault {
                lane: None,
                kind: FaultKind::CallDepth,
            });
        }
        wavefront.cover_call(self.kernel, site as usize, mask)?;
        wavefront.call(self.kernel, &self.data.constants, site as usize, mask);
        self.observe_call(wavefront);
        Ok(Flow::Path)
    }

    /// Notifies the observer of the calls that have ended, and of the instruction that follows.
    #[inline(always)]
    fn observe_step(&mut self, wavefront: &mut Wavefront, active: u32, mask: u32) {
        self.observe_ended_calls(wavefront);
        self.observer.step(&Step {
            kernel: self.kernel,
            wavefront,
            constants: &self.data.constants,
            pc: wavefront.pc(),
            active,
            mask,
        });
    }

    /// Notifies the observer of a call that has just been opened.
    #[inline(always)]
    fn observe_call(&mut self, wavefront: &Wavefront) {
        if O::WATCHES
            && let [.., caller, callee] = &wavefront.activations[..]
        {
            let frames = Frames {
                pc: callee.pc,
                site: &self.kernel.tables.control.calls[callee.site],
                caller,
                callee,
            };
            self.observer.call(self.kernel, wavefront, frames);
        }
    }

    /// Notifies the observer of calls that ended with the last instruction.
    fn observe_ended_calls(&mut self, wavefront: &mut Wavefront) {
        let ended = wavefront.ended.as_mut().map(std::mem::take);
        for (caller, callee) in ended.unwrap_or_default() {
            let frames = Frames {
                pc: callee.pc,
                site: &self.kernel.tables.control.calls[callee.site],
                caller: &caller,
                callee: &callee,
            };
            self.observer.end_call(self.kernel, wavefront, frames);
        }
    }

    /// Arrives at a barrier; true if the wavefront waits there.
    fn arrive(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        barrier: Barrier,
        mask: u32,
    ) -> Result<bool, Fault> {
        let lane = mask.trailing_zeros() as usize;
        let constants = &self.data.constants;
        let registers = &wavefront.registers;
        let number = registers.get32(constants, barrier.id)[lane];
        let threads = barrier
            .threads
            .map(|threads| registers.get32(constants, threads)[lane]);
        let held = registers.predicate(barrier.p);
        shared.arrive(number, threads, mask, held)?;
        let waits = barrier.kind != BarrierKind::Arrive;
        let arrival = Arrival {
            pc: wavefront.pc(),
            number,
            mask,
            waits,
        };
        self.observer.arrive(wavefront, arrival);
        if !waits {
            return Ok(false);
        }
        wavefront.state = State::Waiting { barrier: number };
        wavefront.barrier_result = Some((barrier, mask));
        Ok(true)
    }
}
