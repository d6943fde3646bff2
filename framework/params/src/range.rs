//! Wording of messages about numbers outside their range.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};

/// Describes the mismatch if `value` is outside `range`: `0, expected 1 to 64`, or
/// `0, expected at least 1`. The caller writes the prefix (`{what} is `, `{field}: `).
///
/// # Panics
/// For a range that excludes an end, the message should state which values belong to it.
#[inline]
pub fn out_of_range<T: PartialOrd + Display>(
    value: &T,
    range: &impl RangeBounds<T>,
) -> Option<String> {
    // Nearly always, and asked often.
    if range.contains(value) {
        return None;
    }
    Some(words(value, range))
}

#[cold]
fn words<T: PartialOrd + Display>(value: &T, range: &impl RangeBounds<T>) -> String {
    match (range.start_bound(), range.end_bound()) {
        (Bound::Included(low), Bound::Included(high)) => {
            format!("{value}, expected {low} to {high}")
        }
        (Bound::Included(low), Bound::Unbounded) => format!("{value}, expected at least {low}"),
        (Bound::Unbounded, Bound::Included(high)) => format!("{value}, expected at most {high}"),
        _ => panic!("range bounds must be inclusive"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_say_what_was_expected() {
        assert_eq!(out_of_range(&1, &(1..=64)), None);
        let words = |found: Option<String>| found.expect("it is outside");
        assert_eq!(words(out_of_range(&0, &(1..=64))), "0, expected 1 to 64");
        assert_eq!(words(out_of_range(&0, &(1..))), "0, expected at least 1");
        assert_eq!(words(out_of_range(&9, &(..=8))), "9, expected at most 8");
    }
}
