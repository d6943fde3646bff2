//! Functional execution: the memory accesses of work-groups, in no simulated time.
//!
//! Work-groups take turns, in which each wavefront makes one access.

use std::any::Any;
use std::mem::take;

use warpweave_framework::{Onward, PortId};
use warpweave_trace::{Cursor, Lanes, Record, Space};

use super::config::UnitConfig;
use super::decoded::MemoryAccess;
use super::front::wavefront::{Placement, touches_memory};
use super::memory_path::coalescer::{Coalescing, Transaction};
use super::memory_path::readonly_ports::{Load, ReadonlyPorts};
use crate::compute_unit::port_ids;
use crate::launch::Completion;
use crate::memory::MemRequest;

/// A work-group partway through its functional execution.
pub(super) struct FunctionalWorkGroup {
    kernel: u32,
    work_group: u32,
    /// Wavefronts with remaining records, by number, and their trace cursors.
    cursors: Vec<(u32, Cursor)>,
}

impl FunctionalWorkGroup {
    /// A work-group at the start of its streams.
    ///
    /// # Errors
    /// There is none of these numbers.
    pub(super) fn new(kernel: u32, work_group: u32, config: &UnitConfig) -> Result<Self, String> {
        let trace = config.program.kernels.get(kernel as usize);
        let trace = trace.filter(|trace| work_group < trace.work_groups());
        let trace =
            trace.ok_or_else(|| format!("kernel {kernel} has no work-group {work_group}"))?;
        let wavefronts = 0..trace.wavefronts_per_work_group();
        let cursors = wavefronts.map(|number| (number, trace.cursor(work_group, number)));
        Ok(Self {
            kernel,
            work_group,
            cursors: cursors.collect(),
        })
    }

    /// The rest of a work-group that comes as a message, if it is one.
    pub(super) fn of_message(message: &mut dyn Any) -> Option<Self> {
        let rest = message.downcast_mut::<Self>()?;
        Some(Self {
            cursors: take(&mut rest.cursors),
            ..*rest
        })
    }

    /// Advances every wavefront to its next access and performs it.
    pub(super) fn advance(
        mut self,
        config: &UnitConfig,
        readonly: &ReadonlyPorts,
        onward: &mut Onward,
    ) {
        let (kernel, work_group) = (self.kernel, self.work_group);
        let mut lines = Vec::new();
        self.cursors.retain_mut(|(number, cursor)| {
            let wavefront = FunctionalWavefront {
                // As if it had the slot of its number.
                slot: *number % config.spec.wavefront_slots,
                place: Placement {
                    kernel,
                    work_group,
                    group_slot: 0,
                    number: *number as u8,
                },
                config,
                readonly,
            };
            wavefront.next_access(cursor, &mut lines, onward)
        });
        if self.cursors.is_empty() {
            let completed = Completion::WorkGroup {
                kernel,
                work_group,
                slot: 0,
            };
            onward.send(port_ids::COMPLETION, completed);
        } else {
            onward.again(self);
        }
    }
}

/// A wavefront that makes one access.
struct FunctionalWavefront<'a> {
    place: Placement,
    slot: u32,
    config: &'a UnitConfig,
    readonly: &'a ReadonlyPorts,
}

impl FunctionalWavefront<'_> {
    /// Sends the requests of the next access; whether there was one. `lines` is room for them.
    fn next_access(
        &self,
        cursor: &mut Cursor,
        lines: &mut Vec<Transaction>,
        onward: &mut Onward,
    ) -> bool {
        let UnitConfig {
            spec,
            program,
            decoded,
        } = self.config;
        let kernel = self.place.kernel as usize;
        let mut lanes = Lanes::default();
        while let Some(record) = cursor.next(&program.kernels[kernel], &mut lanes) {
            let index = decoded.bases[kernel] + record.pc;
            let Some(access) = decoded.instructions[index as usize].access else {
                continue;
            };
            if !touches_memory(&record, &lanes) {
                continue;
            }
            lines.clear();
            let Some(port) = self.transactions(access, &record, &lanes, lines) else {
                continue;
            };
            let source = self.place.source(spec.index, self.slot as usize, record.pc);
            for Transaction { line, words } in lines.drain(..) {
                let request = MemRequest {
                    source,
                    kind: access.kind,
                    flags: access.flags,
                    ..MemRequest::read(0, line, words)
                };
                onward.send(port, request);
            }
            return true;
        }
        false
    }

    /// Lists the transactions of an access that leaves the unit; the port by which they do.
    fn transactions(
        &self,
        access: MemoryAccess,
        record: &Record,
        lanes: &Lanes,
        out: &mut Vec<Transaction>,
    ) -> Option<PortId> {
        let spec = &self.config.spec;
        let bytes = u32::from(access.bytes);
        let load = Load {
            kernel: self.place.kernel,
            record,
            lanes,
            bytes,
        };
        if let Some(port) = self.readonly.functional_requests(access, load, out) {
            return Some(port);
        }
        let coalescing = match record.space {
            Space::Global => Coalescing::Lines,
            Space::Local => Coalescing::Private {
                region: spec.private_memory.base + spec.private_region(self.slot),
            },
            _ => return None,
        };
        coalescing.transactions(lanes, record.mask, bytes, spec.load_store.line_bytes, out);
        Some(port_ids::MEMORY)
    }
}
