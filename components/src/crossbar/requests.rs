//! Port masks, and the request bits between inputs and outputs.

use serde::{Deserialize, Serialize};

use super::port_bits::{PortBits, PortMask};

/// Packets per output that an input may start in one round before it waits for the outputs not
/// served yet. It is large enough to cost no throughput.
const PATIENCE: u32 = 8;

/// Bits of a machine word. Masks are walked word by word, because few switches have more ports.
const WORD: usize = u64::BITS as usize;

/// One-bit mask of every port: a table look-up is faster than a 128-bit shift.
const BITS: [PortMask; PortMask::BITS as usize] = {
    let mut bits = [0; PortMask::BITS as usize];
    let mut port = 0;
    while port < bits.len() {
        bits[port] = 1 << port;
        port += 1;
    }
    bits
};

/// Returns the mask of one port.
#[inline]
pub(crate) fn bit(port: usize) -> PortMask {
    BITS[port]
}

/// Set of ports in a word as wide as the switch needs. Most sets fit into one machine word, which
/// halves the work of the matching.
pub(crate) trait PortSet: Copy + Default + PartialEq {
    /// Converts a mask; the set must be wide enough for its ports.
    fn of(mask: PortMask) -> Self;
    /// Converts stored port bits; otherwise like [`PortSet::of`].
    fn kept(bits: &PortBits) -> Self;
    /// Returns the set with one port.
    fn one(port: usize) -> Self;
    /// Returns the intersection of two sets.
    fn and(self, other: Self) -> Self;
    /// Returns the ports that are not in the other set.
    fn without(self, other: Self) -> Self;
    /// Returns the union of two sets.
    fn with(self, other: Self) -> Self;
    /// Returns the first port; for an empty set, an invalid port number.
    fn first(self) -> usize;
    /// Returns the ports from `start` on.
    fn starting_at(self, start: usize) -> Self;

    #[inline(always)]
    fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Returns the first port of a non-empty set at or after `start`, cyclically.
    #[inline(always)]
    fn first_from(self, start: usize) -> usize {
        let above = self.starting_at(start);
        if above.is_empty() { self } else { above }.first()
    }
}

