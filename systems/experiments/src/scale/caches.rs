//! Cache capacities of a machine, from its parts with all defaults filled in.

use serde::Serialize;
use warpweave_params::{Kind, Node};
use warpweave_systems::ResolvedSystem;

/// Line size if the machine has no first-level cache, in bytes. Source: Fermi and later GPUs.
const LINE_BYTES: u64 = 128;

/// Cache sizes of the baseline, with 0 for absent caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Caches {
    /// Line size of the first level, in bytes.
    pub line_bytes: u64,
    /// Capacity of the smallest first-level cache, in bytes.
    pub one_l1_bytes: u64,
    /// Total capacity of all first-level caches, in bytes.
    pub l1_bytes: u64,
    /// Total capacity of all second-level slices, in bytes.
    pub l2_bytes: u64,
}

impl Caches {
    /// Collects the caches of a machine: its parts of kind `Cache`, by level.
    pub(super) fn of(system: &ResolvedSystem) -> Self {
        let system = system.to_node();
        let mut caches = Self {
            line_bytes: 0,
            one_l1_bytes: 0,
            l1_bytes: 0,
            l2_bytes: 0,
        };
        let parts = match system.field("parts").map(|parts| &parts.kind) {
            Some(Kind::Map(parts)) => parts.as_slice(),
            _ => &[],
        };
        for (_, part) in parts {
            if let Some((level, size, line)) = cache(part) {
                match level {
                    "L1" => {
                        let first = caches.l1_bytes == 0;
                        caches.l1_bytes += size;
                        if first || size < caches.one_l1_bytes {
                            (caches.one_l1_bytes, caches.line_bytes) = (size, line);
                        }
                    }
                    "L2" => caches.l2_bytes += size,
                    _ => {}
                }
            }
        }
        if caches.line_bytes == 0 {
            caches.line_bytes = LINE_BYTES;
        }
        caches
    }

    /// Returns the number of lines in one first-level cache.
    pub(super) fn lines_of_one_l1(&self) -> u64 {
        self.one_l1_bytes / self.line_bytes
    }

    /// Returns the number of lines in all slices of the second level.
    pub(super) fn lines_of_l2(&self) -> u64 {
        self.l2_bytes / self.line_bytes
    }
}

/// Returns level, capacity and line size of a cache, or `None` for another part.
fn cache(part: &Node) -> Option<(&str, u64, u64)> {
    let Kind::Struct(value) = &part.kind else {
        return None;
    };
    let is_cache = value.name.as_ref().is_some_and(|name| name.text == "Cache");
    let level = match &part.field("level").filter(|_| is_cache)?.kind {
        Kind::Name(name) => &name.text,
        _ => return None,
    };
    let number = |name: &str| match part.field(name)?.kind {
        Kind::Int(bytes) => u64::try_from(bytes).ok(),
        _ => None,
    };
    Some((level, number("size_bytes")?, number("line_bytes")?))
}
