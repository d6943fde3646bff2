//! Concurrency primitives of the engine, named in one place so that tests can model-check the same
//! sources with other primitives (`tests/models`, `tests/schedules`).

pub(crate) use std::hint::spin_loop as hint_spin;
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::thread::{scope, yield_now as yield_thread};

use std::sync::OnceLock;
use std::time::Duration;

pub(crate) use parking_lot::{Condvar, Mutex};

/// Number of barrier polls before a thread yields its core. They take some 20 microseconds, as
/// long as going to sleep and waking up.
pub(crate) const SPINS: u32 = 1024;

/// Number of times a thread at a barrier yields before it sleeps. They take some 100 microseconds
/// on a host with idle cores, and far more where others want the core.
pub(crate) const YIELDS: u32 = 256;

/// Host time since some moment. It determines which thread works, never the results.
#[expect(
    clippy::disallowed_types,
    reason = "threads that are not running can be detected only by host time"
)]
pub(crate) fn host_time() -> Duration {
    static BEGAN: OnceLock<std::time::Instant> = OnceLock::new();
    BEGAN.get_or_init(std::time::Instant::now).elapsed()
}

/// A cell whose accesses a model checker can observe.
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    #[inline]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
