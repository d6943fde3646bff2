//! The concurrency primitives of the engine, named in one place so that tests can model-check the
//! same sources with others (`tests/models`, `tests/schedules`).

pub(crate) use std::hint::spin_loop as hint_spin;
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::thread::{scope, yield_now};

pub(crate) use parking_lot::{Condvar, Mutex};

/// Looks at a barrier without giving up the processor: about a window of a busy system.
pub(crate) const SPINS: u32 = 256;
/// Looks at a barrier between which others may run.
pub(crate) const YIELDS: u32 = 64;

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
