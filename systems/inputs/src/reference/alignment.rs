//! Positions of reads in a reference sequence.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::element::ElementType::U32;
use crate::{Name, Value};

/// Result for each read: the maximum number of bases that match the reference at one position
/// without gaps, and the first such position.
#[derive(Debug, Deserialize)]
pub struct Alignments {
    /// Buffer with the bases of the reference sequence.
    pub reference: Name,
    /// Buffer with the bases of the reads, one read after the other.
    pub reads: Name,
    /// Number of bases in each read.
    pub length: Value,
}

impl Reference for Alignments {
    const NAME: &'static str = "Alignments";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        question.length(&self.reference, U32)?;
        let length = question.count(&self.length, "the length of a read", 1)?;
        let bases = question.length(&self.reads, U32)?;
        if !bases.is_multiple_of(length) {
            let message = format!("{bases} bases are not a multiple of the read length {length}");
            return Err(self.length.error(message));
        }
        Ok(Shape::u32s(2 * bases / length))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let length = question.count(&self.length, "the length of a read", 1)?;
        let (reference, reads) = (question.u32s(&self.reference)?, question.u32s(&self.reads)?);
        let best = reads
            .chunks_exact(length)
            .map(|read| alignment(&reference, read));
        Ok(best.flat_map(|(equal, place)| [equal, place]).collect())
    }
}

/// Returns the maximum number of matching bases at one position, and the first such position.
/// Returns zeros if no base matches.
pub fn alignment(reference: &[u32], read: &[u32]) -> (u32, u32) {
    let places = (0_u32..).zip(reference.windows(read.len()));
    let scored = places.map(|(place, window)| {
        let equal = window.iter().zip(read).filter(|(a, b)| a == b).count();
        (equal as u32, std::cmp::Reverse(place))
    });
    match scored.max() {
        Some((equal, std::cmp::Reverse(place))) if equal > 0 => (equal, place),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_best_places_is_found() {
        let reference = [0, 1, 2, 3, 0, 1, 2, 0];
        assert_eq!(alignment(&reference, &[0, 1, 2]), (3, 0));
        assert_eq!(alignment(&reference, &[1, 2, 0]), (3, 5));
        assert_eq!(alignment(&reference, &[3, 3, 1]), (2, 3));
        assert_eq!(alignment(&reference, &[9]), (0, 0));
        assert_eq!(alignment(&[1], &[1, 1]), (0, 0));
    }
}
