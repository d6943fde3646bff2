//! Channels of a controller, and the command bus that they may share.

use warpweave_framework::{Cycle, State};

use super::controller::Controller;
use super::scheduler::AnyRequestOrder;
use super::shared_bus::SharedBus;

/// Channels with their shared command bus.
#[derive(State)]
pub(super) struct Channels {
    #[state(parts, rename = "channel")]
    pub(super) list: Vec<Controller>,
    /// Command bus shared by all channels, if they share one.
    #[state(part)]
    bus: Option<SharedBus>,
    #[state(skip)]
    is_checked: bool,
}

impl Channels {
    /// Takes the channels. With `checks` every command is checked against the timing rules.
    pub(super) fn new(mut list: Vec<Controller>, shares_bus: bool, checks: bool) -> Self {
        if checks {
            list.iter_mut().for_each(Controller::judge_commands);
        }
        Self {
            bus: (shares_bus && list.len() > 1).then(SharedBus::default),
            list,
            is_checked: checks,
        }
    }

    /// True if a timing checker sees every command.
    pub(super) fn is_checked(&self) -> bool {
        self.is_checked
    }

    /// Issues the commands up to cycle `until`. Returns true if the channels may accept what they
    /// refused before.
    ///
    /// # Errors
    /// Returns an error if the shared bus or a timing rule was violated.
    #[inline]
    pub(super) fn advance(&mut self, until: Cycle) -> Result<bool, String> {
        let mut any = false;
        if let Some(bus) = &mut self.bus {
            any = bus
                .advance(&mut self.list, until)
                .map_err(|broken| format!("DRAM {broken}"))?;
        } else {
            for channel in &mut self.list {
                any |= channel.advance(until);
            }
        }
        if self.is_checked
            && let Some(broken) = self.first_violation()
        {
            return Err(broken);
        }
        Ok(any)
    }

    /// Returns the first timing violation found by the checker.
    fn first_violation(&self) -> Option<String> {
        let judges = self.list.iter().filter_map(Controller::judge);
        let mut broken = judges.filter_map(|judge| judge.violations().first());
        broken.next().map(|violation| format!("DRAM {violation}"))
    }

    /// Returns the cycle of the next command or completion; `latency` passes after each completion.
    #[inline]
    pub(super) fn next_event(&mut self, latency: Cycle) -> Cycle {
        let mut next = Cycle::MAX;
        for channel in &mut self.list {
            if let Some(cycle) = channel.next_command() {
                next = next.min(cycle);
            }
            if let Some(completion) = channel.next_completion() {
                next = next.min(completion + latency);
            }
        }
        next
    }

    /// Returns the contract violation of a request order, if any.
    #[inline]
    pub(super) fn broken_order(&self) -> Option<&str> {
        let mut orders = self.list.iter().map(Controller::order);
        orders.find_map(AnyRequestOrder::broken)
    }
}
