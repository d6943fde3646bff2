//! Tests the output of the derive macros: names, order, and the effect of each attribute.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Context, Cycle, Histogram, InPort, Instrumented, Next, Observed, OutPort, Ports,
    Role, State, Stateful, Statistic, Statistics, Tick, TimeWeighted, described_ports,
};

#[derive(Default, Ports)]
struct Link {
    #[port]
    request: InPort<u64>,
    #[port]
    response: OutPort<u64>,
}

#[derive(Default, Ports, State, Statistics)]
struct Block {
    #[port]
    up: Vec<Link>,
    #[port(rename = "out")]
    down: OutPort<u64>,
    #[port(optional)]
    peer: Option<Observed<u32>>,
    #[port(optional, without = "nothing is told", required_if = Block::is_strict)]
    control: OutPort<u8>,
    #[state(skip)]
    strict: bool,
}

impl Block {
    fn is_strict(&self) -> bool {
        self.strict
    }
}

impl Component for Block {
    fn evaluate(&mut self, _: &mut Context<'_>) -> Next {
        Next::Idle
    }
}

#[test]
fn ports_are_named_after_their_fields_in_order() {
    let ports = |block: &mut Block| {
        let ports = described_ports(block).into_iter();
        let ports = ports.map(|port| (port.name, port.optional));
        ports.collect::<Vec<_>>()
    };
    let mut block = Block {
        up: vec![Link::default(), Link::default()],
        peer: Some(Observed::default()),
        ..Block::default()
    };
    let mut expected = [
        ("up[0].request", false),
        ("up[0].response", false),
        ("up[1].request", false),
        ("up[1].response", false),
        ("out", false),
        ("peer", true),
        ("control", true),
    ]
    .map(|(name, optional)| (name.to_owned(), optional));
    assert_eq!(ports(&mut block), expected);
    block.strict = true;
    expected[6].1 = false;
    assert_eq!(ports(&mut block), expected);
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Queue(VecDeque<u32>);

#[derive(Clone, Debug, Default, PartialEq, State)]
struct Bank<T> {
    row: T,
}

#[derive(Clone, Debug, PartialEq, State)]
enum Policy {
    #[state(skip)]
    Fixed {
        _seed: u64,
    },
    Learning(Bank<u8>),
    #[state(part, rename = "open")]
    Open(Box<Bank<u8>>),
}

fn doubled(value: &mut u32, name: &str, state: &mut State<'_>) {
    state.field_as(
        name,
        value,
        |value| *value * 2,
        |value, saved: u32| {
            *value = saved / 2;
            Ok(())
        },
    );
}

#[derive(Clone, Debug, PartialEq, State)]
#[state(restore = Whole::count)]
struct Whole {
    #[state(skip)]
    ways: u32,
    queue: Queue,
    #[state(array)]
    marks: Vec<u8>,
    #[state(part)]
    bank: Bank<u16>,
    #[state(parts, rename = "bank")]
    banks: Vec<Bank<u16>>,
    #[state(flatten)]
    spare: Option<Bank<u64>>,
    #[state(with = doubled)]
    turn: u32,
    #[state(tally)]
    idle: Cycle,
    #[state(flatten)]
    policy: Policy,
    #[state(skip)]
    waiting: usize,
}

impl Whole {
    fn count(&mut self) {
        self.waiting = self.queue.0.len();
    }

    fn new(policy: Policy) -> Self {
        Self {
            ways: 4,
            queue: Queue::default(),
            marks: vec![0; 2],
            bank: Bank::default(),
            banks: vec![Bank::default(); 2],
            spare: Some(Bank::default()),
            turn: 0,
            idle: 0,
            policy,
            waiting: 0,
        }
    }
}

#[test]
fn state_is_named_after_its_fields_in_order() {
    for (policy, last) in [
        (Policy::Fixed { _seed: 1 }, None),
        (Policy::Learning(Bank { row: 3 }), Some("row")),
        (Policy::Open(Box::new(Bank { row: 3 })), Some("open.row")),
    ] {
        let mut whole = Whole::new(policy);
        let listed = State::list(|state| whole.state(state)).unwrap();
        let names: Vec<_> = listed.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "queue",
            "marks",
            "bank.row",
            "bank[0].row",
            "bank[1].row",
            "row",
            "turn",
        ];
        let expected: Vec<_> = expected.into_iter().chain(last).collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn what_is_saved_is_restored_and_what_follows_from_it_is_computed() {
    let built = Whole::new(Policy::Learning(Bank::default()));
    let mut before = Whole {
        queue: Queue(VecDeque::from([7, 8])),
        marks: vec![1, 2],
        banks: vec![Bank { row: 1 }, Bank { row: 2 }],
        turn: 5,
        idle: 9,
        policy: Policy::Learning(Bank { row: 3 }),
        ..built.clone()
    };
    let bytes = State::save(|state| before.state(state)).unwrap();
    assert_eq!(before.waiting, 0, "saving computes nothing");
    let mut after = built;
    State::load(&bytes, |state| after.state(state)).unwrap();
    before.waiting = 2;
    assert_eq!(after, before);
}

#[derive(State)]
#[state(refuse = "its device cannot be read")]
struct Device;

#[test]
fn a_refusal_states_its_reason() {
    let error = State::save(|state| Device.state(state)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot be saved: its device cannot be read"
    );
}

const REQUESTS: Role = Role::new("requests");

#[derive(Default, Statistics)]
#[statistics(after = Counts::rate)]
struct Counts {
    /// Requests sent
    /// down.
    ///
    /// Copy-backs are none.
    #[statistic(unit = "requests")]
    sent: u64,
    /// Bytes sent.
    #[statistic(unit = "bytes")]
    #[statistic(ratio, name = "share", of = "bytes", whole = self.sent + 8, meaning = "Share of bytes")]
    bytes: u64,
    /// Requests taken.
    #[statistic(unit = "requests", role = REQUESTS)]
    taken: [u64; 2],
    /// Most requests at a time.
    #[statistic(maximum, unit = "requests")]
    most: u64,
    /// Mean number of requests.
    #[statistic(unit = "requests")]
    level: TimeWeighted,
    /// Cycles of an answer.
    #[statistic(unit = "cycles")]
    latency: Histogram,
    #[statistic(under = "l2")]
    inner: Option<Inner>,
    _other: u64,
}

impl Counts {
    fn rate(&self, statistics: &mut Statistics<'_>) {
        statistics.ratio("rate", "requests", "Share sent", self.sent, 10);
    }
}

#[derive(Default, Statistics)]
struct Inner {
    /// Hits.
    #[statistic(unit = "reads")]
    hits: u64,
}

fn reported(counts: &Counts) -> Vec<Statistic> {
    let mut list = Vec::new();
    counts.statistics(&mut Statistics::new(10, Tick(10), &mut list));
    list
}

#[test]
fn statistics_are_named_and_explained_by_their_fields() {
    let counts = Counts {
        inner: Some(Inner::default()),
        ..Counts::default()
    };
    let list = reported(&counts);
    let said: Vec<String> = (list.iter())
        .map(|s| format!("{} [{}] {} ({})", s.name, s.unit, s.meaning, s.combination))
        .collect();
    assert_eq!(
        said,
        [
            "sent [requests] Requests sent down (sum)",
            "bytes [bytes] Bytes sent (sum)",
            "share [] Share of bytes (mean by bytes)",
            "taken[0] [requests] Requests taken (sum)",
            "taken[1] [requests] Requests taken (sum)",
            "most [requests] Most requests at a time (maximum)",
            "level [requests] Mean number of requests (mean by cycles)",
            "latency [cycles] Cycles of an answer (mean by values)",
            "l2_hits [reads] Hits (sum)",
            "rate [] Share sent (mean by requests)",
        ]
    );
    let roles = list.iter().filter(|s| s.role == Some(REQUESTS));
    assert_eq!(roles.count(), 2);
    assert_eq!(reported(&Counts::default()).len(), 9);
}
