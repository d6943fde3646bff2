pub(crate) mod channel_ports;
pub(crate) mod cut;
pub(crate) mod ports;
pub(crate) mod published;
pub(crate) mod ring;
#[cfg(test)]
mod ring_tests;
pub(crate) mod tap;
