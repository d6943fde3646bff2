//! Events and actions available to policies, tested with a policy that uses all of them.

use super::*;
use crate::memory::CacheEvent;

/// Policy that reports every event it receives, and sends lines down when they are used.
#[derive(State, Statistics)]
struct Talker {
    #[state(skip)]
    events: u8,
}

const ACCESS: u16 = 1;
const MISS: u16 = 2;
const PASS: u16 = 3;
const IGNORED: u16 = 4;
const FILL: u16 = 5;
const EVICT: u16 = 6;
const SWAP: u16 = 7;
const NEW_LINE: u16 = 8;

/// Instruction whose hits send their line down.
const SENDS: u32 = 77;

fn say(context: &mut EventContext<'_>, times: u8, topic: u16, line: u64, wavefront_slot: u8) {
    for _ in 0..times {
        context.send_event(CacheEvent {
            topic,
            wavefront_slot,
            line,
        });
    }
}

#[derive(
    Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
struct TalkerSpec {
    /// Number of events sent for each event received.
    events: u8,
}

impl PolicyKind for Talker {
    type Role = CachePolicies;
    const NAME: &'static str = "Talker";
    const SUMMARY: &'static str = "Tells of whatever it hears";
    type Spec = TalkerSpec;
    fn build(
        spec: TalkerSpec,
        _context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        Ok(Box::new(Self {
            events: spec.events,
        }))
    }
}

impl CachePolicy for Talker {
    fn on_access(&mut self, access: &TagLookup<'_>, hit: bool, context: &mut EventContext<'_>) {
        say(context, self.events, ACCESS, access.line, u8::from(hit));
        if hit && access.request.source.pc == SENDS {
            context.copy_back(access.line, 1 << 12);
        }
    }

    fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        _decision: MissDecision,
        context: &mut EventContext<'_>,
    ) {
        say(context, self.events, MISS, miss.line, 0);
    }

    fn on_pass(&mut self, pass: &TagLookup<'_>, context: &mut EventContext<'_>) {
        let held = u8::from(pass.slot.is_some());
        say(context, self.events, PASS, pass.line, held);
    }

    fn on_ignored(&mut self, copy_back: &TagLookup<'_>, context: &mut EventContext<'_>) {
        say(context, self.events, IGNORED, copy_back.line, 0);
    }

    fn on_new_line(&mut self, store: &TagLookup<'_>, context: &mut EventContext<'_>) {
        say(context, self.events, NEW_LINE, store.line, 0);
    }

    fn on_fill(&mut self, fill: &Fill, context: &mut EventContext<'_>) {
        say(
            context,
            self.events,
            FILL,
            fill.line,
            fill.source.wavefront_slot,
        );
    }

    fn on_evict(&mut self, eviction: &Eviction, context: &mut EventContext<'_>) {
        let owner = eviction.owner.wavefront_slot;
        say(context, self.events, EVICT, eviction.line, owner);
    }

    fn on_swap(&mut self, swap: &Swap, context: &mut EventContext<'_>) {
        say(
            context,
            self.events,
            SWAP,
            swap.line,
            swap.owner.wavefront_slot,
        );
    }
}

fn talker(events: u8, spec: CacheSpec) -> (Rig, Sink<CacheEvent>) {
    let policies = vec![Policy::of::<Talker>(&TalkerSpec { events })];
    let mut rig = Rig::new(Cache::new(CacheSpec { policies, ..spec }).unwrap());
    let events = rig.bench.sink("cache.locality");
    (rig, events)
}

fn heard(events: &Sink<CacheEvent>) -> Vec<(u16, u64, u8)> {
    let events = events.take_all();
    let parts = events
        .iter()
        .map(|(_, e)| (e.topic, e.line, e.wavefront_slot));
    parts.collect()
}

fn of_wavefront(kind: RequestKind, line: u64, wavefront_slot: u8) -> MemRequest {
    let mut request = MemRequest {
        kind,
        ..MemRequest::read(1, line, 1)
    };
    request.source.wavefront_slot = wavefront_slot;
    request
}

/// Sends a request and answers the requests that it causes at the next level.
fn done(rig: &mut Rig, request: MemRequest) {
    rig.request.send(request);
    for _ in 0..40 {
        rig.bench.step(1);
        if let Some((_, below)) = rig.below.take()
            && below.kind.wants_response()
        {
            rig.answer.send(below.answer(Level::L2));
        }
    }
}

