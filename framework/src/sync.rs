//! The concurrency primitives of the engine, named in one place so that tests can model-check the
//! same sources with others (`tests/models`, `tests/schedules`).

pub(crate) use std::hint::spin_loop as hint_spin;
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::thread::scope;

use std::sync::OnceLock;
use std::time::Duration;

pub(crate) use parking_lot::{Condvar, Mutex};

/// Looks at a barrier before a thread sleeps: some 20 microseconds, as long as going to sleep and being
/// woken takes.
pub(crate) const SPINS: u32 = 1024;

/// Time of the host since some moment. It decides which thread works, never what comes of it.
#[expect(
    clippy::disallowed_types,
    reason = "threads that do not run can be told by nothing else"
)]
pub(crate) fn host_time() -> Duration {
    static BEGAN: OnceLock<std::time::Instant> = OnceLock::new();
    BEGAN.get_or_init(std::time::Instant::now).elapsed()
}

/// A cell whose accesses a model checker can watch.
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
