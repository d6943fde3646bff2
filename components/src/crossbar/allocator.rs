//! Matching of inputs and outputs: request bits and the round-robin and iSLIP allocators.
//!
//! iSLIP after N. McKeown, "The iSLIP scheduling algorithm for input-queued switches", 1999. All
//! pointers start at 0. Per iteration, over ports not matched yet: every output grants the first
//! requesting input at or after its pointer, every input accepts the first granting output at or
//! after its own. In the first iteration an accepted pair moves both pointers one past the partner;
//! a grant that is not accepted moves nothing.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};

use super::network_spec::Arbiter;

/// One bit per port.
pub(crate) type PortMask = u128;

/// Packets per output that an input may start in one round before it waits for the outputs that it
/// has not served: rare enough to cost no throughput.
const PATIENCE: u32 = 8;

/// Bits of a word of the machine: what masks are walked in, because few switches have more ports.
const WORD: usize = u64::BITS as usize;

/// The mask of every port: shifting 128 bits takes longer than looking up.
const BITS: [PortMask; PortMask::BITS as usize] = {
    let mut bits = [0; PortMask::BITS as usize];
    let mut port = 0;
    while port < bits.len() {
        bits[port] = 1 << port;
        port += 1;
    }
    bits
};

/// The mask of one port.
#[inline]
pub(crate) fn bit(port: usize) -> PortMask {
    BITS[port]
}

/// The ports of a mask, ascending.
#[inline]
pub(crate) fn ports(mask: PortMask) -> impl Iterator<Item = usize> {
    let (mut low, mut high) = (mask as u64, (mask >> WORD) as u64);
    std::iter::from_fn(move || {
        if low != 0 {
            let port = low.trailing_zeros() as usize;
            low &= low - 1;
            Some(port)
        } else if high != 0 {
            let port = high.trailing_zeros() as usize;
            high &= high - 1;
            Some(WORD + port)
        } else {
            None
        }
    })
}

/// The first port of a non-empty mask at or after `start`, cyclically.
#[inline]
pub(crate) fn first_from(mask: PortMask, start: usize) -> usize {
    if mask >> WORD == 0 && start < WORD {
        let mask = mask as u64;
        let above = mask >> start << start;
        return (if above == 0 { mask } else { above }).trailing_zeros() as usize;
    }
    let above = mask >> start << start;
    (if above == 0 { mask } else { above }).trailing_zeros() as usize
}

/// Who wants what: input × output bits from both sides, and which pairs a packet holds.
#[derive(Serialize, Deserialize)]
pub(crate) struct Requests {
    by_output: Vec<PortMask>,
    by_input: Vec<PortMask>,
    wanting: PortMask,
    wanted: PortMask,
    /// Per held output: the input whose packet holds it.
    holder: Vec<PortMask>,
    /// Per holding input: the output it holds.
    holding: Vec<PortMask>,
    held_outputs: PortMask,
    holding_inputs: PortMask,
    rounds: Rounds,
}

/// Keeps packets that hold their ports from starving others.
///
/// Ports that are held become free at different times, so two endless streams can make an output
/// and an input never be free together although a packet waits for both. Therefore every input
/// serves its outputs in rounds: a round starts with the outputs wanted at that time and ends when
/// each was served; after `patience` packets that held ports, the input starts packets only to the
/// outputs that are left. Packets of one flit hold nothing and end no patience: for them the
/// arbiters do what their definitions say.
#[derive(Serialize, Deserialize)]
struct Rounds {
    patience: u32,
    /// Per input: outputs not served yet in this round.
    left: Vec<PortMask>,
    /// Per input: packets that held ports in this round.
    started: Vec<u32>,
    /// Inputs whose patience ended.
    impatient: PortMask,
}

impl Rounds {
    /// The input starts a packet to the output; `wants` are its other and future requests.
    #[inline]
    fn start(&mut self, input: usize, output: usize, wants: PortMask, holds: bool) {
        let left = &mut self.left[input];
        *left &= !bit(output);
        if *left & wants == 0 {
            *left = wants & !bit(output);
            self.started[input] = 0;
            self.impatient &= !bit(input);
        }
        if holds {
            self.started[input] += 1;
            if self.started[input] >= self.patience {
                self.impatient |= bit(input);
            }
        }
    }
}

