//! Reconvergence stack of a wavefront: divergent paths and the calls they are in.
//!
//! The top path executes. A divergent branch leaves a path waiting at the reconvergence point and
//! pushes one path per side. A path that reaches its reconvergence point is dropped, since its
//! lanes are also in the path below. Each call opens its own section of the stack.

use crate::exec::Machine;
use crate::exec::access::lanes;
use crate::exec::error::{Fault, FaultKind};
use crate::exec::observe::Observer;
use crate::exec::registers::Register;
use crate::exec::wavefront::Wavefront;
use crate::ops::{CallSite, NO_PC, NO_REGISTER, Transfer};

/// Maximum private memory per thread in bytes (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability", local memory per thread).
const PRIVATE_MAX: u64 = 512 << 10;

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

impl<O: Observer> Machine<'_, O> {
    /// Executes a branch; `taken` is a subset of the active lanes.
    pub(super) fn branch(&self, wavefront: &mut Wavefront, taken: u32, target: u32, meet: u32) {
        let Some(top) = wavefront.paths.last_mut() else {
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
                wavefront.paths.pop();
            } else {
                top.pc = meet;
            }
            for (pc, mask) in [(target, taken), (next, kept)] {
                if pc != meet {
                    wavefront.paths.push(Path { pc, meet, mask });
                }
            }
        }
        self.settle(wavefront);
    }

    /// Executes a `brx.idx` branch; the lanes with the target of the lowest lane run first.
    pub(super) fn branch_indexed(
        &self,
        wavefront: &mut Wavefront,
        number: u32,
        taken: u32,
    ) -> Result<(), Fault> {
        let jump = &self.kernel.tables.jumps[number as usize];
        let index = wavefront.registers.get32(&self.constants32, jump.index);
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
        let Some(top) = wavefront.paths.last_mut() else {
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
                wavefront.paths.pop();
            } else {
                top.pc = jump.meet;
            }
            let meet = jump.meet;
            for &(pc, mask) in sides.iter().rev().filter(|(pc, _)| *pc != meet) {
                wavefront.paths.push(Path { pc, meet, mask });
            }
        }
        self.settle(wavefront);
        Ok(())
    }

    /// Returns the call site of an indirect call if all lanes call the same function. If not, the
    /// lanes diverge: those with the lowest lane's target run first, and all reconverge after the
    /// call.
    pub(super) fn called(
        &self,
        wavefront: &mut Wavefront,
        number: u32,
        mask: u32,
    ) -> Result<Option<u32>, Fault> {
        let call = &self.kernel.tables.indirect_calls[number as usize];
        let registers = &wavefront.registers;
        let address = |lane: usize| {
            if call.wide {
                registers.get64(&self.constants64, call.pointer)[lane]
            } else {
                u64::from(registers.get32(&self.constants32, call.pointer)[lane])
            }
        };
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
        if let Some(top) = wavefront.paths.last_mut() {
            let (pc, meet) = (top.pc, top.pc + 1);
            if meet == top.meet {
                // The lanes are in the path below already.
                wavefront.paths.pop();
            } else {
                top.pc = meet;
            }
            for mask in [mask & !group, group] {
                wavefront.paths.push(Path { pc, meet, mask });
            }
        }
        Ok(None)
    }

    /// Ends the current call (`ret`) or the thread (`exit`) for `lanes`.
    pub(super) fn leave(&self, wavefront: &mut Wavefront, lanes: u32, whole_thread: bool) {
        let first = match wavefront.activations.last() {
            Some(activation) if !whole_thread => activation.paths,
            _ => 0,
        };
        if let Some(top) = wavefront.paths.last_mut() {
            top.pc += 1;
        }
        for path in &mut wavefront.paths[first..] {
            path.mask &= !lanes;
        }
        self.settle(wavefront);
    }

    /// Drops finished paths and calls until the top path has an instruction to execute.
    pub(super) fn settle(&self, wavefront: &mut Wavefront) {
        while let Some(activation) = wavefront.activations.last() {
            if wavefront.paths.len() == activation.paths {
                if wavefront.activations.len() == 1 {
                    return;
                }
                self.end_call(wavefront);
                continue;
            }
            match wavefront.paths.last() {
                Some(top) if top.mask == 0 || top.pc == top.meet || top.pc == NO_PC => {
                    wavefront.paths.pop();
                }
                _ => return,
            }
        }
    }

    /// Opens a call; the caller's path advances past the call instruction.
    pub(super) fn call(
        &self,
        wavefront: &mut Wavefront,
        number: usize,
        mask: u32,
    ) -> Result<(), Fault> {
        if wavefront.activations.len() > self.options.call_depth as usize {
            return Err(Fault {
                lane: None,
                kind: FaultKind::CallDepth,
            });
        }
        let pc = wavefront.pc();
        if let Some(top) = wavefront.paths.last_mut() {
            top.pc += 1;
        }
        let caller = *wavefront
            .activations
            .last()
            .expect("the frame of the kernel is always open");
        let site = &self.kernel.tables.calls[number];
        let (above, frame) = (
            self.kernel.frames[caller.function],
            self.kernel.frames[site.callee],
        );
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
            paths: wavefront.paths.len(),
        };
        let registers = &mut wavefront.registers;
        registers
            .words
            .resize(callee.words + frame.words, Box::new(Register::new()));
        registers
            .doubles
            .resize(callee.doubles + frame.doubles, Box::new(Register::new()));
        registers
            .predicates
            .resize(callee.predicates + frame.predicates, 0);
        wavefront.private.resize(callee.private_end);
        self.pass_arguments(wavefront, site, &caller, &callee);
        wavefront.activations.push(callee);
        wavefront.enter(&callee);
        wavefront.paths.push(Path {
            pc: frame.entry,
            meet: NO_PC,
            mask,
        });
        Ok(())
    }

    fn pass_arguments(
        &self,
        wavefront: &mut Wavefront,
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
                    wavefront.copy_private(from, to, bytes, callee.mask);
                }
                Transfer::Word {
                    caller: from,
                    callee: to,
                } if to.0 != NO_REGISTER => {
                    let value = *wavefront.registers.get32(&self.constants32, from);
                    **wavefront.registers.words[callee.words + usize::from(to.0)] = value;
                }
                Transfer::Double {
                    caller: from,
                    callee: to,
                } if to.0 != NO_REGISTER => {
                    let value = *wavefront.registers.get64(&self.constants64, from);
                    **wavefront.registers.doubles[callee.doubles + usize::from(to.0)] = value;
                }
                Transfer::Predicate {
                    caller: from,
                    callee: to,
                } if to != NO_REGISTER => {
                    let bits =
                        wavefront.registers.predicates[caller.predicates + usize::from(from)];
                    wavefront.registers.predicates[callee.predicates + usize::from(to)] = bits;
                }
                _ => {}
            }
        }
    }

    /// Closes the innermost call and copies its results to the caller.
    fn end_call(&self, wavefront: &mut Wavefront) {
        let Some(callee) = wavefront.activations.pop() else {
            return;
        };
        let caller = *wavefront
            .activations
            .last()
            .expect("the frame of the kernel is always open");
        let site = &self.kernel.tables.calls[callee.site];
        wavefront.enter(&caller);
        if O::WATCHES {
            wavefront.ended.push((caller, callee));
        }
        for transfer in &site.results {
            match *transfer {
                Transfer::Memory {
                    caller: to,
                    callee: from,
                    bytes,
                } => {
                    let (from, to) = (callee.private + from, caller.private + to);
                    wavefront.copy_private(from, to, bytes, callee.mask);
                }
                Transfer::Word {
                    caller: to,
                    callee: from,
                } if from.0 != NO_REGISTER => {
                    let value = **wavefront.registers.words[callee.words + usize::from(from.0)];
                    wavefront.registers.put32(to.0, callee.mask, &value);
                }
                Transfer::Double {
                    caller: to,
                    callee: from,
                } if from.0 != NO_REGISTER => {
                    let value = **wavefront.registers.doubles[callee.doubles + usize::from(from.0)];
                    wavefront.registers.put64(to.0, callee.mask, &value);
                }
                Transfer::Predicate {
                    caller: to,
                    callee: from,
                } if from != NO_REGISTER => {
                    let at = callee.predicates + usize::from(from);
                    let bits = wavefront.registers.predicates[at];
                    wavefront.registers.put_predicate(to, callee.mask, bits);
                }
                _ => {}
            }
        }
        wavefront.registers.words.truncate(callee.words);
        wavefront.registers.doubles.truncate(callee.doubles);
        wavefront.registers.predicates.truncate(callee.predicates);
        wavefront.private.bytes = caller.private_end;
    }
}

