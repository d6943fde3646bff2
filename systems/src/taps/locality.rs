//! Locality within and between clusters: the fraction of requests below the first-level caches
//! whose line was recently requested before (ICC paper, 3.3.1).
//!
//! A read of global memory is *redundant* for a window when its cluster requested the line at most
//! one window earlier. Redundant reads are split by overlap of the two requests: at least one
//! common 4-byte word (*data sharing*) or none (*line sharing*). A cache requests whole lines,
//! whatever its unit touched. The words are therefore those of the unit's newest access to the line
//! if the tap also observes accesses, or else those of the request. A read may be non-redundant in
//! its cluster while another cluster requested its line within the window. It then counts as
//! locality *between* clusters.
//!
//! The first number of a port's address is its cluster, unless the tap gives the number of units
//! per cluster. Requests of one tick are counted in port order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use warpweave_components::memory::{MemRequest, RequestKind};
use warpweave_framework::{Simulation, Statistics};
use warpweave_params::{Diagnostic, Diagnostics, Placed};

use super::ports::{Listener, MemoryPort, named_by, refused};
use super::{ActiveTap, Analysis, Event, Point, TapRecord};

/// Maximum number of windows in a tap.
const WINDOWS_MAX: usize = 8;

/// Description of a `Locality` tap in a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LocalitySpec {
    /// Memory ports below the first-level caches, one for each unit.
    at: Placed<String>,
    /// Memory ports above the same caches, to know the words that units touch.
    #[serde(default)]
    accesses: Option<Placed<String>>,
    /// Units per cluster, in the order of their ports. If absent, the first number of a port's
    /// address is its cluster.
    #[serde(default)]
    units_per_cluster: Option<Placed<u32>>,
    /// Window lengths, 1 to 8 of them, ascending.
    windows: Placed<Vec<u32>>,
    /// Unit in which windows are measured.
    window_unit: WindowUnit,
    /// Makes a redundant request the latest one, from which later windows are measured.
    refresh: bool,
    /// First byte address beyond global memory; reads from there on are not counted. If absent, all
    /// addresses are global.
    #[serde(default)]
    global_end: Option<u64>,
}

/// Unit in which windows are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum WindowUnit {
    /// Windows are measured in core cycles.
    Cycles,
    /// Windows are measured in counted requests of all clusters.
    Requests,
}

/// Rules that define which requests count as locality.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Rules {
    windows: Vec<u32>,
    window_unit: WindowUnit,
    refresh: bool,
    global_end: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Locality {
    rules: Rules,
    /// Cluster number of each observed port.
    clusters: Vec<u32>,
    /// Ticks per cycle of the core clock.
    core_period: u64,
    windows: Windows,
    /// Words of a unit's newest access to a line, until its reply.
    touched: BTreeMap<(u32, u64), u32>,
}

impl LocalitySpec {
    pub(super) fn check(&self) -> Result<(), Diagnostics> {
        let mut problems = Diagnostics::new();
        let windows = &self.windows.value;
        if !(1..=WINDOWS_MAX).contains(&windows.len()) || !windows.is_sorted_by(|a, b| a < b) {
            let message =
                format!("{windows:?} must be a list of 1 to {WINDOWS_MAX} ascending windows");
            problems.push(self.windows.error(message));
        }
        if let Some(units) = self.units_per_cluster.as_ref().filter(|u| u.value == 0) {
            problems.push(units.error("a cluster must have at least one unit"));
        }
        problems.into_result(())
    }

