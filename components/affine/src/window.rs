//! Windows of loops: the lines that consecutive wavefronts touch until one is reused.
//!
//! Lanes of up to 64 wavefronts are followed one by one through the first iterations of a loop. The
//! wavefronts are consecutive in the order in which work-groups are mapped, from the middle of the
//! grid on, and represent all others.
//!
//! ```text
//!   wavefront 0   a b | a c | a d      load of `a`: reused after 1 iteration
//!   wavefront 1   e b | e c | e d      load of `b`: shared in the same iteration
//!                 ^^^ window of one iteration: a b e are 3 lines of 2 wavefronts
//! ```

use crate::address::Address;
use crate::cause::Cause;
use crate::launch::LaunchHead;
use crate::loop_body::Loop;
use crate::reference::{AccessKind, LaunchAnalysis, Piece, Reference};
use crate::reuse::Direction;
use crate::symbol::{SymbolKind, Symbols};

/// Wavefronts whose lines are counted: as many as a plan has entries.
const WAVEFRONTS: u64 = 64;
/// Threads of a wavefront, and lines of one irregular load.
const LANES: u64 = 32;
/// Iterations that are followed; reuse that is farther apart does not count.
const ITERATIONS: i128 = 64;
/// Accesses of lanes that are followed in one launch.
const ACCESSES_MAX: u64 = 1 << 22;

/// Lines that a loop touches in one window. Entry `g - 1` of a list counts distinct lines of `g`
/// consecutive wavefronts. An empty list says that there is no reuse of its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopWindows {
    /// Instructions of the loop and those from which it is entered, by index in the kernel's code.
    pub instructions: Vec<u32>,
    /// Lines until a wavefront touches one of its own lines again, in a later iteration.
    pub intra: Vec<u32>,
    /// Lines until another wavefront of the work-group touches one again.
    pub inter: Vec<u32>,
    /// Lines until another wavefront of the row along the direction touches one again.
    pub along: Vec<u32>,
    /// Lines that loads at unknown addresses touch at worst, per wavefront and iteration.
    pub irregular: u32,
}

/// Returns the windows of every innermost loop with loads through the first-level cache.
pub(crate) fn windows(
    head: &LaunchHead<'_>,
    analysis: &LaunchAnalysis,
    direction: Direction,
    line_bytes: u32,
) -> Vec<LoopWindows> {
    let is_load = |at: &&Reference| at.is_cached && at.kind == AccessKind::Load;
    let loads_of = |of: &Loop| -> Vec<&Reference> {
        let loads = analysis.references.iter().filter(is_load);
        loads.filter(|load| of.contains(load.pc)).collect()
    };
    let with_loads = analysis.loops.iter().map(|of| (of, loads_of(of)));
    let with_loads = with_loads.filter(|(_, loads)| !loads.is_empty());
    let with_loads: Vec<(&Loop, Vec<&Reference>)> = with_loads.collect();
    let wavefronts = Wavefront::consecutive(head, direction);
    let mut left = ACCESSES_MAX;
    let mut all = Vec::new();
    for (of, loads) in &with_loads {
        let is_outer = with_loads.iter().any(|(inner, _)| inner.is_inside(of));
        let is_known = |load: &&Reference| load.cause() != Some(&Cause::NoOperands);
        if is_outer || !loads.iter().all(is_known) {
            continue;
        }
        let followed = Followed::new(
            head,
            &analysis.symbols,
            of,
            loads,
            &wavefronts,
            line_bytes,
            &mut left,
        );
        let Some(followed) = followed else { continue };
        let unknown = loads.iter().filter(|load| load.is_unknown()).count();
        let along = match direction {
            Direction::RoundRobin => Vec::new(),
            _ => followed.lines(|at| at.row, true),
        };
        all.push(LoopWindows {
            instructions: of.instructions.clone(),
            intra: followed.lines(|at| at.number, false),
            inter: followed.lines(|at| at.work_group, true),
            along,
            irregular: u32::try_from(unknown as u64 * LANES).unwrap_or(u32::MAX),
        });
    }
    all
}

/// Wavefront that is followed, with its place in mapping order.
struct Wavefront {
    /// Number among those that are followed, from 0.
    number: u64,
    /// Number of its work-group in mapping order.
    work_group: u64,
    /// Number of its row along the direction.
    row: u64,
    /// Place of its work-group in the grid.
    place: [u32; 3],
    /// Number of its first thread in the work-group, and of the one after its last.
    threads: (u64, u64),
}

