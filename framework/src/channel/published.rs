//! Published values: one writer, many readers, latency, no credits.
//!
//! For values that are broadcast and may be overwritten: mode bits, votes, results of set duelling.
//! Readers see a value published in cycle `t` from `latency` writer cycles later on. Each wire has
//! its own latency. A change wakes the reader when it becomes visible.

use std::any::{Any, TypeId, type_name};
use std::collections::VecDeque;
use std::sync::Arc;

use crate::channel::any_port::{
    AnyPort, ChannelTerms, Direction, End, InputEnd, OutputEnd, PortState, Reach, SavedPort,
};
use crate::channel::boundary::Boundary;
use crate::channel::message::Message;
use crate::evaluation::Context;
use crate::sync::Mutex;
use crate::time::TICK_MAX;

/// The writing end, with one wire per reader.
pub struct Published<T> {
    value: T,
    readers: Vec<Reader>,
    latency_max: u64,
    history: Arc<Mutex<History<T>>>,
    changes: u64,
}

/// One wire to a reader, with its latency.
struct Reader {
    channel: u32,
    reach: Reach,
    /// Latency of the wire in ticks.
    latency: u64,
}

/// The reading end of a published value.
pub struct Observed<T> {
    link: Option<(u64, Arc<Mutex<History<T>>>)>,
}

struct History<T> {
    /// Newest value that is visible to all readers.
    settled: T,
    /// Later values with the ticks of their publication, oldest first.
    recent: VecDeque<(u64, T)>,
}

impl<T: Message + Clone + PartialEq> Published<T> {
    /// Creates a port whose readers see `value` from the start.
    pub fn new(value: T) -> Self {
        let history = History {
            settled: value.clone(),
            recent: VecDeque::new(),
        };
        Self {
            value,
            readers: Vec::new(),
            latency_max: 0,
            history: Arc::new(Mutex::new(history)),
            changes: 0,
        }
    }

    /// Returns the value that was published last.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// Publishes `value`; the last call in a cycle takes effect. Publishing the current value again
    /// does nothing.
    pub fn publish(&mut self, ctx: &mut Context<'_>, value: T) {
        if value == self.value {
            return;
        }
        self.value = value.clone();
        self.changes += 1;
        let now = ctx.now().0;
        let mut history = self.history.lock();
        // A reader on another thread may be behind by up to its latency.
        while let Some((tick, _)) = history.recent.front()
            && tick + 2 * self.latency_max <= now
            && let Some((_, settled)) = history.recent.pop_front()
        {
            history.settled = settled;
        }
        match history.recent.back_mut() {
            Some((tick, last)) if *tick == now => *last = value,
            _ => history.recent.push_back((now, value)),
        }
        for reader in &self.readers {
            let tick = now + reader.latency;
            match reader.reach {
                Reach::Same(target) | Reach::OtherClock(target) => ctx.wake_at_tick(target, tick),
                Reach::Cut(cut, _) => ctx.across().published.push((cut, tick)),
            }
        }
    }
}

impl<T> Default for Observed<T> {
    fn default() -> Self {
        Self { link: None }
    }
}

impl<T: Message + Clone + PartialEq> Observed<T> {
    /// Creates a port that the builder connects later.
    pub fn new() -> Self {
        Self::default()
    }

    /// True if the port is connected; optional ports may be unconnected.
    pub fn is_connected(&self) -> bool {
        self.link.is_some()
    }

    /// Returns the value visible in this cycle.
    pub fn get(&self, ctx: &Context<'_>) -> T {
        let (latency, history) = self
            .link
            .as_ref()
            .expect("ports are connected at elaboration, before any evaluation");
        let history = history.lock();
        let visible = |(tick, _): &&(u64, T)| tick + latency <= ctx.now().0;
        let latest = history.recent.iter().rev().find(visible);
        latest.map_or(&history.settled, |(_, value)| value).clone()
    }
}

impl<T: Message + Clone + PartialEq> AnyPort for Published<T> {
    fn direction(&self) -> Direction {
        Direction::Output
    }

    fn message_type(&self) -> (TypeId, &'static str) {
        (TypeId::of::<Self>(), type_name::<Self>())
    }

