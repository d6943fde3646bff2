//! Crossbar: a request and a reply network between clusters and memory partitions.
//!
//! ```text
//!   up[0] ─►┌─────────────────┐─► down[0]      up[0] ◄─┌───────────────┐◄─ down[0]
//!   up[1] ─►│ request network │─► down[1]      up[1] ◄─│ reply network │◄─ down[1]
//!    ⋮      │ S × D switch    │    ⋮            ⋮      │ D × S switch  │    ⋮
//!   up[S] ─►└─────────────────┘─► down[D]      up[S] ◄─└───────────────┘◄─ down[D]
//!              ids: port × slot                           ids restored
//! ```
//!
//! A request is routed to the slice that `interleave` selects for its line. The response returns to
//! the port from which the request came. The two networks share nothing, so replies never wait for
//! requests. Packets are cut into flits of `flit_bytes`; see [`Switch`] and [`Router`] for how the
//! networks transport them.
//!
//! # Ports
//! | name | bundle | back-pressure |
//! |---|---|---|
//! | `up[i]` | [`MemSlave`] | a request waits in its wire while the packet before it enters, its input queue is full, or all `outstanding` entries of the port wait for responses |
//! | `down[j]` | [`MemMaster`] | a response waits in its wire while the packet before it enters or its input queue is full |
//!
//! # Timing
//! With empty networks, take a request readable at `up[i]` in cycle `t`. It leaves at `down[j]` in
//! cycle `t + input_cycles + output_cycles + F - 1`, with the parameters of the request network.
//! Here `F = ceil(wire bytes / flit_bytes)` is the number of flits, and the wire bytes are 8 plus
//! the data carried. A read request has 8; its response for a full line of 128 B has 136, or 3
//! flits of 64 B. With `control_flit` the 8 bytes take a flit of their own. A response follows the
//! same formula with the parameters of the reply network.
//! Each port takes one flit per cycle, so a packet of `F` flits is followed by the next after `F`
//! cycles at the earliest. Contention follows the rules of [`Switch`]. The wires that carry the
//! messages to and from the crossbar should take whole messages. A wire with a width in bytes adds
//! its serialisation to that of the ports.
//!
//! Hop-local ids: a request that wants a response takes one of its port's `outstanding` entries.
//! The entry is free again in the cycle in which its response leaves. Copy-backs take none and are
//! sent downstream with id [`u32::MAX`].
//!
//! # Files
//! | file | what it has |
//! |---|---|
//! | `spec.rs`, `network_spec.rs` | what a description says |
//! | `outstanding.rs` | the table of hop-local ids |
//! | `network.rs`, `lazy.rs` | [`Network`]: a switch or a router; which is left alone while nothing can happen |
//! | `network_ports.rs`, `input_ports.rs`, `output_ports.rs`, `traffic.rs` | what both have around their switch: entry and credits, departure, packets and counters |
//! | `stalls.rs` | cycles in which ports stall |
//! | `switch/`, `router/` | the two kinds |
//! | `requests.rs`, `port_bits.rs`, `allocator.rs` | who asks for what, sets of ports, and the matching of inputs and outputs |
//! | `arbiter/` | the role of the arbiter, and the arbiters |
//!
//! The networks use the framework, the [memory protocol](crate::memory),
//! [interleaving](crate::interleave) and the [building blocks](crate::building_blocks), and no
//! other component.
//!
//! # Not modelled
//! Different clocks for clusters, networks and slices (see [`crate::clock_crossing`]); priorities
//! between kinds of requests; adaptive routing.

mod allocator;
mod arbiter;
mod input_ports;
mod lazy;
mod network;
mod network_place;
mod network_ports;
mod network_spec;
mod output_ports;
mod outstanding;
mod port_bits;
mod queueing;
mod requests;
mod router;
mod spec;
mod stalls;
mod switch;
mod traffic;

use std::any::Any;

use warpweave_framework::{
    Component, Contents, Context, Cycle, Environment, Facts, Functional, FunctionalError, Inspect,
    Kind, Message, Negotiate, Next, Onward, PortId, Ports, Preset, SpecError, State, Statistics,
    Unfit, Waits,
};

use crate::memory::{
    MemMaster, MemRequest, MemResponse, MemSlave, NetworkPort, Slice, forward_functional,
    hold_whole_lines, is_request,
};

use lazy::LazyNetwork;
use outstanding::Outstanding;
use port_bits::PortMask;
use requests::ports;

