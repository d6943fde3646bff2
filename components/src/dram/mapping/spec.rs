//! What a description says about a mapping.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A field of a place.
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
    /// Channel of the controller; may be left out when it has one.
    Channel,
}

/// How access numbers are cut into fields. Numbers beyond the last row start over at row 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MappingSpec {
    /// Whole fields, least significant first: `Order([BankGroup, Column, Bank, Row])` rotates bank
    /// groups with every access.
    Order(Vec<Field>),
    /// Every field as an expression over the bits of the access number `a`, in the notation of
    /// hardware description languages: `a[5]` and `a[9:6]` are bits, `{x, y}` puts them side by
    /// side (most significant first), `x ^ y` is their exclusive or, and `poly(x, n)` the
    /// remainder of `x` as a polynomial over GF(2) divided by the usual primitive polynomial of
    /// degree `n` (2 to 8); any of them can be followed by `[high:low]`. An empty text stands for
    /// no bits.
    Bits {
        /// Burst within the row.
        column: String,
        /// Bank group.
        bank_group: String,
        /// Bank within its group.
        bank: String,
        /// Row within the bank.
        row: String,
        /// Channel of the controller; no bits for one channel. Source: one channel per controller.
        #[serde(default)]
        channel: String,
    },
}
