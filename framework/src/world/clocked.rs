//! Clocks as signals, and processes that run with a clock and can be reset.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context as TaskContext, Poll};

use crate::time::ClockId;
use crate::world::World;
use crate::world::event::Event;
use crate::world::process::Process;
use crate::world::signal::Signal;
use crate::world::wait::{Awaited, Waiting};

/// A clock of the system as a signal: it rises at every edge of the clock and falls half a period
/// later. Clones refer to the same clock.
#[derive(Clone)]
pub struct Clock {
    level: Signal<bool>,
    rising: Event,
    falling: Event,
}

/// A signal that restarts a clocked process.
#[derive(Clone)]
pub struct Reset {
    signal: Signal<bool>,
    active: bool,
    asynchronous: bool,
}

impl World {
    /// Creates a signal from `clock`. Its first edge is at tick 0.
    ///
    /// The signal keeps the run going, so the run needs a limit, [`World::stop`] or an obligation.
    /// One made by [`World::background`] lets the run end with other work. The period must be at
    /// least two ticks; a faster additional clock makes ticks finer.
    pub fn clock(&self, name: impl AsRef<str>, clock: ClockId) -> Clock {
        let name = name.as_ref();
        let level = self.signal(name, false);
        let toggle = self.event(format!("{name} toggles"));
        let (rising, falling) = (level.posedge(), level.negedge());
        let (world, driven, again) = (self.clone(), level.clone(), toggle.clone());
        let up = Cell::new(false);
        self.method(format!("{name} generator"), &[&toggle], move || {
            let period = world.period(clock);
            if period < 2 {
                world.fail(format!(
                    "clock `{}` has a period of one tick, which cannot be halved; add a clock of twice its frequency",
                    driven.name()
                ));
                return;
            }
            up.set(!up.get());
            driven.write(up.get());
            let low = period / 2;
            again.notify_after(if up.get() { period - low } else { low });
        });
        Clock {
            level,
            rising,
            falling,
        }
    }

    /// Adds a process that first runs at the first `edge` and is restarted by `reset`. `body`
    /// creates the future of one run; it awaits `edge`, directly or through [`Clock::edges`].
    ///
    /// The process restarts at every edge at which the reset is active, and when an asynchronous
    /// reset becomes active. The code before its first wait is the reset behavior.
    pub fn clocked<F: Future<Output = ()> + 'static>(
        &self,
        name: impl AsRef<str>,
        edge: &Event,
        reset: Option<Reset>,
        body: impl FnMut() -> F + 'static,
    ) -> Process {
        let (world, edge, mut body) = (self.clone(), edge.clone(), body);
        self.process(name, async move {
            edge.wait().await;
            let Some(reset) = reset else {
                return body().await;
            };
            let mut watch = Watch::new(&world, &edge, &reset);
            while reset_before_end(&mut watch, pin!(body())).await {}
        })
    }
}

impl Clock {
    /// Returns the clock as a signal.
    pub fn signal(&self) -> &Signal<bool> {
        &self.level
    }

    /// Returns the event notified at rising edges.
    pub fn posedge(&self) -> &Event {
        &self.rising
    }

    /// Returns the event notified at falling edges.
    pub fn negedge(&self) -> &Event {
        &self.falling
    }

    /// Waits for the `count`-th rising edge.
    pub async fn edges(&self, count: u64) {
        for _ in 0..count {
            self.rising.wait().await;
        }
    }

    /// Waits for rising edges until `condition` is true at one (SystemC's `wait_until`).
    pub async fn edge_with(&self, mut condition: impl FnMut() -> bool) {
        loop {
            self.rising.wait().await;
            if condition() {
                return;
            }
        }
    }
}

impl Reset {
    /// Creates a reset sampled at clock edges: active while `signal` is `active`.
    pub fn synchronous(signal: &Signal<bool>, active: bool) -> Self {
        Self {
            signal: signal.clone(),
            active,
            asynchronous: false,
        }
    }

    /// Creates a reset like [`Reset::synchronous`] that also acts immediately when `signal` becomes
    /// `active`.
    pub fn asynchronous(signal: &Signal<bool>, active: bool) -> Self {
        Self {
            asynchronous: true,
            ..Self::synchronous(signal, active)
        }
    }

    fn is_active(&self) -> bool {
        self.signal.read() == self.active
    }
}

/// Watches for a reset in parallel with the body of a process.
struct Watch {
    world: World,
    reset: Reset,
    edge: Event,
    at_edge: Waiting,
    change: Event,
    at_change: Option<Waiting>,
}

impl Watch {
    fn new(world: &World, edge: &Event, reset: &Reset) -> Self {
        let change = if reset.active {
            reset.signal.posedge()
        } else {
            reset.signal.negedge()
        };
        Self {
            world: world.clone(),
            reset: reset.clone(),
            edge: edge.clone(),
            at_edge: world.wait_for(Awaited::any(&[edge])),
            at_change: reset
                .asynchronous
                .then(|| world.wait_for(Awaited::any(&[&change]))),
            change,
        }
    }

    /// True if the process restarts now.
    fn fires(&mut self, context: &mut TaskContext<'_>) -> bool {
        let mut fires = false;
        while Pin::new(&mut self.at_edge).poll(context).is_ready() {
            self.at_edge = self.world.wait_for(Awaited::any(&[&self.edge]));
            fires |= self.reset.is_active();
        }
        while let Some(wait) = &mut self.at_change
            && Pin::new(wait).poll(context).is_ready()
        {
            self.at_change = Some(self.world.wait_for(Awaited::any(&[&self.change])));
            fires = true;
        }
        fires
    }
}

/// Runs the body once; returns true if a reset ended it.
async fn reset_before_end(watch: &mut Watch, mut life: Pin<&mut impl Future<Output = ()>>) -> bool {
    poll_fn(|context| {
        if watch.fires(context) {
            return Poll::Ready(true);
        }
        life.as_mut().poll(context).map(|()| false)
    })
    .await
}
