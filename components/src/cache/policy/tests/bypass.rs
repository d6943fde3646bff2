//! Rules BYP-M1 to BYP-M3 and BYP-M7 of the bypass policies, and naive models of them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;
use warpweave_framework::Environment;

use super::given::{Given, one_set};
use super::replay::{Model, SETS, Seen, Traffic, WAYS, agrees, check_keep, traffic};
use super::*;
use crate::cache::policy::chance::Chance;

/// Words of sector 0, which every request of these tests asks for.
const FIRST: u32 = 1;

fn block(number: u64) -> u64 {
    number * 1024
}

fn table(spec: MemoryAddressTableSpec) -> Given {
    Given::new::<MemoryAddressTable>(spec, one_set(1))
}

#[test]
fn byp_m1_a_line_is_bypassed_when_its_block_has_less_than_the_fraction_of_its_victims() {
    for (new, kept) in [(99, true), (98, false)] {
        let mut given = table(MemoryAddressTableSpec::default());
        for _ in 0..100 {
            given.access(block(1), 0, FIRST, None, false);
        }
        for _ in 0..new {
            given.access(block(2) + 128, 0, FIRST, None, false);
        }
        assert_eq!(
            given.fill((block(2), 0, 1), 0, Some(block(1))),
            kept,
            "{new}"
        );
        // On a bypass the victim's counter falls by one.
        let counters = given.state("counters");
        assert_eq!(counters[1], 100 - u32::from(!kept));
    }
}

#[test]
fn byp_m1_an_empty_way_is_filled_and_a_fraction_of_0_bypasses_nothing() {
    let mut given = table(MemoryAddressTableSpec::default());
    given.access(block(1), 0, FIRST, None, false);
    assert!(given.fill((block(2), 0, 1), 0, None));
    let mut given = table(MemoryAddressTableSpec {
        fraction: 0.0,
        ..MemoryAddressTableSpec::default()
    });
    given.access(block(1), 0, FIRST, None, false);
    assert!(given.fill((block(2), 0, 1), 0, Some(block(1))));
}

#[test]
fn byp_m1_stores_and_atomics_that_pass_count_and_copy_backs_do_not() {
    let mut given = table(MemoryAddressTableSpec::default());
    for kind in [
        RequestKind::Write,
        RequestKind::Atomic,
        RequestKind::CopyBack,
    ] {
        given.pass(block(5), kind);
    }
    assert_eq!(given.state("counters")[5], 2);
}

/// Adaptive bypass that always bypasses at first, and its set's probability.
fn always() -> Given {
    let spec = AdaptiveBypassSpec {
        first: 1.0,
        watched: 1.0,
        least: 1.0 / 256.0,
    };
    Given::new::<AdaptiveBypass>(spec, one_set(1))
}

/// Probability of the set, in 256ths.
fn probability(given: &mut Given) -> u64 {
    let sets = given.state("sets");
    (sets[0]["probability"].as_f64().expect("a probability") * 256.0) as u64
}

#[test]
fn byp_m2_three_effective_results_raise_1_64_to_1_8_and_ten_ineffective_ones_reach_the_floor() {
    let spec = AdaptiveBypassSpec {
        watched: 1.0,
        ..AdaptiveBypassSpec::default()
    };
    let mut given = Given::new::<AdaptiveBypass>(spec, one_set(1));
    assert_eq!(probability(&mut given), 4);
    // Every line is watched, whether it is bypassed or not.
    let mut here = 0;
    let mut compete = |given: &mut Given, wanted_is_victim: bool, new: u64| {
        let kept = given.fill((new, 0, 1), 0, Some(here));
        let wanted = if wanted_is_victim { here } else { new };
        if kept {
            here = new;
        }
        given.access(wanted, 0, FIRST, None, false);
    };
    for n in 1..4 {
        compete(&mut given, true, n * 128);
    }
    assert_eq!(probability(&mut given), 32);
    for n in 4..14 {
        compete(&mut given, false, n * 128);
    }
    assert_eq!(probability(&mut given), 1);
}

