//! Text form of the trace of one kernel.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use warpweave_files::Ledger;
use warpweave_params::Diagnostic;
use warpweave_trace::{Instruction, KernelTrace, LANES, Lanes, RegisterSet, Space};

use super::losses::Losses;
use super::opcode::{Spaces, Written, version, written};
use crate::AccelSimError;
use crate::header::{BLOCK_THREADS_MAX, LOCAL_BYTES_MAX, REGISTERS_MAX as PER_THREAD_MAX};
use crate::instruction::{REGISTERS_MAX, ZERO};
use crate::kernel::PRIVATE_ALIGNMENT;
use crate::opcodes::AccessSpace;
use crate::space::PRIVATE_WINDOW_BYTES;

/// Base address of the local memory window, unless global addresses reach it.
const SHARED_WINDOW: u64 = 0x7f20_0000_0000;

/// Execution count and address spaces observed for an instruction.
#[derive(Clone, Debug, Default)]
struct ObservedInstruction {
    times: u64,
    spaces: Spaces,
}

/// Output form of one instruction.
struct Line {
    pc: usize,
    /// Constant part of the line: opcode and all fields from the destinations to the width.
    constant: String,
    written: Written,
    bytes: u64,
    source_line: Option<u32>,
}

/// A surveyed kernel, ready to be written as text.
struct Text<'k> {
    kernel: &'k KernelTrace,
    lines: BTreeMap<u32, Line>,
    /// Base that is subtracted from private offsets when they are written.
    private_base: u64,
    /// Base addresses of the local and private memory windows; 0 if no access needs them.
    windows: (u64, u64),
}

/// Returns the trace text of a launch with the given number and stream.
pub(super) fn text(
    kernel: &KernelTrace,
    (number, stream): (usize, u32),
    losses: &mut Losses,
    ledger: &Ledger,
) -> Result<String, AccelSimError> {
    let (seen, range) = survey(kernel);
    let instructions = &kernel.code.instructions;
    let executed = seen
        .iter()
        .map(|(pc, seen)| (&instructions[*pc as usize], seen.spaces));
    let (binary, architecture) = version(executed);
    let names = Names::of(seen.keys().map(|pc| &instructions[*pc as usize]));
    let with_lines = seen.keys().any(|pc| instructions[*pc as usize].line != 0);
    let mut lines = BTreeMap::new();
    for (position, (pc, seen)) in seen.iter().enumerate() {
        let instruction = &instructions[*pc as usize];
        let written = written(architecture, instruction, seen.spaces, seen.times, losses);
        let bytes = width(instruction, &written, seen.times, losses);
        let constant = constant(instruction, &written, bytes, &names, seen.times, losses);
        let parts = [
            instruction.target,
            instruction.reconvergence,
            instruction.loop_head,
        ];
        let has_targets = parts.iter().any(Option::is_some);
        losses.add(
            "branch targets and reconvergence points",
            u64::from(has_targets) * seen.times,
        );
        lines.insert(
            *pc,
            Line {
                pc: 16 * position,
                constant,
                written,
                bytes,
                source_line: with_lines.then_some(instruction.line),
            },
        );
    }
    let generic = lines
        .values()
        .any(|line| line.written.reach == AccessSpace::Generic);
    let mut text = Text {
        kernel,
        lines,
        private_base: range.private - range.private % PRIVATE_ALIGNMENT,
        windows: (0, 0),
    };
    if generic {
        text.windows = windows(range.global_end).ok_or_else(|| {
            let name = &kernel.code.name;
            Diagnostic::error(format!("{name}: global memory leaves no address space for the windows of shared and local memory"))
        })?;
    }
    let mut out = text.header((number, stream), binary, with_lines, losses)?;
    for work_group in 0..kernel.work_groups() {
        let before = out.len();
        text.block(work_group, &mut out, losses);
        let what = format!("the text of `{}`", kernel.code.name);
        let more = (out.len() - before) as u64;
        ledger.charge(&what, more).map_err(Diagnostic::from)?;
    }
    Ok(out)
}

/// Range of private and global addresses that a kernel touches.
struct Range {
    /// Lowest private offset that any access touches.
    private: u64,
    /// Upper bound of the global addresses, one past the last.
    global_end: u64,
}

fn survey(kernel: &KernelTrace) -> (BTreeMap<u32, ObservedInstruction>, Range) {
    let mut seen: BTreeMap<u32, ObservedInstruction> = BTreeMap::new();
    let (mut private, mut global_end) = (u64::MAX, 0);
    for (work_group, wavefront) in wavefronts(kernel) {
        let (mut cursor, mut lanes) = (kernel.cursor(work_group, wavefront), Lanes::default());
        while let Some(record) = cursor.next(kernel, &mut lanes) {
            let seen = seen.entry(record.pc).or_default();
            seen.times += u64::from(!record.continues);
            if record.mask != 0 {
                seen.spaces.insert(record.space);
            }
            for (_, address) in lanes.iter(record.mask) {
                match record.space {
                    Space::Local => private = private.min(address),
                    Space::Global => global_end = global_end.max(address.saturating_add(256)),
                    _ => {}
                }
            }
        }
    }
    let private = if private == u64::MAX { 0 } else { private };
    (
        seen,
        Range {
            private,
            global_end,
        },
    )
}

