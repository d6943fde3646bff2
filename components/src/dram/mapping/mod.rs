//! Mapping from a controller's access numbers to channel, bank, row and column.
//!
//! An access is one burst of all devices of a channel. Its number is the controller's own address
//! divided by the access bytes. Every bit of channel, bank, row and column is the parity of some
//! bits of that number. Field orders, XOR hashes and polynomial hashes are all of this form. A
//! mapping is one-to-one if its matrix has full rank.
//!
//! `geometry.rs` has device sizes and locations, `spec.rs` the description, and `expression.rs` the
//! notation of hashes. The mapping does not depend on timing and queues.

mod expression;
mod geometry;
mod spec;

use warpweave_framework::SpecError;

pub(crate) use geometry::BANKS_MAX;
pub use geometry::{Geometry, Location};
pub use spec::{Field, MappingSpec};

/// Maps access numbers to a channel and a location within it.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// Pairs of a right rotation of the access number and the mask of location bits it contributes.
    /// The location is the exclusive or of all parts. Neighbouring bits that stay neighbours share
    /// one part, so few mappings have more than a handful.
    parts: Box<[(u32, u64)]>,
    /// Widths of column, bank and row, packed from the lowest bit of the location. The remaining
    /// bits are the channel.
    column_bits: u32,
    bank_bits: u32,
    row_bits: u32,
    /// Number of significant bits in an access number.
    bits: u32,
}

/// Builds the rotated parts for these parity masks, least significant bit first.
fn parts<'a>(rows: impl Iterator<Item = &'a u64>) -> Box<[(u32, u64)]> {
    let mut masks = [0_u64; u64::BITS as usize];
    for (to, row) in rows.enumerate() {
        for (turn, mask) in masks.iter_mut().enumerate() {
            let from = (to + turn) % u64::BITS as usize;
            *mask |= (row >> from & 1) << to;
        }
    }
    let turns = (0..).zip(masks);
    turns.filter(|(_, mask)| *mask != 0).collect()
}

impl Mapping {
    /// Creates the mapping of a description for this geometry and number of channels.
    ///
    /// # Errors
    /// Returns an error if the order does not name each field once or the geometry is invalid. Also
    /// fails if an expression is malformed or does not have as many bits as its field. A mapping
    /// that sends two accesses to one location is refused, too.
    pub fn new(
        geometry: Geometry,
        channels: u32,
        spec: &MappingSpec,
        field: &str,
    ) -> Result<Self, SpecError> {
        geometry.check("geometry")?;
        SpecError::require(channels.is_power_of_two(), "channels", || {
            format!("{channels} must be a power of two")
        })?;
        let sizes = [
            Field::Column,
            Field::BankGroup,
            Field::Bank,
            Field::Row,
            Field::Channel,
        ]
        .map(|part| geometry.size(part, channels).trailing_zeros());
        let bits: u32 = sizes.iter().sum();
        SpecError::require(bits < 60, "geometry.rows", || {
            format!("{bits} bits of access number exceed the 59 supported")
        })?;
        let rows = match spec {
            MappingSpec::Order(order) => Self::ordered(&sizes, order, channels, field)?,
            MappingSpec::Bits {
                column,
                bank_group,
                bank,
                row,
                channel,
            } => {
                let texts = [
                    ("column", column),
                    ("bank_group", bank_group),
                    ("bank", bank),
                    ("row", row),
                    ("channel", channel),
                ];
                Self::expressed(&sizes, texts, bits, field)?
            }
        };
        let [column, group, bank, row, channel] = &rows;
        let place = [column, bank, group, row, channel];
        Ok(Self {
            parts: parts(place.into_iter().flatten()),
            column_bits: column.len() as u32,
            bank_bits: (bank.len() + group.len()) as u32,
            row_bits: row.len() as u32,
            bits,
        })
    }

    fn ordered(
        sizes: &[u32; 5],
        order: &[Field],
        channels: u32,
        field: &str,
    ) -> Result<[Vec<u64>; 5], SpecError> {
        let all = [Field::Column, Field::BankGroup, Field::Bank, Field::Row];
        let named = |f: &Field| order.iter().filter(|o| *o == f).count();
        let channel = named(&Field::Channel);
        SpecError::require(
            all.iter().all(|f| named(f) == 1) && (channel == 1 || channel == 0 && channels == 1),
            field,
            || {
                format!(
                    "{order:?} must name Column, BankGroup, Bank and Row once each, and Channel \
                     when there are several, least significant first"
                )
            },
        )?;
        let mut rows: [Vec<u64>; 5] = Default::default();
        let mut next = 0;
        for &part in order {
            let size = sizes[part as usize];
            rows[part as usize] = (next..next + size).map(|bit| 1 << bit).collect();
            next += size;
        }
        Ok(rows)
    }

