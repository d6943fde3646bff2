//! Symbolic evaluation of a kernel, region by region: the whole kernel, then loop within loop.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use warpweave_trace::{Code, Guard};

use crate::cause::Cause;
use crate::cfg::Flow;
use crate::decode::{Decoded, Kind};
use crate::form::SymbolId;
use crate::launch::LaunchHead;
use crate::reference::Reference;
use crate::state::{self, Meeting, State};
use crate::symbol::Symbols;
use crate::value::{self, Predicate, Value};
use crate::variable;

/// Instructions that an analysis evaluates before it gives up.
const STEPS_MAX: u64 = 200_000;
/// Symbols that an analysis creates before it gives up.
pub(crate) const SYMBOLS_MAX: usize = 10_000;

/// States at the end of edges, by the blocks that they join.
pub(crate) type Edges = BTreeMap<(usize, usize), State>;

pub(crate) struct Evaluator<'a> {
    pub(crate) code: &'a Code,
    pub(crate) head: &'a LaunchHead<'a>,
    pub(crate) decoded: &'a [Decoded],
    pub(crate) flow: &'a Flow,
    pub(crate) symbols: Symbols,
    /// Accesses to global and local memory found so far, by instruction.
    pub(crate) references: BTreeMap<usize, Reference>,
    /// Condition of the branch at the end of a block, as last evaluated.
    pub(crate) branches: BTreeMap<usize, Predicate>,
    /// Symbol of each loop that counts its iterations in the references that are kept.
    pub(crate) counters: FxHashMap<usize, SymbolId>,
    /// True if references are kept: the values are final.
    pub(crate) keeps: bool,
    steps: u64,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(head: &'a LaunchHead<'a>, decoded: &'a [Decoded], flow: &'a Flow) -> Self {
        let mut symbols = Symbols::of(head.grid, head.block);
        variable::add(&mut symbols, &head.code.instructions, decoded);
        Self {
            code: head.code,
            head,
            decoded,
            flow,
            symbols,
            references: BTreeMap::new(),
            branches: BTreeMap::new(),
            counters: FxHashMap::default(),
            keeps: true,
            steps: 0,
        }
    }

    /// Evaluates the whole kernel and keeps its references.
    pub(crate) fn kernel(&mut self) -> Result<(), Cause> {
        self.region(None, 0, State::new()).map(|_| ())
    }

    /// Evaluates the blocks of one loop, or those outside all loops. Returns the states of the
    /// edges that leave the region or go back to its start.
    pub(crate) fn region(
        &mut self,
        within: Option<usize>,
        entry: usize,
        start: State,
    ) -> Result<Edges, Cause> {
        let flow = self.flow;
        let mut edges = Edges::new();
        let mut leaving = Edges::new();
        let mut conditions: BTreeMap<usize, Meeting> = BTreeMap::new();
        let mut start = Some(start);
        for &block in &flow.order {
            let inner = flow.child_of(within, block);
            let is_own = flow.blocks[block].within == within;
            let is_header = inner.is_some_and(|inner| flow.loops[inner].header == block);
            if !is_own && !is_header {
                continue;
            }
            let line = self.line_of(block);
            let state = if block == entry {
                let Some(state) = start.take() else { continue };
                state
            } else {
                let coming = edges.range((0, 0)..).filter(|((_, to), _)| *to == block);
                let coming: Vec<&State> = coming.map(|(_, state)| state).collect();
                if coming.is_empty() {
                    continue;
                }
                let known = flow.parting(block).and_then(|from| conditions.get(&from));
                let known = known.map(|known| Meeting {
                    cases: Rc::clone(&known.cases),
                    is_exact: known.is_exact,
                });
                state::joined(&self.symbols, known, &coming, line)
            };
            conditions.insert(
                block,
                Meeting {
                    cases: Rc::clone(&state.cases),
                    is_exact: state.is_exact,
                },
            );
            edges.retain(|&(_, to), _| to != block);
            let out = match inner {
                Some(inner) if !is_own => self.iterate(inner, state)?,
                _ => self.block(block, state)?,
            };
            for ((from, to), state) in out {
                let stays = within.is_none_or(|at| flow.loops[at].blocks.contains(&to));
                if stays && to != entry {
                    edges.insert((from, to), state);
                } else {
                    leaving.insert((from, to), state);
                }
            }
        }
        Ok(leaving)
    }

    fn line_of(&self, block: usize) -> u32 {
        self.code.instructions[self.flow.blocks[block].start].line
    }

    /// Evaluates one block and returns the states of its outgoing edges.
    fn block(&mut self, number: usize, mut state: State) -> Result<Edges, Cause> {
        let flow = self.flow;
        let block = &flow.blocks[number];
        self.steps += (block.end - block.start) as u64;
        if self.steps > STEPS_MAX {
            return Err(Cause::TooLarge);
        }
        for pc in block.start..block.end {
            if self.decoded[pc].kind == Kind::Computed {
                let line = self.code.instructions[pc].line;
                return Err(Cause::ComputedBranch { line });
            }
            self.step(pc, &mut state)?;
        }
        let last = block.end - 1;
        let parts = matches!(self.decoded[last].kind, Kind::Branch | Kind::Exit);
        let guard = self.code.instructions[last].guard.filter(|_| parts);
        let Some(guard) = guard else {
            let next = block.next.iter();
            return Ok(next.map(|&to| ((number, to), state.clone())).collect());
        };
        let condition = condition(&state, guard);
        let mut edges = Edges::new();
        let is_branch = self.decoded[last].kind == Kind::Branch;
        for (at, &to) in block.next.iter().enumerate() {
            let taken = is_branch && at == 0;
            let mut next = state.clone();
            restrict(&self.symbols, &mut next, &condition, taken);
            match edges.remove(&(number, to)) {
                // Both ways lead to the same place.
                Some(_) => edges.insert((number, to), state.clone()),
                None => edges.insert((number, to), next),
            };
        }
        self.branches.insert(number, condition);
        Ok(edges)
    }
}

/// Returns the condition under which a guarded instruction executes.
pub(crate) fn condition(state: &State, guard: Guard) -> Predicate {
    let predicate = match state.predicate(guard.predicate).map(|value| &**value) {
        Some(Value::Predicate(predicate)) => predicate.clone(),
        _ => Predicate::default(),
    };
    if guard.negated {
        predicate.negated()
    } else {
        predicate
    }
}

/// Restricts a state to the threads for which a condition holds, or does not.
pub(crate) fn restrict(symbols: &Symbols, state: &mut State, condition: &Predicate, holds: bool) {
    let cases = condition.cases(holds);
    match cases.and_then(|cases| value::all_of(symbols, &state.cases, cases)) {
        Some(cases) => state.cases = Rc::new(cases),
        None => state.is_exact = false,
    }
}
