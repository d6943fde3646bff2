//! The crossbar: a request and a reply network between clusters and memory partitions.
//!
//! ```text
//!   up[0] ─►┌─────────────────┐─► down[0]      up[0] ◄─┌───────────────┐◄─ down[0]
//!   up[1] ─►│ request network │─► down[1]      up[1] ◄─│ reply network │◄─ down[1]
//!    ⋮      │ S × D switch    │    ⋮            ⋮      │ D × S switch  │    ⋮
//!   up[S] ─►└─────────────────┘─► down[D]      up[S] ◄─└───────────────┘◄─ down[D]
//!              ids: port × slot                           ids restored
//! ```
//!
//! A request goes to the slice that `interleave` gives for its line; the response returns to the
//! port the request came from. The two networks share nothing, so replies never wait for requests.
//! Packets are cut into flits of `flit_bytes`; see [`Switch`] for what the networks do with them.
//!
//! # Ports
//! | name | bundle | back-pressure |
//! |---|---|---|
//! | `up[i]` | [`MemSlave`] | a request waits in its wire while the packet before it enters, its input queue is full, or all `outstanding` entries of the port wait for responses |
//! | `down[j]` | [`MemMaster`] | a response waits in its wire while the packet before it enters or its input queue is full |
//!
//! # Timing
//! With empty networks, a request readable at `up[i]` in cycle `t` leaves at `down[j]` in cycle
//! `t + input_cycles + output_cycles + F - 1` of the request network, where
//! `F = ceil(wire bytes / flit_bytes)` flits and the wire bytes are 8 and the data carried (a read
//! request has 8; its response for a full line of 128 B has 136: 3 flits of 64 B). A response takes
//! the same formula with the numbers of the reply network. Each port takes one flit per cycle, so
//! a packet of `F` flits is followed by the next after `F` cycles at the earliest; the rules of
//! sharing are those of [`Switch`]. The wires that carry the
//! messages to and from the crossbar should take whole messages; a wire with a width in bytes adds
//! its serialisation to that of the ports.
//!
//! Hop-local ids: an entry of the port's table is taken when a request that wants a response is
//! taken and is free again when its response leaves, in that cycle already. Copy-backs take none
//! and are sent down with id [`u32::MAX`].
//!
//! # Not modelled
//! Different clocks for clusters, networks and slices (see [`crate::clock_crossing`]); priorities
//! between kinds of requests; adaptive routing.

mod allocator;
mod counters;
mod network;
mod network_spec;
mod packets;
mod router;
mod switch;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Contents, Context, Cycle, Environment, Kind, Message, Next, Ports, SpecError, State,
    Statistics, Waits,
};

use crate::interleave::Interleave;
use crate::memory::{MemMaster, MemRequest, MemResponse, MemSlave};

use allocator::{PortMask, bit, ports};
pub use network::Network;
pub use network_spec::{Arbiter, NetworkSpec, PORTS_MAX, Queueing, SwitchSpec};
pub use packets::Parcel;
pub use router::{Router, RouterSpec, VIRTUAL_CHANNELS_MAX};
pub use switch::Switch;

/// Most table entries over all ports.
const ENTRIES_MAX: u64 = 1 << 24;

/// What a description says about a crossbar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossbarSpec {
    /// Ports towards the clusters, 1 to 128.
    pub up_ports: u32,
    /// Ports towards the memory partitions, 1 to 128.
    pub down_ports: u32,
    /// How lines are dealt to the down ports; its `slices` must equal `down_ports`.
    pub interleave: Interleave,
    /// Requests per up port that may wait for their responses; the port stalls when all do.
    pub outstanding: u32,
    /// The network that carries requests down.
    pub request: NetworkSpec,
    /// The network that carries responses up.
    pub reply: NetworkSpec,
}

/// Where a response belongs.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Entry {
    /// Id of the request as it came from above.
    id: u32,
    /// Slice the request went to.
    slice: u32,
    waits: bool,
}

/// The tables of hop-local ids: `outstanding` entries per up port, numbered port by port.
#[derive(Serialize, Deserialize)]
struct Entries {
    per_port: u32,
    entries: Vec<Entry>,
    /// Free entries, per port.
    free: Vec<Vec<u32>>,
    taken: u64,
}

impl Entries {
    fn new(up_ports: u32, per_port: u32) -> Self {
        let empty = Entry {
            id: 0,
            slice: 0,
            waits: false,
        };
        let of_port = |port| (port * per_port..(port + 1) * per_port).rev().collect();
        Self {
            per_port,
            entries: vec![empty; (up_ports * per_port) as usize],
            free: (0..up_ports).map(of_port).collect(),
            taken: 0,
        }
    }

    fn has_room(&self, port: usize) -> bool {
        !self.free[port].is_empty()
    }

    fn take(&mut self, port: usize, id: u32, slice: u32) -> u32 {
        let entry = self.free[port].pop().expect("asked has_room");
        self.entries[entry as usize] = Entry {
            id,
            slice,
            waits: true,
        };
        self.taken += 1;
        entry
    }

