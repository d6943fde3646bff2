//! Matrices of real numbers of any shape, and the arrays that store them on a device.

mod arrays;
mod entries;

pub use arrays::{CooArray, CscArray, CsrArray, DenseOrder, MatrixArray};
pub(crate) use entries::Entries;

/// Sparse matrix with entries sorted by row, then by column. No two entries have the same place.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    columns: u32,
    row_offsets: Vec<u32>,
    column_of: Vec<u32>,
    /// Number of each entry; 0 if they are complex.
    values: Vec<f64>,
    is_complex: bool,
    repeated: Option<Repeated>,
}

/// Entries of a file whose place an earlier one has too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeated {
    /// Number of entries that were added to an earlier one.
    pub entries: u32,
    /// Row and column of the first of them, from 0.
    pub place: (u32, u32),
}

impl Matrix {
    pub fn rows(&self) -> u32 {
        self.row_offsets.len() as u32 - 1
    }

    pub fn columns(&self) -> u32 {
        self.columns
    }

    /// Returns the number of entries, at most one for each place.
    pub fn entries(&self) -> u32 {
        self.column_of.len() as u32
    }

    /// Returns the entries that were added to earlier ones, if there were any.
    pub fn repeated(&self) -> Option<Repeated> {
        self.repeated
    }

    /// Returns the memory that the matrix takes, and the largest array made of it by columns.
    pub fn bytes(&self) -> u64 {
        let entry = size_of::<u32>() + 2 * size_of::<f64>();
        let offset = size_of::<u32>() as u64;
        let offsets = u64::from(self.rows()) + u64::from(self.columns) + 2;
        u64::from(self.entries()) * entry as u64 + offsets * offset
    }

    /// Multiplies the matrix with a vector in double precision. Each sum begins with the first
    /// entry of its row.
    ///
    /// # Panics
    /// Panics if the vector does not have an element for each column.
    pub fn times(&self, vector: &[f64]) -> Vec<f64> {
        assert_eq!(vector.len(), self.columns as usize);
        let product = |at: usize| self.values[at] * vector[self.column_of[at] as usize];
        let row = |ends: &[u32]| {
            let entries = ends[0] as usize..ends[1] as usize;
            entries.map(product).fold(0.0, |sum, product| sum + product)
        };
        self.row_offsets.windows(2).map(row).collect()
    }

    /// True if its numbers are complex, and thus not kept.
    pub fn is_complex(&self) -> bool {
        self.is_complex
    }
}
