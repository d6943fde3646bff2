//! Choices with a probability, as functions of a seed and a count.

use warpweave_framework::SpecError;
use warpweave_random::{mix, nth};

/// Checks that a field is a probability.
///
/// # Errors
/// Fails for a number outside 0 to 1; the error names `field`.
pub(super) fn check_probability(field: &str, value: f64) -> Result<(), SpecError> {
    SpecError::require((0.0..=1.0).contains(&value), field, || {
        format!("{value} must be a probability, 0 to 1")
    })
}

/// Sequences of choices, one for each set of a cache. A choice depends on the seed, the set and the
/// count alone, so that a repeated question has the same answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    seed: u64,
}

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns the choice with this number, true with this probability.
    pub(super) fn happens(self, set: u32, count: u64, probability: f64) -> bool {
        let roll = nth(mix(self.seed ^ u64::from(set)), count) >> 11;
        // Both sides are exact: 53 bits.
        (roll as f64) < probability * (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_repeat_and_come_as_often_as_their_probability_says() {
        let chance = Chance::new(5);
        let times = |set, probability| {
            let happens = |count: &u64| chance.happens(set, *count, probability);
            (0..16_000).filter(happens).count()
        };
        assert_eq!((times(0, 0.0), times(0, 1.0)), (0, 16_000));
        assert!(
            (1_850..2_150).contains(&times(3, 0.125)),
            "{}",
            times(3, 0.125)
        );
        assert_eq!(times(3, 0.125), times(3, 0.125));
        assert_ne!(times(3, 0.5), times(4, 0.5));
        assert!(check_probability("first", 1.5).is_err());
        assert!(check_probability("first", f64::NAN).is_err());
    }
}
