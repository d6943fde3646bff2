//! Reads a synthetic kernel back record by record, to be run under an instruction counter.
//!
//! Usage: `read_back FORM PASSES`, where FORM is `plain`, `stride`, `tile`, `list` or `streaming`.
//! The cost of a record is the difference between two pass counts divided by the difference in
//! records:
//!
//! ```text
//! valgrind --tool=callgrind read_back streaming 1
//! valgrind --tool=callgrind read_back streaming 11
//! ```

use std::io::Write as _;
use std::sync::Arc;

use warpweave_trace::{Class, Code, Instruction, KernelWriter, Lanes, Space, StreamWriter};

/// Number of times the loop body is recorded.
const ROUNDS: u64 = 2_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let form = words.next().unwrap_or_else(|| "streaming".to_owned());
    let passes: u32 = words.next().map_or(Ok(1), |passes| passes.parse())?;

    let mut stream = StreamWriter::new();
    for round in 0..ROUNDS {
        write_round(&mut stream, &form, round)?;
    }
    let code = Code {
        instructions: vec![Instruction::new("ld.global.u32", Class::Load); 10],
        ..Code::default()
    };
    let mut writer = KernelWriter::new(Arc::new(code), [1; 3], [32, 1, 1], 0, Vec::new())?;
    writer.finish_wavefront(0, 0, stream)?;
    let kernel = writer.finish()?;

    let mut lanes = Lanes::default();
    let mut sum = 0_u64;
    for _ in 0..passes {
        let mut cursor = kernel.cursor(0, 0);
        while let Some(record) = cursor.next(&kernel, &mut lanes) {
            sum = sum.wrapping_add(u64::from(record.pc ^ record.mask));
        }
    }
    let records = kernel.wavefront_instructions();
    let bytes = kernel.stream_bytes();
    writeln!(
        std::io::stdout(),
        "{records} records in {bytes} bytes a pass; checksum {sum}"
    )?;
    Ok(())
}

/// Writes one iteration of a ten-instruction loop.
fn write_round(stream: &mut StreamWriter, form: &str, round: u64) -> Result<(), String> {
    let base = 0x7000_0000 + round * 128;
    let addresses = |array: u64| -> [u64; 32] {
        std::array::from_fn(|lane| {
            let lane = lane as u64;
            let offset = match form {
                "tile" => lane % 16 * 4 + lane / 16 * 4096,
                "list" => (lane.wrapping_mul(0x9E37_79B9) >> 5 & 0xFFFF) * 4,
                _ => lane * 4,
            };
            base + (array << 26) + offset
        })
    };
    let is_memory = |pc: u32| match form {
        "plain" => Ok(false),
        "stride" | "tile" | "list" => Ok(true),
        "streaming" => Ok(matches!(pc, 2 | 3 | 7)),
        _ => Err(format!(
            "unknown form {form}; expected plain, stride, tile, list or streaming"
        )),
    };
    for pc in 0..10 {
        if is_memory(pc)? {
            let array = u64::from(pc % 3);
            stream.access(pc, u32::MAX, Space::Global, false, &addresses(array));
        } else {
            stream.step(pc, u32::MAX);
        }
    }
    Ok(())
}
