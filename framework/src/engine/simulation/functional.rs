//! Functional accesses along the wires of a system, see
//! [`Functional::functional_access`](crate::Functional::functional_access).

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::channel::{PortId, PortName};
use crate::component::{Onward, Parcel};
use crate::engine::simulation::Simulation;

/// A functional access reached a component that does not support it, or no component.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{instance} ({kind}), port `{port}`: {problem}")]
pub struct DeliveryError {
    /// Path of the instance that was reached.
    pub instance: String,
    /// Kind of component of the instance.
    pub kind: String,
    /// Name of the port at the end of the wire.
    pub port: String,
    /// Reason for which the message was not accepted.
    pub problem: String,
}

/// Receiving end of a wire: instance and port.
#[derive(Clone, Copy)]
struct End {
    instance: u32,
    port: PortId,
}

/// Wires that begin at a field of ports, by the number of the entry.
type Field = (PortName, PortName, Vec<Option<End>>);

/// The wires of a system by sending port, and the functional accesses in transit over them.
pub struct FunctionalWires {
    /// Wires by instance and by field of the sending port.
    wires: Vec<Vec<Field>>,
    /// Messages to be delivered; the last element is next.
    waiting: Vec<(End, Parcel)>,
    /// Messages to be delivered once `waiting` is empty; the first element is next.
    later: VecDeque<(End, Parcel)>,
}

impl FunctionalWires {
    /// Collects the wires of this system.
    pub fn of(simulation: &mut Simulation) -> Self {
        let mut ids = FxHashMap::default();
        for instance in 0..simulation.instances.len() {
            simulation.visit_ports(instance, &mut |port| {
                ids.insert((instance as u32, Arc::<str>::from(port.name)), port.id);
            });
        }
        let mut wires: Vec<Vec<Field>> = vec![Vec::new(); simulation.instances.len()];
        for channel in &simulation.channels {
            let ends = (ids.get(&channel.from), ids.get(&channel.to));
            let (Some(from), Some(&port)) = ends else {
                continue;
            };
            let fields = &mut wires[channel.from.0 as usize];
            let at = fields
                .iter()
                .position(|(name, member, _)| from.is(*name, *member));
            let at = at.unwrap_or_else(|| {
                fields.push((from.name, from.member, Vec::new()));
                fields.len() - 1
            });
            let (ends, number) = (&mut fields[at].2, from.index() as usize);
            if ends.len() <= number {
                ends.resize(number + 1, None);
            }
            let instance = channel.to.0;
            ends[number] = Some(End { instance, port });
        }
        Self {
            wires,
            waiting: Vec::new(),
            later: VecDeque::new(),
        }
    }

    /// Sends a message from instance `from` through a port, and delivers all messages that follow
    /// from it.
    ///
    /// # Errors
    /// Returns an error if a port has no wire, or if a component does not support functional
    /// accesses.
    pub fn send<T: Any + Send>(
        &mut self,
        simulation: &mut Simulation,
        from: usize,
        port: impl Into<PortId>,
        message: T,
    ) -> Result<(), DeliveryError> {
        let mut onward = Onward::default();
        onward.send(port, message);
        self.deliver_later(simulation, from as u32, &mut onward)?;
        self.deliver(simulation)
    }

    /// Empties every component of memory contents
    /// ([`Functional::flush`](crate::Functional::flush)). Data that one passes on leaves the next
    /// as well.
    ///
    /// # Errors
    /// Same as [`FunctionalWires::send`].
    pub fn flush(&mut self, simulation: &mut Simulation) -> Result<(), DeliveryError> {
        let mut onward = Onward::default();
        loop {
            let mut passed_on = false;
            for instance in 0..simulation.instances.len() {
                if let Some(component) = simulation.component_mut(instance).functional() {
                    component.flush(&mut onward);
                    passed_on |= !onward.sent.is_empty();
                    self.deliver_later(simulation, instance as u32, &mut onward)?;
                    self.deliver(simulation)?;
                }
            }
            if !passed_on {
                return Ok(());
            }
        }
    }

    /// Delivers the waiting messages with all that follows from them.
    fn deliver(&mut self, simulation: &mut Simulation) -> Result<(), DeliveryError> {
        let mut onward = Onward::default();
        while let Some((to, mut parcel)) = self.waiting.pop().or_else(|| self.later.pop_front()) {
            let component = simulation.component_mut(to.instance as usize);
            let taken = match component.functional() {
                Some(component) => component
                    .functional_access(to.port, &mut *parcel, &mut onward)
                    .map_err(|refused| refused.to_string()),
                None => Err("its kind does not support functional accesses".to_owned()),
            };
            if let Err(problem) = taken {
                let refused = error(simulation, to.instance, to.port, problem);
                self.forget();
                return Err(refused);
            }
            if let Some(again) = onward.again.take() {
                self.later.push_back((to, again));
            }
            self.deliver_later(simulation, to.instance, &mut onward)?;
        }
        Ok(())
    }

    /// Queues the messages a component sent ahead of all waiting ones.
    fn deliver_later(
        &mut self,
        simulation: &Simulation,
        from: u32,
        onward: &mut Onward,
    ) -> Result<(), DeliveryError> {
        for (port, parcel) in onward.sent.drain(..).rev() {
            let mut fields = self.wires[from as usize].iter();
            let field = fields.find(|(name, member, _)| port.is(*name, *member));
            let end = field.and_then(|(.., ends)| *ends.get(port.index() as usize)?);
            let Some(end) = end else {
                self.forget();
                let problem = "no wire starts at this port".to_owned();
                return Err(error(simulation, from, port, problem));
            };
            self.waiting.push((end, parcel));
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.waiting.clear();
        self.later.clear();
    }
}

fn error(simulation: &Simulation, instance: u32, port: PortId, problem: String) -> DeliveryError {
    let instance = &simulation.instances[instance as usize];
    DeliveryError {
        instance: instance.path.to_string(),
        kind: instance.kind.to_string(),
        port: port.to_string(),
        problem,
    }
}
