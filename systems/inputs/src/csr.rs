//! Directed graphs in compressed sparse row form, the layout that graph kernels read.

use thiserror::Error;

use crate::hash::Fnv;

/// Maximum number of vertices in a graph. Because of the limit, a damaged size line is an error
/// instead of a huge allocation.
pub const MAX_VERTICES: u32 = 1 << 26;

/// Maximum number of arcs in a graph before mirror arcs are added. See [`MAX_VERTICES`].
pub const MAX_EDGES: u32 = 1 << 28;

/// A directed graph. The arcs of vertex `v` are `columns[row_offsets[v]..row_offsets[v + 1]]`.
///
/// Always valid. There is one more offset than there are vertices. Offsets start at zero, never
/// decrease and end at the number of arcs. Every column is an existing vertex. Loops and parallel
/// arcs are allowed. An undirected graph holds both arcs of each edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csr {
    // Private so that the invariants above always hold.
    row_offsets: Vec<u32>,
    columns: Vec<u32>,
    weights: Option<Vec<u32>>,
    /// Reason why the numbers of its file are no weights, if they are none.
    unusable: Option<String>,
}

/// Reason why arrays do not form a graph.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CsrError {
    /// `row_offsets` is empty or does not begin with 0.
    #[error("row offsets must begin with 0; a graph without vertices has the single offset 0")]
    FirstOffset,
    /// An offset is smaller than the previous one.
    #[error("row offset {offset} of vertex {vertex} is below the offset before it")]
    DecreasingOffset { vertex: usize, offset: u32 },
    /// The last offset differs from the number of arcs.
    #[error("the last row offset is {offset}, but there are {columns} columns")]
    LastOffset { offset: u32, columns: usize },
    /// An arc or a caller refers to a vertex that does not exist.
    #[error("vertex {vertex} does not exist: the graph has {vertices} vertices, numbered from 0")]
    NoSuchVertex {
        /// Number of the vertex that does not exist.
        vertex: u32,
        /// Number of vertices in the graph.
        vertices: u32,
    },
    /// The weight array and the column array differ in length.
    #[error("there are {weights} weights for {columns} columns; each arc needs one")]
    WeightCount { weights: usize, columns: usize },
    /// There are more vertices than [`MAX_VERTICES`].
    #[error("{vertices} vertices are more than the limit of {MAX_VERTICES}")]
    TooManyVertices {
        /// Number of vertices that was requested.
        vertices: u64,
    },
    /// There are more arcs than 32-bit offsets can count.
    #[error("{edges} arcs are more than 32-bit row offsets can count")]
    TooManyEdges {
        /// Number of arcs that was given.
        edges: usize,
    },
}

