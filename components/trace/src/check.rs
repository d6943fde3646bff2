//! Checks that make a stream safe to simulate: every record names an instruction and lanes that
//! exist.

use crate::encoding::PADDING;
use crate::{Code, Cursor, Lanes, WavefrontCounts};

/// Walks one stream, run by run, and counts it. `bytes` ends with [`PADDING`] bytes that are not
/// part of the stream; `lanes` are the lanes the wavefront has.
pub(crate) fn stream(code: &Code, bytes: &[u8], lanes: u32) -> Result<WavefrontCounts, String> {
    let end = bytes
        .len()
        .checked_sub(PADDING)
        .expect("the caller pads the stream") as u64;
    let mut cursor = Cursor::over(0, end);
    let mut counts = WavefrontCounts::default();
    let mut addresses = Lanes::default();
    let mut read = 0;
    let mut open = None;
    while let Some(record) = cursor.next_token(bytes, &mut addresses) {
        if cursor.is_malformed() {
            return Err(format!(
                "the record after byte {read} runs past the end of the stream"
            ));
        }
        let more = std::mem::take(&mut cursor.run);
        let last = record
            .pc
            .checked_add(more)
            .filter(|&pc| (pc as usize) < code.instructions.len());
        let Some(last) = last else {
            return Err(format!(
                "a record names instruction {}, but the kernel has {}",
                u64::from(record.pc) + u64::from(more),
                code.instructions.len()
            ));
        };
        cursor.pc = cursor.pc.wrapping_add(more);
        if record.mask & !lanes != 0 {
            return Err(format!(
                "instruction {} runs with mask {:#010x}, but the wavefront's lanes are {lanes:#010x}",
                record.pc, record.mask
            ));
        }
        let instruction = &code.instructions[last as usize];
        if record.space != crate::Space::None && !instruction.class.is_memory() {
            return Err(format!(
                "instruction {last} ({}) has addresses but is no memory instruction",
                instruction.opcode
            ));
        }
        if open.is_some_and(|pc| pc != record.pc) {
            return Err(format!(
                "instruction {} interrupts a split access",
                record.pc
            ));
        }
        open = record.continues.then_some(record.pc);
        let records = u64::from(more) + 1;
        counts.instructions += if record.continues { 0 } else { records };
        counts.thread_instructions += u64::from(record.mask.count_ones()) * records;
        read = cursor.position;
    }
    if cursor.position != read {
        return Err(format!(
            "the bytes after byte {read} of the stream are no record"
        ));
    }
    if open.is_some() {
        return Err("the stream ends inside a split access".to_owned());
    }
    Ok(counts)
}

/// Checks the indices inside an instruction table.
pub(crate) fn code(code: &Code) -> Result<(), (u32, String)> {
    let length = code.instructions.len();
    for (index, instruction) in code.instructions.iter().enumerate() {
        let links = [
            ("branch target", instruction.target),
            ("reconvergence point", instruction.reconvergence),
            ("loop head", instruction.loop_head),
        ];
        for (what, link) in links {
            // A branch may reconverge at the end of the kernel, after the last instruction.
            if let Some(link) = link.filter(|&link| link as usize > length) {
                let problem = format!("its {what} is {link}, but the kernel has {length}");
                return Err((index as u32, problem));
            }
        }
    }
    Ok(())
}
