//! Join of two relations by their keys.

use std::collections::BTreeMap;

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::Name;
use crate::element::ElementType::U32;

/// Number of equal right keys for each left key.
#[derive(Debug, Deserialize)]
pub struct JoinMatches {
    /// Buffer with the keys of the left relation.
    pub left: Name,
    /// Buffer with the keys of the right relation.
    pub right: Name,
}

impl Reference for JoinMatches {
    const NAME: &'static str = "JoinMatches";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        question.length(&self.right, U32)?;
        Ok(Shape::u32s(question.length(&self.left, U32)?))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        Ok(join_matches(
            &question.u32s(&self.left)?,
            &question.u32s(&self.right)?,
        ))
    }
}

/// Computes the number of equal right keys for each left key.
pub fn join_matches(left: &[u32], right: &[u32]) -> Vec<u32> {
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    for key in right {
        *counts.entry(*key).or_default() += 1;
    }
    let matches = left.iter().map(|key| counts.get(key).copied());
    matches.map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_counted_where_they_meet() {
        assert_eq!(join_matches(&[3, 1, 3, 9], &[3, 4, 3, 1]), [2, 1, 2, 0]);
    }
}
