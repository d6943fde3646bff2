//! Register checks: uses and writes of each instruction, and propagation of pointer tags.

use super::finding::{FindingKind, Verdict};
use super::flow::{self, Deciding};
use super::objects::{Object, Tag, combine};
use super::shadow::Registers;
use super::trial::Operand;
use super::{Case, ProgramChecker};
use crate::exec::compute::lanes_where;
use crate::exec::frame::PRIVATE_MAX;
use crate::exec::observe::{Frames, Step};
use crate::exec::registers::lanes;
use crate::exec::wavefront::Wavefront;
use crate::kernel::Kernel;
use crate::ops::{Op, Region, Transfer};
use crate::site::{Origin, Rule, Site, Symbol};

impl ProgramChecker {
    /// Checks an instruction before it executes.
    pub(super) fn instruction(&mut self, step: &Step<'_>) {
        let site = &step.kernel.sites[step.pc as usize];
        let decoded = &step.kernel.ops[step.pc as usize];
        let thread = |lane: u32| (step.wavefront.group, step.wavefront.index * 32 + lane);
        let used = |checker: &mut Self, register, mask, bits| {
            checker.used(step.kernel, step.wavefront, (step.pc, mask), register, bits);
        };
        if let Some(guard) = site.guard {
            used(self, guard, step.active, 1);
        }
        if step.mask == 0 {
            return;
        }
        let first = thread(step.mask.trailing_zeros());
        if site.is_implied {
            let kind = FindingKind::MissingReturn;
            let case = Case::new(kind, Verdict::Error, step.pc, first);
            self.report(step.kernel, case, || {
                "control reaches the end of the function without a `ret`".to_owned()
            });
        }
        if let Origin::Register(register) = site.address {
            used(self, register, step.mask, u128::MAX);
        }
        let registers = site.sources.iter().filter_map(|source| match source {
            Origin::Register(register) => Some(*register),
            _ => None,
        });
        match flow::deciding(step, site) {
            Deciding::None => {}
            Deciding::All => {
                registers.for_each(|register| used(self, register, step.mask, u128::MAX));
            }
            Deciding::Members(members) => {
                let lanes = flow::source_in(step, site, Operand::Word(members));
                if let Some(register) = lanes {
                    used(self, register, step.mask, u32::MAX.into());
                }
            }
            Deciding::Whole(bits) => {
                for register in registers {
                    self.used_whole(step, register, u128::MAX >> (128 - bits));
                }
            }
        }
        match site.rule {
            Rule::Divide => self.division(step, site),
            Rule::WavefrontBarrier => {
                let (group, index) = (step.wavefront.group, step.wavefront.index);
                self.launch.clocks.lanes_meet(group, index);
            }
            Rule::Fence => {
                let (group, index) = (step.wavefront.group, step.wavefront.index);
                self.launch.clocks.fence(group, index, site.order.strength);
            }
            _ => {}
        }
        let misses = self.launch.missed_barriers(step);
        self.report_misses(step.kernel, misses);
        if matches!(decoded.op, Op::Exit) {
            self.wave(step.wavefront).alive &= !step.mask;
        }
        if site.rule != Rule::Call {
            self.results(step, site);
        }
    }

    fn wave(&mut self, wavefront: &Wavefront) -> &mut super::Wave {
        let wave = self
            .launch
            .waves
            .get_mut(&(wavefront.group, wavefront.index));
        wave.expect("the wavefront has started")
    }

    /// Returns the register shadow of the innermost open function.
    pub(super) fn registers(&mut self, wavefront: &Wavefront) -> &mut Registers {
        let frames = &mut self.wave(wavefront).frames;
        frames
            .last_mut()
            .expect("the frame of the kernel is always open")
    }

    /// Checks the use of a value of which some bits may be padding, but not all.
    fn used_whole(&mut self, step: &Step<'_>, register: u32, bits: u128) {
        let registers = self.registers(step.wavefront);
        let unset = step.mask & !registers.defined[register as usize];
        let is_whole = |lane: &usize| {
            let unset = registers.unset(register, *lane);
            unset.is_some_and(|unset| unset.is_computed || unset.bits & bits == bits)
        };
        let whole = lanes(unset)
            .filter(is_whole)
            .fold(0, |mask, lane| mask | 1 << lane);
        self.used(
            step.kernel,
            step.wavefront,
            (step.pc, whole),
            register,
            bits,
        );
    }

