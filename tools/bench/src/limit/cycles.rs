//! Hand-written ring and pipe: a list of awake modules for each cycle, and bounded channels.

use cpu_time::ProcessTime;

use crate::workload::{Sample, Tally, starts_with_token};

/// Maximum wake-up distance in cycles, a power of two.
const HORIZON: u64 = 8;

trait Module {
    /// Evaluates the module for a cycle. It may run twice in a cycle if it asked for a later
    /// wake-up.
    fn step(&mut self, me: u32, kernel: &mut Kernel);
}

/// Slot of a channel: a message with its first readable cycle, or room with its first usable cycle.
#[derive(Clone, Copy, Default)]
struct Slot {
    value: u64,
    from: u64,
}

/// Wire of latency 1, credit latency 1 and one message per cycle.
struct Channel {
    slots: Box<[Slot]>,
    /// Slot of the oldest message, followed by that of the next one to arrive.
    read: usize,
    write: usize,
    held: usize,
    /// First cycle in which the wire accepts another message.
    free_from: u64,
    /// True if the sender is waiting for room.
    blocked: bool,
    sender: u32,
    receiver: u32,
}

struct Kernel {
    now: u64,
    channels: Vec<Channel>,
    /// Modules to wake, by cycle modulo the horizon.
    awake: [Vec<u32>; HORIZON as usize],
    /// Cycle in whose list each module was last put.
    listed: Vec<u64>,
    moved: u64,
}

impl Kernel {
    fn new(modules: u64, channels: Vec<Channel>) -> Self {
        let mut awake = [const { Vec::new() }; HORIZON as usize];
        awake[0] = (0..modules as u32).collect();
        Self {
            now: 0,
            channels,
            awake,
            listed: vec![0; modules as usize],
            moved: 0,
        }
    }

    fn wake(&mut self, module: u32, cycle: u64) {
        let listed = &mut self.listed[module as usize];
        if *listed != cycle {
            *listed = cycle;
            self.awake[(cycle % HORIZON) as usize].push(module);
        }
    }

    fn has_message(&self, channel: usize) -> bool {
        let channel = &self.channels[channel];
        channel.held > 0 && channel.slots[channel.read].from <= self.now
    }

    /// True if there is room. Otherwise the sender will be woken when there is.
    fn can_send(&mut self, number: usize) -> bool {
        let channel = &mut self.channels[number];
        if channel.held == channel.slots.len() {
            channel.blocked = true;
            return false;
        }
        let from = channel.slots[channel.write].from.max(channel.free_from);
        let free = from <= self.now;
        if !free {
            let sender = channel.sender;
            self.wake(sender, from);
        }
        free
    }

    fn send(&mut self, number: usize, value: u64) {
        let next = self.now + 1;
        let channel = &mut self.channels[number];
        channel.slots[channel.write] = Slot { value, from: next };
        channel.write = following(channel.write, channel.slots.len());
        channel.held += 1;
        channel.free_from = next;
        self.moved += 1;
        if channel.held == 1 {
            let receiver = channel.receiver;
            self.wake(receiver, next);
        }
    }

    fn pop(&mut self, number: usize) -> Option<u64> {
        let next = self.now + 1;
        let channel = &mut self.channels[number];
        let slot = &mut channel.slots[channel.read];
        if channel.held == 0 || slot.from > self.now {
            return None;
        }
        let value = slot.value;
        slot.from = next;
        channel.read = following(channel.read, channel.slots.len());
        channel.held -= 1;
        let blocked = std::mem::take(&mut channel.blocked);
        let (more, sender, receiver) = (channel.held > 0, channel.sender, channel.receiver);
        if blocked {
            self.wake(sender, next);
        }
        if more {
            self.wake(receiver, next);
        }
        Some(value)
    }
}

fn following(slot: usize, slots: usize) -> usize {
    if slot + 1 == slots { 0 } else { slot + 1 }
}

/// Runs up to and including cycle `until`, or until all modules sleep.
fn run(mut kernel: Kernel, mut modules: Vec<Box<dyn Module>>, until: u64, tally: &Tally) -> Sample {
    let start = ProcessTime::now();
    while let Some(ahead) = (0..HORIZON)
        .find(|ahead| !kernel.awake[((kernel.now + ahead) % HORIZON) as usize].is_empty())
    {
        kernel.now += ahead;
        if kernel.now > until {
            break;
        }
        let at = (kernel.now % HORIZON) as usize;
        let mut list = std::mem::take(&mut kernel.awake[at]);
        for module in list.drain(..) {
            modules[module as usize].step(module, &mut kernel);
        }
        // No module can request this cycle any more, so its list is reused.
        kernel.awake[at] = list;
    }
    let ns = start.elapsed().as_nanos() as u64;
    drop(modules);
    Sample {
        ns,
        units: kernel.moved,
        checksum: tally.sum(),
        bytes: 0,
    }
}

