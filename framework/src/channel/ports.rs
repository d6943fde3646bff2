//! Port visitor, by which components name their ports and tools reach them.

use std::fmt::Write as _;

use crate::channel::any_port::{AnyPort, Direction, PortState};
use crate::channel::in_port::InPort;
use crate::channel::message::Message;
use crate::channel::out_port::OutPort;
use crate::channel::port_id::{PortId, PortName};
use crate::channel::published::{Observed, Published};

/// A group of ports: those of a component, or some that are connected as one. An example is the
/// request and response side of a memory port. `#[derive(Ports)]` implements it.
///
/// Connecting two bundles joins ports of opposite direction whose names, without the bundle's own
/// name, are equal.
pub trait Bundle {
    /// Names every port of the group, always in the same order. Called at elaboration, to connect,
    /// and for reports.
    fn ports(&mut self, ports: &mut Ports<'_>);
}

/// A field that holds ports: one, a bundle, or a list of these.
pub trait PortField {
    /// Names the ports in it, which begin with `name`.
    fn name(&mut self, name: PortName, ports: &mut Ports<'_>);
}

impl<T: Message> PortField for InPort<T> {
    fn name(&mut self, name: PortName, ports: &mut Ports<'_>) {
        ports.input(name, self);
    }
}

impl<T: Message> PortField for OutPort<T> {
    fn name(&mut self, name: PortName, ports: &mut Ports<'_>) {
        ports.output(name, self);
    }
}

impl<T: Message + Clone + PartialEq> PortField for Published<T> {
    fn name(&mut self, name: PortName, ports: &mut Ports<'_>) {
        ports.published(name, self);
    }
}

impl<T: Message + Clone + PartialEq> PortField for Observed<T> {
    fn name(&mut self, name: PortName, ports: &mut Ports<'_>) {
        ports.observed(name, self);
    }
}

impl<B: Bundle> PortField for B {
    fn name(&mut self, name: PortName, ports: &mut Ports<'_>) {
        ports.bundle(name, self);
    }
}

impl<P: PortField> PortField for [P] {
    fn name(&mut self, name: PortName, ports: &mut Ports<'_>) {
        for (i, port) in self.iter_mut().enumerate() {
            ports.numbered(name, i, |ports| port.name("".into(), ports));
        }
    }
}

impl<P: PortField> PortField for Vec<P> {
    fn name(&mut self, name: PortName, ports: &mut Ports<'_>) {
        self.as_mut_slice().name(name, ports);
    }
}

impl<P: PortField, const N: usize> PortField for [P; N] {
    fn name(&mut self, name: PortName, ports: &mut Ports<'_>) {
        self.as_mut_slice().name(name, ports);
    }
}

impl<P: PortField> PortField for Option<P> {
    fn name(&mut self, name: PortName, ports: &mut Ports<'_>) {
        if let Some(port) = self {
            port.name(name, ports);
        }
    }
}

/// One named port, handed to a visitor.
pub struct Port<'a> {
    /// Identity within the component.
    pub id: PortId,
    /// Name within the component, such as `up[2].request`.
    pub name: &'a str,
    /// True if the component also works without this port.
    pub optional: bool,
    /// Behavior of the component without the port, if its absence is probably a mistake.
    pub unwired: Option<&'static str>,
    pub(crate) port: &'a mut dyn AnyPort,
}

impl Port<'_> {
    /// Returns the direction in which messages pass.
    pub fn direction(&self) -> Direction {
        self.port.direction()
    }

    /// Returns the name of the message type.
    pub fn message_type_name(&self) -> &'static str {
        self.port.message_type().1
    }

    /// True if the port has been connected.
    pub fn is_bound(&self) -> bool {
        self.port.is_bound()
    }

    /// Returns occupancy and counts of the channel behind the port.
    pub fn state(&self) -> PortState {
        self.port.state()
    }
}

/// Initial capacity of the name buffer in bytes.
const USUAL_NAME_BYTES: usize = 64;

/// Collects the ports that a component names.
pub struct Ports<'a> {
    /// Prefix of the names; `None` if no names are needed.
    prefix: Option<String>,
    /// Identity that corresponds to the prefix.
    id: PortId,
    optional: bool,
    unwired: Option<&'static str>,
    visit: &'a mut dyn FnMut(Port<'_>),
}

