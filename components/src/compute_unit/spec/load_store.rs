//! Settings of the load/store unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of lanes of an atomic operation that update the same word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AtomicLanes {
    /// They share the request of their line, which is served as one wherever atomics are carried out.
    #[default]
    Together,
    /// Each goes in a request of its own: there are as many requests for a line as the word that most lanes update
    /// has lanes.
    Apart,
}

/// Who serves accesses to local memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MemoryPipe {
    /// A port of its own, beside the load/store queue.
    #[default]
    Separate,
    /// The load/store queue: accesses to local, global and private memory leave it in the order of
    /// issue, and each holds its place until its last bank conflict is served or its last request sent.
    InOrder,
}

/// The load/store unit: coalescer, queue of accesses, outstanding requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadStoreSpec {
    /// Bytes of the lines requests name: 32, 64 or 128.
    pub line_bytes: u32,
    /// Accesses (wavefront instructions) that wait for their requests to be sent, 1 to 1024; when
    /// full, memory instructions do not issue.
    pub queue_depth: u32,
    /// Who serves accesses to local memory. Source: own choice; `InOrder` is GPGPU-Sim's, whose memory
    /// collectors are the queue.
    #[serde(default)]
    pub pipe: MemoryPipe,
    /// Accesses to local, global and private memory, and by `constants`, that all schedulers together issue per
    /// cycle at most, 1 to 8; absent: as many as there are schedulers.
    #[serde(default)]
    pub issues_per_cycle: Option<u32>,
    /// What becomes of lanes of an atomic operation on global memory that update the same word. Source: own choice;
    /// `Apart` is GPGPU-Sim's.
    #[serde(default)]
    pub atomics: AtomicLanes,
    /// Requests sent per cycle at most, 1 to 32.
    pub requests_per_cycle: u32,
    /// Requests sent and not yet answered at most, 1 to 65536; when reached, sending waits.
    pub outstanding_max: u32,
    /// Cycles from the last response of a load to issue of a dependent instruction; 0 allows it
    /// in the cycle in which the response arrives.
    pub writeback_latency: u32,
}
