//! Look-up of keys in a search tree.

use std::collections::BTreeMap;

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, UNREACHED};
use crate::Name;
use crate::element::ElementType::U32;

/// Record of every queried key, [`UNREACHED`] for keys that are not in the tree. The tree has the
/// layout of [`SearchTree`](crate::SearchTree): every key of an inner node is also in the last
/// level.
#[derive(Debug, Deserialize)]
pub struct TreeSearch {
    /// Buffer with the keys of all nodes, the root first.
    pub keys: Name,
    /// Buffer with the children of all nodes; in the last level, records.
    pub children: Name,
    /// Buffer with the keys to look up.
    pub queries: Name,
}

impl Reference for TreeSearch {
    const NAME: &'static str = "TreeSearch";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let entries = question.length(&self.keys, U32)?;
        question.expect_length(&self.children, U32, entries)?;
        Ok(Shape::u32s(question.length(&self.queries, U32)?))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (keys, children) = (question.u32s(&self.keys)?, question.u32s(&self.children)?);
        Ok(tree_search(
            &keys,
            &children,
            &question.u32s(&self.queries)?,
        ))
    }
}

/// Returns the record of every queried key. A key that occurs in several levels counts at its last
/// occurrence.
pub fn tree_search(keys: &[u32], children: &[u32], queries: &[u32]) -> Vec<u32> {
    let entries = keys
        .iter()
        .zip(children)
        .filter(|(key, _)| **key != u32::MAX);
    let records: BTreeMap<u32, u32> = entries.map(|(key, child)| (*key, *child)).collect();
    let record = |key| records.get(key).copied().unwrap_or(UNREACHED);
    queries.iter().map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrayGenerator, SearchTree};

    #[test]
    fn every_key_has_its_record_and_others_have_none() {
        let tree = SearchTree { order: 3, keys: 20 };
        let entries = tree.entries();
        let keys = ArrayGenerator::SearchTreeKeys { tree, seed: 1 };
        let keys = keys.u32s(entries).unwrap();
        let children = ArrayGenerator::SearchTreeChildren { tree };
        let children = children.u32s(entries).unwrap();
        let found = tree_search(&keys, &children, &(0..42).collect::<Vec<_>>());
        for (query, record) in found.iter().enumerate() {
            let there = keys.contains(&(query as u32));
            assert_eq!(
                *record,
                if there { query as u32 / 2 } else { UNREACHED },
                "{query}"
            );
        }
        assert_eq!(
            found.iter().filter(|record| **record != UNREACHED).count(),
            20
        );
    }
}
