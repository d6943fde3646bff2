//! Mapping of a grid to compute units: whole rows or columns first, then the rest evenly.
//!
//! ```text
//!   along x, 5 rows on 4 units:  row 0 ► unit 0   row 1 ► unit 1   row 2 ► unit 2   row 3 ► unit 3
//!                                row 4, the rest: 0 0 1 2 3
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::locality_plan::Direction;

/// Division of the work-groups that are left when whole rows or columns have been dealt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Remainder {
    /// Evenly: units differ by at most one work-group.
    #[default]
    Balanced,
    /// In chunks of equal length, rounded up, for as many units as there are chunks.
    CeilChunk,
}

impl Remainder {
    /// Returns the unit of entry `e` of `count`, which must be below it.
    pub fn unit(self, e: u64, count: u64, units: u64) -> u64 {
        match self {
            Self::CeilChunk => e / count.div_ceil(units),
            Self::Balanced => {
                let (each, longer) = (count / units, count % units);
                let in_longer = longer * (each + 1);
                if e < in_longer {
                    e / (each + 1)
                } else {
                    longer + (e - in_longer) / each
                }
            }
        }
    }
}

/// A grid seen along a direction: lines of work-groups, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    /// Number of work-groups in a line, and number of lines.
    length: u64,
    lines: u64,
    is_along_y: bool,
}

impl Lines {
    /// Planes along z count as further rows. Without a direction the rows are the lines.
    pub(super) fn new(grid: [u32; 3], direction: Direction) -> Self {
        let [x, y, z] = grid.map(u64::from);
        let rows = y * z;
        let is_along_y = direction == Direction::AlongY;
        let (length, lines) = if is_along_y { (rows, x) } else { (x, rows) };
        Self {
            length,
            lines,
            is_along_y,
        }
    }

    fn count(self) -> u64 {
        self.length * self.lines
    }

    /// Returns the linear number of the work-group at a position along the lines.
    fn work_group(self, at: u64) -> u32 {
        let (line, place) = (at / self.length, at % self.length);
        let number = if self.is_along_y {
            place * self.lines + line
        } else {
            at
        };
        number as u32
    }

    /// Returns the position along the lines of a work-group, by its linear number.
    pub(super) fn position(self, work_group: u32) -> u64 {
        let number = u64::from(work_group);
        if self.is_along_y {
            number % self.lines * self.length + number / self.lines
        } else {
            number
        }
    }
}

