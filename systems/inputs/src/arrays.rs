//! Generators of plain arrays: the contents of buffers other than graphs.

use serde::{Deserialize, Serialize};

use crate::element::ElementType;
use crate::error::InputError;
use crate::generate::{READ_LETTERS, SearchTree, SuffixTree, SuffixTreePart};
use crate::random::Random;

/// Maximum number of elements in an array: 4 GiB of single-byte elements.
pub const MAX_ELEMENTS: usize = 1 << 32;

/// Maximum number of keys in a search tree.
const MAX_KEYS: u32 = 1 << 28;

/// Maximum number of letters in the text of a suffix tree.
const MAX_LETTERS: u32 = 1 << 24;

/// Generator for the contents of an array.
///
/// Numbers are written as one type for all element types. Arrays of integers accept whole numbers
/// only.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum ArrayGenerator {
    /// Element `i` is `i`. As `f32` it is exact up to 2^24 and rounded to nearest above.
    Iota,
    /// All elements have this same value.
    Constant(f64),
    /// Independent values drawn uniformly from `low..high`. As `f32` they have 24 random bits, so
    /// `low: 0, high: 1` gives multiples of 2^-24.
    Uniform {
        /// Random seed; the same seed gives the same array.
        seed: u64,
        /// Lower bound of the values, inclusive.
        low: f64,
        /// Upper bound, exclusive. For `u32` at most 2^32.
        high: f64,
    },
    /// Independent values around the middle of `low..high`, with an eighth of the range as standard
    /// deviation. They are sums of twelve uniform numbers, redrawn if outside the range.
    Gaussian {
        /// Random seed; the same seed gives the same array.
        seed: u64,
        /// Lower bound of the values, inclusive.
        low: f64,
        /// Upper bound of the values, exclusive.
        high: f64,
    },
    /// Whole numbers from 0 to one less than the length, of `u32` and in random order.
    Shuffled {
        /// Random seed; the same seed gives the same array.
        seed: u64,
    },
    /// Row-major n x n matrix of `f32` with values drawn uniformly from -1..1, and n on its
    /// diagonal. It can be decomposed without pivoting.
    DiagonallyDominant {
        /// Random seed; the same seed gives the same array.
        seed: u64,
        /// Number of rows and of columns.
        n: u32,
    },
    /// Keys of a search tree of `u32`, in the layout of [`SearchTree`]. The array length is its
    /// number of entries.
    SearchTreeKeys {
        /// Shape of the tree: order and keys.
        tree: SearchTree,
        /// Random seed; the same seed gives the same array.
        seed: u64,
    },
    /// Children of the same tree: node numbers, and records in nodes of the last level.
    SearchTreeChildren {
        /// Shape of the tree: order and keys.
        tree: SearchTree,
    },
    /// Array of a suffix tree of a random text; see [`SuffixTreePart`] for types and lengths.
    SuffixTree {
        /// Letters and seed of the text.
        tree: SuffixTree,
        /// Array of the tree that is generated.
        part: SuffixTreePart,
    },
}

impl ArrayGenerator {
    /// Generates the array as the little-endian words of its memory; see [`ElementType::pack`].
    ///
    /// # Errors
    /// Same as [`u32s`](Self::u32s) and [`f32s`](Self::f32s), with the range of each type.
    pub fn words(&self, element: ElementType, length: usize) -> Result<Vec<u32>, InputError> {
        match element {
            ElementType::U32 => self.u32s(length),
            ElementType::F32 => Ok(self.f32s(length)?.into_iter().map(f32::to_bits).collect()),
            other => Ok(other.pack(self.patterns(other, length)?)),
        }
    }

