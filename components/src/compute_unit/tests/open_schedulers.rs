//! Schedulers with policies from any crate: their notifications, the wavefronts they may hold back,
//! and units that they stop.

use warpweave_framework::{
    NoFields, Outcome, PolicyContext, PolicyKind, State, Stateful, Statistics,
};
use warpweave_random::mix;

use super::*;

macro_rules! policy {
    ($name:ident, $new:expr) => {
        impl PolicyKind for $name {
            type Role = WavefrontScheduling;
            const NAME: &'static str = stringify!($name);
            const SUMMARY: &'static str = "A policy of the tests";
            type Spec = NoFields;

            fn build(
                _: NoFields,
                context: &PolicyContext<'_, WavefrontScheduling>,
            ) -> Result<WavefrontPolicy, SpecError> {
                let new: fn(&PolicyContext<'_, WavefrontScheduling>) -> Self = $new;
                Ok(WavefrontPolicy::open(new(context)))
            }
        }
    };
}

/// Holds back and picks at random, with a new choice every 16 cycles, and hashes all notifications
/// into one number. Any difference in a notification or its cycle changes that number.
#[derive(State, Statistics)]
pub(super) struct Capricious {
    #[state(skip)]
    seed: u64,
    /// all that it was told
    #[statistic(unit = "")]
    told: u64,
}

policy!(Capricious, |context| Capricious {
    seed: context.seed(),
    told: 0,
});

impl Capricious {
    fn told(&mut self, what: &str, numbers: &[u64], view: &SchedulerView<'_>) {
        let masks = [
            view.present,
            view.open,
            view.waits_for_memory,
            view.instructions,
        ];
        let bytes = what.bytes().map(u64::from);
        for number in bytes.chain([view.now]).chain(masks) {
            self.told = mix(self.told ^ number);
        }
        for number in numbers {
            self.told = mix(self.told ^ number);
        }
    }
}

impl WavefrontScheduler for Capricious {
    fn pick(&self, ready: u64, _view: &SchedulerView<'_>) -> usize {
        let mut ready = ready;
        for _ in 0..self.told % u64::from(ready.count_ones()) {
            ready &= ready - 1;
        }
        ready.trailing_zeros() as usize
    }

    fn throttled(&self, view: &SchedulerView<'_>) -> Throttled {
        let dice = mix(self.seed ^ (view.now / 16));
        Throttled {
            all: dice & mix(dice),
            loads: mix(dice + 1),
        }
    }

    fn throttle_changes(&self, view: &SchedulerView<'_>) -> Option<Cycle> {
        (view.open != 0).then_some((view.now / 16 + 1) * 16)
    }

    fn arrive(&mut self, arrival: &Arrival, view: &SchedulerView<'_>) {
        let numbers = [arrival.slot as u64, arrival.work_group.into()];
        self.told("arrive", &numbers, view);
    }

    fn leave(&mut self, slot: usize, view: &SchedulerView<'_>) {
        self.told("leave", &[slot as u64], view);
    }

    fn response(&mut self, slot: usize, view: &SchedulerView<'_>) {
        self.told("response", &[slot as u64], view);
    }

    fn issued(&mut self, issue: &Issue, view: &SchedulerView<'_>) {
        self.told("issued", &[issue.slot as u64, issue.pc.into()], view);
    }

    fn stalled(&mut self, why: IssueSlot, view: &SchedulerView<'_>) {
        self.told("stalled", &[why as u64], view);
    }
}

/// Holds back all loads until cycle 100.
#[derive(State, Statistics)]
struct LateLoads;

policy!(LateLoads, |_| LateLoads);

impl WavefrontScheduler for LateLoads {
    fn pick(&self, ready: u64, view: &SchedulerView<'_>) -> usize {
        view.ages.oldest(ready)
    }

    fn throttled(&self, view: &SchedulerView<'_>) -> Throttled {
        Throttled::loads(if view.now < 100 { u64::MAX } else { 0 })
    }

    fn throttle_changes(&self, view: &SchedulerView<'_>) -> Option<Cycle> {
        (view.now < 100).then_some(100)
    }
}

fn with<P: PolicyKind<Role = WavefrontScheduling, Spec = NoFields>>() -> ComputeUnitSpec {
    let mut spec = spec();
    spec.scheduler = Policy::plain::<P>();
    spec
}

#[test]
fn loads_alone_are_held_back_and_the_slots_lost_are_charged_to_it() {
    let at = strided(0, 4);
    let steps = vec![
        step(op(Class::IntAdd, &[1], &[])),
        access(Class::Store, &[], &[], Space::Global, at),
        access(Class::Load, &[2], &[], Space::Const, at),
        access(Class::Load, &[3], &[], Space::Global, at),
        exit(),
    ];
    let mut bench = Bench::new(with::<LateLoads>(), vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (cycle, store) = bench.bench.receive(&bench.request);
    assert_eq!((cycle, store.kind), (4 + 3, RequestKind::Write));
    let (cycle, load) = bench.bench.receive(&bench.request);
    assert_eq!((cycle, load.kind), (100 + 3, RequestKind::Read));
    // Add, store and constant load issue in 3 to 5; the load in 100.
    assert_eq!(bench.counter("slots_throttled"), 94);
}

#[test]
fn loads_from_private_memory_are_held_back_and_those_of_the_unit_and_atomics_are_not() {
    let at = strided(0, 4);
    let steps = vec![
        access(Class::Atomic, &[1], &[], Space::Global, at),
        access(Class::Load, &[2], &[], Space::Shared, at),
        access(
            Class::Load,
            &[3],
            &[],
            Space::Local,
            at.map(|offset| offset % 64),
        ),
        exit(),
    ];
    let mut bench = Bench::new(with::<LateLoads>(), vec![kernel(&[steps], 1, 1024)]);
    bench.start_at(1, 0, 0, 0);
    let (cycle, atomic) = bench.bench.receive(&bench.request);
    assert_eq!((cycle, atomic.kind), (4 + 3, RequestKind::Atomic));
    bench.bench.step(50);
    assert_eq!(bench.counter("wavefront_instructions"), 2);
    let (cycle, load) = bench.bench.receive(&bench.request);
    assert_eq!((cycle, load.kind), (100 + 3, RequestKind::Read));
}

/// Holds back the wavefront in slot 0 until cycle 50.
#[derive(State, Statistics)]
struct Late;

policy!(Late, |_| Late);

impl WavefrontScheduler for Late {
    fn pick(&self, ready: u64, view: &SchedulerView<'_>) -> usize {
        view.ages.oldest(ready)
    }

    fn throttled(&self, view: &SchedulerView<'_>) -> Throttled {
        Throttled::all(u64::from(view.now < 50))
    }

    fn throttle_changes(&self, view: &SchedulerView<'_>) -> Option<Cycle> {
        (view.now < 50).then_some(50)
    }
}

#[test]
fn a_wavefront_that_may_not_issue_issues_nothing_and_the_others_go_on() {
    let steps = vec![
        step(op(Class::IntAdd, &[1], &[])),
        access(Class::Store, &[], &[], Space::Global, strided(0, 4)),
        exit(),
    ];
    let mut bench = Bench::new(with::<Late>(), vec![kernel(&vec![steps; 2], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let stores = [(); 2].map(|()| {
        let (cycle, store) = bench.bench.receive(&bench.request);
        (cycle, u64::from(store.source.wavefront_slot))
    });
    // An addition in the first cycle in which they may, the store in the next.
    assert_eq!(stores, [(3 + 1 + 3, 1), (50 + 1 + 3, 0)]);
}

/// Prefers wavefronts of the kernel with the fewest work-groups; nothing issues before cycle 10.
#[derive(State, Statistics)]
struct SmallGrids {
    #[state(skip)]
    program: Arc<Program>,
    /// Kernel of the wavefront in each slot.
    #[state(array)]
    kernels: [u32; 64],
}

policy!(SmallGrids, |context| SmallGrids {
    program: context.environment.resource().expect("there is a program"),
    kernels: [0; 64],
});

impl WavefrontScheduler for SmallGrids {
    fn arrive(&mut self, arrival: &Arrival, _view: &SchedulerView<'_>) {
        self.kernels[arrival.slot] = arrival.kernel;
    }

    fn throttled(&self, view: &SchedulerView<'_>) -> Throttled {
        Throttled::all(if view.now < 10 { u64::MAX } else { 0 })
    }

    fn throttle_changes(&self, view: &SchedulerView<'_>) -> Option<Cycle> {
        (view.now < 10).then_some(10)
    }

    fn pick(&self, ready: u64, _view: &SchedulerView<'_>) -> usize {
        let ready = (0..64).filter(|slot| ready >> slot & 1 != 0);
        let grid = |slot: &usize| self.program.kernels[self.kernels[*slot] as usize].work_groups();
        ready.min_by_key(grid).expect("somebody can issue")
    }
}

#[test]
fn a_policy_knows_the_kernels_of_its_wavefronts_and_their_program() {
    let steps = vec![
        access(Class::Store, &[], &[], Space::Global, strided(0, 4)),
        exit(),
    ];
    let of = |work_groups| kernel(std::slice::from_ref(&steps), work_groups, 0);
    let mut bench = Bench::new(with::<SmallGrids>(), vec![of(6), of(1), of(4)]);
    for kernel in 0..3 {
        bench.start_at(1 + Cycle::from(kernel), kernel, 0, kernel as u16);
    }
    let kernels = [(); 3].map(|()| bench.bench.receive(&bench.request).1.source.kernel);
    assert_eq!(kernels, [1, 2, 0]);
}

#[test]
fn a_unit_that_only_its_policy_holds_back_sleeps_until_that_changes() {
    let steps = vec![
        access(Class::Load, &[3], &[], Space::Global, strided(0, 4)),
        exit(),
    ];
    let mut bench = Bench::new(with::<LateLoads>(), vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(10);
    let before = bench.bench.simulation().evaluations_of(0);
    bench.bench.step(89);
    assert_eq!(bench.bench.simulation().evaluations_of(0), before);
    assert_eq!(bench.bench.receive(&bench.request).0, 103);
}

#[test]
fn a_built_in_policy_reports_no_slots_held_back() {
    let mut bench = Bench::new(spec(), vec![kernel(&[vec![exit()]], 1, 0)]);
    let statistics = bench.bench.statistics("cu");
    assert_eq!(statistics.counter("slots_throttled"), None);
}

/// Holds back every wavefront in every cycle.
#[derive(State, Statistics)]
struct Never;

policy!(Never, |_| Never);

impl WavefrontScheduler for Never {
    fn pick(&self, _ready: u64, _view: &SchedulerView<'_>) -> usize {
        unreachable!("nobody may issue")
    }

    fn throttled(&self, _view: &SchedulerView<'_>) -> Throttled {
        Throttled::all(u64::MAX)
    }
}

#[test]
fn a_policy_that_lets_nobody_issue_is_named_by_the_deadlock_report() {
    let mut bench = Bench::new(with::<Never>(), vec![kernel(&vec![vec![exit()]; 2], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let Outcome::Deadlock(report) = bench.bench.run_until_quiet() else {
        panic!("nobody can go on");
    };
    let text = report.to_string();
    assert!(
        text.contains("2 wavefronts are throttled by scheduler 0 (Never)"),
        "{text}"
    );
}

/// Picks a wavefront slot that is not occupied.
#[derive(Statistics)]
struct Wild;

impl Stateful for Wild {}

policy!(Wild, |_| Wild);

impl WavefrontScheduler for Wild {
    fn pick(&self, _ready: u64, _view: &SchedulerView<'_>) -> usize {
        99
    }
}

#[test]
#[should_panic(
    expected = "scheduler 0 (Wild) of compute unit 7 picked wavefront slot 99, which cannot \
                issue (candidates 0b1)"
)]
fn a_policy_that_picks_somebody_else_is_a_failure() {
    let mut bench = Bench::new(with::<Wild>(), vec![kernel(&[vec![exit()]], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(5);
}

#[test]
fn a_policy_that_does_not_name_its_state_is_refused_by_its_name() {
    let mut unit = build(with::<Wild>(), vec![kernel(&[vec![exit()]], 1, 0)]);
    let error = State::save(|state| unit.state(state));
    assert_eq!(
        error.expect_err("refused").to_string(),
        "cannot be saved: schedulers[0].Wild: its kind does not implement `state`"
    );
}

/// Records its notifications in a resource of the environment.
#[derive(State, Statistics)]
struct Diary {
    number: u32,
    #[state(skip)]
    pages: Arc<Mutex<Vec<String>>>,
}

policy!(Diary, |context| Diary {
    number: context.number,
    pages: context
        .environment
        .resource()
        .expect("the test provides it"),
});

impl Diary {
    fn write(&self, what: &str, view: &SchedulerView<'_>) {
        let line = format!("{} {}: {what}", view.now, self.number);
        let mut pages = self.pages.lock();
        pages.push(line);
    }
}

impl WavefrontScheduler for Diary {
    fn pick(&self, ready: u64, view: &SchedulerView<'_>) -> usize {
        view.ages.oldest(ready)
    }

    fn needs_cache_events(&self) -> bool {
        true
    }

    fn arrive(&mut self, a: &Arrival, view: &SchedulerView<'_>) {
        let (slot, of) = (a.slot, a.work_group_slot);
        let what = format!(
            "arrive {slot}, wavefront {} of work-group {} in {of}",
            a.wavefront, a.work_group
        );
        self.write(&what, view);
    }

    fn leave(&mut self, slot: usize, view: &SchedulerView<'_>) {
        self.write(&format!("leave {slot}"), view);
    }

    fn response(&mut self, slot: usize, view: &SchedulerView<'_>) {
        self.write(&format!("response {slot}"), view);
    }

    fn event(&mut self, event: &CacheEvent, view: &SchedulerView<'_>) {
        let what = format!("event {} of {}", event.topic, event.wavefront_slot);
        self.write(&what, view);
    }

    fn issued(&mut self, issue: &Issue, view: &SchedulerView<'_>) {
        let what = format!("issued {} {}", issue.slot, issue.class.name());
        self.write(&what, view);
    }

    fn stalled(&mut self, why: IssueSlot, view: &SchedulerView<'_>) {
        self.write(&format!("stalled {why:?}"), view);
    }
}

#[test]
fn a_policy_is_told_what_happens_in_the_cycle_in_which_it_happens() {
    let steps = vec![
        access(Class::Load, &[1], &[], Space::Global, strided(0, 4)),
        step(op(Class::Exit, &[], &[1])),
    ];
    let pages = Arc::new(Mutex::new(Vec::<String>::new()));
    let mut environment = program(vec![kernel(&[steps], 4, 0)]);
    environment.provide(pages.clone());
    let mut spec = with::<Diary>();
    spec.schedulers = 2;
    let unit = ComputeUnit::build(spec, &environment).expect("it is in range");
    let mut bench = TestBench::new();
    bench.add("cu", unit);
    let dispatch = bench.source("cu.dispatch.dispatch");
    let _completion = bench.sink::<Completion>("cu.dispatch.completion");
    let request = bench.sink::<MemRequest>("cu.memory.request");
    let response = bench.source("cu.memory.response");
    let locality = bench.source("cu.locality");
    let start = Dispatch::Start {
        kernel: 0,
        work_group: 3,
        slot: 2,
        hint: 0,
    };
    dispatch.send_at(1, start);
    let (_, sent) = bench.receive(&request);
    response.send_at(20, sent.answer(Level::L2));
    for topic in [4, 5] {
        let event = CacheEvent {
            topic,
            wavefront_slot: 0,
            line: 0,
        };
        locality.send_at(30, event);
    }
    bench.step(50);
    let written = pages.lock().join("\n");
    // The wavefront belongs to scheduler 0; both know of it.
    insta::assert_snapshot!(written, @"
    0 0: stalled NoWavefront
    0 1: stalled NoWavefront
    1 0: arrive 0, wavefront 0 of work-group 3 in 2
    1 1: arrive 0, wavefront 0 of work-group 3 in 2
    1 0: stalled Control
    3 0: issued 0 load
    4 0: stalled Memory
    20 0: response 0
    20 1: response 0
    21 0: issued 0 exit
    22 0: leave 0
    22 1: leave 0
    22 0: stalled NoWavefront
    30 0: event 4 of 0
    30 1: event 4 of 0
    31 0: event 5 of 0
    31 1: event 5 of 0
    ");
}

#[test]
fn a_policy_that_goes_by_the_cache_asks_for_its_wire() {
    let mut environment = program(vec![kernel(&[vec![exit()]], 1, 0)]);
    environment.provide(Arc::new(Mutex::new(Vec::<String>::new())));
    let unit = ComputeUnit::build(with::<Diary>(), &environment);
    let error = unit.expect("it is in range").elaborated();
    let error = error.expect_err("the wire is missing");
    assert_eq!(error.field, "scheduler");
    assert_eq!(
        error.message,
        "Diary needs events from the first-level cache, but the port `locality` is not connected; \
         wire it to that of the cache, such as `\"cu.locality <-> l1.locality\": (latency: 1)`"
    );
}

#[test]
fn events_that_nobody_wants_are_taken() {
    let mut bench = Bench::new(spec(), vec![kernel(&[vec![exit()]], 1, 0)]);
    let locality = bench.bench.source("cu.locality");
    for line in 0..40 {
        let event = CacheEvent {
            topic: 1,
            wavefront_slot: 0,
            line,
        };
        locality.send_at(2, event);
    }
    bench.start_at(1, 0, 0, 0);
    bench.expect_completion(4, 0, 0);
    assert_eq!(bench.bench.run_until_quiet(), Outcome::Done);
}
