//! Loom's primitives under the names of the framework's `sync` module.

use std::ops::{Deref, DerefMut};

pub(crate) use loom::cell::UnsafeCell;
pub(crate) use loom::hint::spin_loop as hint_spin;
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(crate) use loom::thread::yield_now as yield_thread;
pub(crate) use std::sync::Arc;

/// Number of polls before sleeping; further polls would explore nothing new.
pub(crate) const SPINS: u32 = 1;
pub(crate) const YIELDS: u32 = 1;

pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

pub(crate) struct Guard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

pub(crate) struct Condvar(loom::sync::Condvar);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> Guard<'_, T> {
        Guard(Some(self.0.lock().unwrap()))
    }
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(loom::sync::Condvar::new())
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<T>(&self, guard: &mut Guard<'_, T>) {
        let held = guard.0.take().unwrap();
        guard.0 = Some(self.0.wait(held).unwrap());
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().unwrap()
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().unwrap()
    }
}
