//! Flow of unset values through instructions on registers and between lanes.

use super::ProgramChecker;
use super::trial::{self, Operand};
use super::unset::Unset;
use crate::alloc::File;
use crate::exec::exchange::{executing, taken_lane};
use crate::exec::observe::Step;
use crate::exec::registers::lanes;
use crate::ops::{Lanes64, Op, Pred, Src, VoteMode};
use crate::site::{FunctionShape, Origin, Rule, Site};

/// Unset part of a result: its index among the results, the lane and the bits.
pub(super) type UnsetResult = (usize, usize, Unset);

/// Registers of an instruction on which something outside them depends.
pub(super) enum Deciding {
    None,
    All,
    /// Those that name the lanes that take part.
    Members(Src),
    /// All bits of a value decide; single ones may be padding.
    Whole(u32),
}

/// Returns which sources of an operation decide more than its results.
pub(super) fn deciding(step: &Step<'_>, site: &Site) -> Deciding {
    let tables = &step.kernel.tables;
    match step.kernel.ops[step.pc as usize].op {
        Op::Barrier(_)
        | Op::BranchIndexed(_)
        | Op::Allocate { .. }
        | Op::RestoreStack { .. }
        | Op::Texture(_)
        | Op::TextureQuery { .. }
        | Op::AtomicVector { .. }
        | Op::LoadMatrix(_)
        | Op::External(_) => Deciding::All,
        Op::Nothing if site.rule == Rule::WavefrontBarrier => Deciding::All,
        Op::Vote(at) => match tables.votes[at as usize].members {
            Some(members) => Deciding::Members(members),
            None => Deciding::None,
        },
        Op::Match { members, .. }
        | Op::MatchAll { members, .. }
        | Op::Reduce { members, .. }
        | Op::Elect { members, .. } => Deciding::Members(members),
        Op::Atomic(at) => Deciding::Whole(8 * tables.atomics[at as usize].bytes),
        _ => Deciding::None,
    }
}

/// Returns the shape of the function that a wavefront executes.
fn shape<'s>(step: &Step<'s>) -> &'s FunctionShape {
    let function = step.wavefront.activations.last().map_or(0, |a| a.function);
    &step.kernel.functions[function]
}

/// Returns the source register of an instruction in the slot of an operand.
pub(super) fn source_in(step: &Step<'_>, site: &Site, operand: Operand) -> Option<u32> {
    let wanted = match operand {
        Operand::Word(Src(slot)) => (File::Word, slot),
        Operand::Double(Src(slot)) => (File::Double, slot),
        Operand::Predicate(Pred(slot)) => (File::Predicate, slot & !Pred::NEGATED),
    };
    let slots = &shape(step).slots;
    site.sources.iter().find_map(|source| match *source {
        Origin::Register(register) if slots.get(register as usize) == Some(&wanted) => {
            Some(register)
        }
        _ => None,
    })
}

impl ProgramChecker {
    /// Returns the unset parts of the results of an instruction that is about to execute.
    pub(super) fn flow(&mut self, step: &Step<'_>, site: &Site) -> Vec<UnsetResult> {
        let op = &step.kernel.ops[step.pc as usize].op;
        let reads = match op {
            Op::Shuffle(_)
            | Op::Vote(_)
            | Op::Match { .. }
            | Op::MatchAll { .. }
            | Op::Reduce { .. } => u32::MAX,
            _ => step.mask,
        };
        let registers = self.registers(step.wavefront);
        let is_unset = |source: &Origin| match *source {
            Origin::Register(register) => registers.defined[register as usize] & reads != reads,
            _ => false,
        };
        if !site.sources.iter().any(is_unset) {
            return Vec::new();
        }
        let tables = &step.kernel.tables;
        match *op {
            Op::Load(_)
            | Op::Store(_)
            | Op::Atomic(_)
            | Op::AtomicVector { .. }
            | Op::LoadMatrix(_) => Vec::new(),
            Op::MoveVector(_) => self.flow_moved(step, site),
            Op::Select32 { p, .. } | Op::Select64 { p, .. } => self.flow_selected(step, site, p),
            Op::Pack(at) => {
                let bits = tables.parts[at as usize].bits;
                self.flow_packed(step, site, bits)
            }
            Op::Join { .. } => self.flow_packed(step, site, 64),
            Op::Unpack(at) => {
                let bits = tables.parts[at as usize].bits;
                self.flow_unpacked(step, site, bits)
            }
            Op::Part { .. } => self.flow_unpacked(step, site, 64),
            Op::Shuffle(_) => self.flow_shuffled(step, site),
            Op::Vote(at) => {
                let vote = tables.votes[at as usize];
                self.flow_voted(step, site, (vote.mode, vote.a), vote.members)
            }
            Op::Match { members, .. }
            | Op::MatchAll { members, .. }
            | Op::Reduce { members, .. } => {
                let constants = step.constants;
                let members = executing(step.wavefront, constants, members, step.mask);
                self.flow_among(step, site, members)
            }
            _ if site.rule == Rule::Copy && site.sources.len() == 1 && site.results.len() == 1 => {
                self.flow_packed(step, site, 128)
            }
            _ => self.flow_computed(step, site),
        }
    }

