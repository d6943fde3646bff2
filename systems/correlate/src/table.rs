//! Comparison as a table of comma-separated values.

use warpweave_systems::report::CsvTable;

use crate::correlation::Correlation;
use crate::quantity::QUANTITIES;
use crate::score::Score;
use crate::stall::{STALLS, Shares};

const COLUMNS: [&str; 10] = [
    "scope", "kernel", "id", "number", "quantity", "unit", "ours", "theirs", "ratio", "why",
];

impl Correlation {
    /// Returns all values as CSV: those of launches, means of kernels, and figures.
    pub fn to_csv(&self) -> String {
        let mut table = CsvTable::new(&COLUMNS);
        for launch in &self.launches {
            let of = [
                "launch",
                &launch.kernel,
                &launch.id.to_string(),
                &launch.own.1.to_string(),
            ];
            for (quantity, (ours, theirs)) in QUANTITIES.iter().zip(&launch.values) {
                let why = match (ours, theirs) {
                    (Err(_), None) => continue,
                    (Err(why), Some(_)) => *why,
                    (Ok(_), None) => "the profile has no such metric",
                    (Ok(_), Some(_)) => "",
                };
                let names = [quantity.key, quantity.unit];
                row(&mut table, of, names, (ours.ok(), *theirs), why);
            }
            stalls(&mut table, of, &launch.stalls);
        }
        for kernel in &self.kernels {
            let of = ["kernel", &kernel.kernel, "", ""];
            for (quantity, mean) in QUANTITIES.iter().zip(&kernel.means) {
                if let Some(mean) = mean {
                    let values = (Some(mean.ours), Some(mean.theirs));
                    row(&mut table, of, [quantity.key, quantity.unit], values, "");
                }
            }
            stalls(&mut table, of, &kernel.stalls);
        }
        for quantity in self.compared() {
            summary(&mut table, QUANTITIES[quantity].key, &self.scores[quantity]);
        }
        for launch in &self.unmatched {
            let id = launch.id.map(|id| id.to_string()).unwrap_or_default();
            let number = launch.own.as_ref().map(|(_, number)| number.to_string());
            let number = number.unwrap_or_default();
            let of = ["unmatched", &launch.kernel, &id, &number];
            row(&mut table, of, ["", ""], (None, None), &launch.why);
        }
        table.take()
    }
}

fn row(
    table: &mut CsvTable,
    of: [&str; 4],
    names: [&str; 2],
    (ours, theirs): (Option<f64>, Option<f64>),
    why: &str,
) {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let ratio = ours.zip(theirs).filter(|(_, theirs)| *theirs > 0.0);
    let values = [ours, theirs, ratio.map(|(ours, theirs)| ours / theirs)].map(number);
    let [ours, theirs, ratio] = &values;
    table.row(
        of.iter()
            .chain(&names)
            .copied()
            .chain([ours.as_str(), theirs, ratio, why]),
    );
}

fn stalls(table: &mut CsvTable, of: [&str; 4], [ours, theirs]: &[Option<Shares>; 2]) {
    for (at, stall) in STALLS.iter().enumerate() {
        let share = |side: &Option<Shares>| side.as_ref().and_then(|shares| shares[at]);
        let (ours, theirs) = (share(ours), share(theirs));
        if ours.is_some() || theirs.is_some() {
            let key = format!("stall_{}", stall.name);
            row(table, of, [&key, "%"], (ours, theirs), "");
        }
    }
}

fn summary(table: &mut CsvTable, key: &str, score: &Score) {
    let count = |count: usize| Some(count as f64);
    let worst = score.worst.as_ref();
    let kernel = worst.map_or("", |(kernel, _)| kernel.as_str());
    for (figure, unit, value, kernel) in [
        ("kernels", "kernels", count(score.kernels), ""),
        ("mape", "%", score.mape, ""),
        ("body", "%", score.body, ""),
        ("correlation", "", score.correlation, ""),
        ("within_10", "kernels", count(score.within[0]), ""),
        ("within_20", "kernels", count(score.within[1]), ""),
        ("equal", "launches", count(score.equal[0]), ""),
        ("launches", "launches", count(score.equal[1]), ""),
        ("worst", "", worst.map(|(_, ratio)| *ratio), kernel),
    ] {
        if value.is_some() {
            let quantity = format!("{key}.{figure}");
            let of = ["summary", kernel, "", ""];
            row(table, of, [&quantity, unit], (value, None), "");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::correlation::example::example;

    #[test]
    fn the_table_holds_launches_kernels_and_figures() {
        let csv = example().to_csv();
        for row in [
            "scope,kernel,id,number,quantity,unit,ours,theirs,ratio,why",
            "launch,scale,0,0,cycles,cycles,4500,5000,0.9,",
            "launch,scale,0,0,l1_load_sectors,sectors,,16,,the run was not measured",
            "launch,sum,2,0,l1_load_sectors,sectors,5,5,1,",
            "launch,scale,0,0,stall_wait,%,,100,,",
            "kernel,sum,,,registers,registers,12,16,0.75,",
            "summary,,,,warp_instructions.equal,launches,3,,,",
            "summary,scale,,,cycles.worst,,0.9,,,",
            "unmatched,lost,3,,,,,,,no run has this launch",
        ] {
            assert!(csv.lines().any(|line| line == row), "{row}\n{csv}");
        }
    }
}
