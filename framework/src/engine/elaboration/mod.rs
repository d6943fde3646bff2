pub(crate) mod builder;
pub(crate) mod elaborate;
pub(crate) mod error;
mod process_ports;
