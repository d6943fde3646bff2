//! Tests of a counter shared by the slices of a cache.

use warpweave_framework::{EngineOptions, InstanceStatistics, Link, Order};
use warpweave_random::CounterRng;

use super::super::set_duel::{DuelSpec, SetDuel};
use super::*;
use crate::building_blocks::{EchoMemory, EchoMemorySpec};
use crate::interleave::Interleave;

/// Policy that allocates no lines in sets using the second alternative.
#[derive(State, Statistics)]
struct Duel {
    /// count of the duel
    #[statistic(name = "duel_count", unit = "", value = u64::from(self.duel.count()))]
    duel: SetDuel,
    /// lines let past
    #[statistic(name = "duel_bypassed", unit = "lines")]
    bypassed: u64,
}

const SPEC: DuelSpec = DuelSpec {
    period: 8,
    first: 0,
    second: 3,
    max: 31,
};

impl PolicyKind for Duel {
    type Role = CachePolicies;
    const NAME: &'static str = "Duel";
    const SUMMARY: &'static str = "Sets duel about bypass";
    type Spec = NoFields;
    fn build(
        _spec: NoFields,
        _context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        let duel = SetDuel::new(SPEC, "duel")?;
        Ok(Box::new(Self { duel, bypassed: 0 }))
    }
}

impl CachePolicy for Duel {
    fn owns(&self) -> &'static [Field] {
        &[Field::Insert]
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        decision.insert = !self.duel.acts_second(miss.global_set);
    }

    fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        decision: MissDecision,
        context: &mut EventContext<'_>,
    ) {
        self.bypassed += u64::from(!decision.insert);
        self.duel.missed(miss.global_set, context);
    }

    fn on_published(&mut self, sum: i64) {
        self.duel.receive(sum);
    }
}

const SLICES: u32 = 6;

fn six_slices(options: EngineOptions) -> (TestBench, Vec<Sink<MemResponse>>) {
    let interleave = Interleave::in_turn(256, SLICES);
    let mut bench = TestBench::new();
    bench.set_options(options);
    let dice = CounterRng::new(7, "duel");
    let mut responses = Vec::new();
    for slice in 0..SLICES {
        let spec = CacheSpec {
            level: super::super::super::CacheLevel::L2,
            size_bytes: 8 * 2 * 128,
            interleave: Some(interleave),
            policies: vec![Policy::plain::<Duel>()],
            peers: SLICES,
            ..l1()
        };
        let memory = EchoMemory::new(&EchoMemorySpec::latency(20)).unwrap();
        bench.add(&format!("l2[{slice}]"), Cache::new(spec).unwrap());
        bench.add(&format!("memory[{slice}]"), memory);
        let builder = bench.builder();
        let ends = [format!("l2[{slice}].down"), format!("memory[{slice}].up")];
        builder.connect(&ends[0], &ends[1], Link::latency(2));
    }
    for (from, to) in (0..SLICES).flat_map(|from| (0..SLICES).map(move |to| (from, to))) {
        let ends = [
            format!("l2[{from}].published"),
            format!("l2[{to}].peers[{from}]"),
        ];
        bench
            .builder()
            .connect(&ends[0], &ends[1], Link::latency(3));
    }
    for slice in 0..SLICES {
        let requests = bench.source(&format!("l2[{slice}].up.request"));
        responses.push(bench.sink(&format!("l2[{slice}].up.response")));
        let mut cycle = 1;
        for number in 0..300 {
            let roll = |what| dice.roll(u64::from(slice) << 32 | number << 8 | what);
            cycle += 1 + roll(0) % 9;
            // A loop that fits most sets, and a stream through the sets of the second team.
            let local = if roll(1) % 3 == 0 {
                3 + 8 * (roll(2) % 64)
            } else {
                roll(3) % 20
            };
            let line = interleave.address(slice, local * 128).expect("in turn");
            requests.send_at(cycle, MemRequest::read(number as u32, line, 1));
        }
    }
    (bench, responses)
}

type Seen = (Vec<Vec<(u64, MemResponse)>>, Vec<InstanceStatistics>);

fn run(options: EngineOptions) -> Seen {
    let (mut bench, responses) = six_slices(options);
    bench.run_for(6000);
    let answers = responses.iter().map(Sink::take_all).collect();
    let statistics = (0..SLICES).map(|slice| bench.statistics(&format!("l2[{slice}]")));
    (answers, statistics.collect())
}

#[test]
fn a_count_shared_by_six_slices_is_the_same_on_any_number_of_threads_and_in_any_order() {
    let usual = run(EngineOptions::default());
    let counts: Vec<_> = usual.1.iter().map(|s| s.counter("duel_count")).collect();
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    assert_ne!(counts[0], Some(16), "the duel moved");
    assert!(usual.0.iter().all(|answers| answers.len() == 300));
    for threads in 2..=8 {
        let options = EngineOptions {
            threads,
            ..EngineOptions::default()
        };
        assert_eq!(run(options), usual, "{threads} threads");
    }
    let awake = EngineOptions {
        sleeping: false,
        ..EngineOptions::default()
    };
    assert_eq!(run(awake), usual, "awake");
    for seed in 0..4 {
        let shuffled = EngineOptions {
            order: Order::Shuffled { seed },
            ..EngineOptions::default()
        };
        assert_eq!(run(shuffled), usual, "shuffled by {seed}");
    }
}

#[test]
fn a_duel_goes_on_after_a_checkpoint() {
    TestBench::check_state(
        || six_slices(EngineOptions::default()).0,
        &[100, 401, 402],
        700,
    );
}

#[test]
fn a_cache_without_peers_hears_itself() {
    let mut rig = with(vec![Policy::plain::<Duel>()]);
    // Set 0 of two is in the first team.
    for number in 1..4 {
        rig.read(number * 256 * 8, 0);
    }
    assert_eq!(rig.count("duel_count"), 16 + 3);
}
