//! The one place that expects a checkpoint to hold a state that no run reaches.
//!
//! A hash protects the file against damage, so its contents are not validated field by field. A
//! file from elsewhere may still hold any values. Loading them, or running from them, may then
//! violate an assertion of a component, which ends the run with an error.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Loads a checkpoint or runs from one; returns the text of an assertion that failed.
pub(super) fn from_checkpoint<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("an assertion failed").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_assertion_becomes_its_text() {
        assert_eq!(from_checkpoint(|| 7), Ok(7));
        let failed = from_checkpoint(|| assert_eq!(1 + 1, 3, "slot 77 of 32"));
        assert!(failed.is_err_and(|text| text.contains("slot 77 of 32")));
    }
}
