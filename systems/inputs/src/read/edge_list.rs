//! Reader for edge lists: `from to [weight]`, one arc per line.

use std::io::BufRead;

use warpweave_files::Budget;

use super::lines::Lines;
use super::{Arcs, EntryValues};
use crate::csr::{Csr, MAX_EDGES, MAX_VERTICES};
use crate::error::InputError;

pub(super) fn read(
    mut lines: Lines<impl BufRead>,
    budget: &Budget,
    values: EntryValues,
) -> Result<Csr, InputError> {
    let mut arcs = Arcs::new(budget, false)?;
    let mut vertices = 0;
    // Whether lines have a third number; the first one decides.
    let mut valued = None;
    while let Some(line) = lines.next_data(b"#%")? {
        if arcs.ends.len() == MAX_EDGES as usize {
            return Err(line.unexpected(&format!(
                "the end of the file after at most {MAX_EDGES} arcs"
            )));
        }
        let mut words = line.words();
        let from = words.whole("a vertex number", 0..=MAX_VERTICES - 1)?;
        let to = words.whole("a vertex number", 0..=MAX_VERTICES - 1)?;
        let has_value = *valued.get_or_insert_with(|| line.words().count() > 2);
        let weight = match (has_value, values) {
            (false, _) => None,
            (true, EntryValues::Weights) => {
                arcs.expect_weights();
                arcs.weight(&mut words)?
            }
            (true, EntryValues::Ignored) => {
                words.real()?;
                None
            }
        };
        words.end()?;
        arcs.push(from, to, weight)?;
        vertices = vertices.max(from + 1).max(to + 1);
        lines.is_known();
    }
    arcs.into_graph(vertices)
}
