//! The terms of a wire.

/// How much a channel accepts per sender cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// So many messages per cycle.
    Messages(u32),
    /// So many bytes per cycle: a message of `b` bytes occupies the wire for `ceil(b / n)` cycles
    /// and is readable `latency` cycles after its last byte left.
    Bytes(u32),
}

/// The terms of a wire as its author states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Cycles of the sender from send to readable, at least 1.
    pub latency: u32,
    /// Cycles of the receiver from pop to the slot being usable again, at least 1.
    pub credit_latency: u32,
    /// Messages in flight and queued; by default enough for full rate:
    /// `width × (latency + credit_latency)`.
    pub capacity: Option<u32>,
    /// What is accepted per sender cycle.
    pub width: Width,
}

impl Link {
    /// A wire of this latency in both directions, one message per cycle, full rate.
    pub fn latency(cycles: u32) -> Self {
        Self {
            latency: cycles,
            credit_latency: cycles,
            capacity: None,
            width: Width::Messages(1),
        }
    }

    /// The same wire with room for `messages` in flight and queued.
    pub fn capacity(mut self, messages: u32) -> Self {
        self.capacity = Some(messages);
        self
    }

    /// The same wire with another credit latency.
    pub fn credit_latency(mut self, cycles: u32) -> Self {
        self.credit_latency = cycles;
        self
    }

    /// The same wire with another width.
    pub fn width(mut self, width: Width) -> Self {
        self.width = width;
        self
    }

    /// Slots needed for one message (or width) per cycle without a gap.
    pub fn full_rate_capacity(&self) -> u32 {
        let per_cycle = match self.width {
            Width::Messages(n) => n,
            Width::Bytes(_) => 1,
        };
        per_cycle.saturating_mul(self.latency.saturating_add(self.credit_latency))
    }
}
