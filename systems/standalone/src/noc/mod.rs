//! Implements the commands `warpweave bench noc` and `warpweave validate noc`.

mod bench;
mod drive;
mod presets;
mod traffic;
mod validation;

pub use bench::{
    Bench, DescribedNetwork, bench, read_network, read_packets, read_packets_within, write_passages,
};
pub use drive::{Packet, Passage, Passages, Shape, drive};
pub use presets::{PRESETS, booksim, preset};
pub use traffic::{Offered, Pattern};
pub use validation::{validate, validate_own};
