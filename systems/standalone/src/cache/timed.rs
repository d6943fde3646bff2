//! Timed simulation of the complete cache component under a trace. A requester sends as fast as the
//! cache accepts, and the lower-level memory has a fixed latency.
//!
//! ```text
//!   requester ──► cache ──► memory
//!             ◄──       ◄──
//! ```

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use warpweave_components::cache::{Cache, CacheSpec};
use warpweave_components::memory::{
    Level, MemMaster, MemRequest, MemResponse, MemSlave, RequestKind, word_mask,
};
use warpweave_framework::{
    Bundle, Component, Context, Cycle, Environment, Frequency, Kind, Link, Next, Outcome, Ports,
    RunLimits, SpecError, Stateful, Statistics, SystemBuilder, Value, Width,
};

use super::Access;
use crate::{Description, Distribution, StandaloneError};

/// Description file of the cache bench.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bench {
    /// Description of the cache under test.
    pub cache: CacheSpec,
    /// Memory latency: cycles from a request being readable at the memory to its answer.
    pub memory_latency_cycles: u32,
    #[serde(skip)]
    description: Option<Description>,
}

/// Measured results of a timed run.
#[derive(Clone, Debug, Serialize)]
pub struct Timed {
    /// Number of cycles until the last answer.
    pub cycles: Cycle,
    /// Throughput in answered accesses per cycle.
    pub accesses_per_cycle: f64,
    /// Reads and writes that were served by the cache.
    pub hits: u64,
    /// Reads and writes that were served by the next lower level.
    pub misses: u64,
    /// Latency of accesses, in cycles from sending to answer.
    pub latency: Option<Distribution>,
    /// Accesses that crossed the end of a line and were truncated there.
    pub cut: u64,
    /// All counters of the cache, by name.
    pub counters: Vec<(String, u64)>,
    /// Per access, true if the cache served it.
    #[serde(skip)]
    pub served: Vec<bool>,
}

impl Bench {
    /// Reads a description file.
    ///
    /// # Errors
    /// Returns the position and description of what is invalid.
    pub fn read(path: &Path) -> Result<Self, StandaloneError> {
        let description = Description::read(path)?;
        let bench: Self = description.typed()?;
        Ok(Self {
            description: Some(description),
            ..bench
        })
    }

    /// Returns an error for an invalid field of the cache, with its position if known.
    pub(super) fn refused(&self, error: SpecError) -> StandaloneError {
        match &self.description {
            Some(description) => description.refused("cache", error),
            None => error.into(),
        }
    }

    /// Runs a trace. Policy names are looked up in the environment.
    ///
    /// # Errors
    /// Returns an error if the cache cannot be built or its protocol is violated.
    pub fn run(
        &self,
        trace: &[Access],
        environment: &Environment,
    ) -> Result<Timed, StandaloneError> {
        let failed = StandaloneError::Request;
        let cache = Cache::build(self.cache.clone(), environment).map_err(|e| self.refused(e))?;
        let result = Arc::new(OnceLock::new());
        let requester = Requester {
            requests: requests(trace, self.cache.line_bytes),
            sent: Vec::with_capacity(trace.len()),
            answers: vec![(0, false); trace.len()],
            answered: 0,
            own_level: (&self.cache.level).into(),
            result: result.clone(),
            down: MemMaster::default(),
        };
        let mut builder = SystemBuilder::new();
        let clock = builder.clock("cache", Frequency::new(1_000_000_000, 1).expect("not zero"));
        builder.add("requester", clock, requester);
        builder.add("cache", clock, cache);
        let memory = Memory {
            latency: Cycle::from(self.memory_latency_cycles),
            answers: VecDeque::new(),
            up: MemSlave::default(),
        };
        builder.add("memory", clock, memory);
        let per_cycle = self
            .cache
            .banks
            .map_or(1, |banks| banks.requests_per_cycle)
            .max(self.cache.responses_per_cycle);
        let link = Link::latency(1)
            .width(Width::Messages(per_cycle))
            .capacity(2 * per_cycle);
        builder.connect("requester.down", "cache.up", link);
        builder.connect("cache.down", "memory.up", Link::latency(1));
        let mut simulation = builder.elaborate().map_err(|e| failed(e.to_string()))?;
        match simulation.run(&RunLimits::default()) {
            Outcome::Done => {}
            Outcome::Failed(message) => return Err(failed(message)),
            other => return Err(failed(format!("the run ended early: {other:?}"))),
        }
        let counters = simulation
            .statistics()
            .into_iter()
            .filter(|instance| instance.path == "cache")
            .flat_map(|instance| instance.values)
            .filter_map(|s| match s.value {
                Value::Counter(count) => Some((s.name.to_string(), count)),
                _ => None,
            })
            .collect();
        let finished: &Finished = result
            .get()
            .ok_or_else(|| failed("not every access was answered".to_owned()))?;
        let mask = u64::from(self.cache.line_bytes - 1);
        let cut = |access: &&Access| (access.address & mask) + 4 > mask + 1;
        Ok(Timed {
            cut: trace.iter().filter(cut).count() as u64,
            ..finished.summary(counters)
        })
    }
}

