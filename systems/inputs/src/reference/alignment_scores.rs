//! Scores of alignments of two sequences.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::element::ElementType::S32;
use crate::{Name, Value};

/// Scores of the best alignments of all beginnings, as computed by [`alignment_scores`].
#[derive(Debug, Deserialize)]
pub struct AlignmentScores {
    /// Buffer with the likeness of each pair of letters, row by row.
    pub likeness: Name,
    /// Number of letters of each sequence.
    pub n: Value,
    /// Cost of a letter without a partner.
    pub penalty: Value,
}

impl AlignmentScores {
    fn letters(&self, question: &Question<'_>) -> Result<usize, Diagnostic> {
        question.count(&self.n, "the number of letters", 1)
    }

    fn penalty(&self, question: &Question<'_>) -> Result<i32, Diagnostic> {
        Ok(question.count(&self.penalty, "the penalty", 0)? as i32)
    }
}

impl Reference for AlignmentScores {
    const NAME: &'static str = "AlignmentScores";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let n = self.letters(question)?;
        self.penalty(question)?;
        question.expect_length(&self.likeness, S32, n * n)?;
        Ok(Shape {
            element: Some(S32),
            length: Some((n + 1) * (n + 1)),
        })
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let words = question.contents(&self.likeness)?;
        let likeness: Vec<i32> = words.into_iter().map(u32::cast_signed).collect();
        let penalty = self.penalty(question)?;
        let scores = alignment_scores(&likeness, self.letters(question)?, penalty);
        Ok(scores.into_iter().map(i32::cast_unsigned).collect())
    }
}

/// Computes the (n + 1) x (n + 1) scores of the best alignments, row by row. The first row and
/// column are zero. Other scores are the greatest of the diagonal one plus the likeness and of the
/// left and upper one less the penalty, modulo 2^32.
///
/// # Panics
/// Panics if `likeness` does not have `n * n` elements.
pub fn alignment_scores(likeness: &[i32], n: usize, penalty: i32) -> Vec<i32> {
    assert_eq!(likeness.len(), n * n, "the likeness of all pairs");
    let pitch = n + 1;
    let mut scores = vec![0_i32; pitch * pitch];
    for (at, &likeness) in likeness.iter().enumerate() {
        let corner = at / n * pitch + at % n;
        let diagonal = scores[corner].wrapping_add(likeness);
        let left = scores[corner + pitch].wrapping_sub(penalty);
        let upper = scores[corner + 1].wrapping_sub(penalty);
        scores[corner + pitch + 1] = diagonal.max(left).max(upper);
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_paired_or_skipped() {
        // The second letter of one sequence is like the first of the other.
        let found = alignment_scores(&[-1, -1, 5, -1], 2, 2);
        assert_eq!(found, [0, 0, 0, 0, -1, -1, 0, 5, 3]);
    }
}
