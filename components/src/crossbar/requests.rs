//! Who asks for what: masks of ports, and the request bits of inputs and outputs.

use serde::{Deserialize, Serialize};
use warpweave_framework::as_many;

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

/// A set of ports in a word as wide as the switch needs: most fit into one word of the machine, with
/// which the matching takes half the work.
pub(crate) trait PortSet: Copy + Default + PartialEq {
    /// The ports of the mask; the set is wide enough for them.
    fn of(mask: PortMask) -> Self;
    /// One port.
    fn one(port: usize) -> Self;
    /// Those in both.
    fn and(self, other: Self) -> Self;
    /// Those that are not in the other one.
    fn without(self, other: Self) -> Self;
    /// Those in either.
    fn with(self, other: Self) -> Self;
    /// The first port; of an empty set, a port that none has.
    fn first(self) -> usize;
    /// Those from `start` on.
    fn starting_at(self, start: usize) -> Self;

    /// Whether there is none.
    #[inline(always)]
    fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// The first port of a non-empty set at or after `start`, cyclically.
    #[inline(always)]
    fn first_from(self, start: usize) -> usize {
        let above = self.starting_at(start);
        if above.is_empty() { self } else { above }.first()
    }
}

macro_rules! port_set {
    ($word:ty) => {
        impl PortSet for $word {
            #[inline(always)]
            fn of(mask: PortMask) -> Self {
                mask as Self
            }

            #[inline(always)]
            fn one(port: usize) -> Self {
                1 << port
            }

            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }

            #[inline(always)]
            fn without(self, other: Self) -> Self {
                self & !other
            }

            #[inline(always)]
            fn with(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn first(self) -> usize {
                self.trailing_zeros() as usize
            }

            #[inline(always)]
            fn starting_at(self, start: usize) -> Self {
                self >> start << start
            }
        }
    };
}

port_set!(u64);
port_set!(u128);

/// Whether so many ports fit into one word of the machine.
pub(crate) fn fits_word(ports: usize) -> bool {
    ports <= WORD
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
    pub(super) wanting: PortMask,
    pub(super) wanted: PortMask,
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
    /// Whether what a checkpoint holds is of a network as this one was built.
    pub(crate) fn is_like(&self, built: &Self) -> Result<(), String> {
        let (inputs, outputs) = (built.by_input.len(), built.by_output.len());
        for found in [&self.by_output, &self.holder] {
            as_many("outputs", found.len(), outputs)?;
        }
        for found in [&self.by_input, &self.holding, &self.rounds.left] {
            as_many("inputs", found.len(), inputs)?;
        }
        as_many("inputs", self.rounds.started.len(), inputs)?;
        let within = |masks: &[PortMask], count: usize| {
            let all = PortMask::MAX >> (PortMask::BITS as usize - count);
            masks.iter().all(|mask| mask & !all == 0)
        };
        let of_inputs = [self.wanting, self.holding_inputs, self.rounds.impatient];
        let fits = within(&self.by_output, inputs)
            && within(&self.holder, inputs)
            && within(&of_inputs, inputs)
            && within(&self.by_input, outputs)
            && within(&self.holding, outputs)
            && within(&self.rounds.left, outputs)
            && within(&[self.wanted, self.held_outputs], outputs);
        if fits && self.rounds.patience == built.rounds.patience {
            Ok(())
        } else {
            Err("ports that are not there ask or are asked for".to_owned())
        }
    }

    /// Whether these, per input and output, are all that ask.
    pub(crate) fn check(&self, asking: &[(usize, usize)]) -> Result<(), String> {
        let mut expected = Self::new(self.by_input.len(), self.by_output.len());
        for (input, output) in asking {
            expected.set(*input, *output);
        }
        let same = expected.by_output == self.by_output
            && expected.by_input == self.by_input
            && (expected.wanting, expected.wanted) == (self.wanting, self.wanted);
        if same {
            Ok(())
        } else {
            Err("others ask than have flits".to_owned())
        }
    }

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
        if self.holding_inputs & bit(input) == 0 {
            self.begin_to_hold(input, output);
        }
    }

    fn begin_to_hold(&mut self, input: usize, output: usize) {
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
        self.to_output_in(output)
    }

    /// As [`Requests::to_output`], in words that all ports fit into.
    #[inline(always)]
    pub(super) fn to_output_in<S: PortSet>(&self, output: usize) -> S {
        let asking = S::of(self.by_output[output]);
        let (held, this) = (S::of(self.held_outputs), S::one(output));
        if !held.and(this).is_empty() {
            return asking.and(S::of(self.holder[output]));
        }
        let asking = asking.without(S::of(self.holding_inputs));
        if asking.and(S::of(self.rounds.impatient)).is_empty() {
            asking
        } else {
            self.without_the_impatient(asking, output)
        }
    }

    /// Those of `asking` whose patience for the output has not ended.
    #[cold]
    fn without_the_impatient<S: PortSet>(&self, mut asking: S, output: usize) -> S {
        for input in ports(self.by_output[output] & self.rounds.impatient) {
            if self.of_input(input) & bit(output) == 0 {
                asking = asking.without(S::one(input));
            }
        }
        asking
    }

    /// Outputs that can serve this input's requests.
    #[inline]
    pub(super) fn of_input(&self, input: usize) -> PortMask {
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
