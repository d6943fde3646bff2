//! The memory path: from lane addresses to requests, and from responses to the registers.

pub(crate) mod coalescer;
pub(crate) mod load_store;
pub(crate) mod readonly_ports;