fn wavefronts(kernel: &KernelTrace) -> impl Iterator<Item = (u32, u32)> {
    let wavefronts = kernel.wavefronts_per_work_group();
    let groups = 0..kernel.work_groups();
    groups.flat_map(move |group| (0..wavefronts).map(move |wavefront| (group, wavefront)))
}

/// Places the local and private windows above the global memory of a kernel.
fn windows(global_end: u64) -> Option<(u64, u64)> {
    let shared = global_end.checked_next_multiple_of(PRIVATE_WINDOW_BYTES)?;
    let shared = shared.max(SHARED_WINDOW);
    let private = shared.checked_add(PRIVATE_WINDOW_BYTES)?;
    private.checked_add(PRIVATE_WINDOW_BYTES)?;
    Some((shared, private))
}

/// Returns the access width of each lane, in bytes.
fn width(instruction: &Instruction, written: &Written, times: u64, losses: &mut Losses) -> u64 {
    if matches!(written.reach, AccessSpace::Nothing | AccessSpace::Other) {
        return 0;
    }
    let bytes = u64::from(instruction.access_bytes);
    let wide = bytes.next_power_of_two().min(32);
    losses.add(
        "accesses with a width that the format cannot express",
        u64::from(bytes != 0 && wide != bytes) * times,
    );
    if bytes == 0 { 0 } else { wide }
}

/// Register names in the trace; predicates are mapped to numbers that no register uses.
struct Names(BTreeMap<u16, u8>);

impl Names {
    fn of<'i>(instructions: impl Iterator<Item = &'i Instruction>) -> Self {
        let mut all = RegisterSet::EMPTY;
        for instruction in instructions {
            all = all.union(&instruction.reads).union(&instruction.writes);
        }
        let plain = |register: &u16| *register < u16::from(ZERO);
        let mut free = (0..ZERO)
            .rev()
            .filter(|name| !all.contains(u16::from(*name)));
        let named = all.iter().filter_map(|register| {
            let name = if plain(&register) {
                Some(register as u8)
            } else {
                free.next()
            };
            name.map(|name| (register, name))
        });
        Self(named.collect())
    }

    /// Writes the number of registers in the set, then their names.
    fn write(&self, set: &RegisterSet, out: &mut String) -> bool {
        let names: Vec<u8> = set.iter().filter_map(|r| self.0.get(&r).copied()).collect();
        let few = &names[..names.len().min(REGISTERS_MAX)];
        write!(out, "{}", few.len()).expect("writing to a string succeeds");
        for name in few {
            write!(out, " R{name}").expect("writing to a string succeeds");
        }
        few.len() == set.len()
    }
}

fn constant(
    instruction: &Instruction,
    written: &Written,
    bytes: u64,
    names: &Names,
    times: u64,
    losses: &mut Losses,
) -> String {
    let mut text = String::new();
    let mut whole = names.write(&instruction.writes, &mut text);
    write!(text, " {} ", written.opcode).expect("writing to a string succeeds");
    whole &= names.write(&instruction.reads, &mut text);
    write!(text, " {bytes}").expect("writing to a string succeeds");
    losses.add(
        "instructions with more registers than the format can name",
        u64::from(!whole) * times,
    );
    let strange = instruction.writes.len() > 1 || instruction.reads.len() > 4;
    let what = "instructions with several destinations or more than four sources, which Accel-Sim's trace reader rejects";
    losses.add(what, u64::from(strange) * times);
    text
}