pub use arbiter::{
    AgeBased, AnyArbiter, Arbiter, ArbiterPolicy, ArbiterSite, BuiltInArbiter, Fixed, Islip,
    IslipSpec, Matching, OpenArbiter, RoundRobin, register_policies,
};
pub use network::Network;
pub use network_place::NetworkPlace;
pub use network_spec::NetworkSpec;
pub use queueing::{PORTS_MAX, Queueing};
pub use router::{Router, RouterSpec, VIRTUAL_CHANNELS_MAX};
pub use spec::CrossbarSpec;
pub use switch::{Switch, SwitchSpec};
pub use traffic::PacketInfo;

/// Crossbar between clusters and memory partitions, with separate request and reply networks.
#[derive(Ports, State, Statistics)]
pub struct Crossbar {
    #[state(skip)]
    spec: CrossbarSpec,
    #[port]
    up: Vec<MemSlave>,
    #[port]
    down: Vec<MemMaster>,
    #[state(part)]
    #[statistic(under = "request")]
    request: LazyNetwork<MemRequest>,
    #[state(part)]
    #[statistic(under = "reply")]
    reply: LazyNetwork<MemResponse>,
    #[state(part)]
    #[statistic(flatten)]
    outstanding: Outstanding,
    /// Number of evaluations in this process; not part of the state.
    #[state(skip)]
    evaluations: u64,
}

/// Host bytes per flit slot, including its queue overhead.
const FLIT_BYTES: u64 = 64;

impl Kind for Crossbar {
    const NAME: &'static str = "Crossbar";
    const SUMMARY: &'static str =
        "Request and reply networks between clusters and memory partitions";
    const PRESETS: &'static [Preset] = &[Preset {
        name: "fermi",
        summary: "Networks of the GTX 480. Source: GPGPU-Sim's SM2_GTX480 configuration",
        ron: include_str!("../../../scenarios/presets/fermi/crossbar.ron"),
    }];
    type Spec = CrossbarSpec;

    fn build(spec: CrossbarSpec, environment: &Environment) -> Result<Self, SpecError> {
        spec.check()?;
        for (field, network, ports) in [
            ("request", &spec.request, (spec.up_ports, spec.down_ports)),
            ("reply", &spec.reply, (spec.down_ports, spec.up_ports)),
        ] {
            environment.charge(field, network.buffered_flits(ports.0, ports.1) * FLIT_BYTES)?;
        }
        let (up, down) = (spec.up_ports as usize, spec.down_ports as usize);
        let place = |field, number| NetworkPlace {
            field,
            environment,
            number,
        };
        Ok(Self {
            up: (0..up).map(|_| MemSlave::default()).collect(),
            down: (0..down).map(|_| MemMaster::default()).collect(),
            request: LazyNetwork::new(Network::new(up, down, &spec.request, &place("request", 0))?),
            reply: LazyNetwork::new(Network::new(down, up, &spec.reply, &place("reply", 1))?),
            outstanding: Outstanding::new(spec.up_ports, spec.outstanding),
            evaluations: 0,
            spec,
        })
    }
}

