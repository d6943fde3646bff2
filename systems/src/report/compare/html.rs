//! HTML page of a comparison: self-contained, without scripts or network access.

use maud::{Markup, html};

use super::text::{change_of, letters, value};
use super::{Cell, Comparison, Parameter, Row};
use crate::report::html_page;
use crate::report::paint::WEB_COLOURS;

const STYLE: &str = "
table{width:100%}th:first-child,td:first-child{overflow-wrap:anywhere}
.bad,.down{color:#c2410c}.up{color:#0b78c2}.noise{color:#777}
.legend span{padding:0 .6rem 0 .3rem}td.bar{width:70%;white-space:nowrap;font-size:0}
td.bar span{display:inline-block;height:1rem}
.range{display:block;font-size:.8rem;color:#777}
";

impl Comparison {
    /// Returns all differences as a self-contained HTML page.
    pub fn to_html(&self) -> String {
        let body = html! {
            h1 { "Comparison of runs" }
            (self.sides_table())
            @if !self.same_program {
                p.bad { "The runs executed different numbers of instructions." }
            }
            (self.quantities("Totals", &self.totals))
            (self.quantities("Kernels", &self.kernels))
            (self.slot_bars())
            (self.parameters("Overrides that differ", &self.overrides))
            @match &self.system {
                Some(system) => (self.parameters("System as built", system)),
                None => p { "The systems as built are unknown: compare results folders to see them." },
            }
            (self.quantities("Statistics by relative change", &self.statistics))
            p { (self.equal) " statistics are equal." }
            @for part in &self.alone {
                (self.quantities(&format!("Not on every side: {}", part.place), &part.rows))
            }
            @if self.has_repetitions() {
                p { "Values are medians over the runs, with minimum and maximum below; a change is within noise if the ranges overlap." }
            }
        };
        html_page("Comparison of runs", STYLE, &body)
    }

    fn sides_table(&self) -> Markup {
        html! {
            table {
                tr { th { "side" } th { "scenario" } th { "runs" } th { "status" } }
                @for (side, letter) in self.sides.iter().zip(letters()) {
                    tr {
                        td { (letter) " " (side.name) }
                        td { (side.scenario) }
                        td { (side.runs) }
                        td.bad[side.status != "done"] { (side.status) }
                    }
                }
            }
        }
    }

    fn quantities(&self, title: &str, rows: &[Row]) -> Markup {
        html! {
            @if !rows.is_empty() {
                h2 { (title) }
                table {
                    tr {
                        th { "quantity" } th { "unit" }
                        @for (at, (_, letter)) in self.sides.iter().zip(letters()).enumerate() {
                            th { (letter) }
                            @if at > 0 { th { "change" } }
                        }
                    }
                    @for row in rows { (quantity(row)) }
                }
            }
        }
    }

    /// Returns a bar of the issue slots for each side, of the run and of each measured kernel.
    fn slot_bars(&self) -> Markup {
        let outcomes = self.slot_outcomes();
        html! {
            @if !outcomes.is_empty() {
                h2 { "Issue slots while kernels ran" }
                p.legend {
                    @for (outcome, colour) in outcomes.iter().zip(WEB_COLOURS.iter().cycle()) {
                        span style=(format!("border-left: 1rem solid {colour}")) {
                            (outcome.replace('_', " "))
                        }
                        " "
                    }
                }
                table {
                    @for place in self.slot_places() {
                        @for (side, letter) in letters().enumerate().take(self.sides.len()) {
                            tr {
                                td { @if side == 0 { @if place.is_empty() { "all kernels" } @else { (place) } } }
                                td { (letter) }
                                td.bar {
                                    @let shares = self.slot_shares(place, side);
                                    @for (share, colour) in shares.iter().zip(WEB_COLOURS.iter().cycle()) {
                                        span style=(format!("width: {share:.3}%; background: {colour}")) {}
                                    }
                                }
                            }
                        }
                    }
                }
                (self.quantities("Shares of the issue slots", &self.slots))
            }
        }
    }

    fn parameters(&self, title: &str, parameters: &[Parameter]) -> Markup {
        html! {
            h2 { (title) }
            @if parameters.is_empty() {
                p { "No difference." }
            } @else {
                table {
                    tr {
                        th { "parameter" } th { "instances" }
                        @for (_, letter) in self.sides.iter().zip(letters()) { th { (letter) } }
                    }
                    @for parameter in parameters {
                        tr {
                            td { (parameter.path) }
                            td { (parameter.instances) }
                            @for value in &parameter.values { td { (value.as_deref().unwrap_or("-")) } }
                        }
                    }
                }
            }
        }
    }
}

fn quantity(row: &Row) -> Markup {
    html! {
        tr {
            td { (row.place) " " (row.name) }
            td { (row.unit) }
            @for (at, cell) in row.cells.iter().enumerate() {
                td { (shown(cell.as_ref())) }
                @if at > 0 {
                    @let change = row.change(at);
                    @let noise = change.is_some_and(super::Change::is_noise);
                    @let relative = change.and_then(|change| change.relative).unwrap_or(0.0);
                    td.noise[noise].up[!noise && relative > 0.0].down[!noise && relative < 0.0] {
                        (change_of(change))
                        @if noise { span.range { "within noise" } }
                    }
                }
            }
        }
    }
}

fn shown(cell: Option<&Cell>) -> Markup {
    html! {
        @match cell {
            None => "-",
            Some(cell) => {
                (value(cell))
                @if cell.runs > 1 {
                    span.range {
                        (value(&Cell { value: cell.least, ..*cell })) " to "
                        (value(&Cell { value: cell.most, ..*cell }))
                    }
                }
            }
        }
    }
}
