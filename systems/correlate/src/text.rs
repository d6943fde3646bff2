//! Comparison as a page of text tables.

use std::fmt::Write as _;

use warpweave_params::printable_lines;
use warpweave_systems::grouped;

use crate::correlation::Correlation;
use crate::pairs::Unmatched;
use crate::quantity::{CYCLES, QUANTITIES};
use crate::stall::STALLS;

/// Width of a column of names.
const NAMES: usize = 24;

/// Number of quantities that fit next to each other.
const COLUMNS: usize = 8;

/// Number of kernels listed with launches that have no partner.
const UNMATCHED: usize = 12;

impl Correlation {
    /// Returns the comparison as text: figures, cycles and ratios by kernel, stalls, what is
    /// missing.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.head(&mut out);
        self.figures(&mut out);
        self.cycles(&mut out);
        self.ratios(&mut out);
        self.stall_shares(&mut out);
        self.what_is_missing(&mut out);
        printable_lines(&out).into_owned()
    }

    fn head(&self, out: &mut String) {
        let (file, launches) = &self.profile;
        let _ = writeln!(out, "profile   {file}: {launches} launches");
        for (name, launches) in &self.runs {
            let _ = writeln!(out, "ours      {name}: {launches} launches");
        }
        let (launches, kernels) = (self.launches.len(), self.kernels.len());
        let _ = write!(out, "compared  {launches} launches of {kernels} kernels");
        if let Some(floor) = self.floor {
            let _ = write!(out, "; body without a floor of {floor} cycles");
        }
        out.push('\n');
    }

    fn figures(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "\n{:<20} {:>7} {:>7} {:>7} {:>7} {:>5} {:>5} {:>11}  worst",
            "quantity", "kernels", "MAPE %", "body %", "r", "10 %", "20 %", "equal"
        );
        for quantity in self.compared() {
            let score = &self.scores[quantity];
            let is_count = QUANTITIES[quantity].is_count;
            let equal = is_count.then(|| format!("{} of {}", score.equal[0], score.equal[1]));
            let worst = score.worst.as_ref();
            let worst = worst.map(|(kernel, ratio)| format!("{} {ratio:.2}", short(kernel)));
            let _ = writeln!(
                out,
                "{:<20} {:>7} {:>7} {:>7} {:>7} {:>5} {:>5} {:>11}  {}",
                QUANTITIES[quantity].key,
                score.kernels,
                fixed(score.mape, 1),
                fixed(score.body, 1),
                fixed(score.correlation, 4),
                score.within[0],
                score.within[1],
                equal.as_deref().unwrap_or("-"),
                worst.as_deref().unwrap_or("-")
            );
        }
    }

    fn cycles(&self, out: &mut String) {
        let with_cycles = self
            .kernels
            .iter()
            .filter(|row| row.means[CYCLES].is_some());
        if with_cycles.clone().next().is_none() {
            return;
        }
        let _ = writeln!(
            out,
            "\n{:<NAMES$} {:>8} {:>13} {:>13} {:>7}",
            "cycles of a launch", "launches", "ours", "profile", "ratio"
        );
        for row in with_cycles {
            let Some(mean) = &row.means[CYCLES] else {
                continue;
            };
            let _ = writeln!(
                out,
                "{:<NAMES$} {:>8} {:>13} {:>13} {:>7}",
                short(&row.kernel),
                mean.launches,
                grouped(mean.ours.round() as u64),
                grouped(mean.theirs.round() as u64),
                fixed(mean.ratio(), 3)
            );
        }
    }

    /// Writes the ratios of all quantities but cycles, a few columns at a time.
    fn ratios(&self, out: &mut String) {
        let quantities: Vec<usize> = self.compared().filter(|one| *one != CYCLES).collect();
        for block in quantities.chunks(COLUMNS) {
            let _ = write!(out, "\n{:<NAMES$}", "ours / profile");
            for quantity in block {
                let _ = write!(out, " {:>8}", QUANTITIES[*quantity].head);
            }
            out.push('\n');
            for row in &self.kernels {
                let _ = write!(out, "{:<NAMES$}", short(&row.kernel));
                for quantity in block {
                    let mean = row.means[*quantity].as_ref();
                    let shown = match mean {
                        None => "-".to_owned(),
                        Some(mean) if mean.equal == mean.launches => "=".to_owned(),
                        Some(mean) => fixed(mean.ratio(), 3),
                    };
                    let _ = write!(out, " {shown:>8}");
                }
                out.push('\n');
            }
        }
    }

    fn stall_shares(&self, out: &mut String) {
        let [Some(ours), Some(theirs)] = &self.stalls else {
            return;
        };
        let _ = writeln!(
            out,
            "\n{:<NAMES$} {:>8} {:>8}",
            "stalls, % of all", "ours", "profile"
        );
        for (at, stall) in STALLS.iter().enumerate() {
            if ours[at].is_none() && theirs[at].is_none() {
                continue;
            }
            let joined = stall.joined().map(|names| format!("  {names}"));
            let _ = writeln!(
                out,
                "{:<NAMES$} {:>8} {:>8}{}",
                stall.name,
                fixed(ours[at], 1),
                fixed(theirs[at], 1),
                joined.unwrap_or_default()
            );
        }
    }

    fn what_is_missing(&self, out: &mut String) {
        if !self.missing.is_empty() {
            let _ = writeln!(out, "\n{:<20} {:>8}  reason", "not compared", "launches");
        }
        for missing in &self.missing {
            let quantity = &QUANTITIES[missing.quantity];
            let _ = write!(out, "{:<20} {:>8}  ", quantity.key, missing.launches);
            let _ = match missing.ours {
                Some(why) => writeln!(out, "{why}"),
                None => writeln!(out, "no `{}` in the profile", quantity.metric()),
            };
        }
        self.without_partner(out);
    }

    /// Writes the launches without a partner, those of a kernel and reason together.
    fn without_partner(&self, out: &mut String) {
        let mut groups: Vec<(&Unmatched, usize)> = Vec::new();
        for launch in &self.unmatched {
            let same = |(other, _): &&mut (&Unmatched, usize)| {
                (&other.kernel, &other.why) == (&launch.kernel, &launch.why)
            };
            match groups.iter_mut().find(same) {
                Some((_, count)) => *count += 1,
                None => groups.push((launch, 1)),
            }
        }
        if !groups.is_empty() {
            let _ = writeln!(
                out,
                "\n{:<NAMES$} launches  first, reason",
                "without a partner"
            );
        }
        for (launch, count) in groups.iter().take(UNMATCHED) {
            let id = launch.id.map(|id| format!("{id} of the profile"));
            let own = launch.own.as_ref();
            let own = own.map(|(run, number)| format!("{number} of {run}"));
            let first = [id, own]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", ");
            let kernel = short(&launch.kernel);
            let _ = writeln!(out, "{kernel:<NAMES$} {count:>8}  {first}: {}", launch.why);
        }
        if let more @ 1.. = groups.len().saturating_sub(UNMATCHED) {
            let _ = writeln!(out, "and {more} more kernels");
        }
    }
}

