//! Influence of unset bits on a result: the operation is repeated with other bits in their place.
//!
//! A bit of the result that never changes does not depend on them, as after a mask or a product
//! with zero. The emulator's own functions compute the result, so every operation has its meaning.

use crate::exec::compute::{halves, in_region, lanes_where, lop3, numbers};
use crate::exec::constants::Constants;
use crate::exec::convert::convert;
use crate::exec::registers::Registers;
use crate::exec::scalar::scalar;
use crate::kernel::Tables;
use crate::ops::{Lanes32, Lanes64, Op, Pred, Src};

/// Values in place of unset bits; the seventh and later ones differ by operand.
const FILLINGS: [u64; 9] = [
    0,
    u64::MAX,
    0x7fff_7fff_7fff_7fff,
    0x8000_8000_8000_8000,
    0x7fff_ffff_7fff_ffff,
    0x8000_0000_8000_0000,
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
];

/// Number of leading [`FILLINGS`] that are the same for every operand.
const COMMON: usize = 6;

/// Source of an operation, as its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Word(Src),
    Double(Src),
    Predicate(Pred),
}

/// Changes of the results by lane: bits of the value, and of the two predicates.
#[derive(Debug, Default)]
pub(super) struct Influence {
    pub(super) value: Lanes64,
    pub(super) predicates: [u32; 2],
}

/// Results of an operation in all lanes.
struct Results {
    value: Lanes64,
    predicates: [u32; 2],
}

impl Operand {
    fn values(self, registers: &Registers, constants: &Constants) -> Lanes64 {
        match self {
            Self::Word(source) => registers.get32(constants, source).map(u64::from),
            Self::Double(source) => *registers.get64(constants, source),
            Self::Predicate(predicate) => spread(registers.predicate(predicate)),
        }
    }

    /// Returns a filling of this operand; one register has the same in each of its operands.
    fn filling(self, number: usize) -> u64 {
        let seed = match self {
            Self::Word(source) => u32::from(source.0),
            Self::Double(source) => u32::from(source.0) + 21,
            Self::Predicate(_) => return number as u64 & 1,
        };
        if number < COMMON {
            FILLINGS[number]
        } else {
            let mixed = u64::from(seed).wrapping_mul(FILLINGS[COMMON]);
            FILLINGS[number].rotate_left(7 * seed % 64) ^ mixed
        }
    }
}

fn spread(bits: u32) -> Lanes64 {
    std::array::from_fn(|lane| u64::from(bits >> lane & 1))
}

fn gather(values: &Lanes64) -> u32 {
    lanes_where(values, |value| value & 1 != 0)
}

/// Returns how unset bits of the operands change the results, or `None` if the operation cannot be
/// repeated. `unset` has the bits of each operand.
pub(super) fn influence(
    op: &Op,
    tables: &Tables,
    (registers, constants): (&Registers, &Constants),
    unset: &[Lanes64],
) -> Option<Influence> {
    let operands = operands(op, tables)?;
    let known: Vec<Lanes64> = operands
        .iter()
        .map(|operand| operand.values(registers, constants))
        .collect();
    let mut values = known.clone();
    let mut first: Option<Results> = None;
    let mut influence = Influence::default();
    for number in 0..=FILLINGS.len() {
        for (at, operand) in operands.iter().enumerate() {
            for lane in 0..32 {
                let filling = match number.checked_sub(FILLINGS.len()) {
                    None => operand.filling(number),
                    // The bits of the other operand make them equal.
                    Some(_) => known[(at + 1) % known.len()][lane],
                };
                let bits = unset[at][lane];
                values[at][lane] = known[at][lane] & !bits | filling & bits;
            }
        }
        let results = evaluate(op, tables, &values)?;
        let Some(first) = &first else {
            first = Some(results);
            continue;
        };
        for lane in 0..32 {
            influence.value[lane] |= first.value[lane] ^ results.value[lane];
        }
        for at in 0..2 {
            influence.predicates[at] |= first.predicates[at] ^ results.predicates[at];
        }
    }
    Some(influence)
}

/// Returns the sources of an operation on registers alone.
pub(super) fn operands(op: &Op, tables: &Tables) -> Option<Vec<Operand>> {
    use Operand::{Double, Predicate, Word};
    Some(match *op {
        Op::Unary32 { a, .. } | Op::Widen { a, .. } | Op::ShiftBy32 { a, .. } => vec![Word(a)],
        Op::Unary64 { a, .. } | Op::Narrow { a, .. } | Op::ShiftBy64 { a, .. } => vec![Double(a)],
        Op::Binary32 { a, b, .. } | Op::BinaryWide { a, b, .. } => vec![Word(a), Word(b)],
        Op::Binary64 { a, b, .. } => vec![Double(a), Double(b)],
        Op::Shift64 { a, b, .. } => vec![Double(a), Word(b)],
        Op::Ternary32 { a, b, c, .. } | Op::Lop3 { a, b, c, .. } => {
            vec![Word(a), Word(b), Word(c)]
        }
        Op::Ternary64 { a, b, c, .. } => vec![Double(a), Double(b), Double(c)],
        Op::TernaryWide { a, b, c, .. } => vec![Word(a), Word(b), Double(c)],
        Op::Extract64 { a, b, c, .. } => vec![Double(a), Word(b), Word(c)],
        Op::Insert32 { a, b, c, e, .. } => vec![Word(a), Word(b), Word(c), Word(e)],
        Op::Insert64 { a, b, c, e, .. } => vec![Double(a), Double(b), Word(c), Word(e)],
        Op::Compare32 { a, b, outcome, .. } | Op::ComparePair { a, b, outcome, .. } => {
            vec![Word(a), Word(b), Predicate(outcome.with)]
        }
        Op::Compare64 { a, b, outcome, .. } => {
            vec![Double(a), Double(b), Predicate(outcome.with)]
        }
        Op::Set32 { a, b, with, .. } | Op::SetPair { a, b, with, .. } => {
            vec![Word(a), Word(b), Predicate(with)]
        }
        Op::Set64 { a, b, with, .. } => vec![Double(a), Double(b), Predicate(with)],
        Op::Predicate { a, b, .. } => vec![Predicate(a), Predicate(b)],
        Op::IsSpace { a, wide, .. } => vec![if wide { Double(a) } else { Word(a) }],
        Op::Convert(at) => {
            let spec = &tables.converts[at as usize];
            vec![if spec.from_wide {
                Double(spec.a)
            } else {
                Word(spec.a)
            }]
        }
        Op::Scalar(at) => {
            let spec = &tables.scalars[at as usize];
            let source = |source| {
                if spec.wide {
                    Double(source)
                } else {
                    Word(source)
                }
            };
            spec.sources.map(source).to_vec()
        }
        _ => return None,
    })
}

