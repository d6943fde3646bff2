//! A probe for locality inside and between clusters: how many of the requests that leave the
//! first-level caches ask for a line that was asked for shortly before (ICC paper, 3.3.1).
//!
//! ```text
//!   access_up[i] ─► probe ─► access_down[i] ─► L1 ─► up[i] ─► probe ─► down[i]
//! ```
//!
//! A read of global memory is *redundant* for a window when its cluster asked for the line at most
//! the window before. The redundant ones are split by what the two requests have in common: at
//! least one 4-byte word (*data sharing*) or none (*line sharing*). Because a cache asks for whole
//! lines whatever its unit touched, the words are those of the unit's newest access to the line
//! where `access_up[i]` and `access_down[i]` are wired around the cache, and those of the request
//! itself where they are not. A read that is not redundant in its cluster, but whose line another
//! cluster asked for within the window, counts as locality *between* clusters.
//!
//! # Ports
//! | name | bundle | back-pressure |
//! |---|---|---|
//! | `up[i]` | [`MemSlave`] | of `down[i]`; cluster `i / units_per_cluster` |
//! | `down[i]` | [`MemMaster`] | of `up[i]` |
//! | `access_up[i]` | [`MemSlave`] (optional) | of `access_down[i]` |
//! | `access_down[i]` | [`MemMaster`] (optional) | of `access_up[i]` |
//!
//! # Timing
//! What is readable leaves in the same cycle: the probe costs its wires. Requests of one cycle
//! count in the order of their ports.
//!
//! # Not modelled
//! It is no hardware.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Context, Environment, Facts, Kind, Next, Ports, Preset, SpecError, State,
    Statistics, Unfit,
};

use crate::building_blocks::pass;
use crate::memory::{MemMaster, MemRequest, MemSlave, RequestKind, leave_private_memory};

/// Most windows of one probe.
const WINDOWS_MAX: usize = 8;
/// Most ports of one probe.
const PORTS_MAX: u64 = 1 << 12;

/// What a description says about a locality probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalityProbeSpec {
    /// Clusters that the probe looks at.
    pub clusters: u32,
    /// Compute units per cluster.
    pub units_per_cluster: u32,
    /// Windows, 1 to 8, ascending.
    pub windows: Vec<u32>,
    /// What windows are counted in.
    pub window_unit: WindowUnit,
    /// Whether a redundant request counts as the latest one from then on.
    pub refresh: bool,
    /// First byte address beyond global memory: reads from there on do not count. Absent: all
    /// addresses are global.
    #[serde(default)]
    pub global_end: Option<u64>,
}

/// What windows are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WindowUnit {
    /// Cycles of the probe's clock.
    Cycles,
    /// Requests of all clusters of the probe that count.
    Requests,
}

/// The component; see the module.
pub struct LocalityProbe {
    spec: LocalityProbeSpec,
    up: Vec<MemSlave>,
    down: Vec<MemMaster>,
    access_up: Vec<MemSlave>,
    access_down: Vec<MemMaster>,
    windows: Windows,
    /// Words of a unit's newest access to a line, until its miss passes.
    touched: BTreeMap<(u32, u64), u32>,
}

/// What was asked for within the longest window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Windows {
    /// Newest requests by line and cluster.
    lines: BTreeMap<(u64, u32), Request>,
    /// When each was made, oldest first: when to forget it.
    order: VecDeque<(u64, u64, u32)>,
    requests: u64,
    redundant: [u64; WINDOWS_MAX],
    data_sharing: [u64; WINDOWS_MAX],
    /// Redundant requests whose line the same unit asked for last.
    same_unit: [u64; WINDOWS_MAX],
    between_clusters: [u64; WINDOWS_MAX],
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Request {
    /// What each window counts from.
    since: [u64; WINDOWS_MAX],
    latest: u64,
    words: u32,
    unit: u32,
}

/// One read as the windows see it.
#[derive(Clone, Copy, Debug)]
struct Read {
    line: u64,
    words: u32,
    cluster: u32,
    unit: u32,
}