#[test]
fn byp_m2_a_pair_whose_victim_leaves_first_says_nothing_and_a_live_pair_is_not_replaced() {
    let mut given = always();
    assert!(!given.fill((128, 0, 1), 0, Some(0)));
    assert!(!given.fill((256, 0, 1), 0, Some(0)));
    // The first pair lives: the second line says nothing.
    given.access(256, 0, FIRST, None, false);
    assert_eq!(probability(&mut given), 256);
    given.evict(0, 0);
    given.access(128, 0, FIRST, None, false);
    assert_eq!(probability(&mut given), 256);
    assert!(!given.fill((384, 0, 1), 0, Some(512)));
    given.access(384, 0, FIRST, None, false);
    assert_eq!(probability(&mut given), 128);
}

#[test]
fn byp_m7_3_nothing_is_drawn_while_a_way_is_empty() {
    let mut given = always();
    assert!(given.fill((128, 0, 1), 0, None));
    assert_eq!(given.state("sets")[0]["draws"], 0);
}

/// Monitor with a history of this length that every competing line enters.
fn monitor(history: u32, turned_round: bool) -> Given {
    let spec = OptimalBypassSpec {
        history,
        insert: 1.0,
        turned_round,
        ..OptimalBypassSpec::default()
    };
    Given::new::<OptimalBypass>(spec, one_set(2))
}

/// Counter of an instruction. Its place in the table is the hash of its number.
fn counter(given: &mut Given, pc: u32) -> Value {
    let place = hash_key(u64::from(pc), 32) as usize;
    given.state("counters")[place].clone()
}

#[test]
fn byp_m3_a_wanted_victim_bypasses_the_next_line_and_a_wanted_line_inserts_it() {
    for (wanted, of_new, of_old, kept) in [(0, 17, 15, false), (128, 15, 17, true)] {
        let mut given = monitor(64, false);
        assert!(given.fill((0, 1, 1), 0, None));
        assert!(given.fill((128, 2, 1), 0, Some(0)));
        given.access(wanted, 9, FIRST, None, false);
        assert_eq!(counter(&mut given, 2), of_new);
        assert_eq!(counter(&mut given, 1), of_old);
        assert_eq!(given.fill((256, 2, 1), 0, Some(128)), kept);
    }
}

#[test]
fn byp_m3_a_line_that_leaves_before_either_is_wanted_counts_as_bypass() {
    let mut given = monitor(64, false);
    given.fill((0, 1, 1), 0, None);
    given.fill((128, 2, 1), 0, Some(0));
    given.evict(128, 0);
    assert_eq!(
        (counter(&mut given, 2), counter(&mut given, 1)),
        (17.into(), 16.into())
    );
}

#[test]
fn byp_m3_turned_round_every_verdict_moves_the_counters_the_other_way() {
    let mut given = monitor(64, true);
    given.fill((0, 1, 1), 0, None);
    given.fill((128, 2, 1), 0, Some(0));
    given.access(0, 9, FIRST, None, false);
    assert_eq!(
        (counter(&mut given, 2), counter(&mut given, 1)),
        (15.into(), 17.into())
    );
}

#[test]
fn byp_m7_6_the_pair_of_a_bypassed_line_ends_when_its_entry_is_replaced() {
    let mut given = monitor(2, false);
    given.fill((0, 1, 1), 0, None);
    given.fill((128, 3, 1), 1, None);
    // The victim of a line of instruction 2 is wanted: its counter is 17.
    given.fill((256, 2, 1), 0, Some(0));
    given.access(0, 9, FIRST, None, false);
    assert!(!given.fill((384, 2, 1), 1, Some(128)));
    for line in [512, 640] {
        assert_eq!(counter(&mut given, 2), 17);
        let victim = if line == 512 { 256 } else { 512 };
        assert!(given.fill((line, 3, 1), 0, Some(victim)));
    }
    assert_eq!(counter(&mut given, 2), 18);
}