    pub(super) fn attach(
        &self,
        simulation: &mut Simulation,
        core_period: u64,
    ) -> Result<ActiveTap, Diagnostics> {
        let ports = named_by(&self.at, simulation)?;
        let mut listeners = Vec::new();
        for (number, port) in (0_u32..).zip(&ports) {
            let listener = Listener::of_requests(simulation, &port.address, (Point::At, number));
            listeners.push(listener.map_err(|error| refused(&self.at, &error))?);
        }
        if let Some(accesses) = &self.accesses {
            for (number, above) in above(accesses, &ports, simulation)? {
                let (requests, answers) = ((Point::Accesses, number), (Point::Answers, number));
                for listener in [
                    Listener::of_requests(simulation, &above.address, requests),
                    Listener::of_responses(simulation, &above.address, answers),
                ] {
                    listeners.push(listener.map_err(|error| refused(accesses, &error))?);
                }
            }
        }
        let units = self.units_per_cluster.as_ref().map(|units| units.value);
        let clusters = (0_u32..).zip(&ports).map(|(number, port)| match units {
            Some(units) => number / units,
            None => port.numbers.first().map_or(0, |cluster| *cluster as u32),
        });
        let locality = Locality {
            clusters: clusters.collect(),
            core_period,
            rules: Rules {
                windows: self.windows.value.clone(),
                window_unit: self.window_unit,
                refresh: self.refresh,
                global_end: self.global_end,
            },
            windows: Windows::default(),
            touched: BTreeMap::new(),
        };
        Ok(ActiveTap {
            analysis: Analysis::Locality(Box::new(locality)),
            listeners,
            ports: ports.into_iter().map(|port| port.address).collect(),
        })
    }
}

/// Returns the ports above those of `below`, each with the index of the one below.
fn above(
    written: &Placed<String>,
    below: &[MemoryPort],
    simulation: &mut Simulation,
) -> Result<Vec<(u32, MemoryPort)>, Diagnostic> {
    let above = named_by(written, simulation)?;
    let numbers = |ports: &[MemoryPort]| -> BTreeSet<Vec<u64>> {
        ports.iter().map(|port| port.numbers.clone()).collect()
    };
    if numbers(&above) != numbers(below) || above.len() != below.len() {
        let (above, below) = (above.len(), below.len());
        let message = format!(
            "`accesses` and `at` match ports with different indices: {above} and {below} ports"
        );
        let hint = "use the same wildcards in both: the ports above and below the same caches";
        return Err(written.error(message).hint(hint));
    }
    // Both are sorted by their numbers.
    Ok((0_u32..).zip(above).collect())
}

impl Locality {
    pub(super) fn hear(&mut self, event: &Event) {
        let unit = event.port;
        match (event.point, &event.passed) {
            // A hit, or a miss that has passed below.
            (_, TapRecord::Response(response)) => {
                self.touched.remove(&(unit, response.line));
            }
            (_, TapRecord::Request(request)) if !self.rules.count(request) => {}
            (Point::Accesses, TapRecord::Request(request)) => {
                self.touched.insert((unit, request.line), request.words);
            }
            (_, TapRecord::Request(request)) => {
                let now = match self.rules.window_unit {
                    WindowUnit::Cycles => event.tick.0 / self.core_period,
                    WindowUnit::Requests => self.windows.requests,
                };
                let line = request.line;
                let words = self.touched.get(&(unit, line)).copied();
                let cluster = self.clusters.get(unit as usize).copied();
                let read = Read {
                    line,
                    words: words.unwrap_or(request.words),
                    cluster: cluster.unwrap_or_default(),
                    unit,
                };
                self.windows.read(&self.rules, now, read);
            }
        }
    }

    pub(super) fn report(&self, statistics: &mut Statistics<'_>) {
        let windows = &self.windows;
        let all = windows.requests;
        statistics.counter("requests", "requests", "Reads that counted", all);
        for (w, window) in self.rules.windows.iter().enumerate() {
            let redundant = windows.redundant[w];
            let shares = [
                (
                    "locality_within_cluster",
                    "Reads of a line that the cluster requested within the window",
                    redundant,
                ),
                (
                    "data_sharing",
                    "Such reads that share a word with the previous request",
                    windows.data_sharing[w],
                ),
                (
                    "line_sharing",
                    "Such reads that share only the line",
                    redundant.saturating_sub(windows.data_sharing[w]),
                ),
                (
                    "same_unit",
                    "Such reads whose line was last requested by the same unit",
                    windows.same_unit[w],
                ),
                (
                    "locality_between_clusters",
                    "Other reads of a line that another cluster requested within the window",
                    windows.between_clusters[w],
                ),
            ];
            for (name, meaning, part) in shares {
                let statistics = statistics.at(*window as usize);
                statistics.ratio(name, "reads", meaning, part, all);
            }
        }
    }
}

