//! Tests of the unit cycle by cycle ([`scripted`]), and under random [`traffic`] with a memory that
//! numbers lines ([`tagged_memory`]). A [`saboteur`] breaks the unit so that its checker must
//! report it ([`mutants`]). In the middle of random traffic the unit may be [`reborn`].

mod mutants;
mod reborn;
mod saboteur;
mod scripted;
mod tagged_memory;
mod traffic;

use std::collections::VecDeque;

use warpweave_framework::{Cycle, Instrumented, Link, Policy, Sink, Stateful, TestBench};

use super::*;
use crate::cache::replacement::Lru;
use crate::memory::{Level, MemRequest, MemResponse, RequestKind, flags};

const A: u64 = 0x1000;
const B: u64 = 0x2000;
const C: u64 = 0x3000;

pub(super) fn cache() -> CoalescedCacheSpec {
    CoalescedCacheSpec {
        lines: 24,
        access_cycles: 1,
        replacement: Policy::plain::<Lru>(),
        fill: FillRule::Coalesced,
        hit_queue: 4,
        priority: BusPriority::Replies,
        serve_bypassing: false,
        invalidate_at_kernel_end: false,
    }
}

pub(crate) fn spec() -> IccSpec {
    IccSpec {
        up_ports: 5,
        line_bytes: 128,
        table_entries: 2,
        table_cycles: 1,
        reply_cycles: 1,
        delivery: Delivery::Broadcast,
        outstanding: 32,
        global_end: None,
        table_full: TableFull::Untracked,
        joins: Joins::Contained,
        window_cycles: None,
        on_write: OnWrite::Close,
        coalesced_cache: Some(cache()),
    }
}

fn unit(spec: IccSpec) -> IccUnit {
    IccUnit::build(spec, &Environment::default()).expect("a valid specification")
}

fn read(id: u32, line: u64) -> MemRequest {
    MemRequest::read(id, line, u32::MAX)
}
