//! Checker around a coalescing unit: it knows the protocol rules, not the unit's implementation.
//!
//! ```text
//!   up[i] ─►┌─────────┐─► unit_up[i] ─► ┌──────┐ ─► unit_down ─►┌─────────┐─► down
//!   up[i] ◄─│ checker │◄─ unit_up[i] ◄─ │ unit │ ◄─ unit_down ◄─│ checker │◄─ down
//!           └─────────┘                 └──────┘                └─────────┘
//! ```
//!
//! The checker fails the run in these cases:
//!
//! * a response matches no waiting request, or carries other words or another line than requested;
//! * two tracked reads of one line are outstanding, or an untracked response is marked as tracked;
//! * a read is answered with data older than a preceding write of its cluster. Such a write had
//!   left the unit, or came from the same port, when the read passed the checker. Writes are
//!   numbered here, over the cluster, in [`MemRequest::write_sequence`]. A response from the next
//!   level is stamped with the newest write to its line that had left before its own request. The
//!   memory's own numbers are ignored: a lower cache may evict lines, and other clusters may number
//!   differently;
//! * with `freshness: true`, the memory answers with a lower number than that. Only for memories
//!   that keep the highest number of each line (a cache that evicts nothing).
//!
//! # Ports
//! | name | bundle | back-pressure |
//! |---|---|---|
//! | `up[i]` | [`MemSlave`] | of `unit_up[i]` |
//! | `unit_up[i]` | [`MemMaster`] | of `up[i]` |
//! | `unit_down` | [`MemSlave`] | of `down` |
//! | `down` | [`MemMaster`] | of `unit_down` |
//!
//! # Timing
//! Readable messages leave in the same cycle: the checker adds only the latency of its wires.
//!
//! # Not modelled
//! The checker is not hardware. It remembers every line written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Context, Environment, Facts, Inspect, Kind, Negotiate, Next, PortId, Ports,
    SpecError, State, Statistics, Waits,
};

use crate::building_blocks::pass;
use crate::memory::{MemMaster, MemRequest, MemResponse, MemSlave, RequestKind, flags, is_request};

/// Specification of a checker around a coalescing unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoalescingCheckerSpec {
    /// Up ports of the unit, 1 to 4096.
    pub up_ports: u32,
    /// Enables checks of the memory's write numbers; the memory must keep the number of the newest
    /// write to each line.
    pub freshness: bool,
}

/// Checker between a coalescing unit and its neighbours.
#[derive(Ports, State, Statistics)]
pub struct CoalescingChecker {
    #[port]
    up: Vec<MemSlave>,
    #[port]
    unit_up: Vec<MemMaster>,
    #[port]
    unit_down: MemSlave,
    #[port]
    down: MemMaster,
    #[statistic(flatten)]
    rules: Rules,
    #[state(skip)]
    spec: CoalescingCheckerSpec,
}

/// Traffic seen so far, and the rules that later messages must satisfy.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Statistics)]
struct Rules {
    /// Outstanding downstream reads by line: the numbers of tracked and untracked ones.
    below: BTreeMap<u64, [u32; 2]>,
    /// Newest write to the line that had left the unit before each outstanding downstream read or
    /// prefetch, by its downstream id.
    stamps: BTreeMap<u32, u32>,
    /// Newest write to a line that has left the unit.
    left: BTreeMap<u64, u32>,
    /// Newest write of a port to a line.
    own: BTreeMap<(u32, u64), u32>,
    /// Reads that passed.
    #[statistic(unit = "messages")]
    reads: u64,
    /// Number of writes numbered so far.
    #[statistic(
        unit = "messages",
        meaning = "Writes, atomics and copy-backs forwarded",
        value = u64::from(self.writes)
    )]
    writes: u32,
    /// Responses that passed.
    #[statistic(unit = "messages")]
    responses: u64,
    /// Requests without a response, by port and id.
    #[statistic(
        name = "unanswered",
        unit = "messages",
        meaning = "Requests without a response",
        value = (self.open.len() as u64)
    )]
    open: BTreeMap<(u32, u32), Open>,
    /// Reads whose response had to reflect a write of their cluster.
    #[statistic(unit = "messages")]
    reads_behind_writes: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    line: u64,
    words: u32,
    kind: RequestKind,
    /// Lowest write number allowed in the response.
    newer_than: u32,
}

