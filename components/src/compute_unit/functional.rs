//! Work-groups of no time: the accesses of their wavefronts. Work-groups take turns, in which each wavefront makes one
//! access.

use std::any::Any;
use std::mem::take;

use warpweave_framework::{Onward, PortName};
use warpweave_trace::{Cursor, Lanes, Space};

use crate::compute_unit::ComputeUnit;
use crate::compute_unit::decoded::Action;
use crate::compute_unit::front::wavefront::touches_memory;
use crate::compute_unit::memory_path::coalescer::{Transaction, coalesce, coalesce_private};
use crate::launch::{CacheCommand, Completion, Dispatch};
use crate::memory::{MemRequest, Source, untimed_stranger};

/// A work-group in the middle of its streams.
struct Playing {
    kernel: u32,
    work_group: u32,
    /// Of the wavefronts that have records left, with their numbers.
    cursors: Vec<(u32, Cursor)>,
}

impl ComputeUnit {
    /// Takes a dispatch of no time, or goes on with the work-group of an earlier one.
    pub(super) fn play(
        &mut self,
        port: PortName<'_>,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), String> {
        if let Some(playing) = message.downcast_mut::<Playing>() {
            let playing = Playing {
                cursors: take(&mut playing.cursors),
                ..*playing
            };
            self.play_on(playing, onward);
            return Ok(());
        }
        let dispatch = message.downcast_ref::<Dispatch>();
        match *dispatch.ok_or_else(|| untimed_stranger(port))? {
            Dispatch::Start {
                kernel, work_group, ..
            } => {
                let trace = self.program.kernels.get(kernel as usize);
                let trace = trace.filter(|trace| work_group < trace.work_groups());
                let trace = trace.ok_or_else(|| {
                    format!("there is no work-group {work_group} of kernel {kernel}")
                })?;
                let wavefronts = 0..trace.wavefronts_per_work_group();
                self.split_at_once(kernel, onward);
                let trace = &self.program.kernels[kernel as usize];
                let cursors = wavefronts.map(|wavefront| {
                    let cursor = trace.cursor(work_group, wavefront);
                    (wavefront, cursor)
                });
                let playing = Playing {
                    kernel,
                    work_group,
                    cursors: cursors.collect(),
                };
                self.play_on(playing, onward);
                Ok(())
            }
            Dispatch::Invalidate { .. } => {
                for port in self.caches_told() {
                    onward.send(port, 0, CacheCommand::Invalidate);
                }
                Ok(())
            }
            Dispatch::ParentEnded { .. } => Ok(()),
        }
    }

    /// Every wavefront comes to its next access, and makes it.
    fn play_on(&self, mut playing: Playing, onward: &mut Onward) {
        let (kernel, work_group) = (playing.kernel, playing.work_group);
        let mut lines = Vec::new();
        playing.cursors.retain_mut(|(wavefront, cursor)| {
            self.next_access((kernel, work_group, *wavefront), cursor, &mut lines, onward)
        });
        if playing.cursors.is_empty() {
            let completed = Completion::WorkGroup {
                kernel,
                work_group,
                slot: 0,
            };
            onward.send("dispatch.completion", 0, completed);
        } else {
            onward.again(playing);
        }
    }

    /// Sends the requests of a wavefront's next access; whether there was one.
    fn next_access(
        &self,
        (kernel, work_group, wavefront): (u32, u32, u32),
        cursor: &mut Cursor,
        lines: &mut Vec<Transaction>,
        onward: &mut Onward,
    ) -> bool {
        let trace = &self.program.kernels[kernel as usize];
        let base = self.decoded.bases[kernel as usize];
        let line_bytes = self.spec.load_store.line_bytes;
        let mut lanes = Lanes::default();
        while let Some(record) = cursor.next(trace, &mut lanes) {
            let decoded = &self.decoded.instructions[(base + record.pc) as usize];
            let Action::Memory(kind) = decoded.action else {
                continue;
            };
            if !touches_memory(&record, &lanes) {
                continue;
            }
            let bytes = u32::from(decoded.bytes);
            lines.clear();
            let aside = self
                .read_paths
                .untimed(kernel, decoded, (&record, &lanes), lines);
            match record.space {
                _ if aside.is_some() => {}
                Space::Global => coalesce(&lanes, record.mask, bytes, line_bytes, lines),
                Space::Local => {
                    // As if the wavefront had the slot of its number.
                    let slot = wavefront % self.spec.wavefront_slots;
                    let region = self.spec.private_memory.base + self.spec.private_region(slot);
                    coalesce_private(&lanes, record.mask, bytes, region, line_bytes, lines);
                }
                _ => continue,
            }
            let source = Source {
                kernel,
                work_group,
                pc: record.pc,
                compute_unit: self.spec.index,
                wavefront_slot: (wavefront % self.spec.wavefront_slots) as u8,
                work_group_slot: 0,
            };
            for Transaction { line, words } in lines.drain(..) {
                let request = MemRequest {
                    source,
                    kind,
                    flags: decoded.flags,
                    ..MemRequest::read(0, line, words)
                };
                onward.send(aside.unwrap_or("memory.request"), 0, request);
            }
            return true;
        }
        false
    }
}
