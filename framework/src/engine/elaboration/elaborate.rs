//! Elaboration checks, and connection of the ports of a system that passes them.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use warpweave_params::nearest;

use crate::channel::{ChannelTerms, Direction, End, Link, Ports, Width};
use crate::component::{Component, Origin};
use crate::engine::elaboration::builder::{NewInstance, NewWire, SystemBuilder};
use crate::engine::elaboration::error::{ElaborationError, ElaborationErrors};
use crate::engine::elaboration::port_list::{Member, PortShape};
use crate::engine::partition::Place;
use crate::engine::simulation::{ChannelInfo, Instance, Simulation};
use crate::evaluation::Target;
use crate::time::{ClockSetError, Frequency, TimeBase};
use crate::world::WorldDriver;

/// Instance and port number within the instance.
pub(super) type PortAt = (usize, usize);

/// Connection state of one port of one instance.
#[derive(Clone, Copy, Default)]
pub(super) struct PortUse {
    pub(super) wired: bool,
    /// True if some wire names the port, even a faulty one; the mistake is then reported once, at
    /// the wire.
    named: bool,
}

/// One channel: an output and an input port, as (component, port ordinal).
pub(super) struct Channel {
    pub(super) from: PortAt,
    pub(super) to: PortAt,
    link: Link,
}

/// An instance and those of its ports that an address denotes.
type Meant = (usize, Arc<[Member]>);

pub(super) struct Elaboration {
    clocks: Vec<(String, Frequency)>,
    pub(super) instances: Vec<NewInstance>,
    wires: Vec<NewWire>,
    /// Addresses of intentionally unwired ports, with the place of each declaration.
    pub(super) unwired: Vec<(String, Option<Origin>)>,
    /// Intentionally unwired ports by instance and port.
    pub(super) meant_unwired: BTreeSet<PortAt>,
    /// Connection states of the ports of all instances, instance by instance.
    uses: Vec<PortUse>,
    /// Index in `uses` of the first port of each instance.
    first_use: Vec<usize>,
    by_path: FxHashMap<Arc<str>, usize>,
    pub(super) channels: Vec<Channel>,
    world: Option<WorldDriver>,
    pub(super) errors: Vec<ElaborationError>,
}

impl SystemBuilder {
    /// Checks the system as a whole and creates a simulation.
    ///
    /// # Errors
    /// Returns all errors of these kinds: duplicate paths, unusable clock sets, and wires that name
    /// unknown instances or ports. Further kinds are ports left unconnected or connected twice and
    /// mismatched directions or message types. Latencies, widths or capacities of zero are errors
    /// too.
    pub fn elaborate(self) -> Result<Simulation, ElaborationErrors> {
        Elaboration::new(self).run()
    }
}

