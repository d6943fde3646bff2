//! Checks the analysis against a naive form of the definitions in section 4 of the LASER paper, and
//! against worked examples.

use std::collections::BTreeSet;

use proptest::prelude::*;
use warpweave_reuse::{
    Analysis, BINS, ChildRatios, Distances, Found, Level, Options, Ratios, Relation, Unit,
};
use warpweave_trace::Parent;

#[allow(clippy::unnecessary_wraps)] // As it stands in lists.
fn parent(kernel: u32, work_group: u32) -> Option<Parent> {
    Some(Parent {
        kernel,
        work_group,
        wavefront: 0,
        record: 0,
        lane: 0,
        stream: 1,
    })
}

fn unit(kernel: u32, work_group: u32, wavefront: u32) -> Unit {
    Unit {
        kernel,
        work_group,
        wavefront,
    }
}

fn analysis(parents: &[Option<Parent>], accesses: &[(Unit, u64)], options: Options) -> Analysis {
    let mut analysis = Analysis::new(parents.to_vec(), options);
    for &(by, line) in accesses {
        analysis.touch(by, line);
    }
    analysis
}

fn found(parents: &[Option<Parent>], accesses: &[(Unit, u64)], options: Options) -> Found {
    analysis(parents, accesses, options).finish()
}

fn children(parents: &[Option<Parent>], accesses: &[(Unit, u64)]) -> Vec<ChildRatios> {
    let analysis = analysis(parents, accesses, Options::default());
    analysis.finish_linked().1.children
}

/// Returns the accesses of single-wavefront kernels, run one after the other.
fn of_kernels(footprints: &[&[u64]]) -> Vec<(Unit, u64)> {
    (0..)
        .zip(footprints)
        .flat_map(|(kernel, lines)| lines.iter().map(move |line| (unit(kernel, 0, 0), *line)))
        .collect()
}

fn ratios<'f>(found: &'f Found, level: Level, relation: &str) -> &'f Ratios {
    let mut all = found.ratios.iter();
    all.find(|ratios| (ratios.level, ratios.relation.as_str()) == (level, relation))
        .expect("it is always there")
}

