//! Reuse analysis: takes accesses one by one and returns all reuse statistics.

mod saved;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use warpweave_trace::Parent;

use self::saved::Saved;
use crate::chains::Links;
use crate::children::{ChildRatios, Children};
use crate::distance::Distances;
use crate::footprint::Footprint;
use crate::ratio::{Member, compare_all};
use crate::relation::Relation;
use crate::{Chains, Level, LruStack, Ratios, Unit};

/// Parameters of a reuse analysis, such as the cache sizes it assumes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Ratio above which two units are linked in a chain. The paper's limit study uses 0.4.
    pub chain_threshold: f64,
    /// Capacity of a first-level cache, in lines.
    pub l1_lines: u64,
    /// Capacity of the second-level cache, in lines.
    pub l2_lines: u64,
}

impl Default for Options {
    /// Returns the paper's machine: caches of 32 KiB and 1.5 MiB with lines of 128 bytes.
    fn default() -> Self {
        Self {
            chain_threshold: 0.4,
            l1_lines: 256,
            l2_lines: 12_288,
        }
    }
}

/// Accesses to reused lines, by relation; one access may count for several. A line counts for `own`
/// if its kernel touches it at least twice. It counts for `parent_child` if a kernel and its parent
/// touch it, and for `sibling` if siblings do. All accesses of these kernels to the line then
/// count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shares {
    /// Accesses to lines that the same kernel reuses.
    pub own: u64,
    /// Accesses to lines shared by a parent and its child.
    pub parent_child: u64,
    /// Accesses to lines shared by sibling kernels.
    pub sibling: u64,
}

/// Complete results of a reuse analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Number of line accesses analysed, over all kernels.
    pub accesses: u64,
    /// Number of distinct lines touched by the program.
    pub lines: u64,
    /// Number of kernels, including those without accesses.
    pub kernels: u64,
    /// Number of kernels launched from the device (child grids).
    pub device_kernels: u64,
    /// Accesses to reused lines, split by relation.
    pub shares: Shares,
    /// Reuse ratios for each level and relation.
    pub ratios: Vec<Ratios>,
    /// Reuse distances from each access to the previous one to the same line, in the order of
    /// [`Relation::ALL`].
    pub distances: Vec<Distances>,
    /// Chains of linked kernels and of linked work-groups.
    pub chains: Vec<Chains>,
}

/// Linked units: pairs with a ratio above the threshold. Also the ratios of launched kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Linked {
    /// Pairs of linked kernels, each with the ratio of the first to the second.
    pub kernels: Vec<(u32, u32, f64)>,
    /// Chains of work-groups as (kernel, work-group), including chains of length one.
    pub work_group_chains: Vec<Vec<(u32, u32)>>,
    /// Ratios of each kernel launched from the device, in order of launch.
    pub children: Vec<ChildRatios>,
}

/// Reuse analysis in progress, with all accesses added so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub struct Analysis {
    pub(crate) options: Options,
    pub(crate) parents: Vec<Option<Parent>>,
    /// Maps each line address to its dense line number.
    pub(crate) numbers: FxHashMap<u64, u32>,
    /// Kernel of the last access, indexed by line number.
    pub(crate) last: Vec<u32>,
    /// Touches of each unit, as line numbers.
    pub(crate) units: FxHashMap<Unit, Vec<u32>>,
    pub(crate) stack: LruStack,
    pub(crate) distances: Vec<Distances>,
}

impl Analysis {
    /// Creates an analysis of a program whose kernels have these parents.
    pub fn new(parents: Vec<Option<Parent>>, options: Options) -> Self {
        Self {
            options,
            parents,
            numbers: FxHashMap::default(),
            last: Vec::new(),
            units: FxHashMap::default(),
            stack: LruStack::new(),
            distances: vec![Distances::new(); Relation::ALL.len()],
        }
    }

    /// Adds an access. Reuse distances follow the order in which accesses are added.
    pub fn touch(&mut self, by: Unit, line: u64) {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(line).or_insert(next);
        self.units.entry(by).or_default().push(number);
        let distance = self.stack.touch(line);
        if number == next {
            self.last.push(by.kernel);
            return;
        }
        let before = std::mem::replace(&mut self.last[number as usize], by.kernel);
        let relation = Relation::of(&self.parents, by.kernel, before);
        let reach = [self.options.l1_lines, self.options.l2_lines];
        if let Some(distance) = distance {
            self.distances[relation as usize].add(distance as u64, reach);
        }
    }

    /// Computes all statistics from the accesses added so far.
    pub fn finish(self) -> Found {
        self.finish_linked().0
    }

