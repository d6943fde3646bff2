//! Typed, bounded, point-to-point channels and the two ports at their ends.
//!
//! ```text
//!   sender ──► OutPort ══ latency ══► [ring of `capacity` slots] ──► InPort ──► receiver
//!                 ▲                                                     │
//!                 └───────────────── credit latency ◄───────────────────┘
//! ```
//!
//! A message sent in cycle `t` is readable `latency` sender cycles later; a slot emptied in cycle
//! `t` can be used again `credit_latency` receiver cycles later. Both are at least one, so nothing
//! done in a cycle is seen by another component in the same cycle. Across clocks a message is
//! readable at the first receiver edge at or after that time.

use std::any::{Any, TypeId, type_name};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::channel::cut::Boundary;
use crate::channel::ports::{AnyPort, ChannelTerms, Direction, PortState, Reach, SavedPort};
use crate::channel::ring::{Consumer, Producer, Vacancy, ring};
use crate::channel::tap::{Credit, Tap, Taps};
use crate::evaluation::context::Context;
use crate::evaluation::schedule::NEAR;
use crate::time::TICK_MAX;
use crate::verify::StallInjector;

/// A value that travels through channels: small, plain, moved, and storable in a checkpoint.
pub trait Message: Serialize + DeserializeOwned + Send + 'static {
    /// Size on a wire whose width is given in bytes per cycle.
    fn wire_bytes(&self) -> u32 {
        size_of_val(self) as u32
    }

    /// What ties the messages of one transaction together in a timeline, over all its hops.
    fn flow(&self) -> Option<u64> {
        None
    }
}

macro_rules! plain_messages {
    ($($t:ty),*) => { $(impl Message for $t {})* };
}
plain_messages!((), bool, u8, u16, u32, u64, usize, i32, i64, char);
impl<A: Message, B: Message> Message for (A, B) {}

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

/// The sending end of a channel.
pub struct OutPort<T> {
    link: Option<Out<T>>,
}

struct Out<T> {
    end: Producer<T>,
    receiver: Reach,
    /// Latency in the sender's cycles.
    latency_cycles: u64,
    latency_ticks: u64,
    period: u64,
    width: Width,
    /// The receiver is across a cut and the coordinator knows that the sender waits for a credit.
    waiting: bool,
    /// Width accounting: the wire takes no more before `free_from`; `sent` messages left in the
    /// cycle at tick `sent_at`.
    free_from: u64,
    sent_at: u64,
    sent: u32,
    messages: u64,
    channel: u32,
    taps: Option<Box<Taps<T>>>,
    way: Way,
    /// The receiver on [`Way::Near`].
    neighbour: u32,
}

/// How a message passes a port.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Short: no taps, one message per cycle, and the other end in this partition and clock and near.
    Near,
    /// Short: no taps, one message per cycle, and the other end in another partition.
    Across,
    /// Any other.
    Long,
}

impl Way {
    /// The way to `other` at `cycles` of a wire that is `simple`, and whom to wake there if near.
    fn to(other: &Reach, cycles: u64, simple: bool) -> (Self, u32) {
        match other {
            Reach::Same(target) if simple && cycles < NEAR => (Self::Near, target.index),
            Reach::Cut(..) if simple => (Self::Across, 0),
            _ => (Self::Long, 0),
        }
    }
}

impl<T> Out<T> {
    /// Finds out which way messages go.
    fn settle(&mut self) {
        let simple = self.taps.is_none() && self.width == Width::Messages(1);
        (self.way, self.neighbour) = Way::to(&self.receiver, self.latency_cycles, simple);
    }

    /// Whether the sender waits for a credit that is not on its way.
    fn blocked(&self) -> bool {
        match self.receiver {
            Reach::Cut(..) => self.waiting && self.end.vacancy(TICK_MAX) == Vacancy::Full,
            _ => self.end.is_blocked(),
        }
    }