impl Csr {
    /// Creates a graph from its arrays, which are checked.
    ///
    /// # Errors
    /// Returns the first violated invariant, in the order offsets, columns, weights.
    pub fn new(
        row_offsets: Vec<u32>,
        columns: Vec<u32>,
        weights: Option<Vec<u32>>,
    ) -> Result<Self, CsrError> {
        if row_offsets.first() != Some(&0) {
            return Err(CsrError::FirstOffset);
        }
        check_vertex_count(row_offsets.len() as u64 - 1)?;
        if let Some(at) = row_offsets.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(CsrError::DecreasingOffset {
                vertex: at + 1,
                offset: row_offsets[at + 1],
            });
        }
        let last = row_offsets[row_offsets.len() - 1];
        if last as usize != columns.len() {
            return Err(CsrError::LastOffset {
                offset: last,
                columns: columns.len(),
            });
        }
        let graph = Csr {
            row_offsets,
            columns,
            weights: None,
            unusable: None,
        };
        for &column in &graph.columns {
            graph.check_vertex(column)?;
        }
        match weights {
            Some(weights) => graph.with_weights(weights),
            None => Ok(graph),
        }
    }

    /// Returns the memory taken by its arrays, in bytes.
    pub fn bytes(&self) -> u64 {
        let weights = self.weights.as_ref().map_or(0, Vec::len);
        let words = self.row_offsets.len() + self.columns.len() + weights;
        words as u64 * size_of::<u32>() as u64
    }

    /// Creates a graph from arcs `(from, to)` in any order, with one weight per arc or none at all.
    /// Rows are sorted by (column, weight), so the order of the arcs does not matter. Parallel arcs
    /// and loops are kept.
    ///
    /// # Errors
    /// Returns an error if an arc refers to a missing vertex, the counts exceed the limits, or the
    /// numbers of weights and arcs differ.
    pub fn from_arcs(
        vertices: u32,
        arcs: &[(u32, u32)],
        weights: Option<&[u32]>,
    ) -> Result<Self, CsrError> {
        check_vertex_count(u64::from(vertices))?;
        if arcs.len() > u32::MAX as usize {
            return Err(CsrError::TooManyEdges { edges: arcs.len() });
        }
        if let Some(weights) = weights
            && weights.len() != arcs.len()
        {
            return Err(CsrError::WeightCount {
                weights: weights.len(),
                columns: arcs.len(),
            });
        }
        for &(from, to) in arcs {
            let vertex = from.max(to);
            if vertex >= vertices {
                return Err(CsrError::NoSuchVertex { vertex, vertices });
            }
        }

        let mut row_offsets = vec![0_u32; vertices as usize + 1];
        for &(from, _) in arcs {
            row_offsets[from as usize + 1] += 1;
        }
        for v in 1..row_offsets.len() {
            row_offsets[v] += row_offsets[v - 1];
        }
        // Arcs are dealt out to their rows, and each row is sorted by itself.
        let rows = || {
            row_offsets
                .windows(2)
                .map(|row| row[0] as usize..row[1] as usize)
        };
        let mut free = row_offsets[..vertices as usize].to_vec();
        let mut place = |from: u32| {
            let free = &mut free[from as usize];
            *free += 1;
            *free as usize - 1
        };
        let (columns, weights) = match weights {
            None => {
                let mut columns = vec![0; arcs.len()];
                for &(from, to) in arcs {
                    columns[place(from)] = to;
                }
                rows().for_each(|row| columns[row].sort_unstable());
                (columns, None)
            }
            Some(weights) => {
                let mut weighted = vec![(0, 0); arcs.len()];
                for (&(from, to), &weight) in arcs.iter().zip(weights) {
                    weighted[place(from)] = (to, weight);
                }
                rows().for_each(|row| weighted[row].sort_unstable());
                let (columns, weights) = weighted.into_iter().unzip();
                (columns, Some(weights))
            }
        };
        Ok(Csr {
            row_offsets,
            columns,
            weights,
            unusable: None,
        })
    }

    /// Notes why the numbers stored with the arcs are no weights. The graph has none then.
    pub(crate) fn with_unusable_weights(self, reason: String) -> Self {
        Csr {
            unusable: Some(reason),
            ..self.without_weights()
        }
    }

    /// Replaces the weights, given per arc in the order of [`columns`](Self::columns).
    ///
    /// # Errors
    /// Returns an error if the numbers of weights and arcs differ.
    pub fn with_weights(self, weights: Vec<u32>) -> Result<Self, CsrError> {
        if weights.len() != self.columns.len() {
            return Err(CsrError::WeightCount {
                weights: weights.len(),
                columns: self.columns.len(),
            });
        }
        Ok(Csr {
            weights: Some(weights),
            unusable: None,
            ..self
        })
    }

    /// Removes the weights from the graph.
    pub fn without_weights(self) -> Self {
        Csr {
            weights: None,
            unusable: None,
            ..self
        }
    }

    /// Returns the number of vertices in the graph.
    pub fn vertices(&self) -> u32 {
        self.row_offsets.len() as u32 - 1
    }

    /// Returns the number of arcs. An undirected edge counts twice.
    pub fn arcs(&self) -> u32 {
        self.columns.len() as u32
    }

    /// Returns the index of the first arc of each vertex, followed by the number of arcs.
    pub fn row_offsets(&self) -> &[u32] {
        &self.row_offsets
    }

    /// Returns the target vertex of each arc.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Returns the weight of each arc, if the graph has weights.
    pub fn weights(&self) -> Option<&[u32]> {
        self.weights.as_deref()
    }

    /// Returns the reason why the numbers stored with the arcs are no weights, if they are none.
    pub fn unusable_weights(&self) -> Option<&str> {
        self.unusable.as_deref()
    }

    /// Returns the number of arcs that leave a vertex.
    ///
    /// # Panics
    /// Panics if the vertex does not exist; see [`check_vertex`](Self::check_vertex).
    pub fn degree(&self, vertex: u32) -> u32 {
        let v = vertex as usize;
        self.row_offsets[v + 1] - self.row_offsets[v]
    }

    /// Returns the target vertices of the arcs of a vertex.
    ///
    /// # Panics
    /// Panics if the vertex does not exist; see [`check_vertex`](Self::check_vertex).
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        &self.columns[self.row(vertex)]
    }

    /// Iterates over the arcs of a vertex as (target, weight). A graph without weights has weight 1
    /// everywhere.
    ///
    /// # Panics
    /// Panics if the vertex does not exist; see [`check_vertex`](Self::check_vertex).
    pub fn arcs_of(&self, vertex: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let weight = |arc: usize| self.weights.as_ref().map_or(1, |weights| weights[arc]);
        self.row(vertex)
            .map(move |arc| (self.columns[arc], weight(arc)))
    }

    /// Returns the vertex if it exists. For vertex numbers from user input.
    ///
    /// # Errors
    /// Returns [`CsrError::NoSuchVertex`] if it does not exist.
    pub fn check_vertex(&self, vertex: u32) -> Result<u32, CsrError> {
        let vertices = self.vertices();
        if vertex < vertices {
            Ok(vertex)
        } else {
            Err(CsrError::NoSuchVertex { vertex, vertices })
        }
    }

    /// Returns the default start vertex of a search: the one with the most outgoing arcs, and the
    /// lowest of several. `None` for a graph without vertices.
    pub fn default_source(&self) -> Option<u32> {
        (0..self.vertices()).max_by_key(|&v| (self.degree(v), std::cmp::Reverse(v)))
    }

    /// Computes a stable hash of the arrays.
    pub fn hash(&self) -> u64 {
        let mut hash = Fnv::default();
        hash.words(&self.row_offsets);
        hash.words(&self.columns);
        hash.length(usize::from(self.weights.is_some()));
        if let Some(weights) = &self.weights {
            hash.words(weights);
        }
        hash.finish()
    }

    fn row(&self, vertex: u32) -> std::ops::Range<usize> {
        let v = vertex as usize;
        self.row_offsets[v] as usize..self.row_offsets[v + 1] as usize
    }
}

