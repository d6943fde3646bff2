//! The concurrency primitives of rings and barriers, named in one place so that tests can
//! model-check the same source with others.

pub(crate) use std::hint::spin_loop as hint_spin;
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::thread::yield_now;

pub(crate) use parking_lot::{Condvar, Mutex};
