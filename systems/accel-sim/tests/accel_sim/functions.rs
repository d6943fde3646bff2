//! Tests of kernel import: functions share their instructions, and kernels with many warps are read
//! again.

use std::fs;
use std::sync::Arc;

use warpweave_accel_sim::Quirks;

use crate::imported;

/// Returns the trace of a kernel with one warp that executes the lines.
fn kernel(name: &str, registers: u32, lines: &[&str]) -> String {
    format!(
        "-kernel name = {name}\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n\
         -nregs = {registers}\n-binary version = 70\n-cuda stream id = 0\n#\n#BEGIN_TB\nthread block = 0,0,0\n\
         warp = 0\ninsts = {}\n{}\n#END_TB\n",
        lines.len(),
        lines.join("\n")
    )
}

#[test]
fn launches_of_one_function_have_one_code_with_what_any_of_them_executes() {
    let first = "0000 ffffffff 1 R1 MOV 0 0 0";
    let only_once = "0010 ffffffff 1 R2 IADD3 1 R1 0 0";
    let private = "0020 00000001 1 R3 LDL 1 R4 4 0 0xfffcd0 0";
    let last = "0030 ffffffff 0 EXIT 0 0 0";
    let kernels = [
        kernel("f", 8, &[first, last]),
        kernel("g", 8, &[first, last]),
        kernel("f", 8, &[first, only_once, private, last]),
        kernel("f", 9, &[first, last]),
    ];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let names = kernels.iter().enumerate().map(|(number, text)| {
        let name = format!("kernel-{number}.traceg");
        fs::write(folder.path().join(&name), text).expect("it is written");
        name
    });
    let list = names.collect::<Vec<_>>().join("\n");
    let path = folder.path().join("kernelslist.g");
    fs::write(&path, list).expect("it is written");
    let (program, _) = imported(&path, Quirks::default()).expect("it is read");
    let code = |kernel: usize| &program.kernels[kernel].code;
    assert!(Arc::ptr_eq(code(0), code(2)));
    assert!(!Arc::ptr_eq(code(0), code(1)), "another name");
    assert!(!Arc::ptr_eq(code(0), code(3)), "other registers");
    let opcodes = code(0).instructions.iter().map(|i| i.opcode.as_str());
    assert_eq!(opcodes.collect::<Vec<_>>(), ["MOV", "IADD3", "LDL", "EXIT"]);
    assert_eq!(code(1).instructions.len(), 2);
    assert_eq!(code(0).source, "kernel-0.traceg");
    // What the first launch executes has the numbers of the whole function.
    let mut lanes = warpweave_trace::Lanes::default();
    let mut cursor = program.kernels[0].cursor(0, 0);
    let pcs = std::iter::from_fn(|| cursor.next(&program.kernels[0], &mut lanes));
    assert_eq!(pcs.map(|record| record.pc).collect::<Vec<_>>(), [0, 3]);
}

#[test]
fn a_kernel_of_more_warps_than_a_program_can_keep_is_refused_with_its_file() {
    let text = kernel("f", 8, &["0000 ffffffff 0 EXIT 0 0 0"]);
    let text = text.replace("(1,1,1)", "(2,8388609,1)");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("kernel-1.traceg");
    fs::write(&path, text).expect("it is written");
    let said = imported(&path, Quirks::default()).expect_err("it is too much");
    let expected = format!(
        "error: {}: kernel f has 16777218 warps; the maximum is 16777216",
        path.display()
    );
    assert_eq!(said.to_string().trim(), expected);
}

#[test]
fn a_kernel_of_very_many_warps_that_did_nothing_is_read_again() {
    let text = kernel("f", 8, &["0000 ffffffff 0 EXIT 0 0 0"]);
    let text = text.replace("(1,1,1)", "(2,65535,1)");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("kernel-1.traceg");
    fs::write(&path, text).expect("it is written");
    let (program, _) = imported(&path, Quirks::default()).expect("it is read");
    assert_eq!(program.kernels[0].counts().instructions, 1);
}
