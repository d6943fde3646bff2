//! Optional mechanisms of the unit, checked against closed forms.

use super::*;

fn fetch() -> FetchSpec {
    FetchSpec {
        base: 1 << 50,
        instruction_bytes: 8,
        bytes: 16,
        line_bytes: 64,
        buffer: 2,
        latency: 3,
    }
}

/// Returns `n` independent additions followed by an exit.
fn additions(n: u16) -> Vec<Step> {
    let add = |i| step(op(Class::IntAdd, &[i], &[]));
    (0..n).map(add).chain([exit()]).collect()
}

#[test]
fn a_buffer_of_two_is_filled_again_when_it_is_empty() {
    let spec = ComputeUnitSpec {
        fetch: Some(fetch()),
        ..spec()
    };
    let mut bench = Bench::new(spec, vec![kernel(&[additions(5)], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    // The first record is known in 3. Fetches in 3, 7 and 11 return two instructions each, which
    // issue three and four cycles later. The unit then waits for the result of the last addition,
    // issued in 14.
    bench.expect_completion(14 + 4, 0, 0);
    assert_eq!(bench.counter("slots_fetch"), 3 + 2 + 2);
    assert_eq!(bench.counter("fetches"), 3);
}

#[test]
fn wavefronts_fetch_in_turn_one_per_cycle() {
    let spec = ComputeUnitSpec {
        fetch: Some(fetch()),
        ..spec()
    };
    let mut bench = Bench::new(spec, vec![kernel(&vec![vec![exit()]; 4], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    // Fetches in 3, 4, 5, 6; exits in 6, 7, 8, 9.
    bench.expect_completion(10, 0, 0);
    assert_eq!(bench.counter("slots_fetch"), 3);
}

#[test]
fn fetches_are_reads_of_lines_and_stop_at_their_end() {
    let spec = ComputeUnitSpec {
        fetch: Some(FetchSpec {
            bytes: 48,
            buffer: 8,
            ..fetch()
        }),
        ..spec()
    };
    let mut bench = TestBench::new();
    bench.add("cu", build(spec, vec![kernel(&[additions(9)], 1, 0)]));
    let dispatch = bench.source("cu.dispatch.dispatch");
    let request = bench.sink("cu.instructions.request");
    let response = bench.source("cu.instructions.response");
    let completion = bench.sink::<Completion>("cu.dispatch.completion");
    let _request = bench.sink::<MemRequest>("cu.memory.request");
    let _response = bench.source::<MemResponse>("cu.memory.response");
    dispatch.send_at(
        1,
        Dispatch::Start {
            kernel: 0,
            work_group: 0,
            slot: 0,
            hint: 0,
        },
    );
    let mut fetched = |cycle: Cycle, line: u64, words: u32| {
        let (at, found): (Cycle, MemRequest) = bench.receive(&request);
        assert_eq!((at, found.line, found.words), (cycle, line, words));
        response.send_at(at + 10, found.answer(Level::L2));
    };
    // Six instructions of 8 bytes, two to the end of the line, two of the next.
    fetched(3, 1 << 50, 0x0fff);
    fetched(13, 1 << 50, 0xf000);
    fetched(23, (1 << 50) + 64, 0x000f);
    // They come in 33: the ninth addition issues, then the exit, and the addition's result comes.
    let (cycle, _) = bench.receive(&completion);
    assert_eq!(cycle, 33 + 4);
    let statistics = bench.statistics("cu");
    assert_eq!(statistics.counter("slots_memory"), Some(0));
    assert_eq!(statistics.counter("slots_fetch"), Some(10 + 4 + 8));
}

fn local_load(write: u16, conflicts: u64) -> Step {
    access(
        Class::Load,
        &[write],
        &[],
        Space::Shared,
        strided(0, 4 * conflicts),
    )
}

#[test]
fn the_pipe_serves_local_and_global_accesses_in_the_order_of_issue() {
    let mut spec = spec();
    spec.load_store.pipe = MemoryPipe::InOrder;
    let steps = vec![
        access(Class::Load, &[1], &[], Space::Global, strided(0, 128)),
        local_load(2, 1),
        step(op(Class::Exit, &[], &[2])),
    ];
    let mut bench = Bench::new(spec, vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    for _ in 0..32 {
        let (cycle, request) = bench.bench.receive(&bench.request);
        bench.response.send_at(cycle + 1, request.answer(Level::L1));
    }
    // Requests leave in 6 to 37. The local load is served in 38 instead of 7, and its dependent
    // instruction issues 10 - 3 cycles later.
    bench.expect_completion(38 + 7 + 1, 0, 0);
    assert_eq!(bench.counter("slots_scoreboard"), 40);
}

#[test]
fn an_access_holds_its_place_until_its_last_conflict() {
    let mut spec = spec();
    spec.load_store.pipe = MemoryPipe::InOrder;
    spec.load_store.queue_depth = 1;
    let steps = vec![local_load(1, 8), local_load(2, 1), exit()];
    let mut bench = Bench::new(spec, vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    // The first access issues in 3 and is served in 6 to 13. Its entry passes to the second in 13,
    // which is served in 16, with its result in 23.
    bench.expect_completion(23, 0, 0);
    assert_eq!(bench.counter("slots_load_store_full"), 9);
}

#[test]
fn alone_an_access_to_local_memory_takes_the_same_time_in_either_pipe() {
    for pipe in [MemoryPipe::Separate, MemoryPipe::InOrder] {
        let mut spec = spec();
        spec.load_store.pipe = pipe;
        let steps = vec![local_load(1, 4), step(op(Class::Exit, &[], &[1]))];
        Bench::completes_at(spec, &[steps], 3 + 10 + 3 + 1);
    }
}

#[test]
fn accesses_of_all_schedulers_share_the_issues_of_a_cycle() {
    let mut spec = spec();
    spec.schedulers = 4;
    spec.load_store.issues_per_cycle = Some(1);
    spec.load_store.queue_depth = 8;
    let steps = vec![
        access(Class::Load, &[1], &[], Space::Global, strided(0, 4)),
        exit(),
    ];
    let mut bench = Bench::new(spec, vec![kernel(&vec![steps; 4], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(10);
    // One in 3, 4, 5 and 6: three, two and one scheduler wait.
    assert_eq!(bench.counter("slots_load_store_full"), 6);
}

#[test]
fn reading_operands_delays_results_and_requests_and_not_control() {
    let spec = ComputeUnitSpec {
        operand_latency: 5,
        ..spec()
    };
    let chain = vec![
        step(op(Class::IntAdd, &[1], &[])),
        step(op(Class::Branch, &[], &[1])),
        exit(),
    ];
    Bench::completes_at(spec.clone(), &[chain], 3 + 9 + 4 + 1);
    let local = vec![local_load(1, 1), step(op(Class::Exit, &[], &[1]))];
    Bench::completes_at(spec.clone(), &[local], 3 + 15 + 1);
    let load = vec![
        access(Class::Load, &[1], &[], Space::Global, strided(0, 4)),
        exit(),
    ];
    let mut bench = Bench::new(spec, vec![kernel(&[load], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (cycle, _) = bench.bench.receive(&bench.request);
    assert_eq!(cycle, 3 + 3 + 5);
}

fn banked(collectors: u32) -> ComputeUnitSpec {
    ComputeUnitSpec {
        register_banks: Some(RegisterBanksSpec {
            banks: 4,
            by_wavefront: false,
            reads_per_cycle: 1,
            collectors,
            one_by_one: false,
            by_scheduler: false,
        }),
        ..spec()
    }
}

fn with_banks(
    mut spec: ComputeUnitSpec,
    change: impl FnOnce(&mut RegisterBanksSpec),
) -> ComputeUnitSpec {
    change(spec.register_banks.as_mut().expect("it has banks"));
    spec
}

/// Returns a wavefront that reads these registers, computes and ends with the result.
fn reading(registers: &[u16]) -> Vec<Step> {
    vec![
        step(op(Class::IntAdd, &[1], registers)),
        step(op(Class::Exit, &[], &[1])),
    ]
}

#[test]
fn registers_of_one_bank_are_read_one_after_the_other() {
    // Predicates are not stored in the register banks.
    let predicate = RegisterSet::FIRST_PREDICATE;
    for (registers, conflicts) in [
        (&[0, 1, 2, 3][..], 0),
        (&[0, 4, 1], 1),
        (&[0, 4, 9], 1),
        (&[3, 7, 11, 15], 3),
        (&[0, predicate, predicate + 4], 0),
    ] {
        let end = 3 + 4 + conflicts + 1;
        Bench::completes_at(banked(8), &[reading(registers)], end);
    }
    // Of two wavefronts that issue together the second reads behind the first, or another bank.
    for (by_wavefront, conflicts) in [(false, 1), (true, 0)] {
        let mut spec = with_banks(banked(8), |banks| banks.by_wavefront = by_wavefront);
        spec.schedulers = 2;
        let both = [reading(&[0]), reading(&[0])];
        Bench::completes_at(spec, &both, 3 + 4 + conflicts + 1);
    }
}

#[test]
fn a_bank_reads_so_many_registers_in_a_cycle() {
    for (reads_per_cycle, cycles) in [(1, 3), (2, 1), (3, 1), (4, 0)] {
        let spec = with_banks(banked(8), |banks| banks.reads_per_cycle = reads_per_cycle);
        let end = 3 + 4 + cycles + 1;
        Bench::completes_at(spec, &[reading(&[3, 7, 11, 15])], end);
    }
}

#[test]
fn a_collector_takes_registers_one_by_one_if_it_says_so() {
    for (registers, cycles) in [
        (&[][..], 0),
        (&[2], 0),
        (&[0, 1], 1),
        (&[0, 1, 2, 3], 3),
        (&[0, 4, 8], 2),
    ] {
        let spec = with_banks(banked(8), |banks| banks.one_by_one = true);
        let end = 3 + 4 + cycles + 1;
        Bench::completes_at(spec.clone(), &[reading(registers)], end);
        // Two in a cycle.
        let spec = with_banks(spec, |banks| banks.reads_per_cycle = 2);
        Bench::completes_at(spec, &[reading(registers)], 3 + 4 + cycles / 2 + 1);
    }
    // The second wavefront reads from each bank a cycle after the first.
    let mut spec = with_banks(banked(8), |banks| banks.one_by_one = true);
    spec.schedulers = 2;
    let both = [reading(&[0, 1]), reading(&[0, 1])];
    Bench::completes_at(spec, &both, 3 + 4 + 2 + 1);
}

#[test]
fn schedulers_have_banks_and_collectors_of_their_own_if_it_says_so() {
    // Both wavefronts issue in 3. One bank reads four registers, or two banks two each.
    for (by_scheduler, cycles) in [(false, 3), (true, 1)] {
        let mut spec = with_banks(banked(8), |banks| banks.by_scheduler = by_scheduler);
        spec.schedulers = 2;
        let both = [reading(&[0, 4]), reading(&[0, 4])];
        Bench::completes_at(spec, &both, 3 + 4 + cycles + 1);
    }
    // Register 2 is in the bank of register 0 where each scheduler has two banks.
    let mut spec = with_banks(banked(8), |banks| banks.by_scheduler = true);
    spec.schedulers = 2;
    Bench::completes_at(spec.clone(), &[reading(&[0, 2])], 3 + 4 + 1 + 1);
    // Each scheduler has one collector: a wavefront waits for its own scheduler's although the
    // other is free.
    let steps = vec![
        step(op(Class::IntAdd, &[1], &[0, 4, 8])),
        step(op(Class::IntAdd, &[2], &[])),
        exit(),
    ];
    let spec = with_banks(spec, |banks| banks.collectors = 2);
    let mut bench = Bench::new(spec, vec![kernel(std::slice::from_ref(&steps), 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.expect_completion(10, 0, 0);
    assert_eq!(bench.counter("slots_pipe_busy"), 2);
}

#[test]
#[should_panic(expected = "6 cannot be divided among 4 schedulers")]
fn collectors_that_cannot_be_dealt_to_schedulers_are_refused() {
    let mut spec = with_banks(banked(6), |banks| banks.by_scheduler = true);
    spec.schedulers = 4;
    build(spec, vec![kernel(&[vec![exit()]], 1, 0)]);
}

#[test]
fn an_instruction_holds_its_collector_until_its_last_register_is_read() {
    let steps = vec![
        step(op(Class::IntAdd, &[1], &[0, 4, 8])),
        step(op(Class::IntAdd, &[2], &[])),
        exit(),
    ];
    let mut bench = Bench::new(banked(1), vec![kernel(std::slice::from_ref(&steps), 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    // Reads in 3, 4 and 5; the other issues in 6 and the exit in 7.
    bench.expect_completion(10, 0, 0);
    assert_eq!(bench.counter("slots_pipe_busy"), 2);
    Bench::completes_at(banked(2), &[steps], 9);
}

#[test]
fn reading_one_bank_delays_requests_and_local_memory() {
    let registers = &[0, 4, 8];
    let load = vec![
        access(Class::Load, &[1], registers, Space::Global, strided(0, 4)),
        exit(),
    ];
    let mut bench = Bench::new(banked(8), vec![kernel(&[load], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (cycle, _) = bench.bench.receive(&bench.request);
    assert_eq!(cycle, 3 + 3 + 2);
    for pipe in [MemoryPipe::Separate, MemoryPipe::InOrder] {
        let mut spec = banked(8);
        spec.load_store.pipe = pipe;
        let local = |write: u16| {
            access(
                Class::Load,
                &[write],
                registers,
                Space::Shared,
                strided(0, 4),
            )
        };
        let steps = vec![local(1), step(op(Class::Exit, &[], &[1]))];
        Bench::completes_at(spec, &[steps], 3 + 10 + 2 + 1);
    }
}

#[test]
fn an_instruction_waits_for_a_cycle_in_which_its_result_has_room() {
    let mut limited = spec();
    limited.classes.int_add.latency = 5;
    limited.results_per_cycle = Some(1);
    let steps = vec![
        step(op(Class::IntAdd, &[1], &[])),
        step(op(Class::FpAdd, &[2], &[])),
        exit(),
    ];
    let mut bench = Bench::new(
        limited.clone(),
        vec![kernel(std::slice::from_ref(&steps), 1, 0)],
    );
    bench.start_at(1, 0, 0, 0);
    // The first result comes in 8, as the second would from an issue in 4.
    bench.expect_completion(9, 0, 0);
    assert_eq!(bench.counter("slots_pipe_busy"), 1);
    limited.results_per_cycle = Some(2);
    Bench::completes_at(limited, &[steps], 8);
}

#[test]
fn results_of_memories_need_no_room() {
    let mut limited = spec();
    limited.results_per_cycle = Some(1);
    limited.local_memory.latency = 5;
    let steps = vec![local_load(1, 1), step(op(Class::FpAdd, &[2], &[])), exit()];
    Bench::completes_at(limited, &[steps], 8);
}

#[test]
fn lanes_that_update_one_word_share_a_request_or_go_apart() {
    let requests = |atomics, addresses: [u64; LANES]| {
        let mut spec = spec();
        spec.load_store.atomics = atomics;
        let steps = vec![
            access(Class::Atomic, &[], &[], Space::Global, addresses),
            exit(),
        ];
        let mut bench = Bench::new(spec, vec![kernel(&[steps], 1, 0)]);
        bench.start_at(1, 0, 0, 0);
        bench.bench.step(80);
        bench.counter("atomic_requests")
    };
    let pairs: [u64; LANES] = std::array::from_fn(|lane| lane as u64 / 2 * 4);
    for (addresses, together, apart) in [
        (strided(0, 4), 1, 1),
        (strided(0x40, 0), 1, 32),
        (pairs, 1, 2),
        (strided(0, 128), 32, 32),
    ] {
        assert_eq!(requests(AtomicLanes::Together, addresses), together);
        assert_eq!(requests(AtomicLanes::Apart, addresses), apart);
    }
}

#[test]
#[should_panic(expected = "register_banks.banks")]
fn a_register_file_without_banks_is_refused() {
    let spec = with_banks(banked(1), |banks| banks.banks = 0);
    build(spec, vec![kernel(&[vec![exit()]], 1, 0)]);
}

#[test]
fn two_instructions_issue_together_unless_they_wait_or_need_the_same_unit() {
    let with = |together| ComputeUnitSpec {
        issues_per_cycle: 2,
        issue_together: together,
        ..spec()
    };
    let steps = vec![
        step(op(Class::IntAdd, &[1], &[])),
        step(op(Class::IntAdd, &[2], &[])),
        step(op(Class::FpAdd, &[3], &[])),
        step(op(Class::FpAdd, &[4], &[3])),
        exit(),
    ];
    // 3: both integers; 4: one float; 8: the other with the exit; its result comes in 12.
    Bench::completes_at(with(IssueTogether::Any), std::slice::from_ref(&steps), 12);
    // 3: one integer; 4: the other with a float; 8: as before.
    Bench::completes_at(
        with(IssueTogether::DifferentUnits),
        std::slice::from_ref(&steps),
        12,
    );
    for (together, slots) in [(IssueTogether::Any, 3), (IssueTogether::DifferentUnits, 3)] {
        let mut bench = Bench::new(
            with(together),
            vec![kernel(std::slice::from_ref(&steps), 1, 0)],
        );
        bench.start_at(1, 0, 0, 0);
        bench.bench.step(20);
        assert_eq!(bench.counter("slots_issued"), slots);
        assert_eq!(bench.counter("wavefront_instructions"), 5);
    }
    let same = vec![step(op(Class::IntAdd, &[1], &[])); 4]
        .into_iter()
        .enumerate()
        .map(|(i, s)| Step {
            instruction: op(Class::IntAdd, &[i as u16], &[]),
            ..s
        })
        .chain([exit()])
        .collect::<Vec<_>>();
    // Two per cycle, and the exit alone; one per cycle, and the exit with the last.
    Bench::completes_at(with(IssueTogether::Any), std::slice::from_ref(&same), 4 + 4);
    Bench::completes_at(with(IssueTogether::DifferentUnits), &[same], 6 + 4);
}

#[test]
fn slots_lost_to_memory_are_the_levels_that_ended_the_wait() {
    let mut spec = spec();
    spec.schedulers = 2;
    let steps = vec![
        access(Class::Load, &[1], &[], Space::Global, strided(0, 4)),
        step(op(Class::Exit, &[], &[1])),
    ];
    let mut bench = Bench::new(spec, vec![kernel(&vec![steps; 2], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (_, first) = bench.bench.receive(&bench.request);
    let (_, second) = bench.bench.receive(&bench.request);
    bench.response.send_at(20, first.answer(Level::L2));
    bench.response.send_at(50, second.answer(Level::DRAM));
    // Exits in 21 and 51.
    bench.expect_completion(52, 0, 0);
    assert_eq!(bench.counter("slots_memory"), 17 + 47);
    assert_eq!(bench.counter("memory_slots_L2"), 17);
    assert_eq!(bench.counter("memory_slots_Dram"), 47);
    assert_eq!(bench.counter("memory_slots_L1"), 0);
}

#[test]
fn slots_without_a_wavefront_are_launch_before_work_and_tail_while_others_work() {
    let mut bench = Bench::new(spec(), vec![kernel(&[vec![exit()]], 2, 0)]);
    bench.start_at(10, 0, 0, 0);
    bench.expect_completion(13, 0, 0);
    // The kernel was there for 25 cycles when it ended; the unit was without from 13 on.
    let ended = |ran| Dispatch::Invalidate { kernel: 0, ran };
    bench.dispatch.send_at(33, ended(25));
    bench.bench.step(30);
    assert_eq!(bench.counter("no_wavefront_slots_launch"), 10);
    assert_eq!(bench.counter("no_wavefront_slots_tail"), 20);
    // Another, that ran for 7 of the cycles since.
    bench.dispatch.send_at(63, ended(7));
    bench.bench.step(30);
    assert_eq!(bench.counter("no_wavefront_slots_launch"), 10 + 23);
    assert_eq!(bench.counter("no_wavefront_slots_tail"), 20 + 7);
}

#[test]
#[should_panic(expected = "local_memory.latency")]
fn a_pipe_longer_than_local_memory_is_refused() {
    let mut spec = spec();
    spec.load_store.pipe = MemoryPipe::InOrder;
    spec.classes.store.latency = 10;
    build(spec, vec![kernel(&[vec![exit()]], 1, 0)]);
}
