//! Facts that components publish along memory wires, so that inconsistent numbers in different
//! descriptions are detected.

use warpweave_framework::{Facts, PortId, Stated, Unfit};

use super::MemMaster;
use crate::interleave::Interleave;

/// Line size in bytes of the requests on this wire. Published by components that originate
/// requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineBytes(pub u32);

/// Size in bytes of the parts in which requests on this wire may be answered, each in a separate
/// response. Published by components that accept partial responses; without it a response is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartBytes(pub u32);

/// Part of the address space to which requests on this wire belong. Published by components that
/// distribute addresses over several wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Interleaving of addresses over the slices.
    pub interleave: Interleave,
    /// Number of the slice within the interleaving.
    pub number: u32,
}

/// Fate of atomics at the lower end of this wire. Published upstream by components that execute
/// them or cannot; a component that forwards them passes on what lies below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicService {
    /// Atomics are executed.
    Executed,
    /// An atomic ends the run with an error.
    Refused,
}

/// Byte address from which on memory belongs to single threads. Published by compute units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrivateFrom(pub u64);

/// Network port by which requests on this wire leave their cluster. Published by networks; it is
/// passed upstream to the compute units and on to their dispatcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkPort(pub u32);

/// Fails if lines of a length other than `own`, the value of `field`, arrive. Also fails if the
/// sender accepts responses in parts other than `parts`, in which they are given.
pub(crate) fn agree_on_lines(
    facts: &Facts,
    field: &str,
    own: u32,
    parts: Option<u32>,
) -> Result<(), Unfit> {
    let Some(&LineBytes(bytes)) = facts.get::<LineBytes>() else {
        return Ok(());
    };
    let stated = facts.stated::<LineBytes>();
    let sender = stated.as_ref().map_or("the sender", Stated::path);
    if bytes != own {
        let message = format!("lines of {own} bytes, but `{sender}` sends lines of {bytes}");
        let there = format!("`{sender}` sends lines of {bytes} bytes");
        return Err(Unfit::at(field, message).beside(there, stated));
    }
    let taken = facts.get::<PartBytes>().map(|parts| parts.0);
    if taken == parts {
        return Ok(());
    }
    let pieces = |parts: Option<u32>| match parts {
        None => "whole".to_owned(),
        Some(bytes) => format!("in parts of {bytes} bytes"),
    };
    let (given, wanted) = (pieces(parts), pieces(taken));
    let message = format!("responses are sent up {given}, but `{sender}` expects them {wanted}");
    let there = format!("`{sender}` expects responses {wanted}");
    let stated = facts.stated::<PartBytes>().or(stated);
    Err(Unfit::at(field, message).beside(there, stated))
}

/// Fails if arriving lines cross granules of `interleave`.
pub(crate) fn hold_whole_lines(facts: &Facts, interleave: Interleave) -> Result<(), Unfit> {
    match facts.get::<LineBytes>() {
        Some(&LineBytes(bytes)) if bytes > interleave.granule_bytes => {
            let stated = facts.stated::<LineBytes>();
            let sender = stated.as_ref().map_or("the sender", Stated::path);
            let message = format!(
                "a granule of {} bytes splits the {bytes}-byte lines that `{sender}` sends",
                interleave.granule_bytes
            );
            let there = format!("`{sender}` sends lines of {bytes} bytes");
            Err(Unfit::at("interleave.granule_bytes", message).beside(there, stated))
        }
        _ => Ok(()),
    }
}

/// Fails if private memory begins below `global_end`, the end of global memory in the field of this
/// name.
pub(crate) fn leave_private_memory(facts: &Facts, global_end: Option<u64>) -> Result<(), Unfit> {
    match (facts.get::<PrivateFrom>(), global_end) {
        (Some(&PrivateFrom(base)), Some(end)) if base < end => {
            let stated = facts.stated::<PrivateFrom>();
            let unit = stated.as_ref().map_or("a compute unit", Stated::path);
            let message = format!(
                "global memory is declared to end at {end:#x}, but private memory of `{unit}` begins at {base:#x}"
            );
            Err(Unfit::at("global_end", message).beside("it begins here", stated))
        }
        _ => Ok(()),
    }
}

/// Slices that arrive at a component whose specification has its own interleaving.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slices {
    arriving: Vec<(Slice, Option<Stated>)>,
}

impl Slices {
    /// Records the slice published on a wire.
    pub(crate) fn learn(&mut self, facts: &Facts) {
        if let Some(&slice) = facts.get::<Slice>() {
            let known = self.arriving.iter().any(|(s, _)| *s == slice);
            if !known {
                self.arriving.push((slice, facts.stated::<Slice>()));
            }
        }
    }

