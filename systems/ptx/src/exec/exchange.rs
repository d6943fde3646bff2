//! Exchange between lanes (PTX ISA, "shfl", "vote", "match", "redux", "elect").

use crate::exec::atomic::apply;
use crate::exec::constants::Constants;
use crate::exec::registers::lanes;
use crate::exec::wavefront::Wavefront;
use crate::kernel::Tables;
use crate::ops::{AtomicKind, Op, Shuffle, ShuffleMode, Src, Vote, VoteMode};

/// Executes an exchange between the lanes of a wavefront.
#[inline(always)]
pub(super) fn exchange(
    op: &Op,
    tables: &Tables,
    wavefront: &mut Wavefront,
    constants: &Constants,
    mask: u32,
) {
    match *op {
        Op::Shuffle(at) => shuffle(wavefront, constants, &tables.shuffles[at as usize], mask),
        Op::ActiveMask { d } => wavefront.registers.put32(d, mask, &[mask; 32]),
        Op::Vote(at) if mask != 0 => vote(wavefront, constants, &tables.votes[at as usize], mask),
        Op::Match {
            d,
            a,
            wide,
            members,
        } if mask != 0 => {
            let compared = Compared { a, wide, members };
            match_any(wavefront, constants, d, compared, mask);
        }
        Op::MatchAll {
            d,
            p,
            a,
            wide,
            members,
        } if mask != 0 => {
            let compared = Compared { a, wide, members };
            match_all(wavefront, constants, (d, p), compared, mask);
        }
        Op::Reduce {
            kind,
            d,
            a,
            members,
        } if mask != 0 => reduce(wavefront, constants, kind, (d, a), members, mask),
        Op::Elect { d, p, members } if mask != 0 => {
            elect(wavefront, constants, (d, p), members, mask);
        }
        // No lane executes it.
        _ => {}
    }
}

fn shuffle(wavefront: &mut Wavefront, constants: &Constants, shuffle: &Shuffle, mask: u32) {
    let registers = &wavefront.registers;
    let a = *registers.get32(constants, shuffle.a);
    let b = *registers.get32(constants, shuffle.b);
    let c = *registers.get32(constants, shuffle.c);
    let mut out = [0; 32];
    let mut inside = 0u32;
    for lane in lanes(mask) {
        let (source, valid) = taken_lane(shuffle.mode, lane as u32, b[lane], c[lane]);
        inside |= u32::from(valid) << lane;
        out[lane] = a[source as usize];
    }
    wavefront
        .registers
        .put32_unless_discarded(shuffle.d, mask, &out);
    wavefront.registers.put_predicate(shuffle.p, mask, inside);
}

/// Returns the lane from which a shuffle takes the value for lane `at`, and true if it is inside
/// the segment.
#[inline(always)]
pub(super) fn taken_lane(mode: ShuffleMode, at: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 0x1f, c & 0x1f, c >> 8 & 0x1f);
    let highest = at & segment | clamp & !segment;
    let lowest = at & segment;
    let (source, valid) = match mode {
        ShuffleMode::Up => (at.wrapping_sub(b), at as i32 - b as i32 >= highest as i32),
        ShuffleMode::Down => (at + b, at + b <= highest),
        ShuffleMode::Butterfly => (at ^ b, at ^ b <= highest),
        ShuffleMode::Index => {
            let source = lowest | b & !segment;
            (source, source <= highest)
        }
    };
    (if valid { source & 31 } else { at }, valid)
}

fn vote(wavefront: &mut Wavefront, constants: &Constants, vote: &Vote, mask: u32) {
    let members = match vote.members {
        // Lanes named but not here cannot vote; the ISA leaves that case undefined.
        Some(members) => executing(wavefront, constants, members, mask),
        None => mask,
    };
    let held = wavefront.registers.predicate(vote.a) & members;
    let result = match vote.mode {
        VoteMode::All => held == members,
        VoteMode::Any => held != 0,
        VoteMode::Uniform => held == 0 || held == members,
        VoteMode::Ballot => {
            wavefront
                .registers
                .put32_unless_discarded(vote.d, mask, &[held; 32]);
            return;
        }
    };
    let bits = if result { u32::MAX } else { 0 };
    wavefront.registers.put_predicate(vote.d, mask, bits);
}

/// Operand that lanes compare, with the mask of those that take part.
struct Compared {
    a: Src,
    wide: bool,
    members: Src,
}

fn match_any(
    wavefront: &mut Wavefront,
    constants: &Constants,
    d: u16,
    compared: Compared,
    mask: u32,
) {
    let Compared { a, wide, members } = compared;
    let members = executing(wavefront, constants, members, mask);
    let mut out = [0; 32];
    for lane in lanes(mask) {
        for other in lanes(members) {
            let registers = &wavefront.registers;
            let value = |lane| registers.get(constants, a, wide, lane);
            let equal = value(lane) == value(other);
            out[lane] |= u32::from(equal) << other;
        }
    }
    wavefront.registers.put32_unless_discarded(d, mask, &out);
}

fn match_all(
    wavefront: &mut Wavefront,
    constants: &Constants,
    (d, p): (u16, u16),
    compared: Compared,
    mask: u32,
) {
    let Compared { a, wide, members } = compared;
    let members = executing(wavefront, constants, members, mask);
    let registers = &wavefront.registers;
    let value = |lane: usize| registers.get(constants, a, wide, lane);
    let first = value(members.trailing_zeros() as usize & 31);
    let equal = lanes(members).all(|lane| value(lane) == first);
    let (found, held) = if equal { (members, u32::MAX) } else { (0, 0) };
    let registers = &mut wavefront.registers;
    registers.put32_unless_discarded(d, mask, &[found; 32]);
    registers.put_predicate(p, mask, held);
}

fn reduce(
    wavefront: &mut Wavefront,
    constants: &Constants,
    kind: AtomicKind,
    (d, a): (u16, Src),
    members: Src,
    mask: u32,
) {
    let members = executing(wavefront, constants, members, mask);
    let values = wavefront.registers.get32(constants, a);
    let result = lanes(members)
        .map(|lane| u64::from(values[lane]))
        .reduce(|all, value| apply(kind, false, all, value, 0))
        .unwrap_or(0);
    let result = match kind {
        // A lane alone gives its size or its canonical NaN.
        AtomicKind::MinF32 { .. } | AtomicKind::MaxF32 { .. } => {
            apply(kind, false, result, result, 0)
        }
        _ => result,
    };
    let registers = &mut wavefront.registers;
    registers.put32_unless_discarded(d, mask, &[result as u32; 32]);
}

fn elect(
    wavefront: &mut Wavefront,
    constants: &Constants,
    (d, p): (u16, u16),
    members: Src,
    mask: u32,
) {
    let members = executing(wavefront, constants, members, mask);
    let leader = members.trailing_zeros() & 31;
    let registers = &mut wavefront.registers;
    registers.put32_unless_discarded(d, mask, &[leader; 32]);
    registers.put_predicate(p, mask, 1 << leader);
}

/// Returns the executing lanes within the member mask of the first executing lane.
pub(super) fn executing(
    wavefront: &Wavefront,
    constants: &Constants,
    members: Src,
    mask: u32,
) -> u32 {
    let named = wavefront.registers.get32(constants, members);
    named[mask.trailing_zeros() as usize & 31] & mask
}