impl Text<'_> {
    fn header(
        &self,
        (number, stream): (usize, u32),
        binary: u32,
        with_lines: bool,
        losses: &mut Losses,
    ) -> Result<String, Diagnostic> {
        let kernel = self.kernel;
        let name = kernel.code.name.trim();
        let name: String = name
            .chars()
            .map(|c| if c.is_control() { '_' } else { c })
            .collect();
        let name = if name.is_empty() { "kernel" } else { &name };
        let local = kernel.local_bytes();
        let threads = kernel.threads_per_work_group();
        if local > u64::from(LOCAL_BYTES_MAX) || threads > BLOCK_THREADS_MAX {
            return Err(Diagnostic::error(format!(
                "{name}: {threads} threads and {local} bytes of local memory in a work-group; an Accel-Sim trace allows at most {BLOCK_THREADS_MAX} and {LOCAL_BYTES_MAX}"
            )));
        }
        let registers = kernel.registers_per_thread();
        losses.add(
            "register numbers above 255",
            u64::from(registers.saturating_sub(PER_THREAD_MAX)),
        );
        let [gx, gy, gz] = kernel.grid;
        let [bx, by, bz] = kernel.block;
        let (shared, private) = self.windows;
        Ok(format!(
            "-kernel name = {name}
-kernel id = {number}
-grid dim = ({gx},{gy},{gz})
-block dim = ({bx},{by},{bz})
-shmem = {local}
-nregs = {registers}
-binary version = {binary}
-cuda stream id = {stream}
-shmem base_addr = 0x{shared:016x}
-local mem base_addr = 0x{private:016x}
-nvbit version = none
-accelsim tracer version = 5
-enable lineinfo = {lines}

#traces format = {line}pc mask destinations registers opcode sources registers width mode addresses immediate
",
            registers = registers.min(PER_THREAD_MAX),
            lines = u8::from(with_lines),
            line = if with_lines { "line " } else { "" },
        ))
    }

    fn block(&self, work_group: u32, out: &mut String, losses: &mut Losses) {
        let kernel = self.kernel;
        let [columns, rows, _] = kernel.grid;
        let place = [
            work_group % columns,
            work_group / columns % rows,
            work_group / columns / rows,
        ];
        let mut say = |text: std::fmt::Arguments<'_>| {
            out.write_fmt(text).expect("writing to a string succeeds");
        };
        let [x, y, z] = place;
        let warps: Vec<u32> = (0..kernel.wavefronts_per_work_group())
            .filter(|warp| kernel.wavefront_counts(work_group, *warp).instructions > 0)
            .collect();
        if warps.is_empty() {
            return;
        }
        say(format_args!("\n#BEGIN_TB\n\nthread block = {x},{y},{z}\n"));
        for warp in warps {
            let count = kernel.wavefront_counts(work_group, warp).instructions;
            say(format_args!("\nwarp = {warp}\ninsts = {count}\n"));
            self.warp(work_group, warp, &mut say, losses);
        }
        say(format_args!("\n#END_TB\n"));
    }

    fn warp(
        &self,
        work_group: u32,
        warp: u32,
        say: &mut impl FnMut(std::fmt::Arguments<'_>),
        losses: &mut Losses,
    ) {
        let kernel = self.kernel;
        let (mut cursor, mut lanes) = (kernel.cursor(work_group, warp), Lanes::default());
        // Parts of one instruction become one line.
        let (mut mask, mut addresses) = (0, [0; LANES]);
        while let Some(record) = cursor.next(kernel, &mut lanes) {
            let line = &self.lines[&record.pc];
            let is_written =
                line.bytes == 0 || record.mask == 0 || line.written.takes(record.space);
            if is_written {
                mask |= record.mask;
                for (lane, address) in lanes.iter(record.mask) {
                    addresses[lane as usize] = self.address(line, record.space, address);
                }
            } else {
                losses.add("accesses without a matching opcode", 1);
            }
            if record.continues {
                continue;
            }
            if let Some(source) = line.source_line {
                say(format_args!("{source} "));
            }
            say(format_args!("{:04x} {mask:08x} {}", line.pc, line.constant));
            if line.bytes != 0 {
                say_addresses(mask, &addresses, say);
            }
            say(format_args!(" 0\n"));
            mask = 0;
        }
    }

    /// Converts an address to the form that the opcode expects.
    fn address(&self, line: &Line, space: Space, address: u64) -> u64 {
        let (shared, private) = match line.written.reach {
            AccessSpace::Generic => self.windows,
            _ => (0, 0),
        };
        match space {
            Space::Shared => address.wrapping_add(shared),
            Space::Local => address
                .wrapping_sub(self.private_base)
                .wrapping_add(private),
            _ => address,
        }
    }
}

/// Writes the address mode and the addresses in the shortest form.
fn say_addresses(
    mask: u32,
    addresses: &[u64; LANES],
    say: &mut impl FnMut(std::fmt::Arguments<'_>),
) {
    let lanes: Vec<usize> = (0..LANES).filter(|lane| mask >> lane & 1 != 0).collect();
    let [first, rest @ ..] = &lanes[..] else {
        return say(format_args!(" 0"));
    };
    let steps: Vec<i64> = lanes
        .windows(2)
        .map(|pair| addresses[pair[1]].wrapping_sub(addresses[pair[0]]) as i64)
        .collect();
    let is_run = lanes.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let is_even = steps.windows(2).all(|pair| pair[0] == pair[1]);
    let base = addresses[*first];
    if is_run && is_even && !rest.is_empty() {
        return say(format_args!(" 1 0x{base:x} {}", steps[0]));
    }
    say(format_args!(" 2 0x{base:x}"));
    for step in steps {
        say(format_args!(" {step}"));
    }
}