#[test]
fn a_policy_hears_of_accesses_passes_evictions_and_swaps_with_owners() {
    let victims = super::super::super::VictimCacheSpec {
        lines: 2,
        latency_cycles: 0,
    };
    let (mut rig, events) = talker(
        1,
        CacheSpec {
            victim_cache: Some(victims),
            ..l1()
        },
    );
    use RequestKind::{Atomic, Read, Write};
    done(&mut rig, of_wavefront(Read, 0, 3));
    assert_eq!(heard(&events), [(ACCESS, 0, 0), (MISS, 0, 0), (FILL, 0, 3)]);
    done(&mut rig, of_wavefront(Read, 0, 4));
    assert_eq!(heard(&events), [(ACCESS, 0, 1)]);
    done(&mut rig, of_wavefront(Read, 256, 5));
    heard(&events);
    done(&mut rig, of_wavefront(Read, 512, 6));
    let replaced = [
        (ACCESS, 512, 0),
        (MISS, 512, 0),
        (EVICT, 0, 3),
        (FILL, 512, 6),
    ];
    assert_eq!(heard(&events), replaced);
    done(&mut rig, of_wavefront(Read, 0, 7));
    let swapped = [(ACCESS, 0, 0), (EVICT, 256, 5), (SWAP, 0, 3)];
    assert_eq!(heard(&events), swapped);
    done(&mut rig, of_wavefront(Write, 0, 7));
    assert_eq!(heard(&events), [(PASS, 0, 1), (EVICT, 0, 3)]);
    done(&mut rig, of_wavefront(Atomic, 1024, 7));
    assert_eq!(heard(&events), [(PASS, 1024, 0)]);
}

#[test]
fn a_policy_hears_of_copy_backs_from_above() {
    let (mut rig, events) = talker(1, l1());
    let clean = |line| MemRequest {
        flags: flags::CLEAN,
        ..of_wavefront(RequestKind::CopyBack, line, 2)
    };
    done(&mut rig, clean(128));
    assert_eq!(heard(&events), [(ACCESS, 128, 0), (NEW_LINE, 128, 0)]);
    done(&mut rig, clean(128));
    assert_eq!(heard(&events), [(IGNORED, 128, 0)]);
}

#[test]
fn events_wait_in_order_for_their_wire_and_the_newest_are_dropped() {
    let (mut rig, events) = talker(12, l1());
    rig.request.send(of_wavefront(RequestKind::Read, 0, 1));
    rig.bench.step(60);
    let seen = events.take_all();
    let cycles: Vec<_> = seen.iter().map(|(cycle, _)| *cycle).collect();
    assert!(
        cycles.windows(2).all(|pair| pair[0] < pair[1]),
        "one per cycle"
    );
    let topics: Vec<_> = seen.iter().map(|(_, event)| event.topic).collect();
    assert_eq!(topics.len() as u64, 24 - rig.count("events_dropped"));
    assert_eq!(topics[..12], [ACCESS; 12]);
    assert_eq!(rig.count("events_dropped"), 24 - EVENTS_MAX as u64);
}

#[test]
fn a_line_is_sent_down_while_it_stays() {
    let spec = CacheSpec {
        write: WritePolicy::WriteBack {
            partial: PartialWrite::WordMask,
        },
        copy_back_entries: Some(1),
        ..l1()
    };
    let (mut rig, _events) = talker(0, spec);
    let mut write = MemRequest::write(1, 128, 0b11);
    write.source.compute_unit = 4;
    rig.request.send(write);
    rig.bench.receive(&rig.response.clone());
    let mut read = MemRequest::read(2, 128, 1);
    read.source.pc = SENDS;
    let mut sent = || {
        rig.request.send(read);
        let (_, below) = rig.bench.receive(&rig.below.clone());
        (
            below.kind,
            below.words,
            below.flags,
            below.source.compute_unit,
        )
    };
    let dirty = (RequestKind::CopyBack, 0b11, 0, 4);
    assert_eq!(sent(), dirty, "its dirty words");
    let clean = (RequestKind::CopyBack, 0b11, flags::CLEAN | 1 << 12, 4);
    assert_eq!(sent(), clean, "which are clean then");
    assert_eq!(
        (rig.count("copy_backs"), rig.count("clean_victims_sent")),
        (1, 1)
    );
    assert_eq!(rig.count("policy_copy_backs_dropped"), 0);
}

#[test]
fn what_a_policy_asked_for_goes_on_after_a_checkpoint() {
    let bench = || {
        let (rig, _events) = talker(12, l1());
        rig.request.send(of_wavefront(RequestKind::Read, 0, 1));
        rig.bench
    };
    TestBench::check_state(bench, &[3, 6, 9], 60);
}
