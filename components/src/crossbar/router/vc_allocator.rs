//! Virtual-channel allocation: assigns free channels of the outputs to waiting packets.
//!
//! Every waiting packet requests all free channels of one output. With iSLIP, every free channel
//! grants the first packet at or after its pointer. Every packet accepts the first grant at or
//! after its own pointer. An accepted pair moves both pointers one past the partner (input channels
//! are numbered input by input, output channels output by output). The other arbiters assign the
//! free channels in ascending order: round robin over the packets, oldest first, or lowest first.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};

use crate::crossbar::arbiter::BuiltInArbiter;
use crate::crossbar::port_bits::PortMask;
use crate::crossbar::requests::bit;

/// Input channel of a packet (its index in the waiting set) and the channel assigned to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) waiter: u32,
    pub(super) output: u32,
    pub(super) channel: u32,
}

/// Packets that wait for a channel, by output.
#[derive(Serialize, Deserialize)]
pub(super) struct VcRequests {
    words: usize,
    bits: Vec<u64>,
    /// Outputs for which at least one packet waits.
    pub(super) outputs: PortMask,
}

impl VcRequests {
    pub(super) fn new(waiters: usize, outputs: usize) -> Self {
        let words = waiters.div_ceil(64);
        Self {
            words,
            bits: vec![0; words * outputs],
            outputs: 0,
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, waiter: usize, output: usize) {
        self.bits[output * self.words + waiter / 64] |= 1 << (waiter % 64);
        self.outputs |= bit(output);
    }

    #[inline]
    pub(super) fn remove(&mut self, waiter: usize, output: usize) {
        self.bits[output * self.words + waiter / 64] &= !(1 << (waiter % 64));
        if self.of(output).iter().all(|w| *w == 0) {
            self.outputs &= !bit(output);
        }
    }

    #[inline]
    pub(super) fn of(&self, output: usize) -> &[u64] {
        &self.bits[output * self.words..(output + 1) * self.words]
    }
}

/// Iterates over the elements of a bit set in ascending order.
pub(super) fn elements(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(index, word)| {
        let mut word = *word;
        std::iter::from_fn(move || {
            (word != 0).then(|| {
                let element = index * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                element
            })
        })
    })
}

/// Returns the first element of a non-empty set at or after `start`, cyclically.
#[inline]
fn first_element(words: &[u64], start: usize) -> usize {
    let (word, offset) = (start / 64, start % 64);
    if let Some(first) = words.get(word) {
        let above = first >> offset << offset;
        if above != 0 {
            return word * 64 + above.trailing_zeros() as usize;
        }
    }
    let after = words.iter().enumerate().skip(word + 1);
    let mut around = after.chain(words.iter().enumerate());
    let (index, found) = around
        .find(|(_, w)| **w != 0)
        .expect("somebody waits for the output");
    index * 64 + found.trailing_zeros() as usize
}

/// Returns the first channel of a non-empty mask at or after `start`, cyclically.
#[inline]
pub(super) fn first_channel(mask: u64, start: u32) -> u32 {
    let above = mask >> start << start;
    (if above == 0 { mask } else { above }).trailing_zeros()
}

/// Virtual-channel allocator with its round-robin pointers.
#[derive(State)]
pub(super) struct VcAllocator {
    #[state(skip)]
    arbiter: BuiltInArbiter,
    #[state(skip)]
    channels: usize,
    #[state(skip)]
    waiters: usize,
    /// iSLIP: per output channel, the waiter with the highest priority. Round robin: the same in
    /// the first channel of each output.
    #[state(array)]
    grant: Vec<u32>,
    /// iSLIP: per input channel, the output channel with the highest priority.
    #[state(array)]
    accept: Vec<u32>,
    /// Input channels of each waiter, one per output; 0 if a waiter is a single input channel.
    #[state(skip)]
    per_output: usize,
    /// Scratch, empty between uses: granting channels of each waiter, and the granted waiters.
    #[state(skip)]
    granting: Vec<u64>,
    #[state(skip)]
    granted: Vec<u32>,
    #[state(skip)]
    aged: Vec<(Cycle, usize)>,
}

impl VcAllocator {
    pub(super) fn new(
        arbiter: BuiltInArbiter,
        (waiters, lanes): (usize, usize),
        outputs: usize,
        channels: usize,
    ) -> Self {
        Self {
            arbiter,
            channels,
            waiters,
            per_output: if lanes == waiters { 0 } else { outputs },
            grant: vec![0; outputs * channels],
            accept: vec![0; lanes],
            granting: vec![0; waiters],
            granted: Vec::new(),
            aged: Vec::new(),
        }
    }

    /// Assigns the `free` channels of an output to the packets that wait for it.
    pub(super) fn allocate(
        &mut self,
        (output, free): (usize, u64),
        waiting: &VcRequests,
        age: impl Fn(usize) -> Cycle,
        grants: &mut Vec<Grant>,
    ) {
        let waiting = waiting.of(output);
        match self.arbiter {
            BuiltInArbiter::Islip { .. } => self.islip((output, free), waiting, grants),
            BuiltInArbiter::RoundRobin => {
                let many: u32 = waiting.iter().map(|w| w.count_ones()).sum();
                for channel in channels(free).take(many as usize) {
                    let pointer = &mut self.grant[output * self.channels];
                    let waiter = first_element(waiting, *pointer as usize);
                    *pointer = (waiter + 1) as u32 % self.waiters as u32;
                    grants.push(pair(waiter, output, channel));
                }
            }
            BuiltInArbiter::AgeBased => {
                self.aged.clear();
                self.aged.extend(elements(waiting).map(|w| (age(w), w)));
                self.aged.sort_unstable();
                let pairs = self.aged.iter().zip(channels(free));
                grants.extend(pairs.map(|(&(_, waiter), c)| pair(waiter, output, c)));
            }
            BuiltInArbiter::Fixed => {
                let pairs = elements(waiting).zip(channels(free));
                grants.extend(pairs.map(|(waiter, c)| pair(waiter, output, c)));
            }
        }
    }

    fn islip(&mut self, (output, free): (usize, u64), waiting: &[u64], grants: &mut Vec<Grant>) {
        let first = output * self.channels;
        for channel in channels(free) {
            let waiter = first_element(waiting, self.grant[first + channel as usize] as usize);
            if self.granting[waiter] == 0 {
                self.granted.push(waiter as u32);
            }
            self.granting[waiter] |= 1 << channel;
        }
        for waiter in self.granted.drain(..) {
            let offers = std::mem::take(&mut self.granting[waiter as usize]);
            let lane = match self.per_output {
                0 => waiter as usize,
                outputs => waiter as usize * outputs + output,
            };
            let pointer = (self.accept[lane] as usize).wrapping_sub(first);
            let start = if pointer < self.channels { pointer } else { 0 };
            let channel = first_channel(offers, start as u32);
            let number = first + channel as usize;
            self.grant[number] = (waiter + 1) % self.waiters as u32;
            self.accept[lane] = ((number + 1) % self.grant.len()) as u32;
            grants.push(pair(waiter as usize, output, channel));
        }
    }
}

/// Iterates over the channels of a mask in ascending order.
fn channels(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let channel = mask.trailing_zeros();
            mask &= mask - 1;
            channel
        })
    })
}

fn pair(waiter: usize, output: usize, channel: u32) -> Grant {
    Grant {
        waiter: waiter as u32,
        output: output as u32,
        channel,
    }
}
