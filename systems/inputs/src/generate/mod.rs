//! Seeded graph generators.

mod grid;
mod rmat;
mod uniform;
mod weights;

pub use grid::grid;
pub use rmat::{RmatShape, rmat};
pub use uniform::uniform;
pub use weights::uniform_weights;
