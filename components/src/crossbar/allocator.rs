//! Matching of inputs and outputs: round-robin, iSLIP, priority-order and open arbiters.
//!
//! iSLIP after N. McKeown, "The iSLIP scheduling algorithm for input-queued switches", 1999. All
//! pointers start at 0. In each iteration, every unmatched output grants the first requesting input
//! at or after its pointer. Every unmatched input then accepts the first granting output at or
//! after its own pointer. In the first iteration an accepted pair moves both pointers one past the
//! partner; a grant that is not accepted moves neither.

use warpweave_framework::{Cycle, State};

use super::arbiter::{AnyArbiter, BuiltInArbiter, Matching};
use super::port_bits::PortBits;
use super::port_bits::PortMask;
use super::requests::{PortSet, Requests, bit, first_from, fits_word, ports};

/// Matched pair of input and output.
pub(crate) type Match = (usize, usize);

/// Allocator of a switch: computes matchings with its arbiter.
#[derive(State)]
pub(crate) struct Allocator {
    /// For each output: the input with the highest priority.
    #[state(array)]
    grant: Vec<usize>,
    /// For each input: the output with the highest priority.
    #[state(array)]
    accept: Vec<usize>,
    #[state(flatten)]
    arbiter: AnyArbiter,
    /// Scratch, zero between uses: proposals for each port of the side that decides last.
    #[state(skip)]
    proposals: Vec<PortBits>,
    /// Scratch of an open arbiter: the requesting inputs of each output.
    #[state(skip)]
    asked: Vec<PortMask>,
    #[state(skip)]
    matches: Vec<Match>,
}

impl Allocator {
    pub(crate) fn new(arbiter: AnyArbiter, inputs: usize, outputs: usize) -> Self {
        Self {
            arbiter,
            grant: vec![0; outputs],
            accept: vec![0; inputs],
            proposals: vec![PortBits::default(); inputs.max(outputs)],
            asked: Vec::new(),
            matches: Vec::with_capacity(inputs.min(outputs)),
        }
    }

    /// Matches requests to the outputs in `open`; the result is read with [`Self::matched`]. `age`
    /// gives the cycle since which an input's request to an output has been pending.
    pub(crate) fn allocate(
        &mut self,
        requests: &Requests,
        open: PortMask,
        age: impl Fn(usize, usize) -> Cycle,
    ) -> usize {
        self.matches.clear();
        if requests.wanted() & open == 0 {
            return 0;
        }
        match self.arbiter {
            AnyArbiter::BuiltIn(BuiltInArbiter::RoundRobin) => self.round_robin(requests, open),
            AnyArbiter::BuiltIn(BuiltInArbiter::Islip { iterations }) => {
                if fits_word(self.proposals.len()) {
                    self.islip::<u64>(requests, open, iterations);
                } else {
                    self.islip::<u128>(requests, open, iterations);
                }
            }
            AnyArbiter::BuiltIn(BuiltInArbiter::AgeBased) => self.by_order(requests, open, age),
            AnyArbiter::BuiltIn(BuiltInArbiter::Fixed) => {
                self.by_order(requests, open, |_, _| 0);
            }
            AnyArbiter::Open(_) => self.ask(requests, open, &age),
        }
        self.matches.len()
    }

    /// Calls an open arbiter, but only if a match is possible. Its state thus does not depend on
    /// how often an otherwise waiting network is evaluated.
    fn ask(&mut self, requests: &Requests, open: PortMask, since: &dyn Fn(usize, usize) -> Cycle) {
        self.asked.clear();
        self.asked.resize(self.grant.len(), 0);
        for output in ports(requests.wanted() & open) {
            self.asked[output] = requests.to_output(output);
        }
        if let AnyArbiter::Open(arbiter) = &mut self.arbiter
            && self.asked.iter().any(|inputs| *inputs != 0)
        {
            arbiter.matching(&Matching::new(&self.asked, since), &mut self.matches);
        }
    }

    pub(crate) fn arbiter(&self) -> &AnyArbiter {
        &self.arbiter
    }

    /// Returns pair number `index` of the last matching.
    #[inline]
    pub(crate) fn matched(&self, index: usize) -> Match {
        self.matches[index]
    }

    fn islip<S: PortSet>(&mut self, requests: &Requests, open: PortMask, iterations: u32) {
        let mut open = S::of(requests.wanted() & open);
        let mut matched = S::default();
        for iteration in 0..iterations {
            let mut granted = S::default();
            let mut outputs = open;
            while !outputs.is_empty() {
                let output = outputs.first();
                outputs = outputs.without(S::one(output));
                let asking = requests.to_output_in::<S>(output).without(matched);
                if !asking.is_empty() {
                    let input = asking.first_from(self.grant[output]);
                    self.proposals[input].insert(output);
                    granted = granted.with(S::one(input));
                }
            }
            if granted.is_empty() {
                break;
            }
            matched = matched.with(granted);
            while !granted.is_empty() {
                let input = granted.first();
                granted = granted.without(S::one(input));
                let grants = S::kept(&std::mem::take(&mut self.proposals[input]));
                let output = grants.first_from(self.accept[input]);
                if iteration == 0 {
                    self.advance(input, output);
                }
                open = open.without(S::one(output));
                self.matches.push((input, output));
            }
        }
    }

    fn round_robin(&mut self, requests: &Requests, open: PortMask) {
        let mut asked: PortMask = 0;
        for input in ports(requests.wanting()) {
            let wanted = requests.of_input(input) & open;
            if wanted != 0 {
                let output = first_from(wanted, self.accept[input]);
                self.proposals[output].insert(input);
                asked |= bit(output);
            }
        }
        for output in ports(asked) {
            let asking = std::mem::take(&mut self.proposals[output]).mask();
            let input = first_from(asking, self.grant[output]);
            self.advance(input, output);
            self.matches.push((input, output));
        }
    }

