//! The order of memory requests as a trait: what a policy of any crate is told and asked.
//!
//! The channel asks which request is next, and when, after every command and every request that it
//! accepts, and whenever else it has reason to, as long as requests wait. Requests whose ACT has been issued, and refreshes, go
//! before what the policy wants; so the answer may come to nothing, and the policy is asked again.
//!
//! A channel sleeps until the cycle of the answer, and must behave as one that is kept awake. So a
//! policy changes only when a command is [issued](RequestOrderPolicy::issued), and what it answers in
//! one cycle it must answer in every later one up to the cycle of its answer, if nothing else has
//! changed.

use warpweave_framework::{Cycle, Id, State, Statistics};

use super::{Candidate, View, WaitingRequest};
use crate::dram::banks::Command;
use crate::policy_contract::PolicyContract;

/// The order of the requests of one channel.
pub trait RequestOrderPolicy: Send {
    /// The next request to get a command, and the cycle of that command: one of
    /// [`View::waiting`], and a cycle not before its [`View::earliest`]. The command is the one that
    /// the request needs next. Nothing when none is to get one before something else has happened.
    /// Another answer ends the run.
    fn next(&self, view: &View<'_>) -> Option<(Cycle, Id)>;

    /// A request got a command: one that the policy chose, or the read or write that follows its ACT.
    fn issued(&mut self, _cycle: Cycle, _command: Command, _request: &WaitingRequest) {}

    /// Names the state for checkpoints: all that it was told and remembers. A policy without state
    /// names nothing.
    fn state(&mut self, state: &mut State<'_>) {
        state.refuse("the policy does not name its state");
    }

    /// Reports what the policy counted. In a controller with several channels the names get
    /// the number of the channel in front.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}
}

/// A policy that the channel knows by [`RequestOrderPolicy`] alone. Its answers are checked.
pub struct OpenRequestOrder {
    policy: Box<dyn RequestOrderPolicy>,
    channel: u32,
    promise: PolicyContract,
}

impl OpenRequestOrder {
    pub(in crate::dram) fn new(
        name: &'static str,
        policy: Box<dyn RequestOrderPolicy>,
        channel: u32,
    ) -> Self {
        Self {
            policy,
            channel,
            promise: PolicyContract::of(name),
        }
    }

    pub(super) fn next(&self, view: &View<'_>) -> (Cycle, Candidate) {
        if view.is_empty() {
            return (Cycle::MAX, Candidate::Nothing);
        }
        let Some((cycle, id)) = self.policy.next(view) else {
            return (Cycle::MAX, Candidate::Nothing);
        };
        let waits = view.waiting().any(|waiting| waiting == id);
        let wrong = match view.earliest(id) {
            _ if !waits => format!("chose request {id}, which does not wait for a command"),
            Some(earliest) if earliest <= cycle => return (cycle, view.choice(id)),
            Some(earliest) => format!(
                "gives request {id} its command in cycle {cycle}, before it is legal in cycle \
                 {earliest}"
            ),
            None => format!("gives request {id} its command in cycle {cycle}, before it may start"),
        };
        let channel = self.channel;
        self.promise
            .violate(|| format!("{wrong} (channel {channel})"));
        (Cycle::MAX, Candidate::Nothing)
    }

    pub(super) fn issued(&mut self, cycle: Cycle, command: Command, request: &WaitingRequest) {
        self.policy.issued(cycle, command, request);
    }

    pub(super) fn state(&mut self, state: &mut State<'_>) {
        self.policy.state(state);
    }

    pub(super) fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.policy.statistics(statistics);
    }

    /// What the policy did against its promise.
    pub(super) fn broken(&self) -> Option<&str> {
        self.promise.broken()
    }
}
