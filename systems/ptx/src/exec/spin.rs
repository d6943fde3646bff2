//! State of a wavefront by which spin loops are detected; `watch` decides.

use crate::exec::registers::{Register, lanes};
use crate::exec::stack::{Activation, Path};
use crate::exec::wavefront::Wavefront;

/// Instructions without effect before a wavefront is watched for the first time; each further
/// interval is four times longer.
pub(super) const QUIET: u64 = 1 << 12;
/// Size of the Bloom filter of touched addresses, in 64-bit words.
pub(super) const TOUCHED: usize = 8;

/// Spin loop detection state of a wavefront.
#[derive(Default)]
pub(super) struct Spin {
    /// Number of instructions since its last effect.
    pub(super) quiet: u64,
    /// Value of `quiet` at which the wavefront is watched next.
    pub(super) next: u64,
    /// Saved state at a loop head, with its time.
    pub(super) saved: Option<(Box<Saved>, u64)>,
    /// Device memory words read since the state was saved.
    pub(super) words: Vec<u64>,
    /// True if one of the reads was an atomic, as in a lock attempt.
    pub(super) tries: bool,
    /// Last access that may be a wait: instruction, lanes, lowest lane's address, and time of the
    /// launch's last effect.
    last: (u32, u32, u64, u64),
    /// True if the wavefront repeated the same access with no effect in between.
    pub(super) is_suspect: bool,
    /// Instructions without effect after which a suspect is examined.
    pub(super) patience: u64,
    /// Time at which a spin was detected, in instructions of the launch.
    pub(super) found: Option<u64>,
    /// Bloom filter of the addresses of atomics and strong loads.
    pub(super) touched: [u64; TOUCHED],
}

#[allow(clippy::vec_box)] // As the registers are.
/// State that determines the further execution of a wavefront, apart from memory.
pub(super) struct Saved {
    words: Vec<Box<Register<u32>>>,
    doubles: Vec<Box<Register<u64>>>,
    predicates: Vec<u32>,
    paths: Vec<Path>,
    activations: Vec<Activation>,
    carry: u32,
}

pub(super) fn bit(address: u64) -> (usize, u64) {
    let hash = (address >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55;
    (hash as usize / 64, 1 << (hash % 64))
}

impl Spin {
    /// Records an access that may take a lock or wait. `effect` is the time of the launch's last
    /// effect.
    #[inline]
    pub(super) fn touch(&mut self, (pc, mask): (u32, u32), addresses: &[u64; 32], effect: u64) {
        let lane = mask.trailing_zeros() as usize & 31;
        let now = (pc, mask, addresses[lane], effect);
        self.is_suspect |= now == self.last && self.quiet >= self.patience;
        self.last = now;
        for lane in lanes(mask) {
            let (word, bit) = bit(addresses[lane]);
            self.touched[word] |= bit;
        }
    }

    /// True if the next turn is to be watched.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.quiet >= self.next.max(QUIET)
    }

    /// Ends a turn of `instructions` instructions; `effect` is true if the wavefront had an effect.
    #[inline]
    pub(super) fn turn(&mut self, instructions: u64, effect: bool) {
        if !effect {
            self.quiet += instructions;
            return;
        }
        self.quiet = 0;
        self.next = 0;
        self.patience = 0;
        if self.found.is_some() || self.saved.is_some() {
            self.found = None;
            self.forget();
        }
    }

    pub(super) fn forget(&mut self) {
        self.saved = None;
        self.words.clear();
        self.tries = false;
    }
}

impl Saved {
    pub(super) fn of(wavefront: &Wavefront) -> Self {
        let registers = &wavefront.registers;
        Self {
            words: registers.words.clone(),
            doubles: registers.doubles.clone(),
            predicates: registers.predicates.clone(),
            paths: wavefront.paths.clone(),
            activations: wavefront.activations.clone(),
            carry: wavefront.carry,
        }
    }

    pub(super) fn head(&self) -> Option<usize> {
        self.paths.last().map(|path| path.pc as usize)
    }

    pub(super) fn is_now(&self, wavefront: &Wavefront) -> bool {
        let registers = &wavefront.registers;
        self.paths == wavefront.paths
            && self.activations == wavefront.activations
            && self.carry == wavefront.carry
            && self.predicates == registers.predicates
            && self.words == registers.words
            && self.doubles == registers.doubles
    }
}
