//! Delivery of facts along wires, and checks of exclusive claims.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::channel::Direction;
use crate::component::{Beside, Claim, Claims, Facts, Unfit};
use crate::engine::elaboration::builder::NewInstance;
use crate::engine::elaboration::elaborate::{Elaboration, PortAt};
use crate::engine::elaboration::error::{ElaborationError, RelatedOrigin};
use crate::engine::elaboration::port_list::first_name;
use crate::engine::simulation::SystemWarning;

/// Ports of one instance that pass facts on; true if the facts travel with the messages, false if
/// against them.
type Passage = (usize, u32, bool);

/// Ports at the other ends of the wires of every port.
struct Listeners {
    /// Index in `all` of the first listener of each port, by port number, followed by the end of
    /// the last.
    first: Vec<usize>,
    /// Listening ports in the order of the wires.
    all: Vec<PortAt>,
}

impl Listeners {
    fn of(&self, port: usize) -> &[PortAt] {
        &self.all[self.first[port]..self.first[port + 1]]
    }
}

impl Elaboration {
    /// Records that a component rejects its connections.
    pub(super) fn unfit(&mut self, instance: usize, problem: Unfit) {
        let Unfit {
            field,
            message,
            beside,
        } = problem;
        let related = beside.into_iter().map(|(message, there)| match there {
            Beside::Instance(stated) => RelatedOrigin {
                message,
                origin: self.instances[stated.instance].origin,
                field: stated.field.into_owned(),
            },
            Beside::Elsewhere(origin) => RelatedOrigin {
                message,
                origin: Some(origin),
                field: String::new(),
            },
        });
        let related = related.collect();
        let NewInstance {
            path, kind, origin, ..
        } = &self.instances[instance];
        let at = if field.is_empty() {
            String::new()
        } else {
            format!("{field}: ")
        };
        self.errors.push(ElaborationError {
            message: format!("`{path}` ({kind}): {at}{message}"),
            hint: None,
            origin: *origin,
            field,
            related,
        });
    }

    /// Delivers the facts of every port to the other end of its wire, and through passages to the
    /// components beyond. A passage does not forward the same fact twice.
    pub(super) fn exchange_facts(&mut self) {
        let listeners = self.listeners();
        let mut passed: BTreeMap<Passage, Vec<Facts>> = BTreeMap::new();
        let mut under_way = VecDeque::new();
        for speaker in self.ports_in_order() {
            if listeners.of(self.number(speaker)).is_empty() {
                continue;
            }
            let port = self.port(speaker).id;
            let NewInstance {
                path, component, ..
            } = &mut self.instances[speaker.0];
            let Some(component) = component.negotiation() else {
                continue;
            };
            let mut facts = Facts::new();
            component.facts(port, &mut facts);
            if facts.is_empty() {
                continue;
            }
            facts.said_by(speaker.0, path);
            under_way.push_back((speaker, facts));
            while let Some((from, facts)) = under_way.pop_front() {
                for listener in listeners.of(self.number(from)) {
                    self.deliver(*listener, &facts);
                    self.pass_on(*listener, &facts, &mut passed, &mut under_way);
                }
            }
        }
    }

    /// Iterates over every port of every instance.
    fn ports_in_order(&self) -> impl Iterator<Item = PortAt> + use<> {
        let counts: Vec<usize> = (self.instances.iter())
            .map(|instance| instance.ports.ports.len())
            .collect();
        let all = counts.into_iter().enumerate();
        all.flat_map(|(instance, ports)| (0..ports).map(move |port| (instance, port)))
    }

    fn listeners(&self) -> Listeners {
        let ends = || {
            let channels = self.channels.iter();
            channels.flat_map(|channel| {
                let (from, to) = (channel.from, channel.to);
                [(from, to), (to, from)]
            })
        };
        let mut first = vec![0; self.port_count() + 1];
        for (speaker, _) in ends() {
            first[self.number(speaker) + 1] += 1;
        }
        for number in 1..first.len() {
            first[number] += first[number - 1];
        }
        let mut next = first.clone();
        let mut all = vec![(0, 0); 2 * self.channels.len()];
        for (speaker, listener) in ends() {
            let next = &mut next[self.number(speaker)];
            all[*next] = listener;
            *next += 1;
        }
        Listeners { first, all }
    }

    fn deliver(&mut self, listener: PortAt, facts: &Facts) {
        let NewInstance {
            component, ports, ..
        } = &mut self.instances[listener.0];
        if let Some(component) = component.negotiation()
            && let Err(problem) = component.learn(ports.ports[listener.1].id, facts)
        {
            self.unfit(listener.0, problem);
        }
    }

