//! Interpreter loop: executes the decoded instructions of one wavefront.

use crate::exec::Machine;
use crate::exec::access::lanes;
use crate::exec::barrier::Shared;
use crate::exec::compute::{halves, in_region, lanes_where, lop3, numbers, select32, select64};
use crate::exec::convert::convert;
use crate::exec::error::{Fault, FaultKind};
use crate::exec::observe::{Arrival, Frames, Observer, Step};
use crate::exec::scalar::scalar;
use crate::exec::wavefront::{State, Wavefront};
use crate::ops::{Barrier, BarrierKind, NO_REGISTER, Op, Outcome, Src};

/// Reason for which a wavefront stopped executing.
pub(super) enum Pause {
    /// The instruction quantum of its turn is used up.
    Quantum,
    /// The wavefront waits for others at a barrier.
    Barrier,
    /// All threads of the wavefront have ended.
    Done,
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
        let before = self.steps;
        let mut left = quantum;
        'paths: loop {
            let Some(&path) = wavefront.paths.last() else {
                wavefront.state = State::Done;
                return Ok(Pause::Done);
            };
            // Local copies of the path's pc and the launch's progress, valid while instructions
            // only change registers.
            let mut pc = path.pc;
            macro_rules! put_back {
                () => {
                    self.steps = before + u64::from(quantum - left);
                    if let Some(top) = wavefront.paths.last_mut() {
                        top.pc = pc;
                    }
                };
            }
            // To the next instruction, joining the path below if that is the meeting point.
            macro_rules! next {
                () => {
                    pc += 1;
                    if pc == path.meet {
                        put_back!();
                        self.settle(wavefront);
                        continue 'paths;
                    }
                };
            }
            loop {
                if left == 0 {
                    put_back!();
                    break 'paths;
                }
                left -= 1;
                let decoded = &kernel.ops[pc as usize];
                let mask = if decoded.guard.is_always() {
                    path.mask
                } else {
                    path.mask & wavefront.registers.predicate(decoded.guard)
                };
                if O::WATCHES {
                    put_back!();
                    self.observe_ended_calls(wavefront);
                    self.observer.step(&Step {
                        kernel,
                        wavefront,
                        constants32: &self.constants32,
                        constants64: &self.constants64,
                        pc,
                        active: path.mask,
                        mask,
                    });
                }
                let registers = &mut wavefront.registers;
                macro_rules! w {
                    ($source:expr) => {
                        registers.get32(&self.constants32, $source)
                    };
                }
                macro_rules! x {
                    ($source:expr) => {
                        registers.get64(&self.constants64, $source)
                    };
                }
                match decoded.op {
                    Op::Move32 { d, a } => {
                        **self.word = *w!(a);
                        registers.swap32(d, mask, &mut self.word);
                    }
                    Op::Move64 { d, a } => {
                        **self.double = *x!(a);
                        registers.swap64(d, mask, &mut self.double);
                    }
                    Op::Unary32 { f, d, a } => {
                        f(w!(a), &mut self.word);
                        registers.swap32(d, mask, &mut self.word);
                    }
                    Op::Unary64 { f, d, a } => {
                        f(x!(a), &mut self.double);
                        registers.swap64(d, mask, &mut self.double);
                    }
                    Op::Widen { f, d, a } => {
                        f(w!(a), &mut self.double);
                        registers.swap64(d, mask, &mut self.double);
                    }
                    Op::Narrow { f, d, a } => {
                        f(x!(a), &mut self.word);
                        registers.swap32(d, mask, &mut self.word);
                    }
                    Op::Binary32 { f, d, a, b } => {
                        f(w!(a), w!(b), &mut self.word);
                        registers.swap32(d, mask, &mut self.word);
                    }
                    Op::Binary64 { f, d, a, b } => {
                        f(x!(a), x!(b), &mut self.double);
                        registers.swap64(d, mask, &mut self.double);
                    }
                    Op::BinaryWide { f, d, a, b } => {
                        f(w!(a), w!(b), &mut self.double);
                        registers.swap64(d, mask, &mut self.double);
                    }
                    Op::Shift64 { f, d, a, b } => {
                        f(x!(a), w!(b), &mut self.double);
                        registers.swap64(d, mask, &mut self.double);
                    }
                    Op::ShiftBy32 { f, d, a, by } => {
                        f(w!(a), by, &mut self.word);
                        registers.swap32(d, mask, &mut self.word);
                    }
                    Op::ShiftBy64 { f, d, a, by } => {
                        f(x!(a), by, &mut self.double);
                        registers.swap64(d, mask, &mut self.double);
                    }
                    Op::Ternary32 { f, d, a, b, c } => {
                        f(w!(a), w!(b), w!(c), &mut self.word);
                        registers.swap32(d, mask, &mut self.word);
                    }
                    Op::Ternary64 { f, d, a, b, c } => {
                        f(x!(a), x!(b), x!(c), &mut self.double);
                        registers.swap64(d, mask, &mut self.double);
                    }
                    Op::TernaryWide { f, d, a, b, c } => {
                        f(w!(a), w!(b), x!(c), &mut self.double);
                        registers.swap64(d, mask, &mut self.double);
                    }
                    Op::Extract64 { f, d, a, b, c } => {
                        f(x!(a), w!(b), w!(c), &mut self.double);
                        registers.swap64(d, mask, &mut self.double);
                    }
                    Op::Insert32 { f, d, a, b, c, e } => {
                        f(w!(a), w!(b), w!(c), w!(e), &mut self.word);
                        registers.swap32(d, mask, &mut self.word);
                    }
                    Op::Insert64 { f, d, a, b, c, e } => {
                        f(x!(a), x!(b), w!(c), w!(e), &mut self.double);
                        registers.swap64(d, mask, &mut self.double);
                    }
                    Op::Lop3 { table, d, a, b, c } => {
                        lop3(table, [w!(a), w!(b), w!(c)], &mut self.word);
                        registers.swap32(d, mask, &mut self.word);
                    }
                    Op::Compare32 { f, a, b, outcome } => {
                        let bits = f(w!(a), w!(b));
                        wavefront.write_outcome(outcome, mask, bits);
                    }
                    Op::Compare64 { f, a, b, outcome } => {
                        let bits = f(x!(a), x!(b));
                        wavefront.write_outcome(outcome, mask, bits);
                    }
                    Op::Set32 {
                        f,
                        d,
                        a,
                        b,
                        one,
                        logic,
                        with,
                    } => {
                        let bits = logic.apply(f(w!(a), w!(b)), registers.predicate(with));
                        registers.put32(d, mask, &numbers(bits, one));
                    }
                    Op::Set64 {
                        f,
                        d,
                        a,
                        b,
                        one,
                        logic,
                        with,
                    } => {
                        let bits = logic.apply(f(x!(a), x!(b)), registers.predicate(with));
                        registers.put32(d, mask, &numbers(bits, one));
                    }
                    Op::ComparePair { f, a, b, outcome } => {
                        let [low, high] = halves(f, w!(a), w!(b));
                        let with = registers.predicate(outcome.with);
                        let (p, q) = (outcome.p, outcome.q);
                        registers.put_predicate(p, mask, outcome.logic.apply(low, with));
                        registers.put_predicate(q, mask, outcome.logic.apply(high, with));
                    }
                    Op::SetPair {
                        f,
                        d,
                        a,
                        b,
                        one,
                        logic,
                        with,
                    } => {
                        let with = registers.predicate(with);
                        let [low, high] = halves(f, w!(a), w!(b))
                            .map(|bits| numbers(logic.apply(bits, with), one));
                        let both = std::array::from_fn(|lane| high[lane] << 16 | low[lane]);
                        registers.put32(d, mask, &both);
                    }
                    Op::Join { d, low, high } => {
                        // Both are read before either half is written.
                        let (low, high) = (*x!(low), *x!(high));
                        registers.put64(d, mask, &low);
                        registers.put64(d + 1, mask, &high);
                    }
                    Op::Part { low, high, a } => {
                        let halves = [*x!(a), *x!(Src(a.0 + 1))];
                        for (d, half) in [low, high].into_iter().zip(halves) {
                            if d != NO_REGISTER {
                                registers.put64(d, mask, &half);
                            }
                        }
                    }
                    Op::Select32 { d, a, b, p } => {
                        let bits = registers.predicate(p);
                        select32(bits, w!(a), w!(b), &mut self.word);
                        registers.swap32(d, mask, &mut self.word);
                    }
                    Op::Select64 { d, a, b, p } => {
                        let bits = registers.predicate(p);
                        select64(bits, x!(a), x!(b), &mut self.double);
                        registers.swap64(d, mask, &mut self.double);
                    }
                    Op::Predicate { logic, d, a, b } => {
                        let bits = logic.apply(registers.predicate(a), registers.predicate(b));
                        registers.put_predicate(d, mask, bits);
                    }
                    Op::FrameAddress { d, offset, wide } => {
                        let address = wavefront.frame_base().wrapping_add(offset);
                        wavefront.put_address(d, mask, address, wide);
                    }
                    Op::Allocate {
                        d,
                        bytes,
                        align,
                        wide,
                    } if mask != 0 => {
                        put_back!();
                        let bytes = self.most(wavefront, bytes, wide, mask);
                        let start = wavefront.allocate(bytes, align).ok_or_else(|| {
                            Fault::at(
                                mask.trailing_zeros() as usize,
                                FaultKind::StackFull { bytes },
                            )
                        })?;
                        wavefront.put_address(d, mask, start, wide);
                    }
                    Op::SaveStack { d, wide } => {
                        wavefront.put_address(d, mask, wavefront.stack_top(), wide);
                    }
                    Op::RestoreStack { a, wide } if mask != 0 => {
                        let top = self.most(wavefront, a, wide, mask);
                        wavefront.restore_stack(top, mask);
                    }
                    Op::IsSpace { region, d, a, wide } => {
                        let bits = if wide {
                            lanes_where(x!(a), |address| in_region(region, address))
                        } else {
                            lanes_where(w!(a), |address| in_region(region, u64::from(address)))
                        };
                        registers.put_predicate(d, mask, bits);
                    }
                    Op::Carry(at) => {
                        self.carry(wavefront, &kernel.tables.carries[at as usize], mask);
                    }
                    Op::Pack(at) => self.pack(wavefront, &kernel.tables.parts[at as usize], mask),
                    Op::Unpack(at) => {
                        self.unpack(wavefront, &kernel.tables.parts[at as usize], mask);
                    }
                    Op::Scalar(at) => {
                        let spec = &kernel.tables.scalars[at as usize];
                        for lane in lanes(mask) {
                            let operands = spec.sources.map(|source| {
                                if spec.wide {
                                    x!(source)[lane]
                                } else {
                                    u64::from(w!(source)[lane])
                                }
                            });
                            self.double[lane] = scalar(spec, operands);
                            self.word[lane] = self.double[lane] as u32;
                        }
                        if spec.wide {
                            registers.swap64(spec.d, mask, &mut self.double);
                        } else {
                            registers.swap32(spec.d, mask, &mut self.word);
                        }
                    }
                    Op::Convert(at) => {
                        let spec = &kernel.tables.converts[at as usize];
                        for lane in lanes(mask) {
                            let raw = if spec.from_wide {
                                x!(spec.a)[lane]
                            } else {
                                u64::from(w!(spec.a)[lane])
                            };
                            self.double[lane] = convert(spec, raw);
                            self.word[lane] = self.double[lane] as u32;
                        }
                        if spec.to_bits == 64 {
                            registers.swap64(spec.d, mask, &mut self.double);
                        } else {
                            registers.swap32(spec.d, mask, &mut self.word);
                        }
                    }
                    Op::Load(at) if mask != 0 => {
                        let access = &kernel.tables.accesses[at as usize];
                        let is_usual = mask == u32::MAX && access.whole;
                        if is_usual && self.load_full_wavefront(wavefront, shared, pc, access) {
                            next!();
                            continue;
                        }
                        if let Err(fault) = self.load(wavefront, shared, pc, mask, at) {
                            put_back!();
                            return Err(fault);
                        }
                        next!();
                        continue;
                    }
                    Op::Prefetch(at) if mask != 0 => {
                        put_back!();
                        self.prefetch(wavefront, pc, mask, at);
                        self.advance(wavefront);
                        continue 'paths;
                    }
                    Op::Store(at) if mask != 0 => {
                        let access = &kernel.tables.accesses[at as usize];
                        let is_usual = mask == u32::MAX && access.whole;
                        if is_usual && self.store_full_wavefront(wavefront, shared, pc, access) {
                            self.last_progress = before + u64::from(quantum - left);
                            next!();
                            continue;
                        }
                        put_back!();
                        self.store(wavefront, shared, pc, mask, at)?;
                        next!();
                        continue;
                    }
                    Op::Atomic(at) if mask != 0 => {
                        put_back!();
                        self.atomic(wavefront, shared, pc, mask, at)?;
                        self.advance(wavefront);
                        continue 'paths;
                    }
                    Op::Texture(at) if mask != 0 => {
                        put_back!();
                        self.texture_read(wavefront, pc, mask, at)?;
                        self.advance(wavefront);
                        continue 'paths;
                    }
                    Op::TextureQuery { query, d, texture } if mask != 0 => {
                        put_back!();
                        self.texture_query(wavefront, mask, (query, d, texture))?;
                    }
                    Op::Shuffle(at) => {
                        self.shuffle(wavefront, &kernel.tables.shuffles[at as usize], mask);
                    }
                    Op::Vote(at) if mask != 0 => {
                        self.vote(wavefront, &kernel.tables.votes[at as usize], mask);
                    }
                    Op::Match {
                        d,
                        a,
                        wide,
                        members,
                    } if mask != 0 => {
                        self.match_any(wavefront, (d, a, wide), members, mask);
                    }
                    Op::MatchAll {
                        d,
                        p,
                        a,
                        wide,
                        members,
                    } if mask != 0 => {
                        self.match_all(wavefront, (d, p), (a, wide), members, mask);
                    }
                    Op::Reduce {
                        kind,
                        d,
                        a,
                        members,
                    } if mask != 0 => self.reduce(wavefront, kind, (d, a), members, mask),
                    Op::Elect { d, p, members } if mask != 0 => {
                        self.elect(wavefront, (d, p), members, mask);
                    }
                    Op::ActiveMask { d } => registers.put32(d, mask, &[mask; 32]),
                    Op::Barrier(at) if mask != 0 => {
                        put_back!();
                        let barrier = kernel.tables.barriers[at as usize];
                        wavefront.writer.step(pc, mask);
                        let waits = self.arrive(wavefront, shared, barrier, mask)?;
                        self.advance(wavefront);
                        if waits {
                            return Ok(Pause::Barrier);
                        }
                        continue 'paths;
                    }
                    Op::Branch { target, meet } => {
                        put_back!();
                        wavefront.writer.step(pc, mask);
                        self.branch(wavefront, mask, target, meet);
                        continue 'paths;
                    }
                    Op::BranchIndexed(at) => {
                        put_back!();
                        wavefront.writer.step(pc, mask);
                        self.branch_indexed(wavefront, at, mask)?;
                        continue 'paths;
                    }
                    Op::Call(at) if mask != 0 => {
                        put_back!();
                        wavefront.writer.step(pc, mask);
                        self.call(wavefront, at as usize, mask)?;
                        self.observe_call(wavefront);
                        continue 'paths;
                    }
                    Op::CallIndirect(at) if mask != 0 => {
                        put_back!();
                        if let Some(site) = self.called(wavefront, at, mask)? {
                            wavefront.writer.step(pc, mask);
                            self.call(wavefront, site as usize, mask)?;
                            self.observe_call(wavefront);
                        }
                        continue 'paths;
                    }
                    Op::External(at) if mask != 0 => {
                        put_back!();
                        self.external(wavefront, shared, (pc, mask), at)?;
                        self.advance(wavefront);
                        continue 'paths;
                    }
                    Op::Return | Op::Exit if mask != 0 => {
                        put_back!();
                        wavefront.writer.step(pc, mask);
                        self.leave(wavefront, mask, matches!(decoded.op, Op::Exit));
                        continue 'paths;
                    }
                    Op::Trap if mask != 0 => {
                        put_back!();
                        let lane = Some(mask.trailing_zeros());
                        return Err(Fault {
                            lane,
                            kind: FaultKind::Trap,
                        });
                    }
                    // Nothing functional, or no lane does it.
                    Op::Nothing
                    | Op::Load(_)
                    | Op::Prefetch(_)
                    | Op::Store(_)
                    | Op::Atomic(_)
                    | Op::Texture(_)
                    | Op::TextureQuery { .. }
                    | Op::Vote(_)
                    | Op::Match { .. }
                    | Op::MatchAll { .. }
                    | Op::Reduce { .. }
                    | Op::Elect { .. }
                    | Op::Barrier(_)
                    | Op::Allocate { .. }
                    | Op::RestoreStack { .. }
                    | Op::Call(_)
                    | Op::CallIndirect(_)
                    | Op::External(_)
                    | Op::Return
                    | Op::Exit
                    | Op::Trap => {}
                }
                wavefront.writer.step(pc, mask);
                next!();
            }
        }
        if wavefront.paths.is_empty() {
            wavefront.state = State::Done;
            return Ok(Pause::Done);
        }
        Ok(Pause::Quantum)
    }

    /// Notifies the observer of a call that has just been opened.
    #[inline(always)]
    fn observe_call(&mut self, wavefront: &Wavefront) {
        if O::WATCHES
            && let [.., caller, callee] = &wavefront.activations[..]
        {
            let frames = Frames {
                pc: callee.pc,
                site: &self.kernel.tables.calls[callee.site],
                caller,
                callee,
            };
            self.observer.call(self.kernel, wavefront, frames);
        }
    }

    /// Notifies the observer of calls that ended with the last instruction.
    fn observe_ended_calls(&mut self, wavefront: &mut Wavefront) {
        for (caller, callee) in std::mem::take(&mut wavefront.ended) {
            let frames = Frames {
                pc: callee.pc,
                site: &self.kernel.tables.calls[callee.site],
                caller: &caller,
                callee: &callee,
            };
            self.observer.end_call(self.kernel, wavefront, frames);
        }
    }

    /// Advances to the next instruction, and merges with the path below at the reconvergence point.
    #[inline(always)]
    fn advance(&self, wavefront: &mut Wavefront) {
        if let Some(top) = wavefront.paths.last_mut() {
            top.pc += 1;
            if top.pc == top.meet {
                self.settle(wavefront);
            }
        }
    }

    fn arrive(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        barrier: Barrier,
        mask: u32,
    ) -> Result<bool, Fault> {
        let lane = mask.trailing_zeros() as usize;
        let registers = &wavefront.registers;
        let number = registers.get32(&self.constants32, barrier.id)[lane];
        let threads = barrier
            .threads
            .map(|threads| registers.get32(&self.constants32, threads)[lane]);
        let held = registers.predicate(barrier.p);
        shared.arrive(number, threads, mask, held)?;
        let waits = barrier.kind != BarrierKind::Arrive;
        let arrival = Arrival {
            pc: wavefront.pc(),
            number,
            counted: threads.is_some(),
            mask,
            waits,
        };
        self.observer.arrive(self.kernel, wavefront, arrival);
        if !waits {
            return Ok(false);
        }
        wavefront.state = State::Waiting { barrier: number };
        wavefront.barrier_result = Some((barrier, mask));
        Ok(true)
    }
}

impl Wavefront {
    #[inline(always)]
    fn write_outcome(&mut self, outcome: Outcome, mask: u32, bits: u32) {
        let with = self.registers.predicate(outcome.with);
        self.registers
            .put_predicate(outcome.p, mask, outcome.logic.apply(bits, with));
        self.registers
            .put_predicate(outcome.q, mask, outcome.logic.apply(!bits, with));
    }
}