/// Shortens a name but keeps its end, where names differ.
fn short(name: &str) -> String {
    let count = name.chars().count();
    if count < NAMES {
        return name.to_owned();
    }
    let kept = name.chars().skip(count + 2 - NAMES);
    std::iter::once('…').chain(kept).collect()
}

pub(crate) fn fixed(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlation::example::example;

    #[test]
    fn the_page_shows_figures_ratios_and_what_is_missing() {
        let text = example().to_text();
        for line in [
            "profile   profile.csv: 4 launches",
            "ours      timed: 2 launches",
            "compared  3 launches of 2 kernels; body without a floor of 2000 cycles",
            "cycles                     2     6.7    13.3       -     2     2           -  scale 0.90",
            "warp_instructions          2     0.0       -       -     2     2      3 of 3  -",
            "scale                           1         4 500         5 000   0.900",
            "sum                             =        =    0.750",
            "l1_load_sectors             2  the run was not measured",
            "thread_instructions         3  no `smsp__thread_inst_executed.sum` in the profile",
            "lost                            1  3 of the profile: no run has this launch",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line}\n{text}");
        }
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }

    #[test]
    fn long_names_keep_their_ends() {
        assert_eq!(short("kernel"), "kernel");
        let shown = short("a_kernel_with_a_very_long_name_of_its_own");
        assert_eq!(shown.chars().count(), NAMES - 1);
        assert!(
            shown.starts_with('…') && shown.ends_with("its_own"),
            "{shown}"
        );
    }
}
