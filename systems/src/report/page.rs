//! Summary page on one screen: behaviour of the run, and its performance limit.

use std::fmt::{self, Write as _};

use warpweave_params::printable;

use super::Report;
use super::energy::scaled;
use super::evidence::{self, BarSegment, Shared, Slots, quotient};
use super::limit::limit;
use super::paint::{Colour, TextStyle, WIDTH, bar, columns, cut};
use super::roofline::Roofline;
use super::rows::{KernelRow, kernel_rows};
use super::text::seconds;
use crate::digits::grouped;
use crate::run::{KernelTime, Part, RegionResult, Status};

/// Width in columns of the names on the left.
const NAMES: usize = 11;
/// Width in columns of the labels within a section.
pub(super) const LABELS: usize = 32;
/// Width in columns of a bar next to a label.
const BAR: usize = 20;
/// Maximum number of kernels shown; the longest are selected.
pub(super) const KERNELS: usize = 10;
/// Maximum number of overrides shown on the page.
const OVERRIDES: usize = 4;
/// Maximum number of caches or shared resources shown.
const ROWS: usize = 5;
/// Text shown if no statistic has the required role.
const NOT_MEASURED: &str = "not measured";

impl Report {
    /// Returns the report on one screen, without host measurements.
    pub fn to_text(&self) -> String {
        self.page(Colour::Off)
    }

    /// Returns the report on one screen, with or without colours. Control characters in the input
    /// do not reach the terminal.
    pub fn page(&self, colour: Colour) -> String {
        let mut page = Page {
            out: String::new(),
            colour,
        };
        page.write(self).expect("writing to a string succeeds");
        page.out
    }

    /// Returns the evidence of each measured kernel; empty unless kernels were measured.
    pub fn kernel_page(&self) -> String {
        let mut page = Page {
            out: String::new(),
            colour: Colour::Off,
        };
        page.by_kernel(&self.simulated)
            .expect("writing to a string succeeds");
        page.out
    }
}

pub(super) struct Page {
    pub(super) out: String,
    pub(super) colour: Colour,
}

impl Page {
    fn write(&mut self, report: &Report) -> fmt::Result {
        let statistics = &report.simulated.statistics;
        let time = &report.simulated.kernel_time;
        let slots = Slots::of(statistics).in_kernels(time);
        self.head(report, &slots)?;
        self.kernels(report)?;
        self.slots(&slots, time)?;
        self.hit_rates(evidence::hit_rates(statistics))?;
        self.latencies(evidence::latencies(statistics))?;
        let part = if time.cycles == 0 {
            1.0
        } else {
            quotient(time.cycles, time.run_cycles)
        };
        let shared = evidence::utilisations(statistics, part);
        self.utilisations(shared.as_deref())?;
        self.limit(&slots, shared.as_deref().unwrap_or_default())?;
        let mut more = "\nmore: --full, --stats PATTERN, --format json or csv".to_owned();
        if !report.simulated.measured.by_kernel() && report.simulated.kernels.len() > 1 {
            more.push_str(", --set measure.kernels=true");
        }
        writeln!(self.out, "{}", self.quiet(&more))
    }

    pub(super) fn title(&self, text: &str) -> String {
        self.colour.paint(TextStyle::Title, text)
    }

    fn quiet(&self, text: &str) -> String {
        self.colour.paint(TextStyle::Quiet, text)
    }

    fn line(&mut self, name: &str, value: &str) -> fmt::Result {
        let name = self.title(&format!("{name:<NAMES$}"));
        writeln!(self.out, "{name}{value}")
    }

