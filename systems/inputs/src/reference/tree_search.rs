//! Records of keys in a search tree.

use std::collections::BTreeMap;

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, UNREACHED};
use crate::Name;
use crate::element::ElementType::U32;

/// The record of every key asked for, [`UNREACHED`] for keys that the tree does not have. The tree is one
/// as [`SearchTree`](crate::SearchTree) lays it out: every key of an inner node is also one of the last level.
#[derive(Debug, Deserialize)]
pub struct TreeSearch {
    /// Keys of all nodes, the root first.
    pub keys: Name,
    /// Children of all nodes, in those of the last level records.
    pub children: Name,
    /// The keys asked for.
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

/// The record of every key asked for. A key that stands in several levels counts where it stands last.
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