    /// Sees to it that the sender is woken when it can send.
    #[cold]
    fn arm(&mut self, ctx: &mut Context<'_>) {
        let vacancy = self.end.vacancy(ctx.now().0);
        if let Reach::Cut(cut, positions) = &self.receiver {
            let unseen = match vacancy {
                Vacancy::Free => false,
                // Whether this credit is on its way already may depend on the threads' pace.
                Vacancy::CreditAt(tick) => tick >= ctx.across().window_end,
                Vacancy::Full => true,
            };
            if unseen {
                if ctx.invited() && !self.waiting {
                    self.waiting = true;
                    self.end.set_blocked(true);
                    positions.set_write(self.end.position());
                    ctx.across().waiting.push(*cut);
                }
                return;
            }
        }
        let now = ctx.now().0;
        match vacancy {
            // The width of the wire is used up.
            Vacancy::Free => ctx.wake_me_at_tick(self.free_from),
            // As if the pop had come later; should the wire be busy then, that is found out then.
            // The credit is lost: only the deadlock report learns of it.
            Vacancy::CreditAt(TICK_MAX) => self.end.set_blocked(true),
            Vacancy::CreditAt(tick) => ctx.wake_me_at_tick(tick),
            Vacancy::Full if ctx.invited() => self.end.set_blocked(true),
            Vacancy::Full => {}
        }
        debug_assert!(now < self.free_from || vacancy != Vacancy::Free);
    }
}

impl<T: Message> Out<T> {
    /// Writes the next slot, which is free, on a short way to which nobody listens; does what
    /// [`Out::push_any`] does.
    #[inline(always)]
    fn push_short(&mut self, ctx: &mut Context<'_>, message: T) {
        let now = ctx.now().0;
        self.free_from = now + self.period;
        ctx.count_message();
        let first = self.end.push(now, message, now + self.latency_ticks);
        self.messages += 1;
        if self.way == Way::Across {
            self.tell_across(ctx);
        } else if first {
            ctx.wake_soon(self.neighbour, self.latency_cycles);
        }
    }

    /// Tells the coordinator that something was sent across the cut. Only the first message of a
    /// window can be the one for which the receiver is to be woken: none of them is taken in it.
    #[inline(never)]
    fn tell_across(&mut self, ctx: &mut Context<'_>) {
        self.waiting = false;
        let across = ctx.across();
        if let Reach::Cut(cut, positions) = &self.receiver
            && positions.is_first_of(across.window)
        {
            across.sent.push(*cut);
        }
    }

    /// Writes the next slot, which is free, or what the taps make of the message.
    #[inline(never)]
    fn push_any(&mut self, ctx: &mut Context<'_>, message: T) {
        if self.taps.is_some() {
            self.push_tapped(ctx, message);
        } else {
            let tail = self.occupy(ctx.now().0, &message);
            self.put(ctx, message, self.latency_cycles + tail);
        }
    }

    /// Accounts for the width of the wire; returns how many cycles after the first byte the last
    /// one leaves.
    fn occupy(&mut self, now: u64, message: &T) -> u64 {
        match self.width {
            Width::Messages(1) => {
                self.free_from = now + self.period;
                0
            }
            Width::Messages(width) => {
                self.sent = if self.sent_at == now {
                    self.sent + 1
                } else {
                    1
                };
                self.sent_at = now;
                if self.sent >= width {
                    self.free_from = now + self.period;
                }
                0
            }
            Width::Bytes(width) => {
                let cycles = u64::from(message.wire_bytes().div_ceil(width).max(1));
                self.free_from = now + cycles * self.period;
                cycles - 1
            }
        }
    }

    /// Writes the next slot; the message is readable after `cycles`.
    fn put(&mut self, ctx: &mut Context<'_>, message: T, cycles: u64) {
        let now = ctx.now().0;
        let ready = now + cycles * self.period;
        ctx.sent(self.channel, &message);
        // Behind another message nobody need be woken yet: taking that one arms for this one.
        let first = self.end.push(now, message, ready);
        self.messages += 1;
        if let Reach::Same(target) = &self.receiver {
            if first {
                ctx.wake_in(target.index, cycles);
            }
        } else {
            self.tell_receiver(ctx, first, ready);
        }
    }

    /// Wakes a receiver on another clock, or tells the coordinator of one across a cut.
    fn tell_receiver(&mut self, ctx: &mut Context<'_>, first: bool, ready: u64) {
        if let Reach::Cut(..) = self.receiver {
            self.tell_across(ctx);
        } else if first && let Some(target) = self.receiver.within_partition() {
            ctx.wake_at_tick(target, ready);
        }
    }

