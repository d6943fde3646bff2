//! Access checks: bounds and provenance, uninitialised reads and races.

use super::finding::{FindingKind, Verdict};
use super::objects::{Tag, combine};
use super::races::{AccessConflict, Entry, RaceScope};
use super::unset::{Cause, MissingBytes, Source, Unset};
use super::{Case, ProgramChecker};
use crate::address_space::DEVICE_BASE;
use crate::exec::atomic::{apply, operands, swapped};
use crate::exec::memory_path::{Part, read_bytes, write_bytes};
use crate::exec::observe::{AccessKind, PendingAccess};
use crate::exec::registers::lanes;
use crate::ops::{AtomicKind, Region};
use crate::site::{Origin, Rule, SyncScope};

/// Size in bytes of the widest access: four elements of eight bytes.
const WIDEST: usize = 32;

/// Memory access of a single lane, as seen by the checker.
struct LaneAccess<'t> {
    reach: &'t PendingAccess<'t>,
    region: Region,
    lane: usize,
    /// Address within the memory of this access's region.
    address: u64,
    /// Total size of all elements of the access.
    bytes: u32,
    /// Provenance tag of the address.
    tag: Tag,
}

impl LaneAccess<'_> {
    fn thread(&self) -> (u32, u32) {
        let wavefront = self.reach.wavefront;
        (wavefront.group, wavefront.index * 32 + self.lane as u32)
    }

    fn reads(&self) -> bool {
        self.reach.touch != AccessKind::Store
    }

    fn writes(&self) -> bool {
        self.reach.touch != AccessKind::Load
    }

    /// Returns the bytes in memory, or `None` if the range is not fully mapped.
    fn old(&self) -> Option<[u8; WIDEST]> {
        let mut old = [0; WIDEST];
        let size = self.bytes as usize;
        let memory = match self.region {
            Region::Shared => &self.reach.shared.bytes[..],
            Region::Local => {
                let end = u64::from(self.reach.wavefront.private.bytes);
                let inside = self.address.checked_add(size as u64)? <= end;
                return inside.then_some(old);
            }
            _ => self.reach.memory.data(),
        };
        let base = if self.region == Region::Shared {
            0
        } else {
            DEVICE_BASE
        };
        let start = usize::try_from(self.address.checked_sub(base)?).ok()?;
        let bytes = memory.get(start..start.checked_add(size)?)?;
        old[..size].copy_from_slice(bytes);
        Some(old)
    }

    /// Returns the bytes after a store or atomic.
    fn bytes_after(&self, old: &[u8; WIDEST]) -> [u8; WIDEST] {
        let mut new = *old;
        let reach = self.reach;
        let registers = &reach.wavefront.registers;
        match reach.touch {
            AccessKind::Load => {}
            AccessKind::Store => {
                let access = &reach.kernel.tables.accesses[reach.number as usize];
                let width = access.bytes as usize;
                for (at, &source) in access.sources[..access.count].iter().enumerate() {
                    let constants = reach.constants;
                    let value = registers.get(constants, source, access.wide, self.lane);
                    write_bytes(&mut new[at * width..(at + 1) * width], value);
                }
            }
            AccessKind::Atomic => {
                let atomic = &reach.kernel.tables.atomics[reach.number as usize];
                let width = atomic.bytes as usize;
                if let Ok(old) = <[u8; 16]>::try_from(&old[..width]) {
                    let old = u128::from_le_bytes(old);
                    let value = swapped(registers, reach.constants, atomic, self.lane, old);
                    new[..width].copy_from_slice(&value.to_le_bytes());
                    return new;
                }
                let (b, c) = operands(registers, reach.constants, atomic, self.lane);
                let kind = atomic.kind.in_region(self.region);
                let value = apply(kind, width == 8, read_bytes(&old[..width]), b, c);
                write_bytes(&mut new[..width], value);
            }
        }
        new
    }
}