    fn is_bound(&self) -> bool {
        !self.readers.is_empty()
    }

    fn end(&mut self) -> End<'_> {
        End::Output(self)
    }

    fn fans_out(&self) -> bool {
        true
    }

    fn state(&self) -> PortState {
        PortState {
            messages: self.changes,
            ..PortState::default()
        }
    }

    fn arrival(&self, now: u64) -> Option<u64> {
        let history = self.history.lock();
        let (changed, _) = history.recent.back()?;
        Some(changed + self.latency_max).filter(|tick| *tick > now)
    }

    fn save(&self, now: u64) -> Result<SavedPort, String> {
        let history = self.history.lock();
        // What every reader sees already is settled, whenever the writer notices.
        let seen = |tick: u64| tick + self.latency_max <= now;
        let past = history.recent.iter().rfind(|(tick, _)| seen(*tick));
        let settled = past.map_or(&history.settled, |(_, value)| value);
        let recent: Vec<_> = history
            .recent
            .iter()
            .filter(|(tick, _)| !seen(*tick))
            .collect();
        SavedPort::of(&(&self.value, self.changes), &(settled, recent))
    }

    fn describe(&self) -> Option<(String, serde_json::Value)> {
        let value = serde_json::to_value(&self.value).ok()?;
        Some(("published".to_owned(), value))
    }

    fn load(&mut self, own: &SavedPort, _other: &SavedPort) -> Result<(), String> {
        let (value, changes) = own.state()?;
        let (settled, recent): (T, VecDeque<(u64, T)>) = own.engine()?;
        let late = recent.iter().any(|(tick, _)| *tick > TICK_MAX);
        if late || !recent.iter().is_sorted_by_key(|(tick, _)| *tick) {
            return Err("times are beyond the horizon or not in ascending order".to_owned());
        }
        if changes > TICK_MAX {
            return Err(format!("{changes} changes"));
        }
        self.value = value;
        self.changes = changes;
        *self.history.lock() = History { settled, recent };
        Ok(())
    }
}

impl<T: Message + Clone + PartialEq> OutputEnd for Published<T> {
    fn make_channel(&mut self, terms: &ChannelTerms) -> Box<dyn Any> {
        let latency = u64::from(terms.latency_cycles) * terms.sender_period;
        self.readers.push(Reader {
            channel: terms.channel,
            reach: Reach::within(terms.sender, terms.receiver),
            latency,
        });
        self.latency_max = self.latency_max.max(latency);
        Box::new(Arc::clone(&self.history))
    }

    fn place_receiver(
        &mut self,
        channel: u32,
        receiver: Reach,
    ) -> Option<(Arc<dyn Boundary>, bool)> {
        let reader = self.readers.iter_mut().find(|r| r.channel == channel);
        reader
            .expect("elaboration connected the wire to this reader")
            .reach = receiver;
        None
    }
}

impl<T: Message + Clone + PartialEq> AnyPort for Observed<T> {
    fn direction(&self) -> Direction {
        Direction::Input
    }

    fn message_type(&self) -> (TypeId, &'static str) {
        (TypeId::of::<Published<T>>(), type_name::<Published<T>>())
    }

    fn is_bound(&self) -> bool {
        self.link.is_some()
    }

    fn end(&mut self) -> End<'_> {
        End::Input(self)
    }

    fn state(&self) -> PortState {
        PortState::default()
    }

    fn save(&self, _now: u64) -> Result<SavedPort, String> {
        Ok(SavedPort::default())
    }

    fn describe(&self) -> Option<(String, serde_json::Value)> {
        None
    }

    fn load(&mut self, _own: &SavedPort, _other: &SavedPort) -> Result<(), String> {
        Ok(())
    }
}

impl<T: Message + Clone + PartialEq> InputEnd for Observed<T> {
    fn take_end(&mut self, end: Box<dyn Any>, terms: &ChannelTerms) {
        let history = end
            .downcast::<Arc<Mutex<History<T>>>>()
            .expect("elaboration checked the message types");
        let latency = u64::from(terms.latency_cycles) * terms.sender_period;
        self.link = Some((latency, *history));
    }

    /// Does nothing, because readers send no credits to the writer.
    fn place_sender(&mut self, _sender: Reach) {}
}
