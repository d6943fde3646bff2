//! Reconvergence stack of a wavefront: divergent paths and the calls they are in.
//!
//! The top path executes. A divergent branch leaves a path waiting at the reconvergence point and
//! pushes one path per side. A path that reaches its reconvergence point is dropped, since its
//! lanes are also in the path below. Each call opens its own section of the stack.

use crate::address_space::LOCAL_WINDOW;
use crate::exec::constants::Constants;
use crate::exec::error::{Fault, FaultKind};
use crate::exec::registers::{Register, lanes, register_bytes};
use crate::exec::wavefront::Wavefront;
use crate::kernel::Kernel;
use crate::ops::{CallSite, NO_PC, NO_REGISTER, Transfer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) pc: u32,
    /// Reconvergence point at which the lanes join those below; [`NO_PC`] at the bottom of a call.
    pub(super) meet: u32,
    pub(super) mask: u32,
}

/// Activation record of an open call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Activation {
    /// Index of the function in the kernel's frame table.
    pub(super) function: usize,
    /// Index of the call site in the caller.
    pub(super) site: usize,
    /// Index of the call instruction in the kernel.
    pub(super) pc: u32,
    /// Mask of the lanes that made the call.
    pub(super) mask: u32,
    /// Start indices of the call's registers, private memory and paths.
    pub(super) words: usize,
    pub(super) doubles: usize,
    pub(super) predicates: usize,
    pub(super) private: u32,
    /// End of the call's private memory, which `alloca` advances.
    pub(super) private_end: u32,
    pub(super) paths: usize,
}

impl Wavefront {
    /// Executes a branch; `taken` is a subset of the active lanes.
    pub(super) fn branch(&mut self, kernel: &Kernel, taken: u32, target: u32, meet: u32) {
        let Some(top) = self.paths.last_mut() else {
            return;
        };
        let (next, kept) = (top.pc + 1, top.mask & !taken);
        if kept == 0 {
            top.pc = target;
        } else if taken == 0 {
            top.pc = next;
        } else {
            if meet == top.meet {
                // The lanes are in the path below already.
                self.paths.pop();
            } else {
                top.pc = meet;
            }
            for (pc, mask) in [(target, taken), (next, kept)] {
                if pc != meet {
                    self.paths.push(Path { pc, meet, mask });
                }
            }
        }
        self.settle(kernel);
    }

    /// Executes a `brx.idx` branch; the lanes with the target of the lowest lane run first.
    pub(super) fn branch_indexed(
        &mut self,
        kernel: &Kernel,
        constants: &Constants,
        number: u32,
        taken: u32,
    ) -> Result<(), Fault> {
        let jump = &kernel.tables.control.jumps[number as usize];
        let index = self.registers.get32(constants, jump.index);
        let mut sides: Vec<(u32, u32)> = Vec::new();
        for lane in lanes(taken) {
            let Some(&target) = jump.targets.get(index[lane] as usize) else {
                let kind = FaultKind::BranchIndex {
                    index: index[lane],
                    targets: jump.targets.len(),
                };
                return Err(Fault::at(lane, kind));
            };
            match sides.iter_mut().find(|(known, _)| *known == target) {
                Some((_, mask)) => *mask |= 1 << lane,
                None => sides.push((target, 1 << lane)),
            }
        }
        let Some(top) = self.paths.last_mut() else {
            return Ok(());
        };
        let (next, kept) = (top.pc + 1, top.mask & !taken);
        if kept != 0 {
            sides.push((next, kept));
        }
        if let [(target, _)] = sides[..] {
            top.pc = target;
        } else {
            if jump.meet == top.meet {
                // The lanes are in the path below already.
                self.paths.pop();
            } else {
                top.pc = jump.meet;
            }
            let meet = jump.meet;
            for &(pc, mask) in sides.iter().rev().filter(|(pc, _)| *pc != meet) {
                self.paths.push(Path { pc, meet, mask });
            }
        }
        self.settle(kernel);
        Ok(())
    }