impl ProgramChecker {
    /// Checks an access before it executes.
    pub(super) fn access(&mut self, reach: &PendingAccess<'_>) {
        let site = &reach.kernel.sites[reach.pc as usize];
        let number = reach.number as usize;
        let bytes = match reach.touch {
            AccessKind::Atomic => reach.kernel.tables.atomics[number].bytes,
            AccessKind::Load | AccessKind::Store => {
                let access = &reach.kernel.tables.accesses[number];
                access.bytes * access.count as u32
            }
        };
        if site.order.releases {
            let (group, index) = (reach.wavefront.group, reach.wavefront.index);
            self.launch.clocks.fence(group, index, site.order.strength);
        }
        let from = self.tags(reach.kernel, reach.wavefront, site.address);
        for Part { region, mask } in reach.parts {
            let region = match region {
                Region::Const | Region::Generic => Region::Global,
                other => *other,
            };
            for lane in lanes(*mask) {
                let touched = LaneAccess {
                    reach,
                    region,
                    lane,
                    address: reach.addresses[lane],
                    bytes,
                    tag: from[lane],
                };
                if region == Region::Param {
                    self.argument(&touched);
                    continue;
                }
                self.provenance(&touched);
                let is_aligned = touched.address.is_multiple_of(u64::from(bytes));
                if let Some(old) = touched.old().filter(|_| is_aligned) {
                    let was_known = self.contents(&touched);
                    self.pointers(&touched, &old);
                    if region != Region::Local {
                        self.races(&touched, &old, was_known);
                    }
                }
            }
        }
    }

    /// Sets the provenance tag of a register loaded from a kernel argument.
    fn argument(&mut self, touched: &LaneAccess<'_>) {
        let reach = touched.reach;
        let Some(&Some(result)) = reach.kernel.sites[reach.pc as usize].results.first() else {
            return;
        };
        let word = (touched.address / 4) as usize;
        let tag = self.launch.arguments.get(word).copied().unwrap_or_default();
        let registers = self.registers(reach.wavefront);
        registers.pointers.set(result, touched.lane, tag);
    }

    /// Checks that the access stays inside the allocation of its pointer.
    fn provenance(&mut self, touched: &LaneAccess<'_>) {
        let (address, bytes) = (touched.address, touched.bytes);
        let object = self.objects.get(touched.tag);
        if object.is_some_and(|o| o.region == touched.region && o.holds(address, bytes.into())) {
            return;
        }
        let verdict = match object {
            Some(_) => Verdict::Error,
            None => Verdict::Undecided,
        };
        let buffer = object.map(|object| (object.name.clone(), object.start));
        let detail = match object {
            Some(object) if object.region != touched.region => format!(
                "the pointer refers to `{}` in {} memory, but the access is to {} memory",
                object.name,
                memory_name(object.region),
                memory_name(touched.region)
            ),
            Some(object) => {
                let end = object.start + object.bytes;
                let place = if address < object.start {
                    format!("{} bytes before its start", object.start - address)
                } else {
                    format!(
                        "at byte {} of {}",
                        address - object.start,
                        end - object.start
                    )
                };
                format!(
                    "an access of {bytes} bytes is outside `{}`, to which the pointer refers: {place}",
                    object.name
                )
            }
            None if touched.tag == Tag::LOST => {
                "the address was computed from pointers in a way that hides which object it refers to"
                .to_owned()
            }
            None => "the address was computed from a number, not from a pointer".to_owned(),
        };
        let kind = FindingKind::OutsideAllocation;
        let case = self.case(kind, verdict, touched, buffer);
        self.report(touched.reach.kernel, case, || detail);
    }

    fn case(
        &self,
        kind: FindingKind,
        verdict: Verdict,
        touched: &LaneAccess<'_>,
        buffer: Option<(String, u64)>,
    ) -> Case {
        Case {
            address: Some(touched.address),
            near: Some(self.nearest(touched)),
            buffer,
            ..Case::new(kind, verdict, touched.reach.pc, touched.thread())
        }
    }

    /// Describes the nearest buffer or variable, for a finding.
    fn nearest(&self, touched: &LaneAccess<'_>) -> String {
        let address = touched.address;
        match (touched.region, self.objects.get(touched.tag)) {
            (Region::Global, _) => touched.reach.memory.nearest(address),
            (region, Some(object)) if object.region == region && address >= object.start => {
                format!("`{}`, byte {}", object.name, address - object.start)
            }
            (Region::Shared, _) => {
                let before = touched.reach.kernel.shared.iter();
                let before = before.filter(|range| u64::from(range.start) <= address);
                match before.max_by_key(|range| range.start) {
                    Some(range) => {
                        format!(
                            "`{}`, byte {}",
                            range.name,
                            address - u64::from(range.start)
                        )
                    }
                    None => "local memory outside all variables".to_owned(),
                }
            }
            _ => "private memory".to_owned(),
        }
    }