    /// Forwards facts that have arrived at `listener` through the ports of its passage.
    fn pass_on(
        &mut self,
        listener: PortAt,
        facts: &Facts,
        passed: &mut BTreeMap<Passage, Vec<Facts>>,
        under_way: &mut VecDeque<(PortAt, Facts)>,
    ) {
        let arrived = self.port(listener);
        let (id, direction) = (arrived.id, arrived.direction);
        // Most let nothing pass. Where facts go depends on the port alone.
        let mut nothing = Facts::new();
        let mut facts = facts.clone();
        let Some(component) = self.instances[listener.0].component.negotiation() else {
            return;
        };
        let Some(passage) = component.passage(id, &mut facts) else {
            return;
        };
        let with_messages = direction == Direction::Input;
        let seen = (listener.0, passage, with_messages);
        let seen = passed.entry(seen).or_default();
        facts.withdraw_known(seen);
        if facts.is_empty() {
            return;
        }
        seen.push(facts.clone());
        let ports = Arc::clone(&self.instances[listener.0].ports);
        for (number, port) in ports.ports.iter().enumerate() {
            if port.direction == direction || !self.is_wired((listener.0, number)) {
                continue;
            }
            let component = self.instances[listener.0].component.negotiation();
            if component.and_then(|c| c.passage(port.id, &mut nothing)) == Some(passage) {
                under_way.push_back(((listener.0, number), facts.clone()));
            }
        }
    }

    /// Reports instances with conflicting exclusive claims, once for each pair.
    pub(super) fn check_claims(&mut self) {
        let mut spaces: BTreeMap<&str, Vec<(usize, Claim)>> = BTreeMap::new();
        for (number, instance) in self.instances.iter_mut().enumerate() {
            let mut claims = Claims::default();
            if let Some(component) = instance.component.negotiation() {
                component.claims(&mut claims);
            }
            for claim in claims.list {
                spaces.entry(claim.space).or_default().push((number, claim));
            }
        }
        let mut told = BTreeSet::new();
        for (space, mut claims) in spaces {
            claims.sort_by_key(|(number, claim)| (claim.range.start, *number));
            let mut farthest: Option<(usize, Claim)> = None;
            for (number, claim) in claims {
                if let Some((other, theirs)) = &farthest
                    && claim.range.start < theirs.range.end
                    && told.insert((number.min(*other), number.max(*other)))
                {
                    let problem = self.claimed_twice(space, (number, &claim), (*other, theirs));
                    self.errors.push(problem);
                }
                if farthest
                    .as_ref()
                    .is_none_or(|(_, theirs)| theirs.range.end < claim.range.end)
                {
                    farthest = Some((number, claim));
                }
            }
        }
    }

    fn claimed_twice(
        &self,
        space: &str,
        one: (usize, &Claim),
        other: (usize, &Claim),
    ) -> ElaborationError {
        let ((first, theirs), (later, claim)) = if one.0 < other.0 {
            (one, other)
        } else {
            (other, one)
        };
        let named = |claim: &Claim| {
            if claim.range.end - claim.range.start == 1 {
                format!("{space} {}", claim.range.start)
            } else {
                format!("{space} {:#x} to {:#x}", claim.range.start, claim.range.end)
            }
        };
        let (path, kind) = (&self.instances[later].path, &self.instances[later].kind);
        let theirs_path = &self.instances[first].path;
        let message = format!(
            "`{path}` ({kind}): {}: {} is also claimed by `{theirs_path}`",
            claim.field,
            named(claim)
        );
        let related = RelatedOrigin {
            message: format!("`{theirs_path}` has {}", named(theirs)),
            origin: self.instances[first].origin,
            field: theirs.field.clone().into_owned(),
        };
        ElaborationError {
            message,
            hint: None,
            origin: self.instances[later].origin,
            field: claim.field.clone().into_owned(),
            related: vec![related],
        }
    }

    /// Returns warnings for unwired optional ports whose absence changes the machine's behavior,
    /// one for each bundle.
    pub(super) fn unwired_ports(&self) -> Vec<SystemWarning> {
        let mut warnings = Vec::new();
        for (number, instance) in self.instances.iter().enumerate() {
            let mut told = BTreeSet::new();
            for (at, port) in instance.ports.ports.iter().enumerate() {
                let Some(consequence) = port.unwired.filter(|_| !self.is_wired((number, at)))
                else {
                    continue;
                };
                let meant = self.meant_unwired.contains(&(number, at));
                let name = first_name(&port.name);
                if meant || !told.insert(name) {
                    continue;
                }
                warnings.push(SystemWarning {
                    message: format!(
                        "port `{}.{name}` ({}) is not connected: {consequence}",
                        instance.path, instance.kind
                    ),
                    hint: Some("connect it, or declare it intentionally unconnected".into()),
                    origin: instance.origin,
                    unwired: Some(name.to_owned()),
                });
            }
        }
        warnings
    }

    /// Records the ports that are intentionally unwired.
    pub(super) fn note_unwired(&mut self) {
        for (address, origin) in std::mem::take(&mut self.unwired) {
            let Some((instance, members)) = self.find(&address, origin) else {
                continue;
            };
            for (at, _) in &*members {
                let at = (instance, *at);
                if self.port(at).optional {
                    self.meant_unwired.insert(at);
                } else {
                    let message = format!("`{}` must be connected", self.name(at));
                    self.error(message, None, origin);
                    break;
                }
            }
        }
    }
}
