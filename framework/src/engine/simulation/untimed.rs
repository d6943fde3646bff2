//! Functional accesses along the wires of a system, see
//! [`Component::untimed`](crate::Component::untimed).

use std::any::Any;
use std::collections::VecDeque;

use thiserror::Error;

use crate::component::{Onward, Parcel, PortName};
use crate::engine::simulation::Simulation;

/// A functional access reached a component that does not support it, or no component.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{instance} ({kind}), port `{port}`: {problem}")]
pub struct UntimedError {
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
    /// Index of the port's name in [`UntimedWires::names`].
    name: u32,
    number: u32,
}

/// The wires of a system by sending port, and the functional accesses in transit over them.
pub struct UntimedWires {
    /// Names of ports, without their numbers in brackets.
    names: Vec<String>,
    /// Wires by instance, by name of the sending port and by its number.
    wires: Vec<Vec<(u32, Vec<Option<End>>)>>,
    /// Messages to be delivered; the last element is next.
    waiting: Vec<(End, Parcel)>,
    /// Messages to be delivered once `waiting` is empty; the first element is next.
    later: VecDeque<(End, Parcel)>,
}

impl UntimedWires {
    /// Collects the wires of this system.
    pub fn of(simulation: &Simulation) -> Self {
        let mut wires = Self {
            names: Vec::new(),
            wires: vec![Vec::new(); simulation.instances.len()],
            waiting: Vec::new(),
            later: VecDeque::new(),
        };
        for channel in &simulation.channels {
            let (from, from_number) = wires.place_of(&channel.from.1);
            let (name, number) = wires.place_of(&channel.to.1);
            let ports = &mut wires.wires[channel.from.0 as usize];
            let at = ports.iter().position(|(known, _)| *known == from);
            let at = at.unwrap_or_else(|| {
                ports.push((from, Vec::new()));
                ports.len() - 1
            });
            let ends = &mut ports[at].1;
            if ends.len() <= from_number as usize {
                ends.resize(from_number as usize + 1, None);
            }
            ends[from_number as usize] = Some(End {
                instance: channel.to.0,
                name,
                number,
            });
        }
        wires
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
        (name, number): (&'static str, u32),
        message: T,
    ) -> Result<(), UntimedError> {
        let mut onward = Onward::default();
        onward.send(name, number, message);
        self.deliver_later(simulation, from as u32, &mut onward)?;
        while let Some((to, mut parcel)) = self.waiting.pop().or_else(|| self.later.pop_front()) {
            let port = PortName {
                name: &self.names[to.name as usize],
                number: to.number,
            };
            let component = simulation.component_mut(to.instance as usize);
            let taken = component.untimed(port, &mut *parcel, &mut onward);
            if let Err(problem) = taken {
                let refused = error(simulation, to.instance, port.name, problem);
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
    ) -> Result<(), UntimedError> {
        for (name, number, parcel) in onward.sent.drain(..).rev() {
            let name = onward.names[name as usize];
            let ports = self.wires[from as usize].iter();
            let mut ports = ports.filter(|(known, _)| self.names[*known as usize] == name);
            let end = ports
                .next()
                .and_then(|(_, ends)| ends.get(number as usize).copied().flatten());
            let Some(end) = end else {
                self.forget();
                let problem = "no wire begins there".to_owned();
                return Err(error(simulation, from, name, problem));
            };
            self.waiting.push((end, parcel));
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.waiting.clear();
        self.later.clear();
    }

    /// Returns the index of a port's name and the number of the port.
    fn place_of(&mut self, full: &str) -> (u32, u32) {
        let (name, number) = PortName::split(full);
        let place = self.names.iter().position(|known| *known == name);
        let place = place.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        (place as u32, number)
    }
}

fn error(simulation: &Simulation, instance: u32, port: &str, problem: String) -> UntimedError {
    let instance = &simulation.instances[instance as usize];
    UntimedError {
        instance: instance.path.to_string(),
        kind: instance.kind.to_string(),
        port: port.to_owned(),
        problem,
    }
}