fn only(found: &Found, relation: &str) -> f64 {
    let ratios = ratios(found, Level::Kernel, relation);
    assert_eq!(ratios.count(), 1, "{relation}");
    ratios.sum
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn a_kernel_that_touches_one_of_three_lines_twice_has_a_ratio_of_a_quarter() {
    let accesses = of_kernels(&[&[1, 1, 2, 3]]);
    let found = found(&[None], &accesses, Options::default());
    assert!(near(only(&found, "self"), 0.25));
    assert_eq!((found.accesses, found.lines, found.shares.own), (4, 3, 2));
}

#[test]
fn a_child_shares_the_part_of_its_accesses_that_its_parent_touches() {
    let accesses = of_kernels(&[&[1, 2, 3, 3], &[2, 2, 3, 9, 9]]);
    let found = found(&[None, parent(0, 0)], &accesses, Options::default());
    assert!(near(only(&found, "parent_child"), 0.6));
    // Lines 2 and 3: once and twice by the parent, twice and once by the child.
    assert_eq!(found.shares.parent_child, 6);
    assert_eq!(found.shares.sibling, 0);
}

#[test]
fn siblings_share_different_parts_of_theirs() {
    let accesses = of_kernels(&[&[], &[1, 1, 2, 2, 3, 4], &[1, 2, 8, 8]]);
    let parents = [None, parent(0, 0), parent(0, 0)];
    let found = found(&parents, &accesses, Options::default());
    let sibling = ratios(&found, Level::Kernel, "sibling");
    assert_eq!(sibling.count(), 2);
    assert!(near(sibling.sum, 4.0 / 6.0 + 0.5));
    assert_eq!((sibling.bins[6], sibling.bins[5]), (1, 1));
    // The parent touches nothing.
    assert_eq!(ratios(&found, Level::Kernel, "parent_child").undefined, 2);
}

#[test]
fn children_of_different_work_groups_and_of_different_parents_are_no_siblings() {
    // A launches B and C from one work-group and E from another; B launches D, C launches F.
    let parents = [
        None,
        parent(0, 0),
        parent(0, 0),
        parent(0, 1),
        parent(1, 0),
        parent(2, 0),
    ];
    let accesses = of_kernels(&[&[1_u64][..]; 6]);
    let found = found(&parents, &accesses, Options::default());
    assert_eq!(ratios(&found, Level::Kernel, "sibling").count(), 2);
    assert_eq!(ratios(&found, Level::Kernel, "parent_child").count(), 5);
    assert_eq!(found.device_kernels, 5);
}

/// LSR-M7, for predictions: the footprints of its examples as a parent and its children.
#[test]
fn lsr_m7_a_launched_kernel_has_ratios_to_itself_its_parent_and_an_earlier_sibling() {
    let (a, b, c, d, x) = (10, 11, 12, 13, 14);
    let accesses = of_kernels(&[
        &[1, 2, 3, 3],
        &[2, 2, 3, 9, 9],
        &[a, a, b, b, c, d],
        &[a, b, x, x],
        &[],
        &[2, a, a, b, x],
    ]);
    let by = || parent(0, 0);
    let parents = [None, by(), by(), by(), by(), by()];
    let expected = [
        (1, 5, 2, 3, 0),
        (2, 6, 2, 0, 0),
        // Half of its accesses are to lines of the sibling before it.
        (3, 4, 1, 0, 2),
        (4, 0, 0, 0, 0),
        // One access to lines of kernel 1, three to those of kernel 2, four to those of kernel 3.
        (5, 5, 1, 1, 4),
    ];
    let expected = expected.map(|(kernel, accesses, own, parent, sibling)| ChildRatios {
        kernel,
        accesses,
        own,
        parent,
        sibling,
    });
    assert_eq!(children(&parents, &accesses), expected);
}

#[test]
fn bins_are_tenths_and_the_last_one_holds_one() {
    for (again, of, bin) in [(46_u64, 100_u64, 4), (10, 100, 1), (0, 5, 0), (99, 100, 9)] {
        let lines: Vec<u64> = (0..of - again).chain((0..again).map(|_| 0)).collect();
        let found = found(&[None], &of_kernels(&[&lines]), Options::default());
        let own = ratios(&found, Level::Kernel, "self");
        assert_eq!(own.bins[bin], 1, "{again} of {of}: {:?}", own.bins);
    }
    let accesses = of_kernels(&[&[7], &[7]]);
    let found = found(&[None, parent(0, 0)], &accesses, Options::default());
    assert_eq!(ratios(&found, Level::Kernel, "parent_child").bins[9], 1);
}

#[test]
fn distances_count_the_distinct_lines_between() {
    // ABCABBDA: -, -, -, 2, 2, 0, -, 2.
    let lines = [1, 2, 3, 1, 2, 2, 4, 1];
    let found = found(&[None], &of_kernels(&[&lines]), Options::default());
    let own = &found.distances[Relation::Own as usize];
    assert_eq!(
        (own.count(), own.bins[0], own.bins[2], own.sum),
        (4, 1, 3, 6)
    );
    assert_eq!(own.beyond_l1, 0);
}

#[test]
fn a_distance_belongs_to_who_touched_the_line_before() {
    let parents = [None, parent(0, 0), parent(0, 0), None];
    let touches = [(0, 5), (1, 5), (2, 5), (3, 5), (3, 5), (0, 5), (1, 5)];
    let accesses: Vec<_> = touches
        .map(|(kernel, line)| (unit(kernel, 0, 0), line))
        .to_vec();
    let found = found(&parents, &accesses, Options::default());
    let counts: Vec<u64> = found.distances.iter().map(Distances::count).collect();
    // 1 after its parent 0, twice; 2 after its sibling 1; 3 after itself. 3 after 2 and 0 after 3
    // are unrelated.
    assert_eq!(counts, [1, 2, 1, 2]);
}

#[test]
fn lines_beyond_the_reach_of_a_cache_are_counted() {
    let options = Options {
        l1_lines: 2,
        l2_lines: 4,
        ..Options::default()
    };
    let lines = [1, 2, 1, 3, 2, 4, 3, 2, 1, 5, 6, 7, 8, 1];
    let found = found(&[None], &of_kernels(&[&lines]), options);
    let own = &found.distances[0];
    // 1, 2, 2, 2, 3, 4.
    assert_eq!((own.count(), own.beyond_l1, own.beyond_l2), (6, 5, 1));
}

/// Generates up to six kernels of two work-groups, with their parents and accesses.
fn programs() -> impl Strategy<Value = (Vec<Option<Parent>>, Vec<(Unit, u64)>)> {
    let parents = prop::collection::vec((any::<bool>(), 0_u32..6, 0_u32..2), 6);
    let accesses = prop::collection::vec((0_u32..6, 0_u32..2, 0_u32..2, 0_u64..12), 0..120);
    (parents, accesses).prop_map(|(drawn, accesses)| {
        let parents = (0_u32..).zip(drawn).map(|(kernel, (has, of, group))| {
            if has && kernel > 0 {
                parent(of % kernel, group)
            } else {
                None
            }
        });
        let accesses = accesses
            .into_iter()
            .map(|(kernel, group, wavefront, line)| (unit(kernel, group, wavefront), line));
        (parents.collect(), accesses.collect())
    })
}

/// Brute-force implementation of the definitions.
struct Naive<'n> {
    parents: &'n [Option<Parent>],
    accesses: &'n [(Unit, u64)],
}