    /// Fails unless `told`, the component's field `interleave`, maps the arriving addresses to
    /// distinct places without gaps.
    pub(crate) fn fit(&self, told: Option<Interleave>) -> Result<(), Unfit> {
        let (Some(told), Some((first, stated))) = (told, self.arriving.first()) else {
            return Ok(());
        };
        let dealt = first.interleave;
        let path = stated.as_ref().map_or("the network", Stated::path);
        let refuse = |field: &str, message: String| {
            let there = format!(
                "`{path}` interleaves granules of {} bytes over {} slices",
                dealt.granule_bytes, dealt.slices
            );
            let field = format!("interleave.{field}");
            let dealer = stated.clone().map(|stated| stated.field(field.clone()));
            Err(Unfit::at(&field, message).beside(there, dealer))
        };
        if told.granule_bytes != dealt.granule_bytes {
            return refuse(
                "granule_bytes",
                format!(
                    "granules of {} bytes, but `{path}` interleaves granules of {}",
                    told.granule_bytes, dealt.granule_bytes
                ),
            );
        }
        if told.hash != dealt.hash {
            return refuse(
                "hash",
                format!("{:?}, but `{path}` uses {:?}", told.hash, dealt.hash),
            );
        }
        let dealers = self.arriving.iter();
        if dealers.clone().any(|(slice, _)| slice.interleave != dealt) {
            // Several networks in a row or side by side: nothing simple can be said.
            return Ok(());
        }
        let count = self.arriving.len() as u64;
        if u64::from(told.slices) * count != u64::from(dealt.slices) {
            return refuse(
                "slices",
                format!(
                    "{} slices, but {count} of the {} slices of `{path}` are wired to it",
                    told.slices, dealt.slices
                ),
            );
        }
        // Granule `n * dealt.slices + number` becomes granule `n * count + number / told.slices`
        // here.
        let place = |slice: &Slice| slice.number / told.slices;
        let together = self
            .arriving
            .iter()
            .enumerate()
            .find_map(|(at, (slice, _))| {
                let before = self.arriving[..at].iter();
                let mut same = before.filter(|(other, _)| place(other) == place(slice));
                same.next().map(|(other, _)| (other.number, slice.number))
            });
        if let Some((one, other)) = together {
            return refuse(
                "slices",
                format!(
                    "slices {one} and {other} of `{path}` are both wired here: with {} slices their addresses would collide",
                    told.slices
                ),
            );
        }
        Ok(())
    }
}

/// True if the port carries memory requests.
pub(crate) fn is_request(port: PortId) -> bool {
    port.member == MemMaster::REQUEST
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interleave(granule_bytes: u32, slices: u32) -> Interleave {
        Interleave::in_turn(granule_bytes, slices)
    }

    /// Returns the error of a component with interleaving `told` for these slices of twelve.
    fn fit(told: Interleave, numbers: &[u32]) -> Option<String> {
        let mut slices = Slices::default();
        for &number in numbers {
            let mut facts = Facts::new();
            let interleave = interleave(256, 12);
            facts.publish(Slice { interleave, number });
            slices.learn(&facts);
        }
        slices.fit(Some(told)).err().map(|unfit| unfit.field)
    }

    #[test]
    fn a_part_is_told_of_as_many_slices_as_the_wires_bring() {
        assert_eq!(fit(interleave(256, 12), &[3]), None);
        assert_eq!(fit(interleave(256, 6), &[3, 9]), None);
        assert_eq!(fit(interleave(256, 6), &[]), None);
        for (told, numbers) in [
            (interleave(256, 6), &[3][..]),
            (interleave(256, 11), &[3]),
            (interleave(256, 12), &[3, 9]),
            (interleave(256, 3), &[3, 9]),
            (interleave(256, 6), &[3, 4]),
            (interleave(256, 6), &[7, 9]),
        ] {
            let field = fit(told, numbers);
            assert_eq!(field.as_deref(), Some("interleave.slices"), "{numbers:?}");
        }
        let hashed = Interleave {
            hash: crate::interleave::SliceHash::Random,
            ..interleave(256, 12)
        };
        assert_eq!(fit(hashed, &[3]).as_deref(), Some("interleave.hash"));
        let field = fit(interleave(512, 12), &[3]);
        assert_eq!(field.as_deref(), Some("interleave.granule_bytes"));
    }

    /// Checks the rule against the addresses themselves.
    #[test]
    fn slices_that_fit_give_every_address_a_place_without_gaps() {
        let dealt = interleave(256, 12);
        for told in (1..=12).map(|slices| interleave(256, slices)) {
            for (a, b) in (0..12).flat_map(|a| (a..12).map(move |b| (a, b))) {
                let mut slices = vec![a, b];
                slices.dedup();
                let here = (0..24 * 12).map(|granule| granule * 256);
                let here = here.filter(|address| slices.contains(&dealt.slice(*address)));
                let mut places: Vec<_> = here.map(|address| told.local(address) / 256).collect();
                places.sort_unstable();
                let whole = places.iter().copied().eq(0..24 * slices.len() as u64);
                assert_eq!(fit(told, &slices).is_none(), whole, "{told:?} {slices:?}");
            }
        }
    }
}