impl Elaboration {
    pub(super) fn new(builder: SystemBuilder) -> Self {
        Self {
            clocks: builder.clocks,
            instances: builder.instances,
            wires: builder.wires,
            unwired: builder.unwired,
            meant_unwired: BTreeSet::new(),
            uses: Vec::new(),
            first_use: Vec::new(),
            by_path: FxHashMap::default(),
            channels: Vec::new(),
            world: builder.world,
            errors: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Result<Simulation, ElaborationErrors> {
        let time = TimeBase::new(&self.clocks);
        if let Err(error) = &time {
            let hint = matches!(error, ClockSetError::TooWild { .. })
                .then(|| "write derived clocks as ratios, such as \"28/15 GHz\"".to_owned());
            self.error(error.to_string(), hint, None);
        }
        self.name_clocks();
        self.name_instances();
        self.list_ports();
        self.resolve_wires();
        self.find_unconnected();
        self.note_unwired();
        if self.errors.is_empty() {
            self.check_claims();
            self.exchange_facts();
        }
        match time {
            Ok(time) if self.errors.is_empty() => self.bind(time),
            _ => Err(ElaborationErrors(self.errors)),
        }
    }

    pub(super) fn error(&mut self, message: String, hint: Option<String>, origin: Option<Origin>) {
        self.errors
            .push(ElaborationError::new(message, hint, origin));
    }

    fn name_clocks(&mut self) {
        for i in 0..self.clocks.len() {
            let name = &self.clocks[i].0;
            if self.clocks[..i].iter().any(|(before, _)| before == name) {
                self.error(format!("two clocks are named `{name}`"), None, None);
            }
        }
    }

    fn name_instances(&mut self) {
        for i in 0..self.instances.len() {
            let (path, origin) = (&self.instances[i].path, self.instances[i].origin);
            if let Entry::Vacant(entry) = self.by_path.entry(Arc::clone(path)) {
                entry.insert(i);
            } else {
                let path = &self.instances[i].path;
                self.error(format!("two instances are named `{path}`"), None, origin);
            }
        }
    }

    fn list_ports(&mut self) {
        let mut first = 0;
        for instance in &self.instances {
            self.first_use.push(first);
            first += instance.ports.ports.len();
        }
        self.uses = vec![PortUse::default(); first];
        for NewInstance {
            path,
            kind,
            ports,
            origin,
            ..
        } in &self.instances
        {
            for name in ports.named_twice() {
                let message = format!("`{path}` ({kind}) has two ports named `{name}`");
                self.errors
                    .push(ElaborationError::new(message, None, *origin));
            }
        }
    }

    fn resolve_wires(&mut self) {
        for NewWire {
            ends: [a, b],
            link,
            origin,
        } in std::mem::take(&mut self.wires)
        {
            self.check_link(&a, &b, &link, origin);
            let ends = (self.find(&a, origin), self.find(&b, origin));
            for (instance, members) in [&ends.0, &ends.1].into_iter().flatten() {
                for (at, _) in &**members {
                    self.use_mut((*instance, *at)).named = true;
                }
            }
            if let (Some(a_ports), Some(b_ports)) = ends {
                self.pair((&a, a_ports), (&b, b_ports), link, origin);
            }
        }
    }

    fn check_link(&mut self, a: &str, b: &str, link: &Link, origin: Option<Origin>) {
        let zero_width = matches!(link.width, Width::Messages(0) | Width::Bytes(0));
        for (zero, what, hint) in [
            (
                link.latency == 0,
                "latency 0",
                "a wire takes at least one cycle; RTL-like zero-time \
              wires are `Signal`s",
            ),
            (
                link.credit_latency == 0,
                "credit latency 0",
                "a credit takes at least one cycle",
            ),
            (
                link.capacity == Some(0),
                "capacity 0",
                "a channel holds at least one message",
            ),
            (zero_width, "width 0", "a wire of width 0 carries nothing"),
        ] {
            if zero {
                let message = format!("the wire `{a}` to `{b}` has {what}");
                self.error(message, Some(hint.to_owned()), origin);
            }
        }
        const CAPACITY_MAX: u32 = 1 << 24;
        if link.capacity.unwrap_or_else(|| link.full_rate_capacity()) > CAPACITY_MAX {
            let message =
                format!("the wire `{a}` to `{b}` holds more than {CAPACITY_MAX} messages");
            self.error(
                message,
                Some("specify a smaller capacity or latency".to_owned()),
                origin,
            );
        }
    }

    /// Returns the ports denoted by `instance.port`: one port, or the ports of a bundle.
    pub(super) fn find(&mut self, address: &str, origin: Option<Origin>) -> Option<Meant> {
        let mut dots = (address.bytes().enumerate().rev()).filter(|(_, c)| *c == b'.');
        let split = dots.find_map(|(at, _)| {
            self.by_path
                .get(&address[..at])
                .map(|i| (*i, &address[at + 1..]))
        });
        let Some((instance, port)) = split else {
            if let Some(instance) = self.by_path.get(address) {
                let names = self.instances[*instance].ports.connectable().join(", ");
                let hint = format!("its ports are {names}");
                let message = format!("`{address}` is an instance; a wire must end at a port");
                self.error(message, Some(hint), origin);
                return None;
            }
            let known = self.instances.iter().map(|instance| &*instance.path);
            let mut known: Vec<&str> = known.collect();
            known.sort_unstable();
            let wanted = address.rsplit_once('.').map_or(address, |(path, _)| path);
            let hint = nearest(wanted, known).map(|n| format!("did you mean `{n}`?"));
            self.error(
                format!("`{address}` names an instance that does not exist"),
                hint,
                origin,
            );
            return None;
        };
        let ports = Arc::clone(&self.instances[instance].ports);
        let members = ports.find(port);
        if members.is_empty() {
            let path = &self.instances[instance].path;
            let kind = &self.instances[instance].kind;
            let message = format!("`{path}` ({kind}) has no port `{port}`");
            let names = ports.connectable();
            let hint = format!(
                "{}its ports are {}",
                nearest(port, names.iter().map(|name| &**name))
                    .map_or(String::new(), |n| format!("did you mean `{n}`? ")),
                names.join(", ")
            );
            self.error(message, Some(hint), origin);
            return None;
        }
        Some((instance, members))
    }

    fn pair(
        &mut self,
        (a_name, (a, a_ports)): (&str, Meant),
        (b_name, (b, b_ports)): (&str, Meant),
        link: Link,
        origin: Option<Origin>,
    ) {
        if a_ports.len() != b_ports.len() {
            let shape = |n: usize| if n == 1 { "one port" } else { "a bundle" };
            let message = format!(
                "`{a_name}` is {} ({} in all) and `{b_name}` is {} ({})",
                shape(a_ports.len()),
                a_ports.len(),
                shape(b_ports.len()),
                b_ports.len()
            );
            self.error(
                message,
                Some(
                    "connect a port to a port, and a bundle to a bundle of the same size"
                        .to_owned(),
                ),
                origin,
            );
            return;
        }
        let lists = [a, b].map(|instance| Arc::clone(&self.instances[instance].ports));
        let [a_suffix, b_suffix] = lists
            .each_ref()
            .map(|list| |(at, from): Member| -> &str { &list.ports[at].name[from..] });
        for a_port in &*a_ports {
            let suffix = a_suffix(*a_port);
            let Some(b_port) = b_ports.iter().find(|port| b_suffix(**port) == suffix) else {
                let message =
                    format!("`{b_name}` has no member `{suffix}` to match that of `{a_name}`");
                self.error(message, None, origin);
                continue;
            };
            self.pair_ports((a, a_port.0), (b, b_port.0), link, origin);
        }
    }

    fn pair_ports(&mut self, a: PortAt, b: PortAt, link: Link, origin: Option<Origin>) {
        let (from, to) = match (self.port(a).direction, self.port(b).direction) {
            (Direction::Output, Direction::Input) => (a, b),
            (Direction::Input, Direction::Output) => (b, a),
            (one, _) => {
                let what = if one == Direction::Output {
                    "send"
                } else {
                    "receive"
                };
                let message = format!("`{}` and `{}` both {what}", self.name(a), self.name(b));
                let hint = "a wire connects an output to an input".to_owned();
                self.error(message, Some(hint), origin);
                return;
            }
        };
        if self.port(from).message.0 != self.port(to).message.0 {
            let message = format!(
                "`{}` sends {} but `{}` receives {}",
                self.name(from),
                self.port(from).message.1,
                self.name(to),
                self.port(to).message.1
            );
            self.error(
                message,
                Some("the two ports use different protocols".to_owned()),
                origin,
            );
            return;
        }
        for end in [from, to] {
            if self.is_wired(end) && !self.port(end).fans_out {
                let message = format!("`{}` is connected twice", self.name(end));
                let hint =
                    "a port can have only one wire; use a crossbar, a fan-out or another port";
                self.error(message, Some(hint.to_owned()), origin);
                return;
            }
        }
        for end in [from, to] {
            self.use_mut(end).wired = true;
        }
        self.channels.push(Channel { from, to, link });
    }

    pub(super) fn port(&self, (instance, port): PortAt) -> &PortShape {
        &self.instances[instance].ports.ports[port]
    }

    /// True if a wire ends at the port.
    pub(super) fn is_wired(&self, at: PortAt) -> bool {
        self.uses[self.number(at)].wired
    }

    fn use_mut(&mut self, at: PortAt) -> &mut PortUse {
        let number = self.number(at);
        &mut self.uses[number]
    }

    /// Returns the number of a port among all ports.
    pub(super) fn number(&self, (instance, port): PortAt) -> usize {
        self.first_use[instance] + port
    }

    /// Returns the number of ports of all instances.
    pub(super) fn port_count(&self) -> usize {
        self.uses.len()
    }

    pub(super) fn name(&self, at: PortAt) -> String {
        format!("{}.{}", self.instances[at.0].path, self.port(at).name)
    }

    fn find_unconnected(&mut self) {
        for (instance, first) in self.instances.iter().zip(&self.first_use) {
            for (port, made) in instance.ports.ports.iter().zip(&self.uses[*first..]) {
                if made.wired || made.named || port.optional {
                    continue;
                }
                let (path, kind) = (&instance.path, &instance.kind);
                let message = format!("port `{path}.{}` ({kind}) is not connected", port.name);
                let error = ElaborationError::new(message, None, instance.origin);
                self.errors.push(error);
            }
        }
    }

    fn bind(mut self, time: TimeBase) -> Result<Simulation, ElaborationErrors> {
        let mut targets = Vec::with_capacity(self.instances.len());
        let mut sizes = vec![0u32; self.clocks.len()];
        for instance in &self.instances {
            let domain = instance.clock.0;
            targets.push(Target {
                domain,
                index: sizes[domain as usize],
            });
            sizes[domain as usize] += 1;
        }
        let mut infos = Vec::with_capacity(self.channels.len());
        let mut terms = Vec::with_capacity(self.channels.len());
        // By the number of the port: its channel, or the first and last of those it writes.
        let mut inputs = vec![None; self.port_count()];
        let mut outputs: Vec<Option<(usize, usize)>> = vec![None; self.port_count()];
        // By channel: the next one of the same output.
        let mut another = vec![None; self.channels.len()];
        for (number, channel) in self.channels.iter().enumerate() {
            let link = &channel.link;
            let (sender, receiver) = (targets[channel.from.0], targets[channel.to.0]);
            inputs[self.number(channel.to)] = Some(number);
            match &mut outputs[self.number(channel.from)] {
                Some((_, last)) => another[std::mem::replace(last, number)] = Some(number),
                none => *none = Some((number, number)),
            }
            terms.push(ChannelTerms {
                capacity: link.capacity.unwrap_or_else(|| link.full_rate_capacity()),
                latency_cycles: link.latency,
                credit_cycles: link.credit_latency,
                width: link.width,
                sender,
                receiver,
                sender_period: time.period(sender.domain as usize),
                receiver_period: time.period(receiver.domain as usize),
                channel: number as u32,
            });
            infos.push(ChannelInfo {
                from: (
                    channel.from.0 as u32,
                    Arc::clone(&self.port(channel.from).name),
                ),
                to: (channel.to.0 as u32, Arc::clone(&self.port(channel.to).name)),
                link: *link,
                published: self.port(channel.from).fans_out,
                tapped: false,
            });
        }
        // Ports are visited in the order of their numbers.
        let mut ends: Vec<Option<Box<dyn std::any::Any>>> = Vec::new();
        ends.resize_with(terms.len(), || None);
        let mut outputs = outputs.into_iter();
        for instance in &mut self.instances {
            let mut shapes = instance.ports.ports.iter();
            let mut as_listed = true;
            instance.component.ports(&mut Ports::nameless(&mut |port| {
                as_listed &= shapes.next().is_some_and(|shape| shape.is_alike(&port));
                let mut next = outputs.next().flatten().map(|(first, _)| first);
                while let Some(number) = next {
                    if let End::Output(output) = port.port.end() {
                        ends[number] = Some(output.make_channel(&terms[number]));
                    }
                    next = another[number];
                }
            }));
            assert!(
                as_listed && shapes.next().is_none(),
                "`{}` ({}) has different ports than the instance it was declared to be like",
                instance.path,
                instance.kind
            );
        }
        let mut inputs = inputs.into_iter();
        for instance in &mut self.instances {
            instance.component.ports(&mut Ports::nameless(&mut |port| {
                if let Some(number) = inputs.next().flatten() {
                    let end = ends[number]
                        .take()
                        .expect("every output created its channel");
                    if let End::Input(input) = port.port.end() {
                        input.take_end(end, &terms[number]);
                    }
                }
            }));
        }
        for i in 0..self.instances.len() {
            if let Some(component) = self.instances[i].component.negotiation()
                && let Err(problem) = component.elaborated()
            {
                self.unfit(i, problem);
            }
        }
        if !self.errors.is_empty() {
            return Err(ElaborationErrors(self.errors));
        }
        let unwired = self.unwired_ports();
        let mut components: Vec<Vec<Box<dyn Component>>> = Vec::new();
        components.resize_with(self.clocks.len(), Vec::new);
        let mut instances = Vec::with_capacity(self.instances.len());
        for (instance, target) in self.instances.into_iter().zip(targets) {
            components[target.domain as usize].push(instance.component);
            instances.push(Instance {
                path: instance.path,
                kind: instance.kind,
                place: Place {
                    partition: 0,
                    target,
                },
            });
        }
        let names = self.clocks.into_iter().map(|(name, _)| name).collect();
        if let Some(world) = &self.world {
            world.set_periods((0..components.len()).map(|d| time.period(d)).collect());
        }
        Ok(Simulation::new(
            time, names, components, instances, infos, self.world, unwired,
        ))
    }
}