impl Rules {
    /// True if a request counts, as a read of global memory.
    fn count(&self, request: &MemRequest) -> bool {
        request.kind == RequestKind::Read && self.global_end.is_none_or(|end| request.line < end)
    }
}

/// Requests within the longest window, with the counts of each window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Windows {
    /// Newest request of each line and cluster.
    lines: BTreeMap<(u64, u32), Request>,
    /// Time of each request, oldest first, for its removal.
    order: VecDeque<(u64, u64, u32)>,
    requests: u64,
    redundant: [u64; WINDOWS_MAX],
    data_sharing: [u64; WINDOWS_MAX],
    /// Redundant requests whose line was last requested by the same unit.
    same_unit: [u64; WINDOWS_MAX],
    between_clusters: [u64; WINDOWS_MAX],
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Request {
    /// Start time of each window for this request.
    since: [u64; WINDOWS_MAX],
    latest: u64,
    words: u32,
    unit: u32,
}

/// Read request as seen by the windows.
#[derive(Clone, Copy, Debug)]
struct Read {
    line: u64,
    words: u32,
    cluster: u32,
    unit: u32,
}

impl Windows {
    /// Counts a read at time `now`, in the windows' unit.
    fn read(&mut self, rules: &Rules, now: u64, read: Read) {
        self.requests += 1;
        self.forget(now.saturating_sub(u64::from(*rules.windows.last().unwrap_or(&0))));
        let Read {
            line,
            words,
            cluster,
            unit,
        } = read;
        let mut since = [now; WINDOWS_MAX];
        for (w, &window) in rules.windows.iter().enumerate() {
            let within = |since: u64| now.saturating_sub(since) <= u64::from(window);
            let own = self.lines.get(&(line, cluster));
            if let Some(own) = own.filter(|own| within(own.since[w])) {
                self.redundant[w] += 1;
                self.data_sharing[w] += u64::from(own.words & words != 0);
                self.same_unit[w] += u64::from(own.unit == unit);
                if !rules.refresh {
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

    /// Removes requests older than `oldest` that were not repeated since.
    fn forget(&mut self, oldest: u64) {
        while let Some(&(at, line, cluster)) = self.order.front().filter(|(at, ..)| *at < oldest) {
            self.order.pop_front();
            if self.lines.get(&(line, cluster)).map(|r| r.latest) == Some(at) {
                self.lines.remove(&(line, cluster));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(windows: &[u32]) -> Rules {
        Rules {
            windows: windows.to_vec(),
            window_unit: WindowUnit::Cycles,
            refresh: true,
            global_end: None,
        }
    }

    const A: u64 = 0;
    const B: u64 = 128;
    const C: u64 = 256;
    /// Request stream of the specification; longer windows find more redundancy in it.
    const STREAM: [(u64, u64); 6] = [(0, A), (100, B), (400, A), (900, B), (2300, A), (2400, C)];

    fn count(rules: &Rules, stream: &[(u64, Read)]) -> Windows {
        let mut windows = Windows::default();
        for (at, read) in stream {
            windows.read(rules, *at, *read);
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
        let found = count(&rules(&[500, 1000, 2000]), &stream);
        assert_eq!(found.requests, 6);
        assert_eq!(found.redundant[..3], [1, 2, 3]);
    }

    #[test]
    fn without_refreshing_a_window_counts_from_the_first_request() {
        let stream = STREAM.map(|(at, line)| (at, read(line, 1, 0)));
        let rules = Rules {
            refresh: false,
            ..rules(&[500, 1000, 2000])
        };
        // 2300 is 2300 after the first request for A.
        assert_eq!(count(&rules, &stream).redundant[..3], [1, 2, 2]);
    }

    #[test]
    fn windows_of_requests_count_requests() {
        let mut probe = Windows::default();
        let rules = rules(&[2, 4]);
        for line in [A, B, A, C, B] {
            let now = probe.requests;
            probe.read(&rules, now, read(line, 1, 0));
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
        let found = count(&rules(&[10]), &stream);
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
        let found = count(&rules(&[10]), &stream);
        assert_eq!((found.redundant[0], found.between_clusters[0]), (1, 1));
    }

    #[test]
    fn what_no_window_reaches_is_forgotten() {
        let rules = rules(&[10]);
        let mut windows = Windows::default();
        for n in 0..1000 {
            windows.read(&rules, n, read(n * 128, 1, 0));
        }
        assert_eq!((windows.lines.len(), windows.order.len()), (11, 11));
    }

    /// Computes the window counts naively, with a pass over all earlier reads for each read.
    fn naively(rules: &Rules, stream: &[(u64, Read)]) -> [[u64; 4]; 2] {
        let mut found = [[0; 4]; 2];
        for (w, window) in rules.windows.iter().enumerate() {
            // When the window of each earlier read began.
            let mut since: Vec<u64> = Vec::new();
            for (n, (now, read)) in stream.iter().enumerate() {
                let reaches = |earlier: &usize| now - since[*earlier] <= u64::from(*window);
                let newest = |cluster: u32| {
                    let earlier = (0..n).rev().find(|earlier| {
                        let before = &stream[*earlier].1;
                        (before.line, before.cluster) == (read.line, cluster)
                    });
                    earlier.filter(reaches)
                };
                let own = newest(read.cluster);
                let elsewhere = (0..4).any(|c| c != read.cluster && newest(c).is_some());
                let begins = match own {
                    Some(own) if !rules.refresh => since[own],
                    _ => *now,
                };
                if let Some(own) = own {
                    let before = &stream[own].1;
                    found[w][0] += 1;
                    found[w][1] += u64::from(before.words & read.words != 0);
                    found[w][2] += u64::from(before.unit == read.unit);
                } else {
                    found[w][3] += u64::from(elsewhere);
                }
                since.push(begins);
            }
        }
        found
    }

    proptest::proptest! {
        #[test]
        fn windows_find_what_going_through_all_earlier_reads_finds(
            steps in proptest::collection::vec((0_u64..6, 0_u64..4, 1_u32..16, 0_u32..6), 0..80),
            refresh: bool,
            short in 1_u32..12,
            longer in 1_u32..12,
        ) {
            let rules = Rules { refresh, ..rules(&[short, short + longer]) };
            let mut now = 0;
            let stream: Vec<_> = steps.into_iter().map(|(step, line, words, unit)| {
                now += step;
                (now, Read { line: line * 128, words, cluster: unit / 2, unit })
            }).collect();
            let found = count(&rules, &stream);
            let counts = |w: usize| [
                found.redundant[w], found.data_sharing[w], found.same_unit[w], found.between_clusters[w],
            ];
            proptest::prop_assert_eq!([counts(0), counts(1)], naively(&rules, &stream));
        }
    }

    #[test]
    fn a_read_has_the_words_that_its_unit_touched_until_the_answer() {
        let event = |tick, point, port, passed| Event {
            tick: warpweave_framework::Tick(tick),
            point,
            port,
            passed,
        };
        let mut locality = Locality {
            rules: rules(&[500]),
            clusters: vec![0, 0],
            core_period: 1,
            windows: Windows::default(),
            touched: BTreeMap::new(),
        };
        // Two units touch different words of one line; both misses ask for all of it.
        for unit in 0..2 {
            let now = 10 + 20 * u64::from(unit);
            let access = MemRequest::read(3, A, 1 << unit);
            let miss = MemRequest::read(0, A, u32::MAX);
            locality.hear(&event(
                now,
                Point::Accesses,
                unit,
                TapRecord::Request(access),
            ));
            locality.hear(&event(now + 5, Point::At, unit, TapRecord::Request(miss)));
        }
        let shares = |locality: &Locality| {
            (
                locality.windows.redundant[0],
                locality.windows.data_sharing[0],
            )
        };
        assert_eq!(shares(&locality), (1, 0));
        // Once answered, only the request itself is known.
        let answer = MemRequest::read(3, A, 2).answer(warpweave_components::memory::Level::L2);
        locality.hear(&event(60, Point::Answers, 1, TapRecord::Response(answer)));
        let miss = MemRequest::read(0, A, u32::MAX);
        locality.hear(&event(70, Point::At, 1, TapRecord::Request(miss)));
        assert_eq!(shares(&locality), (2, 1));
    }
}
