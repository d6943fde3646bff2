//! System builder: clocks, instances, wires, and the checks of elaboration.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::channel::Link;
use crate::component::{Component, Origin};
use crate::engine::elaboration::port_list::PortList;
use crate::time::{ClockId, Frequency};
use crate::world::{World, WorldDriver};

pub(super) struct NewInstance {
    pub(super) path: Arc<str>,
    pub(super) kind: Arc<str>,
    pub(super) clock: ClockId,
    pub(super) origin: Option<Origin>,
    pub(super) component: Box<dyn Component>,
    pub(super) ports: Arc<PortList>,
}

pub(super) struct NewWire {
    pub(super) ends: [Arc<str>; 2],
    pub(super) link: Link,
    pub(super) origin: Option<Origin>,
}

/// Collects clocks, instances and wires, in any order, and elaborates them into a
/// [`Simulation`](crate::Simulation).
#[derive(Default)]
pub struct SystemBuilder {
    pub(super) clocks: Vec<(String, Frequency)>,
    pub(super) instances: Vec<NewInstance>,
    pub(super) wires: Vec<NewWire>,
    pub(super) unwired: Vec<(String, Option<Origin>)>,
    pub(super) world: Option<WorldDriver>,
    /// The port list of the last instance of each kind, which the next instance usually shares.
    ports: BTreeMap<Arc<str>, Arc<PortList>>,
}

impl SystemBuilder {
    /// Creates a system without clocks, instances or wires.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a clock of this frequency to the system.
    pub fn clock(&mut self, name: impl Into<String>, frequency: Frequency) -> ClockId {
        self.clocks.push((name.into(), frequency));
        ClockId(self.clocks.len() as u32 - 1)
    }

    /// Returns the event world of the system, which creates events, signals and processes.
    pub fn world(&mut self) -> World {
        self.world.get_or_insert_with(WorldDriver::new).world()
    }

    /// Returns the number of instances added so far.
    pub(crate) fn instance_count(&self) -> usize {
        self.instances.len()
    }

    /// Adds an instance; `path` is its hierarchical name, such as `gpu.cluster[3].l1`.
    pub fn add(
        &mut self,
        path: impl Into<String>,
        clock: ClockId,
        component: impl Component + 'static,
    ) {
        let kind = std::any::type_name_of_val(&component);
        let kind = kind
            .split('<')
            .next()
            .unwrap_or(kind)
            .rsplit("::")
            .next()
            .unwrap_or(kind);
        self.add_boxed(path.into(), kind, clock, Box::new(component), None);
    }

    /// Adds an instance of a kind known only at run time; returns the names of its ports.
    pub fn add_boxed(
        &mut self,
        path: impl Into<Arc<str>>,
        kind: impl Into<Arc<str>>,
        clock: ClockId,
        mut component: Box<dyn Component>,
        origin: Option<Origin>,
    ) -> Arc<PortList> {
        let (path, kind) = (path.into(), kind.into());
        let like = self.ports.get_mut(&kind);
        let ports = PortList::of(&mut *component, like.as_deref());
        match like {
            Some(like) => like.clone_from(&ports),
            None => {
                self.ports.insert(Arc::clone(&kind), Arc::clone(&ports));
            }
        }
        self.add_like(path, kind, clock, component, origin, &ports);
        ports
    }

    /// Adds an instance with the given port list of another one, for example one built from the
    /// same specification.
    pub fn add_like(
        &mut self,
        path: Arc<str>,
        kind: Arc<str>,
        clock: ClockId,
        component: Box<dyn Component>,
        origin: Option<Origin>,
        ports: &Arc<PortList>,
    ) {
        self.instances.push(NewInstance {
            path,
            kind,
            clock,
            origin,
            component,
            ports: Arc::clone(ports),
        });
    }

    /// Wires two ports or two bundles of ports, each named `instance.port`, in either order.
    pub fn connect(&mut self, a: impl Into<String>, b: impl Into<String>, link: Link) {
        self.connect_from(a.into().into(), b.into().into(), link, None);
    }

    /// Connects like [`SystemBuilder::connect`] and records the place where the wire was described.
    pub fn connect_from(&mut self, a: Arc<str>, b: Arc<str>, link: Link, origin: Option<Origin>) {
        self.wires.push(NewWire {
            ends: [a, b],
            link,
            origin,
        });
    }

    /// Marks an optional port or bundle of ports, named `instance.port`, as intentionally unwired,
    /// which suppresses the warning.
    pub fn leave_unwired(&mut self, port: impl Into<String>, origin: Option<Origin>) {
        self.unwired.push((port.into(), origin));
    }
}