/// Results recorded by the requester.
#[derive(Debug)]
struct Finished {
    cycles: Cycle,
    /// Latency of each access, and true if the cache served it.
    answers: Vec<(Cycle, bool)>,
}

impl Finished {
    fn summary(&self, counters: Vec<(String, u64)>) -> Timed {
        let served: Vec<bool> = self.answers.iter().map(|a| a.1).collect();
        let hits = served.iter().filter(|s| **s).count() as u64;
        Timed {
            cycles: self.cycles,
            accesses_per_cycle: self.answers.len() as f64 / self.cycles.max(1) as f64,
            hits,
            misses: self.answers.len() as u64 - hits,
            latency: Distribution::of(self.answers.iter().map(|a| a.0).collect()),
            cut: 0,
            counters,
            served,
        }
    }
}

fn requests(trace: &[Access], line_bytes: u32) -> Vec<MemRequest> {
    let mask = u64::from(line_bytes - 1);
    let request = |(id, access): (u32, &Access)| {
        let offset = (access.address & mask) as u32;
        // An access at the end of a line is cut there, as an access never crosses lines.
        let words = word_mask(offset, 4.min(line_bytes - offset));
        MemRequest {
            kind: if access.write {
                RequestKind::Write
            } else {
                RequestKind::Read
            },
            ..MemRequest::read(id, access.address & !mask, words)
        }
    };
    (0..).zip(trace).map(request).collect()
}

/// Component that sends the trace as fast as the cache accepts it.
#[derive(Statistics)]
struct Requester {
    requests: Vec<MemRequest>,
    /// Cycle in which each access was sent.
    sent: Vec<Cycle>,
    answers: Vec<(Cycle, bool)>,
    answered: usize,
    own_level: Level,
    result: Arc<OnceLock<Finished>>,
    down: MemMaster,
}

impl Bundle for Requester {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("down", &mut self.down);
    }
}

impl Component for Requester {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        while let Some(response) = self.down.response.pop(ctx) {
            let id = response.id as usize;
            self.answers[id] = (now - self.sent[id], response.level == self.own_level);
            self.answered += 1;
            if self.answered == self.requests.len() {
                let answers = std::mem::take(&mut self.answers);
                let finished = Finished {
                    cycles: now,
                    answers,
                };
                self.result
                    .set(finished)
                    .expect("the last reply arrives once");
                return Next::Idle;
            }
        }
        while let Some(request) = self.requests.get(self.sent.len()) {
            if self.down.request.try_send(ctx, *request).is_err() {
                return Next::Credit;
            }
            self.sent.push(now);
        }
        Next::Message
    }
}

impl Stateful for Requester {}

