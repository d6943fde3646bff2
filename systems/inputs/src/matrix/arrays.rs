//! Arrays that store a matrix on a device.

use serde::Deserialize;

use super::Matrix;
use crate::element::{ElementType, words_of_bytes};

/// Array of the compressed sparse row form: the entries by row, then by column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum CsrArray {
    /// Index of the first entry of each row, followed by the number of entries.
    RowOffsets,
    /// Column of each entry, from 0.
    Columns,
    /// Number of each entry, as elements of this type.
    Values(ElementType),
}

/// Array of the compressed sparse column form: the entries by column, then by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum CscArray {
    /// Index of the first entry of each column, followed by the number of entries.
    ColumnOffsets,
    /// Row of each entry, from 0.
    Rows,
    /// Number of each entry, as elements of this type.
    Values(ElementType),
}

/// Array of the coordinate form: the entries by row, then by column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum CooArray {
    /// Row of each entry, from 0.
    Rows,
    /// Column of each entry, from 0.
    Columns,
    /// Number of each entry, as elements of this type.
    Values(ElementType),
}

/// Order of the elements of a dense matrix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum DenseOrder {
    /// One row after the other, as C stores arrays.
    #[default]
    ByRows,
    /// One column after the other, as Fortran stores arrays.
    ByColumns,
}

/// One of the arrays of a matrix, in any form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixArray {
    /// Array of the compressed sparse row form.
    Csr(CsrArray),
    /// Array of the compressed sparse column form.
    Csc(CscArray),
    /// Array of the coordinate form of a matrix.
    Coo(CooArray),
    /// All elements, with zeros where there are no entries.
    Dense(ElementType, DenseOrder),
}

impl MatrixArray {
    /// Returns the type of the numbers of the matrix in the array, if it holds them.
    fn of_values(self) -> Option<ElementType> {
        match self {
            Self::Csr(CsrArray::Values(element))
            | Self::Csc(CscArray::Values(element))
            | Self::Coo(CooArray::Values(element))
            | Self::Dense(element, _) => Some(element),
            _ => None,
        }
    }

    /// Returns the type of its elements.
    pub fn element(self) -> ElementType {
        self.of_values().unwrap_or(ElementType::U32)
    }
}

impl Matrix {
    /// Returns the number of elements of an array.
    pub fn length(&self, array: MatrixArray) -> u64 {
        let (rows, columns) = (u64::from(self.rows()), u64::from(self.columns()));
        match array {
            MatrixArray::Csr(CsrArray::RowOffsets) => rows + 1,
            MatrixArray::Csc(CscArray::ColumnOffsets) => columns + 1,
            MatrixArray::Dense(..) => rows * columns,
            _ => self.entries().into(),
        }
    }

    /// Returns the reason why an array cannot hold the numbers of the matrix, if it cannot.
    pub fn refusal(&self, array: MatrixArray) -> Option<String> {
        let element = array.of_values()?;
        if self.is_complex {
            return Some("has complex numbers, and arrays hold real ones".to_owned());
        }
        let is_refused = |value: &f64| element.of_float(*value).is_none();
        let at = self.values.iter().position(is_refused)?;
        let row = self
            .row_offsets
            .partition_point(|offset| *offset as usize <= at);
        Some(format!(
            "has the number {:?} in row {row}, column {} (from 1), expected {}",
            self.values[at],
            self.column_of[at] + 1,
            element.expected()
        ))
    }

