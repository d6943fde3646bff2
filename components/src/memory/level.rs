//! Names of the levels of the memory hierarchy.

use std::fmt;
use std::num::NonZeroU8;

use parking_lot::RwLock;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Level of the hierarchy that supplied the data of a response, identified by name.
///
/// The set is open. A component that is a level of its own registers its name once, when it is
/// built, and answers with that:
///
/// ```
/// use warpweave_components::memory::{Level, MemRequest};
///
/// let level = Level::named("victim buffer");
/// let response = MemRequest::read(7, 0x80, 1).answer(level);
/// assert_eq!(response.level.name(), "victim buffer");
/// assert_ne!(response.level, Level::L1);
/// ```
///
/// In a message a name is a small number. The number depends on the order in which levels were
/// first named in this process, so no result may depend on it. Levels are saved and shown by their
/// names, and have no order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Level(NonZeroU8);

/// Names of the constants, in the order of their numbers.
const KNOWN: [&str; 4] = ["L1", "Coalesced", "L2", "Dram"];

/// Names of all other levels, in the order of their numbers.
static OTHERS: RwLock<Vec<&'static str>> = RwLock::new(Vec::new());

impl Level {
    /// First-level cache, next to the compute unit.
    pub const L1: Self = Self::numbered(0);
    /// Coalesced cache of a cluster, in a coalescing unit.
    pub const COALESCED: Self = Self::numbered(1);
    /// Second-level cache slice at the memory partition.
    pub const L2: Self = Self::numbered(2);
    /// Main memory behind the last-level cache.
    pub const DRAM: Self = Self::numbered(3);

    /// Maximum number of levels named in one process.
    pub const NAMES_MAX: usize = u8::MAX as usize;

    const fn numbered(number: u8) -> Self {
        Self(NonZeroU8::new(number + 1).expect("a positive number was added"))
    }

    /// Returns the level of this name; equal names are the same level.
    ///
    /// # Panics
    /// Panics if [`Level::NAMES_MAX`] levels have other names.
    pub fn named(name: &str) -> Self {
        Self::try_named(name).expect("there are fewer levels than the maximum")
    }

    /// Fallible [`Level::named`], for names that a user may write; returns `None` when there are
    /// too many.
    pub fn try_named(name: &str) -> Option<Self> {
        let at = |names: &[&str]| names.iter().position(|known| *known == name);
        if let Some(number) = at(&KNOWN) {
            return Some(Self::numbered(number as u8));
        }
        let known = at(&OTHERS.read());
        let number = known.or_else(|| {
            let mut others = OTHERS.write();
            // Another thread may have been faster.
            at(&others).or_else(|| {
                let room = KNOWN.len() + others.len() < Self::NAMES_MAX;
                room.then(|| {
                    others.push(Box::leak(name.into()));
                    others.len() - 1
                })
            })
        })?;
        Some(Self::numbered((KNOWN.len() + number) as u8))
    }

    /// Returns the level's name, for messages and reports.
    pub fn name(self) -> &'static str {
        let number = usize::from(self.0.get()) - 1;
        match KNOWN.get(number) {
            Some(name) => name,
            None => OTHERS.read()[number - KNOWN.len()],
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let full = || {
            serde::de::Error::custom(format!(
                "`{name}` exceeds the maximum number of level names"
            ))
        };
        Self::try_named(&name).ok_or_else(full)
    }
}
