//! Taps: what stands between a port and its channel, to observe messages or to disturb them.
//!
//! ```text
//!   component ── OutPort ──[tap 0][tap 1]══ channel ══[tap 1][tap 0]── InPort ── component
//! ```
//!
//! A tap costs no cycle and is part of no checkpoint. Protocol checkers, stall and fault injectors
//! of [`crate::verify`] are taps. A tap that only listens ([`Tap::only_listens`]) leaves the system as
//! it was: it may still be divided between threads and saved.

use crate::evaluation::Context;

/// A message on its way into a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transit<T> {
    /// The message.
    pub message: T,
    /// Cycles of the sender added to the latency of the wire. Negative ones make the message early,
    /// but never readable in the cycle in which it was sent.
    pub delay: i64,
    /// Cycles of the sender, beyond those that the width asks for, in which the port takes nothing
    /// more.
    pub hold: u64,
}

impl<T> Transit<T> {
    /// A message that travels as the wire says.
    pub fn new(message: T) -> Self {
        Self {
            message,
            delay: 0,
            hold: 0,
        }
    }
}

/// When the slot of a message taken from a channel can be used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Credit {
    /// As the wire says.
    #[default]
    Due,
    /// So many cycles of the receiver later than the wire says.
    Late(u64),
    /// Never: the slot is lost.
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
    /// Whether the tap passes everything on as it came, shares nothing with taps of other ports and
    /// keeps nothing that a checkpoint would have to hold.
    fn only_listens(&self) -> bool {
        false
    }

    /// The component sends a message; what is pushed to `wire` goes on in its place, in this
    /// order. What finds no room in the channel is dropped.
    fn send(&mut self, _ctx: &mut Context<'_>, transit: Transit<T>, wire: &mut Vec<Transit<T>>) {
        wire.push(transit);
    }

    /// The component is about to take a message: what becomes of its slot.
    fn credit(&mut self, _ctx: &mut Context<'_>) -> Credit {
        Credit::Due
    }

    /// The component takes a message, which the tap may change.
    fn take(&mut self, _ctx: &mut Context<'_>, _message: &mut T) {}
}

/// The taps of one port; the first is the nearest to the component.
pub(crate) struct Taps<T> {
    taps: Vec<Box<dyn Tap<T>>>,
    /// Reused from message to message.
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

    /// What enters the channel in place of `message`.
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

    /// Gives the emptied list of [`Taps::send`] back.
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
