//! Accesses of whole wavefronts by one reference, each kind once.
//!
//! Symbols that are equal for all lanes shift the addresses of a wavefront. What an access costs
//! depends on the shift modulo the size of a line, so shifts are counted and not enumerated:
//!
//! ```text
//!   a + 64*ctaid.x + 4*tid.x + 128*k5 where tid.x >= k5
//!       `-- shifts: 0 and 64 -'           `-- k5 decides which lanes are active: enumerated
//! ```

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::address::Address;
use crate::cause::Cause;
use crate::form::{Form, SymbolId};
use crate::launch::LaunchHead;
use crate::reference::Reference;
use crate::symbol::{SymbolKind, Symbols};

/// Threads that a wavefront has at most.
const LANES: u64 = 32;

/// Work that the analysis of a launch may still do: combinations of symbols, and lanes.
pub(crate) const WORK_MAX: u64 = 1 << 23;

/// Addresses of the active lanes of a wavefront, by lane. A lane of a reference that is not exact
/// may have several.
pub(crate) type LaneAddresses = Vec<(u64, i128)>;

/// Passes each kind of access that wavefronts make by a reference, with the number of such
/// accesses. Addresses are correct up to a multiple of `modulus`, the same for all lanes. Loops
/// that do not change the access count as one iteration.
pub(crate) fn each(
    head: &LaunchHead<'_>,
    symbols: &Symbols,
    reference: &Reference,
    modulus: i128,
    left: &mut u64,
    mut visit: impl FnMut(&LaneAddresses, u128),
) -> Result<(), Cause> {
    let pieces = reference.pieces.iter();
    let addresses = pieces.map(|piece| Address::new(symbols, piece));
    let Some(mut addresses) = addresses.collect::<Option<Vec<Address>>>() else {
        return Err(Cause::TooLarge);
    };
    let varying = Varying::of(symbols, reference);
    let shifts = varying.shifts(symbols, reference, modulus, left)?;
    let kinds = varying.kinds(symbols, reference, modulus, left)?;
    let threads = head.block.iter().map(|&extent| u64::from(extent));
    let threads = threads.fold(1, u64::saturating_mul);
    let [x, y, _] = head.block.map(u64::from);
    for (values, times) in kinds.into_values() {
        for address in &mut addresses {
            for (&symbol, &value) in varying.enumerated.iter().zip(&values) {
                if let Some(place) = address.place(symbol) {
                    address.values[place] = value;
                }
            }
        }
        for first in (0..threads).step_by(LANES as usize) {
            let mut lanes = LaneAddresses::new();
            let last = (first + LANES).min(threads);
            let work = (last - first) * (addresses.len() + shifts.len()) as u64;
            *left = left.checked_sub(work).ok_or(Cause::TooLarge)?;
            for thread in first..last {
                for address in &mut addresses {
                    address.set_thread([thread % x, thread / x % y, thread / x / y]);
                    let found = address.value().map(|address| (thread - first, address));
                    lanes.extend(found.filter(|found| !lanes.contains(found)));
                }
            }
            if lanes.is_empty() {
                continue;
            }
            for (&shift, &also) in &shifts {
                let shifted = lanes.iter().map(|&(lane, at)| (lane, at + shift));
                visit(&shifted.collect(), times.saturating_mul(also));
            }
        }
    }
    Ok(())
}

/// Symbols of a reference that are equal for all lanes of a wavefront.
struct Varying {
    /// Symbols that only shift the addresses of a wavefront.
    free: Vec<SymbolId>,
    /// Symbols that also decide which lanes are active, or shift some lanes alone.
    enumerated: Vec<SymbolId>,
    /// True if a quotient joins such symbols with others, so that every combination is a kind.
    is_joined: bool,
}

impl Varying {
    fn of(symbols: &Symbols, reference: &Reference) -> Self {
        let mut rows: Vec<Form> = Vec::new();
        for piece in &reference.pieces {
            rows.extend(piece.when.iter().cloned());
        }
        let mut quotients: Vec<Form> = rows.clone();
        quotients.extend(reference.pieces.iter().map(|piece| piece.form.clone()));
        let direct = quotients.len();
        symbols.close(&mut quotients);
        quotients.drain(..direct);
        let is_uniform = |symbol: &SymbolId| match symbols.kind(*symbol) {
            SymbolKind::Group(_) | SymbolKind::Counter { .. } | SymbolKind::Carried => true,
            SymbolKind::Thread(_)
            | SymbolKind::Quotient { .. }
            | SymbolKind::Variable { .. }
            | SymbolKind::LocalWindow => false,
        };
        let of_forms = |forms: &[Form]| {
            let terms = forms.iter().flat_map(Form::terms);
            let found = terms.map(|&(symbol, _)| symbol).filter(is_uniform);
            found.collect::<Vec<SymbolId>>()
        };
        let in_quotients = of_forms(&quotients);
        let is_joined = !in_quotients.is_empty();
        let mut enumerated = of_forms(&rows);
        enumerated.extend(in_quotients);
        let forms: Vec<Form> = reference.pieces.iter().map(|p| p.form.clone()).collect();
        let mut free = of_forms(&forms);
        let is_equal = |symbol: SymbolId| {
            let mut factors = forms.iter().map(|form| form.coefficient(symbol));
            let first = factors.next();
            factors.all(|factor| Some(factor) == first)
        };
        enumerated.extend(free.iter().copied().filter(|&symbol| !is_equal(symbol)));
        for list in [&mut enumerated, &mut free] {
            list.sort_unstable();
            list.dedup();
        }
        free.retain(|symbol| !enumerated.contains(symbol));
        Self {
            free,
            enumerated,
            is_joined,
        }
    }