    /// Returns the name and start of the buffer or variable at an address.
    fn buffer(&self, touched: &LaneAccess<'_>) -> Option<(String, u64)> {
        let address = touched.address;
        match touched.region {
            Region::Global => {
                let allocation = touched.reach.memory.containing(address)?;
                Some((allocation.name.clone(), allocation.base))
            }
            Region::Shared => {
                let before = touched.reach.kernel.shared.iter();
                let before = before.filter(|range| u64::from(range.start) <= address);
                let range = before.max_by_key(|range| range.start)?;
                Some((range.name.clone(), range.start.into()))
            }
            _ => {
                let object = self.objects.get(touched.tag)?;
                Some((object.name.clone(), object.start))
            }
        }
    }

    /// Follows unset bytes into registers or memory; true if all bytes were written before.
    fn contents(&mut self, touched: &LaneAccess<'_>) -> bool {
        let (address, bytes) = (touched.address, u64::from(touched.bytes));
        let wavefront = touched.reach.wavefront;
        let place = (wavefront.group, wavefront.index);
        let launch = &mut self.launch;
        let (missing, left) = match touched.region {
            Region::Local => {
                let wave = launch.waves.get(&place).expect("the wavefront has started");
                wave.private.missing(touched.lane, address, touched.bytes)
            }
            Region::Shared => {
                let group = launch.groups.entry(wavefront.group).or_default();
                group.memory.missing(address, touched.bytes)
            }
            _ => self.device.missing(address - DEVICE_BASE, touched.bytes),
        };
        if missing != 0 && touched.reads() {
            let cause = left.unwrap_or_else(|| self.read_unwritten(touched, missing));
            match touched.reach.touch {
                AccessKind::Atomic => self.matters(touched.reach.kernel, place.0, cause),
                _ => self.loaded_unset(touched, missing, cause),
            }
        }
        if !touched.writes() {
            return missing == 0;
        }
        let (unset, cause) = match touched.reach.touch {
            AccessKind::Store => self.stored_unset(touched),
            _ => (0, None),
        };
        let launch = &mut self.launch;
        match touched.region {
            Region::Local => {
                if let Some(wave) = launch.waves.get_mut(&place) {
                    let private = &mut wave.private;
                    private.define(touched.lane, address, touched.bytes);
                    private.leave(touched.lane, address, unset, cause);
                }
            }
            Region::Shared => {
                let memory = &mut launch.groups.entry(wavefront.group).or_default().memory;
                memory.define(address, bytes);
                memory.leave(address, unset, cause);
            }
            _ => {
                self.device.define(address - DEVICE_BASE, bytes);
                self.device.leave(address - DEVICE_BASE, unset, None);
            }
        }
        missing == 0
    }

    /// Returns the cause of bytes that this access reads and nothing wrote.
    fn read_unwritten(&mut self, touched: &LaneAccess<'_>, missing: u32) -> Cause {
        let (thread, pc) = (touched.thread(), touched.reach.pc);
        self.missing_bytes(thread, pc, touched.address, |checker| MissingBytes {
            region: touched.region,
            address: touched.address,
            bytes: touched.bytes,
            missing: missing.count_ones(),
            near: checker.nearest(touched),
            buffer: checker.buffer(touched),
        })
    }

    /// Marks the bits of the loaded registers that come from unset bytes.
    fn loaded_unset(&mut self, touched: &LaneAccess<'_>, missing: u32, cause: Cause) {
        let reach = touched.reach;
        let results = &reach.kernel.sites[reach.pc as usize].results;
        let width = touched.bytes / results.len().max(1) as u32;
        let registers = self.registers(reach.wavefront);
        for (at, result) in results.iter().enumerate() {
            let of_element = missing >> (width * at as u32) & bytes_below(width);
            if let (Some(result), true) = (*result, of_element != 0) {
                let unset = Unset {
                    bits: bits_of(of_element),
                    cause: Some(cause),
                    is_computed: false,
                };
                registers.set_unset(result, touched.lane, Some(unset));
            }
        }
    }

