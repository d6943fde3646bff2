//! The arbiter as a trait: what a policy of any crate is told and asked.
//!
//! An arbiter is asked for a matching whenever anything can be matched, once or several times per
//! cycle as the network says, and not otherwise: a network in which nothing can be matched sleeps.

use warpweave_framework::{Cycle, State, Statistics};

use crate::crossbar::requests::{PortMask, bit};
use crate::policy_contract::PolicyContract;

/// An arbiter of a switch.
pub trait ArbiterPolicy: Send {
    /// Appends pairs of input and output to `matches`, which is empty: pairs that were asked for, no
    /// input and no output in two of them. Each moves one flit. Other pairs end the run.
    ///
    /// A packet that has begun to move holds its input and its output: neither is asked for by others
    /// before its last flit has moved. In a router flits of several packets mix, and none is held.
    fn matching(&mut self, asked: &Matching<'_>, matches: &mut Vec<(usize, usize)>);

    /// Names the state for checkpoints: all that later matchings depend on. An arbiter without state
    /// names nothing.
    fn state(&mut self, state: &mut State<'_>) {
        state.refuse("the policy does not name its state");
    }

    /// Reports what the policy counted; the names get that of the network in front.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}
}

/// What can be matched.
pub struct Matching<'a> {
    asked: &'a [PortMask],
    since: &'a dyn Fn(usize, usize) -> Cycle,
}

impl<'a> Matching<'a> {
    /// Per output a bit for every input that asks for it; and since when the packet of an input for an
    /// output is on its way.
    pub fn new(asked: &'a [u128], since: &'a dyn Fn(usize, usize) -> Cycle) -> Self {
        Self { asked, since }
    }

    /// Outputs of the switch.
    pub fn outputs(&self) -> usize {
        self.asked.len()
    }

    /// Inputs that ask for the output, a bit each; none where it can take nothing now.
    pub fn inputs_of(&self, output: usize) -> u128 {
        self.asked.get(output).copied().unwrap_or(0)
    }

    /// Outputs that the input asks for, a bit each.
    pub fn outputs_of(&self, input: usize) -> u128 {
        let outputs = (0..self.asked.len()).filter(|&output| self.asks(input, output));
        outputs.fold(0, |mask, output| mask | bit(output))
    }

    /// Whether the input asks for the output.
    pub fn asks(&self, input: usize, output: usize) -> bool {
        input < PortMask::BITS as usize && self.inputs_of(output) & bit(input) != 0
    }

    /// The cycle in which the first packet of the input for the output was put before the network;
    /// `Cycle::MAX` if the input does not ask for the output.
    pub fn since(&self, input: usize, output: usize) -> Cycle {
        if self.asks(input, output) {
            (self.since)(input, output)
        } else {
            Cycle::MAX
        }
    }
}

/// An arbiter that the allocator knows by [`ArbiterPolicy`] alone. Its answers are checked.
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

    /// Fills `matches`, which is empty, with what may be matched of the policy's pairs.
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
                        "which it does not ask for"
                    } else if inputs & bit(input) != 0 {
                        "but the input has a match"
                    } else {
                        "but the output has a match"
                    };
                    format!("matched input {input} with output {output}, {why}")
                });
            }
            right
        });
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
