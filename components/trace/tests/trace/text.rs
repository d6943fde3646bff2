//! Tests of summaries and dumps, and of the size of a trace.

use std::sync::Arc;

use warpweave_trace::{Class, Code, Instruction, KernelTrace, KernelWriter, Space, StreamWriter};

use crate::model::{PlainKernel, program};

/// Thread blocks of 128 threads that walk two arrays in a grid-stride loop and store a third: c[i]
/// = a[i] + b[i].
fn streaming(work_groups: u32, rounds: u64) -> KernelTrace {
    let load = || Instruction::new("ld.global.f32", Class::Load).accessing(Space::Global, 4);
    let add = || Instruction::new("add.u64", Class::IntAdd);
    let code = Code {
        name: "streaming".to_owned(),
        instructions: vec![
            add(),
            add(),
            load(),
            load(),
            Instruction::new("add.f32", Class::FpAdd),
            Instruction::new("st.global.f32", Class::Store).accessing(Space::Global, 4),
            add(),
            Instruction::new("bra", Class::Branch),
            Instruction::new("exit", Class::Exit),
        ],
        ..Code::default()
    };
    let mut writer = KernelWriter::new(
        Arc::new(code),
        [work_groups, 1, 1],
        [128, 1, 1],
        0,
        Vec::new(),
    )
    .unwrap();
    for work_group in 0..work_groups {
        for wavefront in 0..4 {
            let mut stream = StreamWriter::new();
            stream.step(0, u32::MAX);
            for round in 0..rounds {
                let first = (round * u64::from(work_groups) + u64::from(work_group)) * 128
                    + u64::from(wavefront) * 32;
                let at = |array: u64| {
                    std::array::from_fn(|lane| {
                        0x10_0000_0000 + (array << 28) + 4 * (first + lane as u64)
                    })
                };
                stream.step(1, u32::MAX);
                stream.access(2, u32::MAX, Space::Global, false, &at(0));
                stream.access(3, u32::MAX, Space::Global, false, &at(1));
                stream.step(4, u32::MAX);
                stream.access(5, u32::MAX, Space::Global, false, &at(2));
                stream.step(6, u32::MAX);
                stream.step(7, u32::MAX);
            }
            stream.step(8, u32::MAX);
            writer
                .finish_wavefront(work_group, wavefront, stream)
                .unwrap();
        }
    }
    writer.finish().unwrap()
}

#[test]
fn a_streaming_kernel_takes_less_than_two_and_a_half_bytes_a_record() {
    let trace = streaming(16, 200);
    let bytes = trace.stream_bytes() as f64 / trace.wavefront_instructions() as f64;
    println!("{bytes:.3} bytes per record");
    assert!(bytes < 2.5, "{bytes} bytes per record");
}

#[test]
fn a_streaming_kernel_takes_less_than_a_tenth_of_a_byte_a_record_on_disk() {
    let trace = streaming(16, 200);
    let records = trace.wavefront_instructions() as f64;
    let mut program = program(&[]);
    program.kernels.push(Arc::new(trace));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("streaming.trace");
    program.save(&path).unwrap();
    let bytes = std::fs::metadata(path).unwrap().len() as f64 / records;
    println!("{bytes:.4} bytes per record on disk");
    assert!(bytes < 0.1, "{bytes} bytes per record");
}

#[test]
fn straight_line_code_takes_a_byte_for_a_hundred_records() {
    let code = crate::model::code();
    let mut writer = KernelWriter::new(code, [1; 3], [32, 1, 1], 0, Vec::new()).unwrap();
    let mut stream = StreamWriter::new();
    (0..128).for_each(|pc| stream.step(pc, u32::MAX));
    writer.finish_wavefront(0, 0, stream).unwrap();
    assert_eq!(writer.finish().unwrap().stream_bytes(), 1);
}

#[test]
fn a_cursor_stays_within_a_cache_line() {
    assert!(size_of::<warpweave_trace::Cursor>() <= 64);
}

#[test]
fn a_dump_shows_every_record_of_the_wavefront_asked_for() {
    let mut text = String::new();
    streaming(2, 1).write_dump(1, Some(2), &mut text).unwrap();
    assert_eq!(
        text,
        "streaming: work-group 1, wavefront 2
      0 ffffffff add.u64
      1 ffffffff add.u64
      2 ffffffff ld.global.f32 global 0x1000000300 step 4
      3 ffffffff ld.global.f32 global 0x1010000300 step 4
      4 ffffffff add.f32
      5 ffffffff st.global.f32 global 0x1020000300 step 4
      6 ffffffff add.u64
      7 ffffffff bra
      8 ffffffff exit
"
    );
    let mut whole = String::new();
    streaming(2, 1).write_dump(1, None, &mut whole).unwrap();
    assert_eq!(whole.matches("work-group 1, wavefront").count(), 4);
    assert!(whole.contains(&text));
}

#[test]
fn a_dump_lists_addresses_without_a_pattern_and_marks_split_accesses() {
    let code = crate::model::code();
    let mut writer = KernelWriter::new(code, [1; 3], [32, 1, 1], 0, Vec::new()).unwrap();
    let mut stream = StreamWriter::new();
    let mut addresses = [0; 32];
    addresses[..5].copy_from_slice(&[8, 0, 100, 20, 12]);
    stream.access(1, 0b1_1111, Space::Global, true, &addresses);
    stream.access(1, 0b10_0000, Space::Shared, false, &addresses);
    let rows = std::array::from_fn(|lane| 64 + 4 * (lane as u64 % 16) + 256 * (lane as u64 / 16));
    stream.access(1, u32::MAX, Space::Global, false, &rows);
    stream.access(3, 0, Space::Global, false, &addresses);
    writer.finish_wavefront(0, 0, stream).unwrap();
    let mut text = String::new();
    writer
        .finish()
        .unwrap()
        .write_dump(0, None, &mut text)
        .unwrap();
    assert_eq!(
        text,
        "random: work-group 0, wavefront 0
      1 0000001f ld.u32 global 0:0x8 1:0x0 2:0x64 3:0x14 4:0xc ...
      1 00000020 ld.u32 shared 0x0
      1 ffffffff ld.u32 global 0x40 step 4, rows of 16 lanes 256 apart
      3 00000000 ld.u32 global
"
    );
}

#[test]
fn a_summary_tells_commands_counts_and_mix() {
    let streams = vec![Vec::new()];
    let kernel = PlainKernel {
        work_groups: 1,
        wavefronts: 1,
        arguments: vec![1, 2],
        parent: None,
        streams,
    };
    let mut program = program(&[kernel]);
    program.kernels[0] = Arc::new(streaming(2, 1));
    let mut text = String::new();
    program.write_summary(&mut text).unwrap();
    let hash = program.hash();
    let bytes = program.kernels[0].stream_bytes();
    assert_eq!(
        text,
        format!(
            "program random
content hash {hash}
front end model 1: 8 resident work-groups, quantum 16, order Linear, seed 7
allocation buffer 0x70000000..0x70000040
copy 48 bytes to buffer at offset 16
launch kernel 0 in stream 0
synchronize
copy 64 bytes from buffer at offset 0
kernel 0: streaming
  2 work-groups [2, 1, 1] of 128 threads [128, 1, 1], 4 wavefronts each
  0 registers per thread, 0 bytes of local memory, 0 bytes of arguments
  72 wavefront instructions, 2304 thread instructions, {bytes} bytes of streams
    int_add    24
    fp_add     8
    branch     8
    load       16
    store      8
    exit       8
"
        )
    );
}
