//! Values that were never written: which of their bits, why, and whether something depends on them.
//!
//! Such a value is no finding by itself. It travels with its [`Cause`] through registers, lanes and
//! memory. It becomes a finding where it decides an address, a branch or a result in global memory.
//! The finding then shows the instruction that first used the register or read the memory.

use std::collections::BTreeMap;

use super::finding::{FindingKind, Verdict};
use super::{Case, EVERYBODY, ProgramChecker};
use crate::address_space::DEVICE_BASE;
use crate::exec::registers::lanes;
use crate::exec::wavefront::Wavefront;
use crate::kernel::Kernel;
use crate::ops::Region;

/// Number of an [`Origin`] in its work-group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cause(u32);

/// Unset bits of a register in one lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unset {
    /// Bit set; bits beyond the width of the register mean nothing.
    pub(super) bits: u128,
    /// First use of the value; `None` until then.
    pub(super) cause: Option<Cause>,
    /// True once arithmetic has mixed known and unset bits. Copies, masks and packing do not.
    pub(super) is_computed: bool,
}

impl Unset {
    /// Register to which nothing was written.
    pub(super) const NEVER: Self = Self {
        bits: u128::MAX,
        cause: None,
        is_computed: false,
    };
}

/// Missing value behind an unset one.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Register {
        /// Index of its function in the kernel.
        function: usize,
        register: u32,
    },
    Memory(Box<MissingBytes>),
}

/// Bytes that a load found unset.
#[derive(Clone, Debug)]
pub(super) struct MissingBytes {
    pub(super) region: Region,
    pub(super) address: u64,
    pub(super) bytes: u32,
    /// Number of unset bytes among them.
    pub(super) missing: u32,
    pub(super) near: String,
    pub(super) buffer: Option<(String, u64)>,
}

/// First use of a missing value.
#[derive(Clone, Debug)]
struct Origin {
    pc: u32,
    /// Linear thread index in its work-group.
    thread: u32,
    source: Source,
    is_reported: bool,
}

/// First uses of missing values by the threads of a work-group.
#[derive(Debug, Default)]
pub(super) struct Origins {
    list: Vec<Origin>,
    /// By instruction, thread, and register or address.
    by_place: BTreeMap<(u32, u32, u64), Cause>,
}

impl Origins {
    fn cause(
        &mut self,
        pc: u32,
        thread: u32,
        place: u64,
        source: impl FnOnce() -> Source,
    ) -> Cause {
        *self.by_place.entry((pc, thread, place)).or_insert_with(|| {
            self.list.push(Origin {
                pc,
                thread,
                source: source(),
                is_reported: false,
            });
            Cause(self.list.len() as u32 - 1)
        })
    }
}

impl ProgramChecker {
    /// Returns the cause of an unset value, which this instruction uses first if it has none yet.
    pub(super) fn cause(
        &mut self,
        wavefront: &Wavefront,
        pc: u32,
        register: u32,
        lane: usize,
        unset: Unset,
    ) -> Cause {
        if let Some(cause) = unset.cause {
            return cause;
        }
        let function = wavefront.activations.last().map_or(0, |a| a.function);
        let thread = wavefront.index * 32 + lane as u32;
        let group = self.launch.groups.entry(wavefront.group).or_default();
        let cause = group
            .origins
            .cause(pc, thread, register.into(), || Source::Register {
                function,
                register,
            });
        let used = Unset {
            cause: Some(cause),
            ..unset
        };
        self.registers(wavefront)
            .set_unset(register, lane, Some(used));
        cause
    }

    /// Returns the cause of bytes that are read before they are written.
    pub(super) fn missing_bytes(
        &mut self,
        (group, thread): (u32, u32),
        pc: u32,
        address: u64,
        describe: impl FnOnce(&Self) -> MissingBytes,
    ) -> Cause {
        let known = self.launch.groups.get(&group);
        let known = known.and_then(|group| group.origins.by_place.get(&(pc, thread, address)));
        if let Some(&cause) = known {
            return cause;
        }
        let bytes = Box::new(describe(self));
        let group = self.launch.groups.entry(group).or_default();
        let origins = &mut group.origins;
        origins.cause(pc, thread, address, || Source::Memory(bytes))
    }

    /// Returns what is missing behind a cause.
    pub(super) fn source(&self, group: u32, cause: Cause) -> Option<&Source> {
        let group = self.launch.groups.get(&group)?;
        Some(&group.origins.list.get(cause.0 as usize)?.source)
    }

    /// Checks the use of a register in the lanes of a mask; `bits` are those that matter.
    pub(super) fn used(
        &mut self,
        kernel: &Kernel,
        wavefront: &Wavefront,
        (pc, mask): (u32, u32),
        register: u32,
        bits: u128,
    ) {
        let registers = self.registers(wavefront);
        for lane in lanes(mask & !registers.defined[register as usize]) {
            let Some(unset) = self.registers(wavefront).unset(register, lane) else {
                continue;
            };
            if unset.bits & bits != 0 {
                let cause = self.cause(wavefront, pc, register, lane, unset);
                self.matters(kernel, wavefront.group, cause);
                // Reported once; what is made of it counts as written.
                self.registers(wavefront).set_unset(register, lane, None);
            }
        }
    }

    /// Reports that something depends on a missing value, once for each.
    pub(super) fn matters(&mut self, kernel: &Kernel, group: u32, cause: Cause) {
        let groups = &mut self.launch.groups;
        let origin = groups
            .get_mut(&group)
            .and_then(|group| group.origins.list.get_mut(cause.0 as usize));
        let Some(origin) = origin.filter(|origin| !origin.is_reported) else {
            return;
        };
        origin.is_reported = true;
        let Origin {
            pc, thread, source, ..
        } = origin.clone();
        let at = (group, thread);
        match source {
            Source::Register { function, register } => {
                let kind = FindingKind::UninitialisedRegister;
                let case = Case::new(kind, Verdict::Error, pc, at);
                self.report(kernel, case, || {
                    let name = kernel.functions[function].register_name(register);
                    format!("register `{name}` is used before it is written")
                });
            }
            Source::Memory(missing) => self.missed(kernel, pc, at, *missing),
        }
    }

    fn missed(&mut self, kernel: &Kernel, pc: u32, at: (u32, u32), missing: MissingBytes) {
        let (group, thread) = at;
        let MissingBytes {
            region,
            address,
            bytes,
            ..
        } = missing;
        let (owner, memory) = match region {
            Region::Local => ((1, group, thread), "private"),
            Region::Shared => ((2, group, 0), "local"),
            _ => (EVERYBODY, "global"),
        };
        // Only the first reader is reported.
        if !self.launch.missed.insert((owner, address, bytes)) {
            return;
        }
        let launch = &mut self.launch;
        match region {
            Region::Local => {
                if let Some(wave) = launch.waves.get_mut(&(group, thread / 32)) {
                    let lane = thread as usize % 32;
                    wave.private.define(lane, address, bytes);
                }
            }
            Region::Shared => {
                let memory = &mut launch.groups.entry(group).or_default().memory;
                memory.define(address, bytes.into());
            }
            _ => self.device.define(address - DEVICE_BASE, bytes.into()),
        }
        let kind = FindingKind::UninitialisedMemory;
        let case = Case {
            address: Some(address),
            near: Some(missing.near),
            buffer: missing.buffer,
            ..Case::new(kind, Verdict::Error, pc, at)
        };
        self.report(kernel, case, || {
            let part = match missing.missing {
                all if all == bytes => String::new(),
                some => format!("{some} of "),
            };
            format!("{part}{bytes} bytes of {memory} memory are read before they are written")
        });
    }
}
