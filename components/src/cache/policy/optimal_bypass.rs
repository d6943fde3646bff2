//! Bypass by instruction: which of two lines that competed for a place is wanted first (the optimal
//! bypass monitor, BYP-M3).
//!
//! A sample of the lines that meet a full set enters a history with the victim that they met. If
//! the victim is wanted first, the counter of the new line's instruction rises. It also rises if
//! the new line leaves, or its entry is replaced, before either is wanted. If the new line is
//! wanted first, it falls. The victim's instruction moves the other way, unless neither was wanted.
//! Lines of instructions whose counter is above the threshold are bypassed.
//!
//! An empty way is always filled. The victim is known when a line arrives, so the policy acts in a
//! cache with `allocate: OnFill` only. Copy-backs and forwarded requests want nothing, and lines
//! that an invalidation drops end their pair without a verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::chance::{Chance, check_probability};
use super::instructions::{Instructions, hash_key};
use super::{
    CachePolicies, CachePolicy, Cause, EventContext, Eviction, Field, Fill, FillDecision, Swap,
    TagLookup,
};
use crate::memory::{RequestKind, Source};

/// Specification of the [`OptimalBypass`] policy: its history and counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OptimalBypassSpec {
    /// Number of pairs in the history, 1 to 65536. Source: 64 in the graph thesis.
    pub history: u32,
    /// Fraction, 0 to 1, of competing lines that enter it. Source: 1/8 in the graph thesis.
    pub insert: f64,
    /// Number of counters, a power of two up to 65536; instructions are hashed to them. Source: 32
    /// in the graph thesis.
    pub counters: u32,
    /// Largest value of a counter, 1 to 65535; counters start at half of it, rounded up. Source: 31
    /// (5 bits) in the graph thesis, its start own choice.
    pub counter_max: u16,
    /// Lines are bypassed while their instruction's counter is above this value. Source: own
    /// choice.
    pub threshold: u16,
    /// True if every verdict moves the counters the other way: a control that must not gain.
    /// Source: own choice.
    pub turned_round: bool,
}

impl Default for OptimalBypassSpec {
    fn default() -> Self {
        Self {
            history: 64,
            insert: 1.0 / 8.0,
            counters: 32,
            counter_max: 31,
            threshold: 16,
            turned_round: false,
        }
    }
}

const ENTRIES_MAX: u32 = 1 << 16;

/// Line, with the counter of the instruction that fetched it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FetchedLine {
    line: u64,
    counter: u16,
}

/// Lines that competed for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pair {
    incoming: FetchedLine,
    victim: FetchedLine,
}

/// Line of a pair that was wanted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Victim,
    Incoming,
    Neither,
}

/// Policy that bypasses lines of instructions whose lines lose against their victims.
#[derive(State, Statistics)]
pub struct OptimalBypass {
    #[state(skip)]
    spec: OptimalBypassSpec,
    #[state(skip)]
    chance: Chance,
    #[state(skip)]
    instructions: Instructions,
    #[state(skip)]
    ways: usize,
    #[state(flatten)]
    #[statistic(flatten)]
    learned: Learned,
}

#[derive(State, Statistics)]
struct Learned {
    #[state(array)]
    counters: Vec<u16>,
    #[state(array)]
    history: Vec<Option<Pair>>,
    /// Entry of the history that is replaced next.
    next: u32,
    /// For each place: the line in it and its instruction.
    #[state(array)]
    places: Vec<Option<FetchedLine>>,
    /// Lines that arrived while their set was full.
    choices: u64,
    /// lines that the optimal bypass monitor bypassed
    #[statistic(name = "optimal_bypass_lines", unit = "lines")]
    bypassed: u64,
    /// pairs whose victim was wanted first
    #[statistic(name = "optimal_bypass_victims", unit = "pairs")]
    victims: u64,
    /// pairs whose new line was wanted first
    #[statistic(name = "optimal_bypass_incoming", unit = "pairs")]
    incoming: u64,
    /// pairs that ended before either line was wanted
    #[statistic(name = "optimal_bypass_neither", unit = "pairs")]
    neither: u64,
}

impl PolicyKind for OptimalBypass {
    type Role = CachePolicies;
    const NAME: &'static str = "OptimalBypass";
    const SUMMARY: &'static str =
        "Bypasses lines of instructions whose lines are wanted later than their victims";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "OptimalBypass(threshold: 31)",
        like: "",
    });
    type Spec = OptimalBypassSpec;

    fn build(
        spec: OptimalBypassSpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        SpecError::in_range("history", spec.history, 1..=ENTRIES_MAX)?;
        check_probability("insert", spec.insert)?;
        let counters = spec.counters;
        let power = counters.is_power_of_two() && counters <= ENTRIES_MAX;
        SpecError::require(power, "counters", || {
            format!("{counters} must be a power of two, at most {ENTRIES_MAX}")
        })?;
        SpecError::in_range("counter_max", spec.counter_max, 1..)?;
        SpecError::in_range("threshold", spec.threshold, 0..=spec.counter_max)?;
        let learned = Learned {
            counters: vec![spec.counter_max.div_ceil(2); counters as usize],
            history: vec![None; spec.history as usize],
            next: 0,
            places: vec![None; context.site.lines as usize],
            choices: 0,
            bypassed: 0,
            victims: 0,
            incoming: 0,
            neither: 0,
        };
        Ok(Box::new(Self {
            spec,
            chance: Chance::new(context.seed()),
            instructions: Instructions::of(context.environment),
            ways: context.site.ways as usize,
            learned,
        }))
    }
}