    /// Generates the array as unsigned integers.
    ///
    /// # Errors
    /// Returns an error for more than [`MAX_ELEMENTS`] elements, a number that is not a `u32`, or
    /// an empty range.
    pub fn u32s(&self, length: usize) -> Result<Vec<u32>, InputError> {
        self.check_length(length)?;
        match *self {
            ArrayGenerator::Iota => Ok((0..length).map(|i| i as u32).collect()),
            ArrayGenerator::Constant(value) => {
                let whole = self.whole("value", value, u64::from(u32::MAX))?;
                Ok(vec![whole as u32; length])
            }
            ArrayGenerator::Uniform { seed, low, high } => {
                let low = self.whole("low", low, u64::from(u32::MAX))?;
                let high = self.whole("high", high, 1 << 32)?;
                if low >= high {
                    return Err(self.empty_range(low as f64, high as f64));
                }
                let mut random = Random::new(seed, 0);
                Ok((0..length)
                    .map(|_| (low + random.below(high - low)) as u32)
                    .collect())
            }
            ArrayGenerator::Gaussian { seed, low, high } => {
                let low = self.whole("low", low, u64::from(u32::MAX))? as f64;
                let high = self.whole("high", high, 1 << 32)? as f64;
                if low >= high {
                    return Err(self.empty_range(low, high));
                }
                let mut random = Random::new(seed, 0);
                let draw = |_| bell(&mut random, low, high) as u32;
                Ok((0..length).map(draw).collect())
            }
            ArrayGenerator::Shuffled { seed } => Ok(Random::new(seed, 0).shuffled(length)),
            ArrayGenerator::DiagonallyDominant { .. } => Err(self.only("F32")),
            ArrayGenerator::SearchTreeKeys { tree, seed } => {
                self.check_tree(tree, length)?;
                Ok(tree.keys(seed, length))
            }
            ArrayGenerator::SearchTreeChildren { tree } => {
                self.check_tree(tree, length)?;
                Ok(tree.children(length))
            }
            ArrayGenerator::SuffixTree { tree, part } => {
                self.check_suffix_tree(tree, part, length)?;
                match part {
                    SuffixTreePart::Children | SuffixTreePart::Edges if length == 0 => {
                        Ok(Vec::new())
                    }
                    SuffixTreePart::Children => Ok(tree.nodes().0),
                    SuffixTreePart::Edges => Ok(tree.nodes().1),
                    SuffixTreePart::Text | SuffixTreePart::Reads { .. } => Err(self.only("U8")),
                }
            }
        }
    }

    /// Generates the array as single-precision floats.
    ///
    /// # Errors
    /// Returns an error for more than [`MAX_ELEMENTS`] elements, a finite number outside the range
    /// of `f32`, or an empty or infinite range.
    pub fn f32s(&self, length: usize) -> Result<Vec<f32>, InputError> {
        self.check_length(length)?;
        match *self {
            ArrayGenerator::Iota => Ok((0..length).map(|i| i as f32).collect()),
            ArrayGenerator::Constant(value) => {
                if value.is_finite() && !(value as f32).is_finite() {
                    return Err(self.wrong("value", value, "a number in the range of f32"));
                }
                Ok(vec![value as f32; length])
            }
            ArrayGenerator::Uniform { seed, low, high } => {
                let (first, bound) = (low as f32, high as f32);
                for (field, value) in [("low", low), ("high", high)] {
                    if !(value as f32).is_finite() {
                        return Err(self.wrong(
                            field,
                            value,
                            "a finite number in the range of f32",
                        ));
                    }
                }
                if first >= bound {
                    return Err(self.empty_range(low, high));
                }
                let mut random = Random::new(seed, 0);
                let draw = |_| {
                    let unit = f64::from(random.unit_f32());
                    let value = (low + (high - low) * unit) as f32;
                    // Rounding may reach the bounds' neighbours outside.
                    value.clamp(first, bound.next_down())
                };
                Ok((0..length).map(draw).collect())
            }
            ArrayGenerator::Gaussian { seed, low, high } => {
                let is_range = low < high && (low as f32).is_finite() && (high as f32).is_finite();
                if !is_range {
                    return Err(self.empty_range(low, high));
                }
                let mut random = Random::new(seed, 0);
                let draw = |_| (bell(&mut random, low, high) as f32).min((high as f32).next_down());
                Ok((0..length).map(draw).collect())
            }
            ArrayGenerator::DiagonallyDominant { seed, n } => {
                let mut random = Random::new(seed, 0);
                let draw = |at: usize| {
                    let value = 2.0 * random.unit_f32() - 1.0;
                    if at.is_multiple_of(n as usize + 1) {
                        n as f32
                    } else {
                        value
                    }
                };
                Ok((0..length).map(draw).collect())
            }
            ArrayGenerator::Shuffled { .. }
            | ArrayGenerator::SearchTreeKeys { .. }
            | ArrayGenerator::SearchTreeChildren { .. }
            | ArrayGenerator::SuffixTree { .. } => Err(self.only("U32")),
        }
    }

