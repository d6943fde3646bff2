//! Products of a sparse matrix: with a dense one in whole numbers, and with a vector.

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
        question.check_weights(&self.graph)?;
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

/// Product of a matrix and a vector. The sums are computed in double precision, in the order of the
/// columns, and rounded once to the type of the buffer.
#[derive(Debug, Deserialize)]
pub struct SparseTimesVector {
    /// Name of the matrix that is multiplied.
    pub matrix: Name,
    /// Buffer with the vector, one element per column.
    pub vector: Name,
}

impl Reference for SparseTimesVector {
    const NAME: &'static str = "SparseTimesVector";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let matrix = question.matrix(&self.matrix)?;
        let element = question.tested().element;
        let refused = |problem: String| {
            let matrix = &self.matrix.value;
            Err(self.matrix.error(format!("matrix `{matrix}` {problem}")))
        };
        if matrix.is_complex() {
            return refused("has complex numbers, and sums are of real ones".to_owned());
        }
        if element.range().is_some() {
            return refused(format!(
                "gives fractions, and the buffer has {element:?} elements"
            ));
        }
        question.expect_length(&self.vector, element, matrix.columns() as usize)?;
        Ok(Shape {
            element: None,
            length: Some(matrix.rows() as usize),
        })
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let matrix = question.matrix(&self.matrix)?;
        let element = question.tested().element;
        let words = question.contents(&self.vector)?;
        let number = |at| element.number(element.pattern(&words, at));
        let vector: Vec<f64> = (0..matrix.columns() as usize).map(number).collect();
        let infinity = |sum: f64| element.of_float(f64::INFINITY.copysign(sum));
        let sums = matrix.times(&vector).into_iter();
        // Sums beyond the type are infinite.
        let patterns = sums.map(|sum| element.of_float(sum).or_else(|| infinity(sum)));
        Ok(element.pack(patterns.map(Option::unwrap_or_default)))
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