impl OptimalBypass {
    fn counter(&self, source: &Source) -> u16 {
        hash_key(self.instructions.key(source), self.spec.counters) as u16
    }

    fn decide_pair(&mut self, pair: Pair, verdict: Verdict) {
        let (new, old) = (pair.incoming.counter, pair.victim.counter);
        match verdict {
            Verdict::Victim => {
                self.learned.victims += 1;
                self.step(new, true);
                self.step(old, false);
            }
            Verdict::Incoming => {
                self.learned.incoming += 1;
                self.step(new, false);
                self.step(old, true);
            }
            Verdict::Neither => {
                self.learned.neither += 1;
                self.step(new, true);
            }
        }
    }

    fn step(&mut self, counter: u16, up: bool) {
        let counter = &mut self.learned.counters[usize::from(counter)];
        *counter = if up == self.spec.turned_round {
            counter.saturating_sub(1)
        } else {
            self.spec.counter_max.min(counter.saturating_add(1))
        };
    }

    /// Ends the pairs for which `verdict` returns one, oldest first.
    fn end_pairs(&mut self, verdict: impl Fn(&Pair) -> Option<Verdict>) {
        let next = self.learned.next as usize;
        for entry in (next..self.learned.history.len()).chain(0..next) {
            if let Some(pair) = self.learned.history[entry]
                && let Some(verdict) = verdict(&pair)
            {
                self.learned.history[entry] = None;
                self.decide_pair(pair, verdict);
            }
        }
    }

    fn enter_pair(&mut self, pair: Pair) {
        let next = self.learned.next as usize;
        if let Some(old) = self.learned.history[next].replace(pair) {
            self.decide_pair(old, Verdict::Neither);
        }
        self.learned.next = (self.learned.next + 1) % self.spec.history;
    }
}

impl CachePolicy for OptimalBypass {
    fn owns(&self) -> &'static [Field] {
        &[Field::Keep]
    }

    fn decide_fill(&self, fill: &Fill, decision: &mut FillDecision) {
        if fill.first && fill.victim.is_some() {
            let counter = usize::from(self.counter(&fill.source));
            decision.keep = self.learned.counters[counter] <= self.spec.threshold;
        }
    }

    fn on_access(&mut self, access: &TagLookup<'_>, _hit: bool, _context: &mut EventContext<'_>) {
        if access.request.kind == RequestKind::CopyBack {
            return;
        }
        self.end_pairs(|pair| match access.line {
            line if line == pair.victim.line => Some(Verdict::Victim),
            line if line == pair.incoming.line => Some(Verdict::Incoming),
            _ => None,
        });
    }

    fn on_new_line(&mut self, store: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        if let Some(slot) = store.slot {
            let counter = self.counter(&store.request.source);
            self.learned.places[slot.index()] = Some(FetchedLine {
                line: store.line,
                counter,
            });
        }
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        let incoming = FetchedLine {
            line: fill.line,
            counter: self.counter(&fill.source),
        };
        if let (true, Some(victim)) = (fill.first, fill.victim) {
            let first = fill.set as usize * self.ways;
            let mut ways = self.learned.places[first..first + self.ways]
                .iter()
                .flatten();
            let victim = ways.find(|place| place.line == victim).copied();
            let is_sampled = self
                .chance
                .happens(0, self.learned.choices, self.spec.insert);
            self.learned.choices += 1;
            self.learned.bypassed += u64::from(fill.slot.is_none());
            if let (true, Some(victim)) = (is_sampled, victim) {
                self.enter_pair(Pair { incoming, victim });
            }
        }
        if let Some(slot) = fill.slot {
            let place = &mut self.learned.places[slot.index()];
            let had = place.filter(|place| !fill.first && place.line == fill.line);
            *place = had.or(Some(incoming));
        }
    }

    fn on_swap(&mut self, swap: &Swap, _context: &mut EventContext<'_>) {
        let counter = self.counter(&swap.owner);
        self.learned.places[swap.slot.index()] = Some(FetchedLine {
            line: swap.line,
            counter,
        });
    }

    fn on_evict(&mut self, eviction: &Eviction, _context: &mut EventContext<'_>) {
        let line = eviction.line;
        if eviction.cause != Cause::Replaced {
            self.learned.places[eviction.slot.index()] = None;
        }
        if eviction.cause == Cause::Invalidated {
            for entry in &mut self.learned.history {
                *entry = entry.filter(|pair| pair.incoming.line != line);
            }
        } else {
            self.end_pairs(|pair| (pair.incoming.line == line).then_some(Verdict::Neither));
        }
    }
}
