//! Tag extension of a second level (INC-M4): the core that a line belongs to, and whether it or
//! another core returned for the line.

use warpweave_framework::Link;

use super::*;
use crate::building_blocks::{EchoMemory, EchoMemorySpec};

const SHARED_REUSE: u16 = 1 << 8;
const PRIVATE_REUSE: u16 = 1 << 9;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Tag {
    core: u16,
    shared: bool,
    private: bool,
    copied_back: bool,
}

#[derive(State, Statistics)]
struct TagExtension {
    #[state(array)]
    tags: Vec<Tag>,
    /// Cores of the copy-backs, in order.
    #[statistic(with = report_cores)]
    cores: Vec<u16>,
}

fn report_cores(cores: &[u16], statistics: &mut Statistics<'_>) {
    for (number, core) in cores.iter().enumerate() {
        let statistics = statistics.at(number);
        statistics.counter("core_of_copy_back", "", "core", u64::from(*core));
    }
}

impl TagExtension {
    fn copied_back(&mut self, copy_back: &TagLookup<'_>, keeps_shared: bool) {
        let core = copy_back.request.source.compute_unit;
        self.cores.push(core);
        if let Some(slot) = copy_back.slot {
            let tag = &mut self.tags[slot.index()];
            *tag = Tag {
                core,
                copied_back: true,
                shared: tag.shared && keeps_shared,
                private: false,
            };
        }
    }
}

impl PolicyKind for TagExtension {
    type Role = CachePolicies;
    const NAME: &'static str = "TagExtension";
    const SUMMARY: &'static str = "Whose a line is, and who came back for it";
    type Spec = NoFields;
    fn build(
        _spec: NoFields,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        let tags = vec![Tag::default(); context.site.lines as usize];
        let cores = Vec::new();
        Ok(Box::new(Self { tags, cores }))
    }
}

impl CachePolicy for TagExtension {
    fn owns(&self) -> &'static [Field] {
        &[Field::Drop, Field::ResponseFlags]
    }

    fn decide_response(&self, hit: &TagLookup<'_>, decision: &mut ResponseDecision) {
        let Some(slot) = hit.slot else { return };
        let tag = self.tags[slot.index()];
        decision.flags =
            if tag.shared { SHARED_REUSE } else { 0 } | if tag.private { PRIVATE_REUSE } else { 0 };
        decision.drop = tag.copied_back && tag.core == hit.request.source.compute_unit;
    }

    fn on_access(&mut self, access: &TagLookup<'_>, hit: bool, _context: &mut EventContext<'_>) {
        if let (true, Some(slot)) = (hit, access.slot) {
            let tag = &mut self.tags[slot.index()];
            if access.request.source.compute_unit == tag.core {
                tag.private = true;
            } else {
                tag.shared = true;
            }
        }
    }

    fn on_new_line(&mut self, store: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        if store.request.kind == RequestKind::CopyBack {
            self.copied_back(store, false);
        }
    }

    fn on_ignored(&mut self, copy_back: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.copied_back(copy_back, true);
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        if let (true, Some(slot)) = (fill.first, fill.slot) {
            self.tags[slot.index()] = Tag {
                core: fill.source.compute_unit,
                ..Tag::default()
            };
        }
    }
}

fn level() -> CacheSpec {
    let policies = vec![Policy::plain::<TagExtension>()];
    CacheSpec { policies, ..l1() }
}

fn request(kind: RequestKind, line: u64, core: u16) -> MemRequest {
    let clean = kind == RequestKind::CopyBack;
    let mut request = MemRequest {
        kind,
        flags: if clean { flags::CLEAN } else { 0 },
        ..MemRequest::read(1, line, u32::MAX)
    };
    request.source.compute_unit = core;
    request
}

/// Reads a line for a core and returns the supplying level and the flags.
fn read(rig: &mut Rig, line: u64, core: u16) -> (Level, u16) {
    rig.request.send(request(RequestKind::Read, line, core));
    for _ in 0..60 {
        rig.bench.step(1);
        if let Some((_, fetch)) = rig.below.take() {
            rig.answer.send(fetch.answer(Level::DRAM));
        }
        if let Some((_, response)) = rig.response.take() {
            return (response.level, response.flags);
        }
    }
    panic!("no answer");
}

fn copy_back(rig: &mut Rig, line: u64, core: u16) {
    rig.request.send(request(RequestKind::CopyBack, line, core));
    rig.bench.step(10);
}

#[test]
fn inc_m4_a_line_learns_of_private_and_shared_reuse_and_leaves_with_its_core() {
    let mut rig = Rig::new(Cache::new(level()).unwrap());
    // Filled by core 3, read by it, then by core 5.
    assert_eq!(read(&mut rig, 0, 3), (Level::DRAM, 0));
    assert_eq!(read(&mut rig, 0, 3), (Level::L1, PRIVATE_REUSE));
    let both = PRIVATE_REUSE | SHARED_REUSE;
    assert_eq!(read(&mut rig, 0, 5), (Level::L1, both));
    // Copied back by core 5 while it is here: core 5 has it, SR stays.
    copy_back(&mut rig, 0, 5);
    assert_eq!(read(&mut rig, 0, 5), (Level::L1, both));
    assert_eq!(
        read(&mut rig, 0, 5),
        (Level::DRAM, 0),
        "it left with core 5"
    );
    // Copied back by core 6 while it is absent: a hit of another core keeps it.
    copy_back(&mut rig, 128, 6);
    assert_eq!(read(&mut rig, 128, 2), (Level::L1, SHARED_REUSE));
    assert_eq!(read(&mut rig, 128, 6), (Level::L1, both));
    assert_eq!(read(&mut rig, 128, 6), (Level::DRAM, 0));
}

#[test]
fn inc_m4_the_level_below_learns_the_core_of_every_copy_back() {
    let mut bench = TestBench::new();
    let above = CacheSpec {
        policies: vec![Policy::plain::<super::exclusive::Exclusive>()],
        ..l1()
    };
    bench.add("l1", Cache::new(above).unwrap());
    bench.add("l2", Cache::new(level()).unwrap());
    bench.add(
        "memory",
        EchoMemory::new(&EchoMemorySpec::latency(20)).unwrap(),
    );
    for (a, b) in [("l1.down", "l2.up"), ("l2.down", "memory.up")] {
        bench.builder().connect(a, b, Link::latency(1));
    }
    let requests = bench.source("l1.up.request");
    let responses = bench.sink::<MemResponse>("l1.up.response");
    // Two lines fit into the set; what comes later displaces lines of the cores named first.
    let cores = [3, 5, 9, 4, 4, 7];
    for (number, core) in (0u64..).zip(cores) {
        let read = request(RequestKind::Read, number * 256, core);
        requests.send_at(10 + number * 100, read);
    }
    bench.run_for(1000);
    assert_eq!(responses.take_all().len(), cores.len());
    let statistics = bench.statistics("l2");
    let learnt = |n| statistics.counter(&format!("core_of_copy_back[{n}]"));
    let learnt: Vec<_> = (0..5).map(learnt).collect();
    assert_eq!(learnt, [Some(3), Some(5), Some(9), Some(4), None]);
}
