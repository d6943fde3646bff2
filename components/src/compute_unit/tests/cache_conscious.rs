//! Cache-conscious scheduling in a unit with a scripted cache: which wavefront loads in which
//! cycle.

use super::*;
use crate::ccws::{Ccws, CcwsSpec, LOST_LOCALITY};

/// Unit with a scripted cache that can send events.
struct Wired {
    bench: TestBench,
    request: Sink<MemRequest>,
    locality: BenchSource<CacheEvent>,
    _others: (
        BenchSource<Dispatch>,
        Sink<Completion>,
        BenchSource<MemResponse>,
    ),
}

impl Wired {
    /// Starts one work-group of four wavefronts, which arrive in cycle 1. Each computes, loads and
    /// waits forever for the data.
    fn new(schedulers: u32, k_throttle: u32) -> Self {
        let mut spec = spec();
        spec.schedulers = schedulers;
        spec.scheduler = Policy::of::<Ccws>(&CcwsSpec {
            k_throttle,
            ..CcwsSpec::default()
        });
        let steps = vec![
            step(op(Class::IntAdd, &[1], &[])),
            access(Class::Load, &[2], &[], Space::Global, strided(0, 4)),
            step(op(Class::Exit, &[], &[2])),
        ];
        let mut bench = TestBench::new();
        bench.add("cu", build(spec, vec![kernel(&vec![steps; 4], 1, 0)]));
        let dispatch = bench.source("cu.dispatch.dispatch");
        dispatch.send_at(
            1,
            Dispatch::Start {
                kernel: 0,
                work_group: 0,
                slot: 0,
                hint: 0,
            },
        );
        let (completion, response) = (
            bench.sink("cu.dispatch.completion"),
            bench.source("cu.memory.response"),
        );
        Self {
            request: bench.sink("cu.memory.request"),
            locality: bench.source("cu.locality"),
            _others: (dispatch, completion, response),
            bench,
        }
    }

    fn tell_at(&self, cycle: Cycle, topic: u16, wavefront_slot: u8) {
        let event = CacheEvent {
            topic,
            wavefront_slot,
            line: 0,
        };
        self.locality.send_at(cycle, event);
    }

    /// Returns cycle and wavefront of every load issued before cycle 500.
    fn loads(&mut self) -> Vec<(Cycle, u64)> {
        self.bench.step(500);
        // A request leaves the latency of a load after its issue.
        let requests = self.request.take_all().into_iter();
        requests
            .map(|(cycle, request)| (cycle - 3, u64::from(request.source.wavefront_slot)))
            .collect()
    }
}

/// One loss before the first instruction raises the score by `1 × K × 400`, with a cutoff of 400
/// for four wavefronts. The other wavefronts' sums fall below the cutoff as the score decays.
#[test]
fn bas_m13_wavefronts_beyond_the_cutoff_issue_anything_but_loads() {
    let mut unit = Wired::new(1, 1);
    unit.tell_at(2, LOST_LOCALITY, 2);
    let loads = unit.loads();
    // Slot 2 has a score of 400 above the base in cycle 2. Older wavefronts fit earlier: 400 + 100
    // after 100 cycles of decay, 400 + 200 after 200, 400 + 300 after 300.
    assert_eq!(loads, [(6, 2), (102, 0), (202, 1), (302, 3)]);
    let statistics = unit.bench.statistics("cu");
    let counter = |name| statistics.counter(name);
    assert_eq!(counter("lost_locality"), Some(1));
    assert_eq!(counter("wavefront_instructions"), Some(8));
    // Additions issue in 3 to 5 and 7; then some wavefront is held back until the last load.
    assert_eq!(counter("slots_throttled"), Some(302 - 8 - 2));
}

#[test]
fn bas_m13_without_loss_all_wavefronts_issue_loads() {
    for (topic, slot) in [
        (LOST_LOCALITY + 1, 2),
        (LOST_LOCALITY, 5),
        (LOST_LOCALITY, 200),
    ] {
        let mut unit = Wired::new(1, 1);
        // Another topic, and wavefronts that are not there.
        unit.tell_at(2, topic, slot);
        assert_eq!(unit.loads(), [(4, 0), (6, 1), (8, 2), (10, 3)]);
    }
}

#[test]
fn a_unit_whose_loads_are_held_back_sleeps_until_the_scores_have_decayed() {
    let mut unit = Wired::new(1, 1);
    unit.tell_at(2, LOST_LOCALITY, 2);
    unit.bench.step(20);
    let evaluations = |unit: &mut Wired| unit.bench.simulation().evaluations_of(0);
    let before = evaluations(&mut unit);
    unit.bench.step(480);
    // A load and the request it sends, three times.
    let awake = evaluations(&mut unit) - before;
    assert!(awake <= 12, "{awake} evaluations");
}

#[test]
fn every_scheduler_knows_the_losses_of_all_wavefronts_and_reports_its_own() {
    let mut unit = Wired::new(2, 1);
    unit.tell_at(2, LOST_LOCALITY, 2);
    let order: Vec<_> = unit.loads().into_iter().map(|(_, slot)| slot).collect();
    assert_eq!(order, [2, 0, 1, 3]);
    let statistics = unit.bench.statistics("cu");
    let lost = |scheduler| statistics.counter(&format!("scheduler{scheduler}_lost_locality"));
    assert_eq!([lost(0), lost(1)], [Some(1), Some(0)]);
}