impl Windows {
    /// Counts a read made at `now`, in the unit of the windows.
    fn read(&mut self, spec: &LocalityProbeSpec, now: u64, read: Read) {
        self.requests += 1;
        self.forget(now.saturating_sub(u64::from(*spec.windows.last().unwrap_or(&0))));
        let Read {
            line,
            words,
            cluster,
            unit,
        } = read;
        let mut since = [now; WINDOWS_MAX];
        for (w, &window) in spec.windows.iter().enumerate() {
            let within = |since: u64| now - since <= u64::from(window);
            let own = self.lines.get(&(line, cluster));
            if let Some(own) = own.filter(|own| within(own.since[w])) {
                self.redundant[w] += 1;
                self.data_sharing[w] += u64::from(own.words & words != 0);
                self.same_unit[w] += u64::from(own.unit == unit);
                if !spec.refresh {
                    since[w] = own.since[w];
                }
                continue;
            }
            let all = self.lines.range((line, 0)..=(line, u32::MAX));
            let mut others = all.filter(|((_, c), _)| *c != cluster);
            let elsewhere = others.any(|(_, other)| within(other.since[w]));
            self.between_clusters[w] += u64::from(elsewhere);
        }
        let request = Request {
            since,
            latest: now,
            words,
            unit,
        };
        self.lines.insert((line, cluster), request);
        self.order.push_back((now, line, cluster));
    }

    /// Drops what was asked for before `oldest` and not since.
    fn forget(&mut self, oldest: u64) {
        while let Some(&(at, line, cluster)) = self.order.front().filter(|(at, ..)| *at < oldest) {
            self.order.pop_front();
            if self.lines.get(&(line, cluster)).map(|r| r.latest) == Some(at) {
                self.lines.remove(&(line, cluster));
            }
        }
    }
}

impl Kind for LocalityProbe {
    const NAME: &'static str = "LocalityProbe";
    const SUMMARY: &'static str =
        "Counts requests for lines that the cluster, or another one, asked for shortly before";
    const PRESETS: &'static [Preset] = &[Preset {
        name: "icc",
        summary: "Four windows up to 2000 cycles, private memory not counted. Source: ICC, IEEE TC 2019, Fig. 3",
        ron: "LocalityProbe(windows: [500, 1000, 1500, 2000], window_unit: Cycles, refresh: true, \
              global_end: 1099511627776)",
    }];
    type Spec = LocalityProbeSpec;

    fn build(spec: LocalityProbeSpec, _environment: &Environment) -> Result<Self, SpecError> {
        let (clusters, units) = (spec.clusters, spec.units_per_cluster);
        let ports = u64::from(clusters) * u64::from(units);
        SpecError::in_range("clusters", ports, 1..=PORTS_MAX).map_err(|error| {
            let product = format!("{clusters} x {units} ports are {}", error.message);
            SpecError::at("clusters", product)
        })?;
        let windows = &spec.windows;
        SpecError::require(
            (1..=WINDOWS_MAX).contains(&windows.len()) && windows.is_sorted_by(|a, b| a < b),
            "windows",
            || format!("{windows:?} is not a list of 1 to {WINDOWS_MAX} ascending windows"),
        )?;
        Ok(Self {
            up: (0..ports).map(|_| MemSlave::default()).collect(),
            down: (0..ports).map(|_| MemMaster::default()).collect(),
            access_up: (0..ports).map(|_| MemSlave::default()).collect(),
            access_down: (0..ports).map(|_| MemMaster::default()).collect(),
            windows: Windows::default(),
            touched: BTreeMap::new(),
            spec,
        })
    }
}

