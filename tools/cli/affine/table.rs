//! Results as a table and as an object for other programs.

use serde_json::{Value, json};
use warpweave_affine::{Cause, Cost, Reference, Reuse, Toucher};
use warpweave_systems::report::CsvTable;

use super::found::Found;

pub(super) fn table(found: &[Found]) -> String {
    let mut table = CsvTable::new(&[
        "launch",
        "kernel",
        "instruction",
        "line",
        "kind",
        "memory",
        "bytes",
        "exactness",
        "reuse_x",
        "reuse_y",
        "reuse_z",
        "lines_least",
        "lines_mean",
        "lines_most",
        "sectors_least",
        "sectors_mean",
        "sectors_most",
        "bank_cycles_least",
        "bank_cycles_mean",
        "bank_cycles_most",
        "address",
        "cause",
    ]);
    for of in found {
        for (at, reference) in of.analysis.references.iter().enumerate() {
            let own = &of.own[at];
            let distance = |reuse: &Option<Reuse>| {
                let distance = reuse.as_ref().map_or(0, |reuse| reuse.distance);
                let known = (!reference.is_unknown()).then_some(distance);
                known.map_or_else(String::new, |distance| distance.to_string())
            };
            let reuse = [&own.along_x, &own.along_y, &own.along_z].map(distance);
            let found = of.transactions[at].as_ref();
            let costs = [
                found.map(|found| &found.lines),
                found.map(|found| &found.sectors),
            ];
            let costs = costs.map(|cost| costs_of(cost.ok())).concat();
            let numbers = [&reuse[..], &costs, &costs_of(None)].concat();
            row(
                &mut table,
                of,
                reference,
                "global",
                &numbers,
                &of.words[at],
                found.err(),
            );
        }
        for (at, reference) in of.analysis.local.iter().enumerate() {
            let found = of.conflicts[at].as_ref();
            let costs = [None, None, found.ok()].map(costs_of).concat();
            let numbers = [vec![String::new(); 3], costs].concat();
            row(
                &mut table,
                of,
                reference,
                "local",
                &numbers,
                &of.local_words[at],
                found.err(),
            );
        }
    }
    table.take()
}

fn row(
    table: &mut CsvTable,
    of: &Found,
    reference: &Reference,
    memory: &str,
    numbers: &[String],
    words: &[String],
    failed: Option<&Cause>,
) {
    let launch = of.group.launches.first().map(ToString::to_string);
    let cause = reference.cause().or(failed).map(ToString::to_string);
    let first = [
        launch.unwrap_or_default(),
        of.group.code.name.clone(),
        reference.pc.to_string(),
        reference.line.to_string(),
        reference.kind.name().to_owned(),
        memory.to_owned(),
        reference.bytes.to_string(),
        reference.exactness.name().to_owned(),
    ];
    let last = [words.join(" or "), cause.unwrap_or_default()];
    table.row([&first[..], numbers, &last].concat());
}

/// Returns the least, mean and greatest cost; empty where it is not known.
fn costs_of(cost: Option<&Cost>) -> Vec<String> {
    let Some(cost) = cost.filter(|cost| cost.most > 0) else {
        return vec![String::new(); 3];
    };
    let (least, mean) = match cost.mean() {
        Some(mean) => (cost.least.to_string(), mean.to_string()),
        None => (String::new(), String::new()),
    };
    vec![least, mean, cost.most.to_string()]
}

fn cost_object(cost: Option<&Cost>) -> Value {
    let cost = cost.filter(|cost| cost.most > 0);
    cost.map_or(Value::Null, |cost| {
        let mean = cost.mean();
        json!({ "least": mean.map(|_| cost.least), "mean": mean, "most": cost.most })
    })
}

pub(super) fn object(of: &Found) -> Value {
    let reuse = |reuse: &Option<Reuse>| {
        reuse.as_ref().map(|reuse| {
            let place = |of: &Toucher| {
                json!({
                    "instruction": of.pc,
                    "work_group": of.work_group,
                    "thread": of.thread,
                    "address": of.address as u64,
                })
            };
            let witness = reuse.witness.as_deref();
            let witness = witness.map(|[from, to]| json!([place(from), place(to)]));
            json!({ "distance": reuse.distance, "line": reuse.line as u64, "witness": witness })
        })
    };
    let references = of.analysis.references.iter().enumerate();
    let references: Vec<Value> = references
        .map(|(at, reference)| {
            json!({
                "instruction": reference.pc,
                "line": reference.line,
                "kind": reference.kind.name(),
                "bytes": reference.bytes,
                "exactness": reference.exactness.name(),
                "cause": reference.cause().or(of.transactions[at].as_ref().err()).map(ToString::to_string),
                "addresses": of.words[at],
                "reuse_x": of.own[at].along_x.as_ref().map(|reuse| reuse.distance),
                "reuse_y": of.own[at].along_y.as_ref().map(|reuse| reuse.distance),
                "reuse_z": of.own[at].along_z.as_ref().map(|reuse| reuse.distance),
                "lines": cost_object(of.transactions[at].as_ref().ok().map(|found| &found.lines)),
                "sectors": cost_object(of.transactions[at].as_ref().ok().map(|found| &found.sectors)),
            })
        })
        .collect();
    let local = of.analysis.local.iter().enumerate();
    let local: Vec<Value> = local
        .map(|(at, reference)| {
            let failed = of.conflicts[at].as_ref().err();
            json!({
                "instruction": reference.pc,
                "line": reference.line,
                "kind": reference.kind.name(),
                "bytes": reference.bytes,
                "exactness": reference.exactness.name(),
                "cause": reference.cause().or(failed).map(ToString::to_string),
                "addresses": of.local_words[at],
                "bank_cycles": cost_object(of.conflicts[at].as_ref().ok()),
            })
        })
        .collect();
    let causes: Vec<String> = of
        .directions
        .causes
        .iter()
        .map(ToString::to_string)
        .collect();
    json!({
        "kernel": of.group.code.name,
        "launches": of.group.launches,
        "grid": of.group.grid,
        "block": of.group.block,
        "direction": of.directions.direction.name(),
        "distance": of.directions.distance,
        "is_exact": of.directions.is_exact,
        "left_out": causes,
        "along_x": reuse(&of.directions.along_x),
        "along_y": reuse(&of.directions.along_y),
        "along_z": reuse(&of.directions.along_z),
        "unknown_z": of.directions.unknown_z.as_ref().map(ToString::to_string),
        "references": references,
        "local": local,
    })
}
