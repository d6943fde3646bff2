//! Instructions in the form and order in which a compiler for hardware leaves them.
//!
//! PTX keeps the order of the program's text, in which most loads are used at once, and has
//! instructions that hardware does not need. The steps, each in its file, change neither the values
//! that a program computes nor its accesses to global memory:
//!
//! 1. `predicate`: short branches become predicates;
//! 2. `copies`: copies go, and `fuse` makes one instruction of 64-bit address arithmetic;
//! 3. `narrow`: addresses of local memory take 32 bits;
//! 4. `join`: neighbouring loads of local and constant memory become one;
//! 5. `expand`: divisions take the instructions that hardware has for them;
//! 6. `order`: loads come first in each basic block, while registers last.
//!
//! `blocks` is the form in which the first five work, `values` tells where a value stays the same,
//! and `dependences` what must stay in order.

mod blocks;
mod copies;
mod dependences;
mod expand;
mod fuse;
mod join;
mod narrow;
mod order;
mod predicate;
mod values;

use crate::lower::compile::blocks::Blocks;
use crate::lower::names::{Body, Formal, SharedVariable};

pub(crate) use self::join::shared_alignment;

/// Registers of a compute unit, wavefronts and work-groups that it holds. Source: CUDA C++
/// Programming Guide, "Technical Specifications per Compute Capability", 7.0, 8.0 and 9.0.
const UNIT: (u32, u32, u32) = (65_536, 64, 32);
const LANES: u32 = 32;
/// Registers are allotted in steps of this many for each lane, from the same table.
const STEP: u32 = 8;

/// Brings a function into the form of compiled code. `shared` are the module's variables in local
/// memory, and `threads` is the largest work-group that the function declares.
pub(crate) fn compile(body: &mut Body<'_>, shared: &[SharedVariable], threads: Option<u64>) {
    let outside: Vec<u32> = body
        .parameters
        .iter()
        .chain(&body.returns)
        .filter_map(|formal| match formal {
            Formal::Register(register) => Some(*register),
            Formal::Memory(_) => None,
        })
        .collect();
    let mut blocks = Blocks::take(body);
    predicate::convert(&mut blocks, body.registers.len(), &outside);
    copies::remove(&mut blocks, &body.registers, &outside);
    fuse::fuse(&mut blocks, &body.registers, &outside);
    copies::remove_unread(&mut blocks, body.registers.len());
    narrow::narrow(&mut blocks, &mut body.registers, &outside);
    copies::remove(&mut blocks, &body.registers, &outside);
    join::join(&mut blocks, &body.registers, shared, &outside);
    expand::expand(&mut blocks, &mut body.registers);
    blocks.put(body);
    order::schedule(body, registers_that_fit(threads));
}

/// Returns the most registers of a thread with which a unit is full of work-groups of this size.
fn registers_that_fit(threads: Option<u64>) -> u32 {
    let (registers, wavefronts, groups) = UNIT;
    let held = threads.map_or(wavefronts, |threads| {
        let of_group = threads
            .div_ceil(u64::from(LANES))
            .clamp(1, u64::from(wavefronts)) as u32;
        groups.min(wavefronts / of_group) * of_group
    });
    registers / (held * LANES) / STEP * STEP
}
