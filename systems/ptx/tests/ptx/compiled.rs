//! Tests of code as compiled: what moves, what goes, what stays, and that values are the same.

use std::fmt::Write as _;

use proptest::prelude::*;
use warpweave_ptx::{
    CodeForm, DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, Module, launch,
};

use crate::harness::{HEADER, kernel, run};

fn compiled(text: &str) -> Module {
    let text = format!("{HEADER}{text}");
    Module::parse_as("test.ptx", &text, CodeForm::AsCompiled).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the compiled instructions of a body, without the surroundings of the harness' kernel.
fn opcodes(body: &str) -> Vec<String> {
    // The body's values are bit for bit those of the text, too.
    run(body);
    let module = compiled(&kernel(body));
    let instructions = module
        .kernel("k")
        .expect("it is there")
        .code()
        .instructions
        .iter();
    let shown = instructions.map(|instruction| match instruction.guard {
        Some(guard) if guard.negated => format!("@! {}", instruction.opcode),
        Some(_) => format!("@ {}", instruction.opcode),
        None => instruction.opcode.clone(),
    });
    shown.filter(|opcode| opcode != "ret").collect()
}

fn place(opcodes: &[String], opcode: &str) -> usize {
    let found = opcodes.iter().position(|found| found == opcode);
    found.unwrap_or_else(|| panic!("no {opcode} in {opcodes:?}"))
}

#[test]
fn loads_come_before_the_arithmetic_of_earlier_ones() {
    let got = opcodes(
        ".shared .align 4 .b8 pool[4];
         ld.global.u32 %r1, [%rd0]; mul.lo.u32 %r2, %r1, 3; st.shared.u32 [pool], %r2;
         ld.global.u32 %r3, [%rd0+4]; mul.lo.u32 %r4, %r3, %r2; st.global.u32 [%rd0+8], %r4;",
    );
    let loads: Vec<usize> = (0..got.len())
        .filter(|&at| got[at] == "ld.global.u32")
        .collect();
    assert_eq!(loads[1], loads[0] + 1, "{got:?}");
    assert!(loads[1] < place(&got, "st.shared.u32"), "{got:?}");
}

#[test]
fn loads_do_not_cross_stores_that_may_overlap_them() {
    let got = opcodes(
        "mov.u32 %r5, 7; st.global.u32 [%rd0+4], %r5; ld.global.u32 %r1, [%rd0+4];
         st.global.u16 [%rd0+2], %rs1; ld.global.u32 %r2, [%rd0]; add.u32 %r2, %r2, %r1;
         st.global.u32 [%rd0+8], %r2;",
    );
    assert!(place(&got, "st.global.u16") < got.len() - 3, "{got:?}");
    let last = got.iter().rposition(|opcode| opcode == "ld.global.u32");
    assert!(Some(place(&got, "st.global.u16")) < last, "{got:?}");
}

#[test]
fn barriers_atomics_and_volatile_accesses_stay_between_their_neighbours() {
    for between in [
        "bar.sync 0;",
        "red.shared.add.u32 [pool], 1;",
        "ld.volatile.shared.u32 %r7, [pool];",
        "membar.cta;",
        "shfl.sync.idx.b32 %r7, %r0, 0, 31, 0xffffffff;",
    ] {
        let got = opcodes(&format!(
            ".shared .align 4 .b8 pool[8]; mul.lo.u32 %r1, %r0, 3;
             st.shared.u32 [pool+4], %r1; {between} ld.global.u32 %r2, [%rd0];
             add.u32 %r2, %r2, %r1; st.global.u32 [%rd0+4], %r2;"
        ));
        let opcode = between.split([' ', ';']).next().expect("an opcode");
        let (store, load) = (place(&got, "st.shared.u32"), place(&got, "ld.global.u32"));
        assert!(
            store < place(&got, opcode) && place(&got, opcode) < load,
            "{got:?}"
        );
    }
}

#[test]
fn copies_and_extensions_cost_nothing_and_an_address_takes_one_instruction() {
    let got = opcodes(
        "ld.param.u64 %rd8, [out]; cvta.to.global.u64 %rd1, %rd8; mov.u32 %r1, %r0;
         cvt.u64.u32 %rd2, %r1; shl.b64 %rd3, %rd2, 3; add.s64 %rd4, %rd1, %rd3;
         mul.wide.s32 %rd6, %r1, -4; add.s64 %rd7, %rd6, %rd4; st.global.u32 [%rd7], %r1;",
    );
    for gone in [
        "cvta.to.global.u64",
        "cvt.u64.u32",
        "shl.b64",
        "mul.wide.s32",
    ] {
        assert!(got.iter().all(|opcode| opcode != gone), "{got:?}");
    }
    assert!(
        place(&got, "mad.wide.u32") < place(&got, "mad.wide.s32"),
        "{got:?}"
    );
}

#[test]
fn a_copy_stays_if_its_original_changes_before_the_copy_is_read() {
    // In each round %r2 is the value of %r1 of the round before.
    let body = "mov.u32 %r1, 5; mov.u32 %r4, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;
         again: add.u32 %r3, %r3, %r2; mov.u32 %r2, %r1; add.u32 %r1, %r1, 1;
         add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 3; @%p1 bra again;
         st.global.u32 [%rd0], %r3;";
    assert_eq!(run(body).u32(0), 5 + 6);
    place(&opcodes(body), "mov.u32");
}

#[test]
fn short_branches_become_predicates() {
    let body = |condition: &str| {
        format!(
            "setp.lt.u32 %p1, %r0, 9; mov.u32 %r1, 1; {condition} bra other;
             mov.u32 %r1, 2; bra.uni join; other: add.u32 %r1, %r1, 4;
             join: st.global.u32 [%rd0], %r1;"
        )
    };
    for (condition, first) in [("@%p1", "@! mov.u32"), ("@!%p1", "@ mov.u32")] {
        let got = opcodes(&body(condition));
        place(&got, first);
        assert!(got.iter().all(|opcode| !opcode.contains("bra")), "{got:?}");
    }
}

#[test]
fn branches_around_barriers_long_sides_and_loops_stay() {
    for side in [
        "bar.sync 0;".to_owned(),
        "add.u32 %r1, %r1, 4;".repeat(10),
        "again: add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 9; @%p2 bra again;".to_owned(),
    ] {
        let got = opcodes(&format!(
            "setp.ge.u32 %p1, %r0, 99; mov.u32 %r1, 1; @%p1 bra join; {side}
             join: st.global.u32 [%rd0], %r1;"
        ));
        place(&got, "@ bra");
    }
}

#[test]
fn addresses_of_local_memory_take_one_register_each() {
    let got = opcodes(
        ".shared .align 4 .b8 pool[128]; mov.u64 %rd1, pool; mul.wide.u32 %rd2, %r0, 4;
         add.s64 %rd3, %rd1, %rd2; st.shared.u32 [%rd3], %r0; ld.shared.u32 %r1, [%rd3];
         st.global.u32 [%rd0], %r1;",
    );
    place(&got, "mad.lo.u32");
}

#[test]
fn neighbouring_loads_join_where_their_alignment_is_known() {
    let body = |scale: u32| {
        format!(
            ".shared .align 4 .b8 pool[1024]; mov.u64 %rd1, pool; mul.wide.u32 %rd2, %r0, {scale};
             add.s64 %rd3, %rd1, %rd2; st.shared.u32 [%rd3], %r0; st.shared.u32 [%rd3+4], 7;
             st.shared.u32 [%rd3+8], 8; st.shared.u32 [%rd3+12], 9; ld.shared.u32 %r1, [%rd3+12];
             ld.shared.u32 %r2, [%rd3+8]; ld.shared.u32 %r3, [%rd3+4]; ld.shared.u32 %r4, [%rd3];
             shl.b32 %r2, %r2, 4; shl.b32 %r3, %r3, 8; add.u32 %r1, %r1, %r2;
             add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; st.global.u32 [%rd0], %r1;"
        )
    };
    assert_eq!(run(&body(16)).u32(4 * 3), 3 + 7 * 256 + 8 * 16 + 9);
    place(&opcodes(&body(16)), "ld.shared.v4.u32");
    place(&opcodes(&body(8)), "ld.shared.v2.u32");
    place(&opcodes(&body(4)), "ld.shared.u32");
}

#[test]
fn loads_around_a_store_or_a_change_of_a_result_do_not_join() {
    for between in [
        "st.shared.u32 [pool+4], %r0;",
        "add.u32 %r2, %r2, %r1;",
        "bar.sync 0;",
    ] {
        let got = opcodes(&format!(
            ".shared .align 4 .b8 pool[1024]; mov.u32 %r2, 1; ld.shared.u32 %r1, [pool]; {between}
             ld.shared.u32 %r2, [pool+4]; add.u32 %r1, %r1, %r2; st.global.u32 [%rd0], %r1;"
        ));
        // What only writes the result before it is loaded is not read, and goes.
        let joins = got.iter().any(|opcode| opcode.starts_with("ld.shared.v2"));
        assert!(!joins || between.starts_with("add"), "{got:?}");
    }
}

#[test]
fn a_division_takes_as_many_instructions_as_hardware_has_for_it() {
    let body = |instruction: &str| {
        format!(
            "cvt.rn.f32.u32 %f1, %r0; add.u32 %r1, %r0, 3; cvt.rn.f32.u32 %f2, %r1;
             {instruction} st.global.f32 [%rd0], %f3; st.global.u32 [%rd0+4], %r2;
             st.global.f32 [%rd0+8], %f2; st.global.f32 [%rd0+12], %f1;"
        )
    };
    let count = |instruction: &str| opcodes(&body(instruction)).len();
    let none = count("mul.rn.f32 %f3, %f1, %f2;");
    for (instruction, more) in [
        ("div.rn.f32 %f3, %f1, %f2;", 9),
        ("rcp.rn.f32 %f3, %f2;", 6),
        ("sqrt.rn.f32 %f3, %f2;", 6),
        ("div.approx.f32 %f3, %f1, %f2;", 0),
        ("div.u32 %r2, %r0, %r1;", 17),
        ("rem.s32 %r2, %r0, %r1;", 17),
    ] {
        assert_eq!(count(instruction), none + more, "{instruction}");
    }
}

/// A register of a random program, `%r10` and up.
type Name = u8;
const NAMES: Name = 6;
/// Words of each thread in global memory, and in local memory.
const WORDS: u32 = 4;

#[derive(Clone, Debug)]
enum Step {
    Set(Name, u8),
    Copy(Name, Name),
    Add(Name, Name, Name),
    Multiply(Name, Name, Name),
    /// Stores to a word: in local memory or not, at a constant place or that of a register.
    Store(bool, Place, Name),
    Load(bool, Place, Name),
    Count(Place),
    Barrier,
    If(Name, Name, Vec<Step>, Vec<Step>),
    Loop(u8, Vec<Step>),
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Word(u8),
    At(Name),
}

/// Writes a random program as PTX, with labels and scratch registers of its own.
#[derive(Default)]
struct Writer {
    text: String,
    labels: u32,
    wide: u32,
}

impl Writer {
    fn wide(&mut self) -> u32 {
        self.wide += 1;
        self.wide
    }

    fn address(&mut self, is_local: bool, place: Place) -> String {
        let base = if is_local { "%rdl" } else { "%rdg" };
        match place {
            Place::Word(word) => format!("{base}+{}", 4 * (u32::from(word) % WORDS)),
            Place::At(name) => {
                let [index, scaled, sum] = std::array::from_fn(|_| self.wide());
                let _ = writeln!(
                    self.text,
                    "and.b32 %r9, %r1{name}, {}; cvt.u64.u32 %w{index}, %r9;
                     shl.b64 %w{scaled}, %w{index}, 2; add.s64 %w{sum}, {base}, %w{scaled};",
                    WORDS - 1
                );
                format!("%w{sum}")
            }
        }
    }

    fn steps(&mut self, steps: &[Step], is_uniform: bool) {
        for step in steps {
            match step {
                Step::Set(d, value) => {
                    let _ = writeln!(self.text, "mov.u32 %r1{d}, {value};");
                }
                Step::Copy(d, a) => {
                    let _ = writeln!(self.text, "mov.u32 %r1{d}, %r1{a};");
                }
                Step::Add(d, a, b) => {
                    let _ = writeln!(self.text, "add.u32 %r1{d}, %r1{a}, %r1{b};");
                }
                Step::Multiply(d, a, b) => {
                    let _ = writeln!(self.text, "mad.lo.u32 %r1{d}, %r1{a}, %r1{b}, %r1{d};");
                }
                Step::Store(is_local, place, a) => {
                    let address = self.address(*is_local, *place);
                    let space = if *is_local { "shared" } else { "global" };
                    let _ = writeln!(self.text, "st.{space}.u32 [{address}], %r1{a};");
                }
                Step::Load(is_local, place, d) => {
                    let address = self.address(*is_local, *place);
                    let space = if *is_local { "shared" } else { "global" };
                    let _ = writeln!(self.text, "ld.{space}.u32 %r1{d}, [{address}];");
                }
                Step::Count(place) => {
                    let address = self.address(true, *place);
                    let _ = writeln!(self.text, "red.shared.add.u32 [{address}], 1;");
                }
                Step::Barrier if is_uniform => self.text.push_str("bar.sync 0;\n"),
                Step::Barrier => {}
                Step::If(a, b, then, otherwise) => {
                    self.labels += 1;
                    let label = self.labels;
                    let _ = writeln!(
                        self.text,
                        "setp.lt.u32 %p1, %r1{a}, %r1{b}; @!%p1 bra ELSE{label};"
                    );
                    self.steps(then, false);
                    let _ = writeln!(self.text, "bra.uni END{label}; ELSE{label}:");
                    self.steps(otherwise, false);
                    let _ = writeln!(self.text, "END{label}:");
                }
                Step::Loop(times, body) => {
                    self.labels += 1;
                    let label = self.labels;
                    let _ = writeln!(self.text, "mov.u32 %c{label}, 0; HEAD{label}:");
                    self.steps(body, is_uniform);
                    let _ = writeln!(
                        self.text,
                        "add.u32 %c{label}, %c{label}, 1; setp.lt.u32 %p2, %c{label}, {times};
                         @%p2 bra HEAD{label};"
                    );
                }
            }
        }
    }
}

/// Returns a kernel whose threads execute the steps on words of their own, and store all they have.
fn program(steps: &[Step]) -> String {
    let mut writer = Writer::default();
    writer.steps(steps, true);
    let mut text = format!(
        ".visible .entry k(.param .u64 out)
{{
    .reg .b32 %r<32>; .reg .b32 %c<{}>; .reg .b64 %w<{}>; .reg .pred %p<4>;
    .reg .b64 %rdg, %rdl, %rd<9>;
    .shared .align 4 .b8 pool[2048];
    ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 64; add.s64 %rdg, %rd2, %rd3;
    mov.u64 %rd4, pool; mul.wide.u32 %rd5, %r1, 16; add.s64 %rdl, %rd4, %rd5;\n",
        writer.labels + 1,
        writer.wide + 1
    );
    for name in 0..NAMES {
        let _ = writeln!(text, "add.u32 %r1{name}, %r1, {name};");
    }
    for word in 0..WORDS {
        let _ = writeln!(text, "st.shared.u32 [%rdl+{}], {word};", 4 * word);
    }
    text.push_str(&writer.text);
    for name in 0..u32::from(NAMES) {
        let _ = writeln!(text, "st.global.u32 [%rdg+{}], %r1{name};", 16 + 4 * name);
    }
    for word in 0..WORDS {
        let at = 4 * word;
        let to = 40 + at;
        let _ = writeln!(
            text,
            "ld.shared.u32 %r8, [%rdl+{at}]; st.global.u32 [%rdg+{to}], %r8;"
        );
    }
    text + "ret;\n}\n"
}

fn step() -> impl Strategy<Value = Step> {
    let name = || 0..NAMES;
    let at = || {
        prop_oneof![
            any::<u8>().prop_map(Place::Word),
            (0..NAMES).prop_map(Place::At)
        ]
    };
    let leaf = prop_oneof![
        1 => (name(), any::<u8>()).prop_map(|(d, value)| Step::Set(d, value)),
        2 => (name(), name()).prop_map(|(d, a)| Step::Copy(d, a)),
        2 => (name(), name(), name()).prop_map(|(d, a, b)| Step::Add(d, a, b)),
        2 => (name(), name(), name()).prop_map(|(d, a, b)| Step::Multiply(d, a, b)),
        3 => (any::<bool>(), at(), name()).prop_map(|(l, p, a)| Step::Store(l, p, a)),
        4 => (any::<bool>(), at(), name()).prop_map(|(l, p, d)| Step::Load(l, p, d)),
        1 => at().prop_map(Step::Count),
        1 => Just(Step::Barrier),
    ];
    leaf.prop_recursive(3, 24, 5, move |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..5);
        prop_oneof![
            3 => (0..NAMES, 0..NAMES, list(), list())
                .prop_map(|(a, b, then, other)| Step::If(a, b, then, other)),
            1 => (1..4_u8, list()).prop_map(|(times, body)| Step::Loop(times, body)),
        ]
    })
}

/// Returns the memory of a launch of two wavefronts, with registers and instructions of its code.
fn executed(text: &str, form: CodeForm) -> Vec<u8> {
    let text = format!("{HEADER}{text}");
    let module = Module::parse_as("test.ptx", &text, form).unwrap_or_else(|e| panic!("{e}"));
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 64 * 64);
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [64, 1, 1],
        dynamic_local_bytes: 0,
        args: &[KernelArgument::Pointer(out)],
    };
    let options = EmulationOptions::default();
    let ended = launch(&module, "k", config, &mut memory, &options);
    ended.unwrap_or_else(|error| panic!("{error}"));
    memory.read(out, 64 * 64).expect("the buffer").to_vec()
}

proptest! {
    #[test]
    fn random_programs_store_the_same_bits_in_both_forms(
        steps in prop::collection::vec(step(), 1..24),
    ) {
        let text = program(&steps);
        let written = executed(&text, CodeForm::AsWritten);
        prop_assert_eq!(written, executed(&text, CodeForm::AsCompiled), "{}", text);
    }
}
