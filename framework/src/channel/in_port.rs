//! The receiving end of a channel.

use std::any::{Any, TypeId, type_name};

use serde_json::json;

use crate::channel::any_port::{
    AnyPort, ChannelTerms, Direction, End, InputEnd, PortState, Reach, SavedPort,
};
use crate::channel::delivery_path::{DeliveryPath, UNBOUND};
use crate::channel::message::Message;
use crate::channel::ring::Consumer;
use crate::channel::stall::StallInjector;
use crate::channel::tap::{Credit, Tap, Taps};
use crate::evaluation::Context;
use crate::time::TICK_MAX;

/// The receiving end of a channel.
pub struct InPort<T> {
    link: Option<Connected<T>>,
}

struct Connected<T> {
    end: Consumer<T>,
    sender: Reach,
    credit_cycles: u64,
    credit_ticks: u64,
    messages: u64,
    channel: u32,
    taps: Option<Box<Taps<T>>>,
    way: DeliveryPath,
    /// Index of the sender to wake on [`DeliveryPath::Near`].
    neighbour: u32,
}

impl<T> Default for InPort<T> {
    fn default() -> Self {
        Self { link: None }
    }
}

impl<T: Message> Connected<T> {
    /// Determines the path that messages take.
    fn settle(&mut self) {
        let simple = self.taps.is_none();
        (self.way, self.neighbour) = DeliveryPath::to(&self.sender, self.credit_cycles, simple);
    }

    /// Takes the oldest message on a short path without listeners; equivalent to
    /// [`Connected::pop_any`].
    #[inline(always)]
    fn pop_short(&mut self, ctx: &mut Context<'_>) -> Option<T> {
        let now = ctx.now().0;
        let value = self.end.pop(now, now + self.credit_ticks)?;
        self.messages += 1;
        if self.way == DeliveryPath::CutActivity {
            self.notify_sender(ctx, now);
        } else if self.end.take_blocked() {
            ctx.wake_soon(self.neighbour, self.credit_cycles);
        }
        if let Some(ready) = self.end.next_ready(now) {
            ctx.wake_me_at_tick(ready);
        }
        Some(value)
    }

    /// Takes the oldest message, as modified by the taps.
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

    /// Wakes a sender that waits for room, which becomes available after `cycles` of the receiver.
    fn return_credit(&self, ctx: &mut Context<'_>, cycles: u64, tick: u64) {
        if let Reach::Same(target) = &self.sender {
            if self.end.take_blocked() {
                ctx.wake_in(target.index, cycles);
            }
        } else {
            self.notify_sender(ctx, tick);
        }
    }

    /// Wakes a waiting sender in another clock domain, or makes the pop visible to the coordinator.
    ///
    /// A sender across a cut may begin to wait in this window. Thread timing decides if that is
    /// noticed here, but the coordinator learns of such a sender in any case.
    fn notify_sender(&self, ctx: &mut Context<'_>, tick: u64) {
        if let Reach::Cut(cut, positions) = &self.sender {
            positions.set_read(self.end.position());
            if positions.take_blocked() {
                ctx.across().taken.push(*cut);
            }
        } else if let Some(target) = self.sender.within_partition()
            && self.end.take_blocked()
        {
            ctx.wake_at_tick(target, tick);
        }
    }

    /// Takes the oldest message through the taps of this port.
    #[cold]
    fn pop_tapped(&mut self, ctx: &mut Context<'_>) -> Option<T> {
        let now = ctx.now().0;
        self.end.peek(now)?;
        let mut taps = self
            .taps
            .take()
            .expect("the caller checked that there are taps");
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
    /// Creates a port that the builder connects later.
    pub fn new() -> Self {
        Self::default()
    }

    /// True if the port is connected; optional ports may be unconnected.
    pub fn is_connected(&self) -> bool {
        self.link.is_some()
    }

    /// Returns the oldest message if one is readable in this cycle.
    #[inline(always)]
    pub fn peek(&self, ctx: &Context<'_>) -> Option<&T> {
        self.link.as_ref().expect(UNBOUND).end.peek(ctx.now().0)
    }

    /// Takes the oldest message if one is readable in this cycle.
    #[inline(always)]
    pub fn pop(&mut self, ctx: &mut Context<'_>) -> Option<T> {
        let link = self.link.as_mut().expect(UNBOUND);
        if link.way != DeliveryPath::Long && ctx.is_unobserved() {
            link.pop_short(ctx)
        } else if link.taps.is_none() && link.end.peek(ctx.now().0).is_none() {
            // Most looks find nothing.
            None
        } else {
            link.pop_any(ctx)
        }
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

    fn end(&mut self) -> End<'_> {
        End::Input(self)
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
                blocked: false,
                messages: l.messages,
            })
    }

    fn arrival(&self, now: u64) -> Option<u64> {
        let end = &self.link.as_ref()?.end;
        let arriving = end.messages().map(|(ready, _)| ready);
        arriving.filter(|ready| *ready > now).max()
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
        let taps = self.link.as_ref().and_then(|link| link.taps.as_ref());
        taps.is_some_and(|taps| !taps.only_listen())
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
            if messages > TICK_MAX {
                return Err(format!("{messages} messages received"));
            }
            link.messages = messages;
        }
        Ok(())
    }
}

impl<T: Message> InputEnd for InPort<T> {
    fn take_end(&mut self, end: Box<dyn Any>, terms: &ChannelTerms) {
        let end = end
            .downcast::<Consumer<T>>()
            .expect("elaboration checked the message types");
        let link = self.link.insert(Connected {
            end: *end,
            sender: Reach::within(terms.receiver, terms.sender),
            credit_cycles: u64::from(terms.credit_cycles),
            credit_ticks: u64::from(terms.credit_cycles) * terms.receiver_period,
            messages: 0,
            channel: terms.channel,
            taps: None,
            way: DeliveryPath::Long,
            neighbour: 0,
        });
        link.settle();
    }

    fn place_sender(&mut self, sender: Reach) {
        let link = self.link.as_mut().expect(UNBOUND);
        if let Reach::Cut(_, positions) = &sender {
            positions.set_read(link.end.position());
        }
        link.sender = sender;
        link.settle();
    }
}
