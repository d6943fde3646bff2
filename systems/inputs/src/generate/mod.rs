//! Seeded generators of graphs and of trees.

#[cfg(test)]
mod acceptance;
mod citation;
mod cliques;
mod complete;
mod geometric;
mod grid;
mod out_degree;
mod partners;
mod power_law;
mod rewired;
mod rmat;
mod search_tree;
mod streets;
mod suffix_tree;
mod twice;
mod uniform;
mod web_copy;
mod weights;

pub use citation::{citation, symmetric};
pub use cliques::{CliquesShape, cliques};
pub use complete::complete;
pub use geometric::{GeometricShape, geometric};
pub use grid::grid;
pub use out_degree::out_degree;
pub use partners::partners;
pub use rewired::rewired;
pub use rmat::{RmatShape, rmat};
pub use search_tree::SearchTree;
pub use streets::{StreetsShape, streets};
pub(crate) use suffix_tree::{READ_LETTERS, common};
pub use suffix_tree::{SuffixTree, SuffixTreePart};
pub use twice::twice;
pub use uniform::uniform;
pub use web_copy::{WebShape, web_copy};
pub use weights::uniform_weights;
