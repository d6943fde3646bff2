//! Text output of traces: an overview, and the records of one work-group.

use std::fmt::{self, Write};

use crate::{Class, HostCommand, KernelTrace, Lanes, Place, PlacedBy, Program, Shape, Space};

impl Program {
    /// Writes an overview: front end, allocations, commands, one line and an instruction mix per
    /// kernel.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write_summary(&self, out: &mut impl Write) -> fmt::Result {
        let front_end = &self.front_end;
        writeln!(out, "program {}", self.name)?;
        writeln!(out, "content hash {}", self.hash())?;
        writeln!(
            out,
            "front end {} {}: {} resident work-groups, quantum {}, order {:?}, seed {}",
            front_end.name,
            front_end.version,
            front_end.resident_work_groups,
            front_end.quantum,
            front_end.order,
            front_end.seed
        )?;
        for allocation in &self.allocations {
            let end = allocation.base.wrapping_add(allocation.bytes);
            writeln!(
                out,
                "allocation {} {:#x}..{end:#x}",
                allocation.name, allocation.base
            )?;
        }
        for command in &self.commands {
            self.write_command(command, out)?;
        }
        let graph = self.launch_graph();
        if !graph.is_empty() {
            let widths = graph.widths();
            writeln!(
                out,
                "device launches: {} kernels, depth {}, at most {} per depth",
                widths.iter().skip(1).sum::<u32>(),
                widths.len() - 1,
                widths.iter().skip(1).max().unwrap_or(&0)
            )?;
        }
        for (number, kernel) in self.kernels.iter().enumerate() {
            writeln!(out, "kernel {number}: {}", kernel.code.name)?;
            kernel.write_summary(out)?;
        }
        Ok(())
    }

    fn write_command(&self, command: &HostCommand, out: &mut impl Write) -> fmt::Result {
        let name = |allocation: u32| {
            self.allocations
                .get(allocation as usize)
                .map_or("?", |found| found.name.as_str())
        };
        match *command {
            HostCommand::CopyToDevice {
                allocation,
                offset,
                bytes,
            } => {
                writeln!(
                    out,
                    "copy {bytes} bytes to {} at offset {offset}",
                    name(allocation)
                )
            }
            HostCommand::CopyToHost {
                allocation,
                offset,
                bytes,
            } => {
                writeln!(
                    out,
                    "copy {bytes} bytes from {} at offset {offset}",
                    name(allocation)
                )
            }
            HostCommand::Launch { kernel, stream } => {
                writeln!(out, "launch kernel {kernel} in stream {stream}")
            }
            HostCommand::Synchronize => writeln!(out, "synchronize"),
        }
    }
}

impl KernelTrace {
    /// Writes the geometry, resources, counts and mix of instruction classes.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write_summary(&self, out: &mut impl Write) -> fmt::Result {
        let counts = self.counts();
        writeln!(
            out,
            "  {} work-groups {:?} of {} threads {:?}, {} wavefronts each",
            self.work_groups(),
            self.grid,
            self.threads_per_work_group(),
            self.block,
            self.wavefronts_per_work_group()
        )?;
        writeln!(
            out,
            "  {} registers per thread, {} bytes of local memory, {} bytes of arguments",
            self.registers_per_thread(),
            self.local_bytes(),
            self.arguments.len()
        )?;
        if let Some(Place {
            units,
            contexts,
            by,
        }) = self.place()
        {
            let by = match by {
                PlacedBy::Slot => "slot",
                PlacedBy::Arrival => "arrival",
            };
            writeln!(
                out,
                "  asks where it runs: placed on {units} units by {by}, {contexts} work-groups each"
            )?;
        }
        writeln!(
            out,
            "  {} wavefront instructions, {} thread instructions, {} bytes of streams",
            counts.instructions,
            counts.thread_instructions,
            self.stream_bytes()
        )?;
        for (class, instructions) in Class::ALL.iter().zip(self.class_counts()) {
            if instructions > 0 {
                writeln!(out, "    {:10} {instructions}", class.name())?;
            }
        }
        Ok(())
    }

    /// Returns the wavefront instruction counts, indexed by [`Class::index`].
    pub fn class_counts(&self) -> [u64; Class::COUNT] {
        let mut counts = [0; Class::COUNT];
        let mut lanes = Lanes::default();
        for work_group in 0..self.work_groups() {
            for wavefront in 0..self.wavefronts_per_work_group() {
                let mut cursor = self.cursor(work_group, wavefront);
                while let Some(record) = cursor.next(self, &mut lanes) {
                    let class = self.code.instructions[record.pc as usize].class;
                    counts[class.index()] += u64::from(!record.continues);
                }
            }
        }
        counts
    }

    /// Writes the records of a work-group, or of one of its wavefronts, one line each.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    ///
    /// # Panics
    /// Panics if the launch has no such work-group or wavefront.
    pub fn write_dump(
        &self,
        work_group: u32,
        wavefront: Option<u32>,
        out: &mut impl Write,
    ) -> fmt::Result {
        let wavefronts = wavefront.map_or(0..self.wavefronts_per_work_group(), |one| {
            one..one.saturating_add(1)
        });
        for wavefront in wavefronts {
            writeln!(
                out,
                "{}: work-group {work_group}, wavefront {wavefront}",
                self.code.name
            )?;
            let (mut cursor, mut lanes) = (self.cursor(work_group, wavefront), Lanes::default());
            while let Some(record) = cursor.next(self, &mut lanes) {
                let opcode = &self.code.instructions[record.pc as usize].opcode;
                write!(out, "  {:5} {:08x} {opcode}", record.pc, record.mask)?;
                if record.space != Space::None {
                    write!(out, " {}", record.space.name())?;
                }
                match lanes.shape {
                    Shape::None => {}
                    Shape::Uniform(address) => write!(out, " {address:#x}")?,
                    Shape::Stride { base, step } => write!(out, " {base:#x} step {step}")?,
                    Shape::Rows {
                        base,
                        step,
                        pitch,
                        row_bits,
                    } => write!(
                        out,
                        " {base:#x} step {step}, rows of {} lanes {pitch} apart",
                        1 << row_bits
                    )?,
                    Shape::List => {
                        for (lane, address) in lanes.iter(record.mask) {
                            write!(out, " {lane}:{address:#x}")?;
                        }
                    }
                }
                writeln!(out, "{}", if record.continues { " ..." } else { "" })?;
            }
        }
        Ok(())
    }
}