/// Computes the results from the values of the operands, in the order of [`operands`].
fn evaluate(op: &Op, tables: &Tables, values: &[Lanes64]) -> Option<Results> {
    let word = |at: usize| -> Lanes32 { values[at].map(|value| value as u32) };
    let bits = |at: usize| gather(&values[at]);
    let (mut narrow, mut wide): (Lanes32, Lanes64) = ([0; 32], [0; 32]);
    let mut predicates = [0; 2];
    match *op {
        Op::Unary32 { f, .. } => f(&word(0), &mut narrow),
        Op::Unary64 { f, .. } => f(&values[0], &mut wide),
        Op::Widen { f, .. } => f(&word(0), &mut wide),
        Op::Narrow { f, .. } => f(&values[0], &mut narrow),
        Op::Binary32 { f, .. } => f(&word(0), &word(1), &mut narrow),
        Op::Binary64 { f, .. } => f(&values[0], &values[1], &mut wide),
        Op::BinaryWide { f, .. } => f(&word(0), &word(1), &mut wide),
        Op::Shift64 { f, .. } => f(&values[0], &word(1), &mut wide),
        Op::ShiftBy32 { f, by, .. } => f(&word(0), by, &mut narrow),
        Op::ShiftBy64 { f, by, .. } => f(&values[0], by, &mut wide),
        Op::Ternary32 { f, .. } => f(&word(0), &word(1), &word(2), &mut narrow),
        Op::Ternary64 { f, .. } => f(&values[0], &values[1], &values[2], &mut wide),
        Op::TernaryWide { f, .. } => f(&word(0), &word(1), &values[2], &mut wide),
        Op::Extract64 { f, .. } => f(&values[0], &word(1), &word(2), &mut wide),
        Op::Insert32 { f, .. } => f(&word(0), &word(1), &word(2), &word(3), &mut narrow),
        Op::Insert64 { f, .. } => f(&values[0], &values[1], &word(2), &word(3), &mut wide),
        Op::Lop3 { table, .. } => lop3(table, [&word(0), &word(1), &word(2)], &mut narrow),
        Op::Compare32 { f, outcome, .. } => {
            let found = f(&word(0), &word(1));
            predicates = [found, !found].map(|found| outcome.logic.apply(found, bits(2)));
        }
        Op::Compare64 { f, outcome, .. } => {
            let found = f(&values[0], &values[1]);
            predicates = [found, !found].map(|found| outcome.logic.apply(found, bits(2)));
        }
        Op::ComparePair { f, outcome, .. } => {
            let found = halves(f, &word(0), &word(1));
            predicates = found.map(|found| outcome.logic.apply(found, bits(2)));
        }
        Op::Set32 { f, one, logic, .. } => {
            narrow = numbers(logic.apply(f(&word(0), &word(1)), bits(2)), one);
        }
        Op::Set64 { f, one, logic, .. } => {
            narrow = numbers(logic.apply(f(&values[0], &values[1]), bits(2)), one);
        }
        Op::SetPair { f, one, logic, .. } => {
            let found = halves(f, &word(0), &word(1));
            let [low, high] = found.map(|found| numbers(logic.apply(found, bits(2)), one));
            narrow = std::array::from_fn(|lane| high[lane] << 16 | low[lane]);
        }
        Op::Predicate { logic, .. } => predicates[0] = logic.apply(bits(0), bits(1)),
        Op::IsSpace { region, .. } => {
            predicates[0] = lanes_where(&values[0], |address| in_region(region, address));
        }
        Op::Convert(at) => {
            let spec = &tables.converts[at as usize];
            wide = values[0].map(|raw| convert(spec, raw));
        }
        Op::Scalar(at) => {
            let spec = &tables.scalars[at as usize];
            let sources = |lane: usize| std::array::from_fn(|at| values[at][lane]);
            wide = std::array::from_fn(|lane| scalar(spec, sources(lane)));
        }
        _ => return None,
    }
    for (wide, narrow) in wide.iter_mut().zip(narrow) {
        *wide |= u64::from(narrow);
    }
    Some(Results {
        value: wide,
        predicates,
    })
}
