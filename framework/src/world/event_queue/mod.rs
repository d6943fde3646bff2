//! Queue of events that occur at a time and not at a clock edge. Ordered by tick, and within a tick
//! by the order of insertion.
//!
//! Two implementations with one interface. Runs use [`QueueKind::Wheel`]; [`QueueKind::Sorted`] is
//! as simple as possible, so that tests can compare the two.

mod far;
mod lists;
mod sorted;
mod wheel;

pub(crate) use lists::Due;

use sorted::Sorted;
use wheel::Wheel;

use crate::time::TICK_MAX;

/// Queue that orders timed notifications. Results never depend on it; tests vary it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueKind {
    /// A timing wheel for the near future and a heap for the far future.
    #[default]
    Wheel,
    /// A binary heap ordered by (tick, sequence).
    Sorted,
}

/// Item number that denotes no item.
const NONE: u32 = u32::MAX;

/// An item that the queue orders by tick; each waits for at most one tick. The owner keeps the
/// items in a table, and the queue refers to them by index. An item's place in the queue is thus
/// stored in the item itself.
pub(crate) trait Placed {
    /// Returns the item's place; used only by the queue.
    fn place(&self) -> u32;
    /// Returns the item's place for modification; used only by the queue.
    fn place_mut(&mut self) -> &mut u32;
}

/// Items by tick; items of one tick leave in insertion order.
pub(crate) struct EventQueue {
    wheel: Wheel,
    /// Replaces the wheel and holds all items if set.
    sorted: Option<Box<Sorted>>,
    /// Number of items in the queue.
    pending: usize,
    /// Number of items that do not keep a run alive.
    background: usize,
    /// One bit per item, set for background items.
    is_background: Vec<u64>,
    /// True if items may be put in the background.
    expects_background: bool,
    /// Maximum distance in ticks for [`EventQueue::push_soon`]; 0 if more than adding to the wheel
    /// is required.
    reach: u64,
}

impl EventQueue {
    pub(crate) fn new() -> Self {
        Self {
            wheel: Wheel::new(),
            sorted: None,
            pending: 0,
            background: 0,
            is_background: Vec::new(),
            expects_background: false,
            reach: Wheel::REACH,
        }
    }

    fn set_reach(&mut self) {
        let is_plain = self.sorted.is_none() && !self.expects_background;
        self.reach = if is_plain { Wheel::REACH } else { 0 };
    }

    /// Permits items to be put in the background from now on.
    pub(crate) fn expect_background(&mut self) {
        self.expects_background = true;
        self.set_reach();
    }

    /// True if items may be put in the background.
    pub(crate) fn expects_background(&self) -> bool {
        self.expects_background
    }

    /// Switches to a queue of another kind, which takes over all items pending after `now`.
    pub(crate) fn change_kind(&mut self, table: &mut [impl Placed], kind: QueueKind, now: u64) {
        let mut moved = Vec::new();
        while let Some(tick) = self.next_tick() {
            self.advance(table, tick);
            let mut due = self.take_due(tick);
            while self.wheel.next_due(&mut due) {
                moved.extend(due.items().map(|item| (tick, item)));
            }
        }
        self.wheel.turn_back(now);
        self.sorted = (kind == QueueKind::Sorted).then(Box::default);
        self.set_reach();
        self.pending = moved.len();
        for (tick, item) in moved {
            self.order_push(table, tick, item);
        }
    }

    /// Adds an item at `tick`, after the current time. An item beyond the horizon is never due.
    pub(crate) fn push(&mut self, table: &mut [impl Placed], tick: u64, item: u32) {
        if tick <= TICK_MAX {
            self.pending += 1;
            self.order_push(table, tick, item);
        }
    }

    /// Fast path of [`EventQueue::push`] that allocates no memory. For an item whose `entry` is
    /// given, 1 to [`Wheel::REACH`] ticks ahead. Returns true if it applied.
    #[inline(always)]
    pub(crate) fn push_soon(&mut self, entry: &mut impl Placed, ticks: u64, item: u32) -> bool {
        let done = ticks.wrapping_sub(1) < self.reach && self.wheel.push_soon(entry, ticks, item);
        self.pending += usize::from(done);
        done
    }

    /// Marks `item`, just added, as not keeping a run alive.
    pub(crate) fn put_in_background(&mut self, item: u32) {
        let (word, bit) = (item as usize / 64, 1 << (item % 64));
        if word >= self.is_background.len() {
            self.is_background.resize(word + 1, 0);
        }
        self.background += usize::from(self.is_background[word] & bit == 0);
        self.is_background[word] |= bit;
    }

    /// Marks `item` as keeping the run alive again.
    #[inline]
    pub(crate) fn bring_to_foreground(&mut self, item: u32) {
        if self.background > 0
            && let Some(word) = self.is_background.get_mut(item as usize / 64)
            && *word >> (item % 64) & 1 == 1
        {
            *word &= !(1 << (item % 64));
            self.background -= 1;
        }
    }

    /// True if any item in the queue keeps the run alive.
    pub(crate) fn has_foreground(&self) -> bool {
        self.pending > self.background
    }

    /// Removes the item that was added at `tick`, after the current time.
    pub(crate) fn remove(&mut self, table: &mut [impl Placed], tick: u64, item: u32) {
        if tick <= TICK_MAX {
            self.pending -= 1;
            self.bring_to_foreground(item);
            match &mut self.sorted {
                None => self.wheel.remove(table, tick, item),
                Some(sorted) => sorted.remove(item),
            }
        }
    }