    /// The port a response from `slice` belongs to, if a request waits for it.
    fn port(&self, entry: u32, slice: u32) -> Option<usize> {
        let waiting = self.entries.get(entry as usize)?;
        (waiting.waits && waiting.slice == slice).then(|| (entry / self.per_port) as usize)
    }

    fn original(&self, entry: u32) -> u32 {
        self.entries[entry as usize].id
    }

    fn release(&mut self, port: usize, entry: u32) {
        self.entries[entry as usize].waits = false;
        self.free[port].push(entry);
        self.taken -= 1;
    }
}

/// Cycles in which an up port had a request to take and no table entry for it.
#[derive(Default, Serialize, Deserialize)]
struct TableStalls {
    stalled: PortMask,
    since: Vec<Cycle>,
    cycles: u64,
}

impl TableStalls {
    fn begin(&mut self, port: usize, now: Cycle) {
        if self.stalled & bit(port) == 0 {
            self.stalled |= bit(port);
            self.since[port] = now;
        }
    }

    fn end(&mut self, port: usize, now: Cycle) {
        if self.stalled & bit(port) != 0 {
            self.stalled &= !bit(port);
            self.cycles += now - self.since[port];
        }
    }

    fn until(&self, cycle: Cycle) -> u64 {
        let open = ports(self.stalled).map(|p| cycle.saturating_sub(self.since[p]));
        self.cycles + open.sum::<u64>()
    }
}

/// The component; see the module.
pub struct Crossbar {
    spec: CrossbarSpec,
    up: Vec<MemSlave>,
    down: Vec<MemMaster>,
    request: Network<MemRequest>,
    reply: Network<MemResponse>,
    entries: Entries,
    table_stalls: TableStalls,
    /// By this process; no state.
    evaluations: u64,
}

impl Kind for Crossbar {
    const NAME: &'static str = "Crossbar";
    const SUMMARY: &'static str =
        "Request and reply networks between clusters and memory partitions";
    type Spec = CrossbarSpec;

    fn build(spec: CrossbarSpec, _environment: &Environment) -> Result<Self, SpecError> {
        check(&spec)?;
        let (up, down) = (spec.up_ports as usize, spec.down_ports as usize);
        Ok(Self {
            up: (0..up).map(|_| MemSlave::default()).collect(),
            down: (0..down).map(|_| MemMaster::default()).collect(),
            request: Network::new(up, down, &spec.request),
            reply: Network::new(down, up, &spec.reply),
            entries: Entries::new(spec.up_ports, spec.outstanding),
            table_stalls: TableStalls {
                since: vec![0; up],
                ..TableStalls::default()
            },
            evaluations: 0,
            spec,
        })
    }
}

fn check(spec: &CrossbarSpec) -> Result<(), SpecError> {
    for (field, ports) in [("up_ports", spec.up_ports), ("down_ports", spec.down_ports)] {
        SpecError::require((1..=PORTS_MAX).contains(&ports), field, || {
            format!("{ports} is outside 1..={PORTS_MAX}")
        })?;
    }
    spec.interleave.check("interleave")?;
    SpecError::require(
        spec.interleave.slices == spec.down_ports,
        "interleave.slices",
        || {
            format!(
                "{} slices are interleaved over {} down ports; make them equal",
                spec.interleave.slices, spec.down_ports
            )
        },
    )?;
    let entries = u64::from(spec.up_ports) * u64::from(spec.outstanding);
    SpecError::require((1..=ENTRIES_MAX).contains(&entries), "outstanding", || {
        format!(
            "{} entries on each of {} ports make {entries}; from one per port to {ENTRIES_MAX} in \
             all can be built",
            spec.outstanding, spec.up_ports
        )
    })?;
    check_network(&spec.request, "request", (spec.up_ports, spec.down_ports))?;
    check_network(&spec.reply, "reply", (spec.down_ports, spec.up_ports))
}

fn check_network(
    spec: &NetworkSpec,
    field: &str,
    (inputs, outputs): (u32, u32),
) -> Result<(), SpecError> {
    spec.check(field, inputs, outputs)?;
    let keeps_order = match spec {
        NetworkSpec::Switch(_) => true,
        NetworkSpec::Router(spec) => spec.keeps_order(),
    };
    SpecError::require(keeps_order, &format!("{field}.ordered"), || {
        "requests for one line could overtake each other in different virtual channels; set it, \
         or use VirtualOutput or one virtual channel"
            .to_owned()
    })
}