    fn division(&mut self, step: &Step<'_>, site: &Site) {
        let (registers, constants) = (&step.wavefront.registers, step.constants);
        let (divisor, zeros) = match step.kernel.ops[step.pc as usize].op {
            Op::Binary32 { b, .. } => {
                let divisors = registers.get32(constants, b);
                (
                    Operand::Word(b),
                    lanes_where(divisors, |divisor| divisor == 0),
                )
            }
            Op::Binary64 { b, .. } => {
                let divisors = registers.get64(constants, b);
                (
                    Operand::Double(b),
                    lanes_where(divisors, |divisor| divisor == 0),
                )
            }
            _ => return,
        };
        // An unset divisor is no zero; it is reported where the result matters.
        let register = flow::source_in(step, site, divisor);
        let known = register.map_or(u32::MAX, |register| {
            self.registers(step.wavefront).defined[register as usize]
        });
        for lane in lanes(zeros & known & step.mask) {
            let thread = step.wavefront.index * 32 + lane as u32;
            let at = (step.wavefront.group, thread);
            let case = Case::new(FindingKind::DivisionByZero, Verdict::Error, step.pc, at);
            self.report(step.kernel, case, || "the divisor is zero".to_owned());
        }
    }

    /// Marks the destination registers as written and sets their tags.
    fn results(&mut self, step: &Step<'_>, site: &Site) {
        if site.results.iter().all(Option::is_none) {
            return;
        }
        let unset = self.flow(step, site);
        let chosen = match step.kernel.ops[step.pc as usize].op {
            Op::Select32 { p, .. } | Op::Select64 { p, .. } => {
                Some(step.wavefront.registers.predicate(p))
            }
            _ => None,
        };
        let sources: Vec<[Tag; 32]> = site
            .sources
            .iter()
            .map(|source| self.tags(step.kernel, step.wavefront, *source))
            .collect();
        let registers = self.registers(step.wavefront);
        let has_pointers = sources.iter().flatten().any(|tag| !tag.is_none());
        for &result in site.results.iter().flatten() {
            registers.defined[result as usize] |= step.mask;
            // The access itself sets them, from the memory at its address.
            if matches!(site.rule, Rule::Load | Rule::Atomic) {
                continue;
            }
            registers.pointers.clear(result, step.mask);
            if !has_pointers {
                continue;
            }
            for lane in lanes(step.mask) {
                let tag = match (chosen, &sources[..]) {
                    (Some(chosen), [a, ..]) if chosen >> lane & 1 != 0 => a[lane],
                    (Some(_), [_, b, ..]) => b[lane],
                    _ => {
                        let mut of_lane = [Tag::NONE; 8];
                        let count = sources.len().min(8);
                        for (tag, source) in of_lane.iter_mut().zip(&sources) {
                            *tag = source[lane];
                        }
                        combine(site.rule, &of_lane[..count])
                    }
                };
                registers.pointers.set(result, lane, tag);
            }
        }
        for (at, lane, unset) in unset {
            if let Some(&Some(result)) = site.results.get(at) {
                self.registers(step.wavefront)
                    .set_unset(result, lane, Some(unset));
            }
        }
        if let Op::Allocate { .. } = step.kernel.ops[step.pc as usize].op {
            self.allocated(step, site);
        }
    }

    /// Creates a new, uninitialised object for the result of `alloca`.
    fn allocated(&mut self, step: &Step<'_>, site: &Site) {
        let Op::Allocate {
            bytes, align, wide, ..
        } = step.kernel.ops[step.pc as usize].op
        else {
            return;
        };
        let registers = &step.wavefront.registers;
        let bytes = lanes(step.mask)
            .map(|lane| registers.get(step.constants, bytes, wide, lane))
            .max();
        let start = step.wavefront.stack_top().next_multiple_of(align);
        // More is refused when the instruction executes.
        let bytes = bytes.unwrap_or(0).min(PRIVATE_MAX);
        let tag = self.objects.tag(Object {
            region: Region::Local,
            start: start.into(),
            bytes,
            name: "alloca".to_owned(),
        });
        let wave = self.wave(step.wavefront);
        wave.private
            .forget(start, start.saturating_add(bytes as u32));
        let registers = self.registers(step.wavefront);
        for &result in site.results.iter().flatten() {
            for lane in lanes(step.mask) {
                registers.pointers.set(result, lane, tag);
            }
        }
    }

