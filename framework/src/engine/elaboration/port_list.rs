//! Port list of an instance in its own naming order; instances with the same ports share the list.

use std::any::TypeId;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::channel::{Direction, Port, PortId, Ports};
use crate::component::Component;

/// One port of a component, independent of the instance it belongs to.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PortShape {
    pub(crate) id: PortId,
    pub(crate) name: Arc<str>,
    pub(crate) direction: Direction,
    pub(crate) message: (TypeId, &'static str),
    pub(crate) optional: bool,
    /// Behavior of the component without the port, if its absence is probably a mistake.
    pub(crate) unwired: Option<&'static str>,
    pub(crate) fans_out: bool,
}

impl PortShape {
    fn of(port: &Port<'_>) -> Self {
        Self {
            id: port.id,
            name: port.name.into(),
            direction: port.port.direction(),
            message: port.port.message_type(),
            optional: port.optional,
            unwired: port.unwired,
            fans_out: port.port.fans_out(),
        }
    }

    /// True if `port` has this name and shape.
    fn is(&self, port: &Port<'_>) -> bool {
        *self.name == *port.name
            && self.unwired == port.unwired
            && self.fans_out == port.port.fans_out()
            && self.is_alike(port)
    }

    /// True if `port`, regardless of its name, accepts the same wires.
    pub(super) fn is_alike(&self, port: &Port<'_>) -> bool {
        self.optional == port.optional
            && self.direction == port.port.direction()
            && self.message.0 == port.port.message_type().0
    }
}

/// Number of a port that a name denotes, and the offset in its own name at which the part after the
/// bundle's name begins.
pub(super) type Member = (usize, usize);

/// The ports of an instance, in the order its component names them.
pub struct PortList {
    pub(crate) ports: Vec<PortShape>,
    /// Distinct first names of the ports, in order.
    bundles: Vec<Arc<str>>,
    /// The ports of each first name; see [`PortList::find`].
    members: FxHashMap<Arc<str>, Arc<[Member]>>,
    /// Names that more than one port has.
    named_twice: Vec<Arc<str>>,
}

impl PortList {
    /// Returns the port list of `component`; shares `like` if its ports are the same.
    pub(super) fn of(component: &mut dyn Component, like: Option<&Arc<Self>>) -> Arc<Self> {
        let known = like.map_or(&[][..], |like| &like.ports);
        let mut same = 0;
        let mut own: Option<Vec<PortShape>> = like.is_none().then(Vec::new);
        component.ports(&mut Ports::new(&mut |port| {
            if own.is_none() {
                if known.get(same).is_some_and(|shape| shape.is(&port)) {
                    same += 1;
                    return;
                }
                own = Some(known[..same].to_vec());
            }
            if let Some(own) = &mut own {
                own.push(PortShape::of(&port));
            }
        }));
        match (own, like) {
            (None, Some(like)) if same == known.len() => Arc::clone(like),
            (own, _) => Arc::new(Self::new(own.unwrap_or_else(|| known[..same].to_vec()))),
        }
    }

    fn new(ports: Vec<PortShape>) -> Self {
        let mut bundles = Vec::new();
        let mut members = FxHashMap::<Arc<str>, Vec<Member>>::default();
        for (number, port) in ports.iter().enumerate() {
            let first = first_name(&port.name);
            let member = (number, (first.len() + 1).min(port.name.len()));
            if let Some(members) = members.get_mut(first) {
                members.push(member);
                continue;
            }
            let first: Arc<str> = first.into();
            bundles.push(Arc::clone(&first));
            members.insert(first, vec![member]);
        }
        let members = members.into_iter().map(|(first, members)| {
            let whole = |member: &&Member| *ports[member.0].name == *first;
            let members = match members.iter().find(whole) {
                Some(port) => vec![*port],
                None => members,
            };
            (first, members.into())
        });
        let members = members.collect();
        let mut names: Vec<&Arc<str>> = ports.iter().map(|port| &port.name).collect();
        names.sort_unstable();
        let twice = names.windows(2).filter(|pair| pair[0] == pair[1]);
        Self {
            named_twice: twice.map(|pair| Arc::clone(pair[0])).collect(),
            ports,
            bundles,
            members,
        }
    }

    /// Returns the names as used for wiring: bundles by their first name, each once.
    pub fn connectable(&self) -> &[Arc<str>] {
        &self.bundles
    }

    /// Returns the ports that `name` denotes: the port with this name, or else all whose names
    /// begin with it and a dot. Empty if nothing has this name.
    pub(super) fn find(&self, name: &str) -> Arc<[Member]> {
        if let Some(members) = self.members.get(name) {
            return Arc::clone(members);
        }
        let ports = || self.ports.iter().enumerate();
        if let Some((number, port)) = ports().find(|(_, port)| *port.name == *name) {
            return [(number, port.name.len())].into();
        }
        let begin_so = ports().filter(|(_, port)| {
            let rest = port.name.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('.'))
        });
        begin_so
            .map(|(number, _)| (number, name.len() + 1))
            .collect()
    }

    /// Returns names that several ports share, once for each additional port.
    pub(super) fn named_twice(&self) -> &[Arc<str>] {
        &self.named_twice
    }
}

/// Returns the name of a port's bundle, or of the port itself, as used in wires.
pub(super) fn first_name(port: &str) -> &str {
    port.split('.').next().unwrap_or(port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bundle, Context, InPort, Instrumented, Next, OutPort, Stateful};

    struct Ears {
        ears: Vec<InPort<u32>>,
        mouth: OutPort<u32>,
    }

    impl Bundle for Ears {
        fn ports(&mut self, ports: &mut Ports<'_>) {
            ports.inputs("ears", &mut self.ears);
            ports.output("mouth", &mut self.mouth);
        }
    }

    impl Component for Ears {
        fn evaluate(&mut self, _: &mut Context<'_>) -> Next {
            Next::Idle
        }
    }

    impl Stateful for Ears {}

    impl Instrumented for Ears {}

    fn list(ears: usize, like: Option<&Arc<PortList>>) -> Arc<PortList> {
        let mut ears = Ears {
            ears: (0..ears).map(|_| InPort::new()).collect(),
            mouth: OutPort::new(),
        };
        PortList::of(&mut ears, like)
    }

    #[test]
    fn instances_share_a_list_only_if_they_name_the_same_ports() {
        let two = list(2, None);
        assert!(Arc::ptr_eq(&two, &list(2, Some(&two))));
        for ears in [0, 1, 3, 12] {
            let other = list(ears, Some(&two));
            let names: Vec<_> = other.ports.iter().map(|port| &*port.name).collect();
            let alone = list(ears, None);
            let expected: Vec<_> = alone.ports.iter().map(|port| &*port.name).collect();
            assert_eq!(names, expected);
            assert_eq!(names.len(), ears + 1);
        }
    }
}
