//! Costs of a wavefront's accesses: lines and sectors of global memory, bank conflicts of local
//! memory.

use crate::cause::Cause;
use crate::launch::LaunchHead;
use crate::reference::{AccessKind, Exactness, Reference};
use crate::symbol::{SymbolKind, Symbols};
use crate::wavefronts::{self, LaneAddresses};

/// Size of a sector of a line in bytes.
const SECTOR_BYTES: i128 = 32;
/// Banks of local memory, each of which serves one word in a cycle.
const BANKS: usize = 32;
/// Size of a word in bytes.
const WORD_BYTES: i128 = 4;

/// Cost of the accesses that wavefronts make by one reference, over all work-groups and iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Lowest cost of an access; 0 if it is not known or nothing is accessed.
    pub least: u32,
    /// Highest cost of an access; an upper bound if the addresses are not exact.
    pub most: u32,
    /// True if the addresses are exact.
    pub is_exact: bool,
    total: u128,
    accesses: u128,
}

/// Transactions of a wavefront's access to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transactions {
    /// Number of lines that an access touches.
    pub lines: Cost,
    /// Number of sectors of 32 bytes that an access touches.
    pub sectors: Cost,
}

impl Cost {
    /// Returns the average cost of an access in which a lane takes part; `None` if it is not known
    /// or nothing is accessed.
    pub fn mean(&self) -> Option<f64> {
        let is_known = self.is_exact && self.accesses > 0;
        is_known.then(|| self.total as f64 / self.accesses as f64)
    }

    fn add(&mut self, cost: u32, times: u128) {
        self.least = if self.accesses == 0 {
            cost
        } else {
            self.least.min(cost)
        };
        self.most = self.most.max(cost);
        self.accesses = self.accesses.saturating_add(times);
        let all = times.saturating_mul(cost.into());
        self.total = self.total.saturating_add(all);
    }

    /// Keeps the upper bound alone unless the addresses are exact.
    fn of(self, reference: &Reference) -> Self {
        if reference.is_exact() {
            return Self {
                is_exact: true,
                ..self
            };
        }
        Self {
            most: self.most,
            ..Self::default()
        }
    }
}

/// Counts the lines and sectors that wavefronts touch by a reference to global memory.
pub(crate) fn transactions(
    head: &LaunchHead<'_>,
    symbols: &Symbols,
    reference: &Reference,
    line_bytes: u32,
    left: &mut u64,
) -> Result<Transactions, Cause> {
    if let Exactness::Unknown(cause) = &reference.exactness {
        return Err(cause.clone());
    }
    let line = i128::from(line_bytes.max(1));
    let bytes = i128::from(reference.bytes.max(1));
    let mut found = Transactions::default();
    let modulus = line.max(SECTOR_BYTES);
    let mut touched = Vec::new();
    wavefronts::each(head, symbols, reference, modulus, left, |lanes, times| {
        for (cost, size) in [(&mut found.lines, line), (&mut found.sectors, SECTOR_BYTES)] {
            touched.clear();
            for &(_, first) in lanes {
                let last = first + bytes - 1;
                touched.extend(first.div_euclid(size)..=last.div_euclid(size));
            }
            touched.sort_unstable();
            touched.dedup();
            cost.add(touched.len() as u32, times);
        }
    })?;
    Ok(Transactions {
        lines: found.lines.of(reference),
        sectors: found.sectors.of(reference),
    })
}

/// Counts the cycles for which an access of a wavefront to local memory occupies its banks.
pub(crate) fn bank_conflicts(
    head: &LaunchHead<'_>,
    symbols: &Symbols,
    reference: &Reference,
    left: &mut u64,
) -> Result<Cost, Cause> {
    if let Exactness::Unknown(cause) = &reference.exactness {
        return Err(cause.clone());
    }
    let variable = variable(symbols, reference)?;
    let is_atomic = reference.kind == AccessKind::Atomic;
    let bytes = i128::from(reference.bytes.max(1));
    // Wherever a variable begins, banks rotate. A narrow access also depends on its place in a
    // word.
    let places = match variable {
        Some(_) if bytes < WORD_BYTES => (0..WORD_BYTES).step_by(bytes as usize),
        _ => (0..1).step_by(1),
    };
    let mut all: Option<Cost> = None;
    for place in places {
        let mut cost = Cost::default();
        let modulus = WORD_BYTES * BANKS as i128;
        wavefronts::each(head, symbols, reference, modulus, left, |lanes, times| {
            cost.add(cycles(lanes, place, bytes, is_atomic), times);
        })?;
        if all.is_some_and(|known| known != cost) {
            let name = variable.unwrap_or_default().to_owned();
            return Err(Cause::Variable { name });
        }
        all = Some(cost);
    }
    Ok(all.unwrap_or_default().of(reference))
}

/// Returns the variable from whose place all addresses are counted, if there is one.
fn variable<'a>(symbols: &'a Symbols, reference: &Reference) -> Result<Option<&'a str>, Cause> {
    let mut names = Vec::new();
    for piece in &reference.pieces {
        let mut forms = vec![piece.form.clone()];
        forms.extend(piece.when.iter().cloned());
        symbols.close(&mut forms);
        let mut name = None;
        for &(symbol, factor) in forms.iter().flat_map(crate::form::Form::terms) {
            if let SymbolKind::Variable { name: found } = symbols.kind(symbol) {
                if factor != 1 || name.is_some() {
                    let name = found.clone();
                    return Err(Cause::Variable { name });
                }
                name = Some(&found[..]);
            }
        }
        names.push(name);
    }
    names.dedup();
    match names[..] {
        [] => Ok(None),
        [only] => Ok(only),
        [first, second, ..] => {
            let name = first.or(second).unwrap_or_default().to_owned();
            Err(Cause::Variable { name })
        }
    }
}

/// Returns the largest number of words in one bank. Equal words count once, and every time for
/// atomics.
fn cycles(lanes: &LaneAddresses, place: i128, bytes: i128, is_atomic: bool) -> u32 {
    let mut words = Vec::with_capacity(lanes.len());
    for &(_, address) in lanes {
        let first = (address + place).div_euclid(WORD_BYTES);
        words.extend(first..first + (bytes + WORD_BYTES - 1) / WORD_BYTES);
    }
    words.sort_unstable();
    if !is_atomic {
        words.dedup();
    }
    let mut in_bank = [0; BANKS];
    for word in words {
        in_bank[word.rem_euclid(BANKS as i128) as usize] += 1;
    }
    in_bank.into_iter().max().unwrap_or_default()
}
