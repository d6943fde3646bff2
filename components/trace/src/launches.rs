//! Look-up of device-side kernel launches by the record that launched them.

use crate::{KernelTrace, Parent};

/// A child kernel launched by one lane of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// Launch number of the child in the program.
    pub kernel: u32,
    /// Lane and record that launched the child.
    pub parent: Parent,
}

/// Device-side launches of a whole program, indexed by parent.
///
/// ```
/// use warpweave_trace::{LaunchGraph, Parent};
///
/// let by = |kernel, record, lane| Some(Parent { kernel, work_group: 0, wavefront: 0, record, lane, stream: 7 });
/// // Kernel 0 launches two kernels with its first record; the second of them launches another.
/// let graph = LaunchGraph::of([None, by(0, 0, 3), by(0, 0, 5), by(2, 1, 0)]);
/// let lanes: Vec<_> = graph.launched(0, 0, 0, 0).iter().map(|child| child.parent.lane).collect();
/// assert_eq!(lanes, [3, 5]);
/// assert!(graph.launched(2, 0, 0, 0).is_empty());
/// assert_eq!((graph.depth(0), graph.depth(3)), (0, 2));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchGraph {
    /// Sorted by parent (kernel, work-group, wavefront, record, lane), then by number.
    children: Vec<Child>,
    /// Nesting depth of each kernel, by launch number.
    depths: Vec<u32>,
}

impl LaunchGraph {
    /// Builds the graph from the parents of all kernels, in order of launch number. The depth
    /// ignores a parent whose number is not below its kernel's.
    /// [`Program::check`](crate::Program::check) rejects such a parent.
    pub fn of(parents: impl IntoIterator<Item = Option<Parent>>) -> Self {
        let mut graph = Self::default();
        for (kernel, parent) in (0..).zip(parents) {
            graph
                .children
                .extend(parent.map(|parent| Child { kernel, parent }));
            let above = parent.and_then(|parent| graph.depths.get(parent.kernel as usize));
            let depth = above.map_or(0, |depth| depth + 1);
            graph.depths.push(depth);
        }
        graph
            .children
            .sort_by_key(|child| (child.parent, child.kernel));
        graph
    }

    /// True if no kernel was launched from the device.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// Returns the kernels launched by a wavefront's launch record with index `record`, by
    /// ascending lane.
    #[inline]
    pub fn launched(&self, kernel: u32, work_group: u32, wavefront: u32, record: u32) -> &[Child] {
        let wanted = (kernel, work_group, wavefront, record);
        self.range(|parent| {
            (
                parent.kernel,
                parent.work_group,
                parent.wavefront,
                parent.record,
            )
                .cmp(&wanted)
        })
    }

    /// Returns the kernels that a kernel launched, by work-group, wavefront, record and lane.
    pub fn children(&self, kernel: u32) -> &[Child] {
        self.range(|parent| parent.kernel.cmp(&kernel))
    }

    /// Returns the kernels that a work-group launched, by wavefront, record and lane.
    pub fn children_of_work_group(&self, kernel: u32, work_group: u32) -> &[Child] {
        self.range(|parent| (parent.kernel, parent.work_group).cmp(&(kernel, work_group)))
    }

    /// Returns the nesting depth of the kernel: 0 for a kernel launched by the host.
    ///
    /// # Panics
    /// Panics if there is no such kernel.
    pub fn depth(&self, kernel: u32) -> u32 {
        self.depths[kernel as usize]
    }

    /// Returns the number of kernels at each depth, starting with host launches.
    pub fn widths(&self) -> Vec<u32> {
        let deepest = self.depths.iter().max().copied();
        let mut widths = vec![0; deepest.map_or(0, |depth| depth as usize + 1)];
        for depth in &self.depths {
            widths[*depth as usize] += 1;
        }
        widths
    }

    fn range(&self, order: impl Fn(&Parent) -> std::cmp::Ordering) -> &[Child] {
        let first = self
            .children
            .partition_point(|child| order(&child.parent).is_lt());
        let end = self
            .children
            .partition_point(|child| order(&child.parent).is_le());
        &self.children[first..end]
    }
}

