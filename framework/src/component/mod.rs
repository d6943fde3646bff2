//! Component trait: ports, an evaluation per awake cycle, a state, statistics.
//!
//! The trait builds on [`crate::channel`] (ports), [`crate::evaluation`] (context and wake-up
//! conditions), [`crate::state`] and [`crate::observe`]. [`crate::registry`] defines how
//! description files name components; [`crate::engine`] evaluates them.

mod facts;
mod untimed;

use std::any::Any;

pub(crate) use facts::{Beside, Claim};
pub use facts::{Claims, Facts, Origin, Stated, Unfit};
pub(crate) use untimed::Parcel;
pub use untimed::{Onward, PortName};

use crate::channel::Bundle;
use crate::evaluation::{Context, Next};
use crate::observe::{Contents, Instrumented, Waits};
use crate::state::Stateful;

/// A clocked piece of hardware: ports, state, statistics, and an evaluation for each cycle.
///
/// The first three follow from its fields: `#[derive(Ports, State, Statistics)]`.
///
/// The engine evaluates a component at every clock edge at which it is awake. Within one evaluation
/// a component sees only messages sent in earlier cycles. Other components see none of its actions
/// before the next cycle, so the order of evaluation never matters.
pub trait Component: Bundle + Stateful + Instrumented + Send {
    /// Does the work of one cycle and returns the condition that the component waits for.
    ///
    /// # Contract
    /// A component is asleep if it returned something other than [`Next::Busy`], nothing arrived
    /// and its time has not come. An evaluation while asleep must change nothing. Leaving a
    /// readable message in an input requires a reason that wakes the component: a full output it
    /// checked, a time, or [`Next::Busy`].
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next;

    /// States the facts on which the component at the other end of the wire at `port` may rely.
    /// Called at elaboration for every wire, with the full name of the port, such as
    /// `up[2].request`.
    fn facts(&self, _port: &str, _facts: &mut Facts) {}

    /// Selects the ports that pass on a fact arriving at `port`: those that return the same number.
    /// Facts that arrived with the messages, at an input, leave through outputs; those that arrived
    /// against them, at an output, leave through inputs. `facts` holds the arriving facts; those
    /// withdrawn are not passed on. A component that forwards messages unchanged passes all facts.
    fn passage(&self, _port: &str, _facts: &mut Facts) -> Option<u32> {
        None
    }

    /// Claims the numbers and ranges that no other instance of the system may have.
    fn claims(&self, _claims: &mut Claims) {}

    /// Receives the facts of the component at the other end of the wire at `port`, or of one beyond
    /// it. Called at elaboration for all stated facts, before [`Component::elaborated`].
    ///
    /// # Errors
    /// Returns an error if a fact is incompatible with the specification.
    fn learn(&mut self, _port: &str, _facts: &Facts) -> Result<(), Unfit> {
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

    /// Receives a functional-access message from the wire at `port`. Between two cycles, contents
    /// change as if the message and all its consequences had happened, such as accesses that bring
    /// lines into a cache. Statistics do not count it and there is no reply. Messages for other
    /// components are sent with `onward`.
    ///
    /// # Errors
    /// Returns an error if the component accepts no such messages.
    fn untimed(
        &mut self,
        _port: PortName<'_>,
        _message: &mut dyn Any,
        _onward: &mut Onward,
    ) -> Result<(), String> {
        Err("its kind takes no messages of no time".to_owned())
    }

    /// Returns the relative host cost of one evaluation, roughly in hundreds of instructions, for
    /// balancing a system between threads. Results do not depend on it.
    fn evaluation_cost(&self) -> u64 {
        1
    }

    /// Shows the component's contents for recordings. Called after each evaluation, and only while
    /// this component is recorded.
    fn contents(&self, _contents: &mut Contents<'_>) {}

    /// Describes in hardware terms what the component still waits for ("3 MSHRs wait for fills"),
    /// for deadlock reports. The engine reports ports blocked for lack of credit.
    fn waits(&self, _waits: &mut Waits<'_>) {}
}