impl Component for Crossbar {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundles("up", &mut self.up);
        ports.bundles("down", &mut self.down);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.evaluations += 1;
        self.take_responses(ctx);
        self.move_replies(ctx);
        // After the replies, whose departure frees table entries.
        self.take_requests(ctx);
        self.move_requests(ctx);
        self.next(ctx)
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.part("request", |state| self.request.state(state));
        state.part("reply", |state| self.reply.state(state));
        state.field("entries", &mut self.entries);
        state.field("table_stalls", &mut self.table_stalls);
    }

    fn evaluation_cost(&self) -> u64 {
        // 2000 instructions and 1150 for each flit that leaves; a guess before the first.
        let flits = self.request.flits_delivered().iter();
        let flits: u64 = flits.chain(self.reply.flits_delivered()).sum();
        let ports = u64::from(self.spec.up_ports + self.spec.down_ports);
        let load = (flits * 23).checked_div(self.evaluations * 2);
        20 + load.unwrap_or(4 * ports)
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.request.statistics("request", statistics);
        self.reply.statistics("reply", statistics);
        statistics.counter(
            "table_stalls",
            "cycles",
            "Cycles in which a request found no free entry for its response, added up over ports",
            self.table_stalls.until(statistics.cycle()),
        );
    }

    fn contents(&self, contents: &mut Contents<'_>) {
        contents.level("request_packets", self.request.packets_inside() as u64);
        contents.level("reply_packets", self.reply.packets_inside() as u64);
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        for (name, inside) in [
            ("request", self.request.packets_inside()),
            ("reply", self.reply.packets_inside()),
        ] {
            if inside > 0 {
                waits.inside(format!("{inside} packets inside the {name} network"));
            }
        }
        let mut per_slice = vec![0u64; self.down.len()];
        for entry in self.entries.entries.iter().filter(|e| e.waits) {
            per_slice[entry.slice as usize] += 1;
        }
        for (slice, waiting) in per_slice.iter().enumerate().filter(|(_, n)| **n > 0) {
            waits.on_port(
                format!("down[{slice}].response"),
                format!("{waiting} requests wait for their responses"),
            );
        }
    }
}

impl Crossbar {
    fn take_responses(&mut self, ctx: &mut Context<'_>) {
        for slice in ports(self.reply.accepting()) {
            let Some(response) = self.down[slice].response.pop(ctx) else {
                continue;
            };
            let Some(port) = self.entries.port(response.id, slice as u32) else {
                ctx.fail(format!(
                    "down[{slice}] answered id {}, for which nothing waits: {response:?}",
                    response.id
                ));
                continue;
            };
            let bytes = response.wire_bytes();
            let parcel = Parcel {
                input: slice,
                output: port,
                flits: self.spec.reply.flits(bytes),
                bytes,
            };
            self.reply.offer(ctx.cycle(), parcel, response);
        }
    }

    fn move_replies(&mut self, ctx: &mut Context<'_>) {
        let (up, entries) = (&mut self.up, &mut self.entries);
        self.reply.step(ctx.cycle(), |port, mut response, _| {
            let entry = response.id;
            response.id = entries.original(entry);
            let left = up[port].response.try_send(ctx, response).is_ok();
            if left {
                entries.release(port, entry);
            }
            left
        });
    }

    fn take_requests(&mut self, ctx: &mut Context<'_>) {
        let now = ctx.cycle();
        for port in ports(self.request.accepting()) {
            let input = &mut self.up[port].request;
            let Some(request) = input.peek(ctx) else {
                continue;
            };
            if request.kind.wants_response() && !self.entries.has_room(port) {
                self.table_stalls.begin(port, now);
                continue;
            }
            self.table_stalls.end(port, now);
            let mut request = input.pop(ctx).expect("peeked above");
            let slice = self.spec.interleave.slice(request.line);
            request.id = if request.kind.wants_response() {
                self.entries.take(port, request.id, slice)
            } else {
                u32::MAX
            };
            let bytes = request.wire_bytes();
            let parcel = Parcel {
                input: port,
                output: slice as usize,
                flits: self.spec.request.flits(bytes),
                bytes,
            };
            self.request.offer(now, parcel, request);
        }
    }

    fn move_requests(&mut self, ctx: &mut Context<'_>) {
        let down = &mut self.down;
        self.request.step(ctx.cycle(), |slice, request, _| {
            down[slice].request.try_send(ctx, request).is_ok()
        });
    }

    fn next(&self, ctx: &Context<'_>) -> Next {
        let now = ctx.cycle();
        // An input that finished a packet in this cycle may take the next one, if it is there.
        let another = ports(self.request.freed()).any(|p| self.up[p].request.peek(ctx).is_some())
            || ports(self.reply.freed()).any(|p| self.down[p].response.peek(ctx).is_some());
        if another {
            return Next::Busy;
        }
        let events = [self.request.next_event(now), self.reply.next_event(now)];
        match events.into_iter().flatten().min() {
            Some(cycle) if cycle == now + 1 => Next::Busy,
            Some(cycle) => Next::Until(cycle),
            None if self.request.is_blocked() || self.reply.is_blocked() => Next::Credit,
            None if self.entries.taken > 0 => Next::Message,
            None => Next::Idle,
        }
    }
}

#[cfg(test)]
mod tests;
