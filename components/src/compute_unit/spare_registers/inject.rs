//! Injection of prefetches behind heads and tails, and moves in place of loads (PRE-M8).

use warpweave_trace::{KernelTrace, LANES, Lanes, Record, Shape, Space};

use super::SpareRegisters;
use super::analysis::stride_between;
use super::follower::{Filled, Iteration, LoopAhead};
use super::plan::{LoadRole, PlaceEntries};
use crate::compute_unit::front::source::{Injected, Origin};
use crate::compute_unit::front::wavefront::Wavefront;
use crate::compute_unit::spec::StrideFrom;

/// A load that is injected, and the record that it anticipates.
struct Prefetch {
    pc: u32,
    mask: u32,
    lanes: Lanes,
    /// Place in the window of the record that it anticipates, if it covers all lanes of that one.
    replaces: Option<usize>,
}

impl SpareRegisters {
    /// Injects the prefetches that follow the record of a wavefront.
    ///
    /// # Errors
    /// Fails if an address was predicted that the trace does not have.
    pub(super) fn prefetch(
        &mut self,
        slot: usize,
        wavefront: &mut Wavefront,
        kernel: &KernelTrace,
    ) -> Result<(), String> {
        let (origin, record) = (self.origin(slot), wavefront.record);
        let follower = &mut self.followers[slot];
        let (Some(header), Some(following)) = (follower.header, &mut follower.following) else {
            return Ok(());
        };
        let (iteration, distance) = (follower.iteration, following.distance);
        let plan = &self.plans[following.plan as usize];
        let (true, Some((pair, role))) = (distance > 0, plan.role_of(record.pc)) else {
            return Ok(());
        };
        if record.space != Space::Global || record.continues || !wavefront.touches_memory() {
            return Ok(());
        }
        if origin == Origin::Replaced && record.mask & !following.filled(pair, role, iteration) != 0
        {
            return Err(format!(
                "instruction {} of kernel {} takes values from a spare register that was not \
                 filled for them",
                record.pc, kernel.code.name
            ));
        }
        let lanes = wavefront.lanes.clone();
        let before = match role {
            LoadRole::Head => {
                let now = (iteration, record.mask, lanes.clone());
                following.last[pair].replace(now)
            }
            LoadRole::Tail => None,
        };
        let is_counted = self.spec.is_compiler() || iteration > following.since;
        if !is_counted {
            return Ok(());
        }
        let mut ahead = LoopAhead {
            source: &mut self.sources[slot],
            wavefront,
            kernel,
            header,
        };
        ahead.read(distance);
        let later = ahead.iteration(distance);
        if !plan.latches.is_empty() {
            let reached = later.as_ref().map_or(0, |later| later.mask);
            let left = ahead.ending_elsewhere(record.mask & !reached, &plan.latches);
            self.counts.beyond_exit += u64::from(left.count_ones());
        }
        let Some(later) = later else {
            return Ok(());
        };
        let head_filled = following.filled(pair, LoadRole::Head, iteration + distance);
        let prefetch = match role {
            LoadRole::Head => {
                let is_derived = self.spec.is_compiler() || self.spec.stride == StrideFrom::Derived;
                let stride =
                    if is_derived {
                        let derived = &mut following.derived[pair];
                        *derived = derived.or_else(|| next_stride(&ahead, &record, &lanes));
                        *derived
                    } else {
                        before.filter(|(last, ..)| last + 1 == iteration).and_then(
                            |(_, mask, last)| stride_between((mask, &last), (record.mask, &lanes)),
                        )
                    };
                let Some(stride) = stride else { return Ok(()) };
                head(&ahead, &later, (&record, &lanes), stride, distance)?
            }
            LoadRole::Tail => {
                let mask = record.mask & later.mask & head_filled;
                let (prefetch, lost) = tail(&ahead, &later, record.pc, mask);
                self.counts.without_address += u64::from(lost);
                prefetch
            }
        };
        let Some(prefetch) = prefetch else {
            return Ok(());
        };
        let filled = Filled {
            iteration: iteration + distance,
            mask: prefetch.mask,
        };
        let place = following.place(filled.iteration);
        following.fill(pair, role, filled);
        let entries = &self.entries[following.plan as usize][pair].of(role)[place];
        let counts = &mut self.counts;
        counts.arithmetic += entries.before.len() as u64;
        match role {
            LoadRole::Head => counts.heads += 1,
            LoadRole::Tail => counts.tails += 1,
        }
        let replaces = prefetch.replaces.filter(|_| self.spec.replace);
        if let (Some(at), Some(replacement)) = (replaces, entries.replacement)
            && let Some(load) = ahead.source.ahead_mut(at)
        {
            load.replaced = Some(replacement);
            counts.replaced += 1;
        }
        inject(&mut ahead, entries, prefetch);
        Ok(())
    }
}