    fn unset_source(&mut self, step: &Step<'_>, source: Origin, lane: usize) -> Option<Unset> {
        match source {
            Origin::Register(register) => self.registers(step.wavefront).unset(register, lane),
            _ => None,
        }
    }

    /// Returns an unset source with its cause; this instruction uses it first if it has none yet.
    fn used_source(&mut self, step: &Step<'_>, source: Origin, lane: usize) -> Option<Unset> {
        let unset = self.unset_source(step, source, lane)?;
        let Origin::Register(register) = source else {
            return None;
        };
        let cause = self.cause(step.wavefront, step.pc, register, lane, unset);
        Some(Unset {
            cause: Some(cause),
            ..unset
        })
    }

    /// Concatenates the sources, each of some bits, to one result.
    fn flow_packed(&mut self, step: &Step<'_>, site: &Site, bits: u32) -> Vec<UnsetResult> {
        let mut found = Vec::new();
        for lane in lanes(step.mask) {
            let mut all: Option<Unset> = None;
            for (at, &source) in site.sources.iter().enumerate() {
                if let Some(part) = self.unset_source(step, source, lane) {
                    let of_part = part.bits & u128::MAX >> (128 - bits);
                    let bits = of_part.checked_shl(bits * at as u32).unwrap_or(0);
                    all = Some(match all {
                        None => Unset { bits, ..part },
                        Some(before) => Unset {
                            bits: before.bits | bits,
                            cause: before.cause.or(part.cause),
                            is_computed: before.is_computed || part.is_computed,
                        },
                    });
                }
            }
            found.extend(all.filter(|all| all.bits != 0).map(|all| (0, lane, all)));
        }
        found
    }

    /// Passes each source on to the result at its place.
    fn flow_moved(&mut self, step: &Step<'_>, site: &Site) -> Vec<UnsetResult> {
        let mut found = Vec::new();
        for lane in lanes(step.mask) {
            for (at, &source) in site.sources.iter().enumerate() {
                let unset = self.unset_source(step, source, lane);
                found.extend(unset.map(|unset| (at, lane, unset)));
            }
        }
        found
    }

    /// Splits the source into results of some bits each.
    fn flow_unpacked(&mut self, step: &Step<'_>, site: &Site, bits: u32) -> Vec<UnsetResult> {
        let mut found = Vec::new();
        let Some(&source) = site.sources.first() else {
            return found;
        };
        for lane in lanes(step.mask) {
            let Some(whole) = self.unset_source(step, source, lane) else {
                continue;
            };
            for at in 0..site.results.len() {
                let shifted = whole.bits.checked_shr(bits * at as u32).unwrap_or(0);
                let bits = shifted & u128::MAX >> (128 - bits);
                if bits != 0 {
                    found.push((at, lane, Unset { bits, ..whole }));
                }
            }
        }
        found
    }

    fn flow_selected(&mut self, step: &Step<'_>, site: &Site, p: Pred) -> Vec<UnsetResult> {
        let chosen = step.wavefront.registers.predicate(p);
        let mut found = Vec::new();
        let &[a, b, condition] = &site.sources[..] else {
            return self.flow_computed(step, site);
        };
        for lane in lanes(step.mask) {
            let result = if self.unset_source(step, condition, lane).is_some() {
                let used = self.used_source(step, condition, lane);
                used.map(|unset| Unset {
                    bits: u128::MAX,
                    is_computed: true,
                    ..unset
                })
            } else {
                let from = if chosen >> lane & 1 != 0 { a } else { b };
                self.unset_source(step, from, lane)
            };
            found.extend(result.map(|unset| (0, lane, unset)));
        }
        found
    }

    /// Takes the value of each lane from another one; the lane and the limits are used.
    fn flow_shuffled(&mut self, step: &Step<'_>, site: &Site) -> Vec<UnsetResult> {
        let Op::Shuffle(at) = step.kernel.ops[step.pc as usize].op else {
            return Vec::new();
        };
        let shuffle = &step.kernel.tables.shuffles[at as usize];
        let (registers, constants) = (&step.wavefront.registers, step.constants);
        let b = registers.get32(constants, shuffle.b);
        let c = registers.get32(constants, shuffle.c);
        let value = source_in(step, site, Operand::Word(shuffle.a)).map(Origin::Register);
        let places = [shuffle.b, shuffle.c]
            .map(|place| source_in(step, site, Operand::Word(place)).map(Origin::Register));
        let mut found = Vec::new();
        for lane in lanes(step.mask) {
            let mut place = None;
            for source in places.into_iter().flatten() {
                place = place.or(self.used_source(step, source, lane));
            }
            if let Some(unset) = place {
                let all = Unset {
                    bits: u128::MAX,
                    is_computed: true,
                    ..unset
                };
                found.extend((0..site.results.len()).map(|at| (at, lane, all)));
                continue;
            }
            let (from, _) = taken_lane(shuffle.mode, lane as u32, b[lane], c[lane]);
            let taken = value.and_then(|value| self.used_source(step, value, from as usize));
            found.extend(taken.map(|unset| (0, lane, unset)));
        }
        found
    }

