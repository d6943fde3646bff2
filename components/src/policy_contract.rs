//! Contracts of policies from other crates, and ending the run when one is violated.

use std::cell::OnceCell;

/// Contract of one policy. Policies answer during a component's evaluation, when the run cannot be
/// ended. On a violation the component continues with its own answer and ends the run at the end of
/// the evaluation.
#[derive(Debug)]
pub(crate) struct PolicyContract {
    /// Name of the policy, used in messages.
    policy: &'static str,
    broken: OnceCell<String>,
}

impl PolicyContract {
    /// Creates the contract of the policy with this name.
    pub(crate) fn of(policy: &'static str) -> Self {
        Self {
            policy,
            broken: OnceCell::new(),
        }
    }

    /// Records a violation. `deed` describes it and follows the policy's name in the message. Only
    /// the first is kept.
    pub(crate) fn violate(&self, deed: impl FnOnce() -> String) {
        self.broken
            .get_or_init(|| format!("{} {}", self.policy, deed()));
    }

    /// Returns the first violation of the contract, if any.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.broken.get().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_deed_counts() {
        let promise = PolicyContract::of("Sly");
        assert_eq!(promise.broken(), None);
        promise.violate(|| "chose way 9".to_owned());
        promise.violate(|| "chose way 8".to_owned());
        assert_eq!(promise.broken(), Some("Sly chose way 9"));
    }
}
