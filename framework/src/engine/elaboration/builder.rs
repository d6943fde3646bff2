//! Putting a system together: clocks, instances, wires, and the checks of elaboration.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::channel::Link;
use crate::component::{Component, Origin};
use crate::engine::elaboration::elaborate::Elaboration;
use crate::engine::elaboration::error::ElaborationErrors;
use crate::engine::elaboration::port_list::PortList;
use crate::engine::simulation::Simulation;
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
/// [`Simulation`].
#[derive(Default)]
pub struct SystemBuilder {
    pub(super) clocks: Vec<(String, Frequency)>,
    pub(super) instances: Vec<NewInstance>,
    pub(super) wires: Vec<NewWire>,
    pub(super) unwired: Vec<(String, Option<Origin>)>,
    pub(super) world: Option<WorldDriver>,
    /// The ports of the last instance of each kind, which the next one most often has too.
    ports: BTreeMap<Arc<str>, Arc<PortList>>,
}

impl SystemBuilder {
    /// An empty system.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a clock.
    pub fn clock(&mut self, name: impl Into<String>, frequency: Frequency) -> ClockId {
        self.clocks.push((name.into(), frequency));
        ClockId(self.clocks.len() as u32 - 1)
    }

    /// The event world of the system: makes events, signals and processes.
    pub fn world(&mut self) -> World {
        self.world.get_or_insert_with(WorldDriver::new).world()
    }

    /// Instances added so far.
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

    /// Adds an instance of a kind known at run time only; returns what its ports are called.
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

    /// Adds an instance that names the same ports as another one, of which these are: one built from the
    /// same specification, say.
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

    /// Wires two ports or two bundles of ports, each named `instance.port`. Which of the two is
    /// named first does not matter.
    pub fn connect(&mut self, a: impl Into<String>, b: impl Into<String>, link: Link) {
        self.connect_from(a.into().into(), b.into().into(), link, None);
    }

    /// As [`SystemBuilder::connect`], remembering where the wire was described.
    pub fn connect_from(&mut self, a: Arc<str>, b: Arc<str>, link: Link, origin: Option<Origin>) {
        self.wires.push(NewWire {
            ends: [a, b],
            link,
            origin,
        });
    }

    /// Says that an optional port or bundle of ports, named `instance.port`, is meant to stay without
    /// a wire: nobody is warned of it.
    pub fn leave_unwired(&mut self, port: impl Into<String>, origin: Option<Origin>) {
        self.unwired.push((port.into(), origin));
    }

    /// Checks the system as a whole and makes it runnable.
    ///
    /// # Errors
    /// All of: duplicate paths, unusable clock sets, wires that name unknown instances or ports,
    /// ports left unconnected or connected twice, mismatched directions or message types,
    /// latencies, widths or capacities of zero.
    pub fn elaborate(self) -> Result<Simulation, ElaborationErrors> {
        Elaboration::new(self).run()
    }
}
