//! Paths of a wavefront: the stack of parted lanes and the calls they are in.
//!
//! The top path executes. A branch whose lanes disagree leaves a path waiting at the meeting
//! point and pushes one path per side; a path that reaches its meeting point is dropped, its lanes
//! being in the one below. Each call opens its own section of the stack.

use crate::exec::Machine;
use crate::exec::error::{Fault, FaultKind};
use crate::exec::observe::Observer;
use crate::exec::wavefront::Wavefront;
use crate::ops::{CallSite, NO_PC, NO_REGISTER, Transfer};

#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) pc: u32,
    /// Where the lanes join those below; [`NO_PC`] at the bottom of a call.
    pub(super) meet: u32,
    pub(super) mask: u32,
}

/// An open call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activation {
    /// Place in the kernel's frame table.
    pub(super) function: usize,
    /// Call site in the caller.
    pub(super) site: usize,
    /// Instruction of the call.
    pub(super) pc: u32,
    /// Lanes that made the call.
    pub(super) mask: u32,
    /// Starts of its registers, private memory and paths.
    pub(super) words: usize,
    pub(super) doubles: usize,
    pub(super) predicates: usize,
    pub(super) private: u32,
    pub(super) paths: usize,
}

impl<O: Observer> Machine<'_, O> {
    /// Moves past a branch; `taken` is a subset of the active lanes.
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

    /// Ends `lanes` of the current call (`ret`) or of the thread (`exit`).
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

    /// Drops finished paths and calls until the top path has something to do.
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

    /// Opens a call; the caller's path moves behind it.
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
            .expect("the kernel itself is open");
        let site = &self.kernel.tables.calls[number];
        let (above, frame) = (
            self.kernel.frames[caller.function],
            self.kernel.frames[site.callee],
        );
        let callee = Activation {
            function: site.callee,
            site: number,
            pc,
            mask,
            words: caller.words + above.words,
            doubles: caller.doubles + above.doubles,
            predicates: caller.predicates + above.predicates,
            private: caller.private + above.bytes,
            paths: wavefront.paths.len(),
        };
        let registers = &mut wavefront.registers;
        registers
            .words
            .resize(callee.words + frame.words, Box::new([0; 32]));
        registers
            .doubles
            .resize(callee.doubles + frame.doubles, Box::new([0; 32]));
        registers
            .predicates
            .resize(callee.predicates + frame.predicates, 0);
        wavefront.private.resize(callee.private + frame.bytes);
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
                    *wavefront.registers.words[callee.words + usize::from(to.0)] = value;
                }
                Transfer::Double {
                    caller: from,
                    callee: to,
                } if to.0 != NO_REGISTER => {
                    let value = *wavefront.registers.get64(&self.constants64, from);
                    *wavefront.registers.doubles[callee.doubles + usize::from(to.0)] = value;
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

    /// Closes the innermost call and hands over its results.
    fn end_call(&self, wavefront: &mut Wavefront) {
        let Some(callee) = wavefront.activations.pop() else {
            return;
        };
        let caller = *wavefront
            .activations
            .last()
            .expect("the kernel itself is open");
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
                    let value = *wavefront.registers.words[callee.words + usize::from(from.0)];
                    wavefront.registers.put32(to.0, callee.mask, &value);
                }
                Transfer::Double {
                    caller: to,
                    callee: from,
                } if from.0 != NO_REGISTER => {
                    let value = *wavefront.registers.doubles[callee.doubles + usize::from(from.0)];
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
        let frame = self.kernel.frames[caller.function];
        wavefront.registers.words.truncate(callee.words);
        wavefront.registers.doubles.truncate(callee.doubles);
        wavefront.registers.predicates.truncate(callee.predicates);
        wavefront.private.bytes = caller.private + frame.bytes;
    }
}

impl Wavefront {
    /// Makes a call's registers the current ones.
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