    /// Generates the bit patterns for an element type without a sequence of its own.
    fn patterns(&self, element: ElementType, length: usize) -> Result<Vec<u64>, InputError> {
        self.check_length(length)?;
        let one = |field, value: f64| {
            let expected = || self.wrong(field, value, &element.expected());
            element.of_float(value).ok_or_else(expected)
        };
        match *self {
            ArrayGenerator::Iota => {
                if length > 0 {
                    one("length", (length - 1) as f64)?;
                }
                let nth = |i: usize| element.of_whole(i as i128).unwrap_or_default();
                Ok((0..length).map(nth).collect())
            }
            ArrayGenerator::Constant(value) => Ok(vec![one("value", value)?; length]),
            ArrayGenerator::Uniform { seed, low, high } => {
                let mut random = Random::new(seed, 0);
                self.drawn(element, length, low, high, |range| match range {
                    ValueDistribution::Whole(low, high) => {
                        let width = u64::try_from(high - low).unwrap_or(u64::MAX);
                        (low + i128::from(random.below(width))) as f64
                    }
                    ValueDistribution::Real => low + (high - low) * random.unit(),
                })
            }
            ArrayGenerator::Gaussian { seed, low, high } => {
                let mut random = Random::new(seed, 0);
                self.drawn(element, length, low, high, |range| {
                    let value = bell(&mut random, low, high);
                    match range {
                        ValueDistribution::Whole(..) => value.floor(),
                        ValueDistribution::Real => value,
                    }
                })
            }
            ArrayGenerator::DiagonallyDominant { .. } => Err(self.only("F32")),
            ArrayGenerator::Shuffled { .. }
            | ArrayGenerator::SearchTreeKeys { .. }
            | ArrayGenerator::SearchTreeChildren { .. } => Err(self.only("U32")),
            ArrayGenerator::SuffixTree { tree, part } => {
                self.check_suffix_tree(tree, part, length)?;
                let letters = match part {
                    SuffixTreePart::Text if length == 0 => Vec::new(),
                    SuffixTreePart::Text if element == ElementType::U8 => tree.text(),
                    SuffixTreePart::Reads { seed } if element == ElementType::U8 => {
                        tree.reads(seed, length)
                    }
                    SuffixTreePart::Text | SuffixTreePart::Reads { .. } => {
                        return Err(self.only("U8"));
                    }
                    SuffixTreePart::Children | SuffixTreePart::Edges => {
                        return Err(self.only("U32"));
                    }
                };
                Ok(letters.into_iter().map(u64::from).collect())
            }
        }
    }

    /// Draws numbers from `low` to below `high`, one for each element.
    fn drawn(
        &self,
        element: ElementType,
        length: usize,
        low: f64,
        high: f64,
        mut draw: impl FnMut(ValueDistribution) -> f64,
    ) -> Result<Vec<u64>, InputError> {
        let expected = element.expected();
        if element.of_float(low).is_none() || !low.is_finite() {
            return Err(self.wrong("low", low, &expected));
        }
        // Of integers, the largest is one below.
        let last = if element.range().is_some() {
            // Beyond 2^53 the number below has no distance of one.
            (high - 1.0).min(high.next_down())
        } else {
            high
        };
        let is_last = match element.range() {
            Some(range) => high.fract() == 0.0 && last <= *range.end() as f64,
            None => element.of_float(last).is_some() && last.is_finite(),
        };
        if !is_last {
            return Err(self.wrong("high", high, &expected));
        }
        if low >= high {
            return Err(self.empty_range(low, high));
        }
        let range = match element.range() {
            Some(_) => ValueDistribution::Whole(low as i128, high as i128),
            None => ValueDistribution::Real,
        };
        let pattern = |_| {
            let value = draw(range).clamp(low, high.next_down());
            let fitting = element.of_float(value);
            fitting
                .or_else(|| element.of_float(low))
                .unwrap_or_default()
        };
        Ok((0..length).map(pattern).collect())
    }

    fn only(&self, element: &str) -> InputError {
        InputError::Description {
            generator: self.name(),
            field: "element",
            problem: format!("of the wrong type, expected {element}"),
        }
    }

    /// Checks the tree against the array length. With no elements any valid tree is accepted, which
    /// is used to test descriptions.
    fn check_tree(&self, tree: SearchTree, length: usize) -> Result<(), InputError> {
        InputError::in_range(self.name(), "order", tree.order, 2..=1 << 16)?;
        InputError::in_range(self.name(), "keys", tree.keys, 1..=MAX_KEYS)?;
        let entries = tree.entries();
        if length == 0 || length == entries {
            return Ok(());
        }
        let problem = format!("{length}, expected {entries}, the number of entries of the tree");
        Err(InputError::Description {
            generator: self.name(),
            field: "length",
            problem,
        })
    }

