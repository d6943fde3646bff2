//! The bytes that one command may keep.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

/// Bytes that one command may keep, charged by whatever grows with its inputs before it grows.
/// Clones share the bytes.
#[derive(Clone, Debug)]
pub struct Budget {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limit: u64,
    charged: AtomicU64,
}

/// More memory is wanted than the command may have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what} takes {wanted} bytes more, beyond the {limit} bytes that the command may keep")]
pub struct OverBudget {
    /// What wanted them.
    pub what: String,
    /// Bytes wanted.
    pub wanted: u64,
    /// Bytes the command may keep in all.
    pub limit: u64,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn of(limit: u64) -> Self {
        let shared = Shared {
            limit,
            charged: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// One that allows everything.
    pub fn unlimited() -> Self {
        Self::of(u64::MAX)
    }

    /// Bytes it allows in all.
    pub fn limit(&self) -> u64 {
        self.shared.limit
    }

    /// Bytes charged at present.
    pub fn charged(&self) -> u64 {
        self.shared.charged.load(Ordering::Relaxed)
    }

    /// Charges `bytes` for `what` until the charge is dropped.
    ///
    /// # Errors
    /// When the limit would be passed; nothing is charged then.
    pub fn charge(&self, what: &str, bytes: u64) -> Result<Charge, OverBudget> {
        let add = |charged: u64| {
            charged
                .checked_add(bytes)
                .filter(|sum| *sum <= self.limit())
        };
        let charged = &self.shared.charged;
        match charged.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            Ok(_) => Ok(Charge {
                budget: self.clone(),
                bytes,
            }),
            Err(_) => Err(OverBudget {
                what: what.to_owned(),
                wanted: bytes,
                limit: self.limit(),
            }),
        }
    }
}

/// Bytes charged; given back when dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Budget,
    bytes: u64,
}

impl Charge {
    /// Bytes charged.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Charges `bytes` more for `what`.
    ///
    /// # Errors
    /// As [`Budget::charge`].
    pub fn grow(&mut self, what: &str, bytes: u64) -> Result<(), OverBudget> {
        let mut more = self.budget.charge(what, bytes)?;
        self.bytes += std::mem::take(&mut more.bytes);
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let charged = &self.budget.shared.charged;
        charged.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_the_limit_is_refused_and_nothing_of_it_charged() {
        let budget = Budget::of(100);
        let mut first = budget.charge("a table", 60).expect("within");
        let refused = budget.charge("another", 41).expect_err("beyond");
        assert_eq!((refused.wanted, refused.limit), (41, 100));
        first.grow("a table", 40).expect("within");
        assert!(first.grow("a table", 1).is_err());
        assert!(budget.clone().charge("all of it", u64::MAX).is_err());
        assert_eq!((budget.charged(), first.bytes()), (100, 100));
        drop(first);
        assert_eq!(budget.charged(), 0);
    }
}
