//! Candidates of a placement policy in one query.

use super::PlacementChoice;

/// Candidates of one query. The one of the lowest rank is chosen, and of equal ones the first.
pub struct Candidates<R, T> {
    best: Option<(R, T)>,
    /// Answer if there is no candidate.
    otherwise: PlacementChoice<T>,
}

impl<R: PartialOrd, T> Candidates<R, T> {
    /// Starts a query: without candidates, no unit has room.
    #[inline]
    pub fn new() -> Self {
        Self {
            best: None,
            otherwise: PlacementChoice::UnitsFull,
        }
    }

    /// Adds a placement that can be made now.
    #[inline]
    pub fn add(&mut self, rank: R, placement: T) {
        if self.best.as_ref().is_none_or(|(best, _)| rank < *best) {
            self.best = Some((rank, placement));
        }
    }

    /// Notes a unit that cannot be sent a message in this cycle.
    #[inline]
    pub fn add_busy(&mut self) {
        self.otherwise = PlacementChoice::UnitBusy;
    }

    /// Notes a unit that has room, but gets none of the work-groups that are left.
    #[inline]
    pub fn add_held_back(&mut self) {
        if !matches!(self.otherwise, PlacementChoice::UnitBusy) {
            self.otherwise = PlacementChoice::HeldBack;
        }
    }

    /// Returns the answer to the query.
    #[inline]
    pub fn choice(self) -> PlacementChoice<T> {
        match self.best {
            Some((_, placement)) => PlacementChoice::Place(placement),
            None => self.otherwise,
        }
    }
}

impl<R: PartialOrd, T> Default for Candidates<R, T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_lowest_rank_is_chosen() {
        let mut candidates = Candidates::new();
        for (rank, placement) in [(2, 'a'), (1, 'b'), (1, 'c')] {
            candidates.add(rank, placement);
            candidates.add_busy();
        }
        assert_eq!(candidates.choice(), PlacementChoice::Place('b'));
    }

    #[test]
    fn without_a_candidate_a_busy_unit_counts_first() {
        let mut candidates = Candidates::<u32, ()>::new();
        assert_eq!(
            Candidates::<u32, ()>::new().choice(),
            PlacementChoice::UnitsFull
        );
        candidates.add_held_back();
        assert_eq!(candidates.otherwise, PlacementChoice::HeldBack);
        candidates.add_busy();
        candidates.add_held_back();
        assert_eq!(candidates.choice(), PlacementChoice::UnitBusy);
    }
}
