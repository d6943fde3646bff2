//! Tests that each malformed field is rejected at its position, with the expected form.

use std::fs;

use warpweave_accel_sim::Quirks;

use crate::{imported, vector};

/// Returns the error for `kernel-modes.traceg` after replacing `from` with `to` once.
fn refusal(from: &str, to: &str) -> String {
    let text = fs::read_to_string(vector("kernel-modes.traceg")).expect("it is there");
    assert!(text.contains(from), "{from}");
    refused("kernel.traceg", text.replacen(from, to, 1).as_bytes())
}

/// Returns the error for a file with these bytes.
fn refused(name: &str, bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("it is written");
    let read = imported(&path, Quirks::default());
    let said = read.map(|_| ()).expect_err("it is wrong").to_string();
    let said = said.replace(&format!("{}/", folder.path().display()), "");
    format!("{said}\n\n")
}

#[test]
fn a_malformed_header_is_refused_field_by_field() {
    let said = [
        refusal("-grid dim = (2,2,1)", "-grid dim = (2,0,1)"),
        refusal("-grid dim = (2,2,1)", "-grid dim = 2,2,1"),
        refusal("-block dim = (40,1,1)", "-block dim = (1025,1,1)"),
        refusal("-nregs = 12", "-nregs = 21955"),
        refusal("-shmem = 1024", "-shmem = many"),
        refusal("-binary version = 70", "-binary version = 0"),
        refusal("-cuda stream id = 3", "-cuda stream id = -1"),
        refusal("-cuda stream id = 3", "-cuda strem id = 3"),
        refusal("-cuda stream id = 3", "-kernel id = 3"),
        refusal("-cuda stream id = 3\n", ""),
        refusal(
            "-shmem base_addr = 0x00007f2000000000",
            "-shmem base_addr = 0x7g",
        ),
        refusal("tracer version = 5", "tracer version = 7"),
        refusal("enable lineinfo = 0", "enable lineinfo = yes"),
        refusal("#traces format", "traces format"),
        refusal("-kernel name = modes", "-kernel name ="),
    ];
    insta::assert_snapshot!(said.concat());
}

#[test]
fn a_malformed_block_or_instruction_is_refused_field_by_field() {
    let said = [
        refusal("#BEGIN_TB", "BEGIN_TB"),
        refusal("thread block = 1,1,0", "thread block = 1,1"),
        refusal("thread block = 1,1,0", "thread block = 1,2,0"),
        refusal("thread block = 0,0,0", "thread block = 1,1,0"),
        refusal("warp = 1\n", "warp = 2\n"),
        refusal("insts = 9", "insts = nine"),
        refusal("insts = 9", "insts = 10"),
        refusal("insts = 9", "insts = 8"),
        refusal("0000 ffffffff 1 R1", "00x0 ffffffff 1 R1"),
        refusal("0000 ffffffff 1 R1", "0000 fffffff 1 R1"),
        refusal("0000 000000ff 1 R1", "0000 000001ff 1 R1"),
        refusal("0000 ffffffff 1 R1", "0000 ffffffff 9 R1"),
        refusal("0000 ffffffff 1 R1", "0000 ffffffff 1 P1"),
        refusal("0000 ffffffff 1 R1", "0000 ffffffff 1 R256"),
        refusal("R1 MOV", "R1 MOVE"),
        refusal("R1 MOV", "R1 HGMMA.64"),
        refusal("R1 MOV 0 0 0", "R1 MOV 0"),
        refusal("R1 MOV 0 0 0", "R1 MOV 0 4 1 0x10 4 0"),
        refusal("1 R2 4 1", "1 R2 3 1"),
        refusal("1 R2 4 1 0x7f3000000000 4 0", "1 R2 0 0"),
        refusal("1 R2 4 1", "1 R2 4 3"),
        refusal("0x7f3000000000 4 0", "0x7f3000000000 four 0"),
        refusal("00000007 1 R4", "00000005 1 R4"),
        refusal("64 -32 0", "64"),
        refusal("64 -32 0", "64 -32 0 0"),
        refusal("0x7f3000000100 0x7f3000000008 0", "0x7f3000000100"),
        refusal("0x7f3000000100 0x7f3000000008 0", "0x7f3000000100 zero 0"),
    ];
    insta::assert_snapshot!(said.concat());
}

#[test]
fn a_malformed_list_or_file_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let whole = fs::read(vector("packed.traceg.xz")).expect("it is there");
    let said = [
        refused("list.g", b"MemcpyHtoA,0x10,4\n"),
        refused("list.g", b"MemcpyHtoD,0x10\n"),
        refused("list.g", b"cudaMalloc,0x10,four\n"),
        refused("list.g", b"MemcpyHtoD,0xzz,4\n"),
        refused("list.g", b"MemcpyHtoD,0x10,four\n"),
        refused("list.g", b"MemcpyHtoD,0x10,18446744073709551615\n"),
        refused("list.g", b"kernel-1.txt\n"),
        refused("list.g", b"\n\nkernel-1.traceg\n"),
        refused("list.g", b"MemcpyHtoD,0x10,4\n\xff\xfe\n"),
        refused("list.g", b""),
        refused("list.g", &vec![b'k'; 70_000]),
        refused("kernel.traceg", &whole[..whole.len() / 2]),
        refused("kernel.traceg", &whole[..4]),
    ];
    drop(folder);
    insta::assert_snapshot!(said.concat());
}
