//! Timing and capacity parameters of a wire.

/// Bandwidth of a channel per sender cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Maximum number of messages per sender cycle.
    Messages(u32),
    /// Bytes per cycle. A message of `b` bytes occupies the wire for `ceil(b / n)` cycles. It is
    /// readable `latency` cycles after its last byte left.
    Bytes(u32),
}

/// Parameters of a wire as its author states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Sender cycles from send to readable, at least 1.
    pub latency: u32,
    /// Receiver cycles from pop until the slot is usable again, at least 1.
    pub credit_latency: u32,
    /// Maximum number of messages in flight and queued. The default suffices for full rate:
    /// `width × (latency + credit_latency)`.
    pub capacity: Option<u32>,
    /// Bandwidth per sender cycle, in messages or bytes.
    pub width: Width,
}

impl Link {
    /// Creates a full-rate wire of this latency in both directions, with one message per cycle.
    pub fn latency(cycles: u32) -> Self {
        Self {
            latency: cycles,
            credit_latency: cycles,
            capacity: None,
            width: Width::Messages(1),
        }
    }

    /// Sets the maximum number of messages in flight and queued.
    pub fn capacity(mut self, messages: u32) -> Self {
        self.capacity = Some(messages);
        self
    }

    /// Sets the credit latency in receiver cycles.
    pub fn credit_latency(mut self, cycles: u32) -> Self {
        self.credit_latency = cycles;
        self
    }

    /// Sets the bandwidth per sender cycle of the wire.
    pub fn width(mut self, width: Width) -> Self {
        self.width = width;
        self
    }

    /// Returns the number of slots needed for one message (or width) per cycle without gaps.
    pub fn full_rate_capacity(&self) -> u32 {
        let per_cycle = match self.width {
            Width::Messages(n) => n,
            Width::Bytes(_) => 1,
        };
        per_cycle.saturating_mul(self.latency.saturating_add(self.credit_latency))
    }
}
