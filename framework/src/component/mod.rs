//! Component trait: ports, an evaluation per awake cycle, a state, statistics.
//!
//! The trait builds on [`crate::channel`] (ports), [`crate::evaluation`] (context and wake-up
//! conditions), [`crate::state`] and [`crate::observe`]. [`crate::registry`] defines how
//! description files name components; [`crate::engine`] evaluates them.

mod facts;
mod functional;
mod inspect;
mod negotiate;

pub(crate) use facts::{Beside, Claim};
pub use facts::{Claims, Facts, Origin, Stated, Unfit};
pub(crate) use functional::Parcel;
pub use functional::{Functional, FunctionalError, Onward};
pub use inspect::Inspect;
pub use negotiate::Negotiate;

use crate::channel::Bundle;
use crate::evaluation::{Context, Next};
use crate::observe::Instrumented;
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

    /// Returns the relative host cost of one evaluation, roughly in hundreds of instructions, for
    /// balancing a system between threads. Results do not depend on it.
    fn evaluation_cost(&self) -> u64 {
        1
    }

    /// Returns the component as one that exchanges facts at elaboration, if it does.
    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        None
    }

    /// Returns the component as one that supports functional accesses, if it does.
    fn functional(&mut self) -> Option<&mut dyn Functional> {
        None
    }

    /// Returns the component as one that shows its contents and its unfinished work, if it does.
    fn inspection(&self) -> Option<&dyn Inspect> {
        None
    }
}
