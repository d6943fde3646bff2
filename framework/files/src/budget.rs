//! Memory budget of one command.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use thiserror::Error;

/// Memory budget of one command, in bytes. Data that grow with the inputs are charged before they
/// grow. Clones share the budget.
#[derive(Clone, Debug)]
pub struct Budget {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limit: u64,
    charged: AtomicU64,
}

/// Error: an allocation would exceed the command's memory budget.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "not enough memory: {what} needs {}, but {} of {} are left",
    size(*wanted), size(*left), size(*limit)
)]
pub struct OverBudget {
    /// Description of the data that needed the memory.
    pub what: String,
    /// Number of bytes that were requested.
    pub wanted: u64,
    /// Number of bytes that were still available.
    pub left: u64,
    /// Total number of bytes the command may use.
    pub limit: u64,
}

/// Hint for the user on how to resolve an [`OverBudget`] error.
pub const OVER_BUDGET_HINT: &str = "set a higher limit with `--memory-limit SIZE`";

/// Formats a number of bytes for display, in the largest unit that leaves a whole part.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = bytes.max(1).ilog2() / 10;
    match power.checked_sub(1) {
        None => format!("{bytes} bytes"),
        Some(unit) => {
            let value = bytes as f64 / (1_u64 << (10 * power)) as f64;
            format!("{value:.1} {}", UNITS[unit as usize])
        }
    }
}

impl Budget {
    /// Creates a budget of `limit` bytes.
    pub fn of(limit: u64) -> Self {
        let shared = Shared {
            limit,
            charged: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Creates a budget that never runs out.
    pub fn unlimited() -> Self {
        Self::of(u64::MAX)
    }

    /// Returns the total number of bytes it allows.
    pub fn limit(&self) -> u64 {
        self.shared.limit
    }

    /// Returns the number of bytes currently charged.
    pub fn charged(&self) -> u64 {
        self.shared.charged.load(Ordering::Relaxed)
    }

    /// Charges `bytes` for `what` until the charge is dropped.
    ///
    /// # Errors
    /// Returns an error if the limit would be exceeded. Nothing is charged then.
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
            Err(charged) => Err(OverBudget {
                what: what.to_owned(),
                wanted: bytes,
                left: self.limit() - charged,
                limit: self.limit(),
            }),
        }
    }
}

/// Bytes charged to a budget, released on drop.
#[derive(Debug)]
pub struct Charge {
    budget: Budget,
    bytes: u64,
}

impl Charge {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds `bytes` for `what` to the charge.
    ///
    /// # Errors
    /// Same as [`Budget::charge`].
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

/// Charges that are released together, such as those of one description or one machine. Clones
/// share them.
#[derive(Clone, Debug)]
pub struct Ledger {
    charge: Arc<Mutex<Charge>>,
}

impl Ledger {
    /// Creates a ledger without charges to this budget.
    pub fn new(budget: &Budget) -> Self {
        let charge = Charge {
            budget: budget.clone(),
            bytes: 0,
        };
        Self {
            charge: Arc::new(Mutex::new(charge)),
        }
    }

    pub fn budget(&self) -> Budget {
        self.locked().budget.clone()
    }

    /// Charges `bytes` for `what` until the last clone of this ledger is dropped.
    ///
    /// # Errors
    /// Same as [`Budget::charge`].
    pub fn charge(&self, what: &str, bytes: u64) -> Result<(), OverBudget> {
        self.locked().grow(what, bytes)
    }

    /// Returns the number of bytes charged through this ledger.
    pub fn bytes(&self) -> u64 {
        self.locked().bytes
    }

    fn locked(&self) -> MutexGuard<'_, Charge> {
        self.charge.lock()
    }
}

impl Default for Ledger {
    /// Creates a ledger with an unlimited budget.
    fn default() -> Self {
        Self::new(&Budget::unlimited())
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

    #[test]
    fn a_ledger_gives_everything_back_with_its_last_clone() {
        let budget = Budget::of(100);
        let ledger = Ledger::new(&budget);
        let other = ledger.clone();
        ledger.charge("a part", 40).expect("within");
        other.charge("a part", 60).expect("within");
        assert!(ledger.charge("a part", 1).is_err());
        drop(ledger);
        assert_eq!(budget.charged(), 100);
        drop(other);
        assert_eq!(budget.charged(), 0);
    }

    #[test]
    fn the_message_names_what_wanted_how_much_in_units() {
        let budget = Budget::of(3 << 29);
        let refused = budget
            .charge("the array of `l1`", 1 << 40)
            .expect_err("beyond");
        let message =
            "not enough memory: the array of `l1` needs 1.0 TiB, but 1.5 GiB of 1.5 GiB are left";
        assert_eq!(refused.to_string(), message);
        assert_eq!(
            (size(0), size(1023), size(u64::MAX)),
            ("0 bytes".into(), "1023 bytes".into(), "16.0 EiB".into())
        );
    }
}