    /// As [`Out::push_any`] through the taps. What they add beyond the message itself uses no width.
    #[cold]
    fn push_tapped(&mut self, ctx: &mut Context<'_>, message: T) {
        let now = ctx.now().0;
        let mut taps = self.taps.take().expect("the caller saw taps");
        let mut wire = taps.send(ctx, message);
        if wire.is_empty() {
            // The message is lost; the wire was used all the same.
            self.free_from = now + self.period;
        }
        for (i, transit) in wire.drain(..).enumerate() {
            let tail = if i == 0 {
                self.occupy(now, &transit.message)
            } else {
                0
            };
            if transit.hold > 0 {
                self.free_from = self.free_from.max(now + (1 + transit.hold) * self.period);
            }
            let cycles = (self.latency_cycles + tail)
                .saturating_add_signed(transit.delay)
                .max(1);
            if self.end.vacancy(now) == Vacancy::Free {
                self.put(ctx, transit.message, cycles);
            }
        }
        taps.reuse(wire);
        self.taps = Some(taps);
    }
}

impl<T> Default for OutPort<T> {
    fn default() -> Self {
        Self { link: None }
    }
}

impl<T> Default for InPort<T> {
    fn default() -> Self {
        Self { link: None }
    }
}

const UNBOUND: &str = "ports are connected at elaboration, before any evaluation";

impl<T: Message> OutPort<T> {
    /// A port to be connected by the builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the port is connected; ports named as optional may not be.
    pub fn is_connected(&self) -> bool {
        self.link.is_some()
    }

    /// Whether a message can be sent in this cycle. If not, the component will be woken when it
    /// can.
    #[inline(always)]
    pub fn can_send(&mut self, ctx: &mut Context<'_>) -> bool {
        let now = ctx.now().0;
        let link = self.link.as_mut().expect(UNBOUND);
        if now >= link.free_from && link.end.is_free(now) {
            return true;
        }
        link.arm(ctx);
        false
    }

    /// Sends a message, or hands it back when the channel has no room in this cycle; then the
    /// component will be woken when it has.
    ///
    /// # Errors
    /// The message itself, when [`OutPort::can_send`] is false.
    #[inline]
    pub fn try_send(&mut self, ctx: &mut Context<'_>, message: T) -> Result<(), T> {
        if !self.can_send(ctx) {
            return Err(message);
        }
        self.push(ctx, message);
        Ok(())
    }

    /// Sends what the taps of the port, if there are any, make of the message.
    #[inline(always)]
    fn push(&mut self, ctx: &mut Context<'_>, message: T) {
        let link = self.link.as_mut().expect(UNBOUND);
        if link.way != Way::Long && ctx.is_unobserved() {
            link.push_short(ctx, message);
        } else {
            link.push_any(ctx, message);
        }
    }

    /// Sends a message that is known to fit.
    ///
    /// # Panics
    /// When the channel has no room: call after [`OutPort::can_send`] said yes.
    #[inline(always)]
    pub fn send(&mut self, ctx: &mut Context<'_>, message: T) {
        let link = self.link.as_ref().expect(UNBOUND);
        assert!(
            ctx.now().0 >= link.free_from,
            "sent without asking can_send: the width of the wire is used up"
        );
        self.push(ctx, message);
    }

    /// Puts a tap between the port, which is connected, and its channel.
    pub(crate) fn add_tap(&mut self, tap: Box<dyn Tap<T>>) {
        let link = self.link.as_mut().expect(UNBOUND);
        Taps::add(&mut link.taps, tap);
        link.settle();
    }

    /// Messages in the channel, visible or in flight; for reports.
    pub fn occupancy(&self) -> usize {
        self.link.as_ref().map_or(0, |l| l.end.len())
    }
}

/// The receiving end of a channel.
pub struct InPort<T> {
    link: Option<In<T>>,
}

struct In<T> {
    end: Consumer<T>,
    sender: Reach,
    credit_cycles: u64,
    credit_ticks: u64,
    messages: u64,
    channel: u32,
    taps: Option<Box<Taps<T>>>,
    way: Way,
    /// The sender on [`Way::Near`].
    neighbour: u32,
}

