//! Entries of a matrix while it is read.

use warpweave_files::{Budget, Charge, OverBudget};

use super::{Matrix, Repeated};
use crate::error::InputError;

/// Memory per entry while it is read, sorted and stored, in bytes. A growing vector is temporarily
/// twice as large.
const ENTRY_BYTES: u64 = 56;

/// Number of entries charged in one step.
const ENTRIES_CHARGED: usize = 1 << 12;

/// Entries in any order, charged to a budget.
pub(crate) struct Entries {
    list: Vec<(u32, u32, f64)>,
    is_complex: bool,
    charge: Charge,
    /// Number of entries charged so far.
    charged: usize,
}

impl Entries {
    pub(crate) fn new(budget: &Budget, is_complex: bool) -> Result<Self, OverBudget> {
        Ok(Self {
            list: Vec::new(),
            is_complex,
            charge: budget.charge("a matrix", 0)?,
            charged: 0,
        })
    }

    pub(crate) fn push(&mut self, row: u32, column: u32, value: f64) -> Result<(), InputError> {
        if self.list.len() == self.charged {
            let more = self.charged.max(ENTRIES_CHARGED);
            self.charge.grow("a matrix", more as u64 * ENTRY_BYTES)?;
            self.charged += more;
        }
        self.list.push((row, column, value));
        Ok(())
    }

    /// Sorts the entries, and adds up those of one place in their order.
    pub(crate) fn into_matrix(mut self, rows: u32, columns: u32) -> Result<Matrix, InputError> {
        let bytes = (u64::from(rows) + 1) * size_of::<u32>() as u64;
        self.charge.grow("a matrix", bytes)?;
        // Keeps the order of entries for one place.
        self.list.sort_by_key(|&(row, column, _)| (row, column));
        let mut matrix = Matrix {
            columns,
            row_offsets: vec![0; rows as usize + 1],
            column_of: Vec::with_capacity(self.list.len()),
            values: Vec::with_capacity(self.list.len()),
            is_complex: self.is_complex,
            repeated: None,
        };
        let mut before = None;
        for &(row, column, value) in &self.list {
            let place = (row, column);
            if before == Some(place) {
                let first = Repeated { place, entries: 0 };
                matrix.repeated.get_or_insert(first).entries += 1;
                if let Some(sum) = matrix.values.last_mut() {
                    *sum += value;
                }
                continue;
            }
            before = Some(place);
            matrix.row_offsets[row as usize + 1] += 1;
            matrix.column_of.push(column);
            matrix.values.push(value);
        }
        for row in 1..matrix.row_offsets.len() {
            matrix.row_offsets[row] += matrix.row_offsets[row - 1];
        }
        Ok(matrix)
    }
}
