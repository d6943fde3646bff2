//! Register checks: uses and writes of each instruction, and propagation of pointer tags.

use super::finding::{FindingKind, Verdict};
use super::objects::{Object, Tag, combine};
use super::shadow::Registers;
use super::{Case, ProgramChecker};
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
        if let Some(guard) = site.guard {
            self.used(step, guard, step.active);
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
        let address = match site.address {
            Origin::Register(register) => Some(register),
            _ => None,
        };
        let registers = site.sources.iter().filter_map(|source| match source {
            Origin::Register(register) => Some(*register),
            _ => None,
        });
        match site.rule {
            Rule::Copy | Rule::Return => {}
            // Arguments are copied; the function is used.
            Rule::Call => {
                if let Some(register) = address {
                    self.used(step, register, step.mask);
                }
            }
            // The values chosen from are copied; the predicate is used.
            Rule::Select => {
                if let Some(&Origin::Register(predicate)) = site.sources.last() {
                    self.used(step, predicate, step.mask);
                }
            }
            _ => {
                for register in registers.chain(address) {
                    self.used(step, register, step.mask);
                }
            }
        }
        match site.rule {
            Rule::Divide => self.division(step),
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

    /// Checks the use of a register in the lanes of a mask.
    fn used(&mut self, step: &Step<'_>, register: u32, mask: u32) {
        let defined = &mut self.registers(step.wavefront).defined[register as usize];
        let undefined = mask & !*defined;
        if undefined == 0 {
            return;
        }
        // Reported once; what is made of it counts as written.
        *defined |= undefined;
        let function = step.wavefront.activations.last().map_or(0, |a| a.function);
        for lane in lanes(undefined) {
            let thread = step.wavefront.index * 32 + lane as u32;
            let at = (step.wavefront.group, thread);
            let kind = FindingKind::UninitialisedRegister;
            let case = Case::new(kind, Verdict::Error, step.pc, at);
            self.report(step.kernel, case, || {
                let name = step.kernel.functions[function].register_name(register);
                format!("register `{name}` is used before it is written")
            });
        }
    }

    fn division(&mut self, step: &Step<'_>) {
        let registers = &step.wavefront.registers;
        let zeros = match step.kernel.ops[step.pc as usize].op {
            Op::Binary32 { b, .. } => {
                let divisors = registers.get32(step.constants, b);
                lanes(step.mask)
                    .filter(|&lane| divisors[lane] == 0)
                    .collect()
            }
            Op::Binary64 { b, .. } => {
                let divisors = registers.get64(step.constants, b);
                lanes(step.mask)
                    .filter(|&lane| divisors[lane] == 0)
                    .collect()
            }
            _ => Vec::new(),
        };
        for lane in zeros {
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
        let mut defined = step.mask;
        let chosen = match (site.rule, step.kernel.ops[step.pc as usize].op) {
            (_, Op::Select32 { p, .. } | Op::Select64 { p, .. }) => {
                Some(step.wavefront.registers.predicate(p))
            }
            _ => None,
        };
        let copies = matches!(site.rule, Rule::Copy | Rule::Select);
        let sources: Vec<[Tag; 32]> = site
            .sources
            .iter()
            .map(|source| self.tags(step.kernel, step.wavefront, *source))
            .collect();
        let registers = self.registers(step.wavefront);
        let known = |source: &Origin| match source {
            Origin::Register(register) => registers.defined[*register as usize],
            _ => u32::MAX,
        };
        if let (Some(chosen), [a, b, _]) = (chosen, &site.sources[..]) {
            defined &= known(a) & chosen | known(b) & !chosen;
        } else if copies {
            defined = site
                .sources
                .iter()
                .fold(defined, |all, source| all & known(source));
        }
        let has_pointers = sources.iter().flatten().any(|tag| !tag.is_none());
        for &result in site.results.iter().flatten() {
            let written = &mut registers.defined[result as usize];
            *written = *written & !step.mask | defined;
            registers.pointers.clear(result, step.mask);
            if !has_pointers || matches!(site.rule, Rule::Load | Rule::Atomic) {
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
        let bytes = bytes.unwrap_or(0);
        let tag = self.objects.tag(Object {
            region: Region::Local,
            start: start.into(),
            bytes,
            name: "alloca".to_owned(),
        });
        let end = u32::try_from(bytes).unwrap_or(u32::MAX);
        let wave = self.wave(step.wavefront);
        wave.private.forget(start, start.saturating_add(end));
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
            opened.defined[parameter as usize] = match source {
                Origin::Register(register) => {
                    self.registers(wavefront).defined[*register as usize] & mask
                }
                _ => mask,
            };
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
            let defined = &mut registers.defined[result as usize];
            *defined = *defined & !mask | closed.defined[returned as usize] & mask;
            for lane in lanes(mask) {
                let tag = closed.pointers.one(returned, lane);
                registers.pointers.set(result, lane, tag);
            }
        }
    }
}
