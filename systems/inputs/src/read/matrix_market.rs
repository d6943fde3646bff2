//! Reader for Matrix Market coordinate files (Boisvert, Pozo and Remington, NISTIR 5935, 1996).

use std::io::BufRead;

use warpweave_files::Budget;

use super::lines::{Line, Lines};
use super::{Arcs, EntryValues};
use crate::csr::{Csr, MAX_EDGES, MAX_VERTICES};
use crate::error::InputError;

const BANNER: &str = "`%%MatrixMarket matrix coordinate <pattern|integer|real> \
                      <general|symmetric>`";

/// Contents of the banner line of a file.
struct Banner {
    has_values: bool,
    symmetric: bool,
}

/// Contents of the size line of a file.
struct Sizes {
    vertices: u32,
    entries: u32,
}

pub(super) fn read(
    mut lines: Lines<impl BufRead>,
    budget: &Budget,
    values: EntryValues,
) -> Result<Csr, InputError> {
    let banner = match lines.next()? {
        Some(line) => read_banner(&line)?,
        None => return Err(lines.ended(BANNER)),
    };
    lines.is_known();
    let sizes = match lines.next_data(b"%")? {
        Some(line) => read_sizes(&line)?,
        None => return Err(lines.ended("the size line `rows columns entries`")),
    };
    let arcs = read_entries(&mut lines, budget, &banner, &sizes, values)?;
    if let Some(line) = lines.next_data(b"%")? {
        let expected = format!("the end of the file after {} entries", sizes.entries);
        return Err(line.unexpected(&expected));
    }
    arcs.into_graph(sizes.vertices)
}

fn read_banner(line: &Line<'_>) -> Result<Banner, InputError> {
    let mut words = line.words();
    if !words.take().is_some_and(|word| word.is("%%MatrixMarket")) {
        return Err(line.unexpected(BANNER));
    }
    // The word must be one of the names; gives its position among them.
    let mut one_of = |names: &[&str], expected: &str| {
        let word = words.take();
        let position = word.and_then(|word| names.iter().position(|name| word.is(name)));
        position.ok_or_else(|| words.unexpected(word, expected))
    };
    one_of(&["matrix"], "`matrix`")?;
    one_of(
        &["coordinate"],
        "`coordinate` (a dense `array` is not a graph)",
    )?;
    let field = one_of(
        &["pattern", "integer", "real"],
        "`pattern`, `integer` or `real`",
    )?;
    let symmetry = one_of(&["general", "symmetric"], "`general` or `symmetric`")?;
    words.end()?;
    Ok(Banner {
        has_values: field != 0,
        symmetric: symmetry == 1,
    })
}

fn read_sizes(line: &Line<'_>) -> Result<Sizes, InputError> {
    let mut words = line.words();
    let vertices = words.whole("a number of rows", 0..=MAX_VERTICES)?;
    words.whole(
        "as many columns as rows (only a square matrix is a graph)",
        vertices..=vertices,
    )?;
    let entries = words.whole("a number of entries", 0..=MAX_EDGES)?;
    words.end()?;
    Ok(Sizes { vertices, entries })
}

fn read_entries(
    lines: &mut Lines<impl BufRead>,
    budget: &Budget,
    banner: &Banner,
    sizes: &Sizes,
    values: EntryValues,
) -> Result<Arcs, InputError> {
    let keep = banner.has_values && values == EntryValues::Weights;
    let mut arcs = Arcs::new(budget, keep)?;
    for entry in 1..=sizes.entries {
        let Some(line) = lines.next_data(b"%")? else {
            let expected = format!(
                "entry {entry} of the {} given by the size line",
                sizes.entries
            );
            return Err(lines.ended(&expected));
        };
        let mut words = line.words();
        let row = words.whole("a row", 1..=sizes.vertices)?;
        let column = if banner.symmetric {
            words.whole(
                "a column of the lower triangle (the file is symmetric)",
                1..=row,
            )?
        } else {
            words.whole("a column", 1..=sizes.vertices)?
        };
        let mut weight = None;
        if keep {
            weight = Some(words.weight()?);
        } else if banner.has_values {
            words.ignored()?;
        }
        words.end()?;
        arcs.push(row - 1, column - 1, weight)?;
        if banner.symmetric && row != column {
            arcs.push(column - 1, row - 1, weight)?;
        }
    }
    Ok(arcs)
}
