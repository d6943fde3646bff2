//! Set duelling: two alternatives compete in a few sets each, and the other sets follow the winner.
//!
//! Building block for policies. A miss in a set of the first team increments the counter, one in a
//! set of the second team decrements it. While the counter is at or above its start value, the
//! followers act as the second team. The slices of a cache share one counter. Each publishes its
//! increments minus its decrements, and every slice adds changes of the sum to its own saturating
//! counter. If all slices receive all values (their own included) with the same latency, their
//! counters are always equal.
//!
//! Source: Qureshi et al., "Adaptive Insertion Policies", ISCA 2007; the teams and the counter of
//! [`DuelSpec::default`] are those of the graph thesis, INC-M3.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

use super::EventContext;

/// Parameters of a set duel: team sets and counter range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DuelSpec {
    /// One set in this many belongs to each team. Source: 48, 16 of 768 sets in the graph thesis.
    pub period: u32,
    /// Index within a period of the set in the first team. Source: own choice.
    pub first: u32,
    /// Index within a period of the set in the second team. Source: own choice.
    pub second: u32,
    /// Largest value of the counter; it starts at the middle, rounded up. Source: 2047 (11 bits) in
    /// the graph thesis.
    pub max: u32,
}

impl Default for DuelSpec {
    fn default() -> Self {
        Self {
            period: 48,
            first: 0,
            second: 24,
            max: 2047,
        }
    }
}

/// Team of a set, which selects the alternative it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Team {
    /// Leader sets that always use the first alternative.
    First,
    /// Leader sets that always use the second alternative.
    Second,
    /// Follower sets, which use the alternative that misses less.
    Followers,
}

/// Set duel shared by the slices of a cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SetDuel {
    spec: DuelSpec,
    count: u32,
    /// Value published by this cache: misses of the first team minus those of the second.
    own: i64,
    /// Latest sum already included in the counter.
    received: i64,
}

impl SetDuel {
    /// Creates an undecided duel; `field` is the name of the parameters within the specification.
    ///
    /// # Errors
    /// Fails if the teams coincide or are outside the period, or if the counter has no range.
    pub fn new(spec: DuelSpec, field: &str) -> Result<Self, SpecError> {
        let name = |part: &str| format!("{field}.{part}");
        SpecError::in_range(&name("period"), spec.period, 2..)?;
        for (part, set) in [("first", spec.first), ("second", spec.second)] {
            SpecError::require(set < spec.period, &name(part), || {
                format!("set {set} is outside the period of {}", spec.period)
            })?;
        }
        SpecError::in_range(&name("max"), spec.max, 1..=1 << 30)?;
        SpecError::require(spec.first != spec.second, &name("second"), || {
            "the teams need different leader sets".to_owned()
        })?;
        Ok(Self {
            spec,
            count: spec.max.div_ceil(2),
            own: 0,
            received: 0,
        })
    }

    /// Returns the team of a set, by its set number across all slices.
    pub fn team(&self, global_set: u64) -> Team {
        let place = global_set % u64::from(self.spec.period);
        if place == u64::from(self.spec.first) {
            Team::First
        } else if place == u64::from(self.spec.second) {
            Team::Second
        } else {
            Team::Followers
        }
    }

    /// True if a set currently uses the second alternative.
    pub fn acts_second(&self, global_set: u64) -> bool {
        match self.team(global_set) {
            Team::First => false,
            Team::Second => true,
            Team::Followers => self.count >= self.spec.max.div_ceil(2),
        }
    }

    /// Returns the counter value, 0 to [`DuelSpec::max`].
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Records a miss in a set; called from the policy's miss event.
    pub fn missed(&mut self, global_set: u64, context: &mut EventContext<'_>) {
        self.own += match self.team(global_set) {
            Team::First => 1,
            Team::Second => -1,
            Team::Followers => return,
        };
        context.publish(self.own);
    }

    /// Takes the new `sum` of the values published by all slices. Called from
    /// [`CachePolicy::on_published`](super::CachePolicy::on_published).
    pub fn receive(&mut self, sum: i64) {
        let change = sum.wrapping_sub(self.received);
        self.received = sum;
        let count = i64::from(self.count).saturating_add(change);
        self.count = count.clamp(0, i64::from(self.spec.max)) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Outbox;
    use super::*;

    fn thesis() -> SetDuel {
        SetDuel::new(DuelSpec::default(), "duel").unwrap()
    }

    #[test]
    fn inc_m3_teams_have_16_of_768_sets_and_the_count_starts_at_1024() {
        let duel = thesis();
        let of = |team| (0..768).filter(|&set| duel.team(set) == team).count();
        assert_eq!([of(Team::First), of(Team::Second)], [16, 16]);
        assert_eq!(duel.count(), 1024);
        assert!(duel.acts_second(1) && !duel.acts_second(48) && duel.acts_second(72));
    }

    #[test]
    fn inc_m3_the_count_saturates_at_both_ends_and_followers_turn() {
        let mut duel = thesis();
        let mut outbox = Outbox::new();
        for _ in 0..1500 {
            duel.missed(24, &mut outbox.context(1));
            let sum = outbox.published.0[0];
            duel.receive(sum);
        }
        assert_eq!(duel.count(), 0);
        assert!(!duel.acts_second(1));
        for _ in 0..3000 {
            duel.missed(0, &mut outbox.context(2));
            let sum = outbox.published.0[0];
            duel.receive(sum);
        }
        assert_eq!(duel.count(), 2047);
        assert!(duel.acts_second(1));
    }

    #[test]
    fn teams_that_are_one_are_refused() {
        let spec = DuelSpec {
            second: 0,
            ..DuelSpec::default()
        };
        let error = SetDuel::new(spec, "duel").unwrap_err();
        assert_eq!(error.field, "duel.second");
    }
}