    /// Like [`Analysis::finish`], and also returns the linked units.
    pub fn finish_linked(self) -> (Found, Linked) {
        let lines = self.numbers.len() as u64;
        let mut units: Vec<(Unit, Vec<u32>)> = self.units.into_iter().collect();
        units.sort_unstable_by_key(|(unit, _)| *unit);
        let mut wavefronts = [
            Ratios::new(Level::Wavefront, "self"),
            Ratios::new(Level::Wavefront, "inter"),
        ];
        // Work-groups in order of kernel and number.
        let mut groups: Vec<Group> = Vec::new();
        let mut units = units.into_iter().peekable();
        while let Some((
            Unit {
                kernel, work_group, ..
            },
            touches,
        )) = units.next()
        {
            let mut of_group = vec![Footprint::of(touches)];
            while let Some((_, touches)) =
                units.next_if(|(unit, _)| (unit.kernel, unit.work_group) == (kernel, work_group))
            {
                of_group.push(Footprint::of(touches));
            }
            let [own, inter] = &mut wavefronts;
            for wavefront in &of_group {
                own.add(wavefront.again(), wavefront.accesses, 1);
            }
            compare_all(&members(&of_group), inter, |_, _, _, _| {});
            groups.push(Group {
                kernel,
                work_group,
                footprint: Footprint::union(&of_group),
            });
        }
        let program = Units::of(self.parents, groups);
        let mut links = [
            Links::new(self.options.chain_threshold),
            Links::new(self.options.chain_threshold),
        ];
        let mut children = Children::of(&program.parents, &program.kernels);
        let mut ratios = program.kernels(&mut links[0], &mut children);
        ratios.extend(program.work_groups(&mut links[1]));
        ratios.extend(wavefronts);
        let work_groups = |list: Vec<u32>| {
            let group = |number: u32| {
                let group = &program.groups[number as usize];
                (group.kernel, group.work_group)
            };
            list.into_iter().map(group).collect()
        };
        let chains = links[1].lists(program.groups.len() as u32);
        let linked = Linked {
            kernels: links[0].linked().to_vec(),
            work_group_chains: chains.into_iter().map(work_groups).collect(),
            children: children.list(),
        };
        let found = Found {
            accesses: program.kernels.iter().map(|kernel| kernel.accesses).sum(),
            lines,
            kernels: program.kernels.len() as u64,
            device_kernels: program.parents.iter().flatten().count() as u64,
            shares: program.shares(),
            chains: vec![
                links[0].chains(Level::Kernel, program.kernels.len() as u32),
                links[1].chains(Level::WorkGroup, program.groups.len() as u32),
            ],
            ratios,
            distances: self.distances,
        };
        (found, linked)
    }
}

fn members(footprints: &[Footprint]) -> Vec<Member<'_>> {
    let members = (0..).zip(footprints);
    members
        .map(|(kind, footprint)| Member { footprint, kind })
        .collect()
}

struct Group {
    kernel: u32,
    work_group: u32,
    footprint: Footprint,
}

/// Footprints of all kernels and work-groups.
struct Units {
    parents: Vec<Option<Parent>>,
    kernels: Vec<Footprint>,
    groups: Vec<Group>,
}

impl Units {
    fn of(mut parents: Vec<Option<Parent>>, groups: Vec<Group>) -> Self {
        let count = groups.last().map_or(0, |group| group.kernel as usize + 1);
        if parents.len() < count {
            parents.resize(count, None);
        }
        let mut kernels = vec![Footprint::default(); parents.len()];
        for of_kernel in groups.chunk_by(|a, b| a.kernel == b.kernel) {
            let footprints = of_kernel.iter().map(|group| &group.footprint);
            kernels[of_kernel[0].kernel as usize] = Footprint::union(footprints);
        }
        Self {
            parents,
            kernels,
            groups,
        }
    }

    /// Returns the kernels launched by each work-group that launched any.
    fn families(&self) -> Vec<Vec<u32>> {
        let mut children: Vec<((u32, u32), u32)> = (0..)
            .zip(&self.parents)
            .filter_map(|(kernel, parent)| {
                let parent = (*parent)?;
                Some(((parent.kernel, parent.work_group), kernel))
            })
            .collect();
        children.sort_unstable();
        let families = children.chunk_by(|a, b| a.0 == b.0);
        families
            .map(|family| family.iter().map(|(_, kernel)| *kernel).collect())
            .collect()
    }

    /// Returns the index range of a kernel's work-groups.
    fn groups_of(&self, kernel: u32) -> std::ops::Range<usize> {
        let start = self.groups.partition_point(|group| group.kernel < kernel);
        let end = self.groups.partition_point(|group| group.kernel <= kernel);
        start..end
    }

