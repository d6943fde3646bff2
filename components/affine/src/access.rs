//! Accesses to global and local memory: where each load, store or atomic of a kernel goes.

use warpweave_trace::{Class, Instruction, Operand, ReadPath, Space};

use crate::cause::Cause;
use crate::domain;
use crate::eval::{Evaluator, condition, restrict};
use crate::form::Form;
use crate::reference::{Exactness, Piece, Reference};
use crate::state::{State, known};
use crate::symbol::SymbolKind;
use crate::value::{self, Known, Value};
use crate::variable;

/// Pieces that the addresses of one instruction may have.
const PIECES_MAX: usize = 64;

/// Offsets from a variable in local memory that keep an access out of global memory. The window of
/// local memory starts at 16 MiB and has as many bytes; device memory starts far above.
const OFFSETS_IN_LOCAL_WINDOW: (i128, i128) = (-(1 << 23), 1 << 23);

impl Evaluator<'_> {
    /// Adds the access of an instruction, if it goes to global or local memory.
    pub(crate) fn access(&mut self, pc: usize, state: &State) {
        let instruction = &self.code.instructions[pc];
        let cause = Cause::NoOperands;
        let Some(mut reference) = Reference::unknown(pc, instruction, cause) else {
            return;
        };
        match self.address(instruction, state) {
            Err(cause) => reference.exactness = Exactness::Unknown(cause),
            Ok(address) => self.pieces(pc, &mut reference, &address, state),
        }
        self.references.insert(pc, reference);
    }

    fn pieces(&self, pc: usize, reference: &mut Reference, address: &Known, state: &State) {
        let line = reference.line;
        let mut here = state.clone();
        if let Some(guard) = self.code.instructions[pc].guard {
            let condition = condition(state, guard);
            restrict(&self.symbols, &mut here, &condition, true);
        }
        let is_local = self.code.instructions[pc].space == Space::Shared;
        let is_exact = here.is_exact && address.is_exact;
        reference.exactness = if is_exact {
            Exactness::Exact
        } else {
            Exactness::May(Cause::Condition { line })
        };
        for case in here.cases.iter() {
            for alternative in &address.list {
                let Some(when) = value::both(&self.symbols, case, &alternative.when) else {
                    continue;
                };
                if domain::is_empty(&self.symbols, &when) {
                    continue;
                }
                if let Some(unproven) = alternative.pending.iter().find(|obligation| {
                    let (form, range) = (&obligation.form, obligation.range);
                    !domain::lies_in(&self.symbols, form, range, &when)
                }) {
                    let line = unproven.line;
                    reference.exactness = Exactness::Unknown(Cause::Wraps { line });
                    reference.pieces.clear();
                    return;
                }
                if !is_local
                    && let Some(offset) = self.symbols.offset_in_local_window(&alternative.form)
                {
                    if domain::lies_in(&self.symbols, &offset, OFFSETS_IN_LOCAL_WINDOW, &when) {
                        continue;
                    }
                    reference.exactness = Exactness::Unknown(Cause::LeavesLocal { line });
                    reference.pieces.clear();
                    return;
                }
                if let Some(name) = self
                    .symbols
                    .variable(&alternative.form)
                    .filter(|_| !is_local)
                {
                    let name = name.to_owned();
                    reference.exactness = Exactness::Unknown(Cause::Variable { name });
                    reference.pieces.clear();
                    return;
                }
                if let Some(line) = self.unbounded(&alternative.form) {
                    reference.exactness = Exactness::Unknown(Cause::Iterations { line });
                    reference.pieces.clear();
                    return;
                }
                let range = (0, i128::from(u64::MAX) - i128::from(reference.bytes) + 1);
                // Which banks lanes share depends on the differences of their addresses alone.
                if !is_local && !domain::lies_in(&self.symbols, &alternative.form, range, &when) {
                    reference.exactness = Exactness::Unknown(Cause::Wraps { line });
                    reference.pieces.clear();
                    return;
                }
                let mut all = when.clone();
                all.push(alternative.form.clone());
                self.symbols.close(&mut all);
                if !all.iter().all(|form| self.symbols.is_moderate(form)) {
                    reference.exactness = Exactness::Unknown(Cause::TooLarge);
                    reference.pieces.clear();
                    return;
                }
                let form = alternative.form.clone();
                let piece = Piece { form, when };
                if !reference.pieces.contains(&piece) {
                    reference.pieces.push(piece);
                }
            }
        }
        if reference.pieces.is_empty() {
            // Not even the cases that are too many occur.
            reference.exactness = Exactness::Exact;
        }
        if reference.pieces.len() > PIECES_MAX {
            let max = PIECES_MAX;
            reference.exactness = Exactness::Unknown(Cause::Cases { max, line });
            reference.pieces.clear();
        }
    }

    /// Returns the line of a loop without bounds that the form counts.
    fn unbounded(&self, form: &Form) -> Option<u32> {
        let mut forms = vec![form.clone()];
        self.symbols.close(&mut forms);
        let mut terms = forms.iter().flat_map(Form::terms);
        terms.find_map(|&(symbol, _)| match self.symbols.kind(symbol) {
            SymbolKind::Counter { line } if self.symbols.get(symbol).is_unbounded => Some(*line),
            _ => None,
        })
    }

    /// Returns the value of the address operand.
    fn address(&self, instruction: &Instruction, state: &State) -> Result<Known, Cause> {
        if instruction.hints.path == ReadPath::Texture {
            return Err(Cause::Texture);
        }
        let operands = &instruction.operands[..];
        let line = instruction.line;
        let is_local = instruction.space == Space::Shared;
        // Local memory is small: its addresses may be held in 32 bits.
        let bits = if is_local { 32 } else { 64 };
        let opcode = || Cause::Opcode {
            opcode: instruction.opcode.clone(),
            line,
        };
        if instruction.opcode.contains("cache_hint") {
            return Err(opcode());
        }
        if operands.is_empty() {
            return Err(Cause::NoOperands);
        }
        // A load has its address at the end; a store and a reduction at the start.
        let is_read = |operand: &Operand| match operand {
            Operand::Register(number) => instruction.reads.contains(*number),
            _ => false,
        };
        let place = match instruction.class {
            Class::Load => operands.len().checked_sub(2),
            _ if instruction.writes.is_empty() => Some(0),
            _ => Some(1),
        };
        let pair = place.and_then(|at| operands.get(at..at + 2));
        if let Some([base @ Operand::Register(number), Operand::Immediate(offset)]) = pair
            && is_read(base)
        {
            let value = state.register(*number).map(|value| &**value);
            let known = known(value, bits, line)?;
            return match known.mapped(bits, line, |form| Some(form.shifted(i128::from(*offset)))) {
                Value::Known(known) => Ok(known),
                Value::Unknown(cause) => Err(cause),
                _ => Err(opcode()),
            };
        }
        let single = match instruction.class {
            Class::Load => operands.last(),
            _ => place.and_then(|at| operands.get(at)),
        };
        match single {
            Some(Operand::Immediate(address)) => {
                let address = i128::from(*address as u64);
                Ok(Known::of(64, Form::number(address)))
            }
            Some(Operand::Symbol(name)) if is_local => {
                let address = variable::address(&self.symbols, name);
                let form = address.ok_or_else(|| Cause::Variable { name: name.clone() })?;
                Ok(Known::of(64, form))
            }
            Some(Operand::Symbol(name)) => Err(Cause::Variable { name: name.clone() }),
            _ => Err(opcode()),
        }
    }
}
