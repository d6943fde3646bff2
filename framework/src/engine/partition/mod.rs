//! Partition: a part of the system that one thread evaluates, consisting of components with their
//! schedules.
//!
//! | file | holds |
//! |---|---|
//! | this one | a partition, and the loop that evaluates what is due |
//! | `evaluation` | evaluating those awake in one cycle of one clock |
//! | `activity` | what a component did with its cycles |
//! | `window` | how far a partition may go on by itself |
//! | `world_side` | the event world, as the partition that drives it sees it |
//! | `place` | where an instance is |
//!
//! It knows no other partition: [`crate::engine::parallel`] sets the window and carries wake-ups
//! across.

mod activity;
mod evaluation;
mod place;
mod window;
mod world_side;

pub(crate) use activity::Activity;
pub(crate) use place::Place;
pub(crate) use window::{Ahead, Background, Window};

use warpweave_random::{GAMMA, mix};

use crate::component::Component;
use crate::engine::options::{EngineOptions, Order};
use crate::engine::partition::evaluation::{evaluate, evaluate_groups, evaluate_word, record};
use crate::engine::partition::world_side::WorldSide;
use crate::evaluation::{Context, DomainSchedule, NEVER, Shared, Sweep, Target};
use crate::observe::Shown;
use crate::time::{Cycle, Tick, TimeBase};
use crate::world::{Upcoming, WorldDriver};

/// One component with the engine's data about it.
pub(crate) struct Slot {
    pub(crate) component: Box<dyn Component>,
    /// Number of the instance in the whole system.
    pub(crate) number: u32,
    pub(crate) activity: Activity,
    /// Number of evaluations, the component's weight when partitions are balanced.
    pub(crate) evaluations: u64,
    /// Contents that the component showed last, if it is recorded.
    pub(crate) shown: Option<Box<Shown>>,
}

/// Next edge that the partition evaluates.
#[derive(Clone, Copy)]
struct Due {
    /// Tick of the edge, or [`NEVER`].
    tick: u64,
    /// First clock domain with an awake component at that tick, and its cycle.
    domain: usize,
    cycle: Cycle,
    /// True if other domains may also have an edge.
    others: bool,
}

impl Due {
    /// Creates an edge at this tick, in any domain.
    fn anywhere(tick: u64) -> Self {
        Self {
            tick,
            domain: 0,
            cycle: NEVER,
            others: true,
        }
    }
}

/// Edges that a lone partition evaluates between two checks of the interrupt flag.
const EDGES_PER_CHECK: u32 = 1024;

/// Components that one thread evaluates, with their schedules.
pub(crate) struct Partition {
    pub(crate) shared: Shared,
    /// Wake-up schedules, one per clock domain of the system.
    pub(crate) domains: Vec<DomainSchedule>,
    /// Components of this partition per clock domain of the system, in the order they were added.
    pub(crate) slots: Vec<Vec<Slot>>,
    /// Time of the last evaluated edge with an awake component.
    pub(crate) now: Tick,
    pub(crate) evaluations: u64,
    /// The event world, if this partition drives it.
    pub(crate) world: WorldSide,
    /// True if the partition runs in the next window, should that be a resumed one.
    pub(crate) turn: bool,
    /// Background wake-up at which the partition stopped, because it does not know if there is
    /// foreground work at or after it.
    pub(crate) held: Option<Tick>,
    window: Window,
    /// True if there is no other partition.
    alone: bool,
    options: EngineOptions,
    shuffle: u64,
    scratch: Vec<(u32, bool)>,
    /// Components that failed in this run and are no longer evaluated.
    failed: Vec<u32>,
}

impl Partition {
    pub(crate) fn new(
        time: &TimeBase,
        slots: Vec<Vec<Slot>>,
        options: EngineOptions,
        alone: bool,
    ) -> Self {
        let schedule =
            |(d, slots): (usize, &Vec<Slot>)| DomainSchedule::new(time.period(d), slots.len());
        let mut partition = Self {
            shared: Shared::new(),
            domains: slots.iter().enumerate().map(schedule).collect(),
            slots,
            now: Tick(0),
            evaluations: 0,
            world: WorldSide::default(),
            turn: false,
            held: None,
            window: Window::none(),
            alone,
            options,
            shuffle: 0,
            scratch: Vec::new(),
            failed: Vec::new(),
        };
        partition.set_options(options);
        partition
    }

    /// Applies the engine options from now on.
    pub(crate) fn set_options(&mut self, options: EngineOptions) {
        self.options = options;
        if let Order::Shuffled { seed } = options.order {
            self.shuffle = seed;
        }
    }

    pub(crate) fn slot(&self, target: Target) -> &Slot {
        &self.slots[target.domain as usize][target.index as usize]
    }

    pub(crate) fn slot_mut(&mut self, target: Target) -> &mut Slot {
        &mut self.slots[target.domain as usize][target.index as usize]
    }

