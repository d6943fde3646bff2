//! Settings of the load/store unit: queue, coalescing, requests and the path of the data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Handling of lanes of an atomic operation that update the same word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AtomicLanes {
    /// They share the request of their line, which the atomic unit serves as one operation.
    #[default]
    Together,
    /// They go in separate requests: a line gets as many requests as the largest number of lanes
    /// that update one of its words.
    Apart,
}

/// Unit that serves accesses to local memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MemoryPipe {
    /// A separate port, independent of the load/store queue.
    #[default]
    Separate,
    /// The load/store queue, which accesses to local, global and private memory leave in issue
    /// order. Each keeps its entry until its last bank conflict is served or its last request is
    /// sent.
    InOrder,
}

/// Use of the first-level cache by loads from global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum GlobalLoads {
    /// Loads use the first level, except those whose instruction asks to pass it.
    #[default]
    Cached,
    /// Every load and prefetch that may access global memory passes the first level, except
    /// read-only data and textures.
    Bypass,
}

/// Load/store unit: coalescer, access queue and outstanding requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadStoreSpec {
    /// Line size in bytes of requests: 32, 64 or 128.
    pub line_bytes: u32,
    /// Queue entries for accesses (wavefront instructions) that wait for their requests to be sent,
    /// 1 to 1024; when full, memory instructions do not issue.
    pub queue_depth: u32,
    /// Unit that serves local-memory accesses. Source: own choice; `InOrder` is GPGPU-Sim's, whose
    /// memory collectors are the queue.
    #[serde(default)]
    pub pipe: MemoryPipe,
    /// Maximum number of accesses that all schedulers together issue per cycle, 1 to 8. Counts
    /// accesses to local, global and private memory and by `constants`. Absent: one per scheduler.
    #[serde(default)]
    pub issues_per_cycle: Option<u32>,
    /// Handling of lanes of a global-memory atomic that update the same word. Source: own choice;
    /// `Apart` is GPGPU-Sim's.
    #[serde(default)]
    pub atomics: AtomicLanes,
    /// Use of the first level by loads from global memory. Source: `Cached`, which a compiler
    /// option selects (CTA-clustering paper, 2).
    #[serde(default)]
    pub global_loads: GlobalLoads,
    /// Maximum number of requests sent per cycle, 1 to 32.
    pub requests_per_cycle: u32,
    /// Bytes that lanes move per cycle by `memory`, 1 to 4096; wide accesses then take several.
    /// Absent: any number. Source: own choice; an H200 moves 114
    #[serde(default)]
    pub bytes_per_cycle: Option<u32>,
    /// Maximum number of outstanding requests, 1 to 65536; when reached, sending waits.
    pub outstanding_max: u32,
    /// Cycles from the last response of a load to the issue of a dependent instruction. 0 allows
    /// issue in the arrival cycle of the response.
    pub writeback_latency: u32,
}
