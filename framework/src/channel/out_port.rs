//! The sending end of a channel.

use std::any::{Any, TypeId, type_name};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::channel::any_port::{
    AnyPort, ChannelTerms, Direction, End, OutputEnd, PortState, Reach, SavedPort,
};
use crate::channel::boundary::Boundary;
use crate::channel::boundary::Vacancy;
use crate::channel::delivery_path::{DeliveryPath, UNBOUND};
use crate::channel::link::Width;
use crate::channel::message::Message;
use crate::channel::ring::{Producer, ring};
use crate::channel::stall::StallInjector;
use crate::channel::tap::{Tap, Taps};
use crate::evaluation::{Context, Sent};
use crate::time::TICK_MAX;

/// The sending end of a channel.
pub struct OutPort<T> {
    link: Option<Connected<T>>,
}

struct Connected<T> {
    end: Producer<T>,
    receiver: Reach,
    /// Latency of the wire in the sender's cycles.
    latency_cycles: u64,
    latency_ticks: u64,
    period: u64,
    width: Width,
    /// True if the receiver is across a cut and the coordinator knows that the sender waits for a
    /// credit.
    waiting: bool,
    /// Width accounting: the wire accepts nothing before `free_from`; `sent` messages left in the
    /// cycle at tick `sent_at`.
    free_from: u64,
    sent_at: u64,
    sent: u32,
    messages: u64,
    channel: u32,
    taps: Option<Box<Taps<T>>>,
    way: DeliveryPath,
    /// Index of the receiver to wake on [`DeliveryPath::Near`].
    neighbour: u32,
}

impl<T> Connected<T> {
    /// Determines the path that messages take.
    fn settle(&mut self) {
        let simple = self.taps.is_none() && self.width == Width::Messages(1);
        (self.way, self.neighbour) = DeliveryPath::to(&self.receiver, self.latency_cycles, simple);
    }

    /// True if the sender waits for a credit that has not been returned yet.
    fn blocked(&self) -> bool {
        match self.receiver {
            Reach::Cut(..) => self.waiting && self.end.vacancy(TICK_MAX) == Vacancy::Full,
            _ => self.end.is_blocked(),
        }
    }

    /// Arranges that the sender is woken when it can send.
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
                    positions.set_blocked(true);
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

impl<T: Message> Connected<T> {
    /// Writes the next slot, which is free, on a short path without listeners; equivalent to
    /// [`Connected::push_any`].
    #[inline(always)]
    fn push_short(&mut self, ctx: &mut Context<'_>, message: T) {
        let now = ctx.now().0;
        self.free_from = now + self.period;
        ctx.count_message();
        let ready = now + self.latency_ticks;
        self.messages += 1;
        if self.way == DeliveryPath::CutActivity {
            self.end.push_across(now, message, ready);
            self.notify_across(ctx, ready);
        } else if self.end.push(now, message, ready) {
            ctx.wake_soon(self.neighbour, self.latency_cycles);
        }
    }

    /// Records the message just sent across the cut. Only the first of a window can be the one to
    /// wake the receiver for, because none is taken within the window.
    #[inline(never)]
    fn notify_across(&mut self, ctx: &mut Context<'_>, ready: u64) {
        self.waiting = false;
        let across = ctx.across();
        if let Reach::Cut(cut, positions) = &self.receiver
            && positions.is_first_of(across.window)
        {
            across.sent.push(Sent {
                cut: *cut,
                slot: self.end.last_position() as u32,
                ready,
            });
        }
    }

    /// Writes the next slot, which is free, with the message as modified by the taps.
    #[inline(never)]
    fn push_any(&mut self, ctx: &mut Context<'_>, message: T) {
        if self.taps.is_some() {
            self.push_tapped(ctx, message);
        } else {
            let tail = self.occupy(ctx.now().0, &message);
            self.put(ctx, message, self.latency_cycles + tail);
        }
    }

    /// Accounts for the width of the wire. Returns the number of cycles between the first and the
    /// last byte leaving.
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

    /// Writes the next slot; the message becomes readable after `cycles`.
    fn put(&mut self, ctx: &mut Context<'_>, message: T, cycles: u64) {
        let now = ctx.now().0;
        let ready = now + cycles * self.period;
        ctx.sent(self.channel, || message.flow());
        // Behind another message no wake-up is needed yet: popping that one arms for this one.
        let first = self.end.push(now, message, ready);
        self.messages += 1;
        if let Reach::Same(target) = &self.receiver {
            if first {
                ctx.wake_in(target.index, cycles);
            }
        } else {
            self.notify_receiver(ctx, first, ready);
        }
    }

    /// Wakes a receiver in another clock domain, or records the message to a receiver across a cut.
    fn notify_receiver(&mut self, ctx: &mut Context<'_>, first: bool, ready: u64) {
        if let Reach::Cut(..) = self.receiver {
            self.notify_across(ctx, ready);
        } else if first && let Some(target) = self.receiver.within_partition() {
            ctx.wake_at_tick(target, ready);
        }
    }

