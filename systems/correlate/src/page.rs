//! Comparison as a self-contained page, without scripts or network access.

use maud::{Markup, html};
use warpweave_systems::report::html_page;

use crate::correlation::{Correlation, KernelRow};
use crate::figure::{Ceilings, Point, Rate, bars, roofline, scatter, value};
use crate::quantity::{CYCLES, DRAM_READS, DRAM_WRITES, QUANTITIES, THREADS};
use crate::score::Mean;
use crate::stall::{STALLS, Shares};
use crate::text::fixed;
use crate::traffic::SECTOR_BYTES;

const STYLE: &str = "
.pair{display:flex;flex-wrap:wrap;gap:1.5rem;align-items:flex-start}
svg{font-size:11px}svg text{fill:currentColor}
.frame{fill:none;stroke:#888}.grid{stroke:#8884}.equal{stroke:#888}
.limit{stroke:#888;stroke-dasharray:4 3}.ours{fill:#0072b2;fill-opacity:.75}.theirs{fill:none;stroke:#d55e00;stroke-width:1.5}
.near{fill:#009e73}.off{fill:#e69f00}.far{fill:#d55e00}
";

impl Correlation {
    /// Returns the comparison as a page: figures, a scatter and bars for each quantity, stalls.
    pub fn to_html(&self) -> String {
        let (file, launches) = &self.profile;
        let body = html! {
            h1 { "Runs against a profile" }
            table {
                tr { th { "" } th.text { "name" } th { "launches" } }
                tr { td { "profile" } td.text { (file) } td { (launches) } }
                @for (name, launches) in &self.runs {
                    tr { td { "ours" } td.text { (name) } td { (launches) } }
                }
                tr { td { "compared" } td.text { (self.kernels.len()) " kernels" } td { (self.launches.len()) } }
            }
            h2 { "Figures" }
            (self.figure_table())
            (self.rates())
            @for quantity in self.compared() { (self.quantity(quantity)) }
            (self.stall_table())
            (self.left_out())
        };
        html_page(&format!("Runs against {file}"), STYLE, &body)
    }

    fn figure_table(&self) -> Markup {
        html! {
            div.wide { table {
                tr { th { "quantity" } th { "kernels" } th { "MAPE, %" } th { "body, %" } th { "r" }
                     th { "within 10 %" } th { "within 20 %" } th { "equal launches" } th.text { "worst" } }
                @for quantity in self.compared() {
                    @let (of, score) = (&QUANTITIES[quantity], &self.scores[quantity]);
                    tr {
                        td { a href=(format!("#{}", of.key)) { (of.key) } }
                        td { (score.kernels) }
                        td { (fixed(score.mape, 1)) } td { (fixed(score.body, 1)) }
                        td { (fixed(score.correlation, 4)) }
                        td { (score.within[0]) } td { (score.within[1]) }
                        td { @if of.is_count { (score.equal[0]) " of " (score.equal[1]) } @else { "-" } }
                        td.text { @if let Some((kernel, ratio)) = &score.worst { (kernel) " " (format!("{ratio:.2}")) } @else { "-" } }
                    }
                }
            } }
            p.small {
                "Errors are of means over the launches of a kernel, averaged over kernels. "
                @if let Some(floor) = self.floor { "Body errors are without a floor of " (floor) " cycles." }
            }
        }
    }

    /// Returns the rates of both sides below the ceilings of our machine.
    fn rates(&self) -> Markup {
        let rate = |row: &'_ KernelRow, of: fn(&Mean) -> f64| {
            let value = |quantity: usize| row.means[quantity].as_ref().map(of);
            let sectors = value(DRAM_READS)? + value(DRAM_WRITES)?;
            let (threads, cycles) = (value(THREADS)?, value(CYCLES)?);
            let bytes = sectors * SECTOR_BYTES as f64;
            (bytes > 0.0 && cycles > 0.0).then(|| (threads / bytes, threads / cycles))
        };
        let side = |of: fn(&Mean) -> f64| -> Vec<Rate<'_>> {
            let rows = self.kernels.iter();
            let rates = rows.filter_map(|row| Some((row.kernel.as_str(), rate(row, of)?)));
            rates.map(|(kernel, (x, y))| (kernel, x, y)).collect()
        };
        let ceilings = self
            .ceilings
            .map(|(issue, memory)| Ceilings { issue, memory });
        let figure = roofline(ceilings, &side(|mean| mean.ours), &side(|mean| mean.theirs));
        html! { @if let Some(figure) = figure {
            h2 { "Roofline" }
            (figure)
            p.small { "Filled: ours. Open: the profile. Lines: what the issue slots and the memory of our machine allow." }
        } }
    }

    fn quantity(&self, quantity: usize) -> Markup {
        let of = &QUANTITIES[quantity];
        let rows: Vec<_> = self
            .kernels
            .iter()
            .filter_map(|row| Some((row.kernel.as_str(), row.means[quantity]?)))
            .collect();
        let points: Vec<Point<'_>> = rows
            .iter()
            .map(|(kernel, mean)| (*kernel, mean.theirs, mean.ours))
            .collect();
        let ratios: Vec<(&str, f64)> = rows
            .iter()
            .filter_map(|(kernel, mean)| Some((*kernel, mean.ratio()?)))
            .collect();
        html! {
            h2 id=(of.key) { (of.key) }
            p.small { code { (of.metric()) } }
            div.pair {
                @if let Some(scatter) = scatter(of.key, of.unit, &points) { (scatter) }
                @if !ratios.is_empty() { (bars(of.key, &ratios)) }
            }
            details {
                summary { "values" }
                div.wide { table {
                    tr { th { "kernel" } th { "launches" } th { "ours" } th { "profile" } th { "ratio" } }
                    @for (kernel, mean) in &rows {
                        tr {
                            td { (kernel) } td { (mean.launches) } td { (value(mean.ours)) }
                            td { (value(mean.theirs)) } td { (fixed(mean.ratio(), 3)) }
                        }
                    }
                } }
            }
        }
    }

    /// Returns the shares of stalls of each kernel, ours above those of the profile.
    fn stall_table(&self) -> Markup {
        let has = |at: usize| {
            let sides = self.stalls.iter().flatten();
            sides.clone().any(|shares| shares[at].is_some())
        };
        let reasons: Vec<usize> = (0..STALLS.len()).filter(|at| has(*at)).collect();
        let cells = |shares: &Option<Shares>| {
            html! { @for at in &reasons { td { (fixed(shares.as_ref().and_then(|shares| shares[*at]), 1)) } } }
        };
        let both = |[ours, theirs]: &[Option<Shares>; 2]| ours.is_some() && theirs.is_some();
        html! { @if both(&self.stalls) {
            h2 { "Stalls, % of all" }
            div.wide { table {
                tr { th { "kernel" } th.text { "" } @for at in &reasons { th { (STALLS[*at].name) } } }
                @for row in self.kernels.iter().filter(|row| both(&row.stalls)) {
                    tr { td rowspan="2" { (row.kernel) } td.text { "ours" } (cells(&row.stalls[0])) }
                    tr { td.text { "profile" } (cells(&row.stalls[1])) }
                }
            } }
            @for stall in &STALLS {
                @if let Some(joined) = stall.joined() { p.small { (stall.name) " joins " (joined) "." } }
            }
        } }
    }

    fn left_out(&self) -> Markup {
        html! {
            @if !self.missing.is_empty() {
                h2 { "Not compared" }
                table {
                    tr { th { "quantity" } th { "launches" } th.text { "reason" } }
                    @for missing in &self.missing {
                        @let of = &QUANTITIES[missing.quantity];
                        tr {
                            td { (of.key) } td { (missing.launches) }
                            td.text { @match missing.ours {
                                Some(why) => { (why) }
                                None => { "the profile has no " code { (of.metric()) } }
                            } }
                        }
                    }
                }
            }
            @if !self.unmatched.is_empty() {
                h2 { "Without a partner" }
                table {
                    tr { th { "kernel" } th { "ID" } th.text { "ours" } th.text { "reason" } }
                    @for launch in &self.unmatched {
                        tr {
                            td { (launch.kernel) }
                            td { @if let Some(id) = launch.id { (id) } @else { "-" } }
                            td.text { @if let Some((run, number)) = &launch.own { (run) " " (number) } @else { "-" } }
                            td.text { (launch.why) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::correlation::example::example;

    #[test]
    fn the_page_is_self_contained_and_has_a_figure_for_each_quantity() {
        let found = example();
        let page = found.to_html();
        for forbidden in ["<script", "http://", "https://", "src="] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        assert_eq!(page.matches("<h2 id=").count(), found.compared().count());
        assert!(
            page.contains("0.90") && page.contains("the run was not measured"),
            "{page}"
        );
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    }
}