    /// Returns the unset bytes that a store leaves in memory, and their cause. In global memory an
    /// unset value is a finding, unless it is padding that is copied.
    fn stored_unset(&mut self, touched: &LaneAccess<'_>) -> (u32, Option<Cause>) {
        let reach = touched.reach;
        let sources = &reach.kernel.sites[reach.pc as usize].sources;
        let width = touched.bytes / sources.len().max(1) as u32;
        let (mut missing, mut cause, mut is_computed) = (0, None, false);
        for (at, source) in sources.iter().enumerate() {
            let Origin::Register(register) = *source else {
                continue;
            };
            let registers = self.registers(reach.wavefront);
            let Some(unset) = registers.unset(register, touched.lane) else {
                continue;
            };
            let of_element = lanes(bytes_below(width))
                .filter(|byte| {
                    let byte = (unset.bits >> (8 * byte)) as u8;
                    byte == u8::MAX || unset.is_computed && byte != 0
                })
                .fold(0, |bytes, byte| bytes | 1 << byte);
            if of_element == 0 {
                continue;
            }
            let lane = touched.lane;
            let first = self.cause(reach.wavefront, reach.pc, register, lane, unset);
            cause = cause.or(Some(first));
            missing |= of_element << (width * at as u32);
            is_computed |= unset.is_computed;
        }
        let Some(first) = cause.filter(|_| touched.region == Region::Global) else {
            return (missing, cause);
        };
        let is_whole = missing == bytes_below(touched.bytes);
        let group = reach.wavefront.group;
        let is_copied_byte = width <= 2
            && matches!(
                self.source(group, first),
                Some(Source::Memory(missing)) if missing.region != Region::Global
            );
        if !is_computed && (!is_whole || is_copied_byte) {
            return (missing, None);
        }
        self.matters(reach.kernel, group, first);
        (0, None)
    }

    /// Propagates provenance tags of values into memory and out of it.
    fn pointers(&mut self, touched: &LaneAccess<'_>, old: &[u8; WIDEST]) {
        let reach = touched.reach;
        let site = &reach.kernel.sites[reach.pc as usize];
        let elements = match reach.touch {
            AccessKind::Load => site.results.len(),
            _ => site.sources.len(),
        };
        let count = match reach.touch {
            AccessKind::Atomic => 1,
            _ => elements.max(1),
        };
        let width = touched.bytes / count as u32;
        for element in 0..count {
            let at = touched.address + u64::from(width) * element as u64;
            let before = self.pointer_at(touched, at, width);
            if let (true, Some(&Some(result))) = (touched.reads(), site.results.get(element)) {
                let registers = self.registers(reach.wavefront);
                registers.pointers.set(result, touched.lane, before);
            }
            if !touched.writes() {
                continue;
            }
            let given = site.sources.get(element).copied().unwrap_or(Origin::Number);
            let given = self.tags(reach.kernel, reach.wavefront, given)[touched.lane];
            let after = match reach.touch {
                AccessKind::Atomic => {
                    let atomic = &reach.kernel.tables.atomics[reach.number as usize];
                    match atomic.kind {
                        AtomicKind::Exchange => given,
                        AtomicKind::CompareSwap if touched.bytes_after(old) == *old => before,
                        AtomicKind::CompareSwap => {
                            let swapped = site.sources.get(1).copied().unwrap_or(Origin::Number);
                            self.tags(reach.kernel, reach.wavefront, swapped)[touched.lane]
                        }
                        AtomicKind::Add => combine(Rule::Add, &[before, given]),
                        _ => combine(Rule::Either, &[before, given]),
                    }
                }
                _ => given,
            };
            self.set_pointer_at(touched, at, width, after);
        }
    }

    fn pointer_at(&mut self, touched: &LaneAccess<'_>, at: u64, bytes: u32) -> Tag {
        let wavefront = touched.reach.wavefront;
        let launch = &self.launch;
        match touched.region {
            Region::Local => {
                let wave = &launch.waves[&(wavefront.group, wavefront.index)];
                wave.private.pointers.one((at / 4) as u32, touched.lane)
            }
            Region::Shared => {
                let group = launch.groups.get(&wavefront.group);
                group.map_or(Tag::NONE, |g| g.memory.pointer(at, bytes.into()))
            }
            _ => self.device.pointer(at - DEVICE_BASE, bytes.into()),
        }
    }

