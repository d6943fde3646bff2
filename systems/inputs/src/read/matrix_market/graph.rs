//! Reads a square coordinate file as a graph.

use std::io::BufRead;

use warpweave_files::Budget;

use super::{Field, Purpose, Symmetry, read_entries, read_header};
use crate::csr::Csr;
use crate::error::InputError;
use crate::read::lines::Lines;
use crate::read::{Arcs, EntryValues};

pub(in crate::read) fn read(
    mut lines: Lines<impl BufRead>,
    budget: &Budget,
    values: EntryValues,
) -> Result<Csr, InputError> {
    let (banner, sizes) = read_header(&mut lines, Purpose::Graph)?;
    let has_values = banner.field != Field::Pattern;
    let keep = has_values && values == EntryValues::Weights;
    let mut arcs = Arcs::new(budget, keep)?;
    if keep && banner.field == Field::Complex {
        arcs.refuse_weights(format!("the numbers of {} are complex", lines.file()));
    } else if keep && banner.symmetry == Symmetry::SkewSymmetric {
        let file = lines.file();
        arcs.refuse_weights(format!(
            "{file} is skew-symmetric, and weights have no sign"
        ));
    }
    read_entries(&mut lines, &banner, &sizes, |row, column, words| {
        let weight = if has_values {
            arcs.weight(words)?
        } else {
            None
        };
        if banner.field == Field::Complex {
            words.real()?;
        }
        arcs.push(row, column, weight)?;
        if banner.symmetry != Symmetry::General && row != column {
            arcs.push(column, row, weight)?;
        }
        Ok(())
    })?;
    arcs.into_graph(sizes.rows)
}
