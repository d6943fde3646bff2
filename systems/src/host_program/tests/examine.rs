//! Findings of program checks, and their messages.

use insta::assert_snapshot;

use super::workloads::workload;
use crate::host_program::{
    Commands, Contents, EmulationSpec, Examined, FindingKind, HostProgram, HostProgramBuilder,
    Launch, Mistake, Verdict,
};

/// Two kernels: `read(from, to)` copies an element per thread, `write(to)` writes a thread's
/// number.
const MODULE: &str = ".version 6.3 .target sm_70 .address_size 64
.visible .entry read(.param .u64 from, .param .u64 to) {
    .reg .b64 %rd<5>; .reg .b32 %r<3>;
    ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to];
    mov.u32 %r1, %tid.x; mad.wide.u32 %rd3, %r1, 4, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd2;
    ld.global.u32 %r2, [%rd3];
    st.global.u32 [%rd4], %r2;
    ret;
}
.visible .entry write(.param .u64 to) {
    .reg .b64 %rd<3>; .reg .b32 %r<3>;
    ld.param.u64 %rd1, [to]; mov.u32 %r1, %ctaid.x;
    st.global.u32 [%rd1], %r1;
    ret;
}";

fn copy_of(contents: Contents) -> HostProgramBuilder {
    HostProgram::builder("copy")
        .module("copy.ptx", MODULE)
        .buffer("from", contents)
        .buffer("to", Contents::u32s([0; 4]))
}

fn read() -> Launch {
    Launch::new("read").block([4]).buffer("from").buffer("to")
}

fn examine(program: &HostProgram) -> Examined {
    program.examine(&EmulationSpec::default()).unwrap()
}