    /// Checks the text and the array length of a part. With no elements any valid tree is accepted.
    fn check_suffix_tree(
        &self,
        tree: SuffixTree,
        part: SuffixTreePart,
        length: usize,
    ) -> Result<(), InputError> {
        InputError::in_range(self.name(), "letters", tree.letters, 32..=MAX_LETTERS)?;
        let expected = match tree.length(part) {
            Some(expected) => expected,
            None => length.next_multiple_of(READ_LETTERS),
        };
        if length == 0 || length == expected {
            return Ok(());
        }
        let problem = format!("{length}, expected {expected}");
        Err(InputError::Description {
            generator: self.name(),
            field: "length",
            problem,
        })
    }

    fn check_length(&self, length: usize) -> Result<(), InputError> {
        InputError::in_range(self.name(), "length", length, ..=MAX_ELEMENTS)
    }

    /// Checks that a number is whole and from 0 to `most`.
    fn whole(&self, field: &'static str, value: f64, most: u64) -> Result<u64, InputError> {
        if value.fract() == 0.0 && (0.0..=most as f64).contains(&value) {
            Ok(value as u64)
        } else {
            let expected = format!("a whole number from 0 to {most} for u32 elements");
            Err(self.wrong(field, value, &expected))
        }
    }

    fn empty_range(&self, low: f64, high: f64) -> InputError {
        self.wrong(
            "low",
            low,
            &format!("below `high`, which is {high} and excluded"),
        )
    }

    fn name(&self) -> &'static str {
        match self {
            ArrayGenerator::Iota => "Iota",
            ArrayGenerator::Constant(_) => "Constant",
            ArrayGenerator::Uniform { .. } => "Uniform",
            ArrayGenerator::Gaussian { .. } => "Gaussian",
            ArrayGenerator::Shuffled { .. } => "Shuffled",
            ArrayGenerator::DiagonallyDominant { .. } => "DiagonallyDominant",
            ArrayGenerator::SearchTreeKeys { .. } => "SearchTreeKeys",
            ArrayGenerator::SearchTreeChildren { .. } => "SearchTreeChildren",
            ArrayGenerator::SuffixTree { .. } => "SuffixTree",
        }
    }

    fn wrong(&self, field: &'static str, found: f64, expected: &str) -> InputError {
        InputError::Description {
            generator: self.name(),
            field,
            problem: format!("{found}, expected {expected}"),
        }
    }
}

/// Set of numbers that values are drawn from.
#[derive(Clone, Copy)]
enum ValueDistribution {
    /// Whole numbers, from the first to below the second.
    Whole(i128, i128),
    /// All real numbers within the given range.
    Real,
}

