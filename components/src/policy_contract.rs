//! What policies of other crates promise, and the end of a run in which one does not keep it.

use std::cell::OnceCell;

/// The promise of one policy. Policies answer while their component decides, where the run cannot be
/// ended; the component goes on with an answer of its own and ends the run at the end of the
/// evaluation.
#[derive(Debug)]
pub(crate) struct PolicyContract {
    /// Name of the policy.
    policy: &'static str,
    broken: OnceCell<String>,
}

impl PolicyContract {
    /// That of the policy of this name.
    pub(crate) fn of(policy: &'static str) -> Self {
        Self {
            policy,
            broken: OnceCell::new(),
        }
    }

    /// It is broken by `deed`, which follows the name of the policy in the message; the first counts.
    pub(crate) fn violate(&self, deed: impl FnOnce() -> String) {
        self.broken
            .get_or_init(|| format!("{} {}", self.policy, deed()));
    }

    /// How it was broken first, if it was.
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
