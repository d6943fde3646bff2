//! Memory requests of each kernel, counted where they are received.
//!
//! Every message names the kernel that it serves, so the counts are exact also while kernels run
//! side by side. Ports that differ only in an index are counted together.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use warpweave_components::memory::{Level, MemRequest, MemResponse, RequestKind};
use warpweave_files::{Ledger, OverBudget};
use warpweave_framework::{
    Context, Direction, InstanceStatistics, Simulation, Statistics, Tap, Tick, Transit,
};
use warpweave_trace::{HostCommand, Program};

use crate::address::any_index;

/// Requests and responses of one kernel at the ports of one pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counts {
    /// Requests by kind, in the order of [`RequestKind::ALL`].
    requests: [u64; RequestKind::ALL.len()],
    /// Bytes of data in requests and responses.
    bytes: u64,
    /// Responses to reads, by the level that supplied the data.
    supplied: Vec<(Level, u64)>,
}

impl Counts {
    fn request(&mut self, request: &MemRequest) {
        self.requests[request.kind as usize] += 1;
        self.bytes += u64::from(request.data_bytes());
    }

    fn response(&mut self, response: &MemResponse) {
        self.bytes += u64::from(response.data_bytes());
        if response.kind == RequestKind::Read {
            *self.supplied_by(response.level) += 1;
        }
    }

    fn supplied_by(&mut self, level: Level) -> &mut u64 {
        let known = self.supplied.iter().position(|(known, _)| *known == level);
        let at = known.unwrap_or_else(|| {
            self.supplied.push((level, 0));
            self.supplied.len() - 1
        });
        &mut self.supplied[at].1
    }

    fn add(&mut self, other: &Self) {
        for (sum, count) in self.requests.iter_mut().zip(other.requests) {
            *sum += count;
        }
        self.bytes += other.bytes;
        for (level, count) in &other.supplied {
            *self.supplied_by(*level) += count;
        }
    }

    fn report(&self, statistics: &mut Statistics<'_>) {
        let meanings = [
            ("reads", "read requests of the kernel"),
            ("writes", "write requests of the kernel"),
            ("atomics", "atomic requests of the kernel"),
            ("prefetches", "prefetch requests on behalf of the kernel"),
            ("copy_backs", "dirty lines that the kernel allocated"),
        ];
        for ((name, meaning), count) in meanings.into_iter().zip(self.requests) {
            statistics.counter(name, "requests", meaning, count);
        }
        let meaning = "data in the requests and responses of the kernel";
        statistics.counter("bytes", "bytes", meaning, self.bytes);
        // The order of first responses depends on timing; names do not.
        let mut supplied: Vec<_> = self.supplied.iter().map(|(l, n)| (l.name(), *n)).collect();
        supplied.sort_unstable();
        for (level, count) in supplied {
            let meaning = "responses to reads of the kernel, by the level that supplied the data";
            statistics.under("supplied", |statistics| {
                statistics.counter(level, "responses", meaning, count);
            });
        }
    }
}

/// Counts by kernel of one port since they were last collected.
type PortCounts = Arc<Mutex<BTreeMap<u32, Counts>>>;

/// Listener that counts the messages of one port.
struct Counter(PortCounts);

impl Tap<MemRequest> for Counter {
    fn only_listens(&self) -> bool {
        true
    }

    fn take(&mut self, _: &mut Context<'_>, message: &mut MemRequest) {
        let mut counts = self.0.lock();
        counts
            .entry(message.source.kernel)
            .or_default()
            .request(message);
    }
}

impl Tap<MemResponse> for Counter {
    fn only_listens(&self) -> bool {
        true
    }

    fn send(
        &mut self,
        _: &mut Context<'_>,
        transit: Transit<MemResponse>,
        wire: &mut Vec<Transit<MemResponse>>,
    ) {
        let mut counts = self.0.lock();
        let kernel = transit.message.source.kernel;
        counts.entry(kernel).or_default().response(&transit.message);
        drop(counts);
        wire.push(transit);
    }
}

/// Ports whose addresses differ only in an index.
struct Ports {
    /// Pattern of the addresses, such as `unit[*].l1.up`.
    pattern: String,
    /// True if requests enter the memory system here: the sender receives none itself.
    first: bool,
    counts: Vec<PortCounts>,
}

/// Requests by kernel at every memory port of a machine.
pub(super) struct KernelRequests {
    ports: Vec<Ports>,
    counted: Counted,
    ledger: Ledger,
}

/// Counts so far by launch number, and by pattern in the order of the machine's ports.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counted(BTreeMap<u32, Vec<Counts>>);

/// Memory requests of one kernel, by ports.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestsAt {
    /// Counts at the ports of one pattern, which is their path.
    pub statistics: InstanceStatistics,
    /// True if requests enter the memory system at these ports.
    pub first: bool,
}

/// Memory requests of each kernel, by its launch number.
pub type RequestsByKernel = BTreeMap<u32, Vec<RequestsAt>>;

