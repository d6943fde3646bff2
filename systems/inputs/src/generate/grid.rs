//! Rectangular grid in which every cell is connected to its four neighbours: regular, degree 2 to
//! 4, diameter `width + height - 2`.

use crate::csr::{Csr, MAX_VERTICES};
use crate::error::InputError;

/// Generates the undirected grid (both arcs of each edge). Cell `(x, y)` is vertex `y * width + x`.
///
/// # Errors
/// Returns an error if a side is zero, or the grid has more than [`MAX_VERTICES`] cells.
pub fn grid(width: u32, height: u32) -> Result<Csr, InputError> {
    let cells = u64::from(width) * u64::from(height);
    if cells == 0 || cells > u64::from(MAX_VERTICES) {
        return Err(InputError::Description {
            generator: "Grid",
            field: "width` x `height",
            problem: format!("{width} x {height}, expected 1 to {MAX_VERTICES} cells"),
        });
    }
    let mut arcs = Vec::with_capacity(cells as usize * 4);
    for y in 0..height {
        for x in 0..width {
            let here = y * width + x;
            if x + 1 < width {
                arcs.extend([(here, here + 1), (here + 1, here)]);
            }
            if y + 1 < height {
                arcs.extend([(here, here + width), (here + width, here)]);
            }
        }
    }
    Ok(Csr::from_arcs(cells as u32, &arcs, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_joined_to_their_four_neighbours() {
        let graph = grid(3, 3).unwrap();
        assert_eq!(graph.neighbours(4), [1, 3, 5, 7]);
        assert_eq!(graph.neighbours(0), [1, 3]);
        assert_eq!(graph.neighbours(8), [5, 7]);
        assert_eq!(graph.arcs(), 24);
    }

    #[test]
    fn a_row_of_cells_is_a_path() {
        let graph = grid(4, 1).unwrap();
        assert_eq!(graph.columns(), [1, 0, 2, 1, 3, 2]);
    }

    #[test]
    fn empty_and_absurd_grids_are_refused() {
        assert!(grid(0, 5).is_err());
        let text = grid(u32::MAX, u32::MAX).unwrap_err().to_string();
        assert_eq!(
            text,
            "Grid generator: `width` x `height` is 4294967295 x 4294967295, \
             expected 1 to 67108864 cells"
        );
    }

    #[test]
    fn hash_is_pinned() {
        assert_eq!(grid(16, 9).unwrap().hash(), 0x6de2_7419_5604_61da);
    }
}
