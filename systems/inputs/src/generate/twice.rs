//! Graphs in two halves without arcs between them.

use crate::csr::{Csr, CsrError, MAX_VERTICES};

/// Puts two copies of a graph side by side, without arcs between them and without weights. Vertex
/// `v` of the second is number `vertices + v`.
///
/// # Errors
/// Returns an error if both together have too many vertices or arcs.
pub fn twice(graph: &Csr) -> Result<Csr, CsrError> {
    let (vertices, arcs) = (graph.vertices(), graph.columns().len());
    if vertices > MAX_VERTICES / 2 {
        let vertices = u64::from(vertices) * 2;
        return Err(CsrError::TooManyVertices { vertices });
    }
    if graph.arcs() > u32::MAX / 2 {
        return Err(CsrError::TooManyEdges { edges: arcs * 2 });
    }
    let mut row_offsets = Vec::with_capacity(vertices as usize * 2 + 1);
    row_offsets.extend_from_slice(graph.row_offsets());
    let ends = &graph.row_offsets()[1..];
    row_offsets.extend(ends.iter().map(|&end| end + graph.arcs()));
    let mut columns = Vec::with_capacity(arcs * 2);
    columns.extend_from_slice(graph.columns());
    columns.extend(graph.columns().iter().map(|&to| to + vertices));
    Csr::new(row_offsets, columns, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{RmatShape, rmat};
    use crate::reference::components;

    #[test]
    fn both_halves_are_the_graph() {
        let (a, b, c) = (0.5, 0.1, 0.1);
        let shape = RmatShape {
            scale: 7,
            edge_factor: 8,
            a,
            b,
            c,
        };
        let one = rmat(shape, 1).unwrap();
        let both = twice(&one).unwrap();
        assert_eq!((both.vertices(), both.arcs()), (256, 2 * one.arcs()));
        for vertex in 0..128 {
            let shifted: Vec<_> = one.neighbours(vertex).iter().map(|&to| to + 128).collect();
            assert_eq!(both.neighbours(vertex), one.neighbours(vertex));
            assert_eq!(both.neighbours(vertex + 128), shifted);
        }
        let parts = components(&both);
        assert!(parts[..128].iter().all(|&part| part < 128));
        assert!(parts[128..].iter().all(|&part| part >= 128));
    }
}