/// Draws a value near the middle of a range, always inside it.
fn bell(random: &mut Random, low: f64, high: f64) -> f64 {
    loop {
        // Twelve uniform numbers have a variance of 1 together.
        let deviations = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let value = f64::midpoint(low, high) + deviations * (high - low) / 8.0;
        if (low..high).contains(&value) {
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hash::{hash_f32s, hash_u32s};

    const UNIT: ArrayGenerator = ArrayGenerator::Uniform {
        seed: 1,
        low: 0.0,
        high: 1.0,
    };
    const BYTES: ArrayGenerator = ArrayGenerator::Uniform {
        seed: 1,
        low: 0.0,
        high: 256.0,
    };
    const WORDS: ArrayGenerator = ArrayGenerator::Uniform {
        seed: 1,
        low: 0.0,
        high: 4_294_967_296.0,
    };

    #[test]
    fn a_dominant_diagonal_stands_in_small_numbers() {
        let matrix = ArrayGenerator::DiagonallyDominant { seed: 1, n: 5 }
            .f32s(25)
            .unwrap();
        for (at, value) in matrix.iter().enumerate() {
            assert_eq!(at % 6 == 0, *value == 5.0, "{at}");
            assert!(at % 6 == 0 || value.abs() <= 1.0, "{at}");
        }
    }

    #[test]
    fn a_tree_fills_arrays_of_its_own_size_only() {
        let tree = SearchTree { order: 4, keys: 9 };
        let keys = ArrayGenerator::SearchTreeKeys { tree, seed: 1 };
        assert_eq!(keys.u32s(16).unwrap().len(), 16);
        assert!(keys.u32s(15).is_err() && keys.f32s(16).is_err());
    }

    #[test]
    fn the_parts_of_a_suffix_tree_have_their_types_and_lengths() {
        let tree = SuffixTree {
            letters: 40,
            seed: 1,
        };
        let part = |part| ArrayGenerator::SuffixTree { tree, part };
        let text = part(SuffixTreePart::Text);
        assert_eq!(text.words(ElementType::U8, 40).unwrap().len(), 10);
        assert!(text.u32s(40).is_err() && text.words(ElementType::U8, 41).is_err());
        assert_eq!(part(SuffixTreePart::Children).u32s(320).unwrap().len(), 320);
        assert_eq!(part(SuffixTreePart::Edges).u32s(160).unwrap().len(), 160);
        assert!(part(SuffixTreePart::Edges).f32s(160).is_err());
        let reads = part(SuffixTreePart::Reads { seed: 2 });
        assert_eq!(reads.words(ElementType::U8, 64).unwrap().len(), 16);
        assert!(reads.words(ElementType::U8, 33).is_err());
    }

    #[test]
    fn iota_counts_and_constant_repeats() {
        assert_eq!(ArrayGenerator::Iota.u32s(4).unwrap(), [0, 1, 2, 3]);
        assert_eq!(ArrayGenerator::Iota.f32s(3).unwrap(), [0.0, 1.0, 2.0]);
        assert_eq!(ArrayGenerator::Constant(7.0).u32s(2).unwrap(), [7, 7]);
        assert_eq!(
            ArrayGenerator::Constant(4294967295.0).u32s(1).unwrap(),
            [u32::MAX]
        );
        assert_eq!(ArrayGenerator::Constant(-0.5).f32s(1).unwrap(), [-0.5]);
        let bits = ArrayGenerator::Constant(1.0)
            .words(ElementType::F32, 1)
            .unwrap();
        assert_eq!(bits, [0x3f80_0000]);
        assert_eq!(
            ArrayGenerator::Constant(1.0)
                .words(ElementType::U32, 1)
                .unwrap(),
            [1]
        );
    }

    #[test]
    fn a_shuffled_array_has_every_number_once() {
        let shuffled = ArrayGenerator::Shuffled { seed: 1 };
        let mut numbers = shuffled.u32s(100).unwrap();
        assert_eq!(numbers[..5], [88, 23, 39, 92, 42]);
        numbers.sort_unstable();
        assert_eq!(numbers, ArrayGenerator::Iota.u32s(100).unwrap());
        assert!(shuffled.f32s(2).is_err() && shuffled.u32s(0).unwrap().is_empty());
    }

    #[test]
    fn hashes_are_pinned_for_seed_1() {
        assert_eq!(
            hash_u32s(&ArrayGenerator::Iota.u32s(1000).unwrap()),
            0x5f13_8a85_4250_1a3c
        );
        assert_eq!(hash_u32s(&BYTES.u32s(1000).unwrap()), 0xce42_0ef7_a53c_7741);
        assert_eq!(hash_u32s(&WORDS.u32s(1000).unwrap()), 0x7740_5f5f_500f_2cec);
        assert_eq!(hash_f32s(&UNIT.f32s(1000).unwrap()), 0x72cb_3725_efee_3705);
    }

    #[test]
    fn senseless_descriptions_are_refused() {
        let message = |generator: ArrayGenerator| generator.u32s(1).unwrap_err().to_string();
        assert_eq!(
            message(ArrayGenerator::Constant(0.5)),
            "Constant generator: `value` is 0.5, expected a whole number from 0 to 4294967295 \
             for u32 elements"
        );
        assert_eq!(
            message(ArrayGenerator::Uniform {
                seed: 1,
                low: 9.0,
                high: 9.0
            }),
            "Uniform generator: `low` is 9, expected below `high`, which is 9 and excluded"
        );
        let bad = [
            ArrayGenerator::Constant(1e300),
            ArrayGenerator::Uniform {
                seed: 1,
                low: 1.0,
                high: 1.0,
            },
            ArrayGenerator::Uniform {
                seed: 1,
                low: f64::NAN,
                high: 1.0,
            },
            ArrayGenerator::Uniform {
                seed: 1,
                low: 0.0,
                high: f64::INFINITY,
            },
        ];
        for generator in bad {
            assert!(generator.f32s(1).is_err(), "{generator:?}");
            assert!(generator.u32s(1).is_err(), "{generator:?}");
        }
        assert!(ArrayGenerator::Iota.u32s(MAX_ELEMENTS + 1).is_err());
        assert!(ArrayGenerator::Iota.f32s(usize::MAX).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn drawn_values_stay_in_range(seed: u64, low in 0_u32..1000, span in 1_u32..1000) {
            let (from, to) = (f64::from(low), f64::from(low + span));
            let generator = ArrayGenerator::Uniform { seed, low: from, high: to };
            let integers = generator.u32s(100).unwrap();
            prop_assert!(integers.iter().all(|v| (low..low + span).contains(v)));
            let floats = generator.f32s(100).unwrap();
            prop_assert!(floats.iter().all(|&v| (from..to).contains(&f64::from(v))));
            prop_assert_eq!(integers, generator.u32s(100).unwrap());
        }
    }
}
