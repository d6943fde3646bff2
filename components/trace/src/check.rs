//! Checks that make a stream safe to simulate: every record refers to an existing instruction and
//! existing lanes.

use crate::encoding::{JUMP, PADDING, RESERVED, SET_MASK, SWAP_MASK, WIDTHS};
use crate::{Code, Cursor, Lanes, WavefrontCounts};

/// Walks one stream, run by run, and returns its counts. `bytes` ends with [`PADDING`] bytes that
/// are not part of the stream. `lanes` is the number of lanes in the wavefront.
pub(crate) fn stream(code: &Code, bytes: &[u8], lanes: u32) -> Result<WavefrontCounts, String> {
    let end = bytes
        .len()
        .checked_sub(PADDING)
        .expect("the caller pads the stream") as u64;
    let mut cursor = Cursor::over(0);
    let mut counts = WavefrontCounts::default();
    let mut addresses = Lanes::default();
    let mut read = 0;
    let mut open = None;
    while let Some(record) = cursor.next_token(bytes, end, &mut addresses) {
        if cursor.is_malformed(end) {
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
                "a record refers to instruction {}, but the kernel has {} instructions",
                u64::from(record.pc) + u64::from(more),
                code.instructions.len()
            ));
        };
        cursor.pc = cursor.pc.wrapping_add(more);
        if record.mask & !lanes != 0 {
            return Err(format!(
                "instruction {} executes with mask {:#010x}, but the wavefront's lanes are {lanes:#010x}",
                record.pc, record.mask
            ));
        }
        let instruction = &code.instructions[last as usize];
        if record.space != crate::Space::None && !instruction.class.is_memory() {
            return Err(format!(
                "instruction {last} ({}) has addresses but is not a memory instruction",
                instruction.opcode.escape_debug()
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
    if cursor.position != read
        && let Some(what) = reserved_after(&bytes[read as usize..end as usize])
    {
        return Err(format!(
            "a {what} follows byte {read} of the stream, which needs a newer version of Warpweave"
        ));
    }
    if cursor.position != read {
        return Err(format!(
            "the bytes after byte {read} of the stream are not a valid record"
        ));
    }
    if open.is_some() {
        return Err("the stream ends inside a split access".to_owned());
    }
    Ok(counts)
}

/// Returns the first reserved token in `tokens`, skipping tokens that change only mask or pc.
fn reserved_after(tokens: &[u8]) -> Option<&'static str> {
    let mut rest = tokens;
    loop {
        let head = *rest.first()?;
        let length = match head {
            JUMP..SWAP_MASK => 1 + usize::from(WIDTHS[usize::from(head & 7)]),
            SWAP_MASK => 1,
            SET_MASK => 5,
            _ => {
                let known = RESERVED.iter().find(|(token, _)| *token == head);
                return known.map(|(_, what)| *what);
            }
        };
        rest = rest.get(length..)?;
    }
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
                let problem =
                    format!("its {what} is {link}, but the kernel has {length} instructions");
                return Err((index as u32, problem));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Class, Instruction};

    fn loads() -> Code {
        let instructions = vec![Instruction::new("ld.global.u32", Class::Load); 200];
        Code {
            instructions,
            ..Code::default()
        }
    }

    /// Generates token bytes in which each kind of token is as likely as a random byte.
    fn token_bytes() -> impl Strategy<Value = u8> {
        prop_oneof![any::<u8>(), 0..4_u8, 0x80..0xC0_u8, 0xC0..0xCC_u8]
    }

    proptest! {
        #[test]
        fn any_bytes_are_walked_without_panic_and_accepted_ones_stay_in_the_code(
            stream_bytes in prop::collection::vec(token_bytes(), 0..60)
        ) {
            let mut bytes = stream_bytes;
            let end = bytes.len() as u64;
            bytes.resize(bytes.len() + PADDING, 0);
            let verdict = stream(&loads(), &bytes, u32::MAX);
            let (mut cursor, mut lanes) = (Cursor::over(0), Lanes::default());
            let mut records = 0;
            // Run by run: a refused stream may hold a run of 2^32 records.
            while let Some(record) = cursor.next_token(&bytes, end, &mut lanes) {
                records += u64::from(!record.continues) * (1 + u64::from(cursor.run));
                let last = u64::from(record.pc) + u64::from(cursor.run);
                prop_assert!(verdict.is_err() || last < 200);
                cursor.pc = cursor.pc.wrapping_add(std::mem::take(&mut cursor.run));
            }
            prop_assert!(cursor.position >= end);
            if let Ok(counts) = verdict {
                prop_assert_eq!(counts.instructions, records);
            }
        }
    }

    #[test]
    fn streams_that_end_inside_a_token_or_after_a_lone_control_are_refused() {
        // A jump without a record, a torn access, a torn mask, an unknown token, an unknown space.
        for torn in [
            &[0xC1, 2][..],
            &[0x81],
            &[0x81, 0x0F, 1, 2],
            &[0xC9, 1, 2],
            &[0xFF, 0],
            &[0x81, 0x38],
        ] {
            let mut bytes = torn.to_vec();
            bytes.resize(torn.len() + PADDING, 0);
            assert!(stream(&loads(), &bytes, u32::MAX).is_err(), "{torn:02x?}");
        }
    }

    #[test]
    fn a_reserved_token_is_refused_as_one_of_a_newer_version() {
        for (token, what) in RESERVED {
            // A run, then a jump and a mask before it.
            for before in [&[][..], &[0x03], &[0x03, 0xC1, 2, 0xC9, 1, 0, 0, 0]] {
                let mut bytes = [before, &[token, 1, 2, 3]].concat();
                bytes.resize(bytes.len() + PADDING, 0);
                let problem = stream(&loads(), &bytes, u32::MAX).unwrap_err();
                let read = before.len().min(1);
                let expected = format!(
                    "a {what} follows byte {read} of the stream, which needs a newer version of Warpweave"
                );
                assert_eq!(problem, expected);
            }
        }
    }

    #[test]
    fn a_name_with_control_characters_is_escaped_where_it_is_quoted() {
        let mut code = loads();
        code.instructions[0] = Instruction::new("ld\u{1b}[31m", Class::IntAdd);
        let mut bytes = vec![0x81, 0x08];
        bytes.resize(bytes.len() + PADDING, 0);
        assert_eq!(
            stream(&code, &bytes, u32::MAX).unwrap_err(),
            r"instruction 0 (ld\u{1b}[31m) has addresses but is not a memory instruction"
        );
    }

    #[test]
    fn links_outside_the_instruction_table_are_refused() {
        let mut broken = loads();
        broken.instructions[3].reconvergence = Some(200);
        assert_eq!(code(&broken), Ok(()));
        broken.instructions[3].target = Some(201);
        let problem = "its branch target is 201, but the kernel has 200 instructions".to_owned();
        assert_eq!(code(&broken), Err((3, problem)));
    }
}