/// Memory component that answers every request after a fixed latency.
#[derive(Statistics)]
struct Memory {
    latency: Cycle,
    answers: VecDeque<(Cycle, MemResponse)>,
    up: MemSlave,
}

impl Bundle for Memory {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("up", &mut self.up);
    }
}

impl Component for Memory {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        while let Some(request) = self.up.request.pop(ctx) {
            if request.kind.wants_response() {
                self.answers
                    .push_back((now + self.latency, request.answer(Level::DRAM)));
            }
        }
        while let Some(&(due, response)) = self.answers.front() {
            if due > now {
                return Next::Until(due);
            }
            if self.up.response.try_send(ctx, response).is_err() {
                return Next::Credit;
            }
            self.answers.pop_front();
        }
        Next::Idle
    }
}

impl Stateful for Memory {}

#[cfg(test)]
mod tests {
    use super::*;

    const BENCH: &str = "(
        cache: (
            level: L1, size_bytes: 16384, line_bytes: 128, ways: 4, replacement: Lru,
            allocate: OnMiss, write: WriteEvict, atomics: Forward, mshr_entries: 8, mshr_merges: 8,
            pass_entries: 8, miss_queue_entries: 8, hit_latency_cycles: 20,
            miss_latency_cycles: 10, fill_latency_cycles: 5, responses_per_cycle: 1,
        ),
        memory_latency_cycles: 100,
    )";

    fn bench(text: &str) -> Result<Bench, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("bench.ron");
        std::fs::write(&path, text).expect("written");
        Bench::read(&path).map_err(|e| e.to_string())
    }

    fn reads(addresses: &[u64]) -> Vec<Access> {
        let read = |&address| Access {
            address,
            write: false,
        };
        addresses.iter().map(read).collect()
    }

    #[test]
    fn latencies_are_sums_of_the_description() {
        let bench = bench(BENCH).expect("well formed");
        let timed = bench
            .run(&reads(&[0x80]), &crate::environment())
            .expect("runs");
        // Wires of one cycle: to the cache and back, to the memory and back.
        let miss = 1 + 10 + 1 + 100 + 1 + 5 + 1;
        let latency = timed.latency.expect("one access");
        assert_eq!((latency.min, latency.max), (miss, miss));
        assert_eq!(
            (timed.hits, timed.misses, timed.served),
            (0, 1, vec![false])
        );
    }

    #[test]
    fn what_was_fetched_once_is_served_at_one_per_cycle() {
        let bench = bench(BENCH).expect("well formed");
        let lines: Vec<u64> = (0..5000).map(|n| n % 50 * 128).collect();
        let timed = bench
            .run(&reads(&lines), &crate::environment())
            .expect("runs");
        let count = |name: &str| {
            let found = timed.counters.iter().find(|(other, _)| other == name);
            found.expect("a counter of the cache").1
        };
        // The last two lines come alone, after about 120 cycles, and are asked for again 50 and 100
        // cycles after their misses.
        assert_eq!((count("misses"), count("hits_reserved")), (50, 4));
        assert_eq!((timed.hits, timed.misses), (4946, 54));
        assert_eq!(timed.served.iter().filter(|s| **s).count(), 4946);
        // Eight lines in flight at a time, each for about 120 cycles.
        assert!(
            timed.cycles < 4950 + 50 / 8 * 120 + 300,
            "{} cycles",
            timed.cycles
        );
    }

    #[test]
    fn problems_of_a_description_are_named() {
        let error = bench(&BENCH.replace("ways: 4", "ways: 0"))
            .expect("is read")
            .run(&[], &crate::environment());
        let error = error.expect_err("no ways").to_string();
        assert!(error.starts_with("error: cache.ways: 0"), "{error}");
        assert!(error.contains("bench.ron:3:66"), "{error}");
        let error = bench(&BENCH.replace("Lru", "Lruu"))
            .expect("is read")
            .run(&[], &crate::environment());
        let error = error.expect_err("no such policy").to_string();
        assert!(error.contains("unknown replacement `Lruu`"), "{error}");
    }
}