    /// Returns the words of an array.
    ///
    /// # Panics
    /// Panics if there is a [`refusal`](Self::refusal) for the array.
    pub fn words(&self, array: MatrixArray) -> Vec<u32> {
        match array {
            MatrixArray::Csr(CsrArray::RowOffsets) => self.row_offsets.clone(),
            MatrixArray::Csr(CsrArray::Columns) | MatrixArray::Coo(CooArray::Columns) => {
                self.column_of.clone()
            }
            MatrixArray::Coo(CooArray::Rows) => self.row_of_entries().collect(),
            MatrixArray::Csr(CsrArray::Values(element))
            | MatrixArray::Coo(CooArray::Values(element)) => {
                element.pack(self.values.iter().map(|value| pattern(element, *value)))
            }
            MatrixArray::Csc(CscArray::ColumnOffsets) => self.column_offsets(),
            MatrixArray::Csc(CscArray::Rows) => {
                let mut rows = vec![0; self.values.len()];
                let entries = self.row_of_entries().zip(self.places_by_column());
                entries.for_each(|(row, place)| rows[place] = row);
                rows
            }
            MatrixArray::Csc(CscArray::Values(element)) => {
                let mut values = vec![0.0; self.values.len()];
                let entries = self.values.iter().zip(self.places_by_column());
                entries.for_each(|(value, place)| values[place] = *value);
                element.pack(values.into_iter().map(|value| pattern(element, value)))
            }
            MatrixArray::Dense(element, order) => self.dense(element, order),
        }
    }

    fn dense(&self, element: ElementType, order: DenseOrder) -> Vec<u32> {
        let (rows, columns) = (self.rows() as usize, self.columns() as usize);
        let mut bytes = vec![0; rows * columns * element.bytes()];
        let entries = self.row_of_entries().zip(&self.column_of).zip(&self.values);
        for ((row, column), value) in entries {
            let (row, column) = (row as usize, *column as usize);
            let at = element.bytes()
                * match order {
                    DenseOrder::ByRows => row * columns + column,
                    DenseOrder::ByColumns => column * rows + row,
                };
            let number = pattern(element, *value).to_le_bytes();
            bytes[at..at + element.bytes()].copy_from_slice(&number[..element.bytes()]);
        }
        words_of_bytes(&bytes)
    }

    /// Returns the row of each entry.
    fn row_of_entries(&self) -> impl Iterator<Item = u32> + '_ {
        let rows = self.row_offsets.windows(2).zip(0..);
        rows.flat_map(|(ends, row)| (ends[0]..ends[1]).map(move |_| row))
    }

    fn column_offsets(&self) -> Vec<u32> {
        let mut offsets = vec![0; self.columns() as usize + 1];
        for &column in &self.column_of {
            offsets[column as usize + 1] += 1;
        }
        for column in 1..offsets.len() {
            offsets[column] += offsets[column - 1];
        }
        offsets
    }

    /// Returns the index of each entry in the order by column.
    fn places_by_column(&self) -> impl Iterator<Item = usize> + '_ {
        let mut next = self.column_offsets();
        self.column_of.iter().map(move |column| {
            let place = &mut next[*column as usize];
            *place += 1;
            *place as usize - 1
        })
    }
}

