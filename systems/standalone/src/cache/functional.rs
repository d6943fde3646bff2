//! Functional cache model: one or two levels of tags, which determine hits without timing.

use serde::Serialize;
use warpweave_components::cache::replacement::{Lru, Replacement};
use warpweave_components::cache::{CacheSpec, Geometry, SetHash, TagArray};
use warpweave_framework::{Environment, Policy, SpecError};

use super::Access;

/// Size, associativity and line size of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Capacity of the level in bytes.
    pub size_bytes: u32,
    /// Associativity: number of lines in each set.
    pub ways: u32,
    /// Line size of the level in bytes.
    pub line_bytes: u32,
}

/// Named geometry: a first level, and optionally a second one that sees its misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Preset {
    /// Name used in the table of the reference.
    pub name: &'static str,
    /// First level, or the only one.
    pub first: Shape,
    /// Second level, if any; always with LRU replacement.
    pub second: Option<Shape>,
}

const fn shape(kib: u32, ways: u32, line_bytes: u32) -> Shape {
    Shape {
        size_bytes: kib << 10,
        ways,
        line_bytes,
    }
}

const fn preset(name: &'static str, first: Shape) -> Preset {
    Preset {
        name,
        first,
        second: None,
    }
}

/// Geometries of the reference table, by name.
pub const GEOMETRIES: [Preset; 8] = [
    preset("L1_16k_4w", shape(16, 4, 128)),
    preset("L1_16k_4w_l64", shape(16, 4, 64)),
    preset("L1_32k_8w", shape(32, 8, 128)),
    preset("L1_32k_dm", shape(32, 1, 128)),
    preset("L1_48k_6w", shape(48, 6, 128)),
    preset("L2_128k_16w", shape(128, 16, 128)),
    preset("L2_256k_8w_l64", shape(256, 8, 64)),
    Preset {
        name: "L1_16k_4w+L2_128k_16w",
        first: shape(16, 4, 128),
        second: Some(shape(128, 16, 128)),
    },
];

/// Hit and miss counts of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Number of accesses to the first level.
    pub accesses: u64,
    /// Number of hits in the first level.
    pub hits: u64,
    /// Number of misses in the first level.
    pub misses: u64,
    /// Hits in the second level among these misses; `None` without one.
    pub l2_hits: Option<u64>,
    /// Misses in the second level; `None` without one.
    pub l2_misses: Option<u64>,
}

/// Tag arrays of one or two levels. Both reads and writes allocate.
pub struct Functional {
    first: Level,
    second: Option<Level>,
    counts: Counts,
}

struct Level {
    tags: TagArray,
    line_mask: u64,
}

impl Level {
    fn new(shape: Shape, replacement: &Policy<Replacement>) -> Result<Self, SpecError> {
        let geometry = Geometry {
            sets: shape.size_bytes / shape.line_bytes / shape.ways,
            ways: shape.ways,
            line_bytes: shape.line_bytes,
            interleave: None,
            hash: SetHash::Modulo,
            partitions: 1,
        };
        Self::of(geometry, replacement, &Environment::default())
    }

    fn of(
        geometry: Geometry,
        replacement: &Policy<Replacement>,
        environment: &Environment,
    ) -> Result<Self, SpecError> {
        let replacement = replacement.build("replacement", environment, &geometry.site(), 0)?;
        Ok(Self {
            tags: TagArray::new(geometry, replacement),
            line_mask: !u64::from(geometry.line_bytes - 1),
        })
    }

    #[inline]
    fn hits(&mut self, address: u64) -> bool {
        self.tags.access(address & self.line_mask)
    }
}

impl Functional {
    /// Creates an empty cache of this geometry, with a policy built in Rust.
    ///
    /// # Errors
    /// Returns an error if the policy does not support the number of ways.
    pub fn new(preset: &Preset, replacement: &Policy<Replacement>) -> Result<Self, SpecError> {
        let second = preset
            .second
            .map(|shape| Level::new(shape, &Policy::plain::<Lru>()))
            .transpose()?;
        let zero = second.is_some().then_some(0);
        Ok(Self {
            first: Level::new(preset.first, replacement)?,
            second,
            counts: Counts {
                l2_hits: zero,
                l2_misses: zero,
                ..Counts::default()
            },
        })
    }

    /// Creates empty tags for a cache description, without its other features.
    ///
    /// # Errors
    /// Returns an error if the description is invalid, or its policy is not in the environment.
    pub fn described(spec: &CacheSpec, environment: &Environment) -> Result<Self, SpecError> {
        let geometry = spec.check()?;
        Ok(Self {
            first: Level::of(geometry, &spec.replacement, environment)?,
            second: None,
            counts: Counts::default(),
        })
    }

    /// Performs one access. Returns true on a hit in the first level.
    #[inline]
    pub fn access(&mut self, access: Access) -> bool {
        self.counts.accesses += 1;
        let hit = self.first.hits(access.address);
        if hit {
            self.counts.hits += 1;
        } else {
            self.counts.misses += 1;
            if let Some(second) = &mut self.second {
                let count = if second.hits(access.address) {
                    &mut self.counts.l2_hits
                } else {
                    &mut self.counts.l2_misses
                };
                *count.get_or_insert(0) += 1;
            }
        }
        hit
    }

    /// Returns the counts of all accesses so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_level_sees_the_misses_of_the_first_alone() {
        let preset = Preset {
            name: "test",
            first: shape(1, 8, 128),
            second: Some(shape(2, 16, 128)),
        };
        let mut cache = Functional::new(&preset, &Policy::plain::<Lru>()).expect("any ways");
        for round in 0..3 {
            for line in 0..9u64 {
                let hit = cache.access(Access {
                    address: line * 128 + 4,
                    write: round == 1,
                });
                assert!(!hit, "a loop of nine lines misses in eight ways");
            }
        }
        assert_eq!(
            cache.counts(),
            Counts {
                accesses: 27,
                hits: 0,
                misses: 27,
                l2_hits: Some(18),
                l2_misses: Some(9),
            }
        );
    }
}
