//! Ids of the requests that a cache sends down: which of its tables waits for the answer, and for
//! which piece.
//!
//! Each is the [`Id`] of an MSHR or of a passing request, with its place spread out: the pieces of
//! the MSHRs come first, then those of passing requests.

use warpweave_framework::Id;

use super::CacheSpec;

/// How places are spread out.
#[derive(Clone, Copy, Debug)]
pub(super) struct DownstreamIds {
    /// Parts of a line that an MSHR asks for separately.
    units: u32,
    /// Pieces into which a passing request is cut.
    cuts: u32,
    /// First place of passing requests.
    passing: u32,
}

/// Who waits for an answer from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdOwner {
    /// This MSHR, for this part of its line.
    Mshr(Id, u32),
    /// This passing request, for one of its pieces.
    Passing(Id),
}

impl DownstreamIds {
    pub(super) fn new(spec: &CacheSpec) -> Self {
        Self {
            units: spec.units(),
            cuts: spec.cuts(),
            passing: spec.mshr_entries * spec.units(),
        }
    }

    /// The id of the request for a part of a line.
    #[inline]
    pub(super) fn for_mshr(&self, mshr: Id, unit: u32) -> u32 {
        spread(mshr, mshr.place() as u32 * self.units + unit)
    }

    /// The id of a piece of a passing request.
    #[inline]
    pub(super) fn for_passing(&self, passing: Id, piece: u32) -> u32 {
        spread(
            passing,
            self.passing + passing.place() as u32 * self.cuts + piece,
        )
    }

    /// Who the answer with this id is for.
    #[inline]
    pub(super) fn owner(&self, id: u32) -> IdOwner {
        let id = Id::from_bits(id);
        let place = id.place() as u32;
        match place.checked_sub(self.passing) {
            None => IdOwner::Mshr(
                id.with_place((place / self.units) as usize),
                place % self.units,
            ),
            Some(place) => IdOwner::Passing(id.with_place((place / self.cuts) as usize)),
        }
    }
}

fn spread(id: Id, place: u32) -> u32 {
    id.with_place(place as usize).bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_has_an_id_that_leads_back() {
        let ids = DownstreamIds {
            units: 4,
            cuts: 2,
            passing: 3 * 4,
        };
        let mut seen = Vec::new();
        for place in 0..3 {
            let id = Id::from_bits(7 << 20 | place);
            for unit in 0..4 {
                let below = ids.for_mshr(id, unit);
                assert_eq!(ids.owner(below), IdOwner::Mshr(id, unit));
                seen.push(below);
            }
            for piece in 0..2 {
                let below = ids.for_passing(id, piece);
                assert_eq!(ids.owner(below), IdOwner::Passing(id));
                seen.push(below);
            }
        }
        seen.sort_unstable();
        let places: Vec<_> = seen.iter().map(|id| id & 0xf_ffff).collect();
        assert_eq!(places, (0..18).collect::<Vec<_>>());
        assert!(seen.iter().all(|id| id >> 20 == 7));
    }
}