impl<'a> Ports<'a> {
    pub(crate) fn new(visit: &'a mut dyn FnMut(Port<'_>)) -> Self {
        Self {
            prefix: Some(String::with_capacity(USUAL_NAME_BYTES)),
            id: PortId::ROOT,
            optional: false,
            unwired: None,
            visit,
        }
    }

    /// Creates a visitor that identifies ports by their order; all names are empty.
    pub(crate) fn nameless(visit: &'a mut dyn FnMut(Port<'_>)) -> Self {
        Self {
            prefix: None,
            id: PortId::ROOT,
            optional: false,
            unwired: None,
            visit,
        }
    }

    /// Names a port, a bundle, or a list of these: `name[0]`, `name[1]`, …
    pub fn port<P: PortField + ?Sized>(&mut self, name: impl Into<PortName>, port: &mut P) {
        port.name(name.into(), self);
    }

    /// Names an input port of the component.
    pub fn input<T: Message>(&mut self, name: impl Into<PortName>, port: &mut InPort<T>) {
        self.leaf(name.into(), port);
    }

    /// Names an output port of the component.
    pub fn output<T: Message>(&mut self, name: impl Into<PortName>, port: &mut OutPort<T>) {
        self.leaf(name.into(), port);
    }

    /// Names a published value of this component.
    pub fn published<T: Message + Clone + PartialEq>(
        &mut self,
        name: impl Into<PortName>,
        port: &mut Published<T>,
    ) {
        self.leaf(name.into(), port);
    }

    /// Names a published value of another component.
    pub fn observed<T: Message + Clone + PartialEq>(
        &mut self,
        name: impl Into<PortName>,
        port: &mut Observed<T>,
    ) {
        self.leaf(name.into(), port);
    }

    /// Names a list of inputs `name[0]`, `name[1]`, and so on.
    pub fn inputs<T: Message>(&mut self, name: impl Into<PortName>, ports: &mut [InPort<T>]) {
        ports.name(name.into(), self);
    }

    /// Names a list of outputs `name[0]`, `name[1]`, and so on.
    pub fn outputs<T: Message>(&mut self, name: impl Into<PortName>, ports: &mut [OutPort<T>]) {
        ports.name(name.into(), self);
    }

    /// Names a group of ports, which become `name.part`.
    pub fn bundle(&mut self, name: impl Into<PortName>, bundle: &mut dyn Bundle) {
        let name = name.into();
        let before = self.begin(self.id.extended(name), |prefix| {
            prefix.push_str(name.text());
            prefix.push('.');
        });
        bundle.ports(self);
        self.end(before);
    }

    /// Names a list of groups `name[0]`, `name[1]`, and so on.
    pub fn bundles<B: Bundle>(&mut self, name: impl Into<PortName>, bundles: &mut [B]) {
        bundles.name(name.into(), self);
    }

    /// Names ports that may stay unconnected.
    pub fn optional(&mut self, name_them: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.optional, true);
        name_them(self);
        self.optional = before;
    }

    /// Names ports that may stay unconnected, but whose absence changes the machine's behavior.
    /// Elaboration warns of an unconnected one with the text `without`, which describes the
    /// resulting behavior.
    pub fn advisable(&mut self, without: &'static str, name_them: impl FnOnce(&mut Self)) {
        let before = self.unwired.replace(without);
        self.optional(name_them);
        self.unwired = before;
    }

    /// Prefixes the names given by `name_it` with `name[number]`.
    fn numbered(&mut self, name: PortName, number: usize, name_it: impl FnOnce(&mut Self)) {
        let id = PortId {
            number: Some(number as u32),
            ..self.id.extended(name)
        };
        let before = self.begin(id, |prefix| {
            prefix.push_str(name.text());
            prefix.push('[');
            match u8::try_from(number) {
                // Most are: these need no formatting.
                Ok(digit @ 0..10) => prefix.push(char::from(b'0' + digit)),
                _ => {
                    let _ = write!(prefix, "{number}");
                }
            }
            prefix.push(']');
        });
        name_it(self);
        self.end(before);
    }

    fn leaf(&mut self, name: PortName, port: &mut dyn AnyPort) {
        let before = self.begin(self.id.extended(name), |prefix| {
            prefix.push_str(name.text());
        });
        (self.visit)(Port {
            id: self.id,
            name: self.prefix.as_deref().unwrap_or_default(),
            optional: self.optional,
            unwired: self.unwired,
            port,
        });
        self.end(before);
    }

    /// Extends the name prefix; returns its previous length and identity.
    #[inline]
    fn begin(&mut self, id: PortId, add: impl FnOnce(&mut String)) -> (usize, PortId) {
        let before = std::mem::replace(&mut self.id, id);
        let length = self.prefix.as_mut().map_or(0, |prefix| {
            let length = prefix.len();
            add(prefix);
            length
        });
        (length, before)
    }

    /// Restores the name prefix to its previous length and identity.
    #[inline]
    fn end(&mut self, (length, id): (usize, PortId)) {
        self.id = id;
        if let Some(prefix) = &mut self.prefix {
            prefix.truncate(length);
        }
    }
}
