//! The port visitor: how a component names its ports, and how tools reach them.

use std::fmt::Write as _;

use crate::channel::any_port::{AnyPort, Direction, PortState};
use crate::channel::in_port::InPort;
use crate::channel::message::Message;
use crate::channel::out_port::OutPort;
use crate::channel::published::{Observed, Published};

/// A group of ports that is wired as one, such as the request and response side of a memory port.
///
/// Connecting two bundles joins the ports whose names after the bundle's own are equal and whose
/// directions are opposite.
pub trait Bundle {
    /// Names the ports of the group, always in the same order.
    fn ports(&mut self, ports: &mut Ports<'_>);
}

/// One named port, handed to a visitor.
pub struct Port<'a> {
    /// Name within the component, such as `up[2].request`.
    pub name: &'a str,
    /// The component works without it.
    pub optional: bool,
    /// What the component does without it, if that is likely to be missed.
    pub unwired: Option<&'static str>,
    pub(crate) port: &'a mut dyn AnyPort,
}

impl Port<'_> {
    /// Which way messages pass.
    pub fn direction(&self) -> Direction {
        self.port.direction()
    }

    /// Name of the message type.
    pub fn message_type_name(&self) -> &'static str {
        self.port.message_type().1
    }

    /// Whether the port has been connected.
    pub fn is_bound(&self) -> bool {
        self.port.is_bound()
    }

    /// Occupancy and counts of the channel behind the port.
    pub fn state(&self) -> PortState {
        self.port.state()
    }
}

/// Bytes of a name before the place for names grows.
const USUAL_NAME_BYTES: usize = 64;

/// Collects the ports that a component names.
pub struct Ports<'a> {
    /// What names begin with here; none where nobody asks for names.
    prefix: Option<String>,
    optional: bool,
    unwired: Option<&'static str>,
    visit: &'a mut dyn FnMut(Port<'_>),
}

impl<'a> Ports<'a> {
    pub(crate) fn new(visit: &'a mut dyn FnMut(Port<'_>)) -> Self {
        Self {
            prefix: Some(String::with_capacity(USUAL_NAME_BYTES)),
            optional: false,
            unwired: None,
            visit,
        }
    }

    /// For a visitor that knows the ports by their order: all names are empty.
    pub(crate) fn nameless(visit: &'a mut dyn FnMut(Port<'_>)) -> Self {
        Self {
            prefix: None,
            optional: false,
            unwired: None,
            visit,
        }
    }

    /// Names an input.
    pub fn input<T: Message>(&mut self, name: &str, port: &mut InPort<T>) {
        self.leaf(name, port);
    }

    /// Names an output.
    pub fn output<T: Message>(&mut self, name: &str, port: &mut OutPort<T>) {
        self.leaf(name, port);
    }

    /// Names a published value of this component.
    pub fn published<T: Message + Clone + PartialEq>(
        &mut self,
        name: &str,
        port: &mut Published<T>,
    ) {
        self.leaf(name, port);
    }

    /// Names a published value of another component.
    pub fn observed<T: Message + Clone + PartialEq>(&mut self, name: &str, port: &mut Observed<T>) {
        self.leaf(name, port);
    }

    /// Names inputs `name[0]`, `name[1]`, …
    pub fn inputs<T: Message>(&mut self, name: &str, ports: &mut [InPort<T>]) {
        for (i, port) in ports.iter_mut().enumerate() {
            self.numbered(name, i, |ports| ports.leaf("", port));
        }
    }

    /// Names outputs `name[0]`, `name[1]`, …
    pub fn outputs<T: Message>(&mut self, name: &str, ports: &mut [OutPort<T>]) {
        for (i, port) in ports.iter_mut().enumerate() {
            self.numbered(name, i, |ports| ports.leaf("", port));
        }
    }

    /// Names a group of ports: its ports become `name.part`.
    pub fn bundle(&mut self, name: &str, bundle: &mut dyn Bundle) {
        let length = self.begin(|prefix| {
            prefix.push_str(name);
            prefix.push('.');
        });
        bundle.ports(self);
        self.end(length);
    }

    /// Names groups `name[0]`, `name[1]`, …
    pub fn bundles<B: Bundle>(&mut self, name: &str, bundles: &mut [B]) {
        for (i, bundle) in bundles.iter_mut().enumerate() {
            self.numbered(name, i, |ports| ports.bundle("", bundle));
        }
    }

    /// Names ports that may stay unconnected.
    pub fn optional(&mut self, name_them: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.optional, true);
        name_them(self);
        self.optional = before;
    }

    /// Names ports that may stay unconnected, but whose absence changes what the machine does:
    /// elaboration warns of it, with `without`, which says what the component does then.
    pub fn advisable(&mut self, without: &'static str, name_them: impl FnOnce(&mut Self)) {
        let before = self.unwired.replace(without);
        self.optional(name_them);
        self.unwired = before;
    }

    /// Begins what `name_it` names with `name[number]`.
    fn numbered(&mut self, name: &str, number: usize, name_it: impl FnOnce(&mut Self)) {
        let length = self.begin(|prefix| {
            prefix.push_str(name);
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
        self.end(length);
    }

    fn leaf(&mut self, name: &str, port: &mut dyn AnyPort) {
        let length = self.begin(|prefix| prefix.push_str(name));
        (self.visit)(Port {
            name: self.prefix.as_deref().unwrap_or_default(),
            optional: self.optional,
            unwired: self.unwired,
            port,
        });
        self.end(length);
    }

    /// Adds to what names begin with; returns how long that was.
    #[inline]
    fn begin(&mut self, add: impl FnOnce(&mut String)) -> usize {
        self.prefix.as_mut().map_or(0, |prefix| {
            let length = prefix.len();
            add(prefix);
            length
        })
    }

    /// Names begin as they did before.
    #[inline]
    fn end(&mut self, length: usize) {
        if let Some(prefix) = &mut self.prefix {
            prefix.truncate(length);
        }
    }
}
