//! Generator of complete directed graphs.

use crate::csr::{Csr, MAX_EDGES};
use crate::error::InputError;

/// Generates the graph with an arc from every vertex to every other.
///
/// # Errors
/// Returns an error for more arcs than [`MAX_EDGES`].
pub fn complete(vertices: u32) -> Result<Csr, InputError> {
    // The largest number whose pairs stay within the limit.
    let most = MAX_EDGES.isqrt();
    InputError::in_range("Complete", "vertices", vertices, ..=most)?;
    let pairs = (0..vertices).flat_map(|from| (0..vertices).map(move |to| (from, to)));
    let arcs: Vec<(u32, u32)> = pairs.filter(|(from, to)| from != to).collect();
    Ok(Csr::from_arcs(vertices, &arcs, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_is_a_neighbour_of_everyone_else() {
        let graph = complete(5).unwrap();
        assert_eq!((graph.vertices(), graph.arcs()), (5, 20));
        assert_eq!(graph.neighbours(2), [0, 1, 3, 4]);
        assert_eq!(complete(0).unwrap().arcs(), 0);
        complete(u32::MAX).unwrap_err();
    }
}