/// Assigns every work-group of a grid to a unit: returns the work-groups of each unit, by linear
/// number in the order of the direction. Whole rows or columns go to a unit as long as each unit
/// gets as many; `remainder` divides the rest. Without a direction units take turns.
///
/// Source: the mapping paper, Algorithm 3, corrected: as printed it leaves the range of
/// units.
pub fn assign(
    grid: [u32; 3],
    units: u32,
    direction: Direction,
    remainder: Remainder,
) -> Vec<Vec<u32>> {
    let lines = Lines::new(grid, direction);
    let units = u64::from(units.max(1));
    let whole = lines.lines / units;
    let mapped = whole * units * lines.length;
    let mut of_units = vec![Vec::new(); units as usize];
    for at in 0..lines.count() {
        let unit = match direction {
            Direction::RoundRobin => at % units,
            _ if at < mapped => at / lines.length / whole,
            _ => remainder.unit(at - mapped, lines.count() - mapped, units),
        };
        of_units[unit as usize].push(lines.work_group(at));
    }
    of_units
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIRECTIONS: [Direction; 3] =
        [Direction::RoundRobin, Direction::AlongX, Direction::AlongY];

    fn loads(grid: [u32; 3], units: u32, remainder: Remainder) -> Vec<usize> {
        let assigned = assign(grid, units, Direction::AlongX, remainder);
        assigned.iter().map(Vec::len).collect()
    }

    /// Returns the unit of every work-group in rows.
    fn picture(grid: [u32; 3], units: u32, direction: Direction, remainder: Remainder) -> String {
        let mut of = vec![0; grid.iter().product::<u32>() as usize];
        for (unit, assigned) in assign(grid, units, direction, remainder).iter().enumerate() {
            for &work_group in assigned {
                of[work_group as usize] = unit;
            }
        }
        let digit = |unit: &usize| char::from_digit(*unit as u32, 16).unwrap();
        let row = |row: &[usize]| row.iter().map(digit).collect::<String>();
        let rows: Vec<_> = of.chunks(grid[0] as usize).map(row).collect();
        rows.join(" ")
    }

    /// CMP-M5 and CMP-E3: the paper's grid of 5x5 on 4 units, and 6x10 with whole rows and halves.
    #[test]
    fn cmp_m5_the_vectors_are_met() {
        use Direction::{AlongX, AlongY, RoundRobin};
        use Remainder::{Balanced, CeilChunk};
        let five = |direction, remainder| picture([5, 5, 1], 4, direction, remainder);
        assert_eq!(five(AlongX, Balanced), "00000 11111 22222 33333 00123");
        assert_eq!(five(AlongX, CeilChunk), "00000 11111 22222 33333 00112");
        assert_eq!(five(AlongY, Balanced), "01230 01230 01231 01232 01233");
        assert_eq!(five(RoundRobin, Balanced), "01230 12301 23012 30123 01230");
        for remainder in [Balanced, CeilChunk] {
            assert_eq!(
                picture([6, 10, 1], 4, AlongX, remainder),
                "000000 000000 111111 111111 222222 222222 333333 333333 000111 222333"
            );
        }
        let column = assign([5, 5, 1], 4, AlongY, Balanced);
        assert_eq!(column[0], [0, 5, 10, 15, 20, 4, 9]);
    }

    #[test]
    fn cmp_m5_the_loads_of_the_vectors_are_met() {
        use Remainder::{Balanced, CeilChunk};
        assert_eq!(loads([5, 5, 1], 4, CeilChunk), [7, 7, 6, 5]);
        assert_eq!(loads([5, 5, 1], 4, Balanced), [7, 6, 6, 6]);
        assert_eq!(loads([7, 3, 1], 4, Balanced), [6, 5, 5, 5]);
        assert_eq!(loads([7, 3, 1], 4, CeilChunk), [6, 6, 6, 3]);
        let then = |first: usize, firsts, last: usize, lasts| {
            [vec![first; firsts], vec![last; lasts]].concat()
        };
        assert_eq!(loads([16, 16, 1], 15, Balanced), then(18, 1, 17, 14));
        assert_eq!(loads([16, 16, 1], 15, CeilChunk), then(18, 8, 16, 7));
        assert_eq!(loads([32, 32, 1], 15, Balanced), then(69, 4, 68, 11));
        let chunks = loads([32, 32, 1], 15, CeilChunk);
        assert_eq!((chunks[0], chunks[14]), (69, 64));
        for remainder in [Balanced, CeilChunk] {
            assert_eq!(loads([30, 30, 1], 15, remainder), [60; 15]);
            assert_eq!(loads([40, 36, 1], 15, remainder), [96; 15]);
        }
        assert_eq!(loads([18, 18, 1], 19, CeilChunk), then(18, 18, 0, 1));
    }

    #[test]
    fn cmp_m2_planes_are_further_rows() {
        let flat = assign([4, 6, 1], 4, Direction::AlongX, Remainder::Balanced);
        let planes = assign([4, 2, 3], 4, Direction::AlongX, Remainder::Balanced);
        assert_eq!(flat, planes);
    }

    /// True if the algorithm as printed sends each work-group to a unit that exists.
    fn printed_stays_in_range(x: i64, y: i64, units: i64, with_else: bool) -> bool {
        let whole = y / units;
        let mapped = whole * x;
        let chunk = ((y - whole) * x + 1) / units + 1;
        let unit = |column: i64, row: i64| {
            if with_else && row < mapped {
                row / whole
            } else {
                (column + row * x - mapped).div_euclid(chunk)
            }
        };
        (0..y).all(|row| (0..x).all(|column| (0..units).contains(&unit(column, row))))
    }

    #[test]
    fn cmp_m5_the_printed_algorithm_leaves_the_range_of_units() {
        assert!(!printed_stays_in_range(5, 5, 4, true));
        let mut left = [0; 2];
        for (x, y, units) in (1..40)
            .flat_map(|x| (1..40).map(move |y| (x, y)))
            .flat_map(|(x, y)| (1..20).map(move |units| (x, y, units)))
        {
            for with_else in [false, true] {
                left[usize::from(with_else)] +=
                    u32::from(!printed_stays_in_range(x, y, units, with_else));
            }
        }
        assert_eq!(left, [22_230, 12_692]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn cmp_m5_each_work_group_is_assigned_once_and_balanced_loads_differ_by_one(
            x in 1_u32..40,
            y in 1_u32..40,
            z in 1_u32..4,
            units in 1_u32..20,
        ) {
            for direction in DIRECTIONS {
                for remainder in [Remainder::Balanced, Remainder::CeilChunk] {
                    let assigned = assign([x, y, z], units, direction, remainder);
                    prop_assert_eq!(assigned.len(), units as usize);
                    let mut all: Vec<u32> = assigned.concat();
                    all.sort_unstable();
                    prop_assert!(all.iter().copied().eq(0..x * y * z));
                    let lines = Lines::new([x, y, z], direction);
                    for of_unit in &assigned {
                        let along = of_unit.iter().map(|&work_group| lines.position(work_group));
                        prop_assert!(along.is_sorted());
                    }
                    if remainder == Remainder::Balanced {
                        let loads = assigned.iter().map(Vec::len);
                        let (most, least) = (loads.clone().max(), loads.min());
                        prop_assert!(most.unwrap() - least.unwrap() <= 1);
                    }
                }
            }
        }
    }
}
