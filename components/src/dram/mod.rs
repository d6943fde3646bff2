//! GDDR5 memory controller and devices.

mod banks;
mod controller;
mod mapping;
mod timing;

pub use banks::Command;
pub use controller::{ChannelStats, Controller, Issued, Offer, Queues, Request};
pub use mapping::{Field, Geometry, Location, Mapping};
pub use timing::Timing;