    /// Returns the next tick at which a component is awake, without background work.
    pub(crate) fn foreground(&self) -> Option<Tick> {
        let wake = Some(Tick(self.next_wake().tick)).filter(|wake| wake.0 != NEVER);
        let counts = self.window.background == Background::Counts;
        let events = self.world.upcoming().filter(|e| e.foreground || counts);
        wake.into_iter().chain(events.map(|e| e.tick)).min()
    }

    /// Returns the next tick at which a component is awake, if any, and its clock domains.
    #[inline(always)]
    fn next_wake(&self) -> Due {
        let mut next = Due {
            tick: NEVER,
            domain: 0,
            cycle: NEVER,
            others: false,
        };
        for (domain, schedule) in self.domains.iter().enumerate() {
            let (cycle, tick) = schedule.next();
            if tick < next.tick {
                next = Due {
                    tick,
                    domain,
                    cycle,
                    others: false,
                };
            } else {
                next.others |= tick == next.tick;
            }
        }
        next
    }

    /// Wakes a component at its first edge at or after `tick`; returns the tick of that edge.
    #[inline]
    pub(crate) fn wake_at_tick(&mut self, target: Target, tick: u64) -> Tick {
        let domain = &mut self.domains[target.domain as usize];
        let cycle = domain.wake_at_tick(target.index, tick);
        Tick(cycle.saturating_mul(domain.period))
    }

    /// Returns the tick of the next background work of a component or of the event world.
    pub(crate) fn first_background(&self) -> Option<Tick> {
        let components = self.shared.background.first().map(|(tick, _)| *tick);
        let events = self.world.upcoming().filter(|e| !e.foreground);
        components.into_iter().chain(events.map(|e| e.tick)).min()
    }

    /// Returns the next tick with an edge not yet evaluated, for runs without sleeping.
    pub(crate) fn next_any(&self) -> Option<Tick> {
        let edges = self.domains.iter();
        edges
            .map(|d| Tick(d.first_new() * d.period))
            .chain(self.world.next_tick())
            .min()
    }

    /// Prepares for a new run, in which no component has failed.
    pub(crate) fn begin(&mut self) {
        self.failed.clear();
        self.turn = false;
        self.held = None;
    }

    /// Prepares the event world, if driven by this partition, for a new run with this pending work.
    pub(crate) fn begin_world(&mut self, upcoming: Option<Upcoming>) {
        self.world.begin(upcoming, &mut self.shared);
    }

    /// Evaluates everything before the end of the window; returns the work pending after it.
    #[inline(always)]
    pub(crate) fn run(&mut self, window: &Window, world: Option<&WorldDriver>) -> Ahead {
        self.window = *window;
        self.shared.across.window = window.number;
        self.shared.across.window_end = window.end;
        self.held = None;
        let sleeping = self.sleeping();
        // The others are heard of between windows.
        let silence = if self.alone { window.silence } else { NEVER };
        let mut edges = 0;
        loop {
            // The usual case: nothing can come but components woken in the foreground.
            let only_wakes =
                sleeping && self.world.next_tick().is_none() && self.shared.background.is_empty();
            let due = if only_wakes {
                self.next_wake()
            } else {
                Due::anywhere(self.next_edge(window).map_or(NEVER, |tick| tick.0))
            };
            let next = Tick(due.tick);
            if next.0 >= window.end {
                return if only_wakes {
                    Ahead::Wakes(Some(next).filter(|next| next.0 != NEVER))
                } else {
                    Ahead::Various
                };
            }
            if next.0.saturating_sub(self.shared.last_progress.0) > silence {
                return Ahead::Various;
            }
            self.now = next;
            if !sleeping || self.options.order != Order::Added || !self.failed.is_empty() {
                self.step_in_order(next, sleeping);
            } else if due.others {
                self.step(next);
            } else {
                self.evaluate_awake(due.domain, due.cycle);
            }
            if let Some(world) = world {
                (self.world).run(world, next, &mut self.shared, &mut self.domains);
            }
            edges += 1;
            if self.shared.may_end() && self.note_failures()
                || self.alone && edges == EDGES_PER_CHECK
            {
                return Ahead::Various;
            }
        }
    }

    /// Removes failed components from the run; returns true if the coordinator should check
    /// immediately.
    #[cold]
    fn note_failures(&mut self) -> bool {
        for failure in &self.shared.failures {
            if failure.component == WORLD {
                self.world.fail();
            } else if !self.failed.contains(&failure.component) {
                self.failed.push(failure.component);
            }
        }
        self.alone
    }

    /// Moves due background wake-ups to their domains; returns the next tick with an awake
    /// component.
    #[inline(never)]
    fn next_edge(&mut self, window: &Window) -> Option<Tick> {
        let sleeping = self.sleeping();
        let foreground = self.foreground();
        let first = self.first_background();
        let mut next = foreground;
        if let Some(first) = first {
            let sure = foreground.max(window.alive);
            if window.background == Background::Counts || sure.is_some_and(|sure| first <= sure) {
                next = Some(foreground.map_or(first, |f| f.min(first)));
            } else if foreground.is_none() && first.0 < window.end {
                self.held = Some(first);
            }
        }
        // Without sleeping everybody is evaluated while anybody anywhere has work; windows of
        // several partitions then last one tick.
        let others = window.alive.filter(|_| !sleeping && !self.alone);
        let mut next = next.or(others)?;
        while let Some(&(tick, target)) = self.shared.background.first()
            && tick <= next
        {
            self.shared.background.pop_first();
            self.wake_at_tick(target, tick.0);
            next = tick;
        }
        if !sleeping {
            // Everybody at every edge: the first edge of any clock after the last one evaluated.
            next = self.next_any()?;
        }
        Some(next)
    }