    /// Every output grants its first request by (order, input), every input accepts its first grant
    /// by (order, output).
    fn by_order(
        &mut self,
        requests: &Requests,
        open: PortMask,
        order: impl Fn(usize, usize) -> Cycle,
    ) {
        let mut granted: PortMask = 0;
        for output in ports(requests.wanted() & open) {
            let asking = ports(requests.to_output(output));
            if let Some(input) = asking.min_by_key(|&input| order(input, output)) {
                self.proposals[input].insert(output);
                granted |= bit(input);
            }
        }
        for input in ports(granted) {
            let grants = ports(std::mem::take(&mut self.proposals[input]).mask());
            let output = grants.min_by_key(|&output| order(input, output));
            self.matches.extend(output.map(|output| (input, output)));
        }
    }

    #[inline]
    fn advance(&mut self, input: usize, output: usize) {
        let after = |port: usize, ports: usize| if port + 1 == ports { 0 } else { port + 1 };
        self.grant[output] = after(input, self.grant_size());
        self.accept[input] = after(output, self.accept_size());
    }

    fn grant_size(&self) -> usize {
        self.accept.len()
    }

    fn accept_size(&self) -> usize {
        self.grant.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warpweave_random::nth;

    use super::*;
    use crate::crossbar::tests::naive_islip::NaiveIslip;

    const ROUND_ROBIN: AnyArbiter = AnyArbiter::BuiltIn(BuiltInArbiter::RoundRobin);

    fn islip(iterations: u32) -> AnyArbiter {
        AnyArbiter::BuiltIn(BuiltInArbiter::Islip { iterations })
    }

    fn requests(inputs: usize, outputs: usize, pairs: &[(usize, usize)]) -> Requests {
        let mut requests = Requests::new(inputs, outputs);
        for &(i, o) in pairs {
            requests.set(i, o);
        }
        requests
    }

    fn matching(allocator: &mut Allocator, requests: &Requests) -> Vec<Match> {
        let n = allocator.allocate(requests, PortMask::MAX, |_, _| 0);
        let mut pairs: Vec<_> = (0..n).map(|k| allocator.matched(k)).collect();
        pairs.sort_unstable();
        pairs
    }

    proptest! {
        #[test]
        fn islip_is_what_the_definition_says(
            inputs in 1usize..20, outputs in 1usize..20, iterations in 1u32..5,
            slots in prop::collection::vec(any::<u64>(), 1..30),
        ) {
            let mut allocator = Allocator::new(islip(iterations), inputs, outputs);
            let mut naive = NaiveIslip::new(inputs, outputs);
            for slot in slots {
                let pairs: Vec<_> = (0..inputs * outputs)
                    .filter(|k| nth(slot, *k as u64).is_multiple_of(4))
                    .map(|k| (k / outputs, k % outputs))
                    .collect();
                let expected = naive.matching(&pairs, iterations);
                prop_assert_eq!(matching(&mut allocator, &requests(inputs, outputs, &pairs)), expected);
            }
        }

        #[test]
        fn islip_with_enough_iterations_is_maximal(
            wants in prop::collection::vec((0usize..8, 0usize..8), 0..40),
        ) {
            let mut allocator = Allocator::new(islip(8), 8, 8);
            let pairs = matching(&mut allocator, &requests(8, 8, &wants));
            for &(i, o) in &wants {
                prop_assert!(pairs.iter().any(|&(a, b)| a == i || b == o));
            }
        }
    }

    #[test]
    fn a_grant_that_is_not_accepted_moves_nothing() {
        let mut allocator = Allocator::new(islip(1), 2, 2);
        // Both outputs grant input 0, which accepts output 0 only.
        let both = requests(2, 2, &[(0, 0), (0, 1), (1, 1)]);
        assert_eq!(matching(&mut allocator, &both), [(0, 0)]);
        assert_eq!(
            (&allocator.grant[..], &allocator.accept[..]),
            (&[1, 0][..], &[1, 0][..])
        );
        // Now input 0 prefers output 1, whose pointer still points at it.
        assert_eq!(matching(&mut allocator, &both), [(0, 1)]);
    }

    #[test]
    fn a_held_pair_serves_each_other_alone() {
        for arbiter in [ROUND_ROBIN, islip(2)] {
            let mut allocator = Allocator::new(arbiter, 3, 2);
            let mut requests = requests(3, 2, &[(0, 0), (1, 0), (1, 1), (2, 0)]);
            requests.hold(1, 0);
            assert_eq!(matching(&mut allocator, &requests), [(1, 0)]);
            assert_eq!(matching(&mut allocator, &requests), [(1, 0)]);
            requests.release(1, 0);
            assert_eq!(matching(&mut allocator, &requests), [(1, 1), (2, 0)]);
        }
    }

    #[test]
    fn a_persistent_request_is_served_within_inputs_times_outputs_slots() {
        for arbiter in [ROUND_ROBIN, islip(1), islip(4)] {
            let (inputs, outputs) = (12, 8);
            let all: Vec<_> = (0..inputs * outputs)
                .map(|k| (k / outputs, k % outputs))
                .collect();
            let requests = requests(inputs, outputs, &all);
            let mut allocator = Allocator::new(arbiter, inputs, outputs);
            let mut last = vec![0; inputs * outputs];
            for slot in 1..2000 {
                for (i, o) in matching(&mut allocator, &requests) {
                    last[i * outputs + o] = slot;
                }
                assert!(last.iter().all(|&l| slot - l <= inputs * outputs));
            }
        }
    }
}