impl Naive<'_> {
    fn lines(&self, is_of: impl Fn(Unit) -> bool) -> Vec<u64> {
        let mine = self.accesses.iter().filter(|(by, _)| is_of(*by));
        mine.map(|(_, line)| *line).collect()
    }

    fn of_kernel(&self, kernel: u32) -> Vec<u64> {
        self.lines(|by| by.kernel == kernel)
    }

    fn of_group(&self, (kernel, group): (u32, u32)) -> Vec<u64> {
        self.lines(|by| (by.kernel, by.work_group) == (kernel, group))
    }

    fn launcher(&self, kernel: u32) -> Option<(u32, u32)> {
        self.parents[kernel as usize].map(|parent| (parent.kernel, parent.work_group))
    }

    fn are_siblings(&self, a: u32, b: u32) -> bool {
        a != b && self.launcher(a).is_some() && self.launcher(a) == self.launcher(b)
    }

    /// Returns the work-groups that made an access.
    fn groups(&self) -> Vec<(u32, u32)> {
        let groups = self
            .accesses
            .iter()
            .map(|(by, _)| (by.kernel, by.work_group));
        groups.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

fn again(lines: &[u64]) -> Option<f64> {
    let distinct = lines.iter().collect::<BTreeSet<_>>().len();
    (!lines.is_empty()).then(|| 1.0 - distinct as f64 / lines.len() as f64)
}

fn shared(mine: &[u64], theirs: &[u64]) -> Option<f64> {
    let shared = mine.iter().filter(|line| theirs.contains(line)).count();
    (!mine.is_empty() && !theirs.is_empty()).then(|| shared as f64 / mine.len() as f64)
}

/// Compares bins, sum and number of undefined ratios with the expected ratios.
fn same(found: &Ratios, expected: &[Option<f64>]) -> Result<(), TestCaseError> {
    let mut bins = [0; BINS];
    let mut sum = 0.0;
    for ratio in expected.iter().flatten() {
        // Ratios are of small numbers: what is nearly a tenth is one.
        bins[((ratio * 10.0 + 1e-9) as usize).min(BINS - 1)] += 1;
        sum += ratio;
    }
    let undefined = expected.iter().filter(|ratio| ratio.is_none()).count() as u64;
    prop_assert_eq!(
        found.bins,
        bins,
        "{} {}",
        found.level.name(),
        found.relation
    );
    prop_assert!(near(found.sum, sum));
    prop_assert_eq!(
        found.undefined,
        undefined,
        "{} {}",
        found.level.name(),
        found.relation
    );
    Ok(())
}

#[test]
fn an_analysis_goes_on_where_it_was_saved() {
    let parents = [None, parent(0, 0), parent(0, 0)];
    let accesses: Vec<_> = (0..900_u64)
        .map(|at| (unit((at / 300) as u32, (at % 2) as u32, 0), at * at % 97))
        .collect();
    let whole = found(&parents, &accesses, Options::default());
    let mut first = Analysis::new(parents.to_vec(), Options::default());
    for &(by, line) in &accesses[..500] {
        first.touch(by, line);
    }
    let saved = postcard::to_stdvec(&first).expect("it can be saved");
    let mut second: Analysis = postcard::from_bytes(&saved).expect("it can be read");
    assert_eq!(postcard::to_stdvec(&second).expect("again"), saved);
    for &(by, line) in &accesses[500..] {
        second.touch(by, line);
    }
    assert_eq!(second.finish(), whole);
}

proptest! {
    #[test]
    fn launched_kernels_have_the_ratios_of_their_definitions((parents, accesses) in programs()) {
        let naive = Naive { parents: &parents, accesses: &accesses };
        let launched = (0..parents.len() as u32).filter_map(|kernel| {
            let (parent, _) = naive.launcher(kernel)?;
            let mine = naive.of_kernel(kernel);
            let to = |other: u32| {
                let theirs = naive.of_kernel(other);
                mine.iter().filter(|line| theirs.contains(line)).count() as u64
            };
            let earlier = (0..kernel).filter(|&other| naive.are_siblings(kernel, other));
            let distinct = mine.iter().collect::<BTreeSet<_>>().len();
            Some(ChildRatios {
                kernel,
                accesses: mine.len() as u64,
                own: (mine.len() - distinct) as u64,
                parent: to(parent),
                sibling: earlier.map(to).max().unwrap_or(0),
            })
        });
        prop_assert_eq!(children(&parents, &accesses), launched.collect::<Vec<_>>());
    }

    #[test]
    fn everything_is_as_defined((parents, accesses) in programs()) {
        let found = found(&parents, &accesses, Options::default());
        let naive = Naive { parents: &parents, accesses: &accesses };
        let kernels: Vec<u32> = (0..parents.len() as u32).collect();
        let pairs = |of: &dyn Fn(u32, u32) -> bool| -> Vec<(u32, u32)> {
            let all = kernels.iter().flat_map(|&a| kernels.iter().map(move |&b| (a, b)));
            all.filter(|&(a, b)| of(a, b)).collect()
        };
        let is_parent = |child: u32, other: u32| naive.launcher(child).is_some_and(|(kernel, _)| kernel == other);
        let siblings = pairs(&|a, b| naive.are_siblings(a, b));
        let families = pairs(&|a, b| is_parent(a, b));

        let own: Vec<_> = kernels.iter().map(|&kernel| again(&naive.of_kernel(kernel))).collect();
        same(ratios(&found, Level::Kernel, "self"), &own)?;
        let of_pairs = |pairs: &[(u32, u32)]| -> Vec<_> {
            let pairs = pairs.iter();
            pairs.map(|&(a, b)| shared(&naive.of_kernel(a), &naive.of_kernel(b))).collect()
        };
        same(ratios(&found, Level::Kernel, "parent_child"), &of_pairs(&families))?;
        same(ratios(&found, Level::Kernel, "sibling"), &of_pairs(&siblings))?;

        let groups = naive.groups();
        let own: Vec<_> = groups.iter().map(|&group| again(&naive.of_group(group))).collect();
        same(ratios(&found, Level::WorkGroup, "self"), &own)?;
        let of_groups = |of: &dyn Fn((u32, u32), (u32, u32)) -> bool| -> Vec<_> {
            let all = groups.iter().flat_map(|&a| groups.iter().map(move |&b| (a, b)));
            all.filter(|&(a, b)| of(a, b))
                .map(|(a, b)| shared(&naive.of_group(a), &naive.of_group(b)))
                .collect()
        };
        same(
            ratios(&found, Level::WorkGroup, "intra_kernel"),
            &of_groups(&|a, b| a.0 == b.0 && a != b),
        )?;
        same(
            ratios(&found, Level::WorkGroup, "sibling"),
            &of_groups(&|a, b| naive.are_siblings(a.0, b.0)),
        )?;
        let launched: Vec<_> = groups
            .iter()
            .filter_map(|&group| Some((group, naive.launcher(group.0)?)))
            .map(|(group, launcher)| shared(&naive.of_group(group), &naive.of_group(launcher)))
            .collect();
        same(ratios(&found, Level::WorkGroup, "parent_child"), &launched)?;

        // Accesses that count for a relation, one by one.
        let counts = |counts: &dyn Fn(Unit, u64) -> bool| {
            accesses.iter().filter(|(by, line)| counts(*by, *line)).count() as u64
        };
        let touches = |kernel: u32, line: u64| naive.of_kernel(kernel).contains(&line);
        let twice = |by: Unit, line| {
            naive.of_kernel(by.kernel).iter().filter(|other| **other == line).count() > 1
        };
        let with_family = |by: Unit, line| kernels.iter().any(|&other| {
            (is_parent(by.kernel, other) || is_parent(other, by.kernel)) && touches(other, line)
        });
        let with_sibling = |by: Unit, line| kernels.iter().any(|&other| {
            naive.are_siblings(by.kernel, other) && touches(other, line)
        });
        let shares = [found.shares.own, found.shares.parent_child, found.shares.sibling];
        prop_assert_eq!(shares, [counts(&twice), counts(&with_family), counts(&with_sibling)]);

        // Distances, over the list of accesses.
        let mut sums = [0; 4];
        for (at, (by, line)) in accesses.iter().enumerate() {
            let Some(before) = accesses[..at].iter().rposition(|(_, other)| other == line) else {
                continue;
            };
            let last = accesses[before].0.kernel;
            let relation = if last == by.kernel {
                Relation::Own
            } else if is_parent(by.kernel, last) {
                Relation::ParentChild
            } else if naive.are_siblings(by.kernel, last) {
                Relation::Sibling
            } else {
                Relation::Other
            };
            let between = accesses[before + 1..at].iter().map(|(_, line)| line);
            sums[relation as usize] += between.collect::<BTreeSet<_>>().len() as u64;
        }
        let found: Vec<u64> = found.distances.iter().map(|distances| distances.sum).collect();
        prop_assert_eq!(found, sums);
    }
}

#[test]
fn a_program_of_sixteen_thousand_kernels_is_analysed_whole() {
    // 63 work-groups of one kernel launch 255 children each. Each child shares lines with its
    // parent and next sibling.
    let children = 16_065;
    let mut parents = vec![None];
    parents.extend((0..children).map(|child| parent(0, child / 255)));
    let mut analysis = Analysis::new(parents, Options::default());
    for group in 0..63 {
        for line in 0..255 {
            analysis.touch(unit(0, group, 0), u64::from(group * 255 + line));
        }
    }
    for child in 0..children {
        for access in 0..64 {
            let line = if access < 32 { child } else { child + 1 };
            analysis.touch(unit(child + 1, 0, access % 4), line.into());
        }
    }
    let found = analysis.finish();
    let sibling = ratios(&found, Level::Kernel, "sibling");
    assert_eq!(sibling.count(), 63 * 255 * 254);
    assert_eq!(
        sibling.bins[5],
        2 * 63 * 254,
        "halves with the one before and after"
    );
    assert_eq!(found.chains[0].units, 16_066);
    assert_eq!(found.accesses, 63 * 255 + 64 * 16_065);
}