#[test]
fn a_forgotten_copy_to_the_device_warns_and_is_found() {
    let program = copy_of(Contents::u32s([1, 2, 3, 4]))
        .commands(Commands::new().launch(read()))
        .build()
        .unwrap();
    assert_snapshot!(program.warnings(), @r#"
    warning: kernel `read` reads `from`, whose contents are never copied to the device
    hint: add CopyToDevice("from") before the launch
    "#);
    let examined = examine(&program);
    assert_eq!(examined.count(Verdict::Error), 1);
    let finding = &examined.findings[0].finding;
    assert_eq!(finding.kind, FindingKind::UninitialisedMemory);
    assert_eq!(finding.buffer.as_deref(), Some("from"));
}

#[test]
fn a_copy_zeros_and_what_a_kernel_writes_do_not_warn() {
    let sent = Commands::new().copy_to_device("from").launch(read());
    let program = copy_of(Contents::u32s([1; 4]))
        .commands(sent)
        .build()
        .unwrap();
    assert!(program.warnings().is_empty(), "{}", program.warnings());
    assert!(examine(&program).is_clean());
    let zeros = copy_of(Contents::u32s([0; 4])).commands(Commands::new().launch(read()));
    let zeros = zeros.build().unwrap();
    assert!(zeros.warnings().is_empty() || !examine(&zeros).is_clean());
    let write = Launch::new("write").buffer("from");
    let written = Commands::new().launch(write).launch(read());
    let program = copy_of(Contents::u32s([1; 4]))
        .commands(written)
        .build()
        .unwrap();
    assert!(program.warnings().is_empty(), "{}", program.warnings());
}

fn racing() -> HostProgramBuilder {
    copy_of(Contents::u32s([0; 4]))
        .commands(Commands::new().launch(Launch::new("write").grid([3]).buffer("to")))
}

#[test]
fn what_a_workload_allows_is_no_error_and_shows_its_reason() {
    let program = racing().build().unwrap();
    assert!(!examine(&program).is_clean());
    let program = racing()
        .allow(
            "write",
            Mistake::GlobalRace,
            Some("to"),
            "any winner will do",
        )
        .build()
        .unwrap();
    let examined = examine(&program);
    assert!(examined.is_clean() && examined.unneeded.is_empty());
    assert_snapshot!(examined.to_text("race.ron"), @"
    race.ron: 1 launch emulated

    allowed: GlobalRace in kernel `write`, 2 times
      this write is not ordered after the write by another work-group
      first: copy.ptx:13:5: `st.global.u32`, work-group (1, 0, 0), thread (0, 0, 0), launch 0
      meets: copy.ptx:13:5: `st.global.u32`, work-group (0, 0, 0), thread (0, 0, 0)
      address 0x10000100, nearest `to` (0x10000100..0x10000110, 16 bytes), at byte 0 of the allocation
      allowed because any winner will do

    0 errors, 0 undecided, 0 notes, 1 allowed
    ");
}

#[test]
fn an_allowance_for_another_buffer_does_not_count_and_says_so() {
    let program = racing()
        .allow(
            "write",
            Mistake::GlobalRace,
            Some("from"),
            "any winner will do",
        )
        .build()
        .unwrap();
    let examined = examine(&program);
    assert!(!examined.is_clean());
    assert_snapshot!(examined.unneeded, @r#"
    warning: kernel `write` has no finding of the kind allowed here (GlobalRace)
    hint: larger or different inputs may need it; otherwise remove it
    "#);
}

#[test]
fn an_allowance_must_name_a_kernel_and_a_reason() {
    let Err(problems) = racing()
        .allow("wirte", Mistake::GlobalRace, None, " ")
        .build()
    else {
        panic!("must be refused")
    };
    assert_snapshot!(problems, @r#"
    error: unknown kernel `wirte`
    hint: did you mean `write`? kernels: read, write

    error: an allowed finding needs a reason
    hint: explain why it is harmless
    "#);
}

#[test]
fn a_launch_that_fails_ends_the_check_with_what_was_found() {
    let program = copy_of(Contents::u32s([1; 4]))
        .commands(Commands::new().launch(read().block([128])))
        .build()
        .unwrap();
    let examined = examine(&program);
    assert!(!examined.is_clean());
    let stopped = examined.stopped.as_deref().unwrap();
    assert!(stopped.contains("outside every allocation"), "{stopped}");
    let kinds: Vec<_> = examined.findings.iter().map(|f| f.finding.kind).collect();
    assert!(kinds.contains(&FindingKind::OutsideAllocation), "{kinds:?}");
}

/// Overrides that give every workload several work-groups but little work.
const SMALL: [(&str, &[(&str, &str)]); 19] = [
    ("b_plus_tree", &[("queries", "20")]),
    ("back_propagation", &[("inputs", "64")]),
    ("bfs_mask", &[("vertices", "600")]),
    ("blur_texture", &[("n", "40")]),
    ("convolution_2d", &[("n", "40")]),
    ("dct_8x8", &[("n", "24")]),
    ("fdtd_3d", &[("nx", "40"), ("ny", "20"), ("steps", "2")]),
    ("hotspot", &[("n", "29")]),
    ("lud", &[("n", "48")]),
    ("neural_network", &[("batch", "1"), ("small_maps", "3")]),
    ("srad", &[("n", "37")]),
    (
        "bfs",
        &[("graph", "Grid(width: 16, height: 8)"), ("block", "32")],
    ),
    ("histogram", &[("n", "3001"), ("blocks", "3")]),
    ("matrix_multiply", &[("n", "37")]),
    ("reduction", &[("n", "3001"), ("blocks", "3")]),
    ("reduction_f32", &[("n", "3001"), ("blocks", "3")]),
    (
        "sssp",
        &[
            ("graph", "Grid(width: 16, height: 8)"),
            ("weights", "Uniform(low: 1, high: 50, seed: 4)"),
            ("block", "32"),
        ],
    ),
    (
        "stencil_2d",
        &[("width", "40"), ("height", "21"), ("steps", "3")],
    ),
    ("vector_add", &[("n", "1000"), ("block", "64")]),
];

#[test]
fn every_shipped_workload_is_clean_or_says_what_it_allows() {
    for (name, sets) in SMALL {
        let program = workload(&format!("{name}.ron"), sets);
        assert!(
            program.warnings().is_empty(),
            "{name}: {}",
            program.warnings()
        );
        let examined = examine(&program);
        let text = examined.to_text(name);
        assert!(examined.is_clean(), "{text}");
        assert!(
            examined.unneeded.is_empty(),
            "{name}: {}",
            examined.unneeded
        );
        assert_eq!(examined.count(Verdict::Undecided), 0, "{text}");
        assert_eq!(
            examined.allowed() > 0,
            ["bfs", "sssp"].contains(&name),
            "{text}"
        );
    }
}

#[test]
fn shipped_workloads_without_their_allowances_are_found_to_race() {
    for (name, sets) in SMALL
        .iter()
        .filter(|(name, _)| ["bfs", "sssp"].contains(name))
    {
        let mut program = workload(&format!("{name}.ron"), sets);
        program.allowed.clear();
        let examined = examine(&program);
        assert!(examined.count(Verdict::Error) > 0, "{name}");
        let races = examined.findings.iter();
        let mut races = races.filter(|f| f.finding.verdict == Verdict::Error);
        assert!(
            races.all(|f| f.finding.kind == FindingKind::GlobalRace),
            "{name}"
        );
    }
}