/// Returns the stride from a head to its execution in the next iteration.
fn next_stride(ahead: &LoopAhead<'_>, record: &Record, lanes: &Lanes) -> Option<i64> {
    let next = ahead.iteration(1)?;
    let (_, load) = ahead.find(&next, record.pc)?;
    stride_between((record.mask, lanes), (load.record.mask, &load.lanes))
}

/// Predicts a head in a later iteration.
///
/// # Errors
/// Fails if the trace has another address there.
fn head(
    ahead: &LoopAhead<'_>,
    later: &Iteration,
    (record, lanes): (&Record, &Lanes),
    stride: i64,
    distance: u32,
) -> Result<Option<Prefetch>, String> {
    let mask = record.mask & later.mask;
    if mask == 0 {
        return Ok(None);
    }
    let mut addresses = [0; LANES];
    let step = stride.wrapping_mul(i64::from(distance));
    for (lane, address) in lanes.iter(mask) {
        addresses[lane as usize] = address.wrapping_add_signed(step);
    }
    let found = ahead.find(later, record.pc);
    if let Some((_, load)) = found {
        let mut known = load.lanes.iter(load.record.mask & mask);
        let wrong = known.find(|(lane, address)| addresses[*lane as usize] != *address);
        if let Some((lane, address)) = wrong {
            return Err(format!(
                "instruction {} of kernel {} reads {address:#x} in lane {lane}, where a stride of \
                 {stride} bytes predicts {:#x}; a spare register would hold a wrong value",
                record.pc, ahead.kernel.code.name, addresses[lane as usize]
            ));
        }
    }
    Ok(Some(Prefetch {
        pc: record.pc,
        mask,
        lanes: Lanes {
            shape: Shape::of(mask, &addresses),
            list: addresses,
        },
        replaces: found.and_then(|(place, load)| replaces(place, load.record.mask, mask)),
    }))
}

/// Finds a tail in a later iteration. Returns its prefetch, and the number of lanes that it does
/// not reach.
fn tail(ahead: &LoopAhead<'_>, later: &Iteration, pc: u32, mask: u32) -> (Option<Prefetch>, u32) {
    let Some((place, load)) = ahead.find(later, pc) else {
        return (None, mask.count_ones());
    };
    let reached = mask & load.record.mask;
    let lost = (mask & !reached).count_ones();
    if reached == 0 || load.lanes.shape == Shape::None {
        return (None, lost);
    }
    let prefetch = Prefetch {
        pc,
        mask: reached,
        lanes: load.lanes.clone(),
        replaces: replaces(place, load.record.mask, reached),
    };
    (Some(prefetch), lost)
}

/// Returns the place of a load if a prefetch for these lanes serves all of its own.
fn replaces(place: usize, mask: u32, prefetched: u32) -> Option<usize> {
    (mask & !prefetched == 0).then_some(place)
}

/// Puts a prefetch before the next record of the stream.
fn inject(ahead: &mut LoopAhead<'_>, entries: &PlaceEntries, prefetch: Prefetch) {
    let record = Record {
        pc: prefetch.pc,
        mask: prefetch.mask,
        space: Space::None,
        continues: false,
    };
    for decoded in &entries.before {
        ahead.source.inject(Injected {
            decoded: *decoded,
            record,
            lanes: Lanes::default(),
        });
    }
    ahead.source.inject(Injected {
        decoded: entries.load,
        record: Record {
            space: Space::Global,
            ..record
        },
        lanes: prefetch.lanes,
    });
}
