//! First-level cache policy that records the lines each wavefront lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::LOST_LOCALITY;
use super::victim_tags::VictimTags;
use crate::cache::policy::{
    CachePolicies, CachePolicy, Cause, EventContext, Eviction, MissDecision, Swap, TagLookup,
};
use crate::memory::{CacheEvent, RequestKind};

/// Geometry of the victim tag arrays used by [`CcwsVictimTags`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CcwsVictimTagsSpec {
    /// Number of victim tags per wavefront, 1 to 1024. Source: CCWS paper.
    pub entries: u32,
    /// Associativity; must divide `entries`. Source: CCWS paper.
    pub ways: u32,
}

impl Default for CcwsVictimTagsSpec {
    fn default() -> Self {
        Self {
            entries: 16,
            ways: 8,
        }
    }
}

/// Records the evicted lines of each wavefront and notifies the compute unit when the same
/// wavefront misses on one of them again. Does not change the behavior of the cache. Without a
/// connection at `locality` it only counts.
///
/// Assumes that the cache serves one compute unit. Lines removed for other reasons, such as stores
/// or invalidations, would be lost with fewer wavefronts too and are not recorded.
#[derive(State, Statistics)]
pub struct CcwsVictimTags {
    #[state(flatten)]
    tags: VictimTags,
    /// misses of a wavefront on lines that it lost recently
    #[statistic(name = "victim_tag_hits", unit = "misses")]
    losses: u64,
}

impl PolicyKind for CcwsVictimTags {
    type Role = CachePolicies;
    const NAME: &'static str = "CcwsVictimTags";
    const SUMMARY: &'static str = "Notifies the compute unit's Ccws scheduler when a wavefront misses on a line that it lost recently";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "CcwsVictimTags",
        like: "",
    });
    type Spec = CcwsVictimTagsSpec;

    fn build(
        spec: CcwsVictimTagsSpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        let tags = VictimTags::new(spec.entries, spec.ways, context.site.line_bytes)?;
        Ok(Box::new(Self { tags, losses: 0 }))
    }
}

impl CachePolicy for CcwsVictimTags {
    fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        _decision: MissDecision,
        context: &mut EventContext<'_>,
    ) {
        let reader = &miss.request.source;
        if miss.request.kind == RequestKind::Read && self.tags.take(reader, miss.line) {
            self.losses += 1;
            context.send_event(CacheEvent {
                topic: LOST_LOCALITY,
                wavefront_slot: reader.wavefront_slot,
                line: miss.line,
            });
        }
    }

    fn on_evict(&mut self, eviction: &Eviction, _context: &mut EventContext<'_>) {
        if eviction.cause == Cause::Replaced {
            self.tags.lose(&eviction.owner, eviction.line);
        }
    }

    /// Removes the tag of a line that moved to the victim cache: it was not lost.
    fn on_swap(&mut self, swap: &Swap, _context: &mut EventContext<'_>) {
        self.tags.regain(&swap.owner, swap.line);
    }
}

#[cfg(test)]
mod tests {
    use warpweave_framework::{Link, Policy, Sink, Source as BenchSource, TestBench};

    use super::*;
    use crate::building_blocks::{EchoMemory, EchoMemorySpec};
    use crate::cache::tests::l1;
    use crate::cache::{Cache, VictimCacheSpec};
    use crate::memory::{MemRequest, MemResponse, Source};

    /// Cache of two sets and two ways in front of a memory, with victim tags.
    struct Rig {
        bench: TestBench,
        request: BenchSource<MemRequest>,
        _response: Sink<MemResponse>,
        locality: Option<Sink<CacheEvent>>,
        sent: u32,
    }

    impl Rig {
        fn new(victim_lines: Option<u32>, is_wired: bool) -> Self {
            let mut spec = l1();
            spec.policies = vec![Policy::plain::<CcwsVictimTags>()];
            spec.victim_cache = victim_lines.map(|lines| VictimCacheSpec {
                lines,
                latency_cycles: 1,
            });
            let mut bench = TestBench::new();
            bench.add("l1", Cache::new(spec).expect("in range"));
            let memory = EchoMemory::new(&EchoMemorySpec::latency(10)).expect("in range");
            bench.add("memory", memory);
            let builder = bench.builder();
            builder.connect("l1.down", "memory.up", Link::latency(1));
            Self {
                request: bench.source("l1.up.request"),
                _response: bench.sink("l1.up.response"),
                locality: is_wired.then(|| bench.sink("l1.locality")),
                bench,
                sent: 0,
            }
        }

        /// Sends these requests (kind, wavefront, line number within one set), spaced far apart in
        /// time. Returns the wavefronts and line numbers that the cache reports.
        fn told(&mut self, requests: &[(RequestKind, u8, u64)]) -> Vec<(u8, u64)> {
            for &(kind, wavefront_slot, line) in requests {
                let mut request = MemRequest::read(self.sent, 256 * line, 1);
                request.kind = kind;
                request.source = Source {
                    wavefront_slot,
                    ..Source::default()
                };
                self.sent += 1;
                self.request.send_at(u64::from(50 * self.sent), request);
            }
            self.bench.step(u64::from(50 * self.sent) + 50);
            let events = self.locality.as_ref().map(Sink::take_all);
            let events = events.unwrap_or_default().into_iter();
            events
                .map(|(_, event)| {
                    assert_eq!(event.topic, LOST_LOCALITY);
                    (event.wavefront_slot, event.line / 256)
                })
                .collect()
        }

        fn hits(&mut self) -> Option<u64> {
            self.bench.statistics("l1").counter("victim_tag_hits")
        }
    }

    const READ: RequestKind = RequestKind::Read;

    #[test]
    fn bas_m13_a_miss_on_a_line_that_the_same_wavefront_lost_is_told() {
        let mut rig = Rig::new(None, true);
        // Lines 1 and 2 evict line 0, which wavefront 3 had fetched and wavefront 5 had not. Then
        // line 1, fetched by wavefront 5, is evicted.
        let reads = [(3, 0), (5, 1), (5, 2), (5, 0), (3, 3), (3, 0), (5, 1)];
        let told = rig.told(&reads.map(|(slot, line)| (READ, slot, line)));
        assert_eq!(told, [(5, 1)]);
        assert_eq!(rig.hits(), Some(1));
    }

    #[test]
    fn a_line_dropped_by_a_store_is_not_lost() {
        let mut rig = Rig::new(None, true);
        assert_eq!(
            rig.told(&[(READ, 3, 0), (RequestKind::Write, 3, 0), (READ, 3, 0)]),
            []
        );
    }

    #[test]
    fn a_line_that_comes_back_from_the_victim_cache_is_not_lost() {
        let mut rig = Rig::new(Some(1), true);
        // Line 0 comes back once; when it leaves again, line 1 pushes it out of the victim cache.
        let reads = [0, 1, 2, 0].map(|line| (READ, 3, line));
        assert_eq!(rig.told(&reads), []);
    }

    #[test]
    fn without_a_wire_victims_are_counted() {
        let mut rig = Rig::new(None, false);
        let reads = [0, 1, 2, 0].map(|line| (READ, 3, line));
        assert_eq!(rig.told(&reads), []);
        assert_eq!(rig.hits(), Some(1));
    }
}