impl<T: Message> In<T> {
    /// Finds out which way messages go.
    fn settle(&mut self) {
        let simple = self.taps.is_none();
        (self.way, self.neighbour) = Way::to(&self.sender, self.credit_cycles, simple);
    }

    /// Takes the oldest message on a short way to which nobody listens; does what
    /// [`In::pop_any`] does.
    #[inline(always)]
    fn pop_short(&mut self, ctx: &mut Context<'_>) -> Option<T> {
        let now = ctx.now().0;
        let value = self.end.pop(now, now + self.credit_ticks)?;
        self.messages += 1;
        if self.way == Way::Across {
            self.tell_sender(ctx, now);
        } else if self.end.take_blocked() {
            ctx.wake_soon(self.neighbour, self.credit_cycles);
        }
        if let Some(ready) = self.end.next_ready(now) {
            ctx.wake_me_at_tick(ready);
        }
        Some(value)
    }

    /// Takes the oldest message, or what the taps make of it.
    #[inline(never)]
    fn pop_any(&mut self, ctx: &mut Context<'_>) -> Option<T> {
        let now = ctx.now().0;
        let value = if self.taps.is_some() {
            self.pop_tapped(ctx)?
        } else {
            let free_at = now + self.credit_ticks;
            let value = self.end.pop(now, free_at)?;
            self.return_credit(ctx, self.credit_cycles, free_at);
            value
        };
        self.messages += 1;
        if let Some(ready) = self.end.next_ready(now) {
            ctx.wake_me_at_tick(ready);
        }
        ctx.taken(self.channel);
        Some(value)
    }

    /// Wakes a sender that waits for room, which it has after `cycles` of the receiver.
    fn return_credit(&self, ctx: &mut Context<'_>, cycles: u64, tick: u64) {
        if let Reach::Same(target) = &self.sender {
            if self.end.take_blocked() {
                ctx.wake_in(target.index, cycles);
            }
        } else {
            self.tell_sender(ctx, tick);
        }
    }

    /// Wakes a sender on another clock that waits for room, or lets the coordinator see the pop.
    ///
    /// Whether a sender across a cut that begins to wait in this window is seen to depends on the
    /// threads' pace; but of that one the coordinator hears anyway.
    fn tell_sender(&self, ctx: &mut Context<'_>, tick: u64) {
        if let Reach::Cut(cut, positions) = &self.sender {
            positions.set_read(self.end.position());
            if self.end.take_blocked() {
                ctx.across().taken.push(*cut);
            }
        } else if let Some(target) = self.sender.within_partition()
            && self.end.take_blocked()
        {
            ctx.wake_at_tick(target, tick);
        }
    }

    /// Takes the oldest message through the taps.
    #[cold]
    fn pop_tapped(&mut self, ctx: &mut Context<'_>) -> Option<T> {
        let now = ctx.now().0;
        self.end.peek(now)?;
        let mut taps = self.taps.take().expect("the caller saw taps");
        let cycles = match taps.credit(ctx) {
            Credit::Due => Some(self.credit_cycles),
            Credit::Late(cycles) => Some(self.credit_cycles.saturating_add(cycles)),
            Credit::Lost => None,
        };
        let period = self.credit_ticks / self.credit_cycles;
        let free_at = cycles.map_or(TICK_MAX, |c| now.saturating_add(c.saturating_mul(period)));
        let mut message = self.end.pop(now, free_at.min(TICK_MAX))?;
        taps.take(ctx, &mut message);
        self.taps = Some(taps);
        if let Some(cycles) = cycles {
            self.return_credit(ctx, cycles, free_at);
        }
        Some(message)
    }
}

impl<T: Message> InPort<T> {
    /// A port to be connected by the builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the port is connected; ports named as optional may not be.
    pub fn is_connected(&self) -> bool {
        self.link.is_some()
    }

    /// The oldest message, if one is readable in this cycle.
    #[inline(always)]
    pub fn peek(&self, ctx: &Context<'_>) -> Option<&T> {
        self.link.as_ref().expect(UNBOUND).end.peek(ctx.now().0)
    }