    fn expressed(
        sizes: &[u32; 5],
        texts: [(&str, &String); 5],
        bits: u32,
        field: &str,
    ) -> Result<[Vec<u64>; 5], SpecError> {
        let mut rows: [Vec<u64>; 5] = Default::default();
        for (i, (name, text)) in texts.into_iter().enumerate() {
            let place = format!("{field}.{name}");
            rows[i] = expression::parse(text, bits).map_err(|e| SpecError::at(&place, e))?;
            let (found, wanted) = (rows[i].len(), sizes[i]);
            SpecError::require(found == wanted as usize, &place, || {
                format!("`{text}` has {found} bits, but the geometry needs {wanted}")
            })?;
        }
        if let Some(sum) = dependent(rows.iter().flatten().copied()) {
            let message = format!(
                "two accesses map to the same location: some location bits are the exclusive or of others, found at {sum}"
            );
            return Err(SpecError::at(field, message));
        }
        Ok(rows)
    }

    /// Returns the channel of `access` and its location within that channel.
    #[inline]
    pub fn locate(&self, access: u64) -> (u32, Location) {
        let parts = self.parts.iter();
        let mut place = parts.fold(0, |place, (turn, mask)| {
            place ^ access.rotate_right(*turn) & mask
        });
        let mut cut = |bits: u32| {
            let field = place & ((1 << bits) - 1);
            place >>= bits;
            field as u32
        };
        let (column, bank, row) = (
            cut(self.column_bits),
            cut(self.bank_bits),
            cut(self.row_bits),
        );
        (place as u32, Location { bank, row, column })
    }

    /// True if `access` is past the last row.
    #[inline]
    pub fn wraps(&self, access: u64) -> bool {
        access >> self.bits != 0
    }

    /// Wraps an access number into the range of existing rows.
    #[inline]
    pub fn wrapped(&self, access: u64) -> u64 {
        access & ((1 << self.bits) - 1)
    }
}