fn pattern(element: ElementType, value: f64) -> u64 {
    let pattern = element.of_float(value);
    pattern.expect("a number that the type cannot hold is refused")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::read::parse_matrix;

    fn matrix(text: &str) -> Matrix {
        let text = format!("%%MatrixMarket matrix {text}");
        parse_matrix("m.mtx", text.as_bytes()).unwrap()
    }

    /// ```text
    /// 0 2 0 0
    /// 3 0 0 4
    /// 0 1 0 0
    /// ```
    fn small() -> Matrix {
        matrix("coordinate real general\n3 4 4\n2 4 4\n1 2 2\n2 1 3\n3 2 1\n")
    }

    #[test]
    fn entries_lie_by_row_by_column_and_as_coordinates_from_zero() {
        let words = |array| small().words(array);
        assert_eq!(words(MatrixArray::Csr(CsrArray::RowOffsets)), [0, 1, 3, 4]);
        assert_eq!(words(MatrixArray::Csr(CsrArray::Columns)), [1, 0, 3, 1]);
        assert_eq!(words(MatrixArray::Coo(CooArray::Rows)), [0, 1, 1, 2]);
        assert_eq!(words(MatrixArray::Coo(CooArray::Columns)), [1, 0, 3, 1]);
        let values = CsrArray::Values(ElementType::U32);
        assert_eq!(words(MatrixArray::Csr(values)), [2, 3, 4, 1]);
        let values = CooArray::Values(ElementType::U8);
        assert_eq!(words(MatrixArray::Coo(values)), [0x0104_0302]);
        let offsets = words(MatrixArray::Csc(CscArray::ColumnOffsets));
        assert_eq!(offsets, [0, 1, 3, 3, 4]);
        assert_eq!(words(MatrixArray::Csc(CscArray::Rows)), [1, 0, 2, 1]);
        let values = CscArray::Values(ElementType::U32);
        assert_eq!(words(MatrixArray::Csc(values)), [3, 2, 1, 4]);
    }

    #[test]
    fn a_dense_matrix_has_all_elements_by_row_or_by_column() {
        let words = |order| small().words(MatrixArray::Dense(ElementType::U32, order));
        assert_eq!(
            words(DenseOrder::ByRows),
            [0, 2, 0, 0, 3, 0, 0, 4, 0, 1, 0, 0]
        );
        assert_eq!(
            words(DenseOrder::ByColumns),
            [0, 3, 0, 2, 0, 1, 0, 0, 0, 0, 4, 0]
        );
        let halves = MatrixArray::Dense(ElementType::F16, DenseOrder::ByRows);
        assert_eq!(small().length(halves), 12);
        assert_eq!(small().words(halves)[..2], [0x4000_0000, 0]);
    }

    #[test]
    fn a_number_that_the_type_cannot_hold_is_refused_with_its_place() {
        let bytes = MatrixArray::Csr(CsrArray::Values(ElementType::U8));
        assert_eq!(small().refusal(bytes), None);
        let found = matrix("coordinate real general\n3 3 2\n1 1 1\n3 2 0.5\n");
        assert_eq!(
            found.refusal(bytes).unwrap(),
            "has the number 0.5 in row 3, column 2 (from 1), expected a whole number from 0 to 255"
        );
        let single = MatrixArray::Dense(ElementType::F32, DenseOrder::ByRows);
        let huge = matrix("coordinate real general\n1 1 1\n1 1 1e300\n");
        assert!(huge.refusal(single).unwrap().contains("range of f32"));
        let complex = matrix("coordinate complex general\n1 1 1\n1 1 2 3\n");
        assert!(complex.refusal(single).unwrap().contains("complex"));
        assert_eq!(complex.refusal(MatrixArray::Coo(CooArray::Rows)), None);
    }

    proptest! {
        /// Every form holds the same elements.
        #[test]
        fn all_forms_hold_the_same_matrix(
            (rows, columns) in (1_u32..9, 1_u32..9),
            places in prop::collection::btree_map((0_u32..9, 0_u32..9), 1_u32..100, 0..20),
        ) {
            let entries: Vec<_> = places
                .into_iter()
                .map(|((row, column), value)| (row % rows, column % columns, value))
                .collect();
            let mut dense = vec![0; (rows * columns) as usize];
            let mut text = format!("coordinate integer general\n{rows} {columns} {}\n", entries.len());
            for (row, column, value) in entries {
                dense[(row * columns + column) as usize] += value;
                writeln!(text, "{} {} {value}", row + 1, column + 1).unwrap();
            }
            let matrix = matrix(&text);
            let words = |array| matrix.words(array);
            let element = ElementType::U32;
            prop_assert_eq!(&words(MatrixArray::Dense(element, DenseOrder::ByRows)), &dense);
            let mut again = vec![0; dense.len()];
            let coordinates = words(MatrixArray::Coo(CooArray::Rows));
            let others = words(MatrixArray::Coo(CooArray::Columns));
            let values = words(MatrixArray::Coo(CooArray::Values(element)));
            for ((row, column), value) in coordinates.into_iter().zip(others).zip(values) {
                again[(row * columns + column) as usize] += value;
            }
            prop_assert_eq!(&again, &dense);
            let mut again = vec![0; dense.len()];
            let offsets = words(MatrixArray::Csc(CscArray::ColumnOffsets));
            let rows_of = words(MatrixArray::Csc(CscArray::Rows));
            let values = words(MatrixArray::Csc(CscArray::Values(element)));
            for (column, ends) in offsets.windows(2).enumerate() {
                for at in ends[0] as usize..ends[1] as usize {
                    again[rows_of[at] as usize * columns as usize + column] += values[at];
                }
            }
            prop_assert_eq!(&again, &dense);
        }
    }
}
