//! Rules of the memory and launch protocols, for checkers on every wire of a system.
//!
//! | wire | request | answer | promised |
//! |---|---|---|---|
//! | memory | [`MemRequest`] that wants a response | [`MemResponse`] | each word once, in one answer or several; same line, kind and source; those with one answer in order per line and wavefront |
//! | host or launch unit to GMU | [`KernelLaunch`] | [`KernelDone`], to the host | exactly one; in order per stream |
//! | GMU to scheduler | [`KernelReady`] | [`KernelDone`] | exactly one |
//! | scheduler to compute unit | [`Dispatch`] | [`Completion`] | exactly one; same slot |
//! | compute unit to launch unit | [`DeviceLaunch`] | none | |
//!
//! They also check that every message arrives once, unchanged, in order, in time, and within the
//! capacity of its wire.

mod freshness;
mod stale_reads;
mod surround;

use std::any::type_name;
use std::fmt::Debug;

use warpweave_framework::verify::{Checks, Exchange, ExchangeRules, check_exchange, check_wire};
use warpweave_framework::{Direction, Message, PortAddress, Simulation, TapError};

pub use self::stale_reads::check_stale_reads;
pub use self::surround::{surround_with_kernel_ends, surround_with_memory};
use crate::launch::{
    CacheCommand, CacheCommandDone, Completion, DeviceLaunch, Dispatch, KernelDone, KernelLaunch,
    KernelReady,
};
use crate::memory::{MemRequest, MemResponse, RequestKind};

impl Exchange for MemRequest {
    type Answer = MemResponse;

    fn key(&self) -> u64 {
        self.id.into()
    }

    fn key_of(answer: &MemResponse) -> u64 {
        answer.id.into()
    }

    fn wants_answer(&self) -> bool {
        self.kind.wants_response()
    }

    /// True for prefetches, which may still be outstanding when the program ends the run.
    fn may_stay_open(&self) -> bool {
        self.kind == RequestKind::Prefetch
    }

    /// Requests of one wavefront for one line are answered in order.
    fn order(&self) -> Option<u128> {
        let unit = u128::from(self.source.compute_unit);
        let wavefront = unit << 16 | u128::from(self.source.wavefront_slot);
        Some(u128::from(self.line) << 32 | wavefront)
    }

    fn is_answered_by(&mut self, answer: &MemResponse) -> bool {
        self.words &= !answer.words;
        self.words == 0
    }

    fn fits(&self, answer: &MemResponse) -> Result<(), String> {
        let same = (self.line, self.kind, self.source) == (answer.line, answer.kind, answer.source);
        if !same {
            return Err("line, kind and source must match the request".to_owned());
        }
        let stray = answer.words & !self.words;
        if stray != 0 {
            return Err(format!("words {stray:#x} were not requested"));
        }
        Ok(())
    }
}

/// A cache executes one command after the other.
impl Exchange for CacheCommand {
    type Answer = CacheCommandDone;

    fn key(&self) -> u64 {
        0
    }

    fn key_of(_: &CacheCommandDone) -> u64 {
        0
    }

    fn order(&self) -> Option<u128> {
        Some(0)
    }
}

impl Exchange for KernelLaunch {
    type Answer = KernelDone;

    fn key(&self) -> u64 {
        self.kernel.into()
    }

    fn key_of(answer: &KernelDone) -> u64 {
        answer.kernel.into()
    }

    fn order(&self) -> Option<u128> {
        Some(self.stream.into())
    }
}

impl Exchange for KernelReady {
    type Answer = KernelDone;

    fn key(&self) -> u64 {
        self.kernel.into()
    }

    fn key_of(answer: &KernelDone) -> u64 {
        answer.kernel.into()
    }
}

/// Work-group number reserved for invalidations in keys; real grids are smaller.
const INVALIDATION: u32 = u32::MAX;

fn key_of_work_group(kernel: u32, work_group: u32) -> u64 {
    u64::from(kernel) << 32 | u64::from(work_group)
}

impl Exchange for Dispatch {
    type Answer = Completion;

    fn key(&self) -> u64 {
        match *self {
            Self::Start {
                kernel, work_group, ..
            }
            | Self::WorkGroupFamilyEnded { kernel, work_group } => {
                key_of_work_group(kernel, work_group)
            }
            Self::Invalidate { kernel, .. } | Self::ParentEnded { kernel } => {
                key_of_work_group(kernel, INVALIDATION)
            }
        }
    }

    fn wants_answer(&self) -> bool {
        !matches!(
            self,
            Self::ParentEnded { .. } | Self::WorkGroupFamilyEnded { .. }
        )
    }

    fn key_of(answer: &Completion) -> u64 {
        match *answer {
            Completion::WorkGroup {
                kernel, work_group, ..
            } => key_of_work_group(kernel, work_group),
            Completion::Invalidated { kernel } => key_of_work_group(kernel, INVALIDATION),
        }
    }

