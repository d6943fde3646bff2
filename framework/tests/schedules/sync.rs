//! Shuttle's primitives under the names of the framework's `sync` module.

use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::time::Duration;

pub(crate) use shuttle::hint::spin_loop as hint_spin;
pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(crate) use shuttle::thread::{scope, yield_now as yield_thread};
pub(crate) use std::sync::Arc;

/// Small number of polls, so that threads both spin and sleep.
pub(crate) const SPINS: u32 = 2;
pub(crate) const YIELDS: u32 = 1;

/// Returns a fast-running time, so that threads work together and alone within a short run.
pub(crate) fn host_time() -> Duration {
    static LOOKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    Duration::from_millis(2 * LOOKS.fetch_add(1, Ordering::Relaxed))
}

/// Shuttle checks atomics and locks; loom checks that the stamps of a ring guard its values.
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

pub(crate) struct Guard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

pub(crate) struct Condvar(shuttle::sync::Condvar);

impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> Guard<'_, T> {
        Guard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(shuttle::sync::Condvar::new())
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<T>(&self, guard: &mut Guard<'_, T>) {
        let held = guard.0.take();
        let held = held.expect("a guard holds its lock but for the wait");
        let held = self.0.wait(held).unwrap_or_else(PoisonError::into_inner);
        guard.0 = Some(held);
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
            .as_ref()
            .expect("a guard holds its lock but for the wait")
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0
            .as_mut()
            .expect("a guard holds its lock but for the wait")
    }
}