    /// Returns the call site of an indirect call if all lanes call the same function. If not, the
    /// lanes diverge: those with the lowest lane's target run first, and all reconverge after the
    /// call.
    pub(super) fn called(
        &mut self,
        kernel: &Kernel,
        constants: &Constants,
        number: u32,
        mask: u32,
    ) -> Result<Option<u32>, Fault> {
        let call = &kernel.tables.control.indirect_calls[number as usize];
        let registers = &self.registers;
        let address = |lane: usize| registers.get(constants, call.pointer, call.wide, lane);
        let first = mask.trailing_zeros() as usize;
        let wanted = address(first);
        let group = lanes(mask)
            .filter(|&lane| address(lane) == wanted)
            .fold(0, |group, lane| group | 1 << lane);
        let site = call.sites.iter().find(|(known, _)| *known == wanted);
        let Some(&(_, site)) = site else {
            return Err(Fault::at(first, FaultKind::CallTarget { address: wanted }));
        };
        if group == mask {
            return Ok(Some(site));
        }
        if let Some(top) = self.paths.last_mut() {
            let (pc, meet) = (top.pc, top.pc + 1);
            if meet == top.meet {
                // The lanes are in the path below already.
                self.paths.pop();
            } else {
                top.pc = meet;
            }
            for mask in [mask & !group, group] {
                self.paths.push(Path { pc, meet, mask });
            }
        }
        Ok(None)
    }

    /// Ends the current call (`ret`) or the thread (`exit`) for `lanes`.
    pub(super) fn leave(&mut self, kernel: &Kernel, lanes: u32, whole_thread: bool) {
        let first = match self.activations.last() {
            Some(activation) if !whole_thread => activation.paths,
            _ => 0,
        };
        if let Some(top) = self.paths.last_mut() {
            top.pc += 1;
        }
        for path in &mut self.paths[first..] {
            path.mask &= !lanes;
        }
        self.settle(kernel);
    }

    /// Advances to the next instruction, and merges with the path below at the reconvergence point.
    #[inline(always)]
    pub(super) fn advance(&mut self, kernel: &Kernel) {
        if let Some(top) = self.paths.last_mut() {
            top.pc += 1;
            if top.pc == top.meet {
                self.settle(kernel);
            }
        }
    }

    /// Drops finished paths and calls until the top path has an instruction to execute.
    pub(super) fn settle(&mut self, kernel: &Kernel) {
        while let Some(activation) = self.activations.last() {
            if self.paths.len() == activation.paths {
                if self.activations.len() == 1 {
                    return;
                }
                self.end_call(kernel);
                continue;
            }
            match self.paths.last() {
                Some(top) if top.mask == 0 || top.pc == top.meet || top.pc == NO_PC => {
                    self.paths.pop();
                }
                _ => return,
            }
        }
    }

    /// Charges the frame of a call before it is opened.
    pub(super) fn cover_call(
        &mut self,
        kernel: &Kernel,
        number: usize,
        mask: u32,
    ) -> Result<(), Fault> {
        let frame = kernel.frames[kernel.tables.control.calls[number].callee];
        let lane = mask.trailing_zeros() as usize;
        let bytes = u64::from(self.stack_top()) + u64::from(frame.bytes);
        if bytes > LOCAL_WINDOW.end - LOCAL_WINDOW.start {
            return Err(Fault::at(lane, FaultKind::FrameTooLarge { bytes }));
        }
        let covered = self.cover(bytes as u32, register_bytes(frame.words, frame.doubles));
        covered.map_err(|error| Fault::at(lane, FaultKind::OverBudget(error)))
    }

    /// Opens a call; the caller's path advances past the call instruction.
    pub(super) fn call(
        &mut self,
        kernel: &Kernel,
        constants: &Constants,
        number: usize,
        mask: u32,
    ) {
        let pc = self.pc();
        if let Some(top) = self.paths.last_mut() {
            top.pc += 1;
        }
        let caller = *self
            .activations
            .last()
            .expect("the frame of the kernel is always open");
        let site = &kernel.tables.control.calls[number];
        let (above, frame) = (kernel.frames[caller.function], kernel.frames[site.callee]);
        let private = caller.private_end;
        let callee = Activation {
            function: site.callee,
            site: number,
            pc,
            mask,
            words: caller.words + above.words,
            doubles: caller.doubles + above.doubles,
            predicates: caller.predicates + above.predicates,
            private,
            private_end: private + frame.bytes,
            paths: self.paths.len(),
        };
        let registers = &mut self.registers;
        registers
            .words
            .resize(callee.words + frame.words, Box::new(Register::new()));
        registers
            .doubles
            .resize(callee.doubles + frame.doubles, Box::new(Register::new()));
        registers
            .predicates
            .resize(callee.predicates + frame.predicates, 0);
        self.private.resize(callee.private_end);
        self.pass_arguments(constants, site, &caller, &callee);
        self.activations.push(callee);
        self.enter(&callee);
        self.paths.push(Path {
            pc: frame.entry,
            meet: NO_PC,
            mask,
        });
    }

