//! Reader for Matrix Market files (Boisvert, Pozo and Remington, NISTIR 5935, 1996).
//!
//! `graph.rs` reads square coordinate files as graphs, `matrix.rs` any file as a matrix.

mod graph;
mod matrix;

use std::io::BufRead;

pub(super) use graph::read as read_graph;
pub(super) use matrix::read as read_matrix;

use crate::csr::{MAX_EDGES, MAX_VERTICES};
use crate::error::InputError;
use crate::read::lines::{Line, Lines, Word, Words};

const BANNER: &str = "`%%MatrixMarket matrix <coordinate|array> <field> <symmetry>`";

/// Purpose of reading a file, which determines its valid forms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Graph,
    Matrix,
}

/// Kind of the numbers stored with each entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Pattern,
    Integer,
    Real,
    Complex,
}

/// Entries that follow from those in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    SkewSymmetric,
    Hermitian,
}

/// Contents of the banner line of a file.
struct Banner {
    /// True if the file lists all elements, column by column.
    is_array: bool,
    field: Field,
    symmetry: Symmetry,
}

/// Contents of the size line of a file.
struct Sizes {
    rows: u32,
    columns: u32,
    /// Number of entries that the file stores.
    entries: u32,
}

/// Reads the banner and the size line.
fn read_header(
    lines: &mut Lines<impl BufRead>,
    purpose: Purpose,
) -> Result<(Banner, Sizes), InputError> {
    let banner = match lines.next()? {
        Some(line) => read_banner(&line, purpose)?,
        None => return Err(lines.ended(BANNER)),
    };
    lines.is_known();
    let expected = if banner.is_array {
        "the size line `rows columns`"
    } else {
        "the size line `rows columns entries`"
    };
    let sizes = match lines.next_data(b"%")? {
        Some(line) => read_sizes(&line, &banner, purpose)?,
        None => return Err(lines.ended(expected)),
    };
    Ok((banner, sizes))
}

fn read_banner(line: &Line<'_>, purpose: Purpose) -> Result<Banner, InputError> {
    let mut words = line.words();
    if !words.take().is_some_and(|word| word.is("%%MatrixMarket")) {
        return Err(line.unexpected(BANNER));
    }
    one_of(&mut words, &[("matrix", ())], "`matrix`")?;
    let coordinate = ("coordinate", false);
    let is_array = match purpose {
        Purpose::Graph => one_of(
            &mut words,
            &[coordinate],
            "`coordinate` (a dense `array` is not a graph)",
        )?,
        Purpose::Matrix => one_of(
            &mut words,
            &[coordinate, ("array", true)],
            "`coordinate` or `array`",
        )?,
    };
    let numbers = [
        ("integer", Field::Integer),
        ("real", Field::Real),
        ("complex", Field::Complex),
        ("pattern", Field::Pattern),
    ];
    let (allowed, expected) = if is_array {
        (
            3,
            "`integer`, `real` or `complex` (all elements of an `array` have numbers)",
        )
    } else {
        (4, "`pattern`, `integer`, `real` or `complex`")
    };
    let field = one_of(&mut words, &numbers[..allowed], expected)?;
    let symmetries = [
        ("general", Symmetry::General),
        ("symmetric", Symmetry::Symmetric),
        ("skew-symmetric", Symmetry::SkewSymmetric),
        ("hermitian", Symmetry::Hermitian),
    ];
    let (allowed, expected) = match field {
        Field::Pattern => (2, "`general` or `symmetric`"),
        Field::Integer | Field::Real => (3, "`general`, `symmetric` or `skew-symmetric`"),
        Field::Complex => (4, "`general`, `symmetric`, `skew-symmetric` or `hermitian`"),
    };
    let symmetry = one_of(&mut words, &symmetries[..allowed], expected)?;
    words.end()?;
    Ok(Banner {
        is_array,
        field,
        symmetry,
    })
}

/// Takes the next word, which must be one of the names, and returns the meaning of that name.
fn one_of<T: Copy>(
    words: &mut Words<'_>,
    names: &[(&str, T)],
    expected: &str,
) -> Result<T, InputError> {
    let word = words.take();
    let meant = |word: Word<'_>| names.iter().find(|(name, _)| word.is(name));
    let found = word.and_then(meant).map(|(_, meaning)| *meaning);
    found.ok_or_else(|| words.unexpected(word, expected))
}

