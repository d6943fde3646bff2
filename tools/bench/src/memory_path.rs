//! Tables of the memory path: our instructions for each sector beside those of the hand-written
//! [`floor`](warpweave_bench::floor), by number of units and by component.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use warpweave_bench::floor;

use crate::callgrind;
use crate::profile::{Evaluations, Profile};
use crate::system;

/// Numbers of units that are measured. Components are shown for the last.
const UNITS: [u32; 3] = [1, 4, 15];

/// Parts of the path: our kind of component, and the stages of the floor that do its work.
const PARTS: [(&str, &str, &[&str]); 5] = [
    ("compute units", "ComputeUnit", &["Unit"]),
    ("L1 and L2", "Cache", &["L1", "L2"]),
    ("cluster ports; the floor's are in L1", "ClusterPort", &[]),
    ("networks", "Crossbar", &["Switch"]),
    ("DRAM", "GddrController", &["Dram"]),
];

/// Module whose own instructions are those of our event loop, and the floor's whole run.
const ENGINE: &str = "framework::engine";
const FLOOR: &str = "floor";

/// Marks before and after the tables in a page.
pub(crate) const MARKS: [&str; 2] = ["<!-- floor: begin -->", "<!-- floor: end -->"];

/// Figures of one of the two on the same work.
struct Side {
    cycles: u64,
    sectors: u64,
    packets: u64,
    instructions: u64,
    profile: Profile,
}

/// Measures both and returns the tables.
///
/// # Errors
/// Fails with a text if a run fails.
pub(crate) fn tables(program: &Path, own: &Path) -> Result<String, String> {
    let mut sides = Vec::new();
    for units in UNITS {
        sides.push((units, ours(program, units)?, by_hand(own, units)?));
    }
    let mut text = totals(&sides);
    text.push('\n');
    if let Some((units, ours, floor)) = sides.last() {
        text += &components(*units, ours, floor);
    }
    Ok(text)
}

/// The scenario and overrides of the machine that the floor models.
fn scenario(units: u32) -> String {
    let switches = floor::SWITCHES.join(" ");
    format!("{} params.clusters={units} {switches}", floor::SCENARIO)
}

fn ours(program: &Path, units: u32) -> Result<Side, String> {
    let scenario = scenario(units);
    let profile = Profile::parse(&callgrind::profile(&system::run_of(program, &scenario))?)?;
    let report: Value = system::report(program, &scenario)?;
    let number = |value: &Value, name: &str| {
        let value = value.as_u64();
        value.ok_or_else(|| format!("the report of {scenario} has no {name}"))
    };
    let of = |statistic: &str| number(&report["stats"]["crossbar"][statistic]["value"], statistic);
    let in_parts = PARTS
        .iter()
        .map(|part| profile.of_kind(part.1).instructions);
    Ok(Side {
        cycles: number(&report["cycles"], "cycles")?,
        sectors: of("reply_packets")?,
        packets: of("reply_packets")? + of("request_packets")?,
        instructions: in_parts.sum::<u64>() + profile.of_module(ENGINE),
        profile,
    })
}

fn by_hand(own: &Path, units: u32) -> Result<Side, String> {
    let elements = floor::ELEMENTS_MAX.to_string();
    let mut command = Command::new(own);
    command.args(["floor", "--once", &units.to_string(), &elements]);
    let profile = Profile::parse(&callgrind::profile(&command)?)?;
    let moved = floor::run(units as usize, floor::ELEMENTS_MAX);
    Ok(Side {
        cycles: moved.cycles,
        sectors: moved.sectors,
        packets: moved.sectors + moved.request_packets,
        instructions: profile.of_kind(FLOOR).instructions,
        profile,
    })
}

fn totals(sides: &[(u32, Side, Side)]) -> String {
    let mut text = "| units | sectors | packets | cycles | of the floor | instructions a sector | of the floor | ratio | instructions a packet | of the floor |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n".to_owned();
    for (units, ours, floor) in sides {
        let each = |side: &Side, of: u64| side.instructions as f64 / of as f64;
        let _ = writeln!(
            text,
            "| {units} | {} | {} | {} | {} | {:.0} | {:.0} | {:.1} | {:.0} | {:.0} |",
            ours.sectors,
            ours.packets,
            ours.cycles,
            floor.cycles,
            each(ours, ours.sectors),
            each(floor, floor.sectors),
            each(ours, ours.sectors) / each(floor, floor.sectors),
            each(ours, ours.packets),
            each(floor, floor.packets),
        );
    }
    text
}

fn components(units: u32, ours: &Side, floor: &Side) -> String {
    let mut text = format!(
        "| {units} units | evaluations a sector | instructions each | a sector | floor: evaluations a sector | each | a sector |\n|---|---:|---:|---:|---:|---:|---:|\n"
    );
    let cells = |side: &Side, of: Evaluations| {
        let each = of.instructions.checked_div(of.calls).unwrap_or(0);
        let sectors = side.sectors as f64;
        format!(
            "{:.2} | {each} | {:.0}",
            of.calls as f64 / sectors,
            of.instructions as f64 / sectors
        )
    };
    let mut in_stages = 0;
    for (name, kind, stages) in PARTS {
        let by_hand = stages.iter().map(|stage| floor.profile.of_kind(stage));
        let by_hand = by_hand.fold(Evaluations::default(), Evaluations::plus);
        in_stages += by_hand.instructions;
        let of_floor = match by_hand.calls {
            0 => " | | ".to_owned(),
            _ => cells(floor, by_hand),
        };
        let of_ours = cells(ours, ours.profile.of_kind(kind));
        let _ = writeln!(text, "| {name} | {of_ours} | {of_floor} |");
    }
    let rest = |side: &Side, instructions: u64| instructions as f64 / side.sectors as f64;
    let _ = writeln!(
        text,
        "| engine; the floor's loop | | | {:.0} | | | {:.0} |",
        rest(ours, ours.profile.of_module(ENGINE)),
        rest(floor, floor.instructions - in_stages),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(instructions: u64, text: &str) -> Side {
        Side {
            cycles: 100,
            sectors: 10,
            packets: 20,
            instructions,
            profile: Profile::parse(text).unwrap(),
        }
    }

    #[test]
    fn both_sides_are_divided_by_what_they_moved() {
        let ours = side(
            4000,
            "fn=(1) warpweave_framework::engine::partition::Partition::run\n0 500\ncfn=(2) <warpweave_components::cache::Cache as warpweave_framework::component::Component>::evaluate\ncalls=20 0\n0 3500\n",
        );
        let floor = side(
            1000,
            "fn=(1) warpweave_bench::floor::run\n0 100\ncfn=(2) warpweave_bench::floor::L1::evaluate\ncalls=10 0\n0 400\ncfn=(3) <warpweave_bench::floor::L2>::evaluate\ncalls=20 0\n0 500\n",
        );
        let by_part = components(15, &ours, &floor);
        assert!(
            by_part.contains("| L1 and L2 | 2.00 | 175 | 350 | 3.00 | 30 | 90 |\n"),
            "{by_part}"
        );
        assert!(
            by_part.contains("| engine; the floor's loop | | | 50 | | | 10 |\n"),
            "{by_part}"
        );
        let all = totals(&[(15, ours, floor)]);
        assert!(
            all.ends_with("| 15 | 10 | 20 | 100 | 100 | 400 | 100 | 4.0 | 200 | 50 |\n"),
            "{all}"
        );
    }
}