impl Requests {
    pub(crate) fn new(inputs: usize, outputs: usize) -> Self {
        Self {
            by_output: vec![0; outputs],
            by_input: vec![0; inputs],
            wanting: 0,
            wanted: 0,
            holder: vec![0; outputs],
            holding: vec![0; inputs],
            held_outputs: 0,
            holding_inputs: 0,
            rounds: Rounds {
                patience: PATIENCE * outputs as u32,
                left: vec![0; inputs],
                started: vec![0; inputs],
                impatient: 0,
            },
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, input: usize, output: usize) {
        self.by_output[output] |= bit(input);
        self.by_input[input] |= bit(output);
        self.wanting |= bit(input);
        self.wanted |= bit(output);
    }

    #[inline]
    pub(crate) fn clear(&mut self, input: usize, output: usize) {
        self.by_output[output] &= !bit(input);
        self.by_input[input] &= !bit(output);
        if self.by_output[output] == 0 {
            self.wanted &= !bit(output);
        }
        if self.by_input[input] == 0 {
            self.wanting &= !bit(input);
        }
    }

    /// A flit that is no tail passed: the input and the output serve only each other until released.
    #[inline]
    pub(crate) fn hold(&mut self, input: usize, output: usize) {
        if self.holding_inputs & bit(input) != 0 {
            return;
        }
        self.rounds.start(input, output, self.by_input[input], true);
        self.holder[output] = bit(input);
        self.holding[input] = bit(output);
        self.held_outputs |= bit(output);
        self.holding_inputs |= bit(input);
    }

    /// A tail passed.
    #[inline]
    pub(crate) fn release(&mut self, input: usize, output: usize) {
        if self.holding_inputs & bit(input) == 0 {
            self.rounds
                .start(input, output, self.by_input[input], false);
        }
        self.held_outputs &= !bit(output);
        self.holding_inputs &= !bit(input);
    }

    /// Outputs that some input wants, whether they are free for it or not.
    #[inline]
    pub(crate) fn wanted(&self) -> PortMask {
        self.wanted
    }

    /// Inputs whose request the output can serve.
    #[inline]
    pub(crate) fn to_output(&self, output: usize) -> PortMask {
        if self.held_outputs & bit(output) != 0 {
            return self.by_output[output] & self.holder[output];
        }
        let mut asking = self.by_output[output] & !self.holding_inputs;
        for input in ports(asking & self.rounds.impatient) {
            if self.of_input(input) & bit(output) == 0 {
                asking &= !bit(input);
            }
        }
        asking
    }

    /// Outputs that can serve this input's requests.
    #[inline]
    fn of_input(&self, input: usize) -> PortMask {
        if self.holding_inputs & bit(input) != 0 {
            return self.by_input[input] & self.holding[input];
        }
        let wants = self.by_input[input];
        let left = wants & self.rounds.left[input];
        let is_impatient = self.rounds.impatient & bit(input) != 0;
        let may_start = if is_impatient && left != 0 {
            left
        } else {
            wants
        };
        may_start & !self.held_outputs
    }
}

/// A pair of input and output.
pub(crate) type Match = (usize, usize);

/// The arbiters of a switch.
pub(crate) struct Allocator {
    arbiter: Arbiter,
    /// Per output: the input with the highest priority.
    grant: Vec<usize>,
    /// Per input: the output with the highest priority.
    accept: Vec<usize>,
    /// Scratch, zero between uses: proposals per port of the side that decides last.
    proposals: Vec<PortMask>,
    matches: Vec<Match>,
}

impl Allocator {
    pub(crate) fn new(arbiter: Arbiter, inputs: usize, outputs: usize) -> Self {
        Self {
            arbiter,
            grant: vec![0; outputs],
            accept: vec![0; inputs],
            proposals: vec![0; inputs.max(outputs)],
            matches: Vec::with_capacity(inputs.min(outputs)),
        }
    }

