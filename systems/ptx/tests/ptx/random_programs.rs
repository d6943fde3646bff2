//! Tests the checker against a naive one on small random programs.
//!
//! The naive checker runs the threads one after another and keeps every access; it uses no clocks
//! and never drops an access.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use proptest::prelude::*;
use warpweave_ptx::{
    DeviceMemory, EmulationOptions, Finding, FindingKind, KernelArgument, LaunchConfig, Numbers,
    ProgramChecker,
};

use crate::harness::{kernel, module};

/// Line of the first statement, after the module head, the kernel head and the prologue.
const FIRST_LINE: u32 = 20;
const REGISTERS: u8 = 4;

/// Condition that selects the threads that execute a statement.
#[derive(Clone, Copy, Debug)]
enum Guard {
    All,
    Below(bool),
    Odd(bool),
}

impl Guard {
    fn holds(self, thread: u32) -> bool {
        match self {
            Self::All => true,
            Self::Below(yes) => (thread < 37) == yes,
            Self::Odd(yes) => (thread % 2 == 1) == yes,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Below(true) => "@%p1 ",
            Self::Below(false) => "@!%p1 ",
            Self::Odd(true) => "@%p2 ",
            Self::Odd(false) => "@!%p2 ",
        }
    }
}

/// Local memory bytes that a thread accesses: words or half words, scaled by a factor.
#[derive(Clone, Copy, Debug)]
struct Place {
    factor: u32,
    offset: u32,
    is_half: bool,
}

impl Place {
    fn bytes(self, thread: u32) -> std::ops::Range<u32> {
        let index = thread * self.factor + self.offset;
        if self.is_half {
            let start = index % 16 * 2;
            start..start + 2
        } else {
            let start = index % 8 * 4;
            start..start + 4
        }
    }

    fn text(self) -> String {
        let (ones, width) = if self.is_half { (15, 2) } else { (7, 4) };
        format!(
            "mad.lo.u32 %r20, %r0, {}, {}; and.b32 %r20, %r20, {ones}; \
             mad.lo.u32 %r20, %r20, {width}, %r9;",
            self.factor, self.offset
        )
    }
}

#[derive(Clone, Copy, Debug)]
enum Statement {
    Store(Guard, Place),
    Load(Guard, Place),
    Add(Guard, Place),
    Barrier,
    LanesMeet,
    Write(Guard, u8),
    Copy(Guard, u8, u8),
    Sum(Guard, u8, u8, u8),
    /// Writes a register to global memory.
    Show(Guard, u8),
    /// Copies to private memory: (offset, bytes).
    Keep(Guard, u32, u32),
    /// Writes private memory plus one to global memory.
    Recall(Guard, u32, u32),
}

impl Statement {
    fn text(self) -> String {
        match self {
            Self::Store(guard, place) => {
                let ty = if place.is_half { "u16" } else { "u32" };
                format!(
                    "{} {}st.shared.{ty} [%r20], %r0;",
                    place.text(),
                    guard.text()
                )
            }
            Self::Load(guard, place) => {
                let ty = if place.is_half { "u16" } else { "u32" };
                format!(
                    "{} {}ld.shared.{ty} %r21, [%r20];",
                    place.text(),
                    guard.text()
                )
            }
            Self::Add(guard, place) => {
                format!(
                    "{} {}red.shared.add.u32 [%r20], 1;",
                    place.text(),
                    guard.text()
                )
            }
            Self::Barrier => "bar.sync 0;".to_owned(),
            Self::LanesMeet => "bar.warp.sync 0xffffffff;".to_owned(),
            Self::Write(guard, d) => format!("{}mov.u32 %r1{d}, 5;", guard.text()),
            Self::Copy(guard, d, a) => format!("{}mov.u32 %r1{d}, %r1{a};", guard.text()),
            Self::Sum(guard, d, a, b) => {
                format!("{}add.u32 %r1{d}, %r1{a}, %r1{b};", guard.text())
            }
            Self::Keep(guard, at, bytes) => {
                format!("{}st.local.u{} [mine+{at}], %r0;", guard.text(), 8 * bytes)
            }
            Self::Show(guard, a) => {
                format!("{}st.global.u32 [%rd0], %r1{a};", guard.text())
            }
            Self::Recall(guard, at, bytes) => {
                let (guard, bits) = (guard.text(), 8 * bytes);
                format!(
                    "{guard}ld.local.u{bits} %r22, [mine+{at}]; {guard}add.u32 %r22, %r22, 1; \
                     {guard}st.global.u32 [%rd0+4], %r22;"
                )
            }
        }
    }
}

