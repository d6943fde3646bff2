pub(crate) mod builder;
mod process_ports;