    /// Sends through the taps, otherwise like [`Connected::push_any`]. Messages that the taps add
    /// use no width.
    #[cold]
    fn push_tapped(&mut self, ctx: &mut Context<'_>, message: T) {
        let now = ctx.now().0;
        let mut taps = self
            .taps
            .take()
            .expect("the caller checked that there are taps");
        let mut wire = taps.send(ctx, message);
        if wire.is_empty() {
            // The message is lost, but the wire was still occupied.
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

impl<T: Message> OutPort<T> {
    /// Creates a port that the builder connects later.
    pub fn new() -> Self {
        Self::default()
    }

    /// True if the port is connected; optional ports may be unconnected.
    pub fn is_connected(&self) -> bool {
        self.link.is_some()
    }

    /// True if a message can be sent in this cycle. Otherwise the component will be woken when it
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

    /// Sends a message, or returns it if the channel has no room in this cycle. In that case the
    /// component will be woken when there is room.
    ///
    /// # Errors
    /// Returns the message itself if [`OutPort::can_send`] is false.
    #[inline]
    pub fn try_send(&mut self, ctx: &mut Context<'_>, message: T) -> Result<(), T> {
        if !self.can_send(ctx) {
            return Err(message);
        }
        self.push(ctx, message);
        Ok(())
    }

    /// Sends the message as modified by the port's taps, if there are any.
    #[inline(always)]
    fn push(&mut self, ctx: &mut Context<'_>, message: T) {
        let link = self.link.as_mut().expect(UNBOUND);
        if link.way != DeliveryPath::Long && ctx.is_unobserved() {
            link.push_short(ctx, message);
        } else {
            link.push_any(ctx, message);
        }
    }

    /// Sends a message that is known to fit.
    ///
    /// # Panics
    /// Panics if the channel has no room: call only after [`OutPort::can_send`] returned true.
    #[inline(always)]
    pub fn send(&mut self, ctx: &mut Context<'_>, message: T) {
        let link = self.link.as_ref().expect(UNBOUND);
        assert!(
            ctx.now().0 >= link.free_from,
            "sent without checking can_send: the bandwidth of the wire is used up"
        );
        self.push(ctx, message);
    }

    /// Inserts a tap between the port, which must be connected, and its channel.
    pub(crate) fn add_tap(&mut self, tap: Box<dyn Tap<T>>) {
        let link = self.link.as_mut().expect(UNBOUND);
        Taps::add(&mut link.taps, tap);
        link.settle();
    }

    /// Returns the number of messages in the channel, visible or in flight; for reports.
    pub fn occupancy(&self) -> usize {
        self.link.as_ref().map_or(0, |l| l.end.len())
    }
}

/// Value of `sent_at` before the first send.
const NEVER_SENT: u64 = u64::MAX;

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

    fn end(&mut self) -> End<'_> {
        End::Output(self)
    }

    fn stall(&mut self, injector: StallInjector) {
        self.add_tap(Box::new(injector));
    }

    fn state(&self) -> PortState {
        self.link
            .as_ref()
            .map_or(PortState::UNCONNECTED, |l| PortState {
                occupancy: l.end.len(),
                capacity: l.end.capacity(),
                blocked: l.blocked(),
                messages: l.messages,
            })
    }

    fn arrival(&self, now: u64) -> Option<u64> {
        match self.link.as_ref()?.end.vacancy(now) {
            // A lost credit never comes.
            Vacancy::CreditAt(TICK_MAX) | Vacancy::Free | Vacancy::Full => None,
            Vacancy::CreditAt(tick) => Some(tick),
        }
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
        let taps = self.link.as_ref().and_then(|link| link.taps.as_ref());
        taps.is_some_and(|taps| !taps.only_listen())
    }

    fn describe(&self) -> Option<(String, serde_json::Value)> {
        let link = self.link.as_ref()?;
        let sent = json!({ "messages": link.messages, "free_from_tick": link.free_from });
        Some(("sent".to_owned(), sent))
    }

    fn load(&mut self, own: &SavedPort, other: &SavedPort) -> Result<(), String> {
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        let wire: SavedWire = own.state()?;
        let messages: Vec<(u64, T)> = other.state()?;
        let (credits, _): (Vec<u64>, u64) = other.engine()?;
        let late = |tick: &u64| *tick > TICK_MAX;
        let sent_at = Some(&wire.sent_at).filter(|at| **at != NEVER_SENT);
        let times = messages.iter().map(|m| &m.0).chain(&credits);
        if times.chain([&wire.free_from]).chain(sent_at).any(late) {
            return Err("a time is beyond the horizon".to_owned());
        }
        if !messages.is_sorted_by_key(|(ready, _)| *ready) || !credits.is_sorted() {
            return Err("times are not in ascending order".to_owned());
        }
        if wire.messages > TICK_MAX || wire.sent == u32::MAX {
            return Err(format!("{} messages sent", wire.messages));
        }
        if !messages
            .into_iter()
            .all(|(ready, value)| link.end.restore_message(ready, value))
            || !link.end.restore_credits(&credits)
        {
            return Err(format!(
                "more messages or credits than its {} slots hold",
                link.end.capacity()
            ));
        }
        link.end.set_blocked(own.engine()?);
        link.free_from = wire.free_from;
        link.sent_at = wire.sent_at;
        link.sent = wire.sent;
        link.messages = wire.messages;
        Ok(())
    }
}

impl<T: Message> OutputEnd for OutPort<T> {
    fn make_channel(&mut self, terms: &ChannelTerms) -> Box<dyn Any> {
        let (producer, consumer) = ring::<T>(terms.capacity as usize);
        let link = self.link.insert(Connected {
            end: producer,
            receiver: Reach::within(terms.sender, terms.receiver),
            latency_cycles: u64::from(terms.latency_cycles),
            latency_ticks: u64::from(terms.latency_cycles) * terms.sender_period,
            period: terms.sender_period,
            width: terms.width,
            waiting: false,
            free_from: 0,
            sent_at: NEVER_SENT,
            sent: 0,
            messages: 0,
            channel: terms.channel,
            taps: None,
            way: DeliveryPath::Long,
            neighbour: 0,
        });
        link.settle();
        Box::new(consumer)
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
            positions.set_blocked(blocked);
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
}
