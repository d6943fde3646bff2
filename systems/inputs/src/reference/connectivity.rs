//! Connectivity of graphs: components and reachable vertices.

use super::{UNREACHED, bfs_levels};
use crate::csr::Csr;

/// Computes the weakly connected component of each vertex (arcs count both ways), numbered by its
/// lowest vertex. Uses union-find with path halving.
pub fn components(graph: &Csr) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..graph.vertices()).collect();
    for from in 0..graph.vertices() {
        for &to in graph.neighbours(from) {
            let (one, other) = (root(&mut parent, from), root(&mut parent, to));
            // The lower root wins, so that every root is the lowest of its component.
            parent[one.max(other) as usize] = one.min(other);
        }
    }
    (0..graph.vertices())
        .map(|vertex| root(&mut parent, vertex))
        .collect()
}

/// True if all vertices are in one weakly connected component, or the graph is empty.
pub fn is_connected(graph: &Csr) -> bool {
    components(graph).iter().all(|&component| component == 0)
}

/// Returns the number of vertices reachable from `source` along the arcs, including itself.
///
/// # Panics
/// Panics if the source does not exist; see [`Csr::check_vertex`].
pub fn reachable(graph: &Csr, source: u32) -> u32 {
    bfs_levels(graph, source)
        .iter()
        .filter(|&&level| level != UNREACHED)
        .count() as u32
}

/// Returns the root of a vertex in a forest of parents, and halves the path to it.
pub(super) fn root(parent: &mut [u32], mut vertex: u32) -> u32 {
    while parent[vertex as usize] != vertex {
        let above = parent[vertex as usize];
        parent[vertex as usize] = parent[above as usize];
        vertex = above;
    }
    vertex
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::generate::{grid, uniform};

    #[test]
    fn components_are_named_by_their_lowest_vertex() {
        let graph = Csr::from_arcs(6, &[(4, 2), (5, 4), (3, 0)], None).unwrap();
        assert_eq!(components(&graph), [0, 1, 2, 0, 2, 2]);
        assert!(!is_connected(&graph));
        assert!(is_connected(&grid(5, 5).unwrap()));
        assert_eq!((reachable(&graph, 5), reachable(&graph, 2)), (3, 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Compares with a search of the undirected graph from every vertex.
        #[test]
        fn agrees_with_searches_of_the_undirected_graph(vertices in 2_u32..30, seed: u64) {
            let graph = uniform(vertices, vertices / 2, seed).unwrap();
            let arcs: Vec<_> = (0..vertices)
                .flat_map(|v| graph.neighbours(v).iter().flat_map(move |&to| [(v, to), (to, v)]))
                .collect();
            let undirected = Csr::from_arcs(vertices, &arcs, None).unwrap();
            let found = components(&graph);
            for v in 0..vertices {
                let levels = bfs_levels(&undirected, v);
                let lowest = levels.iter().position(|&level| level != UNREACHED);
                prop_assert_eq!(Some(found[v as usize] as usize), lowest);
            }
        }
    }
}