    /// Takes the oldest message, if one is readable in this cycle.
    #[inline(always)]
    pub fn pop(&mut self, ctx: &mut Context<'_>) -> Option<T> {
        let link = self.link.as_mut().expect(UNBOUND);
        if link.way != Way::Long && ctx.is_unobserved() {
            link.pop_short(ctx)
        } else if link.taps.is_none() && link.end.peek(ctx.now().0).is_none() {
            // Most looks find nothing.
            None
        } else {
            link.pop_any(ctx)
        }
    }

    /// Puts a tap between the port, which is connected, and its channel.
    pub(crate) fn add_tap(&mut self, tap: Box<dyn Tap<T>>) {
        let link = self.link.as_mut().expect(UNBOUND);
        Taps::add(&mut link.taps, tap);
        link.settle();
    }

    /// Messages in the channel, visible or in flight; for reports.
    pub fn occupancy(&self) -> usize {
        self.link.as_ref().map_or(0, |l| l.end.len())
    }
}

/// The saved state of a sending end.
#[derive(Serialize, Deserialize)]
struct SavedWire {
    free_from: u64,
    sent_at: u64,
    sent: u32,
    messages: u64,
}

impl<T: Message> AnyPort for OutPort<T> {
    fn direction(&self) -> Direction {
        Direction::Output
    }

    fn message_type(&self) -> (TypeId, &'static str) {
        (TypeId::of::<T>(), type_name::<T>())
    }

    fn is_bound(&self) -> bool {
        self.link.is_some()
    }

    fn make_channel(&mut self, terms: &ChannelTerms) -> Box<dyn Any> {
        let (producer, consumer) = ring::<T>(terms.capacity as usize);
        let link = self.link.insert(Out {
            end: producer,
            receiver: Reach::within(terms.sender, terms.receiver),
            latency_cycles: u64::from(terms.latency_cycles),
            latency_ticks: u64::from(terms.latency_cycles) * terms.sender_period,
            period: terms.sender_period,
            width: terms.width,
            waiting: false,
            free_from: 0,
            sent_at: u64::MAX,
            sent: 0,
            messages: 0,
            channel: terms.channel,
            taps: None,
            way: Way::Long,
            neighbour: 0,
        });
        link.settle();
        Box::new(consumer)
    }

    fn take_end(&mut self, _end: Box<dyn Any>, _terms: &ChannelTerms) {
        unreachable!("elaboration pairs an output with an input");
    }

    fn stall(&mut self, injector: StallInjector) {
        self.add_tap(Box::new(injector));
    }

    fn state(&self) -> PortState {
        self.link.as_ref().map_or(UNCONNECTED, |l| PortState {
            occupancy: l.end.len(),
            capacity: l.end.capacity(),
            blocked: l.blocked(),
            messages: l.messages,
        })
    }

    fn place_receiver(
        &mut self,
        _channel: u32,
        receiver: Reach,
    ) -> Option<(Arc<dyn Boundary>, bool)> {
        let link = self.link.as_mut().expect(UNBOUND);
        let blocked = link.blocked();
        link.end.set_blocked(blocked);
        let boundary = if let Reach::Cut(_, positions) = &receiver {
            positions.set_write(link.end.position());
            link.waiting = blocked;
            Some((link.end.boundary(Arc::clone(positions)), blocked))
        } else {
            link.waiting = false;
            None
        };
        link.receiver = receiver;
        link.settle();
        boundary
    }

    fn place_sender(&mut self, _sender: Reach) {
        unreachable!("elaboration pairs an output with an input");
    }

    fn save(&self, _now: u64) -> Result<SavedPort, String> {
        let Some(link) = &self.link else {
            return Ok(SavedPort::default());
        };
        let wire = SavedWire {
            free_from: link.free_from,
            sent_at: link.sent_at,
            sent: link.sent,
            messages: link.messages,
        };
        SavedPort::of(&wire, &link.blocked())
    }

