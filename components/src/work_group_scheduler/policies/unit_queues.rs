//! Work-group queue per compute unit, with stealing: a building block for placement policies.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Queues from which a unit takes whose own queue is empty. Of those permitted it takes the tail of
/// the longest; ties go to the lowest unit.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub enum Stealing {
    /// No queue; units with empty queues stay idle.
    Never,
    /// Queues whose unit has no room for the work-group at their head. Units that can take from
    /// their own queue go first.
    #[default]
    OwnerFirst,
    /// Queues of more than this many work-groups. Units that can take from their own queue go
    /// first.
    IfLongerThan(u32),
    /// Any queue, without precedence of the units that it belongs to.
    Literal,
}

impl Stealing {
    /// True if other units may take from a queue of `entries`. `owner_has_room` tells whether the
    /// owner could take its next entry now.
    pub(super) fn permits(self, entries: usize, owner_has_room: impl FnOnce() -> bool) -> bool {
        match self {
            Self::Never => false,
            Self::OwnerFirst => entries > 0 && !owner_has_room(),
            Self::IfLongerThan(most) => entries > most as usize,
            Self::Literal => entries > 0,
        }
    }

    /// True if units that take from their own queues precede those that steal.
    pub(super) fn owners_precede(self) -> bool {
        self != Self::Literal
    }
}

/// End of a queue from which an entry is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEnd {
    /// Head of this unit's own queue.
    Head(u32),
    /// Tail of this unit's queue, for stealing.
    Tail(u32),
}

/// Queues of `T`, one per compute unit. Entries hold no resources of a unit; an entry that has
/// moved to a unit never returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitQueues<T>(Vec<VecDeque<T>>);

impl<T> UnitQueues<T> {
    /// Creates empty queues for this many units.
    pub fn new(units: u32) -> Self {
        Self((0..units).map(|_| VecDeque::new()).collect())
    }

    /// Appends an entry to the queue of a unit.
    ///
    /// # Panics
    /// Panics if the unit does not exist.
    pub fn push(&mut self, unit: u32, entry: T) {
        self.0[unit as usize].push_back(entry);
    }

    /// Appends each entry to the queue that is shortest at that point; ties go to the lowest unit.
    pub fn push_to_shortest(&mut self, entries: impl IntoIterator<Item = T>) {
        let lengths = self.0.iter().map(VecDeque::len);
        let mut by_length: std::collections::BTreeSet<_> = lengths.zip(0..).collect();
        for entry in entries {
            let Some((length, unit)) = by_length.pop_first() else {
                return;
            };
            self.push(unit, entry);
            by_length.insert((length + 1, unit));
        }
    }

    /// Returns the unit with the shortest queue; ties go to the lowest.
    pub fn shortest(&self) -> u32 {
        let lengths = self.0.iter().map(VecDeque::len);
        lengths.zip(0..).min().map_or(0, |(_, unit)| unit)
    }

    /// Returns the number of units with a queue.
    pub fn units(&self) -> u32 {
        self.0.len() as u32
    }

    /// Returns the entries in the queue of a unit, from its head; none if the unit does not exist.
    pub fn entries(&self, unit: u32) -> impl Iterator<Item = &T> {
        self.0.get(unit as usize).into_iter().flatten()
    }

    /// Returns the number of entries in the queue of a unit; 0 if the unit does not exist.
    pub fn len(&self, unit: u32) -> usize {
        self.0.get(unit as usize).map_or(0, VecDeque::len)
    }

    /// True if the queues of all units are empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(VecDeque::is_empty)
    }

    /// Returns the source of the next entry for a unit: the head of its own queue. If that is
    /// empty, it is the tail of the longest queue that `permitted` accepts.
    pub fn source(&self, unit: u32, permitted: impl Fn(u32) -> bool) -> Option<QueueEnd> {
        if self.len(unit) > 0 {
            return Some(QueueEnd::Head(unit));
        }
        let units = 0..self.units();
        let victims = units.filter(|&other| self.len(other) > 0 && permitted(other));
        let victim = victims.max_by_key(|&other| (self.len(other), std::cmp::Reverse(other)));
        victim.map(QueueEnd::Tail)
    }

    /// Returns the entry at one end of a queue.
    pub fn peek(&self, from: QueueEnd) -> Option<&T> {
        match from {
            QueueEnd::Head(unit) => self.0.get(unit as usize)?.front(),
            QueueEnd::Tail(unit) => self.0.get(unit as usize)?.back(),
        }
    }

    /// Removes and returns the entry at one end of a queue.
    pub fn take(&mut self, from: QueueEnd) -> Option<T> {
        match from {
            QueueEnd::Head(unit) => self.0.get_mut(unit as usize)?.pop_front(),
            QueueEnd::Tail(unit) => self.0.get_mut(unit as usize)?.pop_back(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(lengths: &[u32]) -> UnitQueues<u32> {
        let mut queues = UnitQueues::new(lengths.len() as u32);
        for (unit, &length) in (0..).zip(lengths) {
            for entry in 0..length {
                queues.push(unit, unit * 10 + entry);
            }
        }
        queues
    }

    #[test]
    fn a_unit_takes_the_head_of_its_own_queue() {
        let mut queues = queues(&[1, 3]);
        for permitted in [true, false] {
            assert_eq!(queues.source(1, |_| permitted), Some(QueueEnd::Head(1)));
        }
        assert_eq!(queues.peek(QueueEnd::Head(1)), Some(&10));
        assert_eq!(queues.take(QueueEnd::Head(1)), Some(10));
        assert_eq!(queues.len(1), 2);
    }

    /// LSR-M10 item 3: the victim is the tail of the longest queue; ties go to the lowest unit.
    #[test]
    fn lsr_m10_an_empty_unit_steals_the_tail_of_the_longest_permitted_queue() {
        let mut queues = queues(&[1, 3, 0, 3]);
        let from = queues.source(2, |_| true).unwrap();
        assert_eq!(from, QueueEnd::Tail(1));
        assert_eq!(queues.take(from), Some(12));
        assert_eq!(queues.source(2, |_| true), Some(QueueEnd::Tail(3)));
        assert_eq!(queues.source(2, |unit| unit < 2), Some(QueueEnd::Tail(1)));
        assert_eq!(queues.source(2, |_| false), None);
    }

    #[test]
    fn entries_go_to_the_shortest_queue_in_turn() {
        let mut queues = queues(&[2, 0, 1]);
        queues.push_to_shortest([100, 101, 102, 103, 104]);
        assert_eq!(queues.0[0], [0, 1, 103]);
        assert_eq!(queues.0[1], [100, 101, 104]);
        assert_eq!(queues.0[2], [20, 102]);
    }
}
