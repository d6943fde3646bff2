//! Tests of what tracers of later releases and architectures write.

use std::fs;
use std::path::Path;

use warpweave_accel_sim::{Imported, Quirks, is_accel_sim};
use warpweave_trace::{HostCommand, Program};

use crate::{imported, shown};

fn header(version: u32, tracer: u32, stream: u64) -> String {
    format!(
        "-kernel name = k\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n\
         -nregs = 16\n-binary version = {version}\n-cuda stream id = {stream}\n\
         -accelsim tracer version = {tracer}\n\n#traces format\n"
    )
}

fn block(lines: &[&str]) -> String {
    let count = lines.len();
    let lines = lines.join("\n");
    format!("#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = {count}\n{lines}\n#END_TB\n")
}

const PLAIN: [&str; 3] = [
    "0000 ffffffff 1 R1 MOV 0 0 0",
    "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f0000000000 4 0",
    "0020 ffffffff 0 EXIT 0 0 0",
];

/// Imports files written to one folder; the first one is named to the import.
fn program(files: &[(&str, &[u8])]) -> Result<(Program, Imported), String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).expect("it is written");
    }
    let first = folder.path().join(files[0].0);
    assert!(is_accel_sim(&first), "{}", files[0].0);
    let read = imported(&first, Quirks::default());
    read.map_err(|error| {
        error
            .to_string()
            .replace(&format!("{}/", folder.path().display()), "")
    })
}

/// Returns the contents of a kernel, without the name of the program and its hash.
fn kernel(text: &str) -> String {
    let shown = shown(&program(&[("kernel-1.traceg", text.as_bytes())]).expect("it is read"));
    shown.lines().skip(2).collect::<Vec<_>>().join("\n")
}

#[test]
fn binary_versions_of_ada_hopper_and_blackwell_are_read() {
    let of = |version| kernel(&(header(version, 5, 0) + &block(&PLAIN)));
    let known = of(86);
    for version in [87, 89, 90, 100, 103, 120, 121] {
        assert_eq!(of(version), known, "{version}");
    }
}

#[test]
fn opcodes_of_later_architectures_are_known_there_and_named_elsewhere() {
    let line = "0000 ffffffff 4 R1 R2 R3 R4 UTCHMMA.gdesc 1 R5 0 0";
    let of = |version: u32| {
        let text = header(version, 5, 0) + &block(&[line, PLAIN[2]]);
        program(&[("kernel-1.traceg", text.as_bytes())])
    };
    let (_, said) = of(100).expect("Blackwell has it");
    assert_eq!(
        said.unmodelled[0].to_string(),
        "UTCHMMA: 1 warp instructions; not modelled: tensor units"
    );
    let said = of(90).map(|_| ()).expect_err("Hopper has not");
    assert!(
        said.contains("Hopper has no UTCHMMA; it exists in Blackwell"),
        "{said}"
    );
    assert!(said.contains("kernel-1.traceg:"), "{said}");
}

#[test]
fn an_unknown_binary_version_is_refused_with_those_that_are_known() {
    let text = header(199, 5, 0) + &block(&PLAIN);
    let said = program(&[("kernel-1.traceg", text.as_bytes())])
        .map(|_| ())
        .expect_err("unknown");
    assert!(
        said.contains("found `199`") && said.contains("100, 101, 103, 110, 120, 121"),
        "{said}"
    );
}

#[test]
fn a_line_of_tracer_version_6_means_what_its_part_of_version_5_means() {
    let values = "Val 1 0x5 32 ";
    let lanes: Vec<String> = (0..32).map(|lane| format!("{lane:x}")).collect();
    let load = format!(
        "0010 ffffffff 2 R4 UP1 LDG.E 2 R2 UR4 4 1 0x7f0000000000 4 0 0 {values}{}",
        lanes.join(" ")
    );
    let newer = [
        "0000 ffffffff 2 R1 P0 MOV 0 0 0 0 NoVal",
        &load,
        "0020 ffffffff 0 EXIT 0 0 0 0 NoVal",
    ];
    let clusters = block(&newer).replace(
        "warp = 0",
        "cluster id = 0,0,0\ncluster cta = 0,0,0\ncluster rank = 0\nwarp = 0",
    );
    let newer = kernel(&(header(90, 6, 0) + &clusters));
    assert_eq!(newer, kernel(&(header(90, 5, 0) + &block(&PLAIN))));
}