macro_rules! port_set {
    ($word:ty, $kept:ident) => {
        impl PortSet for $word {
            #[inline(always)]
            fn of(mask: PortMask) -> Self {
                mask as Self
            }

            #[inline(always)]
            fn kept(bits: &PortBits) -> Self {
                bits.$kept()
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

port_set!(u64, first_word);
port_set!(u128, mask);

/// True if this number of ports fits into one machine word.
pub(crate) fn fits_word(ports: usize) -> bool {
    ports <= WORD
}

/// Iterates over the ports of a mask in ascending order.
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

/// Returns the first port of a non-empty mask at or after `start`, cyclically.
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

/// Request matrix: input × output bits, stored for both sides, and the pairs held by packets.
///
/// Held ports become free at different times. Two endless streams can therefore keep an output and
/// an input from ever being free together, although a packet waits for both. To avoid this, every
/// input serves its outputs in rounds. A round starts with the outputs wanted at that time and ends
/// when each was served. After `patience` packets that held ports, the input starts packets only to
/// the remaining outputs. Packets of one flit hold nothing and do not count: for them the arbiters
/// follow their definitions exactly.
#[derive(Serialize, Deserialize)]
pub(crate) struct Requests {
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    wanting: PortBits,
    wanted: PortBits,
    holding_inputs: PortBits,
    held_outputs: PortBits,
    /// Inputs that have used up their patience.
    impatient: PortBits,
    patience: u32,
}

/// Requests and state of one input.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Input {
    wants: PortBits,
    /// Output that the input's packet holds, if any.
    holds: PortBits,
    /// Outputs not served yet in this round.
    left: PortBits,
    /// Packets that held ports in this round.
    started: u32,
}

/// Requests and holder of one output.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Output {
    asking: PortBits,
    /// Input whose packet holds the output, if any.
    holder: PortBits,
}

impl Requests {
    pub(crate) fn new(inputs: usize, outputs: usize) -> Self {
        Self {
            inputs: vec![Input::default(); inputs],
            outputs: vec![Output::default(); outputs],
            wanting: PortBits::default(),
            wanted: PortBits::default(),
            holding_inputs: PortBits::default(),
            held_outputs: PortBits::default(),
            impatient: PortBits::default(),
            patience: PATIENCE * outputs as u32,
        }
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, input: usize, output: usize) {
        self.outputs[output].asking.insert(input);
        self.inputs[input].wants.insert(output);
        self.wanting.insert(input);
        self.wanted.insert(output);
    }

    #[inline(always)]
    pub(crate) fn clear(&mut self, input: usize, output: usize) {
        let asking = &mut self.outputs[output].asking;
        asking.remove(input);
        if asking.is_empty() {
            self.wanted.remove(output);
        }
        let wants = &mut self.inputs[input].wants;
        wants.remove(output);
        if wants.is_empty() {
            self.wanting.remove(input);
        }
    }

    /// Records a flit that is not a tail: the input and the output serve only each other until
    /// released.
    #[inline(always)]
    pub(crate) fn hold(&mut self, input: usize, output: usize) {
        if !self.holding_inputs.contains(input) {
            self.begin_to_hold(input, output);
        }
    }

    #[inline(never)]
    fn begin_to_hold(&mut self, input: usize, output: usize) {
        self.start(input, output);
        self.inputs[input].started += 1;
        if self.inputs[input].started >= self.patience {
            self.impatient.insert(input);
        }
        let holder = &mut self.outputs[output].holder;
        *holder = PortBits::default();
        holder.insert(input);
        let holds = &mut self.inputs[input].holds;
        *holds = PortBits::default();
        holds.insert(output);
        self.held_outputs.insert(output);
        self.holding_inputs.insert(input);
    }

    /// Records that a tail passed, which frees both ports.
    #[inline(always)]
    pub(crate) fn release(&mut self, input: usize, output: usize) {
        if self.holding_inputs.contains(input) {
            self.held_outputs.remove(output);
            self.holding_inputs.remove(input);
        } else {
            self.start(input, output);
        }
    }

    /// Records that a flit passed from the input to the output. The input now requests `next`
    /// instead of that output.
    #[inline(always)]
    pub(crate) fn passed(
        &mut self,
        (input, output): (usize, usize),
        is_tail: bool,
        next: Option<usize>,
    ) {
        if is_tail {
            self.release(input, output);
        } else {
            self.hold(input, output);
        }
        if next != Some(output) {
            self.clear(input, output);
            if let Some(next) = next {
                self.set(input, next);
            }
        }
    }

    /// Records that the input starts a packet to the output.
    #[inline(always)]
    fn start(&mut self, input: usize, output: usize) {
        let of_input = &mut self.inputs[input];
        of_input.left.remove(output);
        if !of_input.left.meets(&of_input.wants) {
            of_input.left = of_input.wants;
            of_input.left.remove(output);
            of_input.started = 0;
            self.impatient.remove(input);
        }
    }

    /// Returns the inputs that want some output, available or not.
    #[inline]
    pub(super) fn wanting(&self) -> PortMask {
        self.wanting.mask()
    }

    /// Returns the outputs that some input wants, available or not.
    #[inline]
    pub(crate) fn wanted(&self) -> PortMask {
        self.wanted.mask()
    }

    /// Returns the inputs whose request the output can serve.
    #[inline]
    pub(crate) fn to_output(&self, output: usize) -> PortMask {
        self.to_output_in(output)
    }

    /// Equivalent to [`Requests::to_output`], in words wide enough for all ports.
    #[inline(always)]
    pub(super) fn to_output_in<S: PortSet>(&self, output: usize) -> S {
        let of_output = &self.outputs[output];
        let asking = S::kept(&of_output.asking);
        let (held, this) = (S::kept(&self.held_outputs), S::one(output));
        if !held.and(this).is_empty() {
            return asking.and(S::kept(&of_output.holder));
        }
        let asking = asking.without(S::kept(&self.holding_inputs));
        if asking.and(S::kept(&self.impatient)).is_empty() {
            asking
        } else {
            self.without_the_impatient(asking, output)
        }
    }

    /// Removes from `asking` the inputs that have used up their patience for the output.
    #[cold]
    fn without_the_impatient<S: PortSet>(&self, mut asking: S, output: usize) -> S {
        for input in ports(self.outputs[output].asking.mask() & self.impatient.mask()) {
            if self.of_input(input) & bit(output) == 0 {
                asking = asking.without(S::one(input));
            }
        }
        asking
    }

    /// Returns the outputs that can serve this input's requests.
    #[inline]
    pub(super) fn of_input(&self, input: usize) -> PortMask {
        let of_input = &self.inputs[input];
        let wants = of_input.wants.mask();
        if self.holding_inputs.contains(input) {
            return wants & of_input.holds.mask();
        }
        let left = wants & of_input.left.mask();
        let may_start = if self.impatient.contains(input) && left != 0 {
            left
        } else {
            wants
        };
        may_start & !self.held_outputs.mask()
    }
}
