//! Address space of a trace address, and the address within that space.

use warpweave_trace::{LANES, Space};

use crate::Quirks;
use crate::header::Header;
use crate::opcodes::AccessSpace;

/// Size of the private memory window in bytes.
pub(crate) const PRIVATE_WINDOW_BYTES: u64 = 16 << 20;

/// Windows of the generic address space of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    shared: u64,
    private: u64,
    /// True if generic accesses go to local memory when a window is unknown.
    unknown_is_shared: bool,
}

impl Windows {
    pub(crate) fn of(header: &Header, quirks: Quirks) -> Self {
        Self {
            shared: header.shared_window,
            private: header.private_window,
            unknown_is_shared: quirks.generic_shared,
        }
    }

    /// Returns the space of a generic address.
    fn space(&self, address: u64) -> Space {
        if self.shared == 0 || self.private == 0 {
            return if self.unknown_is_shared {
                Space::Shared
            } else {
                Space::Global
            };
        }
        if (self.shared..self.private).contains(&address) {
            Space::Shared
        } else if address >= self.private && address - self.private < PRIVATE_WINDOW_BYTES {
            Space::Local
        } else {
            Space::Global
        }
    }

    /// Converts a generic address to an address within its space.
    fn within(&self, space: Space, address: u64) -> u64 {
        if self.shared == 0 || self.private == 0 || self.space(address) != space {
            return address;
        }
        match space {
            Space::Shared => address - self.shared,
            Space::Local => address - self.private,
            _ => address,
        }
    }

    /// Splits an access by space: calls `part` with each space, its lanes and their addresses.
    pub(crate) fn split(
        &self,
        reach: AccessSpace,
        active: u32,
        addresses: &[u64; LANES],
        mut part: impl FnMut(Space, u32, &[u64; LANES]),
    ) {
        for space in [Space::Global, Space::Shared, Space::Local, Space::Const] {
            let is_here = |lane: &usize| match reach {
                AccessSpace::In(its) => its == space,
                AccessSpace::Generic => self.space(addresses[*lane]) == space,
                AccessSpace::Nothing | AccessSpace::Other => false,
            };
            let lanes = (0..LANES)
                .filter(|lane| active >> lane & 1 != 0)
                .filter(is_here);
            let mask = lanes.fold(0, |mask, lane| mask | 1 << lane);
            if mask != 0 {
                part(
                    space,
                    mask,
                    &addresses.map(|address| self.within(space, address)),
                );
            }
        }
    }
}