    fn flow_voted(
        &mut self,
        step: &Step<'_>,
        site: &Site,
        (mode, a): (VoteMode, Pred),
        members: Option<Src>,
    ) -> Vec<UnsetResult> {
        let members = match members {
            Some(members) => executing(step.wavefront, step.constants, members, step.mask),
            None => step.mask,
        };
        let Some(predicate) = source_in(step, site, Operand::Predicate(a)) else {
            return Vec::new();
        };
        let defined = self.registers(step.wavefront).defined[predicate as usize];
        let held = step.wavefront.registers.predicate(a) & members & defined;
        let denied = members & defined & !held;
        let is_decided = match mode {
            VoteMode::All => denied != 0,
            VoteMode::Any => held != 0,
            VoteMode::Uniform => held != 0 && denied != 0,
            VoteMode::Ballot => false,
        };
        if is_decided {
            return Vec::new();
        }
        let mut all: Option<Unset> = None;
        for lane in lanes(members & !defined) {
            if let Some(unset) = self.used_source(step, Origin::Register(predicate), lane) {
                let bits = match mode {
                    VoteMode::Ballot => 1 << lane,
                    _ => 1,
                };
                all = Some(Unset {
                    bits: bits | all.map_or(0, |all| all.bits),
                    cause: all.and_then(|all| all.cause).or(unset.cause),
                    is_computed: true,
                });
            }
        }
        let all = all.into_iter();
        all.flat_map(|all| lanes(step.mask).map(move |lane| (0, lane, all)))
            .collect()
    }

    /// Computes all results from the values of several lanes.
    fn flow_among(&mut self, step: &Step<'_>, site: &Site, members: u32) -> Vec<UnsetResult> {
        let Some(&value) = site.sources.first() else {
            return Vec::new();
        };
        let mut first = None;
        for lane in lanes(members) {
            first = first.or(self.used_source(step, value, lane));
        }
        let mut found = Vec::new();
        if let Some(unset) = first {
            let all = Unset {
                bits: u128::MAX,
                is_computed: true,
                ..unset
            };
            for lane in lanes(step.mask) {
                found.extend((0..site.results.len()).map(|at| (at, lane, all)));
            }
        }
        found
    }

    /// Computes the results lane by lane; they are unset in the bits that unset bits can change.
    fn flow_computed(&mut self, step: &Step<'_>, site: &Site) -> Vec<UnsetResult> {
        let op = &step.kernel.ops[step.pc as usize].op;
        let tables = &step.kernel.tables;
        let mut of_lanes: [Option<Unset>; 32] = [None; 32];
        for lane in lanes(step.mask) {
            for &source in &site.sources {
                let unset = self.unset_source(step, source, lane);
                of_lanes[lane] = of_lanes[lane].or(unset);
            }
        }
        let operands = trial::operands(op, tables).unwrap_or_default();
        let mut unset = Vec::with_capacity(operands.len());
        for &operand in &operands {
            let mut bits: Lanes64 = [0; 32];
            if let Some(register) = source_in(step, site, operand) {
                let registers = self.registers(step.wavefront);
                for lane in lanes(step.mask) {
                    let of_lane = registers.unset(register, lane);
                    bits[lane] = of_lane.map_or(0, |unset| unset.bits as u64);
                }
            }
            unset.push(bits);
        }
        let values = (&step.wavefront.registers, step.constants);
        let influence = trial::influence(op, tables, values, &unset);
        let is_predicate = matches!(
            op,
            Op::Compare32 { .. }
                | Op::Compare64 { .. }
                | Op::ComparePair { .. }
                | Op::Predicate { .. }
                | Op::IsSpace { .. }
        );
        let opcode = &step.kernel.code().instructions[step.pc as usize].opcode;
        let moves_bits = site.rule == Rule::Convert
            || matches!(
                opcode.split('.').next(),
                Some("and" | "or" | "not" | "prmt" | "bfi" | "bfe" | "lop3")
            );
        let mut found = Vec::new();
        for lane in lanes(step.mask) {
            if of_lanes[lane].is_none() {
                continue;
            }
            for at in 0..site.results.len() {
                let bits = match &influence {
                    Some(of) if is_predicate => {
                        let changes = of.predicates.get(at).copied().unwrap_or(u32::MAX);
                        u128::from(changes >> lane & 1)
                    }
                    Some(of) if at == 0 => of.value[lane].into(),
                    None | Some(_) => u128::MAX,
                };
                if bits == 0 {
                    continue;
                }
                let mut used = None;
                for &source in &site.sources {
                    used = used.or(self.used_source(step, source, lane));
                }
                found.extend(used.map(|unset| {
                    let is_computed = unset.is_computed || !moves_bits;
                    let result = Unset {
                        bits,
                        is_computed,
                        ..unset
                    };
                    (at, lane, result)
                }));
            }
        }
        found
    }
}
