//! Bypass by address: the memory address table (BYP-M1). A line goes past the cache if its block of
//! memory is accessed less than that of the line it would displace.
//!
//! Every accepted request but a copy-back counts for its block, joins, stores and atomics too.
//! Counters halve when a later launch begins. An empty way is always filled. The victim is known
//! when a line arrives, so the policy acts in a cache with `allocate: OnFill` only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::chance::check_probability;
use super::{CachePolicies, CachePolicy, EventContext, Field, Fill, FillDecision, TagLookup};
use crate::memory::{RequestKind, Source};

/// Specification of the [`MemoryAddressTable`] policy: its counters and how they compare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryAddressTableSpec {
    /// Number of counters, 1 to 1048576; blocks that agree modulo it share one. Source: 1024 in the
    /// graph thesis.
    pub entries: u32,
    /// Bytes of a block, a power of two of at least a line. Source: 1024 in the graph thesis.
    pub block_bytes: u64,
    /// A line is bypassed if its counter is below this fraction, 0 to 1, of its victim's. With 0
    /// nothing is. Source: 0.99 in the graph thesis.
    pub fraction: f64,
    /// True if each bypass takes one from the victim's counter. Source: own choice.
    pub age: bool,
}

impl Default for MemoryAddressTableSpec {
    fn default() -> Self {
        Self {
            entries: 1024,
            block_bytes: 1024,
            fraction: 0.99,
            age: true,
        }
    }
}

const ENTRIES_MAX: u32 = 1 << 20;

/// Policy that keeps lines of blocks with more accesses.
#[derive(State, Statistics)]
pub struct MemoryAddressTable {
    #[state(skip)]
    spec: MemoryAddressTableSpec,
    #[state(array)]
    counters: Vec<u8>,
    /// Latest launch that a request belonged to.
    launch: u32,
    /// lines that the memory address table bypassed
    #[statistic(name = "address_bypass_lines", unit = "lines")]
    bypassed: u64,
}

impl PolicyKind for MemoryAddressTable {
    type Role = CachePolicies;
    const NAME: &'static str = "MemoryAddressTable";
    const SUMMARY: &'static str =
        "Bypasses lines whose block of memory is accessed less than that of their victim";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "MemoryAddressTable(fraction: 0)",
        like: "",
    });
    type Spec = MemoryAddressTableSpec;

    fn build(
        spec: MemoryAddressTableSpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        SpecError::in_range("entries", spec.entries, 1..=ENTRIES_MAX)?;
        let (bytes, line) = (spec.block_bytes, u64::from(context.site.line_bytes));
        let fits = bytes.is_power_of_two() && bytes >= line;
        SpecError::require(fits, "block_bytes", || {
            format!("{bytes} must be a power of two, at least the line's {line}")
        })?;
        check_probability("fraction", spec.fraction)?;
        Ok(Box::new(Self {
            counters: vec![0; spec.entries as usize],
            spec,
            launch: 0,
            bypassed: 0,
        }))
    }
}

impl MemoryAddressTable {
    fn index(&self, line: u64) -> usize {
        (line / self.spec.block_bytes % u64::from(self.spec.entries)) as usize
    }

    fn count(&mut self, request: &TagLookup<'_>) {
        if request.request.kind == RequestKind::CopyBack {
            return;
        }
        self.enter_launch(&request.request.source);
        let index = self.index(request.line);
        self.counters[index] = self.counters[index].saturating_add(1);
    }

    fn enter_launch(&mut self, source: &Source) {
        if source.kernel > self.launch {
            self.launch = source.kernel;
            self.counters.iter_mut().for_each(|counter| *counter /= 2);
        }
    }
}

impl CachePolicy for MemoryAddressTable {
    fn owns(&self) -> &'static [Field] {
        &[Field::Keep]
    }

    fn decide_fill(&self, fill: &Fill, decision: &mut FillDecision) {
        if let (true, Some(victim)) = (fill.first, fill.victim) {
            let [new, old] = [fill.line, victim].map(|line| self.counters[self.index(line)]);
            decision.keep = f64::from(new) >= self.spec.fraction * f64::from(old);
        }
    }

    fn on_access(&mut self, access: &TagLookup<'_>, _hit: bool, _context: &mut EventContext<'_>) {
        self.count(access);
    }

    fn on_pass(&mut self, pass: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.count(pass);
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        if let (true, None, Some(victim)) = (fill.first, fill.slot, fill.victim) {
            self.bypassed += 1;
            if self.spec.age {
                let index = self.index(victim);
                self.counters[index] = self.counters[index].saturating_sub(1);
            }
        }
    }
}