impl Component for LocalityProbe {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundles("up", &mut self.up);
        ports.bundles("down", &mut self.down);
        let (up, down) = (&mut self.access_up, &mut self.access_down);
        ports.optional(|ports| {
            ports.bundles("access_up", up);
            ports.bundles("access_down", down);
        });
    }

    fn learn(&mut self, port: &str, facts: &Facts) -> Result<(), Unfit> {
        if port.starts_with("up[") {
            leave_private_memory(facts, self.spec.global_end)?;
        }
        Ok(())
    }

    fn passage(&self, port: &str, _facts: &mut Facts) -> Option<u32> {
        let (of_accesses, number) = match port.strip_prefix("access_") {
            Some(rest) => (true, rest),
            None => (false, port),
        };
        let number = number.split_once('[')?.1.strip_suffix("].request")?;
        let number: u32 = number.parse().ok()?;
        Some(number * 2 + u32::from(of_accesses))
    }

    fn elaborated(&mut self) -> Result<(), Unfit> {
        let pairs = self.access_up.iter().zip(&self.access_down);
        let half = pairs.enumerate().find(|(_, (above, below))| {
            above.request.is_connected() != below.request.is_connected()
        });
        match half {
            Some((unit, _)) => Err(Unfit::at(
                "",
                format!("of `access_up[{unit}]` and `access_down[{unit}]` only one has a wire"),
            )),
            None => Ok(()),
        }
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let mut waits = false;
        let (spec, windows, touched) = (&self.spec, &mut self.windows, &mut self.touched);
        let accesses = self.access_up.iter_mut().zip(&mut self.access_down);
        for (unit, (above, below)) in accesses.enumerate() {
            if !above.request.is_connected() || !below.request.is_connected() {
                continue;
            }
            waits |= pass(ctx, &mut above.request, &mut below.request, |_, request| {
                if counts(spec, request) {
                    touched.insert((unit as u32, request.line), request.words);
                }
            });
            waits |= pass(
                ctx,
                &mut below.response,
                &mut above.response,
                |_, response| {
                    // A hit, or a miss that has passed below.
                    touched.remove(&(unit as u32, response.line));
                },
            );
        }
        for (unit, (above, below)) in self.up.iter_mut().zip(&mut self.down).enumerate() {
            let unit = unit as u32;
            waits |= pass(
                ctx,
                &mut above.request,
                &mut below.request,
                |ctx, request| {
                    if !counts(spec, request) {
                        return;
                    }
                    let now = match spec.window_unit {
                        WindowUnit::Cycles => ctx.cycle(),
                        WindowUnit::Requests => windows.requests,
                    };
                    let line = request.line;
                    let words = touched.get(&(unit, line)).copied();
                    windows.read(
                        spec,
                        now,
                        Read {
                            line,
                            words: words.unwrap_or(request.words),
                            cluster: unit / spec.units_per_cluster,
                            unit,
                        },
                    );
                },
            );
            waits |= pass(ctx, &mut below.response, &mut above.response, |_, _| {});
        }
        if waits { Next::Credit } else { Next::Message }
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("windows", &mut self.windows);
        state.field("touched", &mut self.touched);
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        let windows = &self.windows;
        let all = windows.requests;
        statistics.counter("requests", "requests", "Reads that counted", all);
        for (w, window) in self.spec.windows.iter().enumerate() {
            let redundant = windows.redundant[w];
            let shares = [
                (
                    "locality_within_cluster",
                    "Reads of a line that the cluster asked for within the window",
                    redundant,
                ),
                (
                    "data_sharing",
                    "Those that share a word with the request before",
                    windows.data_sharing[w],
                ),
                (
                    "line_sharing",
                    "Those that share the line only",
                    redundant - windows.data_sharing[w],
                ),
                (
                    "same_unit",
                    "Those whose line the same unit asked for last",
                    windows.same_unit[w],
                ),
                (
                    "locality_between_clusters",
                    "Other reads of a line that another cluster asked for within the window",
                    windows.between_clusters[w],
                ),
            ];
            for (name, meaning, part) in shares {
                let name = format!("{name}[{window}]");
                statistics.ratio(&name, "reads", meaning, part, all);
            }
        }
    }
}

/// Whether the probe counts this request: a read of global memory.
fn counts(spec: &LocalityProbeSpec, request: &MemRequest) -> bool {
    request.kind == RequestKind::Read && spec.global_end.is_none_or(|end| request.line < end)
}

#[cfg(test)]
mod tests {
    use warpweave_framework::{Cycle, TestBench, Value};

    use super::*;

    fn spec(windows: &[u32]) -> LocalityProbeSpec {
        LocalityProbeSpec {
            clusters: 1,
            units_per_cluster: 2,
            windows: windows.to_vec(),
            window_unit: WindowUnit::Cycles,
            refresh: true,
            global_end: None,
        }
    }

    const A: u64 = 0;
    const B: u64 = 128;
    const C: u64 = 256;
    /// The stream of the specification, of which each window finds more.
    const STREAM: [(Cycle, u64); 6] = [(0, A), (100, B), (400, A), (900, B), (2300, A), (2400, C)];

    fn count(spec: &LocalityProbeSpec, stream: &[(u64, Read)]) -> Windows {
        let mut windows = Windows::default();
        for (at, read) in stream {
            windows.read(spec, *at, *read);
        }
        windows
    }

    fn read(line: u64, words: u32, cluster: u32) -> Read {
        Read {
            line,
            words,
            cluster,
            unit: cluster,
        }
    }