    /// Returns the provenance tags of a value for each lane.
    pub(super) fn tags(
        &mut self,
        kernel: &Kernel,
        wavefront: &Wavefront,
        origin: Origin,
    ) -> [Tag; 32] {
        match origin {
            Origin::Number => [Tag::NONE; 32],
            Origin::Register(register) => {
                let registers = self.registers(wavefront);
                registers
                    .pointers
                    .get(register)
                    .copied()
                    .unwrap_or_default()
            }
            Origin::Symbol(symbol) => [self.symbol(kernel, wavefront, symbol); 32],
        }
    }

    fn symbol(&mut self, kernel: &Kernel, wavefront: &Wavefront, symbol: Symbol) -> Tag {
        let launch = &mut self.launch;
        match symbol {
            Symbol::Module(index) => launch.variables[index],
            Symbol::Shared(number) => launch.shared.get(&number).copied().unwrap_or_default(),
            Symbol::Argument(_) | Symbol::Private(_) => Tag::NONE,
            Symbol::Frame(index) => {
                let function = wavefront.activations.last().map_or(0, |a| a.function);
                let base = wavefront.frame_base();
                let objects = &mut self.objects;
                let tag = launch.frames.entry((function, index, base));
                *tag.or_insert_with(|| {
                    let variable = &kernel.functions[function].frame[index];
                    objects.tag(Object {
                        region: Region::Local,
                        start: u64::from(base + variable.start),
                        bytes: variable.bytes.into(),
                        name: variable.name.clone(),
                    })
                })
            }
        }
    }

    /// Opens the callee's register shadow and passes the state of the arguments.
    pub(super) fn open_call(
        &mut self,
        kernel: &Kernel,
        wavefront: &Wavefront,
        frames: &Frames<'_>,
    ) {
        let site = &kernel.sites[frames.pc as usize];
        let shape = &kernel.functions[frames.callee.function];
        let end = frames.callee.private + kernel.frames[frames.callee.function].bytes;
        let mask = frames.callee.mask;
        let mut opened = Registers::new(shape.registers);
        for (source, parameter) in site.sources.iter().zip(&shape.parameters) {
            let Some(parameter) = *parameter else {
                continue;
            };
            let tags = self.tags(kernel, wavefront, *source);
            opened.defined[parameter as usize] = mask;
            if let Origin::Register(register) = *source {
                let registers = self.registers(wavefront);
                for lane in lanes(mask & !registers.defined[register as usize]) {
                    let unset = registers.unset(register, lane);
                    opened.set_unset(parameter, lane, unset);
                }
            }
            for lane in lanes(mask) {
                opened.pointers.set(parameter, lane, tags[lane]);
            }
        }
        let wave = self.wave(wavefront);
        wave.private.forget(frames.callee.private, end);
        for transfer in &frames.site.arguments {
            if let Transfer::Memory {
                caller,
                callee,
                bytes,
            } = *transfer
            {
                let (from, to) = (
                    frames.caller.private + caller,
                    frames.callee.private + callee,
                );
                wave.private.copy(from, to, bytes, mask);
            }
        }
        wave.frames.push(opened);
    }

    /// Closes the callee's register shadow and passes the state of the results.
    pub(super) fn close_call(
        &mut self,
        kernel: &Kernel,
        wavefront: &Wavefront,
        frames: &Frames<'_>,
    ) {
        let site = &kernel.sites[frames.pc as usize];
        let shape = &kernel.functions[frames.callee.function];
        let mask = frames.callee.mask;
        let wave = self.wave(wavefront);
        let Some(closed) = wave.frames.pop() else {
            return;
        };
        for transfer in &frames.site.results {
            if let Transfer::Memory {
                caller,
                callee,
                bytes,
            } = *transfer
            {
                let (to, from) = (
                    frames.caller.private + caller,
                    frames.callee.private + callee,
                );
                wave.private.copy(from, to, bytes, mask);
            }
        }
        let registers = self.registers(wavefront);
        for (result, returned) in site.results.iter().zip(&shape.returns) {
            let (Some(result), Some(returned)) = (*result, *returned) else {
                continue;
            };
            for lane in lanes(mask) {
                registers.set_unset(result, lane, closed.unset(returned, lane));
                let tag = closed.pointers.one(returned, lane);
                registers.pointers.set(result, lane, tag);
            }
        }
    }
}