    fn kernels(&self, links: &mut Links, children: &mut Children) -> Vec<Ratios> {
        let new = |relation| Ratios::new(Level::Kernel, relation);
        let (mut own, mut parent_child, mut sibling) =
            (new("self"), new("parent_child"), new("sibling"));
        for kernel in &self.kernels {
            own.add(kernel.again(), kernel.accesses, 1);
        }
        for (child, parent) in (0..).zip(&self.parents) {
            let Some(parent) = parent else { continue };
            let (mine, theirs) = (
                &self.kernels[child as usize],
                &self.kernels[parent.kernel as usize],
            );
            if mine.is_empty() || theirs.is_empty() {
                parent_child.undefined += 1;
                continue;
            }
            let shared = mine.shared_with(theirs);
            parent_child.add(shared, mine.accesses, 1);
            links.add(child, parent.kernel, shared, mine.accesses);
            children.share_with_parent(child, shared);
        }
        for family in self.families() {
            let members: Vec<Member<'_>> = family
                .iter()
                .map(|&kind| Member {
                    footprint: &self.kernels[kind as usize],
                    kind,
                })
                .collect();
            compare_all(&members, &mut sibling, |a, b, part, whole| {
                links.add(family[a], family[b], part, whole);
                children.share_with_sibling(family[a], family[b], part);
            });
        }
        vec![own, parent_child, sibling]
    }

    fn work_groups(&self, links: &mut Links) -> Vec<Ratios> {
        let new = |relation| Ratios::new(Level::WorkGroup, relation);
        let (mut own, mut intra) = (new("self"), new("intra_kernel"));
        let (mut parent_child, mut sibling) = (new("parent_child"), new("sibling"));
        for group in &self.groups {
            own.add(group.footprint.again(), group.footprint.accesses, 1);
        }
        let mut start = 0;
        for of_kernel in self.groups.chunk_by(|a, b| a.kernel == b.kernel) {
            let members: Vec<Member<'_>> = (0..)
                .zip(of_kernel)
                .map(|(kind, group)| Member {
                    footprint: &group.footprint,
                    kind,
                })
                .collect();
            compare_all(&members, &mut intra, |a, b, part, whole| {
                links.add((start + a) as u32, (start + b) as u32, part, whole);
            });
            start += of_kernel.len();
        }
        for (child, parent) in (0..).zip(&self.parents) {
            let Some(parent) = parent else { continue };
            let launcher = self
                .groups
                .binary_search_by_key(&(parent.kernel, parent.work_group), |group| {
                    (group.kernel, group.work_group)
                });
            for number in self.groups_of(child) {
                let mine = &self.groups[number].footprint;
                let Ok(launcher) = launcher else {
                    parent_child.undefined += 1;
                    continue;
                };
                let shared = mine.shared_with(&self.groups[launcher].footprint);
                parent_child.add(shared, mine.accesses, 1);
                links.add(number as u32, launcher as u32, shared, mine.accesses);
            }
        }
        for family in self.families() {
            let numbers: Vec<(u32, usize)> = family
                .iter()
                .flat_map(|&kernel| self.groups_of(kernel).map(move |number| (kernel, number)))
                .collect();
            let members: Vec<Member<'_>> = numbers
                .iter()
                .map(|&(kind, number)| Member {
                    footprint: &self.groups[number].footprint,
                    kind,
                })
                .collect();
            compare_all(&members, &mut sibling, |a, b, part, whole| {
                links.add(numbers[a].1 as u32, numbers[b].1 as u32, part, whole);
            });
        }
        vec![own, intra, parent_child, sibling]
    }

    fn shares(&self) -> Shares {
        let mut shares = Shares::default();
        for kernel in &self.kernels {
            let again = kernel.lines().iter().filter(|(_, count)| *count > 1);
            shares.own += again.map(|(_, count)| u64::from(*count)).sum::<u64>();
        }
        // A kernel's accesses to lines of its parent, and to lines of any of its children.
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.kernels.len()];
        for (child, parent) in (0..).zip(&self.parents) {
            if let Some(parent) = parent {
                children[parent.kernel as usize].push(child);
            }
        }
        for (number, kernel) in self.kernels.iter().enumerate() {
            let parent = self.parents[number].map(|parent| &self.kernels[parent.kernel as usize]);
            let mut of_children: Vec<u32> = children[number]
                .iter()
                .flat_map(|&child| self.kernels[child as usize].lines())
                .map(|(line, _)| *line)
                .collect();
            of_children.sort_unstable();
            of_children.dedup();
            for &(line, count) in kernel.lines() {
                if parent.is_some_and(|parent| parent.has(line))
                    || of_children.binary_search(&line).is_ok()
                {
                    shares.parent_child += u64::from(count);
                }
            }
        }
        for family in self.families() {
            let mut touches: Vec<(u32, u32)> = family
                .iter()
                .flat_map(|&kernel| self.kernels[kernel as usize].lines())
                .copied()
                .collect();
            touches.sort_unstable();
            for of_line in touches.chunk_by(|a, b| a.0 == b.0) {
                if of_line.len() > 1 {
                    let counts = of_line.iter().map(|(_, count)| u64::from(*count));
                    shares.sibling += counts.sum::<u64>();
                }
            }
        }
        shares
    }
}