/// Returns the index (from 0) of the first row that is a sum of earlier rows, if any.
fn dependent(rows: impl Iterator<Item = u64>) -> Option<usize> {
    // Rows reduced so that each has a highest bit of its own, at the index of that bit.
    let mut reduced = [0u64; 64];
    for (number, mut row) in rows.enumerate() {
        loop {
            if row == 0 {
                return Some(number);
            }
            let highest = 63 - row.leading_zeros() as usize;
            if reduced[highest] == 0 {
                reduced[highest] = row;
                break;
            }
            row ^= reduced[highest];
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dram::tests::presets::{COLUMN_LOWEST, GROUP_LOWEST, reference_geometry};

    fn mapping(spec: &MappingSpec) -> Mapping {
        Mapping::new(reference_geometry(), 1, spec, "mapping").unwrap()
    }

    fn order(fields: &[Field]) -> MappingSpec {
        MappingSpec::Order(fields.to_vec())
    }

    fn bits(column: &str, bank_group: &str, bank: &str, row: &str) -> MappingSpec {
        MappingSpec::Bits {
            column: column.to_owned(),
            bank_group: bank_group.to_owned(),
            bank: bank.to_owned(),
            row: row.to_owned(),
            channel: String::new(),
        }
    }

    /// Returns the bank hash of GPGPU-Sim's policy 2: the remainder of all bits above the column.
    fn polynomial() -> MappingSpec {
        bits(
            "a[5:0]",
            "poly(a[21:6], 4)[3:2]",
            "poly(a[21:6], 4)[1:0]",
            "a[21:10]",
        )
    }

    #[test]
    fn group_lowest_rotates_groups_with_every_access() {
        let mapping = mapping(&order(&GROUP_LOWEST));
        let banks: Vec<_> = (0..5).map(|a| mapping.locate(a).1.bank).collect();
        assert_eq!(banks, [0, 4, 8, 12, 0]);
        assert_eq!(mapping.locate(4).1.column, 1);
        assert_eq!(mapping.locate(4 * 64).1.bank, 1);
    }

    #[test]
    fn an_order_and_the_same_bits_as_expressions_agree() {
        let a = mapping(&order(&GROUP_LOWEST));
        let b = mapping(&bits("a[7:2]", "a[1:0]", "a[9:8]", "a[21:10]"));
        for access in (0..1 << 22).step_by(977) {
            assert_eq!(a.locate(access), b.locate(access));
        }
    }

    #[test]
    fn channels_are_a_field_like_any_other() {
        let fields = [
            Field::Channel,
            Field::BankGroup,
            Field::Column,
            Field::Bank,
            Field::Row,
        ];
        let mapping = Mapping::new(reference_geometry(), 4, &order(&fields), "m").unwrap();
        let channels: Vec<_> = (0..5).map(|a| mapping.locate(a).0).collect();
        assert_eq!(channels, [0, 1, 2, 3, 0]);
        assert_eq!(mapping.locate(4).1.bank, 4);
        let error = Mapping::new(reference_geometry(), 4, &order(&GROUP_LOWEST), "m").unwrap_err();
        assert!(error.message.contains("Channel"), "{}", error.message);
    }

    #[test]
    fn xor_of_row_and_bank_bits_walks_all_banks_with_a_stride_of_a_row() {
        let mapping = mapping(&bits(
            "a[5:0]",
            "a[7:6] ^ a[11:10]",
            "a[9:8] ^ a[13:12]",
            "a[21:10]",
        ));
        let mut banks: Vec<_> = (0..16).map(|r| mapping.locate(r << 10).1.bank).collect();
        banks.sort_unstable();
        assert_eq!(banks, (0..16).collect::<Vec<_>>());
    }

    #[test]
    fn a_polynomial_hash_walks_all_banks_with_any_power_of_two_stride() {
        let mapping = mapping(&polynomial());
        for stride in 6..=18 {
            for start in (0..1u64 << (22 - stride)).step_by(16) {
                // As many accesses as there are banks, from a multiple of their number on.
                let at = |k: u64| mapping.locate((start + k) << stride).1.bank;
                let seen = (0..16).fold(0u32, |seen, k| seen | 1 << at(k));
                assert_eq!(seen, 0xffff, "from {start}, stride 2^{stride}");
            }
        }
    }

    #[test]
    fn mappings_that_cannot_be_are_refused_with_their_place() {
        let refused = |spec: &MappingSpec| {
            let error = Mapping::new(reference_geometry(), 1, spec, "mapping").unwrap_err();
            (error.field, error.message)
        };
        let twice = [Field::Row, Field::Row, Field::Bank, Field::Column];
        assert_eq!(refused(&order(&twice)).0, "mapping");
        let (field, message) = refused(&bits("a[7:1]", "a[1:0]", "a[9:8]", "a[21:10]"));
        assert_eq!(field, "mapping.column");
        assert_eq!(message, "`a[7:1]` has 7 bits, but the geometry needs 6");
        let (field, message) = refused(&bits("a[7:2]", "a[1:0]", "a[9:8]", "a[22:11]"));
        assert_eq!(field, "mapping.row");
        assert!(message.contains("22 bits"), "{message}");
        // Bits 2 and 3 are not told apart.
        let (field, message) = refused(&bits("{a[7:4], a[4:3]}", "a[1:0]", "a[9:8]", "a[21:10]"));
        assert_eq!(field, "mapping");
        assert!(message.contains("map to the same location"), "{message}");
        let odd = Geometry {
            rows: 1000,
            ..reference_geometry()
        };
        let error = Mapping::new(odd, 1, &order(&COLUMN_LOWEST), "mapping").unwrap_err();
        assert_eq!(error.field, "geometry.rows");
    }

    proptest! {
        #[test]
        fn every_access_has_its_own_place(
            a in 0u64..1 << 22, b in 0u64..1 << 22,
            order in Just(GROUP_LOWEST.to_vec()).prop_shuffle(), hashed in any::<bool>(),
        ) {
            let spec = if hashed { polynomial() } else { MappingSpec::Order(order) };
            let mapping = mapping(&spec);
            let (channel, place) = mapping.locate(a);
            prop_assert_eq!(channel, 0);
            prop_assert!(place.bank < 16 && place.row < 4096 && place.column < 64);
            prop_assert_eq!(mapping.locate(b).1 == place, a == b);
            prop_assert!(!mapping.wraps(a));
            let beyond = a + (1 << 22);
            prop_assert!(mapping.wraps(beyond));
            prop_assert_eq!(mapping.locate(mapping.wrapped(beyond)).1, place);
        }

        #[test]
        fn each_bit_of_a_place_is_the_parity_of_its_bits_of_the_number(access: u64) {
            let texts = ["poly(a[21:4], 6)", "a[7:6] ^ a[1:0]", "a[3:2] ^ a[5:4]", "a[21:10]"];
            let [column, group, bank, row] = texts.map(|text| {
                let rows = expression::parse(text, 22).unwrap();
                let bit = |row: &u64| (access & row).count_ones() % 2;
                rows.iter().map(bit).rev().fold(0, |field, bit| field << 1 | bit)
            });
            let expected = Location { bank: group << 2 | bank, row, column };
            let [column, group, bank, row] = texts;
            let mapping = mapping(&bits(column, group, bank, row));
            prop_assert_eq!(mapping.locate(access), (0, expected));
        }
    }
}