    fn head(&mut self, report: &Report, slots: &Slots) -> fmt::Result {
        let simulated = &report.simulated;
        let scenario = self.title(&cut(&printable(&report.scenario), WIDTH));
        writeln!(self.out, "{scenario}")?;
        if !report.summary.is_empty() {
            let summary = cut(&printable(&report.summary), WIDTH - 2);
            writeln!(self.out, "  {summary}")?;
        }
        writeln!(self.out)?;
        let tone = match report.status {
            Status::Done => TextStyle::Good,
            _ => TextStyle::Bad,
        };
        let status = self.colour.paint(tone, report.status.name());
        self.line("status", &status)?;
        if let Some(detail) = report.status.detail() {
            writeln!(
                self.out,
                "\n{}\n",
                warpweave_params::printable_lines(detail)
            )?;
        }
        self.verified(report)?;
        self.line(
            "cycles",
            &format!(
                "{} of clock {}, {} simulated",
                grouped(simulated.cycles),
                printable(&simulated.core_clock),
                seconds(simulated.seconds)
            ),
        )?;
        let occupancy = simulated.occupancy_in_kernels();
        let occupancy = occupancy.map_or(String::new(), |occupancy| {
            format!(", occupancy {:.1}%", occupancy * 100.0)
        });
        self.line(
            "IPC",
            &format!(
                "{:.3}, {} wavefront instructions{occupancy}",
                simulated.ipc(),
                grouped(simulated.wavefront_instructions)
            ),
        )?;
        if let Some(roofline) = Roofline::of(simulated, slots) {
            self.line("roofline", &roofline.in_words())?;
        }
        if let Some(region) = &simulated.region {
            self.region(region)?;
        }
        if let Some(energy) = &simulated.energy {
            let energy = format!(
                "{} with uncalibrated coefficients, EDP {}",
                scaled(energy.total_j, "J"),
                scaled(energy.edp_js, "Js")
            );
            self.line("energy", &energy)?;
        }
        self.overrides(report)
    }

    fn region(&mut self, region: &RegionResult) -> fmt::Result {
        self.line("region", &region.in_words())?;
        let before = region.count(Part::Before) > 0;
        if let Some(cycles) = region.cycles.filter(|_| before) {
            let ipc = quotient(region.wavefront_instructions, cycles);
            let cycles = grouped(cycles);
            self.line(
                "",
                &format!("{cycles} cycles from its first launch to its end, IPC {ipc:.3}"),
            )?;
        }
        if let Some(estimate) = &region.estimate {
            self.line("estimate", &estimate.in_words())?;
        }
        Ok(())
    }

    fn verified(&mut self, report: &Report) -> fmt::Result {
        let (passed, all) = (
            report.checks.iter().filter(|check| check.passed).count(),
            report.checks.len(),
        );
        if let Some(note) = report.verified_note() {
            return self.words("verified", &format!("yes: {note}"));
        }
        let verified = match report.verified {
            Some(true) => format!("yes, {passed} of {all} expected results"),
            Some(false) => {
                let no = format!("NO, {passed} of {all} expected results");
                self.colour.paint(TextStyle::Bad, &no)
            }
            None => "no expected results".to_owned(),
        };
        self.line("verified", &verified)?;
        for check in report.checks.iter().filter(|check| !check.passed) {
            writeln!(
                self.out,
                "  MISMATCH: {} against {}: {}",
                printable(&check.buffer),
                printable(&check.reference),
                printable(&check.detail)
            )?;
        }
        Ok(())
    }

    fn overrides(&mut self, report: &Report) -> fmt::Result {
        let all = report.overrides.len();
        let shown = if all > OVERRIDES { OVERRIDES - 1 } else { all };
        for (at, o) in report.overrides.iter().take(shown).enumerate() {
            let name = if at == 0 { "overrides" } else { "" };
            let text = format!("{} = {} ({})", o.path, o.value, o.from);
            self.line(name, &cut(&printable(&text), WIDTH - NAMES))?;
        }
        if shown < all {
            self.line("", &format!("and {} more", all - shown))?;
        }
        Ok(())
    }