impl Wavefront {
    /// Makes the registers of a call the current ones.
    fn enter(&mut self, activation: &Activation) {
        self.registers.word = activation.words;
        self.registers.double = activation.doubles;
        self.registers.predicate = activation.predicates;
    }

    /// Allocates private memory for every lane until the end of the innermost call, and returns its
    /// start. Returns `None` if a thread does not have that much.
    pub(super) fn allocate(&mut self, bytes: u64, align: u32) -> Option<u32> {
        let call = self
            .activations
            .last_mut()
            .expect("the frame of the kernel is always open");
        let start = call.private_end.next_multiple_of(align);
        let end = u64::from(start).checked_add(bytes)?.next_multiple_of(16);
        if end > PRIVATE_MAX {
            return None;
        }
        call.private_end = end as u32;
        self.private.resize(call.private_end);
        Some(start)
    }

    /// Returns the end of the innermost call's private memory.
    pub(super) fn stack_top(&self) -> u32 {
        self.activations.last().map_or(0, |call| call.private_end)
    }

    /// Frees private memory from `top` on if all lanes of the call do so together; otherwise other
    /// lanes may still use it.
    pub(super) fn restore_stack(&mut self, top: u64, mask: u32) {
        let call = self
            .activations
            .last_mut()
            .expect("the frame of the kernel is always open");
        let first = call.paths;
        let lanes = self.paths[first..]
            .iter()
            .fold(0, |all, path| all | path.mask);
        if lanes == mask && (u64::from(call.private)..u64::from(call.private_end)).contains(&top) {
            call.private_end = top as u32;
            self.private.bytes = call.private_end;
        }
    }

    /// Writes the same address to all lanes.
    pub(super) fn put_address(&mut self, d: u16, mask: u32, address: u32, wide: bool) {
        if wide {
            self.registers.put64(d, mask, &[u64::from(address); 32]);
        } else {
            self.registers.put32(d, mask, &[address; 32]);
        }
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
