//! Accesses that requests touch, and their places in the devices.

use super::controller::Request;
use super::heads::Head;
use super::mapping::Mapping;
use super::splitting::Accesses;
use crate::interleave::Interleave;
use crate::memory::MemRequest;

/// Way from the line of a request to accesses, channels, banks, rows and columns.
pub(super) struct AddressMap {
    pub(super) mapping: Mapping,
    pub(super) interleave: Option<Interleave>,
    pub(super) access_bytes: u32,
    /// Number of ports, which the slices of an interleaved memory share.
    pub(super) ports: u32,
}

impl AddressMap {
    /// Returns the head entry of a request with its first access.
    pub(super) fn head(&self, request: MemRequest) -> Head {
        let local = match &self.interleave {
            Some(interleave) => interleave.local_of_group(request.line, self.ports),
            None => request.line,
        };
        let accesses = Accesses::touched(local, request.words, self.access_bytes);
        let (channel, access) = self.access(accesses.next(), request.kind.carries_data());
        let access_bytes = u64::from(self.access_bytes);
        let offset = local & (access_bytes - 1);
        Head {
            request,
            address: self.mapping.wrapped(local / access_bytes) * access_bytes + offset,
            accesses,
            channel,
            access,
        }
    }

    /// Returns the channel of an access, and the request to offer to that channel.
    pub(super) fn access(&self, access: u64, write: bool) -> (usize, Request) {
        let (channel, location) = self.mapping.locate(access);
        let request = Request {
            access,
            location,
            write,
            tag: 0,
        };
        (channel as usize, request)
    }
}
