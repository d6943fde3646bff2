//! Open trait for request orders, through which policies of any crate are called.
//!
//! While requests wait, the channel queries the policy after every command and every accepted
//! request, and possibly at other times. Requests whose ACT has been issued, and refreshes, have
//! priority over the policy's choice. The choice may therefore be dropped, and the policy is
//! queried again.
//!
//! A channel sleeps until the cycle of the answer, and must behave like one that is evaluated every
//! cycle. A policy may therefore change its state only when a command is
//! [issued](RequestOrderPolicy::issued). Without other changes, it must give the same answer in
//! every later cycle up to the cycle of that answer.

use warpweave_framework::{Cycle, Id, State, Stateful, Statistics};

use super::{Candidate, View, WaitingRequest};
use crate::dram::banks::Command;
use crate::policy_contract::PolicyContract;

/// Policy that orders the requests of one channel.
pub trait RequestOrderPolicy: Send {
    /// Returns the next request to get a command, and the cycle of that command. The request must
    /// be one of [`View::waiting`], and the cycle not before its [`View::earliest`]. The command is
    /// the one that the request needs next. Returns `None` if no request should get a command
    /// before the state changes. Any other answer ends the run.
    fn next(&self, view: &View<'_>) -> Option<(Cycle, Id)>;

    /// Notifies the policy of a command for a request: one that the policy chose, or the read or
    /// write that follows its ACT.
    fn issued(&mut self, _cycle: Cycle, _command: Command, _request: &WaitingRequest) {}

    /// Registers the policy's state for checkpoints: everything it has recorded so far. A policy
    /// without state registers nothing.
    fn state(&mut self, state: &mut State<'_>) {
        state.refuse("the policy does not implement `state`");
    }

    /// Reports the policy's counters. In a controller with several channels the names are prefixed
    /// with the channel number.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}
}

/// Policy that the channel uses only through [`RequestOrderPolicy`]. Its answers are checked.
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
            _ if !waits => format!("chose request {id}, which is not waiting for a command"),
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

    pub(super) fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.policy.statistics(statistics);
    }

    /// Returns the policy's contract violation, if any.
    pub(super) fn broken(&self) -> Option<&str> {
        self.promise.broken()
    }
}

impl Stateful for OpenRequestOrder {
    fn state(&mut self, state: &mut State<'_>) {
        self.policy.state(state);
    }
}
