//! From an access number of a channel to bank, row and column.
//!
//! An access is one burst of all devices of the channel. Its number (channel-local address divided
//! by the access bytes) is cut into bit fields in the order the description states.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

/// Banks a channel can have: one bit each in a 64-bit mask.
pub(crate) const BANKS_MAX: u32 = 64;

/// Sizes of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Bank groups; a power of two.
    pub bank_groups: u32,
    /// Banks of each group; a power of two, at most 64 banks in all.
    pub banks_per_group: u32,
    /// Rows of each bank; a power of two.
    pub rows: u32,
    /// Bursts of each row; a power of two (64 for a 2 KiB page of an x32 device).
    pub columns: u32,
}

/// A bit field of the access number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Field {
    /// Burst within the row.
    Column,
    /// Bank group.
    BankGroup,
    /// Bank within its group.
    Bank,
    /// Row within the bank.
    Row,
}

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Bank of the channel: group x banks per group + bank within the group.
    pub bank: u32,
    /// Row within the bank.
    pub row: u32,
    /// Burst within the row.
    pub column: u32,
}

/// Cuts access numbers into fields.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    geometry: Geometry,
    /// Shift and mask of column, group, bank, row.
    column: (u32, u64),
    group: (u32, u64),
    bank: (u32, u64),
    row: (u32, u64),
    bits: u32,
}

impl Geometry {
    /// Banks of the channel.
    pub fn banks(&self) -> u32 {
        self.bank_groups * self.banks_per_group
    }

    fn size(&self, field: Field) -> u32 {
        match field {
            Field::Column => self.columns,
            Field::BankGroup => self.bank_groups,
            Field::Bank => self.banks_per_group,
            Field::Row => self.rows,
        }
    }

    /// Checks the sizes.
    ///
    /// # Errors
    /// A size that is no power of two, or more than 64 banks.
    pub fn check(&self, field: &str) -> Result<(), SpecError> {
        let sizes = [
            ("bank_groups", self.bank_groups),
            ("banks_per_group", self.banks_per_group),
            ("rows", self.rows),
            ("columns", self.columns),
        ];
        for (name, size) in sizes {
            SpecError::require(size.is_power_of_two(), &format!("{field}.{name}"), || {
                format!("{size} is not a power of two")
            })?;
        }
        let banks = u64::from(self.bank_groups) * u64::from(self.banks_per_group);
        SpecError::require(
            banks <= u64::from(BANKS_MAX),
            &format!("{field}.banks_per_group"),
            || format!("{banks} banks are more than the {BANKS_MAX} supported"),
        )
    }
}

impl Mapping {
    /// A mapping with the fields in this order, least significant first.
    ///
    /// # Errors
    /// An order that does not name each of the four fields once, or a bad geometry.
    pub fn new(geometry: Geometry, order: &[Field], field: &str) -> Result<Self, SpecError> {
        geometry.check("geometry")?;
        let all = [Field::Column, Field::BankGroup, Field::Bank, Field::Row];
        SpecError::require(
            order.len() == all.len() && all.iter().all(|f| order.contains(f)),
            field,
            || {
                format!(
                    "{order:?} must name Column, BankGroup, Bank and Row once each, least \
                     significant first"
                )
            },
        )?;
        let mut mapping = Self {
            geometry,
            column: (0, 0),
            group: (0, 0),
            bank: (0, 0),
            row: (0, 0),
            bits: 0,
        };
        for &part in order {
            let size = geometry.size(part);
            let cut = (mapping.bits, u64::from(size - 1));
            match part {
                Field::Column => mapping.column = cut,
                Field::BankGroup => mapping.group = cut,
                Field::Bank => mapping.bank = cut,
                Field::Row => mapping.row = cut,
            }
            mapping.bits += size.trailing_zeros();
        }
        Ok(mapping)
    }

    /// Where `access` goes. Numbers beyond the last row start over at row 0.
    #[inline]
    pub fn locate(&self, access: u64) -> Location {
        let cut = |(shift, mask): (u32, u64)| (access >> shift & mask) as u32;
        Location {
            bank: cut(self.group) * self.geometry.banks_per_group + cut(self.bank),
            row: cut(self.row),
            column: cut(self.column),
        }
    }

    /// The number of the access at `location`; inverse of [`Mapping::locate`].
    pub fn access(&self, location: Location) -> u64 {
        let put = |value: u32, (shift, _): (u32, u64)| u64::from(value) << shift;
        put(location.bank / self.geometry.banks_per_group, self.group)
            | put(location.bank % self.geometry.banks_per_group, self.bank)
            | put(location.row, self.row)
            | put(location.column, self.column)
    }

    /// Whether `access` lies beyond the last row.
    #[inline]
    pub fn wraps(&self, access: u64) -> bool {
        self.bits < u64::BITS && access >> self.bits != 0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The geometry of the reference data: 4 groups of 4 banks, 2 KiB rows.
    pub(crate) fn reference_geometry() -> Geometry {
        Geometry {
            bank_groups: 4,
            banks_per_group: 4,
            rows: 4096,
            columns: 64,
        }
    }

    pub(crate) const COLUMN_LOWEST: [Field; 4] =
        [Field::Column, Field::BankGroup, Field::Bank, Field::Row];
    pub(crate) const GROUP_LOWEST: [Field; 4] =
        [Field::BankGroup, Field::Column, Field::Bank, Field::Row];

    #[test]
    fn group_lowest_rotates_groups_with_every_access() {
        let mapping = Mapping::new(reference_geometry(), &GROUP_LOWEST, "mapping").unwrap();
        let banks: Vec<_> = (0..5).map(|a| mapping.locate(a).bank).collect();
        assert_eq!(banks, [0, 4, 8, 12, 0]);
        assert_eq!(mapping.locate(4).column, 1);
        assert_eq!(mapping.locate(4 * 64).bank, 1);
    }

    #[test]
    fn an_order_without_a_field_is_refused() {
        let twice = [Field::Row, Field::Row, Field::Bank, Field::Column];
        let error = Mapping::new(reference_geometry(), &twice, "mapping").unwrap_err();
        assert_eq!(error.field, "mapping");
        let odd = Geometry {
            rows: 1000,
            ..reference_geometry()
        };
        let error = Mapping::new(odd, &COLUMN_LOWEST, "mapping").unwrap_err();
        assert_eq!(error.field, "geometry.rows");
    }

    proptest! {
        #[test]
        fn every_access_has_its_own_place(
            access in 0u64..1 << 22, order in Just(GROUP_LOWEST.to_vec()).prop_shuffle(),
        ) {
            let mapping = Mapping::new(reference_geometry(), &order, "mapping").unwrap();
            let location = mapping.locate(access);
            prop_assert_eq!(mapping.access(location), access);
            prop_assert!(location.bank < 16 && location.row < 4096 && location.column < 64);
            prop_assert!(!mapping.wraps(access));
            prop_assert!(mapping.wraps(access + (1 << 22)));
            prop_assert_eq!(mapping.locate(access + (1 << 22)), location);
        }
    }
}
