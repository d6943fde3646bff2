//! Rule by which a relation is predicted from three reuse rates.

use super::Relation;

/// Fraction of reads or accesses that share lines: two counts, which compare without rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) part: u64,
    /// 0 gives a rate of 0.
    pub(super) whole: u64,
}

impl Rate {
    fn exceeds_percent(self, percent: u32) -> bool {
        u128::from(self.part) * 100 > u128::from(percent) * u128::from(self.whole)
    }

    fn exceeds(self, other: Self) -> bool {
        let (mine, theirs) = (self.whole.max(1), other.whole.max(1));
        u128::from(self.part) * u128::from(theirs) > u128::from(other.part) * u128::from(mine)
    }
}

/// Returns the relation whose rate exceeds the threshold and both other rates; ties give `None`.
pub(super) fn predicted(rate: impl Fn(Relation) -> Rate, percent: u32) -> Option<Relation> {
    let rates = [Relation::ParentChild, Relation::Sibling, Relation::Own]
        .map(|relation| (relation, rate(relation)));
    let is_largest = |(relation, mine): &&(Relation, Rate)| {
        let mut others = rates.iter().filter(|(other, _)| other != relation);
        mine.exceeds_percent(percent) && others.all(|(_, theirs)| mine.exceeds(*theirs))
    };
    rates.iter().find(is_largest).map(|(relation, _)| *relation)
}