impl Rules {
    fn request(&mut self, port: u32, request: &mut MemRequest) -> Result<(), String> {
        if request.kind.carries_data() {
            self.writes += 1;
            request.write_sequence = self.writes;
            self.own.insert((port, request.line), self.writes);
        }
        self.reads += u64::from(request.kind == RequestKind::Read);
        if !request.kind.wants_response() {
            return Ok(());
        }
        let left = self.left.get(&request.line);
        let own = self.own.get(&(port, request.line));
        let open = Open {
            line: request.line,
            words: request.words,
            kind: request.kind,
            newer_than: left.max(own).copied().unwrap_or(0),
        };
        match self.open.insert((port, request.id), open) {
            None => Ok(()),
            Some(before) => Err(format!(
                "up[{port}] reused id {} for {request:?} while {before:?} is outstanding",
                request.id
            )),
        }
    }

    fn response(&mut self, port: u32, response: &MemResponse) -> Result<(), String> {
        self.responses += 1;
        let Some(open) = self.open.remove(&(port, response.id)) else {
            return Err(format!(
                "up[{port}] received a response that matches no outstanding request: {response:?}"
            ));
        };
        if (open.line, open.kind) != (response.line, response.kind)
            || open.words & !response.words != 0
        {
            return Err(format!(
                "up[{port}] requested {open:?} but received {response:?}"
            ));
        }
        if reads(open.kind) {
            self.reads_behind_writes += u64::from(open.newer_than > 0);
            if response.write_sequence < open.newer_than {
                return Err(format!(
                    "up[{port}] received stale line {:#x}: as of write {}, older than write {} of its cluster",
                    open.line, response.write_sequence, open.newer_than
                ));
            }
        }
        Ok(())
    }

    fn injected(&mut self, request: &MemRequest) -> Result<(), String> {
        if request.kind.carries_data() {
            let newest = self.left.entry(request.line).or_default();
            *newest = request.write_sequence.max(*newest);
        }
        if reads(request.kind) {
            let left = self.left.get(&request.line).copied().unwrap_or(0);
            if self.stamps.insert(request.id, left).is_some() {
                return Err(format!(
                    "an outstanding request already uses this id: {request:?}"
                ));
            }
        }
        if request.kind != RequestKind::Read {
            return Ok(());
        }
        let tracked = request.flags & flags::TRACKED != 0;
        let below = self.below.entry(request.line).or_default();
        below[usize::from(!tracked)] += 1;
        if below[0] > 1 {
            return Err(format!(
                "a second tracked read of a line in flight left the unit: {request:?}"
            ));
        }
        Ok(())
    }

    /// Checks a response from the next level and stamps it with the write number that it must
    /// reflect.
    fn returned(&mut self, response: &mut MemResponse, fresh: bool) -> Result<(), String> {
        if reads(response.kind) {
            let left = self.stamps.remove(&response.id);
            let left = left.ok_or_else(|| format!("no outstanding read matches {response:?}"))?;
            if fresh && response.write_sequence < left {
                return Err(format!(
                    "the next level returned stale line {:#x}: as of write {}, older than write {left}",
                    response.line, response.write_sequence
                ));
            }
            response.write_sequence = left;
        }
        if response.kind != RequestKind::Read {
            return Ok(());
        }
        let tracked = response.flags & flags::TRACKED != 0;
        let below = self.below.entry(response.line).or_default();
        let count = &mut below[usize::from(!tracked)];
        *count = count
            .checked_sub(1)
            .ok_or_else(|| format!("no read of this type is outstanding: {response:?}"))?;
        if *below == [0, 0] {
            self.below.remove(&response.line);
        }
        Ok(())
    }
}

/// True if a response to this kind carries the current contents of the line.
fn reads(kind: RequestKind) -> bool {
    matches!(kind, RequestKind::Read | RequestKind::Prefetch)
}

impl Kind for CoalescingChecker {
    const NAME: &'static str = "CoalescingChecker";
    const SUMMARY: &'static str = "Fails the run if the coalescing unit it surrounds loses or duplicates a response, or returns stale data";
    type Spec = CoalescingCheckerSpec;

    fn build(spec: CoalescingCheckerSpec, _environment: &Environment) -> Result<Self, SpecError> {
        SpecError::in_range("up_ports", spec.up_ports, 1..=4096)?;
        Ok(Self {
            up: (0..spec.up_ports).map(|_| MemSlave::default()).collect(),
            unit_up: (0..spec.up_ports).map(|_| MemMaster::default()).collect(),
            unit_down: MemSlave::default(),
            down: MemMaster::default(),
            rules: Rules::default(),
            spec,
        })
    }
}

