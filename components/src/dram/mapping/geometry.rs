//! Device sizes, and locations within a device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

use super::spec::Field;

/// Maximum number of banks per channel: one bit each in a 64-bit mask.
pub(crate) const BANKS_MAX: u32 = 64;

/// Numbers of bank groups, banks, rows and columns of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Number of bank groups; a power of two.
    pub bank_groups: u32,
    /// Banks of each group; a power of two, at most 64 banks in all.
    pub banks_per_group: u32,
    /// Number of rows in each bank; a power of two.
    pub rows: u32,
    /// Number of bursts in each row; a power of two (64 for a 2 KiB page of an x32 device).
    pub columns: u32,
}

/// Bank, row and column of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Bank of the channel: group x banks per group + bank within the group.
    pub bank: u32,
    pub row: u32,
    /// Index of the burst within the row.
    pub column: u32,
}

impl Geometry {
    /// Returns the number of banks in a channel.
    pub fn banks(&self) -> u32 {
        self.bank_groups * self.banks_per_group
    }

    /// Returns the number of accesses a channel can hold.
    pub fn accesses(&self) -> u64 {
        u64::from(self.banks()) * u64::from(self.rows) * u64::from(self.columns)
    }

    /// Checks that all sizes are valid.
    ///
    /// # Errors
    /// Returns an error if a size is not a power of two, or if there are more than 64 banks.
    pub fn check(&self, field: &str) -> Result<(), SpecError> {
        let sizes = [
            ("bank_groups", self.bank_groups),
            ("banks_per_group", self.banks_per_group),
            ("rows", self.rows),
            ("columns", self.columns),
        ];
        for (name, size) in sizes {
            SpecError::require(size.is_power_of_two(), &format!("{field}.{name}"), || {
                format!("{size} must be a power of two")
            })?;
        }
        let banks = u64::from(self.bank_groups) * u64::from(self.banks_per_group);
        SpecError::require(
            banks <= u64::from(BANKS_MAX),
            &format!("{field}.banks_per_group"),
            || format!("{banks} banks exceed the {BANKS_MAX} supported"),
        )
    }

    pub(super) fn size(&self, field: Field, channels: u32) -> u32 {
        match field {
            Field::Column => self.columns,
            Field::BankGroup => self.bank_groups,
            Field::Bank => self.banks_per_group,
            Field::Row => self.rows,
            Field::Channel => channels,
        }
    }
}
