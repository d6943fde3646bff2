//! Facts and claims that components exchange at elaboration.

use super::{Claims, Facts, Unfit};
use crate::channel::PortId;

/// A component that states facts, checks those of others, or lets them pass.
///
/// [`Component::negotiation`](super::Component::negotiation) offers it to the engine.
pub trait Negotiate {
    /// States the facts on which the component at the other end of the wire at `port` may rely.
    /// Called at elaboration for every wire.
    fn facts(&self, _port: PortId, _facts: &mut Facts) {}

    /// Selects the ports that pass on a fact arriving at `port`: those that return the same number.
    /// Facts that arrived with the messages, at an input, leave through outputs; those that arrived
    /// against them, at an output, leave through inputs. `facts` holds the arriving facts; those
    /// withdrawn are not passed on. A component that forwards messages unchanged passes all facts.
    fn passage(&self, _port: PortId, _facts: &mut Facts) -> Option<u32> {
        None
    }

    /// Claims the numbers and ranges that no other instance of the system may have.
    fn claims(&self, _claims: &mut Claims) {}

    /// Receives the facts of the component at the other end of the wire at `port`, or of one beyond
    /// it. Called at elaboration for all stated facts, before [`Negotiate::elaborated`].
    ///
    /// # Errors
    /// Returns an error if a fact is incompatible with the specification.
    fn learn(&mut self, _port: PortId, _facts: &Facts) -> Result<(), Unfit> {
        Ok(())
    }

    /// Called once, when all wires are connected and all facts are delivered.
    ///
    /// # Errors
    /// Returns an error if an optional port or a fact is missing that the component requires with
    /// its specification.
    fn elaborated(&mut self) -> Result<(), Unfit> {
        Ok(())
    }
}
