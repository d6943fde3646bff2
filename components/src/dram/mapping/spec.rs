//! Description of an address mapping.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Field of a DRAM location, used to give the mapping order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Field {
    /// Column field: the burst within the row.
    Column,
    /// Bank group within the channel's devices.
    BankGroup,
    /// Bank field: the bank within its group.
    Bank,
    /// Row field: the row within the bank.
    Row,
    /// Channel of the controller; may be omitted if there is only one.
    Channel,
}

/// Assignment of access-number bits to fields. Numbers past the last row wrap to row 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MappingSpec {
    /// Whole fields, least significant first: `Order([BankGroup, Column, Bank, Row])` rotates bank
    /// groups with every access.
    Order(Vec<Field>),
    /// Every field as an expression over the bits of the access number `a`, in the notation of
    /// hardware description languages. `a[5]` and `a[9:6]` are bits, `{x, y}` concatenates them
    /// (most significant first) and `x ^ y` is their exclusive or. `poly(x, n)` is the remainder of
    /// `x` as a polynomial over GF(2) divided by the usual primitive polynomial of degree `n` (2 to
    /// 8). Any of them can be followed by `[high:low]`. An empty text means no bits.
    Bits {
        /// Expression for the column, the burst within the row.
        column: String,
        /// Expression for the bank group of the access.
        bank_group: String,
        /// Expression for the bank within its group.
        bank: String,
        /// Expression for the row within the bank.
        row: String,
        /// Expression for the controller's channel; no bits for one channel. Source: one channel
        /// per controller.
        #[serde(default)]
        channel: String,
    },
}