fn guard() -> impl Strategy<Value = Guard> {
    prop_oneof![
        2 => Just(Guard::All),
        1 => any::<bool>().prop_map(Guard::Below),
        1 => any::<bool>().prop_map(Guard::Odd),
    ]
}

fn place(may_be_half: bool) -> impl Strategy<Value = Place> {
    (0..4_u32, 0..8_u32, any::<bool>()).prop_map(move |(factor, offset, is_half)| Place {
        factor,
        offset,
        is_half: is_half && may_be_half,
    })
}

fn statement() -> impl Strategy<Value = Statement> {
    let register = || 0..REGISTERS;
    let bytes = || (0..8_u32, 0..3_u32).prop_map(|(at, log)| (at >> log << log, 1 << log));
    prop_oneof![
        3 => (guard(), place(true)).prop_map(|(g, p)| Statement::Store(g, p)),
        3 => (guard(), place(true)).prop_map(|(g, p)| Statement::Load(g, p)),
        2 => (guard(), place(false)).prop_map(|(g, p)| Statement::Add(g, p)),
        2 => Just(Statement::Barrier),
        2 => Just(Statement::LanesMeet),
        2 => (guard(), register()).prop_map(|(g, d)| Statement::Write(g, d)),
        1 => (guard(), register(), register()).prop_map(|(g, d, a)| Statement::Copy(g, d, a)),
        2 => (guard(), register(), register(), register())
            .prop_map(|(g, d, a, b)| Statement::Sum(g, d, a, b)),
        2 => (guard(), register()).prop_map(|(g, a)| Statement::Show(g, a)),
        2 => (guard(), bytes()).prop_map(|(g, (at, n))| Statement::Keep(g, at, n)),
        2 => (guard(), bytes()).prop_map(|(g, (at, n))| Statement::Recall(g, at, n)),
    ]
}

/// Returns the checker's findings for a random program.
fn examine(program: &[Statement], threads: u32, quantum: u32) -> Vec<Finding> {
    let mut body =
        ".shared .align 4 .b8 pool[32]; .local .align 4 .b8 mine[8]; mov.u32 %r9, pool; \
                    setp.lt.u32 %p1, %r0, 37; and.b32 %r8, %r0, 1; setp.eq.u32 %p2, %r8, 1;\n"
            .to_owned();
    // The prologue ends where the first statement's line begins.
    let head = kernel("").lines().position(|line| line.trim() == "ret;");
    let before = crate::harness::HEADER.lines().count() + head.expect("the kernel ends");
    for _ in before + 1..FIRST_LINE as usize {
        body.insert(0, '\n');
    }
    let body = body.trim_end().to_owned() + "\n";
    let mut text = body;
    for statement in program {
        let _ = writeln!(text, "{}", statement.text());
    }
    let module = module(&kernel(&text));
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", u64::from(threads) * 16);
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [threads, 1, 1],
        dynamic_local_bytes: 0,
        args: &[KernelArgument::Pointer(out)],
    };
    let options = EmulationOptions {
        quantum,
        ..EmulationOptions::default()
    };
    let mut checker = ProgramChecker::new();
    checker
        .launch(
            &module,
            "k",
            config,
            &mut memory,
            &options,
            &mut Numbers::default(),
        )
        .unwrap_or_else(|error| panic!("{error}"));
    checker.findings().to_vec()
}

/// Returns pairs of statements that race. Different threads access common bytes, at least one
/// writes, not both are atomic, and no barrier separates them.
fn races(program: &[Statement], threads: u32) -> BTreeSet<(usize, usize)> {
    struct Access {
        statement: usize,
        thread: u32,
        bytes: std::ops::Range<u32>,
        writes: bool,
        is_atomic: bool,
        barriers: u32,
        meetings: u32,
    }
    let mut accesses: Vec<Access> = Vec::new();
    for thread in 0..threads {
        let (mut barriers, mut meetings) = (0, 0);
        for (statement, what) in program.iter().enumerate() {
            let (guard, place, writes, is_atomic) = match *what {
                Statement::Store(guard, place) => (guard, place, true, false),
                Statement::Load(guard, place) => (guard, place, false, false),
                Statement::Add(guard, place) => (guard, place, true, true),
                Statement::Barrier => {
                    barriers += 1;
                    continue;
                }
                Statement::LanesMeet => {
                    meetings += 1;
                    continue;
                }
                _ => continue,
            };
            if guard.holds(thread) {
                accesses.push(Access {
                    statement,
                    thread,
                    bytes: place.bytes(thread),
                    writes,
                    is_atomic,
                    barriers,
                    meetings,
                });
            }
        }
    }
    let mut pairs = BTreeSet::new();
    for (at, one) in accesses.iter().enumerate() {
        for other in &accesses[at + 1..] {
            let ordered = one.barriers != other.barriers
                || one.thread / 32 == other.thread / 32 && one.meetings != other.meetings;
            let common = one.bytes.start < other.bytes.end && other.bytes.start < one.bytes.end;
            if one.thread != other.thread
                && common
                && !ordered
                && (one.writes || other.writes)
                && !(one.is_atomic && other.is_atomic)
            {
                let pair = [one.statement, other.statement];
                pairs.insert((pair[0].min(pair[1]), pair[0].max(pair[1])));
            }
        }
    }
    pairs
}

