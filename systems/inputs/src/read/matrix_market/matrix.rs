//! Reads any file as a matrix of real numbers.

use std::io::BufRead;

use warpweave_files::Budget;

use super::{Field, Purpose, Symmetry, read_entries, read_header};
use crate::error::InputError;
use crate::matrix::{Entries, Matrix};
use crate::read::lines::Lines;

pub(in crate::read) fn read(
    mut lines: Lines<impl BufRead>,
    budget: &Budget,
) -> Result<Matrix, InputError> {
    let (banner, sizes) = read_header(&mut lines, Purpose::Matrix)?;
    let mut entries = Entries::new(budget, banner.field == Field::Complex)?;
    read_entries(&mut lines, &banner, &sizes, |row, column, words| {
        let (value, is_zero) = match banner.field {
            Field::Pattern => (1.0, false),
            Field::Integer => {
                let value = words.exact_whole()?;
                (value, value == 0.0)
            }
            Field::Real => {
                let value = words.real()?;
                (value, value == 0.0)
            }
            Field::Complex => {
                let (real, imaginary) = (words.real()?, words.real()?);
                (0.0, real == 0.0 && imaginary == 0.0)
            }
        };
        if banner.is_array && is_zero {
            return Ok(());
        }
        entries.push(row, column, value)?;
        if banner.symmetry == Symmetry::General || row == column {
            return Ok(());
        }
        let mirrored = match banner.symmetry {
            Symmetry::SkewSymmetric => -value,
            _ => value,
        };
        entries.push(column, row, mirrored)
    })?;
    entries.into_matrix(sizes.rows, sizes.columns)
}