    fn set_pointer_at(&mut self, touched: &LaneAccess<'_>, at: u64, bytes: u32, tag: Tag) {
        let wavefront = touched.reach.wavefront;
        let launch = &mut self.launch;
        match touched.region {
            Region::Local => {
                if let Some(wave) = launch.waves.get_mut(&(wavefront.group, wavefront.index)) {
                    for word in at / 4..(at + u64::from(bytes)).div_ceil(4) {
                        wave.private.pointers.set(word as u32, touched.lane, tag);
                    }
                }
            }
            Region::Shared => {
                let memory = &mut launch.groups.entry(wavefront.group).or_default().memory;
                memory.set_pointer(at, bytes.into(), tag);
            }
            _ => self.device.set_pointer(at - DEVICE_BASE, bytes.into(), tag),
        }
    }

    /// Checks each word of the access for races with other accesses.
    fn races(&mut self, touched: &LaneAccess<'_>, old: &[u8; WIDEST], was_known: bool) {
        let reach = touched.reach;
        let (group, thread) = touched.thread();
        let index = reach.wavefront.index;
        let order = reach.kernel.sites[reach.pc as usize].order;
        let (scopes, owner) = match touched.region {
            Region::Shared => (&[RaceScope::Threads][..], group + 1),
            _ => (&[RaceScope::Threads, RaceScope::Groups][..], 0),
        };
        let new = touched.bytes_after(old);
        let strong = order.strength > SyncScope::Weak;
        let mut worst = [None; 2];
        let first = touched.address % 4;
        for word in touched.address / 4..(touched.address + u64::from(touched.bytes)).div_ceil(4) {
            let clocks = &mut self.launch.clocks;
            if strong && touched.reads() {
                clocks.strong_read(group, index, (owner, word));
            }
            let (mut bytes, mut value, mut is_silent) = (0, 0_u32, was_known);
            for byte in 0..4 {
                let at = (word * 4 + byte).wrapping_sub(touched.address);
                let Some(after) = new[..touched.bytes as usize].get(at as usize) else {
                    continue;
                };
                bytes |= 1 << byte;
                value |= u32::from(*after) << (8 * byte);
                is_silent &= *after == old[at as usize];
            }
            debug_assert!(first == 0 || touched.bytes < 4, "accesses are aligned");
            let entry = Entry {
                who: clocks.stamp(group, thread),
                pc: reach.pc,
                writes: touched.writes(),
                strength: order.strength,
                bytes,
                value,
                is_silent,
            };
            for (scope, worst) in scopes.iter().zip(&mut worst) {
                if let Some(clash) = self.launch.note(touched.region, *scope, word, entry)
                    && worst.is_none_or(|found: AccessConflict| found.same_value)
                {
                    *worst = Some(clash);
                }
            }
            if strong && touched.writes() {
                let clocks = &mut self.launch.clocks;
                clocks.strong_write(group, index, (owner, word));
            }
        }
        for (scope, clash) in scopes.iter().zip(worst) {
            if let Some(clash) = clash {
                self.race(touched, *scope, &clash);
            }
        }
    }

    fn race(&mut self, touched: &LaneAccess<'_>, scope: RaceScope, clash: &AccessConflict) {
        let kind = match touched.region {
            Region::Shared => FindingKind::LocalRace,
            _ => FindingKind::GlobalRace,
        };
        let verdict = if clash.same_value {
            Verdict::Note
        } else {
            Verdict::Error
        };
        let who = clash.other.who;
        let case = Case {
            other: Some((clash.other.pc, who.group, who.thread)),
            ..self.case(kind, verdict, touched, self.buffer(touched))
        };
        self.report(touched.reach.kernel, case, || {
            let does = |writes| if writes { "write" } else { "read" };
            let (here, there) = (does(touched.writes()), does(clash.other.writes));
            let who = match scope {
                RaceScope::Threads => "another thread of the work-group",
                RaceScope::Groups => "another work-group",
            };
            let value = if clash.same_value {
                "; both orders give the same value"
            } else {
                ""
            };
            format!("this {here} is not ordered after the {there} by {who}{value}")
        });
    }
}

/// Returns the set of the first bytes of an access.
fn bytes_below(count: u32) -> u32 {
    u32::MAX.checked_shr(32 - count).unwrap_or(0)
}

/// Returns the bits of a set of bytes.
fn bits_of(bytes: u32) -> u128 {
    lanes(bytes & 0xffff).fold(0, |bits, byte| bits | 0xff << (8 * byte))
}

fn memory_name(region: Region) -> &'static str {
    match region {
        Region::Shared => "local",
        Region::Local => "private",
        _ => "global",
    }
}
