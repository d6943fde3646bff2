//! Longest prefixes of queries that occur in a text.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::element::ElementType::U8;
use crate::generate::{READ_LETTERS, common};
use crate::{Name, Value};

/// Lengths of the longest prefixes of parts of queries that occur in a text, as computed by
/// [`suffix_matches`].
#[derive(Debug, Deserialize)]
pub struct SuffixMatches {
    /// Buffer with the letters of the text.
    pub text: Name,
    /// Buffer with the letters of all queries, 32 each.
    pub queries: Name,
    /// Distance of the starts in a query, a divisor of 32.
    pub step: Value,
}

impl SuffixMatches {
    fn distance(&self, question: &Question<'_>) -> Result<usize, Diagnostic> {
        let step = question.count(&self.step, "the step", 1)?;
        if READ_LETTERS.is_multiple_of(step) {
            return Ok(step);
        }
        let message = format!("the step is {step}, expected a divisor of {READ_LETTERS}");
        Err(self.step.error(message))
    }
}

impl Reference for SuffixMatches {
    const NAME: &'static str = "SuffixMatches";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        question.length(&self.text, U8)?;
        let letters = question.length(&self.queries, U8)?;
        if !letters.is_multiple_of(READ_LETTERS) {
            let message =
                format!("{letters} letters cannot be divided into queries of {READ_LETTERS}");
            return Err(self.queries.error(message));
        }
        Ok(Shape::u32s(letters / self.distance(question)?))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let bytes = |buffer: &Name| -> Result<Vec<u8>, Diagnostic> {
            let length = question.length(buffer, U8)?;
            let words = question.contents(buffer)?;
            let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
            bytes.truncate(length);
            Ok(bytes)
        };
        let (text, queries) = (bytes(&self.text)?, bytes(&self.queries)?);
        Ok(suffix_matches(&text, &queries, self.distance(question)?))
    }
}

/// Returns the length of the longest prefix that occurs in `text`, for parts of each query of 32
/// letters that begin `step` letters apart. Uses binary search in the sorted suffixes.
///
/// # Panics
/// Panics if the step is 0.
pub fn suffix_matches(text: &[u8], queries: &[u8], step: usize) -> Vec<u32> {
    let mut sorted: Vec<&[u8]> = (0..text.len()).map(|start| &text[start..]).collect();
    sorted.sort_unstable();
    let longest = |part: &[u8]| {
        // The suffixes that share most with it would stand next to it.
        let at = sorted.partition_point(|suffix| *suffix < part);
        let nearest = sorted[at.saturating_sub(1)..].iter().take(2);
        nearest
            .map(|suffix| common(suffix, part))
            .max()
            .unwrap_or(0) as u32
    };
    let queries = queries.chunks(READ_LETTERS);
    let parts = queries.flat_map(|query| (0..query.len()).step_by(step).map(|at| &query[at..]));
    parts.map(longest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_match_is_that_of_a_search_everywhere() {
        let text: Vec<u8> = (0..200_u32).map(|i| (i * i / 7 % 4) as u8).collect();
        let queries: Vec<u8> = (0..320_u32).map(|i| (i * i / 5 % 4) as u8).collect();
        let found = suffix_matches(&text, &queries, 8);
        assert_eq!(found.len(), 40);
        for (at, found) in found.iter().enumerate() {
            let part = &queries[8 * at..(8 * at / 32 + 1) * 32];
            let everywhere = (0..text.len()).map(|start| common(&text[start..], part));
            assert_eq!(*found as usize, everywhere.max().unwrap());
        }
        assert_eq!(suffix_matches(&[], &queries, 32), [0; 10]);
    }
}
