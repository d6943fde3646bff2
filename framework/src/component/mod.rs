//! What a component is: ports, an evaluation per awake cycle, a state, statistics.
//!
//! The trait stands on [`crate::channel`] (its ports), [`crate::evaluation`] (what it may ask and what
//! it waits for), [`crate::state`] and [`crate::observe`]. How description files name components is
//! [`crate::registry`]'s; who evaluates them, [`crate::engine`]'s.

mod facts;
mod untimed;

use std::any::Any;

pub(crate) use facts::{Beside, Claim};
pub use facts::{Claims, Facts, Origin, Stated, Unfit};
pub(crate) use untimed::Parcel;
pub use untimed::{Onward, PortName};

use crate::channel::Ports;
use crate::evaluation::{Context, Next};
use crate::observe::{Contents, Statistics, Waits};
use crate::state::State;

/// A clocked piece of hardware.
///
/// The engine evaluates a component at every clock edge at which it is awake. Within one
/// evaluation a component sees only what was sent in earlier cycles, and nothing it does is seen
/// by others before the next cycle, so the order in which components are evaluated never matters.
pub trait Component: Send {
    /// Names every port, always in the same order. Called at elaboration, to connect, and for
    /// reports.
    fn ports(&mut self, ports: &mut Ports<'_>);

    /// Does the work of one cycle and says what the component waits for.
    ///
    /// # Contract
    /// An evaluation while the component is asleep (it returned something other than
    /// [`Next::Busy`], nothing arrived and its time has not come) must change nothing. Messages
    /// left in an input although their turn has come need a reason that wakes the component: a
    /// full output it asked about, a time, or [`Next::Busy`].
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next;

    /// Names every field of the component's state, in a fixed order: what later evaluations and
    /// reports depend on and its specification does not determine. Ports are not named: the
    /// engine saves channels itself. A component without this cannot be part of a checkpoint.
    fn state(&mut self, state: &mut State<'_>) {
        state.refuse("its kind does not describe its state");
    }

    /// Reports the component's statistics. Time-varying values are evaluated in closed form at
    /// [`Statistics::cycle`], so that a sleeping component reports what an awake one would.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}

    /// States what the component at the other end of the wire at `port` may rely on. Called at
    /// elaboration for every wire, by the full name of the port, such as `up[2].request`.
    fn facts(&self, _port: &str, _facts: &mut Facts) {}

    /// Which other ports a fact that arrives at `port` goes on to: those that answer with the same
    /// number. One that came with the messages, at an input, goes on by outputs; one that came against
    /// them, at an output, by inputs. `facts` are those that arrived; what is withdrawn stays here.
    /// A component that hands messages on and changes nothing that they say lets all facts pass.
    fn passage(&self, _port: &str, _facts: &mut Facts) -> Option<u32> {
        None
    }

    /// States the numbers and ranges that no other instance of the system may have.
    fn claims(&self, _claims: &mut Claims) {}

    /// Is told what the component at the other end of the wire at `port` states, or one beyond it.
    /// Called at elaboration for everything that is stated, before [`Component::elaborated`].
    ///
    /// # Errors
    /// A fact that does not fit the specification.
    fn learn(&mut self, _port: &str, _facts: &Facts) -> Result<(), Unfit> {
        Ok(())
    }

    /// Called once, when every wire is connected and every fact is told.
    ///
    /// # Errors
    /// An optional port or a fact that this component cannot do without, being specified as it is.
    fn elaborated(&mut self) -> Result<(), Unfit> {
        Ok(())
    }

    /// Takes a message of no time that came over the wire to `port`: between two cycles, contents change as if
    /// the message had been sent and everything that follows had happened (accesses that
    /// bring lines into a cache, say). No statistic counts it, nobody answers; what has to go on leaves by
    /// `onward`.
    ///
    /// # Errors
    /// A component that takes no such messages.
    fn untimed(
        &mut self,
        _port: PortName<'_>,
        _message: &mut dyn Any,
        _onward: &mut Onward,
    ) -> Result<(), String> {
        Err("its kind takes no messages of no time".to_owned())
    }

    /// Work of one evaluation on the host compared with others, roughly in hundreds of
    /// instructions; for dividing a system evenly between threads. Results do not depend on it.
    fn evaluation_cost(&self) -> u64 {
        1
    }

    /// Shows what is in the component, for recordings: asked after each evaluation, and only while
    /// somebody records this component.
    fn contents(&self, _contents: &mut Contents<'_>) {}

    /// Tells a deadlock report what the component still waits for, in words of the hardware
    /// ("3 MSHRs wait for fills"). Ports blocked for lack of credit are reported by the engine.
    fn waits(&self, _waits: &mut Waits<'_>) {}
}
