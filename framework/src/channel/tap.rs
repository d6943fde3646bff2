//! Taps between a port and its channel, which observe or disturb messages.
//!
//! ```text
//!   component ── OutPort ──[tap 0][tap 1]══ channel ══[tap 1][tap 0]── InPort ── component
//! ```
//!
//! A tap costs no cycle and is not part of any checkpoint. The protocol checkers and the stall and
//! fault injectors of [`crate::verify`] are taps. A tap that only listens ([`Tap::only_listens`])
//! does not affect the system, which may still be partitioned among threads and saved.

use crate::evaluation::Context;

/// A message that is about to enter a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transit<T> {
    /// The message that enters the channel.
    pub message: T,
    /// Sender cycles added to the latency of the wire. Negative values make the message early, but
    /// never readable in the cycle in which it was sent.
    pub delay: i64,
    /// Sender cycles for which the port accepts nothing more, in addition to those that the width
    /// requires.
    pub hold: u64,
}

impl<T> Transit<T> {
    /// Creates a transit without extra delay or hold.
    pub fn new(message: T) -> Self {
        Self {
            message,
            delay: 0,
            hold: 0,
        }
    }
}

/// Time at which the slot of a message taken from a channel becomes usable again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Credit {
    /// After the credit latency of the wire.
    #[default]
    Due,
    /// Later than the wire's credit latency by this number of receiver cycles.
    Late(u64),
    /// The credit never returns: the slot is lost.
    Lost,
}

impl Credit {
    fn later_of(self, other: Self) -> Self {
        match (self, other) {
            (Self::Lost, _) | (_, Self::Lost) => Self::Lost,
            (Self::Late(a), Self::Late(b)) => Self::Late(a.max(b)),
            (Self::Due, credit) | (credit, Self::Due) => credit,
        }
    }
}

/// Observes or disturbs the messages that pass one port.
pub trait Tap<T>: Send {
    /// True if the tap passes every message on unchanged, shares nothing with taps of other ports
    /// and keeps no state that belongs in a checkpoint.
    fn only_listens(&self) -> bool {
        false
    }

    /// Called when the component sends a message. The messages pushed to `wire` replace it, in this
    /// order. Those that find no room in the channel are dropped.
    fn send(&mut self, _ctx: &mut Context<'_>, transit: Transit<T>, wire: &mut Vec<Transit<T>>) {
        wire.push(transit);
    }

    /// Called before the component takes a message; decides when its slot becomes free.
    fn credit(&mut self, _ctx: &mut Context<'_>) -> Credit {
        Credit::Due
    }

    /// Called when the component takes a message, which the tap may change.
    fn take(&mut self, _ctx: &mut Context<'_>, _message: &mut T) {}
}

/// The taps of one port; the first is the nearest to the component.
pub(crate) struct Taps<T> {
    taps: Vec<Box<dyn Tap<T>>>,
    /// Buffers reused from message to message.
    wire: [Vec<Transit<T>>; 2],
}

impl<T> Taps<T> {
    pub(crate) fn add(taps: &mut Option<Box<Self>>, tap: Box<dyn Tap<T>>) {
        taps.get_or_insert_with(|| {
            Box::new(Self {
                taps: Vec::new(),
                wire: [Vec::new(), Vec::new()],
            })
        })
        .taps
        .push(tap);
    }

    pub(crate) fn only_listen(&self) -> bool {
        self.taps.iter().all(|tap| tap.only_listens())
    }

    /// Returns the messages that enter the channel in place of `message`.
    pub(crate) fn send(&mut self, ctx: &mut Context<'_>, message: T) -> Vec<Transit<T>> {
        let [mut from, mut to] = std::mem::take(&mut self.wire);
        from.push(Transit::new(message));
        for tap in &mut self.taps {
            for transit in from.drain(..) {
                tap.send(ctx, transit, &mut to);
            }
            std::mem::swap(&mut from, &mut to);
        }
        self.wire[1] = to;
        from
    }

    /// Returns the emptied list of [`Taps::send`] for reuse.
    pub(crate) fn reuse(&mut self, wire: Vec<Transit<T>>) {
        self.wire[0] = wire;
    }

    pub(crate) fn credit(&mut self, ctx: &mut Context<'_>) -> Credit {
        let credits = self.taps.iter_mut().rev().map(|tap| tap.credit(ctx));
        credits.fold(Credit::Due, Credit::later_of)
    }

    pub(crate) fn take(&mut self, ctx: &mut Context<'_>, message: &mut T) {
        for tap in self.taps.iter_mut().rev() {
            tap.take(ctx, message);
        }
    }
}