    #[test]
    fn longer_windows_find_more_of_the_stream() {
        let stream = STREAM.map(|(at, line)| (at, read(line, 1, 0)));
        let found = count(&spec(&[500, 1000, 2000]), &stream);
        assert_eq!(found.requests, 6);
        assert_eq!(found.redundant[..3], [1, 2, 3]);
    }

    #[test]
    fn without_refreshing_a_window_counts_from_the_first_request() {
        let stream = STREAM.map(|(at, line)| (at, read(line, 1, 0)));
        let spec = LocalityProbeSpec {
            refresh: false,
            ..spec(&[500, 1000, 2000])
        };
        // 2300 is 2300 after the first request for A.
        assert_eq!(count(&spec, &stream).redundant[..3], [1, 2, 2]);
    }

    #[test]
    fn windows_of_requests_count_requests() {
        let mut probe = Windows::default();
        let spec = spec(&[2, 4]);
        for line in [A, B, A, C, B] {
            let now = probe.requests;
            probe.read(&spec, now, read(line, 1, 0));
        }
        // A after 2 requests, B after 3.
        assert_eq!(probe.redundant[..2], [1, 2]);
    }

    #[test]
    fn sharing_is_of_data_where_the_words_meet() {
        let stream = [
            (0, read(A, 0b0001, 0)),
            (1, read(A, 0b0010, 0)),
            (2, read(A, 0b0110, 0)),
        ];
        let found = count(&spec(&[10]), &stream);
        assert_eq!((found.redundant[0], found.data_sharing[0]), (2, 1));
    }

    #[test]
    fn another_cluster_counts_apart() {
        let stream = [
            (0, read(A, 1, 0)),
            (5, read(A, 1, 1)),
            (6, read(A, 1, 1)),
            (50, read(A, 1, 0)),
        ];
        let found = count(&spec(&[10]), &stream);
        assert_eq!((found.redundant[0], found.between_clusters[0]), (1, 1));
    }

    #[test]
    fn what_no_window_reaches_is_forgotten() {
        let spec = spec(&[10]);
        let mut windows = Windows::default();
        for n in 0..1000 {
            windows.read(&spec, n, read(n * 128, 1, 0));
        }
        assert_eq!((windows.lines.len(), windows.order.len()), (11, 11));
    }

    #[test]
    fn the_tap_passes_everything_and_sees_what_units_touched() {
        let mut bench = TestBench::new();
        let probe = LocalityProbe::build(spec(&[500, 1000, 2000]), &Environment::default());
        bench.add("probe", probe.unwrap());
        let mut ends = Vec::new();
        for unit in 0..2 {
            let at = |port: &str, message| format!("probe.{port}[{unit}].{message}");
            ends.push((
                bench.source::<MemRequest>(&at("access_up", "request")),
                bench.sink::<MemRequest>(&at("access_down", "request")),
                bench.source::<MemRequest>(&at("up", "request")),
                bench.sink::<MemRequest>(&at("down", "request")),
            ));
            bench.source::<crate::memory::MemResponse>(&at("access_down", "response"));
            bench.sink::<crate::memory::MemResponse>(&at("access_up", "response"));
            bench.source::<crate::memory::MemResponse>(&at("down", "response"));
            bench.sink::<crate::memory::MemResponse>(&at("up", "response"));
        }
        // Two units touch different words of one line; both misses ask for all of it.
        for (unit, ends) in ends.iter().enumerate() {
            let cycle = 10 + 20 * unit as Cycle;
            ends.0.send_at(cycle, MemRequest::read(3, A, 1 << unit));
            ends.2.send_at(cycle + 5, MemRequest::read(0, A, u32::MAX));
        }
        let whole = MemRequest::read(0, A, u32::MAX);
        bench.expect_at(&ends[0].1, 10, &MemRequest::read(3, A, 1));
        bench.expect_at(&ends[0].3, 15, &whole);
        bench.expect_at(&ends[1].3, 35, &whole);
        assert_eq!(ends[1].1.count(), 1);
        let statistics = bench.statistics("probe");
        let half = Value::Ratio { part: 1, whole: 2 };
        assert_eq!(statistics.get("line_sharing[500]"), Some(&half));
        assert_eq!(statistics.get("locality_within_cluster[2000]"), Some(&half));
    }
}
