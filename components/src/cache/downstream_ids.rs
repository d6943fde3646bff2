//! Ids of requests sent to the next level. They encode the table entry that waits for the response,
//! and the piece.
//!
//! Each is the [`Id`] of an MSHR or of a passing request with its place number scaled. The pieces
//! of the MSHRs come first, followed by those of the passing requests.

use warpweave_framework::Id;

use super::CacheSpec;

/// Mapping from table entries and pieces to request ids.
#[derive(Clone, Copy, Debug)]
pub(super) struct DownstreamIds {
    /// Parts of a line that an MSHR requests separately.
    units: u32,
    /// Pieces into which a passing request is cut.
    cuts: u32,
    /// First place number used for passing requests.
    passing: u32,
}

/// Destination of a response from the next level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdOwner {
    /// Response for this MSHR and this part of its line.
    Mshr(Id, u32),
    /// Response for a piece of this passing request.
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

    /// Returns the id of the request for one part of a line.
    #[inline]
    pub(super) fn for_mshr(&self, mshr: Id, unit: u32) -> u32 {
        spread(mshr, mshr.place() as u32 * self.units + unit)
    }

    /// Returns the id of one piece of a passing request.
    #[inline]
    pub(super) fn for_passing(&self, passing: Id, piece: u32) -> u32 {
        spread(
            passing,
            self.passing + passing.place() as u32 * self.cuts + piece,
        )
    }

    /// Decodes a response id into its destination.
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