impl Component for Crossbar {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.evaluations += 1;
        self.take_responses(ctx);
        let freed_down = self.move_replies(ctx);
        // After the replies, whose departure frees table entries.
        self.take_requests(ctx);
        let freed_up = self.move_requests(ctx);
        for (network, broken) in [
            ("request", self.request.broken()),
            ("reply", self.reply.broken()),
        ] {
            if let Some(broken) = broken {
                ctx.fail(format!("the arbiter of the {network} network: {broken}"));
            }
        }
        self.next(ctx, freed_up, freed_down)
    }

    fn evaluation_cost(&self) -> u64 {
        // 900 instructions and 1000 for each flit that leaves; a guess before the first.
        let flits = self.request.flits_delivered().iter();
        let flits: u64 = flits.chain(self.reply.flits_delivered()).sum();
        let ports = u64::from(self.spec.up_ports + self.spec.down_ports);
        let load = (flits * 10).checked_div(self.evaluations);
        9 + load.unwrap_or(4 * ports)
    }

    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        Some(self)
    }

    fn functional(&mut self) -> Option<&mut dyn Functional> {
        Some(self)
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Negotiate for Crossbar {
    fn facts(&self, port: PortId, facts: &mut Facts) {
        let Some(number) = port.number.filter(|_| is_request(port)) else {
            return;
        };
        if port.name == Self::DOWN {
            let interleave = self.spec.interleave;
            facts.publish_from("interleave", Slice { interleave, number });
        } else {
            facts.publish_from("up_ports", NetworkPort(number));
        }
    }

    fn learn(&mut self, port: PortId, facts: &Facts) -> Result<(), Unfit> {
        if port.name == Self::UP {
            hold_whole_lines(facts, self.spec.interleave)?;
        }
        Ok(())
    }

    fn passage(&self, port: PortId, facts: &mut Facts) -> Option<u32> {
        facts.withdraw::<Slice>();
        facts.withdraw::<NetworkPort>();
        is_request(port).then_some(0)
    }
}

impl Functional for Crossbar {
    fn functional_access(
        &mut self,
        port: PortId,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), FunctionalError> {
        let slice = match message.downcast_ref::<MemRequest>() {
            Some(request) => self.spec.interleave.slice(request.line),
            None => 0,
        };
        forward_functional(
            port,
            message,
            Self::DOWN.at(slice).member(MemMaster::REQUEST),
            onward,
        )
    }
}

impl Inspect for Crossbar {
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
        let per_slice = self.outstanding.per_slice(self.down.len());
        for (slice, waiting) in per_slice.iter().enumerate().filter(|(_, n)| **n > 0) {
            waits.on_port(
                Self::DOWN.at(slice as u32).member(MemMaster::RESPONSE),
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
            let Some(port) = self.outstanding.answer(&response, slice as u32) else {
                ctx.fail(format!(
                    "down[{slice}] sent a response with id {}, which matches no outstanding request: {response:?}",
                    response.id
                ));
                continue;
            };
            let bytes = response.wire_bytes();
            let parcel = PacketInfo {
                input: slice,
                output: port,
                flits: self.spec.flits(&self.spec.reply, bytes),
                bytes,
            };
            self.reply.offer(ctx.cycle(), parcel, response);
        }
    }

    /// Steps the reply network; returns the inputs that finished accepting a packet.
    fn move_replies(&mut self, ctx: &mut Context<'_>) -> PortMask {
        let now = ctx.cycle();
        let (up, outstanding) = (&mut self.up, &mut self.outstanding);
        let steps = self.reply.step(now, |port, mut response, _| {
            let up = &mut up[port].response;
            if !up.can_send(ctx) {
                return false;
            }
            response.id = outstanding.release(&response, now);
            up.send(ctx, response);
            true
        });
        if steps { self.reply.freed() } else { 0 }
    }

    fn take_requests(&mut self, ctx: &mut Context<'_>) {
        let now = ctx.cycle();
        for port in ports(self.request.accepting()) {
            let up = &mut self.up[port];
            let Some(request) = up.request.peek(ctx) else {
                continue;
            };
            if request.kind.wants_response() && !self.outstanding.admits(port, now) {
                continue;
            }
            self.outstanding.end_stall(port, now);
            let mut request = up.request.pop(ctx).expect("peeked above");
            let slice = self.spec.interleave.slice(request.line);
            request.id = if request.kind.wants_response() {
                self.outstanding.enter(port, &request, slice)
            } else {
                u32::MAX
            };
            let bytes = request.wire_bytes();
            let parcel = PacketInfo {
                input: port,
                output: slice as usize,
                flits: self.spec.flits(&self.spec.request, bytes),
                bytes,
            };
            self.request.offer(now, parcel, request);
        }
    }

    /// Steps the request network; returns the inputs that finished accepting a packet.
    fn move_requests(&mut self, ctx: &mut Context<'_>) -> PortMask {
        let now = ctx.cycle();
        let (down, outstanding) = (&mut self.down, &mut self.outstanding);
        let steps = self.request.step(now, |slice, request, _| {
            let down = &mut down[slice].request;
            let takes = down.can_send(ctx);
            if takes {
                outstanding.send(request.id, now);
                down.send(ctx, request);
            }
            takes
        });
        if steps { self.request.freed() } else { 0 }
    }

    fn next(&mut self, ctx: &Context<'_>, freed_up: PortMask, freed_down: PortMask) -> Next {
        let now = ctx.cycle();
        let first = self.request.next_event(now).min(self.reply.next_event(now));
        // An input that finished a packet in this cycle may take the next one, if it is there.
        let another = || {
            ports(freed_up).any(|p| self.up[p].request.peek(ctx).is_some())
                || ports(freed_down).any(|p| self.down[p].response.peek(ctx).is_some())
        };
        if first == now + 1 || another() {
            return Next::Busy;
        }
        match Some(first).filter(|first| *first != Cycle::MAX) {
            Some(cycle) => Next::Until(cycle),
            None if self.request.is_blocked() || self.reply.is_blocked() => Next::Credit,
            None if !self.outstanding.is_empty() => Next::Message,
            None => Next::Idle,
        }
    }
}

#[cfg(test)]
mod tests;
