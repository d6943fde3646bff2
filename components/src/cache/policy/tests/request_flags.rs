//! Tests of the flags that a policy gives to requests.

use super::request_bits::EXCLUSIVE;
use super::*;

/// Policy that marks what an even instruction fetches.
#[derive(State, Statistics)]
struct Marker;

impl PolicyKind for Marker {
    type Role = CachePolicies;
    const NAME: &'static str = "Marker";
    const SUMMARY: &'static str = "Marks requests";
    type Spec = NoFields;
    fn build(
        _spec: NoFields,
        _context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        Ok(Box::new(Self))
    }
}

impl CachePolicy for Marker {
    fn owns(&self) -> &'static [Field] {
        &[Field::RequestFlags]
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        if miss.request.source.pc.is_multiple_of(2) {
            decision.flags = EXCLUSIVE;
        }
    }
}

#[test]
fn further_sectors_of_a_line_in_flight_carry_the_flags_of_its_first_request() {
    for (first, flags) in [(0, EXCLUSIVE), (1, 0)] {
        let mut rig = Rig::new(
            Cache::new(CacheSpec {
                sector_bytes: Some(32),
                policies: vec![Policy::plain::<Marker>()],
                ..l1()
            })
            .unwrap(),
        );
        for (pc, word) in [(first, 0u32), (1 - first, 8)] {
            let mut request = MemRequest::read(word, 0, 1u32 << word);
            request.source.pc = pc;
            rig.request.send(request);
        }
        let mut sent = || {
            let (_, fetch) = rig.bench.receive(&rig.below.clone());
            (fetch.words, fetch.flags)
        };
        assert_eq!([sent(), sent()], [(0xff, flags), (0xff00, flags)]);
    }
}