#[test]
fn matrix_operations_and_bulk_copies_of_tracer_version_6_are_read_without_accesses() {
    let lines = [
        "0000 ffffffff 1 R1 HGMMA.64x64x16.F32 2 R2 UR4 1 0 0 0 NoVal",
        "0010 00000001 0 UTMALDG.2D 2 UR4 UR8 16 0x400 0 4096 0 4 0x7f0000000000 3 64 64 0 0 NoVal",
        "0020 ffffffff 0 EXIT 0 0 0 0 NoVal",
    ];
    let text = header(90, 6, 0) + &block(&lines);
    let (_, said) = program(&[("kernel-1.traceg", text.as_bytes())]).expect("it is read");
    let said: Vec<_> = said.unmodelled.iter().map(ToString::to_string).collect();
    let expected = [
        "HGMMA: 1 warp instructions; not modelled: tensor units",
        "UTMALDG: 1 warp instructions; not modelled: bulk copies",
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_text_without_its_last_mark_is_read_as_if_it_were_there() {
    let whole = header(86, 5, 0) + &block(&PLAIN);
    for end in ["#END_TB\n", "\n#END_TB\n"] {
        let cut = whole.strip_suffix(end).expect("it ends so");
        assert_eq!(kernel(cut), kernel(&whole), "{end:?}");
    }
    let cut = whole.replace("0020 ffffffff 0 EXIT 0 0 0\n#END_TB\n", "");
    let said = program(&[("kernel-1.traceg", cut.as_bytes())])
        .map(|_| ())
        .expect_err("cut");
    assert!(said.contains("the end of the text"), "{said}");
}

#[test]
fn streams_with_handles_of_64_bits_are_told_apart() {
    let large = 140_669_595_547_776;
    let kernels = [0, large, 94_321, large, 0].map(|stream| header(86, 5, stream) + &block(&PLAIN));
    let names = [
        "kernel-1.traceg",
        "kernel-2.traceg",
        "kernel-3.traceg",
        "kernel-4.traceg",
        "kernel-5.traceg",
    ];
    let list = names.join("\n");
    let mut files = vec![("kernelslist.g", list.as_bytes())];
    files.extend(
        names
            .iter()
            .zip(&kernels)
            .map(|(name, text)| (*name, text.as_bytes())),
    );
    let (program, _) = program(&files).expect("it is read");
    let launched = program.commands.iter().filter_map(|command| match command {
        HostCommand::Launch { stream, .. } => Some(*stream),
        _ => None,
    });
    assert_eq!(launched.collect::<Vec<_>>(), [0, 1, 94_321, 1, 0]);
}

#[test]
fn allocations_of_a_list_are_kept_and_other_commands_are_said_not_to_be_modelled() {
    let text = header(86, 5, 0) + &block(&PLAIN);
    let list = "cudaMalloc,0x00007f0000000000,8192\nMemcpyHtoD,0x00007f0000000000,4096\n\
                MemcpyDtoD,0x00007f0000001000,0x00007f0000000000,64\nkernel-1.traceg\ncudaFree,0x00007f0000000000\n";
    let files = [
        ("kernelslist.g", list.as_bytes()),
        ("kernel-1.traceg", text.as_bytes()),
    ];
    let (program, said) = program(&files).expect("it is read");
    let sizes: Vec<_> = program
        .allocations
        .iter()
        .map(|it| (it.base, it.bytes))
        .collect();
    assert_eq!(sizes, [(0x7f00_0000_0000, 8192)]);
    let said: Vec<_> = said.unmodelled.iter().map(ToString::to_string).collect();
    let expected = [
        "MemcpyDtoD: 1 commands of the list; not modelled: copies and fills within the device",
        "cudaFree: 1 commands of the list; not modelled: the end of an allocation",
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let mark = "\u{feff}";
    let text = mark.to_owned() + &header(86, 5, 0) + &block(&PLAIN);
    assert_eq!(kernel(&text), kernel(&text[mark.len()..]));
    let list = format!("{mark}MemcpyHtoD,0x00007f0000000000,4096\n");
    let (program, _) = program(&[("kernelslist.g", list.as_bytes())]).expect("it is read");
    assert_eq!(program.allocations.len(), 1);
    assert!(!is_accel_sim(Path::new("nothing")));
}