    /// Takes the items of the current time, `now`, from the queue, to be read by
    /// [`EventQueue::next_due`].
    #[inline]
    pub(crate) fn take_due(&mut self, now: u64) -> Due {
        if let Some(sorted) = &mut self.sorted {
            self.wheel.put_due(std::iter::from_fn(|| sorted.pop(now)));
        }
        let (due, count) = self.wheel.take_due();
        self.pending -= count;
        due
    }

    /// Advances to the next items that are due; returns false if there are none.
    #[inline(always)]
    pub(crate) fn next_due(&mut self, due: &mut Due) -> bool {
        let any = self.wheel.next_due(due);
        if any && self.background > 0 {
            due.items().for_each(|item| self.bring_to_foreground(item));
        }
        any
    }

    /// Returns the tick of the first item.
    #[inline]
    pub(crate) fn next_tick(&mut self) -> Option<u64> {
        match &mut self.sorted {
            None => self.wheel.next_tick(),
            Some(sorted) => sorted.next_tick(),
        }
    }

    /// Advances the current time to `tick`, which must not be later than the first item.
    #[inline]
    pub(crate) fn advance(&mut self, table: &mut [impl Placed], tick: u64) {
        self.wheel.advance(table, tick);
    }

    fn order_push(&mut self, table: &mut [impl Placed], tick: u64, item: u32) {
        match &mut self.sorted {
            None => self.wheel.push(table, tick, item),
            Some(sorted) => sorted.push(tick, item),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push {
            delay: u64,
            count: usize,
            background: bool,
        },
        Remove {
            first: usize,
            count: usize,
        },
        TakeNext,
        Advance(u64),
        ChangeKind(QueueKind),
    }

    fn step() -> impl Strategy<Value = Step> {
        let delay = prop_oneof![1..50u64, 1..5000u64, 4090..4100u64, 1..100_000u64];
        prop_oneof![
            6 => (delay, prop_oneof![Just(1), 1..40_usize], any::<bool>())
                .prop_map(|(delay, count, background)| Step::Push { delay, count, background }),
            1 => (any::<usize>(), prop_oneof![Just(1), 1..40_usize])
                .prop_map(|(first, count)| Step::Remove { first, count }),
            4 => Just(Step::TakeNext),
            1 => (0..6000u64).prop_map(Step::Advance),
            1 => prop_oneof![Just(QueueKind::Wheel), Just(QueueKind::Sorted)].prop_map(Step::ChangeKind),
        ]
    }

    impl Placed for u32 {
        fn place(&self) -> u32 {
            *self
        }

        fn place_mut(&mut self) -> &mut u32 {
            self
        }
    }

    fn take(queue: &mut EventQueue, now: u64) -> Vec<u32> {
        let mut due = queue.take_due(now);
        let mut items = Vec::new();
        while queue.next_due(&mut due) {
            items.extend(due.items());
        }
        items
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn the_queue_agrees_with_a_sorted_list(steps in prop::collection::vec(step(), 1..200)) {
            let mut queue = EventQueue::new();
            let table = &mut [0; 400][..];
            // Tick, item and whether it is in the background; by tick, stable.
            let mut model: Vec<(u64, u32, bool)> = Vec::new();
            // Numbers are used again, as those of events are.
            let mut free: Vec<u32> = (0..400).rev().collect();
            let mut now = 0;
            for step in steps {
                match step {
                    Step::Push { delay, count, background } => {
                        let tick = now + delay;
                        for id in free.split_off(free.len().saturating_sub(count)) {
                            if !queue.push_soon(&mut table[id as usize], delay, id) {
                                queue.push(table, tick, id);
                            }
                            if background {
                                queue.put_in_background(id);
                            }
                            let at = model.partition_point(|(t, ..)| *t <= tick);
                            model.insert(at, (tick, id, background));
                        }
                    }
                    Step::Remove { first, count } if !model.is_empty() => {
                        let first = first % model.len();
                        let end = model.len().min(first + count);
                        for (tick, id, _) in model.drain(first..end) {
                            queue.remove(table, tick, id);
                            free.push(id);
                        }
                    }
                    Step::Remove { .. } => {}
                    Step::TakeNext => {
                        prop_assert_eq!(queue.next_tick(), model.first().map(|(tick, ..)| *tick));
                        if let Some(tick) = queue.next_tick() {
                            now = tick;
                            queue.advance(table, tick);
                            let items: Vec<_> = take(&mut queue, now);
                            let due = model.partition_point(|(t, ..)| *t <= tick);
                            let expected: Vec<_> = model.drain(..due).map(|(_, id, _)| id).collect();
                            free.extend(&items);
                            prop_assert_eq!(items, expected);
                        }
                    }
                    Step::Advance(by) => {
                        now = model.first().map_or(now + by, |(first, ..)| *first.min(&(now + by)));
                        queue.advance(table, now);
                        // Items due at the new time are taken before time advances further.
                        for item in take(&mut queue, now) {
                            let (tick, id, _) = model.remove(0);
                            prop_assert_eq!((now, item), (tick, id));
                            free.push(item);
                        }
                    }
                    Step::ChangeKind(kind) => queue.change_kind(table, kind, now),
                }
                prop_assert_eq!(queue.has_foreground(), model.iter().any(|(.., background)| !background));
            }
        }
    }

    #[test]
    fn an_item_beyond_the_horizon_never_comes() {
        for kind in [QueueKind::Wheel, QueueKind::Sorted] {
            let mut queue = EventQueue::new();
            let table = &mut [0][..];
            queue.change_kind(table, kind, 0);
            queue.push(table, u64::MAX, 0);
            assert_eq!(queue.next_tick(), None);
            assert!(!queue.has_foreground());
            queue.remove(table, u64::MAX, 0);
        }
    }
}