fn check_vertex_count(vertices: u64) -> Result<(), CsrError> {
    if vertices > u64::from(MAX_VERTICES) {
        return Err(CsrError::TooManyVertices { vertices });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the graph 0 -> 1, 0 -> 2, 2 -> 0. Vertices 1 and 3 have no arcs.
    fn small() -> Csr {
        Csr::from_arcs(4, &[(2, 0), (0, 2), (0, 1)], Some(&[9, 7, 8])).unwrap()
    }

    #[test]
    fn arcs_are_laid_out_by_row_and_column() {
        let graph = small();
        assert_eq!(graph.row_offsets(), [0, 2, 2, 3, 3]);
        assert_eq!(graph.columns(), [1, 2, 0]);
        assert_eq!(graph.weights(), Some(&[8, 7, 9][..]));
        assert_eq!(graph.neighbours(0), [1, 2]);
        assert_eq!(graph.arcs_of(2).collect::<Vec<_>>(), [(0, 9)]);
        assert_eq!((graph.degree(0), graph.degree(3)), (2, 0));
    }

    #[test]
    fn each_broken_invariant_is_named() {
        let cases = [
            (vec![], vec![], None, CsrError::FirstOffset),
            (vec![1, 1], vec![], None, CsrError::FirstOffset),
            (
                vec![0, 2, 1],
                vec![0],
                None,
                CsrError::DecreasingOffset {
                    vertex: 2,
                    offset: 1,
                },
            ),
            (
                vec![0, 2],
                vec![0],
                None,
                CsrError::LastOffset {
                    offset: 2,
                    columns: 1,
                },
            ),
            (
                vec![0, 1],
                vec![1],
                None,
                CsrError::NoSuchVertex {
                    vertex: 1,
                    vertices: 1,
                },
            ),
            (
                vec![0, 1],
                vec![0],
                Some(vec![]),
                CsrError::WeightCount {
                    weights: 0,
                    columns: 1,
                },
            ),
        ];
        for (offsets, columns, weights, expected) in cases {
            assert_eq!(Csr::new(offsets, columns, weights), Err(expected));
        }
    }

    #[test]
    fn arcs_outside_the_graph_are_refused() {
        let error = Csr::from_arcs(2, &[(0, 1), (5, 0)], None).unwrap_err();
        assert_eq!(
            error,
            CsrError::NoSuchVertex {
                vertex: 5,
                vertices: 2
            }
        );
        let error = Csr::from_arcs(MAX_VERTICES + 1, &[], None).unwrap_err();
        assert_eq!(
            error,
            CsrError::TooManyVertices {
                vertices: u64::from(MAX_VERTICES) + 1
            }
        );
        let error = Csr::from_arcs(2, &[(0, 1)], Some(&[])).unwrap_err();
        assert_eq!(
            error,
            CsrError::WeightCount {
                weights: 0,
                columns: 1
            }
        );
    }

    #[test]
    fn default_source_is_the_lowest_vertex_of_largest_degree() {
        assert_eq!(small().default_source(), Some(0));
        let tie = Csr::from_arcs(4, &[(1, 0), (1, 2), (3, 0), (3, 1)], None).unwrap();
        assert_eq!(tie.default_source(), Some(1));
        assert_eq!(Csr::from_arcs(0, &[], None).unwrap().default_source(), None);
    }

    #[test]
    fn hash_sees_every_array() {
        let graph = small();
        let other_weights = graph.clone().with_weights(vec![8, 7, 10]).unwrap();
        let zero_weights = graph.clone().with_weights(vec![0, 0, 0]).unwrap();
        let bare = graph.clone().without_weights();
        let moved = Csr::from_arcs(4, &[(2, 0), (0, 2), (1, 1)], Some(&[9, 7, 8])).unwrap();
        let mut hashes = [&graph, &other_weights, &zero_weights, &bare, &moved].map(Csr::hash);
        hashes.sort_unstable();
        assert!(hashes.windows(2).all(|pair| pair[0] != pair[1]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn order_of_arcs_does_not_matter(
            mut arcs in prop::collection::vec(((0_u32..20, 0_u32..20), 0_u32..3), 0..60),
        ) {
            let build = |arcs: &[((u32, u32), u32)]| {
                let (pairs, weights): (Vec<_>, Vec<_>) = arcs.iter().copied().unzip();
                Csr::from_arcs(20, &pairs, Some(&weights)).unwrap()
            };
            let forward = build(&arcs);
            arcs.reverse();
            prop_assert_eq!(&forward, &build(&arcs));

            // Nothing lost, nothing added, and the arrays pass the public check.
            let mut expected: Vec<_> = arcs.iter().map(|&((f, t), w)| (f, t, w)).collect();
            expected.sort_unstable();
            let listed: Vec<_> = (0..20)
                .flat_map(|v| forward.arcs_of(v).map(move |(to, w)| (v, to, w)))
                .collect();
            prop_assert_eq!(listed, expected);
            let rebuilt = Csr::new(
                forward.row_offsets().to_vec(),
                forward.columns().to_vec(),
                forward.weights().map(<[u32]>::to_vec),
            );
            prop_assert_eq!(rebuilt, Ok(forward));
        }
    }
}