    fn kernels(&mut self, report: &Report) -> fmt::Result {
        let mut rows = kernel_rows(&report.simulated.kernels);
        if rows.is_empty() {
            return Ok(());
        }
        let longest = rows.iter().map(|row| row.cycles).max().unwrap_or(0);
        let left_out = rows.len().saturating_sub(KERNELS);
        let mut rest = 0;
        if left_out > 0 {
            // The longest stay, in the order of their launch.
            let mut order: Vec<u64> = rows.iter().map(|row| row.cycles).collect();
            order.sort_unstable();
            let least = order[left_out];
            rows.retain(|row| {
                let stays = row.cycles >= least;
                rest += if stays { 0 } else { row.cycles };
                stays
            });
        }
        let head = format!("{:<LABELS$}{:<BAR$}{:>12}{:>8}", "", "", "cycles", "IPC");
        writeln!(self.out, "\n{}{}", self.title("kernels"), &head[7..])?;
        for row in rows.iter().take(KERNELS) {
            self.kernel(row, longest)?;
        }
        if left_out > 0 {
            let others = format!("  and {left_out} shorter");
            writeln!(
                self.out,
                "{others:<LABELS$}{:BAR$}{:>12}",
                "",
                grouped(rest)
            )?;
        }
        Ok(())
    }

    fn kernel(&mut self, row: &KernelRow, longest: u64) -> fmt::Result {
        let label = Self::kernel_label(row);
        let bar = bar(quotient(row.cycles, longest), BAR);
        let bar = self.padded(TextStyle::Part(0), &bar);
        let open = if row.completed { "" } else { " open" };
        writeln!(
            self.out,
            "  {label:<width$}{bar}{:>12}{:>8.3}{open}",
            grouped(row.cycles),
            row.ipc(),
            width = LABELS - 2,
        )
    }

    /// Returns the name of a kernel with the number of its launches, shortened.
    pub(super) fn kernel_label(row: &KernelRow) -> String {
        let label = match row.launches.len() {
            1 => row.name.clone(),
            launches => format!("{} x{launches}", row.name),
        };
        cut(&printable(&label), LABELS - 3)
    }

    /// Pads a coloured bar to its column width.
    fn padded(&self, tone: TextStyle, bar: &str) -> String {
        let room = BAR.saturating_sub(bar.chars().count());
        format!("{}{:room$}", self.colour.paint(tone, bar), "")
    }

    fn slots(&mut self, slots: &Slots, time: &KernelTime) -> fmt::Result {
        let pieces = slots.pieces();
        let totals: Vec<u64> = pieces.iter().map(|piece| piece.slots).collect();
        let whole: u64 = totals.iter().sum();
        let units = slots.units.len();
        if units == 0 || whole == 0 {
            return self.absent("issue slots");
        }
        let title = self.title("issue slots");
        let of = if units == 1 { "unit" } else { "units" };
        let share = quotient(time.cycles, time.run_cycles) * 100.0;
        writeln!(
            self.out,
            "\n{title} of {units} {of} while kernels ran, {share:.1}% of the run"
        )?;
        let letters = letters(&pieces);
        let bar = self.stacked(slots, &pieces, WIDTH - 4);
        writeln!(self.out, "  {bar}")?;
        let mut line = String::from(" ");
        for (at, piece) in pieces.iter().enumerate() {
            if piece.slots == 0 {
                continue;
            }
            let share = quotient(piece.slots, whole) * 100.0;
            let part = piece.part.as_ref();
            let name = match part {
                Some(part) => format!("{} {part}", piece.reason),
                None => piece.reason.clone(),
            };
            let entry = format!(" {} {} {share:.1}% ", letters[at], printable(&name));
            if line.chars().count() + entry.chars().count() > WIDTH {
                writeln!(self.out, "{}", line.trim_end())?;
                " ".clone_into(&mut line);
            }
            line.push_str(&entry);
        }
        writeln!(self.out, "{}", line.trim_end())?;
        self.extremes(slots)
    }

    /// Returns the stacked bar of the slots: a letter for each piece, a colour for each reason.
    pub(super) fn stacked(&self, slots: &Slots, pieces: &[BarSegment], width: usize) -> String {
        let totals: Vec<u64> = pieces.iter().map(|piece| piece.slots).collect();
        let letters = letters(pieces);
        let columns = columns(&totals, width);
        let shown = pieces.iter().zip(columns.iter().zip(&letters));
        let bar = shown.map(|(piece, (columns, letter))| {
            let reason = slots.names.iter().position(|name| *name == piece.reason);
            let text = letter.to_string().repeat(*columns);
            self.colour
                .paint(TextStyle::Part(reason.unwrap_or(0)), &text)
        });
        bar.collect()
    }