impl Wavefront {
    /// Returns consecutive wavefronts from the middle of the grid on, or as many as there are.
    /// Work-groups of a row follow each other, then rows, then planes.
    fn consecutive(head: &LaunchHead<'_>, direction: Direction) -> Vec<Self> {
        let of = |extents: [u32; 3]| {
            let extents = extents.iter().map(|&extent| u64::from(extent));
            extents.fold(1_u64, u64::saturating_mul)
        };
        let (threads, work_groups) = (of(head.block), of(head.grid));
        if threads == 0 || work_groups == 0 {
            return Vec::new();
        }
        let per_group = threads.div_ceil(LANES);
        let needed = WAVEFRONTS.div_ceil(per_group);
        let (axis, other) = match direction {
            Direction::AlongY => (1, 0),
            _ => (0, 1),
        };
        let [along, across, planes] = [axis, other, 2].map(|axis| u64::from(head.grid[axis]));
        let in_row = (along / 2).min(along.saturating_sub(needed));
        let middle = in_row + along * (across / 2 + across * (planes / 2));
        let first = middle.min(work_groups.saturating_sub(needed));
        let groups = first..first.saturating_add(needed).min(work_groups);
        let wavefronts = groups.flat_map(|group| (0..per_group).map(move |at| (group, at)));
        let wavefronts = (0..).zip(wavefronts.take(WAVEFRONTS as usize));
        let wavefronts = wavefronts.map(|(number, (work_group, at))| {
            let mut place = [0, 0, (work_group / along / across) as u32];
            place[axis] = (work_group % along) as u32;
            place[other] = (work_group / along % across) as u32;
            Self {
                number,
                work_group,
                row: work_group / along,
                place,
                threads: (LANES * at, (LANES * (at + 1)).min(threads)),
            }
        });
        wavefronts.collect()
    }
}

/// Line that a load touches in one iteration of a wavefront.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Touch {
    line: i64,
    /// Number of the iteration, counted from 0.
    iteration: u32,
    /// Number of the wavefront among those that are followed.
    wavefront: u32,
    /// Number of the load in the loop.
    load: u32,
}

/// Lines that loads touch in the first iterations of a loop.
struct Followed<'a> {
    wavefronts: &'a [Wavefront],
    /// Ascending by line, then by iteration; none occurs twice.
    touches: Vec<Touch>,
    loads: usize,
}

impl<'a> Followed<'a> {
    /// Follows the loads; `None` if they are too many, or addresses depend on other loops.
    fn new(
        head: &LaunchHead<'_>,
        symbols: &Symbols,
        of: &Loop,
        loads: &[&Reference],
        wavefronts: &'a [Wavefront],
        line_bytes: u32,
        left: &mut u64,
    ) -> Option<Self> {
        let iterations = ITERATIONS.min(symbols.get(of.counter).high + 1).max(1);
        let pieces: usize = loads.iter().map(|load| load.pieces.len()).sum();
        let accesses = wavefronts.len() as u64 * LANES * iterations as u64 * pieces as u64;
        *left = left.checked_sub(accesses)?;
        let size = i128::from(line_bytes.max(1));
        let [x, y, _] = head.block.map(u64::from);
        let mut touches = Vec::new();
        for (load, reference) in (0..).zip(loads) {
            for piece in &reference.pieces {
                let (mut address, counter) = in_loop(symbols, piece, of)?;
                for wavefront in wavefronts {
                    let own = touches.len();
                    address.set_group(wavefront.place);
                    for thread in wavefront.threads.0..wavefront.threads.1 {
                        address.set_thread([thread % x, thread / x % y, thread / x / y]);
                        for iteration in 0..iterations as u32 {
                            if let Some(counter) = counter {
                                address.values[counter] = iteration.into();
                            }
                            let Some(first) = address.value() else {
                                continue;
                            };
                            let last = first + i128::from(reference.bytes.max(1)) - 1;
                            for line in first.div_euclid(size)..=last.div_euclid(size) {
                                touches.push(Touch {
                                    line: line as i64,
                                    iteration,
                                    wavefront: wavefront.number as u32,
                                    load,
                                });
                            }
                        }
                    }
                    touches[own..].sort_unstable();
                    let mut kept = own;
                    for at in own..touches.len() {
                        if kept == own || touches[at] != touches[kept - 1] {
                            touches[kept] = touches[at];
                            kept += 1;
                        }
                    }
                    touches.truncate(kept);
                }
            }
        }
        touches.sort_unstable();
        touches.dedup();
        Some(Self {
            wavefronts,
            touches,
            loads: loads.len(),
        })
    }

    /// Counts the lines in a window of the reuse within each scope: between two wavefronts, or
    /// between iterations of one. Empty without reuse.
    fn lines(&self, scope: impl Fn(&Wavefront) -> u64, is_between: bool) -> Vec<u32> {
        let Some(window) = self.window(scope, is_between) else {
            return Vec::new();
        };
        let windows = (ITERATIONS as usize).div_ceil(window as usize);
        let mut first_touched = vec![[0_u32; WAVEFRONTS as usize]; windows];
        for of_line in self.touches.chunk_by(|a, b| a.line == b.line) {
            let number = |touch: &Touch| (touch.iteration / window) as usize;
            for in_window in of_line.chunk_by(|a, b| number(a) == number(b)) {
                let first = in_window.iter().map(|touch| touch.wavefront as usize).min();
                first_touched[number(&in_window[0])][first.unwrap_or_default()] += 1;
            }
        }
        let mut most = vec![0; WAVEFRONTS as usize];
        for new_lines in first_touched {
            let mut sum = 0;
            for (most, new) in most.iter_mut().zip(new_lines) {
                sum += new;
                *most = sum.max(*most);
            }
        }
        most
    }

