//! Issue slots of the sides while kernels ran, in percent: of the whole run and of each kernel.

use std::collections::BTreeMap;

use super::{ComparedStatistic, Comparison, Row, Side, launch_names, rows};
use crate::report::evidence::{SLOTS, quotient};
use crate::report::{Record, RecordedStatistics, RecordedValue};

/// Outcome that is listed first.
const ISSUED: &str = "issued";

/// Returns a row for each outcome of the slots, of all kernels and then of each measured kernel.
/// Outcomes that no side has are omitted.
pub(super) fn slot_rows(sides: &[Side]) -> Vec<Row> {
    let names = launch_names(sides);
    let found = rows(sides, |run| {
        let whole = run.kernel_time.as_ref().map(|time| time.slots.clone());
        let whole = whole.unwrap_or_else(|| counted(&run.stats));
        let mut quantities = shares(String::new(), &whole);
        for (name, slots) in by_kernel(run, &names) {
            quantities.extend(shares(name, &slots));
        }
        quantities
    });
    let occurs = |row: &Row| row.cells.iter().flatten().any(|cell| cell.most > 0.0);
    found.into_iter().filter(occurs).collect()
}

impl Comparison {
    /// Returns the outcomes of slots in the order of their rows; each has a colour.
    pub(super) fn slot_outcomes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.slots {
            if !names.contains(&row.name.as_str()) {
                names.push(&row.name);
            }
        }
        names
    }

    /// Returns the places that have slots: the empty one of the whole run, then kernels.
    pub(super) fn slot_places(&self) -> Vec<&str> {
        let mut places: Vec<&str> = Vec::new();
        for row in &self.slots {
            if !places.contains(&row.place.as_str()) {
                places.push(&row.place);
            }
        }
        places
    }

    /// Returns the percentage of each outcome at a place on a side.
    pub(super) fn slot_shares(&self, place: &str, side: usize) -> Vec<f64> {
        let share = |outcome: &str| {
            let mut rows = self.slots.iter();
            let row = rows.find(|row| row.place == place && row.name == outcome)?;
            row.cells[side].map(|cell| cell.value)
        };
        let outcomes = self.slot_outcomes();
        outcomes
            .into_iter()
            .map(|outcome| share(outcome).unwrap_or(0.0))
            .collect()
    }
}

/// Adds up the slots of the launches of each kernel that were measured, in the order of launches.
fn by_kernel(
    run: &Record,
    names: &dyn Fn(&str, u32) -> String,
) -> Vec<(String, BTreeMap<String, u64>)> {
    let mut found: Vec<(String, BTreeMap<String, u64>)> = Vec::new();
    for kernel in &run.kernels {
        let slots = counted(&kernel.stats);
        if slots.is_empty() {
            continue;
        }
        let name = names(&kernel.name, kernel.number);
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => {
                for (outcome, count) in slots {
                    let of = sum.entry(outcome).or_default();
                    *of = of.saturating_add(count);
                }
            }
            None => found.push((name, slots)),
        }
    }
    found
}

fn counted(statistics: &RecordedStatistics) -> BTreeMap<String, u64> {
    let mut slots = BTreeMap::<String, u64>::new();
    for (name, statistic) in statistics.values().flatten() {
        if let (Some(outcome), RecordedValue::Integer(count)) =
            (name.strip_prefix(SLOTS), &statistic.value)
        {
            let of = slots.entry(outcome.to_owned()).or_default();
            *of = of.saturating_add(*count);
        }
    }
    slots
}

fn shares(place: String, slots: &BTreeMap<String, u64>) -> ComparedStatistic {
    let whole = slots.values().fold(0_u64, |sum, n| sum.saturating_add(*n));
    let mut outcomes: Vec<(&String, &u64)> = slots.iter().collect();
    outcomes.sort_by_key(|(outcome, _)| *outcome != ISSUED);
    let share = |(outcome, count): (&String, &u64)| {
        let percent = quotient(*count, whole) * 100.0;
        (place.clone(), outcome.clone(), "%".to_owned(), percent)
    };
    outcomes.into_iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(more: &serde_json::Value) -> Record {
        let mut report = serde_json::json!({
            "schema_version": 2, "scenario": "s", "status": "done", "cycles": 10,
            "simulated_s": 1.0, "wavefront_instructions": 1, "thread_instructions": 1,
            "ipc": 1.0, "core_clock": "core", "stats": {}
        });
        let fields = more.as_object().unwrap().clone();
        report.as_object_mut().unwrap().extend(fields);
        Record::from_json(&report.to_string()).unwrap()
    }

    fn side(name: &str, run: Record) -> Side {
        Side {
            name: name.to_owned(),
            runs: vec![run],
            system: None,
        }
    }

    #[test]
    fn slots_stand_by_outcome_for_the_run_and_for_each_measured_kernel() {
        let counter =
            |n: u64| serde_json::json!({"value": n, "unit": "slots", "combination": "sum"});
        let kernel = |number: u32, issued: u64| {
            serde_json::json!({
                "number": number, "name": "k", "grid": [1, 1, 1], "block": [1, 1, 1],
                "cycles": 5, "run_cycles": 5, "wavefront_instructions": 1,
                "thread_instructions": 1,
                "stats": {"cu": {"slots_issued": counter(issued), "slots_memory": counter(10)}}
            })
        };
        let measured = run(&serde_json::json!({
            "kernel_time": {"cycles": 5, "run_cycles": 10, "occupancy": null,
                            "slots": {"memory": 30, "issued": 10, "barrier": 0}},
            "kernels": [kernel(0, 10), kernel(1, 30)],
        }));
        // A report of an older program has the slots of the whole run.
        let older = run(&serde_json::json!({
            "stats": {"cu": {"slots_issued": counter(1), "slots_no_wavefront": counter(3)}},
        }));
        let rows = slot_rows(&[side("a", measured), side("b", older)]);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| {
                let cells = row.cells.iter().map(|cell| cell.map(|cell| cell.value));
                (
                    row.place.as_str(),
                    row.name.as_str(),
                    cells.collect::<Vec<_>>(),
                )
            })
            .collect();
        let expected = [
            ("", "issued", vec![Some(25.0), Some(25.0)]),
            ("", "memory", vec![Some(75.0), None]),
            ("k #0", "issued", vec![Some(50.0), None]),
            ("k #0", "memory", vec![Some(50.0), None]),
            ("k #1", "issued", vec![Some(75.0), None]),
            ("k #1", "memory", vec![Some(25.0), None]),
            ("", "no_wavefront", vec![None, Some(75.0)]),
        ];
        assert_eq!(shown, expected);
    }
}
