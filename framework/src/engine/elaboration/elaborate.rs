//! The checks of elaboration, and joining the ports of a system that passes them.

use std::any::TypeId;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use warpweave_params::nearest;

use crate::channel::{ChannelTerms, Direction, End, Link, Ports, Width};
use crate::component::{Component, Origin};
use crate::engine::elaboration::builder::{NewInstance, NewWire, SystemBuilder};
use crate::engine::elaboration::error::{ElaborationError, ElaborationErrors};
use crate::engine::elaboration::listing::bundle_names;
use crate::engine::partition::Place;
use crate::engine::simulation::{ChannelInfo, Instance, Simulation};
use crate::evaluation::Target;
use crate::time::{ClockSetError, Frequency, TimeBase};
use crate::world::WorldDriver;

pub(super) struct PortInfo {
    pub(super) name: String,
    pub(super) direction: Direction,
    message: (TypeId, &'static str),
    pub(super) optional: bool,
    /// What the component does without it, if that is likely to be missed.
    pub(super) unwired: Option<&'static str>,
    pub(super) wire: Option<usize>,
    fans_out: bool,
    /// Some wire names it, even if that wire is wrong: the mistake is reported once, there.
    named: bool,
}

/// One channel: an output and an input port, as (component, port ordinal).
pub(super) struct Channel {
    pub(super) from: (usize, usize),
    pub(super) to: (usize, usize),
    link: Link,
}

pub(super) struct Elaboration {
    clocks: Vec<(String, Frequency)>,
    pub(super) instances: Vec<NewInstance>,
    wires: Vec<NewWire>,
    /// Addresses of ports that are meant to stay without a wire, and where that is said.
    pub(super) unwired: Vec<(String, Option<Origin>)>,
    /// The same by instance and port.
    pub(super) meant_unwired: BTreeSet<(usize, usize)>,
    pub(super) ports: Vec<Vec<PortInfo>>,
    by_path: BTreeMap<String, usize>,
    pub(super) channels: Vec<Channel>,
    world: Option<WorldDriver>,
    pub(super) errors: Vec<ElaborationError>,
}

impl Elaboration {
    pub(super) fn new(builder: SystemBuilder) -> Self {
        Self {
            clocks: builder.clocks,
            instances: builder.instances,
            wires: builder.wires,
            unwired: builder.unwired,
            meant_unwired: BTreeSet::new(),
            ports: Vec::new(),
            by_path: BTreeMap::new(),
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
            self.tell_facts();
        }
        match time {
            Ok(time) if self.errors.is_empty() => self.bind(time),
            _ => Err(ElaborationErrors(self.errors)),
        }
    }

    pub(super) fn error(&mut self, message: String, hint: Option<String>, origin: Option<Origin>) {
        self.errors.push(ElaborationError {
            message,
            hint,
            origin,
            field: String::new(),
            related: Vec::new(),
        });
    }

    fn name_clocks(&mut self) {
        for i in 0..self.clocks.len() {
            let name = &self.clocks[i].0;
            if self.clocks[..i].iter().any(|(before, _)| before == name) {
                self.error(format!("two clocks are called `{name}`"), None, None);
            }
        }
    }

    fn name_instances(&mut self) {
        for i in 0..self.instances.len() {
            let (path, origin) = (self.instances[i].path.clone(), self.instances[i].origin);
            if let Entry::Vacant(entry) = self.by_path.entry(path) {
                entry.insert(i);
            } else {
                let path = &self.instances[i].path;
                self.error(format!("two instances are called `{path}`"), None, origin);
            }
        }
    }

    fn list_ports(&mut self) {
        for instance in &mut self.instances {
            let mut list = Vec::new();
            instance.component.ports(&mut Ports::new(&mut |port| {
                list.push(PortInfo {
                    name: port.name.to_owned(),
                    direction: port.port.direction(),
                    message: port.port.message_type(),
                    optional: port.optional,
                    unwired: port.unwired,
                    wire: None,
                    fans_out: port.port.fans_out(),
                    named: false,
                });
            }));
            self.ports.push(list);
        }
        for i in 0..self.instances.len() {
            let mut names: Vec<_> = self.ports[i].iter().map(|p| p.name.clone()).collect();
            names.sort_unstable();
            let twice: Vec<_> = names.windows(2).filter(|w| w[0] == w[1]).collect();
            for pair in twice {
                let NewInstance { path, kind, .. } = &self.instances[i];
                let message = format!("`{path}` ({kind}) names two ports `{}`", pair[0]);
                self.error(message, None, self.instances[i].origin);
            }
        }
    }

    fn resolve_wires(&mut self) {
        for w in 0..self.wires.len() {
            let NewWire {
                ends: [a, b],
                link,
                origin,
            } = &self.wires[w];
            let (a, b, link, origin) = (a.clone(), b.clone(), *link, *origin);
            self.check_link(&a, &b, &link, origin);
            let ends = (self.find(&a, origin), self.find(&b, origin));
            for (instance, members) in [&ends.0, &ends.1].into_iter().flatten() {
                for (at, _) in members {
                    self.ports[*instance][*at].named = true;
                }
            }
            if let (Some(a_ports), Some(b_ports)) = ends {
                self.pair(w, (&a, a_ports), (&b, b_ports), link, origin);
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
                Some("state a smaller capacity or latency".to_owned()),
                origin,
            );
        }
    }