impl Component for CoalescingChecker {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let (rules, fresh) = (&mut self.rules, self.spec.freshness);
        let mut verdict = Ok(());
        let mut note = |result: Result<(), String>| {
            if verdict.is_ok() {
                verdict = result;
            }
        };
        // What leaves the unit first: a read that comes in this cycle is behind it.
        let (above, below) = (&mut self.unit_down, &mut self.down);
        let mut waits = pass(ctx, &mut above.request, &mut below.request, |_, request| {
            note(rules.injected(request));
        });
        waits |= pass(
            ctx,
            &mut below.response,
            &mut above.response,
            |_, response| {
                note(rules.returned(response, fresh));
            },
        );
        for (port, (up, unit)) in self.up.iter_mut().zip(&mut self.unit_up).enumerate() {
            let port = port as u32;
            waits |= pass(ctx, &mut up.request, &mut unit.request, |_, request| {
                note(rules.request(port, request));
            });
            waits |= pass(ctx, &mut unit.response, &mut up.response, |_, response| {
                note(rules.response(port, response));
            });
        }
        if let Err(message) = verdict {
            ctx.fail(message);
        }
        if waits { Next::Credit } else { Next::Message }
    }

    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        Some(self)
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Negotiate for CoalescingChecker {
    fn passage(&self, port: PortId, _facts: &mut Facts) -> Option<u32> {
        is_request(port).then(|| port.number.unwrap_or(u32::MAX))
    }
}

impl Inspect for CoalescingChecker {
    fn waits(&self, waits: &mut Waits<'_>) {
        if !self.rules.open.is_empty() {
            let count = self.rules.open.len();
            waits.inside(format!("{count} requests have no response yet"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Level;

    fn tracked(id: u32, line: u64) -> MemRequest {
        MemRequest {
            flags: flags::TRACKED,
            ..MemRequest::read(id, line, 1)
        }
    }

    #[test]
    fn each_broken_rule_is_noticed() {
        let mut rules = Rules::default();
        let mut read = MemRequest::read(4, 128, 0b11);
        rules.request(2, &mut read).expect("the first");
        let reused = rules.request(2, &mut read).expect_err("the id waits");
        assert!(reused.contains("reused id 4"), "{reused}");
        let elsewhere = rules.response(1, &read.answer(Level::L2));
        assert!(elsewhere.unwrap_err().contains("up[1] received a response"));
        let mut short = read.answer(Level::L2);
        short.words = 0b01;
        assert!(rules.response(2, &short).unwrap_err().contains("requested"));

        rules.injected(&tracked(0, 0)).expect("the first");
        rules.injected(&tracked(1, 128)).expect("another line");
        let reused = rules.injected(&tracked(1, 256)).expect_err("it waits");
        assert!(reused.contains("already uses this id"), "{reused}");
        let second = rules.injected(&tracked(2, 0)).expect_err("under way");
        assert!(second.contains("second tracked"), "{second}");
        let mut untracked = MemRequest::read(1, 128, 1).answer(Level::L2);
        assert!(rules.returned(&mut untracked, false).is_err());
        let mut stray = tracked(9, 128).answer(Level::L2);
        assert!(rules.returned(&mut stray, false).is_err());
    }

    #[test]
    fn answers_from_below_get_the_number_that_their_request_had_to_see() {
        let mut rules = Rules::default();
        let mut write = MemRequest::write(0, 128, 1);
        rules.request(0, &mut write).expect("a write");
        rules.injected(&tracked(1, 128)).expect("before the write");
        rules.injected(&write).expect("it leaves");
        let behind = MemRequest::read(2, 128, 1);
        rules.injected(&behind).expect("behind the write");
        // A memory that has forgotten every number.
        let mut early = tracked(1, 128).answer(Level::DRAM);
        rules.returned(&mut early, false).expect("it waits");
        assert_eq!(early.write_sequence, 0);
        let mut late = behind.answer(Level::DRAM);
        let forgot = rules.clone().returned(&mut late, true).expect_err("stale");
        assert!(forgot.contains("older than write 1"), "{forgot}");
        rules.returned(&mut late, false).expect("it waits");
        assert_eq!(late.write_sequence, 1);
    }

    #[test]
    fn a_read_must_know_of_what_left_before_and_of_its_own_port() {
        let mut rules = Rules::default();
        let mut write = MemRequest::write(0, 128, 1);
        rules.request(0, &mut write).expect("a write");
        // It has not left the unit: port 1 need not see it, port 0 must.
        for (port, newer_than) in [(0, 1), (1, 0)] {
            let mut read = MemRequest::read(1, 128, 1);
            rules.request(port, &mut read).expect("a read");
            assert_eq!(rules.open[&(port, 1)].newer_than, newer_than);
        }
        rules.injected(&write).expect("the write leaves");
        let mut read = MemRequest::read(2, 128, 1);
        rules.request(1, &mut read).expect("a read");
        assert_eq!(rules.open[&(1, 2)].newer_than, 1);
        let stale = rules.response(1, &read.answer(Level::L2));
        assert!(stale.unwrap_err().contains("older than write 1"));
    }
}
