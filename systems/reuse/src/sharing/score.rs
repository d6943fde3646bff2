//! Score of a division of work-groups into clusters (CTA-clustering paper, 4.2.1).

use rustc_hash::FxHashMap;
use warpweave_files::{Budget, OverBudget};
use warpweave_trace::KernelTrace;

use super::WORD_BYTES;
use super::kernel::for_each_access;

/// Order in which the work-groups of a grid are numbered before they are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterOrder {
    /// Row after row of each plane, x fastest.
    Rows,
    /// Column after column of each plane, y fastest.
    Columns,
}

impl ClusterOrder {
    /// Returns the work-groups of a grid in this order.
    fn work_groups(self, grid: [u32; 3]) -> impl Iterator<Item = u32> {
        let [x, y, z] = grid;
        (0..x * y * z).map(move |place| match self {
            Self::Rows => place,
            Self::Columns => {
                let (plane, place) = (place / (x * y), place % (x * y));
                plane * x * y + (place % y) * x + place / y
            }
        })
    }
}

/// Returns the cluster of the work-group at a place. Sizes of clusters differ by at most 1, and the
/// first ones are the larger.
fn cluster(place: u32, all: u32, clusters: u32) -> u32 {
    let (size, larger) = (all / clusters, all % clusters);
    if place < larger * (size + 1) {
        place / (size + 1)
    } else {
        (place - larger) / size
    }
}

/// Last work-group that touched a line, and the touches of its cluster.
#[derive(Clone, Copy, Debug)]
struct Touched {
    work_group: u32,
    cluster: u32,
    work_groups: u64,
}

/// Returns the score of a division of a launch into `clusters` of consecutive work-groups, at least
/// 1. It is the number of pairs of work-groups of one cluster that touch a line, over all lines.
///
/// # Errors
/// Returns an error if the memory budget does not hold the lines of the launch.
pub fn cluster_score(
    kernel: &KernelTrace,
    order: ClusterOrder,
    clusters: u32,
    line_bytes: u32,
    budget: &Budget,
) -> Result<u64, OverBudget> {
    let what = "the lines that clusters share";
    let per_line = u64::from(line_bytes) / WORD_BYTES;
    let mut charge = budget.charge(what, 0)?;
    let mut lines: FxHashMap<u64, Touched> = FxHashMap::default();
    let mut score = 0;
    let all = kernel.work_groups();
    charge.grow(what, 4 * u64::from(all))?;
    let mut clusters_of = vec![0; all as usize];
    for (place, work_group) in (0..).zip(order.work_groups(kernel.grid)) {
        clusters_of[work_group as usize] = cluster(place, all, clusters);
    }
    let work_groups = order.work_groups(kernel.grid);
    for_each_access(kernel, work_groups, &mut |touch| {
        let cluster = clusters_of[touch.work_group as usize];
        if lines.len() + touch.words.len() > lines.capacity() {
            let more = lines.capacity().max(touch.words.len()).max(1024);
            let bytes = 2 * more * (size_of::<(u64, Touched)>() + 1);
            charge.grow(what, bytes as u64)?;
            lines.reserve(lines.capacity() - lines.len() + more);
        }
        for word in touch.words {
            let line = lines.entry(word / per_line).or_insert(Touched {
                work_group: u32::MAX,
                cluster,
                work_groups: 0,
            });
            if line.work_group == touch.work_group {
                continue;
            }
            if line.cluster != cluster {
                line.work_groups = 0;
            }
            score += line.work_groups;
            line.work_group = touch.work_group;
            line.cluster = cluster;
            line.work_groups += 1;
        }
        Ok(())
    })?;
    Ok(score)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use warpweave_trace::{Class, Code, Instruction, KernelWriter, LANES, Space, StreamWriter};

    use super::*;

    #[test]
    fn clusters_hold_consecutive_work_groups_and_differ_by_at_most_one() {
        let clusters = |all, count| -> Vec<u32> {
            let places = 0..all;
            places.map(|place| cluster(place, all, count)).collect()
        };
        assert_eq!(clusters(6, 2), [0, 0, 0, 1, 1, 1]);
        assert_eq!(clusters(7, 3), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(clusters(10, 4), [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]);
        assert_eq!(clusters(3, 5), [0, 1, 2]);
    }

    #[test]
    fn columns_follow_each_other_down_a_plane() {
        let columns: Vec<u32> = ClusterOrder::Columns.work_groups([3, 2, 2]).collect();
        assert_eq!(columns, [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]);
    }

    /// The paper's objective: of four work-groups the first two share a line, the last two share
    /// one, and the first and the third.
    #[test]
    fn pairs_of_a_cluster_that_share_a_line_make_its_score() {
        let load = Instruction::new("ld", Class::Load).accessing(Space::Global, 4);
        let code = Code {
            name: "pairs".to_owned(),
            instructions: vec![load],
            ..Code::default()
        };
        let mut writer =
            KernelWriter::new(Arc::new(code), [2, 2, 1], [32, 1, 1], 0, Vec::new()).unwrap();
        let lines: [&[u64]; 4] = [&[0, 2], &[0], &[1, 2], &[1]];
        for (work_group, lines) in (0..).zip(lines) {
            let mut stream = StreamWriter::new();
            for line in lines {
                stream.access(0, u32::MAX, Space::Global, false, &[line * 128; LANES]);
            }
            writer.finish_wavefront(work_group, 0, stream).unwrap();
        }
        let kernel = writer.finish().unwrap();
        let score = |order, clusters| {
            cluster_score(&kernel, order, clusters, 128, &Budget::unlimited()).unwrap()
        };
        assert_eq!(score(ClusterOrder::Rows, 2), 2);
        assert_eq!(score(ClusterOrder::Columns, 2), 1);
        assert_eq!(score(ClusterOrder::Rows, 1), 3);
    }
}