    /// Ports meant by `instance.port`: one port (with an empty suffix) or the ports of a bundle
    /// with what follows the bundle's name.
    pub(super) fn find(
        &mut self,
        address: &str,
        origin: Option<Origin>,
    ) -> Option<(usize, Vec<(usize, String)>)> {
        let split = address.rmatch_indices('.').find_map(|(at, _)| {
            self.by_path
                .get(&address[..at])
                .map(|i| (*i, &address[at + 1..]))
        });
        let Some((instance, port)) = split else {
            if let Some(instance) = self.by_path.get(address) {
                let names = bundle_names(self.ports[*instance].iter().map(|p| p.name.as_str()));
                let hint = format!("its ports are {}", names.join(", "));
                let message = format!("`{address}` is an instance; a wire ends at a port");
                self.error(message, Some(hint), origin);
                return None;
            }
            let known = self.by_path.keys().map(String::as_str);
            let wanted = address.rsplit_once('.').map_or(address, |(path, _)| path);
            let hint = nearest(wanted, known).map(|n| format!("did you mean `{n}`?"));
            self.error(
                format!("`{address}` names an instance that does not exist"),
                hint,
                origin,
            );
            return None;
        };
        let ports = &self.ports[instance];
        if let Some(at) = ports.iter().position(|p| p.name == port) {
            return Some((instance, vec![(at, String::new())]));
        }
        let members: Vec<_> = ports
            .iter()
            .enumerate()
            .filter_map(|(at, p)| {
                let suffix = p.name.strip_prefix(port)?.strip_prefix('.')?;
                Some((at, suffix.to_owned()))
            })
            .collect();
        if members.is_empty() {
            let path = &self.instances[instance].path;
            let kind = &self.instances[instance].kind;
            let message = format!("`{path}` ({kind}) has no port `{port}`");
            let names = bundle_names(ports.iter().map(|p| p.name.as_str()));
            let hint = format!(
                "{}its ports are {}",
                nearest(port, names.iter().map(String::as_str))
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
        wire: usize,
        (a_name, (a, a_ports)): (&str, (usize, Vec<(usize, String)>)),
        (b_name, (b, b_ports)): (&str, (usize, Vec<(usize, String)>)),
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
            self.error(message, Some("wire like to like".to_owned()), origin);
            return;
        }
        for (a_port, suffix) in &a_ports {
            let Some((b_port, _)) = b_ports.iter().find(|(_, s)| s == suffix) else {
                let message = format!("`{b_name}` has no part `{suffix}` to join `{a_name}`'s");
                self.error(message, None, origin);
                continue;
            };
            self.pair_ports(wire, (a, *a_port), (b, *b_port), link, origin);
        }
    }

    fn pair_ports(
        &mut self,
        wire: usize,
        a: (usize, usize),
        b: (usize, usize),
        link: Link,
        origin: Option<Origin>,
    ) {
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
                let hint = "a wire joins an output and an input".to_owned();
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
                Some("the two ports speak different protocols".to_owned()),
                origin,
            );
            return;
        }
        for end in [from, to] {
            if self.port(end).wire.is_some() && !self.port(end).fans_out {
                let message = format!("`{}` is connected twice", self.name(end));
                let hint = "a port has one wire; use a crossbar, a fan-out or another port";
                self.error(message, Some(hint.to_owned()), origin);
                return;
            }
        }
        self.ports[from.0][from.1].wire = Some(wire);
        self.ports[to.0][to.1].wire = Some(wire);
        self.channels.push(Channel { from, to, link });
    }

    pub(super) fn port(&self, (instance, port): (usize, usize)) -> &PortInfo {
        &self.ports[instance][port]
    }

    pub(super) fn name(&self, at: (usize, usize)) -> String {
        format!("{}.{}", self.instances[at.0].path, self.port(at).name)
    }

    fn find_unconnected(&mut self) {
        for i in 0..self.instances.len() {
            let loose: Vec<_> = self.ports[i]
                .iter()
                .filter(|p| p.wire.is_none() && !p.named && !p.optional)
                .map(|p| p.name.clone())
                .collect();
            for name in loose {
                let (path, kind) = (&self.instances[i].path, &self.instances[i].kind);
                let message = format!("port `{path}.{name}` ({kind}) is not connected");
                self.error(message, None, self.instances[i].origin);
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
        let mut outputs: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        let mut inputs = BTreeMap::new();
        for (number, channel) in self.channels.iter().enumerate() {
            let link = &channel.link;
            let (sender, receiver) = (targets[channel.from.0], targets[channel.to.0]);
            outputs.entry(channel.from).or_default().push(number);
            inputs.insert(channel.to, number);
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
                from: (channel.from.0 as u32, self.port(channel.from).name.clone()),
                to: (channel.to.0 as u32, self.port(channel.to).name.clone()),
                link: *link,
                published: self.port(channel.from).fans_out,
                tapped: false,
            });
        }
        let mut ends: Vec<Option<Box<dyn std::any::Any>>> = Vec::new();
        ends.resize_with(terms.len(), || None);
        for (i, instance) in self.instances.iter_mut().enumerate() {
            let mut ordinal = 0;
            instance.component.ports(&mut Ports::new(&mut |port| {
                for number in outputs.get(&(i, ordinal)).into_iter().flatten() {
                    if let End::Output(output) = port.port.end() {
                        ends[*number] = Some(output.make_channel(&terms[*number]));
                    }
                }
                ordinal += 1;
            }));
        }
        for (i, instance) in self.instances.iter_mut().enumerate() {
            let mut ordinal = 0;
            instance.component.ports(&mut Ports::new(&mut |port| {
                if let Some(number) = inputs.get(&(i, ordinal)) {
                    let end = ends[*number].take().expect("every output made its channel");
                    if let End::Input(input) = port.port.end() {
                        input.take_end(end, &terms[*number]);
                    }
                }
                ordinal += 1;
            }));
        }
        for i in 0..self.instances.len() {
            if let Err(problem) = self.instances[i].component.elaborated() {
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
