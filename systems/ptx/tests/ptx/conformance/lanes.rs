//! Models of instructions that combine lanes, for a whole wavefront (PTX ISA, "shfl", "vote",
//! "match", "redux").

use super::cases::{Case, DOUBLE_WORD, Model, PREDICATE, Row, Type, WORD, all_forms, has, types};
use super::exact::SINGLE;

/// Model for all lanes: takes the operands and the mask of participating lanes, and returns the
/// result of each participant.
type Meeting = fn(&str, &[Row; 32], u32) -> [Row; 32];

fn members(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

/// Models `d|p, a, b, c`: the bits of `c` give the end of a segment and the reach of lanes. Reading
/// a non-participating lane is undefined; the emulator returns its register.
fn shuffled(form: &str, rows: &[Row; 32], mask: u32) -> [Row; 32] {
    let mut results = [[0; 4]; 32];
    for lane in members(mask) {
        let [_, b, c, _] = rows[lane];
        let (at, by, segment) = (lane as i64, (b & 31) as i64, (c >> 8 & 31) as i64);
        let (clamp, lowest) = ((c & 31) as i64, at & segment);
        let highest = lowest | clamp & !segment;
        let (from, inside) = match form {
            _ if has(form, "up") => (at - by, at - by >= highest),
            _ if has(form, "down") => (at + by, at + by <= highest),
            _ if has(form, "bfly") => (at ^ by, at ^ by <= highest),
            _ => {
                let from = lowest | by & !segment;
                (from, from <= highest)
            }
        };
        let inside = inside && (0..32).contains(&from);
        let from = if inside { from as usize } else { lane };
        results[lane] = [rows[from][0], u64::from(inside), 0, 0];
    }
    results
}

/// Returns the same result for all participating lanes.
fn all(mask: u32, result: Row) -> [Row; 32] {
    std::array::from_fn(|lane| {
        if mask >> lane & 1 == 1 {
            result
        } else {
            [0; 4]
        }
    })
}

fn voted(form: &str, rows: &[Row; 32], mask: u32) -> [Row; 32] {
    let ballot: u64 = members(mask).map(|lane| rows[lane][0] << lane).sum();
    let everyone = u64::from(mask);
    let result = match form {
        _ if has(form, "ballot") => ballot,
        _ if has(form, "all") => u64::from(ballot == everyone),
        _ if has(form, "any") => u64::from(ballot != 0),
        _ => u64::from(ballot == 0 || ballot == everyone),
    };
    all(mask, [result, 0, 0, 0])
}

fn matched(form: &str, rows: &[Row; 32], mask: u32) -> [Row; 32] {
    let same = |value: u64| -> u64 {
        members(mask)
            .filter(|&lane| rows[lane][0] == value)
            .map(|lane| 1 << lane)
            .sum()
    };
    let mut results = [[0; 4]; 32];
    for lane in members(mask) {
        let found = same(rows[lane][0]);
        results[lane] = match (has(form, "all"), found == u64::from(mask)) {
            (false, _) => [found, 0, 0, 0],
            (true, true) => [found, 1, 0, 0],
            (true, false) => [0; 4],
        };
    }
    results
}

fn reduced(form: &str, rows: &[Row; 32], mask: u32) -> [Row; 32] {
    let ty = types(form)[0];
    let values = members(mask).map(|lane| ty.read(rows[lane][0]));
    let result = match form.split('.').nth(2).unwrap_or_default() {
        "add" => values.sum(),
        "min" => values.min().unwrap_or(0),
        "max" => values.max().unwrap_or(0),
        "and" => values.reduce(|a, b| a & b).unwrap_or(0),
        "or" => values.reduce(|a, b| a | b).unwrap_or(0),
        _ => values.reduce(|a, b| a ^ b).unwrap_or(0),
    };
    all(mask, [ty.write(result), 0, 0, 0])
}

fn reduced_floats(form: &str, rows: &[Row; 32], mask: u32) -> [Row; 32] {
    let size = |bits: u64| {
        if has(form, "abs") {
            bits & !SINGLE.sign()
        } else {
            bits
        }
    };
    let values: Vec<u64> = members(mask).map(|lane| size(rows[lane][0])).collect();
    let numbers = values.iter().copied().filter(|&bits| !SINGLE.is_nan(bits));
    // -0 is less than +0: the bits of zeros are compared after their values.
    let order = |a: &u64, b: &u64| {
        let zeros = b.cmp(a);
        SINGLE.compare(*a, *b).unwrap_or(zeros).then(zeros)
    };
    let found = if has(form, "min") {
        numbers.min_by(order)
    } else {
        numbers.max_by(order)
    };
    let result = match found {
        Some(number) if !has(form, "NaN") || values.iter().all(|&bits| !SINGLE.is_nan(bits)) => {
            number
        }
        _ => SINGLE.nan(),
    };
    all(mask, [result, 0, 0, 0])
}

fn elected(_: &str, _: &[Row; 32], mask: u32) -> [Row; 32] {
    let leader = mask.trailing_zeros();
    std::array::from_fn(|lane| {
        let is_leader = u64::from(lane as u32 == leader);
        if mask >> lane & 1 == 1 {
            [leader.into(), is_leader, 0, 0]
        } else {
            [0; 4]
        }
    })
}

fn active(_: &str, _: &[Row; 32], mask: u32) -> [Row; 32] {
    all(mask, [mask.into(), 0, 0, 0])
}

/// Adds a case with all lanes, and one with some lanes in a divergent branch.
fn meet(
    cases: &mut Vec<Case>,
    form: &str,
    operands: &str,
    sources: &[Type],
    results: &[Type],
    model: Meeting,
) {
    for mask in [u32::MAX, 0xa5a5_1248, 0x0000_0004] {
        let name = form.to_owned();
        let meeting = move |rows: &[Row; 32]| model(&name, rows, mask);
        let mut case = Case::new(form, results[0], sources, Model::Wave(Box::new(meeting)));
        let operands = operands.replace("MASK", &format!("{mask:#x}"));
        case.before = format!(
            " shr.u32 %w10, {mask:#x}, %w15; and.b32 %w10, %w10, 1; setp.ne.u32 %p10, %w10, 0;"
        );
        case.instruction = format!("@%p10 {form} {operands};");
        case.results = results.to_vec();
        cases.push(case);
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let list = &mut cases;
    let both = [WORD, PREDICATE];
    for form in all_forms("shfl.sync.{up,down,bfly,idx}.b32") {
        meet(
            list,
            &form,
            "%w4|%p5, %w0, %w1, %w2, MASK",
            &[WORD; 3],
            &both,
            shuffled,
        );
    }
    for form in all_forms("shfl.{up,down,bfly,idx}.b32") {
        meet(
            list,
            &form,
            "%w4|%p5, %w0, %w1, %w2",
            &[WORD; 3],
            &both,
            shuffled,
        );
    }
    for form in all_forms("vote.sync.{all,any,uni}.pred") {
        meet(
            list,
            &form,
            "%p4, %p0, MASK",
            &[PREDICATE],
            &[PREDICATE],
            voted,
        );
    }
    for form in all_forms("vote.{all,any,uni}.pred") {
        meet(list, &form, "%p4, %p0", &[PREDICATE], &[PREDICATE], voted);
    }
    for form in all_forms("vote.sync.ballot.b32 vote.ballot.sync.b32") {
        meet(list, &form, "%w4, %p0, MASK", &[PREDICATE], &[WORD], voted);
    }
    meet(
        list,
        "vote.ballot.b32",
        "%w4, %p0",
        &[PREDICATE],
        &[WORD],
        voted,
    );
    for (name, ty) in [("b32", WORD), ("b64", DOUBLE_WORD)] {
        let a = ty.register(0);
        let form = format!("match.any.sync.{name}");
        meet(
            list,
            &form,
            &format!("%w4, {a}, MASK"),
            &[ty],
            &[WORD],
            matched,
        );
        let form = format!("match.all.sync.{name}");
        meet(
            list,
            &form,
            &format!("%w4|%p5, {a}, MASK"),
            &[ty],
            &both,
            matched,
        );
    }
    for form in all_forms("redux.sync.{add,min,max}.{u32,s32} redux.sync.{and,or,xor}.b32") {
        meet(list, &form, "%w4, %w0, MASK", &[WORD], &[WORD], reduced);
    }
    for form in all_forms("redux.sync.{min,max}{,.abs}{,.NaN}.f32") {
        let single = types(&form)[0];
        meet(
            list,
            &form,
            "%w4, %w0, MASK",
            &[single],
            &[single],
            reduced_floats,
        );
    }
    meet(list, "elect.sync", "%w4|%p5, MASK", &[WORD], &both, elected);
    meet(list, "activemask.b32", "%w4", &[WORD], &[WORD], active);
    cases
}