    fn fits(&self, answer: &Completion) -> Result<(), String> {
        match (self, answer) {
            (Self::Start { slot: taken, .. }, Completion::WorkGroup { slot: left, .. })
                if taken != left =>
            {
                Err(format!("the work-group was dispatched to slot {taken}"))
            }
            _ => Ok(()),
        }
    }
}

/// Attaches checkers to every memory and launch wire of a system. A violation ends the run. After a
/// run that ended normally, query the checkers for missing messages.
///
/// # Errors
/// Fails if a port that sends requests has no matching response port.
pub fn check_protocols(simulation: &mut Simulation) -> Result<Checks, TapError> {
    let mut checks = Checks::new();
    let mut ports = simulation.port_addresses();
    ports.retain(|port| port.capacity > 0);
    for port in &ports {
        if port.direction != Direction::Output {
            continue;
        }
        check_requests::<MemRequest>(simulation, port, "response", &mut checks)?;
        check_requests::<KernelReady>(simulation, port, "done", &mut checks)?;
        check_requests::<Dispatch>(simulation, port, "completion", &mut checks)?;
        check_way::<KernelLaunch>(simulation, port)?;
        check_way::<DeviceLaunch>(simulation, port)?;
    }
    check_launches(simulation, &ports, &mut checks)?;
    Ok(checks)
}

/// Checks that every receiver of host launches reports the end of each kernel, including kernels
/// launched from the device.
fn check_launches(
    simulation: &mut Simulation,
    ports: &[PortAddress],
    checks: &mut Checks,
) -> Result<(), TapError> {
    let is_launch = |port: &&PortAddress| {
        port.direction == Direction::Input && port.message == type_name::<KernelLaunch>()
    };
    let tells = |done: &str| ports.iter().any(|port| port.address == done);
    let paths: Vec<String> = simulation.instances().map(|(p, _)| p.to_owned()).collect();
    for port in ports.iter().filter(is_launch) {
        let done = answers_beside(port, "done");
        if !tells(&done) {
            continue;
        }
        let is_path = |path: &&String| is_below(&port.address, path);
        let owner = paths.iter().filter(is_path).max_by_key(|path| path.len());
        let of_owner = |other: &&PortAddress| {
            let is_silent = !tells(&answers_beside(other, "done"));
            is_silent && owner.is_some_and(|owner| is_below(&other.address, owner))
        };
        let others = ports.iter().filter(is_launch).filter(of_owner);
        let launches: Vec<_> = std::iter::once(port).chain(others).collect();
        let launches: Vec<_> = launches.iter().map(|port| &*port.address).collect();
        let rules = ExchangeRules::default();
        let checker = check_exchange::<KernelLaunch>(simulation, &launches, &done, rules)?;
        checks.add(checker);
        check_wire::<KernelDone>(simulation, &done)?;
    }
    Ok(())
}

/// True if the address belongs to the instance at `path`.
fn is_below(address: &str, path: &str) -> bool {
    let rest = address.strip_prefix(path);
    rest.is_some_and(|rest| rest.starts_with('.'))
}

/// Returns the address of the port `answers` in the same bundle as a port.
fn answers_beside(port: &PortAddress, answers: &str) -> String {
    let bundle = port.address.rsplit_once('.');
    format!("{}.{answers}", bundle.map_or("", |(bundle, _)| bundle))
}

/// Checks the wire that begins at `port` and the return wire, if it carries requests of this
/// protocol.
fn check_requests<Q>(
    simulation: &mut Simulation,
    port: &PortAddress,
    answers: &str,
    checks: &mut Checks,
) -> Result<(), TapError>
where
    Q: Exchange + PartialEq,
    Q::Answer: Clone + PartialEq,
{
    if port.message != type_name::<Q>() {
        return Ok(());
    }
    let request = &port.address;
    let answer = answers_beside(port, answers);
    let rules = ExchangeRules::default();
    checks.add(check_exchange::<Q>(simulation, &[request], &answer, rules)?);
    // At the end of a run posted messages may be on their way: wires are judged on the way only.
    check_wire::<Q>(simulation, request)?;
    if let Some(from) = simulation.sender_of(&answer) {
        check_wire::<Q::Answer>(simulation, &from)?;
    }
    Ok(())
}