/// Naive memory address table: a map of counters.
struct AddressModel {
    counters: BTreeMap<u64, u64>,
    launch: u32,
    bypassed: u64,
}

impl Model for AddressModel {
    fn see(&mut self, seen: &Seen) {
        match seen {
            Seen::Access(asked, _) | Seen::Pass(asked) if asked.kind != RequestKind::CopyBack => {
                if asked.source.kernel > self.launch {
                    self.launch = asked.source.kernel;
                    self.counters.values_mut().for_each(|count| *count /= 2);
                }
                let count = self.counters.entry(asked.line / 256 % 3).or_default();
                *count = 255.min(*count + 1);
            }
            Seen::Fill(fill, bound) => {
                let (true, Some(victim)) = (fill.first, fill.victim) else {
                    return;
                };
                let count = |line| self.counters.get(&(line / 256 % 3)).copied().unwrap_or(0);
                let keeps = count(fill.line) * 10 >= count(victim) * 9;
                check_keep(fill, *bound, keeps);
                if fill.slot.is_none() {
                    self.bypassed += 1;
                    let old = self.counters.entry(victim / 256 % 3).or_default();
                    *old = old.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("address_bypass_lines", self.bypassed)]
    }
}

/// Seed that the first policy of a cache built in Rust gets.
fn chance() -> Chance {
    let context = PolicyContext::<CachePolicies> {
        environment: &Environment::default(),
        site: &one_set(1),
        number: 0,
    };
    Chance::new(context.seed())
}

struct RandomModel {
    choices: u64,
    bypassed: u64,
}

impl Model for RandomModel {
    fn see(&mut self, seen: &Seen) {
        if let Seen::Fill(fill, bound) = seen
            && fill.first
            && fill.victim.is_some()
        {
            check_keep(fill, *bound, !chance().happens(0, self.choices, 0.4));
            self.choices += 1;
            self.bypassed += u64::from(fill.slot.is_none());
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("random_bypass_lines", self.bypassed)]
    }
}

/// Naive adaptive bypass: probability, lines met when full, and the pair of each set.
struct AdaptiveModel {
    sets: Vec<(f64, u64, Option<(u64, u64)>)>,
    results: [u64; 3],
}

impl Model for AdaptiveModel {
    fn see(&mut self, seen: &Seen) {
        match seen {
            Seen::Access(asked, _) if asked.kind != RequestKind::CopyBack => {
                let (probability, _, pair) = &mut self.sets[asked.set as usize];
                let Some((new, old)) = *pair else { return };
                if asked.line == old {
                    *probability = f64::min(1.0, *probability * 2.0);
                    self.results[1] += 1;
                } else if asked.line == new {
                    *probability = f64::max(1.0 / 256.0, *probability / 2.0);
                    self.results[2] += 1;
                } else {
                    return;
                }
                *pair = None;
            }
            Seen::Fill(fill, bound) => {
                let (true, Some(victim)) = (fill.first, fill.victim) else {
                    return;
                };
                let (probability, met, pair) = &mut self.sets[fill.set as usize];
                let draw = |count, probability| chance().happens(fill.set, count, probability);
                check_keep(fill, *bound, !draw(*met * 2, *probability));
                let watches = fill.slot.is_none() || draw(*met * 2 + 1, 0.5);
                *met += 1;
                if watches && pair.is_none() {
                    *pair = Some((fill.line, victim));
                }
                self.results[0] += u64::from(fill.slot.is_none());
            }
            Seen::Evict(eviction) => {
                let pair = &mut self.sets[eviction.set as usize].2;
                if pair.is_some_and(|(new, old)| [new, old].contains(&eviction.line)) {
                    *pair = None;
                }
            }
            _ => {}
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let names = [
            "adaptive_bypass_lines",
            "adaptive_bypass_effective",
            "adaptive_bypass_ineffective",
        ];
        names.into_iter().zip(self.results).collect()
    }
}

/// Naive monitor: a list of pairs `(new line, its instruction, victim, its instruction)`, oldest
/// first, in which ended pairs keep their place.
struct MonitorModel {
    counters: BTreeMap<u32, i64>,
    instruction_of: BTreeMap<u64, u32>,
    /// Line that left last: the line that comes for its place was decided about before.
    left: Option<u64>,
    pairs: Vec<Option<(u64, u32, u64, u32)>>,
    choices: u64,
    bypassed: u64,
}

const HISTORY: usize = 4;

impl MonitorModel {
    fn step(&mut self, pc: u32, by: i64) {
        let count = self.counters.entry(hash_key(pc.into(), 4)).or_insert(4);
        *count = (*count + by).clamp(0, 7);
    }

    fn leave(&mut self) {
        let Some(line) = self.left.take() else { return };
        self.instruction_of.remove(&line);
        for entry in 0..self.pairs.len() {
            if let Some((new, of_new, ..)) = self.pairs[entry]
                && new == line
            {
                self.pairs[entry] = None;
                self.step(of_new, 1);
            }
        }
    }
}

impl Model for MonitorModel {
    fn see(&mut self, seen: &Seen) {
        if !matches!(seen, Seen::Fill(..)) {
            self.leave();
        }
        match seen {
            Seen::Access(asked, _) if asked.kind != RequestKind::CopyBack => {
                for entry in 0..self.pairs.len() {
                    let Some((new, of_new, old, of_old)) = self.pairs[entry] else {
                        continue;
                    };
                    let by = match asked.line {
                        line if line == old => 1,
                        line if line == new => -1,
                        _ => continue,
                    };
                    self.pairs[entry] = None;
                    self.step(of_new, by);
                    self.step(of_old, -by);
                }
            }
            Seen::NewLine(asked) => {
                self.instruction_of.insert(asked.line, asked.source.pc);
            }
            Seen::Fill(fill, bound) => {
                if self.left != fill.victim {
                    self.leave();
                }
                if let (true, Some(victim)) = (fill.first, fill.victim) {
                    let of_new = hash_key(fill.source.pc.into(), 4);
                    let count = self.counters.get(&of_new).copied().unwrap_or(4);
                    check_keep(fill, *bound, count <= 4);
                    let of_victim = self.instruction_of.get(&victim).copied();
                    self.leave();
                    self.bypassed += u64::from(fill.slot.is_none());
                    let enters = chance().happens(0, self.choices, 0.5);
                    self.choices += 1;
                    if enters {
                        let of_old = of_victim.expect("the instruction of a line");
                        let pair = (fill.line, fill.source.pc, victim, of_old);
                        self.pairs.push(Some(pair));
                        if self.pairs.len() > HISTORY
                            && let Some((_, of_new, ..)) = self.pairs.remove(0)
                        {
                            self.step(of_new, 1);
                        }
                    }
                }
                self.leave();
                if fill.slot.is_some() {
                    let entry = self.instruction_of.entry(fill.line);
                    entry.or_insert(fill.source.pc);
                }
            }
            Seen::Evict(eviction) => self.left = Some(eviction.line),
            _ => {}
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("optimal_bypass_lines", self.bypassed)]
    }
}

fn monitor_agrees(traffic: &Traffic) {
    let spec = OptimalBypassSpec {
        history: HISTORY as u32,
        insert: 0.5,
        counters: 4,
        counter_max: 7,
        threshold: 4,
        turned_round: false,
    };
    let model = MonitorModel {
        counters: BTreeMap::new(),
        instruction_of: BTreeMap::new(),
        left: None,
        pairs: Vec::new(),
        choices: 0,
        bypassed: 0,
    };
    agrees(Policy::of::<OptimalBypass>(&spec), traffic, model);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_traffic_meets_the_same_address_table_as_a_naive_one(traffic in traffic()) {
        let spec = MemoryAddressTableSpec {
            entries: 3, block_bytes: 256, fraction: 0.9, age: true,
        };
        let model = AddressModel { counters: BTreeMap::new(), launch: 0, bypassed: 0 };
        agrees(Policy::of::<MemoryAddressTable>(&spec), &traffic, model);
    }

    #[test]
    fn random_traffic_meets_the_same_chances_as_a_naive_model(traffic in traffic()) {
        let policy = Policy::of::<RandomBypass>(&RandomBypassSpec { probability: 0.4 });
        agrees(policy, &traffic, RandomModel { choices: 0, bypassed: 0 });
    }

    #[test]
    fn random_traffic_meets_the_same_adaptive_bypass_as_a_naive_one(traffic in traffic()) {
        let spec = AdaptiveBypassSpec { first: 0.25, watched: 0.5, least: 1.0 / 256.0 };
        let sets = vec![(0.25, 0, None); SETS as usize];
        let model = AdaptiveModel { sets, results: [0; 3] };
        agrees(Policy::of::<AdaptiveBypass>(&spec), &traffic, model);
    }

    #[test]
    fn random_traffic_meets_the_same_monitor_as_a_naive_one(traffic in traffic()) {
        monitor_agrees(&traffic);
    }
}

/// Reads a loop of 32 lines beside a stream of lines that are used once, one to one. Returns the
/// fraction of the loop's reads that hit in the second half.
fn loop_beside_stream(policies: Vec<Policy<CachePolicies>>) -> f64 {
    let spec = CacheSpec {
        size_bytes: 32 * 128,
        ways: 4,
        allocate: AllocatePolicy::OnFill,
        policies,
        ..l1()
    };
    let mut rig = Rig::new(Cache::new(spec).unwrap());
    let (mut hits, mut reads) = (0, 0);
    for n in 0..8000u64 {
        // Blocks of the stream and of the loop share no counter.
        rig.read((1 << 30) + (1 << 19) + n * 128, 1);
        let (level, _) = rig.read(n % 32 * 128, 2);
        if n >= 4000 {
            reads += 1;
            hits += u64::from(level == Level::L1);
        }
    }
    hits as f64 / reads as f64
}

#[test]
fn byp_m7_1_a_loop_beside_a_stream_keeps_its_lines() {
    assert!(loop_beside_stream(Vec::new()) < 0.1);
    let monitor = Policy::plain::<OptimalBypass>();
    assert!(loop_beside_stream(vec![monitor]) > 0.9);
    let table = |age| {
        Policy::of::<MemoryAddressTable>(&MemoryAddressTableSpec {
            age,
            ..MemoryAddressTableSpec::default()
        })
    };
    let [plain, aged] = [false, true].map(|age| loop_beside_stream(vec![table(age)]));
    assert!(plain > 0.9 && aged > 0.9, "{plain} {aged}");
}

#[test]
fn byp_m7_2_an_address_table_bypasses_the_few_lines_that_are_reused_and_the_monitor_keeps_them() {
    // Instruction 1 reads each line twice, soon after each other. Instruction 2 loops over many
    // lines of few blocks: their counters grow, and its lines are not reused in time.
    let hits = |policies| {
        let spec = CacheSpec {
            size_bytes: WAYS * 128,
            ways: WAYS,
            allocate: AllocatePolicy::OnFill,
            policies,
            ..l1()
        };
        let mut rig = Rig::new(Cache::new(spec).unwrap());
        let mut hits = 0;
        for n in 0..2000u64 {
            let line = (1 << 30) + n * 1024;
            rig.read(line, 1);
            rig.read(n % 512 * 128, 2);
            let (level, _) = rig.read(line, 1);
            hits += u64::from(level == Level::L1);
        }
        hits
    };
    let table = hits(vec![Policy::plain::<MemoryAddressTable>()]);
    let monitor = hits(vec![Policy::plain::<OptimalBypass>()]);
    assert!(table < 400 && monitor > 1800, "{table} {monitor}");
}