    /// Matches requests to the outputs in `open`; the matching is read with [`Self::matched`].
    /// `age` is the time since which an input's request to an output is on its way.
    pub(crate) fn allocate(
        &mut self,
        requests: &Requests,
        open: PortMask,
        age: impl Fn(usize, usize) -> Cycle,
    ) -> usize {
        self.matches.clear();
        match self.arbiter {
            Arbiter::RoundRobin => self.round_robin(requests, open),
            Arbiter::Islip { iterations } => self.islip(requests, open, iterations),
            Arbiter::AgeBased => self.by_order(requests, open, age),
            Arbiter::Fixed => self.by_order(requests, open, |_, _| 0),
        }
        self.matches.len()
    }

    /// Names what later matchings depend on.
    pub(crate) fn state(&mut self, state: &mut State<'_>) {
        state.field("grant", &mut self.grant);
        state.field("accept", &mut self.accept);
    }

    /// The pair number `index` of the last matching.
    #[inline]
    pub(crate) fn matched(&self, index: usize) -> Match {
        self.matches[index]
    }

    fn islip(&mut self, requests: &Requests, mut open: PortMask, iterations: u32) {
        let mut unmatched = PortMask::MAX;
        for iteration in 0..iterations {
            let mut granted: PortMask = 0;
            for output in ports(requests.wanted & open) {
                let asking = requests.to_output(output) & unmatched;
                if asking != 0 {
                    let input = first_from(asking, self.grant[output]);
                    self.proposals[input] |= bit(output);
                    granted |= bit(input);
                }
            }
            if granted == 0 {
                break;
            }
            for input in ports(granted) {
                let grants = std::mem::take(&mut self.proposals[input]);
                let output = first_from(grants, self.accept[input]);
                if iteration == 0 {
                    self.advance(input, output);
                }
                unmatched &= !bit(input);
                open &= !bit(output);
                self.matches.push((input, output));
            }
        }
    }

    fn round_robin(&mut self, requests: &Requests, open: PortMask) {
        let mut asked: PortMask = 0;
        for input in ports(requests.wanting) {
            let wanted = requests.of_input(input) & open;
            if wanted != 0 {
                let output = first_from(wanted, self.accept[input]);
                self.proposals[output] |= bit(input);
                asked |= bit(output);
            }
        }
        for output in ports(asked) {
            let asking = std::mem::take(&mut self.proposals[output]);
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
        for output in ports(requests.wanted & open) {
            let asking = ports(requests.to_output(output));
            if let Some(input) = asking.min_by_key(|&input| order(input, output)) {
                self.proposals[input] |= bit(output);
                granted |= bit(input);
            }
        }
        for input in ports(granted) {
            let grants = ports(std::mem::take(&mut self.proposals[input]));
            let output = grants.min_by_key(|&output| order(input, output));
            self.matches.extend(output.map(|output| (input, output)));
        }
    }

    #[inline]
    fn advance(&mut self, input: usize, output: usize) {
        self.grant[output] = (input + 1) % self.grant_size();
        self.accept[input] = (output + 1) % self.accept_size();
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
            let mut allocator = Allocator::new(Arbiter::Islip { iterations }, inputs, outputs);
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
            let mut allocator = Allocator::new(Arbiter::Islip { iterations: 8 }, 8, 8);
            let pairs = matching(&mut allocator, &requests(8, 8, &wants));
            for &(i, o) in &wants {
                prop_assert!(pairs.iter().any(|&(a, b)| a == i || b == o));
            }
        }
    }

    #[test]
    fn a_grant_that_is_not_accepted_moves_nothing() {
        let mut allocator = Allocator::new(Arbiter::Islip { iterations: 1 }, 2, 2);
        // Both outputs grant input 0, which accepts output 0 only.
        let both = requests(2, 2, &[(0, 0), (0, 1), (1, 1)]);
        assert_eq!(matching(&mut allocator, &both), [(0, 0)]);
        assert_eq!(
            (&allocator.grant[..], &allocator.accept[..]),
            (&[1, 0][..], &[1, 0][..])
        );
        // Now input 0 prefers output 1, whose pointer still stands at it.
        assert_eq!(matching(&mut allocator, &both), [(0, 1)]);
    }

    #[test]
    fn a_held_pair_serves_each_other_alone() {
        for arbiter in [Arbiter::RoundRobin, Arbiter::Islip { iterations: 2 }] {
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
        for arbiter in [
            Arbiter::RoundRobin,
            Arbiter::Islip { iterations: 1 },
            Arbiter::Islip { iterations: 4 },
        ] {
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
