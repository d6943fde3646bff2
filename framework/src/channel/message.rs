//! Trait of the values that travel through channels.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value that travels through channels: small, plain, movable, and storable in a checkpoint.
pub trait Message: Serialize + DeserializeOwned + Send + 'static {
    /// Returns the size on a wire whose width is given in bytes per cycle.
    fn wire_bytes(&self) -> u32 {
        size_of_val(self) as u32
    }

    /// Identifier that links the messages of one transaction in a timeline, over all hops.
    fn flow(&self) -> Option<u64> {
        None
    }
}

macro_rules! plain_messages {
    ($($t:ty),*) => { $(impl Message for $t {})* };
}
plain_messages!((), bool, u8, u16, u32, u64, usize, i32, i64, char);
impl<A: Message, B: Message> Message for (A, B) {}
