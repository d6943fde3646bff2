//! Sums of tiles that all children of a parent read, bit for bit.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::element::ElementType::U32;
use crate::{Name, Value};

/// Threads of a work-group of the kernel.
const LANES: usize = 128;
/// Elements that a lane combines at a time, at a distance of [`LANES`].
const PIECES: usize = 4;

/// Sums of the kernel `control_device`: each child of a tile adds up all of it, each of its
/// work-groups one part.
#[derive(Debug, Deserialize)]
pub struct SharedTileSums {
    /// Buffer with the tiles, one behind the other.
    pub data: Name,
    /// Number of children of each tile.
    pub children: Value,
    /// Elements of the part that a work-group reads, a multiple of 512.
    pub words: Value,
    /// Number of work-groups of a child, which is the number of parts of a tile.
    pub groups: Value,
    /// Number of times that a part is read.
    pub passes: Value,
}

impl SharedTileSums {
    /// Returns the children, words, work-groups and passes.
    fn numbers(&self, question: &Question<'_>) -> Result<[usize; 4], Diagnostic> {
        let count = |value, what| question.count(value, what, 1);
        let words = count(&self.words, "the number of words")?;
        if !words.is_multiple_of(LANES * PIECES) {
            let message = format!("{words} words are not a multiple of {}", LANES * PIECES);
            return Err(self.data.error(message));
        }
        Ok([
            count(&self.children, "the number of children")?,
            words,
            count(&self.groups, "the number of work-groups")?,
            count(&self.passes, "the number of passes")?,
        ])
    }
}

impl Reference for SharedTileSums {
    const NAME: &'static str = "SharedTileSums";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let [children, words, ..] = self.numbers(question)?;
        let parts = question.length(&self.data, U32)? / words;
        Ok(Shape::u32s(parts * children * LANES))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let [children, words, groups, passes] = self.numbers(question)?;
        let data = question.u32s(&self.data)?;
        Ok(shared_tile_sums(&data, children, words, groups, passes))
    }
}

/// Computes the sums of all lanes, by tile, child, work-group and lane.
pub fn shared_tile_sums(
    data: &[u32],
    children: usize,
    words: usize,
    groups: usize,
    passes: usize,
) -> Vec<u32> {
    let part = |part: &[u32]| -> Vec<u32> {
        let lane = |lane: usize| {
            let rows = part.chunks_exact(LANES * PIECES);
            let row = |row: &[u32]| (0..PIECES).fold(0, |x, piece| x ^ row[piece * LANES + lane]);
            let sum = rows.map(row).fold(0, u32::wrapping_add);
            sum.wrapping_mul(passes as u32)
        };
        (0..LANES).map(lane).collect()
    };
    let tiles = data.chunks_exact(words * groups);
    tiles
        .flat_map(|tile| {
            let sums: Vec<u32> = tile.chunks_exact(words).flat_map(part).collect();
            sums.repeat(children)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_child_has_the_sums_of_its_whole_tile() {
        // Two tiles of two parts; only the first element of each part is not zero.
        let mut data = vec![0; 4 * 512];
        for part in 0..4 {
            data[part * 512] = part as u32 + 1;
        }
        let sums = shared_tile_sums(&data, 3, 512, 2, 2);
        assert_eq!(sums.len(), 2 * 3 * 2 * LANES);
        let first: Vec<u32> = sums.iter().step_by(LANES).copied().collect();
        assert_eq!(first, [2, 4, 2, 4, 2, 4, 6, 8, 6, 8, 6, 8]);
        assert_eq!(sums.iter().filter(|sum| **sum != 0).count(), first.len());
    }
}