    /// Counts the shifts modulo `modulus` over all values of the free symbols.
    fn shifts(
        &self,
        symbols: &Symbols,
        reference: &Reference,
        modulus: i128,
        left: &mut u64,
    ) -> Result<BTreeMap<i128, u128>, Cause> {
        let mut shifts = BTreeMap::from([(0, 1)]);
        let Some(piece) = reference.pieces.first() else {
            return Ok(shifts);
        };
        for &symbol in &self.free {
            let known = symbols.get(symbol);
            let factor = piece.form.coefficient(symbol).rem_euclid(modulus);
            let period = modulus / crate::domain::gcd(modulus, factor);
            let count = known.high - known.low + 1;
            let steps = period.min(count);
            let work = (steps as u64).saturating_mul(shifts.len() as u64);
            *left = left.checked_sub(work).ok_or(Cause::TooLarge)?;
            let mut next: BTreeMap<i128, u128> = BTreeMap::new();
            for step in 0..steps {
                let times = (count / period) + i128::from(step < count % period);
                let by = factor * (known.low + step).rem_euclid(modulus);
                for (shift, before) in &shifts {
                    let sum = next.entry((shift + by).rem_euclid(modulus)).or_default();
                    *sum = sum.saturating_add(before.saturating_mul(times as u128));
                }
            }
            shifts = next;
        }
        Ok(shifts)
    }

    /// Enumerates the other symbols and counts combinations that make equal accesses. Each kind has
    /// one of its combinations.
    fn kinds(
        &self,
        symbols: &Symbols,
        reference: &Reference,
        modulus: i128,
        left: &mut u64,
    ) -> Result<FxHashMap<Vec<i128>, (Vec<i128>, u128)>, Cause> {
        let ranges = self.enumerated.iter().map(|&symbol| {
            let known = symbols.get(symbol);
            (known.low, known.high)
        });
        let ranges: Vec<(i128, i128)> = ranges.collect();
        let combinations = ranges.iter().try_fold(1_u64, |all, &(low, high)| {
            all.checked_mul(u64::try_from(high - low + 1).ok()?)
        });
        let work = combinations.and_then(|all| all.checked_mul(1 + reference.pieces.len() as u64));
        *left = work
            .and_then(|work| left.checked_sub(work))
            .ok_or(Cause::TooLarge)?;
        let parts = Parts::of(symbols, reference, self);
        let mut kinds: FxHashMap<Vec<i128>, (Vec<i128>, u128)> = FxHashMap::default();
        let mut values: Vec<i128> = ranges.iter().map(|&(low, _)| low).collect();
        loop {
            let key = if self.is_joined {
                values.clone()
            } else {
                parts.key(&values, modulus)
            };
            kinds.entry(key).or_insert_with(|| (values.clone(), 0)).1 += 1;
            let advanced = values.iter_mut().zip(&ranges).any(|(value, &(low, high))| {
                *value += 1;
                let is_within = *value <= high;
                if !is_within {
                    *value = low;
                }
                is_within
            });
            if !advanced {
                return Ok(kinds);
            }
        }
    }
}

/// Parts of forms and constraints that are equal for all lanes.
struct Parts {
    forms: Vec<Part>,
    /// Constraints, each with the range in which its part decides.
    rows: Vec<(Part, i128, i128)>,
}

/// Sum of enumerated symbols, by their place.
struct Part {
    terms: Vec<(usize, i128)>,
    constant: i128,
}

impl Part {
    fn of(form: &Form, enumerated: &[SymbolId]) -> Self {
        let terms = form.terms().iter();
        let terms = terms.filter_map(|(symbol, factor)| {
            let place = enumerated.binary_search(symbol).ok()?;
            Some((place, *factor))
        });
        Self {
            terms: terms.collect(),
            constant: form.constant(),
        }
    }

    fn value(&self, values: &[i128]) -> i128 {
        let terms = self.terms.iter();
        let terms = terms.map(|&(place, factor)| factor.saturating_mul(values[place]));
        terms.fold(self.constant, i128::saturating_add)
    }
}

impl Parts {
    fn of(symbols: &Symbols, reference: &Reference, varying: &Varying) -> Self {
        let part = |form: &Form| Part::of(form, &varying.enumerated);
        let pieces = &reference.pieces;
        let rows = pieces.iter().flat_map(|piece| &piece.when).map(|row| {
            let mut others = row.clone();
            others.constant = 0;
            let is_other = |symbol: SymbolId| varying.enumerated.binary_search(&symbol).is_err();
            others.terms.retain(|&(symbol, _)| is_other(symbol));
            let (low, high) = symbols
                .interval(&others)
                .unwrap_or((i128::MIN / 4, i128::MAX / 4));
            (part(row), -high - 1, -low)
        });
        Self {
            forms: pieces.iter().map(|piece| part(&piece.form)).collect(),
            rows: rows.collect(),
        }
    }

    /// Returns what two combinations have in common if their accesses are equal.
    fn key(&self, values: &[i128], modulus: i128) -> Vec<i128> {
        let mut forms = self.forms.iter().map(|part| part.value(values));
        let first = forms.next().unwrap_or_default();
        let mut key = vec![first.rem_euclid(modulus)];
        key.extend(forms.map(|other| other - first));
        let rows = self.rows.iter();
        key.extend(rows.map(|(part, low, high)| part.value(values).clamp(*low, *high)));
        key
    }
}