    fn is_tapped(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.taps.is_some())
    }

    fn describe(&self) -> Option<(String, serde_json::Value)> {
        let link = self.link.as_ref()?;
        let sent = json!({ "messages": link.messages, "free_from_tick": link.free_from });
        Some(("sent".to_owned(), sent))
    }

    fn clear(&mut self) {}

    fn load(&mut self, own: &SavedPort, other: &SavedPort) -> Result<(), String> {
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        let wire: SavedWire = own.state()?;
        let messages: Vec<(u64, T)> = other.state()?;
        let (credits, _): (Vec<u64>, u64) = other.engine()?;
        let late = |tick: &u64| *tick > TICK_MAX;
        if messages.iter().map(|m| &m.0).chain(&credits).any(late) {
            return Err("a time beyond the horizon".to_owned());
        }
        if !messages
            .into_iter()
            .all(|(ready, value)| link.end.restore_message(ready, value))
            || !link.end.restore_credits(&credits)
        {
            return Err(format!("more than its {} slots hold", link.end.capacity()));
        }
        link.end.set_blocked(own.engine()?);
        link.free_from = wire.free_from;
        link.sent_at = wire.sent_at;
        link.sent = wire.sent;
        link.messages = wire.messages;
        Ok(())
    }
}

impl<T: Message> AnyPort for InPort<T> {
    fn direction(&self) -> Direction {
        Direction::Input
    }

    fn message_type(&self) -> (TypeId, &'static str) {
        (TypeId::of::<T>(), type_name::<T>())
    }

    fn is_bound(&self) -> bool {
        self.link.is_some()
    }

    fn make_channel(&mut self, _terms: &ChannelTerms) -> Box<dyn Any> {
        unreachable!("elaboration makes channels at outputs");
    }

    fn take_end(&mut self, end: Box<dyn Any>, terms: &ChannelTerms) {
        let end = end
            .downcast::<Consumer<T>>()
            .expect("elaboration compared the message types");
        let link = self.link.insert(In {
            end: *end,
            sender: Reach::within(terms.receiver, terms.sender),
            credit_cycles: u64::from(terms.credit_cycles),
            credit_ticks: u64::from(terms.credit_cycles) * terms.receiver_period,
            messages: 0,
            channel: terms.channel,
            taps: None,
            way: Way::Long,
            neighbour: 0,
        });
        link.settle();
    }

    fn stall(&mut self, injector: StallInjector) {
        self.add_tap(Box::new(injector));
    }

    fn state(&self) -> PortState {
        self.link.as_ref().map_or(UNCONNECTED, |l| PortState {
            occupancy: l.end.len(),
            capacity: l.end.capacity(),
            blocked: false,
            messages: l.messages,
        })
    }

    fn place_receiver(
        &mut self,
        _channel: u32,
        _receiver: Reach,
    ) -> Option<(Arc<dyn Boundary>, bool)> {
        unreachable!("elaboration pairs an output with an input");
    }

    fn place_sender(&mut self, sender: Reach) {
        let link = self.link.as_mut().expect(UNBOUND);
        if let Reach::Cut(_, positions) = &sender {
            positions.set_read(link.end.position());
        }
        link.sender = sender;
        link.settle();
    }

    fn save(&self, now: u64) -> Result<SavedPort, String> {
        let Some(link) = &self.link else {
            return Ok(SavedPort::default());
        };
        let messages: Vec<_> = link.end.messages().collect();
        let credits: Vec<_> = link.end.credits(now).collect();
        SavedPort::of(&messages, &(credits, link.messages))
    }

    fn is_tapped(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.taps.is_some())
    }

    fn describe(&self) -> Option<(String, serde_json::Value)> {
        let messages = self.link.as_ref()?.end.messages();
        let messages = messages
            .map(|(tick, message)| json!({ "readable_from_tick": tick, "message": message }));
        Some(("holds".to_owned(), messages.collect()))
    }

    fn clear(&mut self) {
        if let Some(link) = &mut self.link {
            link.end.clear();
        }
    }

    fn load(&mut self, own: &SavedPort, _other: &SavedPort) -> Result<(), String> {
        if let Some(link) = &mut self.link {
            let (_, messages): (Vec<u64>, u64) = own.engine()?;
            link.messages = messages;
        }
        Ok(())
    }
}

const UNCONNECTED: PortState = PortState {
    occupancy: 0,
    capacity: 0,
    blocked: false,
    messages: 0,
};