/// Value of a register in the naive checker.
#[derive(Clone, Copy)]
enum Value {
    Known,
    /// Unset; the statement and the register of its first use, if it was used.
    Unset(Option<(usize, u8)>),
}

impl Value {
    /// Returns the first use of an unset value in `register`, at the latest in statement `at`.
    fn used(&mut self, at: usize, register: u8) -> Option<(usize, u8)> {
        match self {
            Self::Known => None,
            Self::Unset(first) => Some(*first.get_or_insert((at, register))),
        }
    }
}

/// Returns, per statement, the number of uninitialised registers and bytes of all threads that it
/// is the first to use, and that reach global memory.
fn unwritten(program: &[Statement], threads: u32) -> BTreeMap<usize, u64> {
    let mut found = BTreeMap::new();
    for thread in 0..threads {
        let mut registers = [Value::Unset(None); REGISTERS as usize];
        let mut bytes = [false; 8];
        let mut shown = BTreeSet::new();
        for (at, statement) in program.iter().enumerate() {
            match *statement {
                Statement::Write(guard, d) if guard.holds(thread) => {
                    registers[usize::from(d)] = Value::Known;
                }
                Statement::Copy(guard, d, a) if guard.holds(thread) => {
                    registers[usize::from(d)] = registers[usize::from(a)];
                }
                Statement::Sum(guard, d, a, b) if guard.holds(thread) => {
                    let first = registers[usize::from(a)].used(at, a);
                    let first = first.or(registers[usize::from(b)].used(at, b));
                    registers[usize::from(d)] = match first {
                        None => Value::Known,
                        first => Value::Unset(first),
                    };
                }
                Statement::Show(guard, a) if guard.holds(thread) => {
                    if let Some(first) = registers[usize::from(a)].used(at, a)
                        && shown.insert(first)
                    {
                        *found.entry(first.0).or_default() += 1;
                    }
                }
                Statement::Keep(guard, from, n) if guard.holds(thread) => {
                    bytes[from as usize..(from + n) as usize].fill(true);
                }
                Statement::Recall(guard, from, n) if guard.holds(thread) => {
                    let bytes = &mut bytes[from as usize..(from + n) as usize];
                    if bytes.contains(&false) {
                        *found.entry(at).or_default() += 1;
                    }
                    bytes.fill(true);
                }
                _ => {}
            }
        }
    }
    found
}

/// Returns the number of the statement on a line.
fn statement_on(line: u32) -> usize {
    (line - FIRST_LINE) as usize
}

proptest! {
    #[test]
    fn races_are_those_of_the_naive_checker(
        program in prop::collection::vec(statement(), 1..9),
        threads in prop_oneof![Just(32_u32), Just(40), Just(64), Just(96)],
        quantum in 1..9_u32,
    ) {
        let expected = races(&program, threads);
        let mut found = BTreeSet::new();
        for finding in examine(&program, threads, quantum) {
            if let (FindingKind::LocalRace, Some(other)) = (finding.kind, finding.other) {
                let pair = [finding.spot.line, other.line].map(statement_on);
                found.insert((pair[0].min(pair[1]), pair[0].max(pair[1])));
            }
        }
        prop_assert!(found.is_subset(&expected), "{found:?} of {expected:?}");
        prop_assert_eq!(found.is_empty(), expected.is_empty(), "{:?}", expected);
    }

    #[test]
    fn unwritten_registers_and_private_bytes_are_those_of_the_naive_checker(
        program in prop::collection::vec(statement(), 1..12),
        threads in prop_oneof![Just(32_u32), Just(40), Just(64)],
        quantum in 1..9_u32,
    ) {
        let mut found: BTreeMap<usize, u64> = BTreeMap::new();
        for finding in examine(&program, threads, quantum) {
            let is_private = finding.buffer.as_deref() == Some("mine");
            let is_register = finding.kind == FindingKind::UninitialisedRegister;
            if is_register || finding.kind == FindingKind::UninitialisedMemory && is_private {
                *found.entry(statement_on(finding.spot.line)).or_default() += finding.count;
            }
        }
        prop_assert_eq!(found, unwritten(&program, threads));
    }
}