    /// Returns the iterations of a window: the longest of the loads, each until its nearest reuse.
    fn window(&self, scope: impl Fn(&Wavefront) -> u64, is_between: bool) -> Option<u32> {
        let mut nearest: Vec<Option<u32>> = vec![None; self.loads];
        let scopes: Vec<u64> = self.wavefronts.iter().map(scope).collect();
        let mut same: Vec<(u64, Touch)> = Vec::new();
        for of_line in self.touches.chunk_by(|a, b| a.line == b.line) {
            same.clear();
            same.extend(
                of_line
                    .iter()
                    .map(|touch| (scopes[touch.wavefront as usize], *touch)),
            );
            same.sort_unstable();
            for in_scope in same.chunk_by(|a, b| a.0 == b.0) {
                for (_, touch) in in_scope {
                    let nearest = &mut nearest[touch.load as usize];
                    let start = in_scope.partition_point(|(_, at)| at.iteration < touch.iteration);
                    for (_, again) in &in_scope[start..] {
                        let apart = again.iteration - touch.iteration;
                        if nearest.is_some_and(|nearest| apart >= nearest) {
                            break;
                        }
                        let is_reuse = if is_between {
                            again.wavefront != touch.wavefront
                        } else {
                            apart > 0
                        };
                        if is_reuse {
                            *nearest = Some(apart);
                            break;
                        }
                    }
                }
            }
        }
        let longest = nearest.into_iter().flatten().max()?;
        Some(longest.max(1))
    }
}

/// Prepares a piece in a loop, and returns the place of the loop's counter if the address depends
/// on it. Loops around it are in the middle of their iterations, or in the first if their number is
/// not known.
fn in_loop(symbols: &Symbols, piece: &Piece, of: &Loop) -> Option<(Address, Option<usize>)> {
    let mut address = Address::new(symbols, piece)?;
    for &symbol in &address.others {
        let known = symbols.get(symbol);
        match &known.kind {
            SymbolKind::Quotient { .. } => {}
            SymbolKind::Counter { .. } if symbol == of.counter => {}
            SymbolKind::Counter { .. } if of.around.contains(&symbol) => {
                if !known.is_unbounded {
                    let place = address.place(symbol)?;
                    address.values[place] = i128::midpoint(known.low, known.high);
                }
            }
            _ => return None,
        }
    }
    let counter = address.place(of.counter);
    Some((address, counter))
}

#[cfg(test)]
mod tests {
    use warpweave_trace::Code;

    use super::*;

    /// CMP-M6, equation 8: number of the wavefront of a thread.
    fn number(direction: Direction, grid: [u32; 3], block: [u32; 3], of: [[u32; 3]; 2]) -> u64 {
        let code = Code::default();
        let head = LaunchHead {
            code: &code,
            grid,
            block,
            arguments: &[],
            allocations: &[],
        };
        let [place, [x, y, _]] = of;
        let thread = u64::from(y * block[0] + x);
        let all = Wavefront::consecutive(&head, direction);
        let found = all
            .iter()
            .find(|at| at.place == place && (at.threads.0..at.threads.1).contains(&thread));
        found.expect("a wavefront").number
    }

    #[test]
    fn cmp_m6_wavefronts_are_numbered_across_work_groups_in_mapping_order() {
        let (x, y) = (Direction::AlongX, Direction::AlongY);
        let block = [16, 4, 1];
        let last = [[2, 1, 0], [15, 3, 0]];
        assert_eq!(number(x, [3, 2, 1], block, last), 11);
        let second = [[1, 0, 0], [0; 3]];
        assert_eq!(number(Direction::RoundRobin, [3, 2, 1], block, second), 2);
        assert_eq!(number(x, [3, 2, 1], [10, 5, 1], second), 2);
        assert_eq!(number(y, [3, 2, 1], [10, 5, 1], second), 4);
    }

    #[test]
    fn wavefronts_are_those_of_the_middle_and_stay_in_one_row_if_they_fit() {
        let places = |grid: [u32; 3], direction| {
            let code = Code::default();
            let head = LaunchHead {
                code: &code,
                grid,
                block: [256, 1, 1],
                arguments: &[],
                allocations: &[],
            };
            let all = Wavefront::consecutive(&head, direction);
            let last = all.last().expect("a wavefront").place;
            (all.len(), all[0].place, last)
        };
        let (x, y) = (Direction::AlongX, Direction::AlongY);
        assert_eq!(places([100, 9, 1], x), (64, [50, 4, 0], [57, 4, 0]));
        assert_eq!(places([100, 9, 3], y), (64, [50, 1, 1], [50, 8, 1]));
        assert_eq!(places([4, 4, 1], x), (64, [0, 2, 0], [3, 3, 0]));
        assert_eq!(places([4, 1, 1], x), (32, [0, 0, 0], [3, 0, 0]));
        let most = [(1 << 31) - 1, 65_535, 65_535];
        assert_eq!(places(most, x).0, 64);
    }
}