    fn pass_arguments(
        &mut self,
        constants: &Constants,
        site: &CallSite,
        caller: &Activation,
        callee: &Activation,
    ) {
        for transfer in &site.arguments {
            match *transfer {
                Transfer::Memory {
                    caller: from,
                    callee: to,
                    bytes,
                } => {
                    let (from, to) = (caller.private + from, callee.private + to);
                    self.copy_private(from, to, bytes, callee.mask);
                }
                Transfer::Word {
                    caller: from,
                    callee: to,
                } if to.0 != NO_REGISTER => {
                    let value = *self.registers.get32(constants, from);
                    **self.registers.words[callee.words + usize::from(to.0)] = value;
                }
                Transfer::Double {
                    caller: from,
                    callee: to,
                } if to.0 != NO_REGISTER => {
                    let value = *self.registers.get64(constants, from);
                    **self.registers.doubles[callee.doubles + usize::from(to.0)] = value;
                }
                Transfer::Predicate {
                    caller: from,
                    callee: to,
                } if to != NO_REGISTER => {
                    let bits = self.registers.predicates[caller.predicates + usize::from(from)];
                    self.registers.predicates[callee.predicates + usize::from(to)] = bits;
                }
                _ => {}
            }
        }
    }

    /// Closes the innermost call and copies its results to the caller.
    fn end_call(&mut self, kernel: &Kernel) {
        let Some(callee) = self.activations.pop() else {
            return;
        };
        let caller = *self
            .activations
            .last()
            .expect("the frame of the kernel is always open");
        let site = &kernel.tables.control.calls[callee.site];
        self.enter(&caller);
        if let Some(ended) = &mut self.ended {
            ended.push((caller, callee));
        }
        for transfer in &site.results {
            match *transfer {
                Transfer::Memory {
                    caller: to,
                    callee: from,
                    bytes,
                } => {
                    let (from, to) = (callee.private + from, caller.private + to);
                    self.copy_private(from, to, bytes, callee.mask);
                }
                Transfer::Word {
                    caller: to,
                    callee: from,
                } if from.0 != NO_REGISTER => {
                    let value = **self.registers.words[callee.words + usize::from(from.0)];
                    self.registers.put32(to.0, callee.mask, &value);
                }
                Transfer::Double {
                    caller: to,
                    callee: from,
                } if from.0 != NO_REGISTER => {
                    let value = **self.registers.doubles[callee.doubles + usize::from(from.0)];
                    self.registers.put64(to.0, callee.mask, &value);
                }
                Transfer::Predicate {
                    caller: to,
                    callee: from,
                } if from != NO_REGISTER => {
                    let at = callee.predicates + usize::from(from);
                    let bits = self.registers.predicates[at];
                    self.registers.put_predicate(to, callee.mask, bits);
                }
                _ => {}
            }
        }
        self.registers.words.truncate(callee.words);
        self.registers.doubles.truncate(callee.doubles);
        self.registers.predicates.truncate(callee.predicates);
        self.private.bytes = caller.private_end;
    }

    /// Makes the registers of a call the current ones.
    fn enter(&mut self, activation: &Activation) {
        self.registers.word = activation.words;
        self.registers.double = activation.doubles;
        self.registers.predicate = activation.predicates;
    }

    fn copy_private(&mut self, from: u32, to: u32, bytes: u32, mask: u32) {
        let step = if (from | to | bytes).is_multiple_of(4) {
            4
        } else {
            1
        };
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            for at in (0..bytes).step_by(step as usize) {
                let value = self.private.read(lane, (from + at) as usize, step);
                self.private.write(lane, (to + at) as usize, step, value);
            }
        }
    }
}
