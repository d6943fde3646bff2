//! Arbiter trait, implementable by any crate: the queries made of a policy and their inputs.
//!
//! An arbiter is called whenever a match is possible, once or several times per cycle as the
//! network specifies. It is not called otherwise: a network without a possible match sleeps.

use warpweave_framework::{Cycle, State, Stateful, Statistics};

use crate::crossbar::port_bits::PortMask;
use crate::crossbar::requests::bit;
use crate::policy_contract::PolicyContract;

/// Arbiter that matches inputs and outputs of a switch.
pub trait ArbiterPolicy: Send {
    /// Appends pairs of input and output to `matches`, which is empty. Only requested pairs are
    /// allowed, with no input and no output in two of them. Each pair moves one flit. Other pairs
    /// end the run.
    ///
    /// A packet that has begun to move holds its input and its output: others cannot request them
    /// before its last flit has moved. In a router, flits of several packets interleave, and no
    /// port is held.
    fn matching(&mut self, asked: &Matching<'_>, matches: &mut Vec<(usize, usize)>);

    /// Registers all state for checkpoints on which later matchings depend. An arbiter without
    /// state registers nothing.
    fn state(&mut self, state: &mut State<'_>) {
        state.refuse("the policy does not implement `state`");
    }

    /// Reports the policy's own statistics; their names are prefixed with that of the network.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}
}

/// Requests presented to an arbiter for one matching.
pub struct Matching<'a> {
    asked: &'a [PortMask],
    since: &'a dyn Fn(usize, usize) -> Cycle,
}

impl<'a> Matching<'a> {
    /// Creates the request matrix. `asked` holds for each output one bit per requesting input.
    /// `since` returns the cycle since which an input's packet for an output has been pending.
    pub fn new(asked: &'a [u128], since: &'a dyn Fn(usize, usize) -> Cycle) -> Self {
        Self { asked, since }
    }

    /// Returns the number of outputs of the switch.
    pub fn outputs(&self) -> usize {
        self.asked.len()
    }

    /// Returns the inputs that request the output, as a bit mask; empty if the output is not
    /// available.
    pub fn inputs_of(&self, output: usize) -> u128 {
        self.asked.get(output).copied().unwrap_or(0)
    }

    /// Returns the outputs that the input requests, as a bit mask.
    pub fn outputs_of(&self, input: usize) -> u128 {
        let outputs = (0..self.asked.len()).filter(|&output| self.asks(input, output));
        outputs.fold(0, |mask, output| mask | bit(output))
    }

    /// True if the input requests the output.
    pub fn asks(&self, input: usize, output: usize) -> bool {
        input < PortMask::BITS as usize && self.inputs_of(output) & bit(input) != 0
    }

    /// Returns the cycle in which the input's first packet for the output was offered to the
    /// network. Returns `Cycle::MAX` if the input does not request the output.
    pub fn since(&self, input: usize, output: usize) -> Cycle {
        if self.asks(input, output) {
            (self.since)(input, output)
        } else {
            Cycle::MAX
        }
    }
}

/// Arbiter that the allocator accesses only through [`ArbiterPolicy`]. Its results are checked.
pub struct OpenArbiter {
    policy: Box<dyn ArbiterPolicy>,
    promise: PolicyContract,
}

impl OpenArbiter {
    pub(in crate::crossbar) fn new(name: &'static str, policy: Box<dyn ArbiterPolicy>) -> Self {
        Self {
            policy,
            promise: PolicyContract::of(name),
        }
    }

    /// Fills the empty `matches` with those pairs of the policy that are valid.
    pub(in crate::crossbar) fn matching(
        &mut self,
        asked: &Matching<'_>,
        matches: &mut Vec<(usize, usize)>,
    ) {
        self.policy.matching(asked, matches);
        let promise = &self.promise;
        let (mut inputs, mut outputs): (PortMask, PortMask) = (0, 0);
        matches.retain(|&(input, output)| {
            let right =
                asked.asks(input, output) && inputs & bit(input) == 0 && outputs & bit(output) == 0;
            if right {
                inputs |= bit(input);
                outputs |= bit(output);
            } else {
                promise.violate(|| {
                    let why = if !asked.asks(input, output) {
                        "which it does not request"
                    } else if inputs & bit(input) != 0 {
                        "but the input is already matched"
                    } else {
                        "but the output is already matched"
                    };
                    format!("matched input {input} with output {output}, {why}")
                });
            }
            right
        });
    }

    pub(super) fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.policy.statistics(statistics);
    }

    /// Returns the contract violation of the policy, if there was one.
    pub(super) fn broken(&self) -> Option<&str> {
        self.promise.broken()
    }
}

impl Stateful for OpenArbiter {
    fn state(&mut self, state: &mut State<'_>) {
        self.policy.state(state);
    }
}