fn channel(slots: usize, sender: u64, receiver: u64) -> Channel {
    Channel {
        slots: vec![Slot::default(); slots].into_boxed_slice(),
        read: 0,
        write: 0,
        held: 0,
        free_from: 0,
        blocked: false,
        sender: sender as u32,
        receiver: receiver as u32,
    }
}

struct Hop {
    input: usize,
    output: usize,
    tokens: u64,
    sum: u64,
    tally: Tally,
}

impl Module for Hop {
    fn step(&mut self, _me: u32, kernel: &mut Kernel) {
        if self.tokens > 0 {
            self.tokens -= 1;
            kernel.send(self.output, 0);
        }
        if !kernel.has_message(self.input) || !kernel.can_send(self.output) {
            return;
        }
        if let Some(token) = kernel.pop(self.input) {
            self.sum = self.sum.wrapping_add(token);
            kernel.send(self.output, token + 1);
        }
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        self.tally.add(self.output as u64, self.sum);
    }
}

/// Circulates `tokens` tokens around `modules` modules for `hops` hops.
pub(crate) fn ring(modules: u64, tokens: u64, hops: u64) -> Sample {
    let tally = Tally::default();
    let mut boxed: Vec<Box<dyn Module>> = Vec::new();
    let mut channels = Vec::new();
    for i in 0..modules {
        // Module i sends into channel i. Two slots are full rate.
        channels.push(channel(2, i, (i + 1) % modules));
        boxed.push(Box::new(Hop {
            input: ((i + modules - 1) % modules) as usize,
            output: i as usize,
            tokens: u64::from(starts_with_token(i, modules, tokens)),
            sum: 0,
            tally: tally.clone(),
        }));
    }
    run(Kernel::new(modules, channels), boxed, hops / tokens, &tally)
}

struct Feed {
    left: u64,
}

impl Module for Feed {
    fn step(&mut self, _me: u32, kernel: &mut Kernel) {
        if self.left > 0 && kernel.can_send(0) {
            kernel.send(0, self.left);
            self.left -= 1;
            kernel.can_send(0);
        }
    }
}

struct Stage {
    input: usize,
}

impl Module for Stage {
    fn step(&mut self, _me: u32, kernel: &mut Kernel) {
        let output = self.input + 1;
        if !kernel.has_message(self.input) || !kernel.can_send(output) {
            return;
        }
        if let Some(item) = kernel.pop(self.input) {
            kernel.send(output, item);
        }
        if kernel.has_message(self.input) {
            kernel.can_send(output);
        }
    }
}

struct Drip {
    input: usize,
    every: u64,
    next: u64,
    sum: u64,
    tally: Tally,
}

impl Module for Drip {
    fn step(&mut self, me: u32, kernel: &mut Kernel) {
        if kernel.now < self.next {
            return;
        }
        if let Some(item) = kernel.pop(self.input) {
            self.sum = self.sum.rotate_left(5) ^ (item + kernel.now);
            self.next = kernel.now + self.every;
            kernel.wake(me, self.next);
        }
    }
}

impl Drop for Drip {
    fn drop(&mut self) {
        self.tally.add(0, self.sum);
    }
}

/// Sends `items` items through `stages` stages of `depth` slots, with one accepted every `every`
/// cycles.
pub(crate) fn pipe(stages: u64, depth: u64, every: u64, items: u64) -> Sample {
    assert!(every < HORIZON, "wake-ups reach {HORIZON} cycles ahead");
    let tally = Tally::default();
    let mut boxed: Vec<Box<dyn Module>> = vec![Box::new(Feed { left: items })];
    for input in 0..stages as usize {
        boxed.push(Box::new(Stage { input }));
    }
    boxed.push(Box::new(Drip {
        input: stages as usize,
        every,
        next: 0,
        sum: 0,
        tally: tally.clone(),
    }));
    let channels = (0..=stages)
        .map(|i| channel(depth as usize, i, i + 1))
        .collect();
    run(Kernel::new(stages + 2, channels), boxed, u64::MAX, &tally)
}
