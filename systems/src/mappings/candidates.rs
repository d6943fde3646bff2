//! Mappings of a grid to compute units that are candidates of a search.
//!
//! Planes of a grid are further rows. A candidate is an order of all work-groups and a way to deal
//! them out:
//!
//! ```text
//!   tiles 2 x 2, 4 x 4 work-groups    in runs, 2 units    in turn, 2 units
//!    0  1 |  4  5                     0 0 0 0             0 0 1 1
//!    2  3 |  6  7                     0 0 0 0             0 0 1 1
//!   ------+------                     1 1 1 1             0 0 1 1
//!    8  9 | 12 13                     1 1 1 1             0 0 1 1
//!   10 11 | 14 15
//! ```

use std::fmt;

use warpweave_components::locality_plan::Direction;
use warpweave_components::work_group_scheduler::{Remainder, assign};
use warpweave_components::work_group_table::UnitOrders;

/// Order of the work-groups of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// Row by row, from left to right.
    Rows,
    /// Column by column, from top to bottom.
    Columns,
    /// Tiles of so many columns and rows, row by row, and row by row within each.
    Tiles(u32, u32),
    /// Morton order: the bits of column and row take turns.
    Morton,
}

/// Way in which an order is dealt out to units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dealing {
    /// One run of consecutive work-groups for each unit; their lengths differ by at most one.
    Runs,
    /// Blocks of consecutive work-groups, in turn; units differ by at most one block.
    Blocks(u32),
    /// Whole rows or columns, and the rest evenly, as `Mapped` does with a direction.
    Lines,
}

/// Mapping of the work-groups of any grid to units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Order of the work-groups before they are dealt out.
    pub sequence: Sequence,
    /// Way in which the order is dealt out to units.
    pub dealing: Dealing,
}

impl Mapping {
    /// Placement without a mapping: single work-groups, in turn.
    pub const IN_TURN: Self = Self {
        sequence: Sequence::Rows,
        dealing: Dealing::Blocks(1),
    };

    /// Returns the candidates for a grid, [`Mapping::IN_TURN`] first.
    pub fn candidates(grid: [u32; 3]) -> Vec<Self> {
        let [columns, rows] = flat(grid);
        let mut all = Vec::new();
        let mut add = |sequence, dealing| all.push(Self { sequence, dealing });
        let (rows_first, columns_first) = (Sequence::Rows, Sequence::Columns);
        for block in powers(columns * rows) {
            add(rows_first, Dealing::Blocks(block as u32));
        }
        for sequence in [rows_first, columns_first] {
            add(sequence, Dealing::Lines);
            add(sequence, Dealing::Runs);
        }
        for block in powers(columns * rows) {
            add(columns_first, Dealing::Blocks(block as u32));
        }
        add(Sequence::Morton, Dealing::Runs);
        for block in powers(columns * rows).skip(1) {
            add(Sequence::Morton, Dealing::Blocks(block as u32));
        }
        for width in powers(columns).skip(1) {
            for height in powers(rows).skip(1) {
                let (width, height) = (width as u32, height as u32);
                let tiles = Sequence::Tiles(width, height);
                add(tiles, Dealing::Runs);
                add(tiles, Dealing::Blocks(width.saturating_mul(height)));
            }
        }
        all
    }

    /// Returns the work-groups of each unit in order.
    pub fn orders(self, grid: [u32; 3], units: u32) -> UnitOrders {
        let direction = match self.sequence {
            Sequence::Columns => Direction::AlongY,
            _ => Direction::AlongX,
        };
        if self.dealing == Dealing::Lines {
            return assign(grid, units, direction, Remainder::Balanced);
        }
        let count = u64::from(units.max(1));
        let order = self.sequence.order(grid);
        let mut orders = vec![Vec::new(); count as usize];
        for (at, &work_group) in order.iter().enumerate() {
            let unit = match self.dealing {
                Dealing::Blocks(block) => at as u64 / u64::from(block.max(1)) % count,
                _ => Remainder::Balanced.unit(at as u64, order.len() as u64, count),
            };
            orders[unit as usize].push(work_group);
        }
        orders
    }
}

impl Sequence {
    /// Returns all work-groups in order, by linear number.
    fn order(self, grid: [u32; 3]) -> Vec<u32> {
        let [columns, rows] = flat(grid);
        let count = columns * rows;
        let key = |number: u64| -> [u64; 4] {
            let (column, row) = (number % columns, number / columns);
            match self {
                Self::Rows => [row, column, 0, 0],
                Self::Columns => [column, row, 0, 0],
                Self::Tiles(width, height) => {
                    let (width, height) = (u64::from(width.max(1)), u64::from(height.max(1)));
                    [row / height, column / width, row % height, column % width]
                }
                Self::Morton => [spread(row) << 1 | spread(column), 0, 0, 0],
            }
        };
        let mut order: Vec<u32> = (0..count).map(|number| number as u32).collect();
        order.sort_by_cached_key(|&number| key(number.into()));
        order
    }
}