/// Checks that a parent is an earlier kernel and that its wavefront and lane exist.
pub(crate) fn check_parent(
    kernel: u32,
    parent: Parent,
    shape: impl Fn(u32) -> Option<(u32, u32)>,
) -> Result<(), String> {
    let problem = |what: String| Err(format!("kernel {kernel} {what}"));
    if parent.kernel >= kernel {
        return problem(format!(
            "has parent kernel {}, which is not an earlier kernel",
            parent.kernel
        ));
    }
    let (work_groups, wavefronts) = shape(parent.kernel).unwrap_or_default();
    if parent.work_group >= work_groups || parent.wavefront >= wavefronts {
        return problem(format!(
            "has its parent in work-group {}, wavefront {} of kernel {}, which has {work_groups} work-groups of {wavefronts} wavefronts",
            parent.work_group, parent.wavefront, parent.kernel
        ));
    }
    if parent.is_tail() && parent.stream != Parent::tail_stream(parent.kernel) {
        return problem(format!(
            "is in stream {}, which is the tail-launch stream of another kernel than its parent {}",
            parent.stream, parent.kernel
        ));
    }
    if usize::from(parent.lane) >= crate::LANES {
        return problem(format!("has its parent in lane {}", parent.lane));
    }
    Ok(())
}

/// Checks the parents of all kernels, in order of launch number.
pub(crate) fn check_parents(kernels: &[impl AsRef<KernelTrace>]) -> Result<(), String> {
    for (number, kernel) in (0..).zip(kernels) {
        if let Some(parent) = kernel.as_ref().parent {
            check_parent(number, parent, |parent| {
                let parent = kernels.get(parent as usize)?.as_ref();
                Some((parent.work_groups(), parent.wavefronts_per_work_group()))
            })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(kernel: u32, work_group: u32, record: u32, lane: u8) -> Parent {
        Parent {
            kernel,
            work_group,
            wavefront: 1,
            record,
            lane,
            stream: 9,
        }
    }

    #[test]
    fn children_are_found_by_kernel_work_group_and_record_whatever_their_numbers() {
        let parents = [
            None,
            Some(parent(0, 2, 1, 4)),
            Some(parent(0, 0, 0, 1)),
            Some(parent(0, 2, 1, 0)),
            Some(parent(1, 0, 0, 0)),
            Some(parent(0, 2, 0, 9)),
        ];
        let graph = LaunchGraph::of(parents);
        let kernels = |children: &[Child]| {
            children
                .iter()
                .map(|child| child.kernel)
                .collect::<Vec<_>>()
        };
        assert_eq!(kernels(graph.launched(0, 2, 1, 1)), [3, 1]);
        assert_eq!(kernels(graph.launched(0, 2, 0, 1)), []);
        assert_eq!(kernels(graph.children_of_work_group(0, 2)), [5, 3, 1]);
        assert_eq!(kernels(graph.children(0)), [2, 5, 3, 1]);
        assert_eq!(kernels(graph.children(1)), [4]);
        assert_eq!(kernels(graph.children(7)), []);
        assert_eq!(
            (0..6).map(|kernel| graph.depth(kernel)).collect::<Vec<_>>(),
            [0, 1, 1, 1, 2, 1]
        );
        assert_eq!(graph.widths(), [1, 4, 1]);
    }

    #[test]
    fn a_tail_launch_is_in_the_stream_of_its_parent() {
        let shape = |_| Some((3, 2));
        let tail = |stream| Parent {
            stream,
            ..parent(1, 0, 0, 0)
        };
        assert_eq!(check_parent(2, tail(Parent::tail_stream(1)), shape), Ok(()));
        let said = check_parent(2, tail(Parent::tail_stream(0)), shape).unwrap_err();
        assert_eq!(
            said,
            "kernel 2 is in stream 3221225472, which is the tail-launch stream of another kernel than its parent 1"
        );
    }

    #[test]
    fn a_parent_that_comes_later_or_lacks_the_wavefront_is_refused() {
        let check = |kernel, by| check_parent(kernel, by, |kernel| (kernel < 2).then_some((3, 2)));
        assert_eq!(check(1, parent(0, 2, 5, 31)), Ok(()));
        for (kernel, by) in [
            (1, parent(1, 0, 0, 0)),
            (3, parent(2, 0, 0, 0)),
            (2, parent(1, 3, 0, 0)),
            (2, parent(0, 0, 0, 32)),
        ] {
            check(kernel, by).unwrap_err();
        }
    }
}