/// Checks the wire that begins at `port`, if it carries messages of this type.
fn check_way<M: Message + Clone + PartialEq + Debug>(
    simulation: &mut Simulation,
    port: &PortAddress,
) -> Result<(), TapError> {
    if port.message == type_name::<M>() {
        check_wire::<M>(simulation, &port.address)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use warpweave_framework::verify::{Fault, FaultInjector};
    use warpweave_framework::{Link, Outcome, TestBench};

    use super::*;
    use crate::building_blocks::{EchoMemory, EchoMemorySpec};
    use crate::clock_crossing::{ClockCrossing, ClockCrossingSpec};
    use crate::memory::Level;
    use warpweave_framework::{Environment, Kind};

    /// Runs two reads through a clock crossing into a memory and returns the checkers' verdict.
    fn run(fault: Option<(&str, Fault<MemResponse>)>) -> Result<(), String> {
        let reads = [MemRequest::read(1, 0, 1), MemRequest::read(2, 128, 3)];
        run_for(10_000, &reads, fault)
    }

    /// Runs requests through a clock crossing into a memory for a number of cycles. Returns the
    /// checkers' verdict.
    fn run_for(
        cycles: u64,
        requests: &[MemRequest],
        fault: Option<(&str, Fault<MemResponse>)>,
    ) -> Result<(), String> {
        let spec = ClockCrossingSpec {
            depth: 4,
            synchroniser_cycles: 2,
        };
        let environment = Environment::new("crossing", 1);
        let crossing = ClockCrossing::build(spec, &environment).expect("a valid one");
        let mut bench = TestBench::new();
        bench.add("crossing", crossing);
        let memory = EchoMemory::new(&EchoMemorySpec::latency(5));
        bench.add("memory", memory.expect("a valid one"));
        let link = Link::latency(2);
        bench.builder().connect("crossing.down", "memory.up", link);
        let above = bench.source::<MemRequest>("crossing.up.request");
        let _answers = bench.sink::<MemResponse>("crossing.up.response");
        let simulation = bench.simulation();
        // The ends of the bench are single ports: the wire between the two devices is checked.
        let mut checks = Checks::new();
        let ports = simulation.port_addresses();
        let request = ports.iter().find(|p| p.address == "crossing.down.request");
        let request = request.expect("a port of the crossing");
        check_requests::<MemRequest>(simulation, request, "response", &mut checks)
            .expect("pairs of ports");
        assert_eq!(checks.len(), 1);
        if let Some((port, fault)) = fault {
            let tap = FaultInjector::at(fault, 0);
            simulation.tap(port, tap).expect("the port exists");
        }
        for request in requests {
            above.send(*request);
        }
        match bench.run_for(cycles) {
            Outcome::Failed(message) => Err(message),
            _ => checks.finish(),
        }
    }

    #[test]
    fn a_memory_that_answers_passes() {
        assert_eq!(run(None), Ok(()));
    }

    #[test]
    fn a_run_may_end_before_a_prefetch_is_answered_and_not_before_a_read_is() {
        let read = MemRequest::read(1, 0, 1);
        let prefetch = MemRequest {
            id: 2,
            kind: RequestKind::Prefetch,
            ..read
        };
        assert_eq!(run_for(8, &[prefetch], None), Ok(()));
        let message = run_for(8, &[prefetch, read], None).expect_err("too short");
        assert!(message.contains(": 1 requests were never"), "{message}");
        assert!(message.contains("kind: Read"), "{message}");
    }

    #[test]
    fn faults_on_a_memory_wire_are_found() {
        for (fault, words) in [
            (Fault::Lose, "a message is lost"),
            (
                Fault::Corrupt(|r: &mut MemResponse| r.level = Level::L1),
                "was never sent",
            ),
            (Fault::Early(1), "after 1 cycles, expected 2"),
        ] {
            let message = run(Some(("memory.up.response", fault))).expect_err("seeded");
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn lines_anywhere_in_64_bits_have_an_order_of_their_own() {
        let lines = [
            0,
            32,
            1 << 37,
            1 << 40,
            1 << 63,
            u64::MAX << 7,
            (1 << 63) + 32,
        ];
        let mut orders: Vec<_> = lines
            .iter()
            .flat_map(|&line| {
                [0, 1].map(|slot| {
                    let mut request = MemRequest::read(1, line, 1);
                    request.source.wavefront_slot = slot;
                    request.order()
                })
            })
            .collect();
        orders.sort_unstable();
        orders.dedup();
        assert_eq!(orders.len(), 2 * lines.len());
    }

    #[test]
    fn contents_must_fit_the_request() {
        let ask = MemRequest::read(1, 256, 0b11);
        assert_eq!(ask.fits(&ask.answer(Level::L2)), Ok(()));
        let mut answer = ask.answer(Level::L2);
        answer.words = 0b111;
        assert_eq!(
            ask.fits(&answer),
            Err("words 0x4 were not requested".to_owned())
        );
        answer.line = 0;
        assert!(ask.fits(&answer).is_err());
        let start = Dispatch::Start {
            kernel: 1,
            work_group: 2,
            slot: 3,
            hint: 0,
        };
        let done = Completion::WorkGroup {
            kernel: 1,
            work_group: 2,
            slot: 4,
        };
        assert_eq!(start.key(), Dispatch::key_of(&done));
        assert_eq!(
            start.fits(&done),
            Err("the work-group was dispatched to slot 3".to_owned())
        );
    }
}
