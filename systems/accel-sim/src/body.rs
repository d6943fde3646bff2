//! Parser for the body of a kernel trace: header, blocks, warps and instructions, in file order.

use std::io::BufRead;

use warpweave_params::Diagnostic;
use warpweave_trace::LANES;

use crate::header::{Header, triple};
use crate::instruction::{Instruction, Place};
use crate::text::{Line, Lines};
use crate::{AccelSimError, Quirks};

/// Receives the parsed contents of a trace in file order.
pub(crate) trait Sink {
    /// Receives the header; called once, before any other method.
    fn header(&mut self, header: &Header) -> Result<(), AccelSimError>;

    /// Starts a warp whose instructions follow; `line` is the line that names it.
    fn warp(&mut self, place: Place, line: Line<'_>) -> Result<(), AccelSimError>;

    /// Receives one instruction of the current warp and the addresses of its active lanes.
    fn instruction(
        &mut self,
        line: Line<'_>,
        instruction: &Instruction<'_>,
        addresses: &[u64; LANES],
    ) -> Result<(), AccelSimError>;

    /// Ends the current warp; no more of its instructions follow.
    fn end_of_warp(&mut self) -> Result<(), AccelSimError>;
}

/// Maps the blocks of a trace to work-group numbers.
pub(crate) struct Blocks {
    file_order: bool,
    count: u32,
}

impl Blocks {
    pub(crate) fn new(quirks: Quirks) -> Self {
        Self {
            file_order: quirks.file_order,
            count: 0,
        }
    }

    /// Returns the work-group number of the next block, given the block's coordinates.
    pub(crate) fn next(&mut self, header: &Header, block: [u32; 3]) -> Result<u32, &'static str> {
        let [x, y, z] = block;
        let [columns, rows, layers] = header.grid;
        if x >= columns || y >= rows || z >= layers {
            return Err("outside the grid");
        }
        self.count += 1;
        match self.file_order {
            true if self.count > header.blocks() => Err("more blocks than in the grid"),
            true => Ok(self.count - 1),
            false => Ok((z * rows + y) * columns + x),
        }
    }
}

/// Parses a trace in text form and passes its contents to `sink`.
pub(crate) fn walk<R: BufRead>(
    lines: &mut Lines<R>,
    quirks: Quirks,
    sink: &mut dyn Sink,
) -> Result<(), AccelSimError> {
    let header = Header::read(lines)?;
    sink.header(&header)?;
    let mut blocks = Blocks::new(quirks);
    loop {
        let Some(line) = lines.next_filled()? else {
            return Ok(());
        };
        if line.text == "#BEGIN_TB" {
            block(lines, &header, &mut blocks, sink)?;
        } else if !line.text.starts_with('#') {
            return Err(line.refuse_whole("expected `#BEGIN_TB`").into());
        }
    }
}

fn block<R: BufRead>(
    lines: &mut Lines<R>,
    header: &Header,
    blocks: &mut Blocks,
    sink: &mut dyn Sink,
) -> Result<(), AccelSimError> {
    let Some(line) = lines.next_filled()? else {
        return Err(lines.ended("`thread block = x,y,z`").into());
    };
    let value = line.value_of("thread block");
    let value = value.ok_or_else(|| line.refuse_whole("expected `thread block = x,y,z`"))?;
    let expected = "three block coordinates, as in `0,0,0`";
    let numbers = triple(value.text).ok_or_else(|| line.blame(value, expected))?;
    let work_group = blocks.next(header, numbers).map_err(|problem| {
        let (start, end) = (value.start, line.text.len());
        let [x, y, z] = header.grid;
        line.refuse(
            start,
            end,
            format!("block {}: {problem} of {x},{y},{z}", value.text),
        )
    })?;
    let mut any = false;
    loop {
        let Some(line) = lines.next_filled()? else {
            // A tracer that was stopped leaves out the last mark.
            return if any {
                Ok(())
            } else {
                Err(lines.ended("`warp = w` or `#END_TB`").into())
            };
        };
        if line.text == "#END_TB" {
            return Ok(());
        }
        if !any && line.text.starts_with("cluster ") {
            continue;
        }
        any = true;
        let value = line.value_of("warp");
        let value = value.ok_or_else(|| line.refuse_whole("expected `warp = w` or `#END_TB`"))?;
        let warps = header.warps();
        let expected = format!("a warp number in the block, 0 to {}", warps - 1);
        let warp = line.number(value, &expected)?;
        if warp >= warps {
            return Err(line.blame(value, &expected).into());
        }
        let place = Place {
            block: numbers,
            work_group,
            warp,
        };
        sink.warp(place, line)?;
        let count = instructions(lines)?;
        for read in 0..count {
            let Some(line) = lines.next_filled()? else {
                let expected = format!("instruction {} of {count}", read + 1);
                return Err(lines.ended(&expected).into());
            };
            instruction(line, header, place, sink)?;
        }
        sink.end_of_warp()?;
    }
}

/// Reads the instruction count of a warp.
fn instructions<R: BufRead>(lines: &mut Lines<R>) -> Result<u64, Diagnostic> {
    let Some(line) = lines.next_filled()? else {
        return Err(lines.ended("`insts = n`"));
    };
    let value = line.value_of("insts");
    let value = value.ok_or_else(|| line.refuse_whole("expected `insts = n`"))?;
    line.number(value, "the number of instructions that follow")
}

/// Parses one instruction line and passes it to the sink.
pub(crate) fn instruction(
    line: Line<'_>,
    header: &Header,
    place: Place,
    sink: &mut dyn Sink,
) -> Result<(), AccelSimError> {
    let mut addresses = [0; LANES];
    let instruction = Instruction::read(line, header, place, &mut addresses)?;
    sink.instruction(line, &instruction, &addresses)
}
