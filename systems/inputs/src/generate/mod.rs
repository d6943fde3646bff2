//! Seeded generators of graphs and search trees.

#[cfg(test)]
mod acceptance;
mod citation;
mod complete;
mod grid;
mod out_degree;
mod partners;
mod rmat;
mod search_tree;
mod uniform;
mod weights;

pub use citation::{citation, symmetric};
pub use complete::complete;
pub use grid::grid;
pub use out_degree::out_degree;
pub use partners::partners;
pub use rmat::{RmatShape, rmat};
pub use search_tree::SearchTree;
pub use uniform::uniform;
pub use weights::uniform_weights;