    /// Evaluates every domain that has an edge with an awake component at `tick`.
    #[inline(never)]
    fn step(&mut self, tick: Tick) {
        for d in 0..self.domains.len() {
            if let Some(cycle) = self.domains[d].due(tick) {
                self.evaluate_awake(d, cycle);
            }
        }
    }

    /// Evaluates like [`Partition::step`], but in any order, without failed components, and with
    /// sleeping ones if required.
    #[inline(never)]
    fn step_in_order(&mut self, tick: Tick, sleeping: bool) {
        for d in self.domain_order() {
            let schedule = &self.domains[d];
            let cycle = if sleeping {
                schedule.due(tick)
            } else {
                let cycle = tick.0 / schedule.period;
                let edge = tick.0.is_multiple_of(schedule.period);
                (edge && schedule.is_new(cycle)).then_some(cycle)
            };
            if let Some(cycle) = cycle {
                self.evaluate_list(d, cycle, sleeping);
            }
        }
    }

    /// Records everything that components show, for a recording that begins in mid-run.
    pub(crate) fn show(&mut self, now: Tick) {
        let Some(sink) = &mut self.shared.sink else {
            return;
        };
        for (d, slots) in self.slots.iter_mut().enumerate() {
            for slot in slots {
                let reason = slot.activity.reason();
                record(slot, sink, (now, d as u32), reason);
            }
        }
    }

    /// True if sleeping components are not evaluated.
    fn sleeping(&self) -> bool {
        self.options.sleeping || self.window.ending
    }

    /// Iterates over the domains in the order of evaluation within a tick.
    #[inline]
    fn domain_order(&self) -> impl Iterator<Item = usize> + use<> {
        let count = self.slots.len();
        let first = match self.options.order {
            Order::Added => 0,
            Order::Shuffled { .. } => (self.shuffle % count.max(1) as u64) as usize,
        };
        (first..count).chain(0..first)
    }

    /// Evaluates awake components in the order in which they were added.
    #[inline(never)]
    fn evaluate_awake(&mut self, d: usize, cycle: Cycle) {
        self.domains[d].advance(cycle);
        let slots = &mut self.slots[d][..];
        let mut ctx = Context::new(&mut self.shared, &mut self.domains, d, self.now);
        self.evaluations += match ctx.here.take_only_word() {
            Some(bits) => evaluate_word(slots, &mut ctx, 0, bits),
            None => evaluate_groups(slots, &mut ctx),
        };
        ctx.finish();
    }

    /// Evaluates awake components, or all components without sleeping, in any order.
    fn evaluate_list(&mut self, d: usize, cycle: Cycle, sleeping: bool) {
        // Index and whether the component is awake.
        let mut list = std::mem::take(&mut self.scratch);
        let count = self.slots[d].len() as u32;
        if !sleeping {
            list.extend((0..count).map(|i| (i, false)));
        }
        let schedule = &mut self.domains[d];
        schedule.advance(cycle);
        let mut sweep = Sweep::default();
        while let Some((first, words)) = schedule.next_group(&mut sweep) {
            for word in (0..64).filter(|word| words >> word & 1 == 1) {
                let bits = schedule.take_word(first + word);
                let bits = (0..64).filter(|bit| bits >> bit & 1 == 1);
                for index in bits.map(|bit| (first + word) as u32 * 64 + bit) {
                    if sleeping {
                        list.push((index, true));
                    } else {
                        list[index as usize].1 = true;
                    }
                }
            }
        }
        if !self.failed.is_empty() {
            list.retain(|(i, _)| !self.failed.contains(&self.slots[d][*i as usize].number));
        }
        if self.options.order != Order::Added {
            for i in (1..list.len()).rev() {
                // A new order every cycle from the seed alone.
                self.shuffle = self.shuffle.wrapping_add(GAMMA);
                list.swap(i, (mix(self.shuffle) % (i as u64 + 1)) as usize);
            }
        }
        self.evaluations += list.len() as u64;
        let slots = &mut self.slots[d];
        let mut ctx = Context::new(&mut self.shared, &mut self.domains, d, self.now);
        for (index, awake) in list.drain(..) {
            ctx.shared.invited = awake;
            ctx.me.index = index;
            let timer = ctx.timer;
            evaluate(&mut slots[index as usize], &mut ctx);
            if !awake {
                // A timer counts from when it was set, which one asleep has done before.
                ctx.timer = timer;
            }
        }
        ctx.shared.invited = true;
        ctx.finish();
        self.scratch = list;
    }
}

/// Number of the event world among instance numbers: after all instances.
pub(crate) const WORLD: u32 = u32::MAX;