fn read_sizes(line: &Line<'_>, banner: &Banner, purpose: Purpose) -> Result<Sizes, InputError> {
    let mut words = line.words();
    let rows = words.whole("a number of rows", 0..=MAX_VERTICES)?;
    let reason = match (purpose, banner.symmetry) {
        (Purpose::Graph, _) => Some("only a square matrix is a graph"),
        (Purpose::Matrix, Symmetry::General) => None,
        (Purpose::Matrix, _) => Some("only a square matrix is symmetric"),
    };
    let columns = match reason {
        Some(reason) => words.whole(&format!("as many columns as rows ({reason})"), rows..=rows)?,
        None => words.whole("a number of columns", 0..=MAX_VERTICES)?,
    };
    let entries = if banner.is_array {
        let stored = stored_elements(rows, columns, banner.symmetry);
        let within = u32::try_from(stored).ok().filter(|all| *all <= MAX_EDGES);
        let expected = format!("an array of at most {MAX_EDGES} elements");
        within.ok_or_else(|| line.unexpected(&expected))?
    } else {
        words.whole("a number of entries", 0..=MAX_EDGES)?
    };
    words.end()?;
    Ok(Sizes {
        rows,
        columns,
        entries,
    })
}

/// Returns the number of elements that an `array` file stores.
fn stored_elements(rows: u32, columns: u32, symmetry: Symmetry) -> u64 {
    let (rows, columns) = (u64::from(rows), u64::from(columns));
    match symmetry {
        Symmetry::General => rows * columns,
        Symmetry::Symmetric | Symmetry::Hermitian => rows * (rows + 1) / 2,
        Symmetry::SkewSymmetric => rows * rows.saturating_sub(1) / 2,
    }
}

/// Reads all entries, and checks that the file ends after them. `take` gets the row and the column
/// of each entry, from 0, and the words with its numbers.
fn read_entries(
    lines: &mut Lines<impl BufRead>,
    banner: &Banner,
    sizes: &Sizes,
    mut take: impl FnMut(u32, u32, &mut Words<'_>) -> Result<(), InputError>,
) -> Result<(), InputError> {
    let lowest = |column: u32| match banner.symmetry {
        Symmetry::General => 0,
        Symmetry::Symmetric | Symmetry::Hermitian => column,
        Symmetry::SkewSymmetric => column + 1,
    };
    let (mut next_row, mut next_column) = (lowest(0), 0);
    for entry in 1..=sizes.entries {
        let Some(line) = lines.next_data(b"%")? else {
            let expected = format!(
                "entry {entry} of the {} given by the size line",
                sizes.entries
            );
            return Err(lines.ended(&expected));
        };
        let mut words = line.words();
        if banner.is_array {
            take(next_row, next_column, &mut words)?;
            next_row += 1;
            if next_row == sizes.rows {
                next_column += 1;
                next_row = lowest(next_column);
            }
        } else {
            let (row, column) = read_place(&mut words, banner.symmetry, sizes)?;
            take(row - 1, column - 1, &mut words)?;
        }
        words.end()?;
    }
    match lines.next_data(b"%")? {
        None => Ok(()),
        Some(line) => {
            let expected = format!("the end of the file after {} entries", sizes.entries);
            Err(line.unexpected(&expected))
        }
    }
}

/// Reads the row and the column of an entry, from 1.
// Part of the loop over entries, which spends most of its time here.
#[inline(always)]
fn read_place(
    words: &mut Words<'_>,
    symmetry: Symmetry,
    sizes: &Sizes,
) -> Result<(u32, u32), InputError> {
    let first = match symmetry {
        Symmetry::SkewSymmetric => 2,
        _ => 1,
    };
    let row = words.whole("a row", first..=sizes.rows)?;
    let column = match symmetry {
        Symmetry::General => words.whole("a column", 1..=sizes.columns)?,
        Symmetry::Symmetric | Symmetry::Hermitian => words.whole(
            "a column of the lower triangle (the file is symmetric)",
            1..=row,
        )?,
        Symmetry::SkewSymmetric => words.whole(
            "a column below the diagonal (the file is skew-symmetric)",
            1..=row - 1,
        )?,
    };
    Ok((row, column))
}

#[cfg(test)]
mod tests;
