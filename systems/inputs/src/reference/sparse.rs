//! Product of a sparse matrix and a dense one, in whole numbers.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::csr::Csr;
use crate::element::ElementType::U32;
use crate::{Name, Value};

/// Product of a graph, taken as the matrix of its weights, and a row-major matrix. Computed by
/// [`sparse_times_dense`].
#[derive(Debug, Deserialize)]
pub struct SparseTimesDense {
    /// Name of the graph used as sparse matrix.
    pub graph: Name,
    /// Buffer with the dense matrix, one row per vertex.
    pub dense: Name,
    /// Number of columns of the dense matrix.
    pub width: Value,
}

impl Reference for SparseTimesDense {
    const NAME: &'static str = "SparseTimesDense";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let graph = question.graph(&self.graph)?;
        if graph.weights().is_none() {
            let message = format!("graph `{}` has no weights", self.graph.value);
            return Err(self.graph.error(message));
        }
        let width = question.count(&self.width, "the width", 1)?;
        let cells = graph.vertices() as usize * width;
        question.expect_length(&self.dense, U32, cells)?;
        Ok(Shape::u32s(cells))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let width = question.count(&self.width, "the width", 1)?;
        let graph = question.graph(&self.graph)?;
        Ok(sparse_times_dense(
            graph,
            &question.u32s(&self.dense)?,
            width,
        ))
    }
}

/// Computes the product modulo 2^32, row by row. A graph without weights has weight 1 everywhere.
///
/// # Panics
/// Panics if `dense` does not have `width` elements for each vertex.
pub fn sparse_times_dense(graph: &Csr, dense: &[u32], width: usize) -> Vec<u32> {
    assert_eq!(dense.len(), graph.vertices() as usize * width);
    let mut result = vec![0_u32; dense.len()];
    for row in 0..graph.vertices() {
        let own = &mut result[row as usize * width..][..width];
        for (column, value) in graph.arcs_of(row) {
            let other = &dense[column as usize * width..][..width];
            for (sum, factor) in own.iter_mut().zip(other) {
                *sum = sum.wrapping_add(value.wrapping_mul(*factor));
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sums_of_weighted_rows() {
        let graph = Csr::from_arcs(3, &[(0, 1), (0, 2), (2, 0)], Some(&[2, 3, 5])).unwrap();
        let dense = [1, 10, 2, 20, u32::MAX, 30];
        let found = sparse_times_dense(&graph, &dense, 2);
        assert_eq!(found, [1, 130, 0, 0, 5, 50]);
    }
}