/// Returns columns and rows of a grid whose planes are further rows.
fn flat(grid: [u32; 3]) -> [u64; 2] {
    let [x, y, z] = grid.map(u64::from);
    [x, y * z]
}

/// Iterates over the powers of two up to a limit.
fn powers(limit: u64) -> impl Iterator<Item = u64> {
    (0..32)
        .map(|bits| 1 << bits)
        .take_while(move |&power| power <= limit)
}

/// Puts a 0 before each bit of a number below 2^32.
fn spread(number: u64) -> u64 {
    (0..32).map(|bit| (number >> bit & 1) << (2 * bit)).sum()
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::IN_TURN {
            return f.write_str("in turn");
        }
        match (self.sequence, self.dealing) {
            (Sequence::Columns, Dealing::Lines) => return f.write_str("along y"),
            (_, Dealing::Lines) => return f.write_str("along x"),
            (Sequence::Rows, _) => f.write_str("rows")?,
            (Sequence::Columns, _) => f.write_str("columns")?,
            (Sequence::Tiles(width, height), _) => write!(f, "tiles {width} x {height}")?,
            (Sequence::Morton, _) => f.write_str("Morton order")?,
        }
        match (self.sequence, self.dealing) {
            (_, Dealing::Runs) => f.write_str(" in runs"),
            (Sequence::Tiles(..), _) => f.write_str(" in turn"),
            (_, Dealing::Blocks(block)) => write!(f, " in blocks of {block}"),
            (_, Dealing::Lines) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn picture(mapping: Mapping, grid: [u32; 3], units: u32) -> String {
        let mut of = vec![0; grid.iter().product::<u32>() as usize];
        for (unit, order) in mapping.orders(grid, units).iter().enumerate() {
            for &work_group in order {
                of[work_group as usize] = unit;
            }
        }
        let digit = |unit: &usize| char::from_digit(*unit as u32, 16).unwrap();
        let rows = of.chunks(grid[0] as usize);
        let rows: Vec<String> = rows.map(|row| row.iter().map(digit).collect()).collect();
        rows.join(" ")
    }

    fn mapping(sequence: Sequence, dealing: Dealing) -> Mapping {
        Mapping { sequence, dealing }
    }

    #[test]
    fn tiles_morton_order_and_blocks_go_to_the_units_of_their_pictures() {
        let grid = [4, 4, 1];
        let tiles = Sequence::Tiles(2, 2);
        let pictures = [
            (mapping(tiles, Dealing::Runs), "0000 0000 1111 1111"),
            (mapping(tiles, Dealing::Blocks(4)), "0011 0011 0011 0011"),
            (
                mapping(Sequence::Morton, Dealing::Blocks(2)),
                "0000 1111 0000 1111",
            ),
            (
                mapping(Sequence::Rows, Dealing::Blocks(2)),
                "0011 0011 0011 0011",
            ),
            (
                mapping(Sequence::Columns, Dealing::Runs),
                "0011 0011 0011 0011",
            ),
            (
                mapping(Sequence::Columns, Dealing::Lines),
                "0011 0011 0011 0011",
            ),
            (Mapping::IN_TURN, "0101 0101 0101 0101"),
        ];
        for (mapping, expected) in pictures {
            assert_eq!(picture(mapping, grid, 2), expected, "{mapping}");
        }
        let morton = mapping(Sequence::Morton, Dealing::Runs);
        let order = [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15];
        assert_eq!(morton.orders(grid, 1), [order]);
        // Planes are further rows.
        assert_eq!(morton.orders([4, 2, 2], 1), [order]);
    }

    proptest! {
        #[test]
        fn every_candidate_runs_each_work_group_once_and_loads_differ_by_what_is_said(
            x in 1..20_u32, y in 1..12_u32, z in 1..3_u32, units in 1..17_u32,
        ) {
            for mapping in Mapping::candidates([x, y, z]) {
                let orders = mapping.orders([x, y, z], units);
                prop_assert_eq!(orders.len(), units as usize);
                let mut all = orders.concat();
                all.sort_unstable();
                prop_assert!(all.iter().copied().eq(0..x * y * z), "{}", mapping);
                let loads = orders.iter().map(Vec::len);
                let (most, least) = (loads.clone().max().unwrap(), loads.min().unwrap());
                let apart = match mapping.dealing {
                    Dealing::Runs | Dealing::Lines => 1,
                    Dealing::Blocks(block) => block as usize,
                };
                prop_assert!(most - least <= apart, "{}: {} and {}", mapping, most, least);
            }
        }
    }
}