/// Returns whether two kernels of the program may run at the same time.
pub(super) fn may_overlap(program: &Program) -> bool {
    let mut streams = program.commands.iter().filter_map(|command| match command {
        HostCommand::Launch { stream, .. } => Some(*stream),
        _ => None,
    });
    let first = streams.next();
    streams.any(|stream| Some(stream) != first)
        || program.kernels.iter().any(|kernel| kernel.parent.is_some())
}

impl KernelRequests {
    /// Attaches listeners to all ports of a machine that receive memory requests.
    pub(super) fn attach(simulation: &mut Simulation, ledger: &Ledger) -> Self {
        let message = std::any::type_name::<MemRequest>();
        let receivers: BTreeSet<String> = simulation
            .port_addresses()
            .into_iter()
            .filter(|port| {
                port.message == message && port.direction == Direction::Input && port.capacity > 0
            })
            .filter_map(|port| Some(port.address.strip_suffix(".request")?.to_owned()))
            .collect();
        let firsts = first_receivers(simulation, &receivers);
        let mut ports: Vec<Ports> = Vec::new();
        for address in &receivers {
            let pattern = any_index(address);
            let known = ports.iter().position(|ports| ports.pattern == pattern);
            let at = known.unwrap_or_else(|| {
                ports.push(Ports {
                    pattern,
                    first: false,
                    counts: Vec::new(),
                });
                ports.len() - 1
            });
            let counts = PortCounts::default();
            let (request, response) = (format!("{address}.request"), format!("{address}.response"));
            simulation
                .tap::<MemRequest>(&request, Counter(Arc::clone(&counts)))
                .expect("the port was found by its message");
            // Requests that nothing answers come without the other half of the bundle.
            let answers = Counter(Arc::clone(&counts));
            let _ = simulation.tap::<MemResponse>(&response, answers);
            ports[at].first |= firsts.contains(address);
            ports[at].counts.push(counts);
        }
        Self {
            ports,
            counted: Counted::default(),
            ledger: ledger.clone(),
        }
    }

    /// Collects the counts since the last call. Must only be called between slices of a run.
    ///
    /// # Errors
    /// Fails if the counts of further kernels exceed the memory budget.
    pub(super) fn collect(&mut self) -> Result<(), OverBudget> {
        let patterns = self.ports.len();
        for (number, ports) in self.ports.iter().enumerate() {
            for port in &ports.counts {
                for (kernel, counts) in std::mem::take(&mut *port.lock()) {
                    let sums = match self.counted.0.entry(kernel) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(new) => {
                            let bytes = patterns * size_of::<Counts>();
                            self.ledger.charge("requests by kernel", bytes as u64)?;
                            new.insert(vec![Counts::default(); patterns])
                        }
                    };
                    sums[number].add(&counts);
                }
            }
        }
        Ok(())
    }

    /// Returns what was counted, at core cycle `cycle`. Ports without a request are omitted.
    pub(super) fn results(&self, cycle: u64, now: Tick) -> RequestsByKernel {
        let of_kernel = |counts: &[Counts]| {
            let used = self.ports.iter().zip(counts);
            used.filter(|(_, counts)| **counts != Counts::default())
                .map(|(ports, counts)| {
                    let mut values = Vec::new();
                    counts.report(&mut Statistics::new(cycle, now, &mut values));
                    RequestsAt {
                        statistics: InstanceStatistics {
                            path: ports.pattern.clone(),
                            kind: "Requests".to_owned(),
                            values,
                        },
                        first: ports.first,
                    }
                })
                .collect()
        };
        let kernels = self.counted.0.iter();
        kernels
            .map(|(kernel, counts)| (*kernel, of_kernel(counts)))
            .collect()
    }

    pub(super) fn state(&self) -> Counted {
        self.counted.clone()
    }

    /// Restores the counts of the same machine from a checkpoint.
    pub(super) fn load(&mut self, mut counted: Counted) {
        for counts in counted.0.values_mut() {
            counts.resize(self.ports.len(), Counts::default());
        }
        self.counted = counted;
    }
}

/// Returns the receivers whose senders receive no requests themselves.
fn first_receivers(simulation: &Simulation, receivers: &BTreeSet<String>) -> BTreeSet<String> {
    let paths: Vec<&str> = simulation.instances().map(|(path, _)| path).collect();
    let ends = (0..simulation.channel_count() as u32).map(|n| simulation.channel_ends(n));
    let wires: Vec<(usize, usize, String)> = ends
        .filter_map(|[(from, _), (to, port)]| {
            let bundle = format!("{}.{}", paths[to as usize], port.strip_suffix(".request")?);
            let is_receiver = receivers.contains(&bundle);
            is_receiver.then_some((from as usize, to as usize, bundle))
        })
        .collect();
    let mut receives = vec![false; paths.len()];
    for (_, to, _) in &wires {
        receives[*to] = true;
    }
    let first = wires.into_iter().filter(|(from, ..)| !receives[*from]);
    first.map(|(.., bundle)| bundle).collect()
}