    /// Writes the units that issued most and least; equal units are counted but not listed.
    fn extremes(&mut self, slots: &Slots) -> fmt::Result {
        if slots.units.len() < 2 {
            return Ok(());
        }
        let issued = |counts: &[u64]| quotient(counts[0], counts.iter().sum());
        let mut sorted: Vec<_> = slots.units.iter().collect();
        // Stable, so that of equal units the first is named.
        sorted.sort_by(|a, b| issued(&b.1).total_cmp(&issued(&a.1)));
        let best = sorted[0];
        let least = issued(&sorted[sorted.len() - 1].1);
        if issued(&best.1) <= least {
            return writeln!(self.out, "  every unit {:.1}%", least * 100.0);
        }
        let worst = slots.units.iter().find(|unit| issued(&unit.1) <= least);
        let mut text = String::from("  ");
        for (word, unit) in [("best", Some(best)), ("worst", worst)] {
            let Some((path, counts)) = unit else { continue };
            let alike = slots.units.iter().filter(|unit| unit.1 == *counts).count() - 1;
            let alike = if alike == 0 {
                String::new()
            } else {
                format!(" and {alike} alike")
            };
            let _ = write!(
                text,
                "{word} {}{alike} {:.1}%   ",
                printable(path),
                issued(counts) * 100.0
            );
        }
        writeln!(self.out, "{}", cut(text.trim_end(), WIDTH))
    }

    fn hit_rates(&mut self, rates: Option<Vec<(evidence::NamedFraction, usize)>>) -> fmt::Result {
        let Some(rates) = rates else {
            return self.absent("hit rates");
        };
        writeln!(self.out, "\n{}", self.title("read hit rates"))?;
        for (share, instances) in rates.iter().take(ROWS) {
            let rate = quotient(share.part, share.whole);
            let label = Self::label(&share.name, *instances);
            let bar = self.padded(TextStyle::Part(1), &bar(rate, BAR));
            let reads = grouped(share.whole);
            writeln!(
                self.out,
                "{label}{bar}{:>7.1}%{reads:>14} reads",
                rate * 100.0
            )?;
        }
        self.left_out(rates.len())
    }

    fn latencies(&mut self, latencies: Option<Vec<evidence::NamedFraction>>) -> fmt::Result {
        let Some(latencies) = latencies.filter(|latencies| !latencies.is_empty()) else {
            return self.absent("load latency");
        };
        let title = self.title("load latency");
        writeln!(
            self.out,
            "\n{title}, mean cycles by the last level that replied"
        )?;
        let loads: u64 = latencies.iter().map(|share| share.whole).sum();
        let mean = |share: &evidence::NamedFraction| quotient(share.part, share.whole);
        let longest = latencies.iter().map(mean).fold(0.0, f64::max);
        for share in latencies.iter().take(ROWS) {
            let label = Self::label(&share.name, 1);
            let part = if longest > 0.0 {
                mean(share) / longest
            } else {
                0.0
            };
            let bar = self.padded(TextStyle::Part(2), &bar(part, BAR));
            writeln!(
                self.out,
                "{label}{bar}{:>8.1}{:>9.1}% of loads",
                mean(share),
                quotient(share.whole, loads) * 100.0
            )?;
        }
        self.left_out(latencies.len())
    }

    fn utilisations(&mut self, shared: Option<&[Shared]>) -> fmt::Result {
        let Some(shared) = shared else {
            return self.absent("utilisation");
        };
        let used: Vec<_> = shared
            .iter()
            .filter(|shared| shared.busiest > 0.0)
            .collect();
        let title = self.title("utilisation");
        writeln!(
            self.out,
            "\n{title}, mean and busiest instance while kernels ran"
        )?;
        for shared in used.iter().take(ROWS) {
            let label = Self::label(&shared.name, shared.places);
            let bar = self.padded(TextStyle::Part(3), &bar(shared.mean, BAR));
            writeln!(
                self.out,
                "{label}{bar}{:>7.1}%{:>13.1}%",
                shared.mean * 100.0,
                shared.busiest * 100.0
            )?;
        }
        self.left_out(used.len())
    }

