//! A queue of work-groups per compute unit, with stealing: a building block for placement policies.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Where a unit whose own queue is empty takes from.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub enum Stealing {
    /// Nowhere.
    Never,
    /// From the tail of the longest queue; of several that of the lowest unit.
    #[default]
    Longest,
    /// From the tail of the next queue with entries, upwards from the unit's own and round.
    Next,
}

/// One end of a queue that something is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEnd {
    /// The head of the queue of this unit.
    Head(u32),
    /// The tail of the queue of this unit.
    Tail(u32),
}

/// Queues of `T`, one per compute unit. Entries hold no resources of a unit; what is on a unit never
/// comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitQueues<T>(Vec<VecDeque<T>>);

impl<T> UnitQueues<T> {
    /// Empty queues of so many units.
    pub fn new(units: u32) -> Self {
        Self((0..units).map(|_| VecDeque::new()).collect())
    }

    /// Appends to the queue of a unit.
    ///
    /// # Panics
    /// When there is no such unit.
    pub fn push(&mut self, unit: u32, entry: T) {
        self.0[unit as usize].push_back(entry);
    }

    /// Appends each entry to the queue that is shortest by then; of several that of the lowest unit.
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

    /// The unit whose queue is shortest; of several the lowest.
    pub fn shortest(&self) -> u32 {
        let lengths = self.0.iter().map(VecDeque::len);
        lengths.zip(0..).min().map_or(0, |(_, unit)| unit)
    }

    /// Units.
    pub fn units(&self) -> u32 {
        self.0.len() as u32
    }

    /// The queue of a unit from its head; none where there is no such unit.
    pub fn entries(&self, unit: u32) -> impl Iterator<Item = &T> {
        self.0.get(unit as usize).into_iter().flatten()
    }

    /// Entries in the queue of a unit; 0 where there is no such unit.
    pub fn len(&self, unit: u32) -> usize {
        self.0.get(unit as usize).map_or(0, VecDeque::len)
    }

    /// Whether every queue is empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(VecDeque::is_empty)
    }

    /// Where the next entry for a unit comes from: the head of its own queue, or, if that is empty, the
    /// tail of another.
    pub fn source(&self, unit: u32, stealing: Stealing) -> Option<QueueEnd> {
        if self.len(unit) > 0 {
            return Some(QueueEnd::Head(unit));
        }
        let units = self.0.len() as u32;
        let mut filled = (1..units).map(|step| (unit + step) % units);
        let victim = match stealing {
            Stealing::Never => None,
            Stealing::Next => filled.find(|&other| self.len(other) > 0),
            Stealing::Longest => filled
                .filter(|&other| self.len(other) > 0)
                .max_by_key(|&other| (self.len(other), units - other)),
        };
        victim.map(QueueEnd::Tail)
    }

    /// The entry at one end of a queue.
    pub fn peek(&self, from: QueueEnd) -> Option<&T> {
        match from {
            QueueEnd::Head(unit) => self.0.get(unit as usize)?.front(),
            QueueEnd::Tail(unit) => self.0.get(unit as usize)?.back(),
        }
    }

    /// Takes the entry at one end of a queue.
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
        for stealing in [Stealing::Never, Stealing::Longest, Stealing::Next] {
            assert_eq!(queues.source(1, stealing), Some(QueueEnd::Head(1)));
        }
        assert_eq!(queues.peek(QueueEnd::Head(1)), Some(&10));
        assert_eq!(queues.take(QueueEnd::Head(1)), Some(10));
        assert_eq!(queues.len(1), 2);
    }

    /// LSR-M10 item 3: the victim is the longest queue, its tail; ties go to the lowest unit.
    #[test]
    fn lsr_m10_an_empty_unit_steals_the_tail_of_the_longest_queue() {
        let mut queues = queues(&[1, 3, 0, 3]);
        let from = queues.source(2, Stealing::Longest).unwrap();
        assert_eq!(from, QueueEnd::Tail(1));
        assert_eq!(queues.take(from), Some(12));
        assert_eq!(queues.source(2, Stealing::Longest), Some(QueueEnd::Tail(3)));
    }

    #[test]
    fn stealing_from_the_next_goes_round() {
        assert_eq!(
            queues(&[1, 2, 0, 0]).source(2, Stealing::Next),
            Some(QueueEnd::Tail(0))
        );
        assert_eq!(
            queues(&[1, 2, 0, 1]).source(2, Stealing::Next),
            Some(QueueEnd::Tail(3))
        );
        assert_eq!(queues(&[1, 2, 0, 1]).source(2, Stealing::Never), None);
        assert_eq!(queues(&[0, 0]).source(1, Stealing::Longest), None);
        assert!(queues(&[0, 0]).is_empty());
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