    fn limit(&mut self, slots: &Slots, shared: &[Shared]) -> fmt::Result {
        let said = match limit(slots, shared) {
            Some(limit) => format!("{}: {}", limit.what, limit.evidence),
            None => "no clear bottleneck".to_owned(),
        };
        writeln!(self.out)?;
        self.words("limited by", &printable(&said))
    }

    /// Writes text next to a name, on as many lines as needed.
    fn words(&mut self, name: &str, text: &str) -> fmt::Result {
        for (at, line) in wrapped(text, WIDTH - NAMES).iter().enumerate() {
            self.line(if at == 0 { name } else { "" }, line)?;
        }
        Ok(())
    }

    fn label(name: &str, many: usize) -> String {
        let many = if many > 1 {
            format!(" x{many}")
        } else {
            String::new()
        };
        let room = LABELS - 3 - many.len();
        let label = format!("{}{many}", cut(&printable(name), room));
        format!("  {label:<width$}", width = LABELS - 2)
    }

    fn left_out(&mut self, all: usize) -> fmt::Result {
        match all.saturating_sub(ROWS) {
            0 => Ok(()),
            more => writeln!(self.out, "  and {more} more"),
        }
    }

    fn absent(&mut self, what: &str) -> fmt::Result {
        writeln!(self.out, "\n{} {NOT_MEASURED}", self.title(what))
    }
}

/// Assigns a letter to each piece: the first unused one in its name, or for parts a digit or
/// capital. The first reason without parts gets `#`. Reasons are assigned before parts. Pieces
/// without slots also get letters, so a letter means the same in every report.
fn letters(pieces: &[BarSegment]) -> Vec<char> {
    let mut taken = Vec::new();
    let mut letters = vec!['?'; pieces.len()];
    for parts in [false, true] {
        for (at, piece) in pieces.iter().enumerate() {
            if piece.part.is_some() != parts {
                continue;
            }
            let name = piece.part.as_ref().unwrap_or(&piece.reason);
            let digits = name.chars().filter(|c| parts && c.is_ascii_digit());
            let capitals = name.chars().filter(|_| parts);
            let capitals = capitals.map(|c| c.to_ascii_uppercase());
            let own = digits.chain(capitals).chain(name.chars());
            let own = own.chain('a'..='z').chain('A'..='Z');
            let mut free = own.filter(|c| c.is_ascii_alphanumeric() && !taken.contains(c));
            let letter = if at == 0 && !parts {
                Some('#')
            } else {
                free.next()
            };
            letters[at] = letter.unwrap_or('?');
            taken.push(letters[at]);
        }
    }
    letters
}

/// Wraps the text to lines of at most `width` columns.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        let room = width.saturating_sub(line.chars().count());
        if line.is_empty() {
            line.push_str(word);
        } else if word.chars().count() < room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_letter_of_its_own() {
        let piece = |reason: &str, part: Option<&str>| BarSegment {
            reason: reason.to_owned(),
            part: part.map(str::to_owned),
            slots: 1,
        };
        let names = ["issued", "memory", "movement", "no_wavefront", "mm"];
        let pieces = names.map(|name| piece(name, None));
        assert_eq!(letters(&pieces), ['#', 'm', 'o', 'n', 'a']);
        let mut parts = [
            piece("issued", None),
            piece("memory", Some("L1")),
            piece("memory", Some("mm")),
            piece("memory", None),
            piece("movement", Some("mill")),
        ];
        assert_eq!(letters(&parts), ['#', '1', 'M', 'm', 'I']);
        parts[2].slots = 0;
        assert_eq!(letters(&parts), ['#', '1', 'M', 'm', 'I']);
        let parts = [piece("issued", Some("integer")), piece("idle", None)];
        assert_eq!(letters(&parts), ['I', 'i']);
        assert_eq!(letters(&[]), []);
    }

    #[test]
    fn words_are_kept_whole_in_lines() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("enormous", 3), ["enormous"]);
    }
}
