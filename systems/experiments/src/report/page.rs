//! HTML page of the report.

use maud::{Markup, PreEscaped, html};
use warpweave_systems::report::html_page;

use super::number::number;
use super::published::{Beside, Published};
use super::tables::{HEADROOM_WORDS, SCALE_HEADS, SCALE_WORDS, scale_rows};
use super::text::{FAR, below_gates, left_out};
use super::{file_name, unit};
use crate::judge::{
    BaselineRun, Bounds, Extreme, Interval, JudgedClaim, StudiedEnergy, StudiedMetric,
    StudiedShares, Study, Verdict,
};
use crate::model::{Provenance, Series};

/// Number of closest and of farthest agreements that are listed.
const LISTED: usize = 3;

/// Colours of verdicts, for a page that shows some.
pub const VERDICT_STYLE: &str = "
.reproduced,.holds{color:#0a7a4f}.not-reproduced,.fails,.void{color:#c2410c}.unresolved{color:#8a6d00}
";

pub(super) fn page(
    study: &Study,
    series: &[Series],
    provenance: &Provenance,
    published: Option<&Published>,
    figures: &[(String, String)],
) -> String {
    let figure = |name: &str| {
        let found = figures.iter().find(|(known, _)| known == name);
        found.map(|(_, svg)| html! { figure { (PreEscaped(svg)) } })
    };
    let beside = published.map(|published| published.beside(study));
    let body = html! {
        h1 { (study.summary) }
        (what_was_compared(study))
        (scale(study))
        (headroom(study))
        (resolution(study))
        h2 { "Claims" }
        @if study.claims.is_empty() { p { "None were made." } }
        @else { (claims(study)) }
        @if let (below, gated @ 1..) = study.below_gates() { p { (below_gates(below, gated)) "." } }
        @if let Some(forest) = figure("claims.svg") {
            (forest)
            p.small { "Squares are medians, lines are 95 % confidence intervals, vertical marks are margins." }
        }
        h2 { "Results" }
        p { "Bars are medians over pairs with 95 % confidence intervals"
            @if published.is_some() { ", diamonds published values" } "." }
        @for metric in &study.metrics { (results(study, metric, figure(&file_name(&metric.name)))) }
        @if let (Some(published), Some(beside)) = (published, &beside) {
            (published_values(published, beside))
        }
        @if let Some(energy) = &study.energy { (energy_words(energy, figure("tornado.svg"))) }
        @for shares in &study.shares { (contributions(shares)) }
        @if let Some(slots) = figure("slots.svg") {
            h2 { "Issue-slot breakdown" }
            (slots)
            @if let Some(by_workload) = figure("slots_by_workload.svg") { (by_workload) }
        }
        (missing(study))
        (earlier_verdicts(study))
        (how_to_run_again(series, provenance))
    };
    html_page(&study.summary, VERDICT_STYLE, &body)
}

fn what_was_compared(study: &Study) -> Markup {
    html! {
        h2 { "What was compared" }
        p {
            (study.points.iter().filter(|point| !point.control).count()) " points and "
            (study.points.iter().filter(|point| point.control).count()) " controls on "
            (study.workloads.len()) " workloads, " (study.pairs) " pairs under neutral perturbations. "
            "Ratios are to " strong { (study.baseline) } ", per pair."
        }
        @for equal in &study.equal_pairs { p { strong.unresolved { "Warning" } ": " (equal) "." } }
        div.wide { table {
            tr { th { "workload" } th.text { "kernels" } th { "launches" } th { "work-groups" }
                 th { "work-groups per unit and launch" } th { "wavefront instructions" } th { "baseline cycles" } }
            @for work in &study.work { tr {
                td { (work.workload) } td.text { (work.kernels) } td { (work.launches) } td { (work.work_groups) }
                td { (optional(work.work_groups_per_unit)) @if work.has_a_long_end() { strong.unresolved { " few" } } }
                td { (work.wavefront_instructions) } td { (work.cycles) }
            } }
        } }
        p.small { "Workloads whose names end in -like are our own programs modelled on published ones. Numbers are from the first pair." }
        @if study.work.iter().any(BaselineRun::has_a_long_end) {
            p.small { strong { "few" } ": fewer than " (BaselineRun::WORK_GROUPS_PER_UNIT_MIN) " work-groups per unit in a launch. "
                "The tail of such a launch, when units run out of work, affects its cycle count." }
        }
    }
}

/// Returns the table of each axis's contribution: one row per workload, one column per axis and per
/// pair of axes.
fn contributions(shares: &StudiedShares) -> Markup {
    let cell = |value: &Interval| {
        html! { td { (format!("{:+.4}", value.median)) br; span.small { "[" (format!("{:+.4}", value.low)) ", " (format!("{:+.4}", value.high)) "]" } } }
    };
    html! { @if let Some(first) = shares.rows.first() {
        h2 { "What contributes to " (shares.metric) " of " (shares.variant) }
        div.wide { table {
            tr { th { "workload" } th { "all together" }
                @for (axis, _) in &first.shares { th { (axis) } }
                @for (a, b, _) in &first.interactions { th { (a) " × " (b) } } }
            @for row in &shares.rows { tr {
                td { (row.workload.as_deref().unwrap_or("mean")) }
                (cell(&row.whole))
                @for (_, value) in &row.shares { (cell(value)) }
                @for (_, _, value) in &row.interactions { (cell(value)) }
            } }
        } }
        p.small { "Means over pairs with 95 % confidence intervals. A share is a Shapley value: the effect of switching an axis, over all orders in which the axes may be "
            "switched; shares add up. An interaction (×) is the joint effect of two axes beyond their separate effects." }
    } }
}

fn scale(study: &Study) -> Markup {
    let rows = scale_rows(study);
    html! { @if !rows.is_empty() {
        h2 { "Scale" }
        div.wide { table {
            tr { th { "workload" } @for head in SCALE_HEADS { th { (head) } } }
            @for row in &rows { tr {
                td { (row.name) }
                @match &row.unknown {
                    Some(why) => { td.text colspan=(SCALE_HEADS.len()) { "not known: " (why) } }
                    None => { @for cell in &row.cells { td { (cell) } } }
                }
            } }
        } }
        p.small { (SCALE_WORDS) }
    } }
}

fn headroom(study: &Study) -> Markup {
    let known = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), number);
    let first = study.work.iter().find_map(|work| work.headroom.first());
    html! { @if let Some(first) = first {
        h2 { "Headroom" }
        div.wide { table {
            tr { th { "workload" } th.text { "machine" } th { "speed" } @for (name, _) in &first.shown { th { (name) } } }
            @for work in &study.work { @for row in &work.headroom { tr {
                td { (work.workload) } td.text { (row.machine) } td { (known(row.speed)) }
                @for (_, value) in &row.shown { td { (known(*value)) } }
            } } }
        } }
        p.small { (HEADROOM_WORDS) "." }
    } }
}

fn resolution(study: &Study) -> Markup {
    html! {
        h2 { "Resolution" }
        p { "Effect of neutral perturbations alone on the baseline: the half-width of the 95 % confidence interval of its own metric. Smaller margins do not count." }
        div.wide { table {
            tr { th { "metric" } th { "mean over workloads" } @for name in &study.workloads { th { (name) } } }
            @for metric in &study.metrics { tr {
                td { (metric.name) }
                td { (optional(metric.resolution)) }
                @for resolution in &metric.resolutions { td { (optional(*resolution)) } }
            } }
        } }
    }
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "undefined".to_owned(), number)
}

fn in_words(interval: Interval) -> String {
    format!(
        "{} [{}, {}]",
        number(interval.median),
        number(interval.low),
        number(interval.high)
    )
}

fn verdict(verdict: Verdict) -> Markup {
    html! { strong class=(verdict.name().replace(' ', "-")) { (verdict.name()) } }
}

fn claims(study: &Study) -> Markup {
    html! {
        div.wide { table {
            tr { th { "" } th.text { "claim" } th.text { "verdict" } th { "effect" } th { "margin" } th { "resolution" }
                 th.text { "control" } th.text { "on record" } }
            @for (number, claim) in study.claims.iter().enumerate() { (a_claim(number + 1, claim)) }
        } }
    }
}

fn a_claim(count: usize, claim: &JudgedClaim) -> Markup {
    html! { tr {
        td { (count) }
        td.text { (claim.name) br; code { (claim.claim) } }
        td.text { (verdict(claim.verdict)) @if !claim.because.is_empty() { br; span.small { (claim.because) } }
            @for gate in claim.gates.iter().filter(|gate| gate.is_met()) { br; span.small { "gate met: " (gate) } } }
        td { (claim.effect.map_or_else(String::new, in_words)) }
        td { (claim.margin.map_or_else(String::new, number)) }
        td { (claim.resolution.map_or_else(String::new, number)) }
        td.text { @if let Some((name, outcome, effect)) = &claim.control {
            (name) ": " (outcome.name()) @if let Some(effect) = effect { ", " (in_words(*effect)) }
            @if claim.control_is_far { strong.void { (FAR) } }
        } }
        td.text { @match &claim.expected {
            Some((expected, because)) => { (expected.name()) @if !because.is_empty() { ": " (because) } }
            None => { @if claim.is_identity { "identity" } @else { "nothing" } }
        } }
    } }
}

fn results(study: &Study, metric: &StudiedMetric, figure: Option<Markup>) -> Markup {
    html! {
        h3 { (metric.name) }
        p.small { code { (metric.expression) } ", "
            @if metric.is_ratio { "ratio to " (study.baseline) } @else { (unit(metric)) }
            @if !metric.groups.is_empty() { "; " (metric.mean) } }
        @if let Some(figure) = figure { (figure) }
        div.wide { table {
            tr { th { "" } th { "mean" } @for name in &study.workloads { th { (name) } } }
            @for (point, row) in study.points.iter().zip(&metric.rows) { tr {
                td { (point.name) @if point.control { span.small { " control" } } }
                @for interval in std::iter::once(&row.mean).chain(&row.workloads) {
                    @match interval {
                        Some(interval) => { td title=(in_words(*interval)) { (number(interval.median)) } }
                        None if !row.is_measured => { td { "—" } }
                        None => { td { "undefined" } }
                    }
                }
            } }
        } }
        @if !metric.groups.is_empty() { (groups(study, metric)) }
        @if !metric.undefined.is_empty() {
            p.small { "Undefined, and excluded from means, in " (metric.undefined.len()) " runs, such as " (metric.undefined[0]) "." }
        }
        @if let Some((run, problem)) = metric.problems.first() {
            p.small { "Could not be computed in " (metric.problems.len()) " runs, such as " (run) ": " (problem) "." }
        }
    }
}

/// Returns the table of mean, least and most of each group, with the places of the extremes.
fn groups(study: &Study, metric: &StudiedMetric) -> Markup {
    let cell = |extreme: &Option<Extreme>| {
        html! { @match extreme {
            Some(Extreme { value, place }) => {
                td title=(in_words(*value)) { (number(value.median)) br; span.small { (place) } }
            }
            None => { td { "undefined" } }
        } }
    };
    html! {
        div.wide { table {
            tr { th { "group" } th.text { "" } th { "mean" } th { "least" } th { "most" } }
            @for group in &metric.groups {
                @for (at, (point, row)) in study.points.iter().zip(&group.rows).enumerate() {
                    @if metric.rows[at].is_measured { tr {
                        td { (group.name) }
                        td.text { (point.name) @if point.control { span.small { " control" } } }
                        td { (row.mean.map_or_else(|| "undefined".to_owned(), in_words)) }
                        (cell(&row.least)) (cell(&row.most))
                    } }
                }
            }
        } }
        @if let Some(launches) = &metric.launches { p.small { (left_out(launches)) "." } }
    }
}

fn published_values(published: &Published, beside: &[Beside]) -> Markup {
    let farthest = beside.iter().rev().take(LISTED);
    html! {
        h2 { "Published values compared with ours" }
        p { (published.source) ". A value of ours is marked as different if the published one is outside its confidence interval and differs by half of the published effect." }
        div.wide { table {
            tr { th { "metric" } th.text { "point" } th.text { "workload" } th { "published" } th { "ours" } th { "difference" } th.text { "" } }
            @for row in beside { tr {
                td { (row.metric) } td.text { (row.point) } td.text { (row.workload) }
                td { (number(row.published)) } td { (in_words(row.ours)) } td { (format!("{:+.4}", row.difference)) }
                td.text { @match (row.differs, &row.explained) {
                    (false, None) => { "agrees" }
                    (false, Some(why)) => { "agrees: " (why) }
                    (true, Some(why)) => { "differs: " (why) }
                    (true, None) => { "differs, " strong.unresolved { "unexplained" } }
                } }
            } }
        } }
        p { "Closest: " @for row in beside.iter().take(LISTED) { (name_of(row)) " " } }
        p { "Farthest: " @for row in farthest { (name_of(row)) " " } }
    }
}

fn name_of(row: &Beside) -> String {
    let why = row.explained.as_deref().unwrap_or("unexplained");
    format!(
        "{}/{}/{} ({:+.4}: {why})",
        row.metric, row.point, row.workload, row.difference
    )
}

fn bounds(bounds: Bounds) -> Markup {
    html! {
        td { (number(bounds.nominal)) } td { (number(bounds.low)) } td { (number(bounds.high)) }
        td.text { (bounds.word()) }
    }
}

fn energy_words(energy: &StudiedEnergy, tornado: Option<Markup>) -> Markup {
    html! { @if !energy.rows.is_empty() {
        h2 { "Energy, uncalibrated" }
        p { "Energy and energy-delay product relative to the baseline: with the nominal coefficients, and the minimum and maximum over "
            "the ranges of all coefficients. Bounds of a workload are exact; those of a mean are means of the workloads' bounds, and thus outer bounds. "
            "If the sign depends on the coefficients, the result is unresolved." }
        div.wide { table {
            tr { th { "" } th.text { "workload" } th { "energy" } th { "least" } th { "most" } th.text { "" }
                 th { "EDP" } th { "least" } th { "most" } th.text { "" } }
            @for row in &energy.rows {
                tr { td { (row.point) } td.text { "mean" } (bounds(row.energy)) (bounds(row.edp)) }
                @for (workload, of_energy, of_edp) in &row.workloads {
                    tr { td { "" } td.text { (workload) } (bounds(*of_energy)) (bounds(*of_edp)) }
                }
            }
        } }
        @if let Some(tornado) = tornado {
            (tornado)
            p.small { "Each coefficient alone at the ends of its range, the others at their nominal values." }
        }
        @if let Some(fit) = &energy.fit {
            h3 { "Conditional on a share of " (number(fit.share * 100.0)) " % for " (fit.component) }
            p { "One factor, " (number(fit.factor)) ", applied to the coefficients of " code { (fit.component) } " changes its share of the baseline energy from "
                (number(fit.share_before * 100.0)) " % to " (number(fit.share * 100.0)) " % (" (fit.because) "). The following holds only under this condition." }
            div.wide { table {
                tr { th { "" } th { "energy" } th { "EDP" } th { "change of energy" } th { "part due to the share of this component alone" } }
                @for (row, (of_energy, edp, follows)) in energy.rows.iter().zip(&fit.rows) { tr {
                    td { (row.point) } td { (number(*of_energy)) } td { (number(*edp)) }
                    td { (format!("{:+.4}", of_energy - 1.0)) } td { (format!("{follows:+.4}")) }
                } }
            } }
        }
        h3 { "Event counts, independent of coefficients" }
        p.small { "Counts relative to the baseline, mean over workloads." }
        div.wide { table {
            tr { th { "event" } @for row in &energy.rows { th { (row.point) } } }
            @for (event, ratios) in &energy.events { tr {
                td { (event) } @for ratio in ratios { td { (ratio.map_or_else(String::new, number)) } }
            } }
        } }
    } }
}

fn missing(study: &Study) -> Markup {
    html! { @if !study.failed.is_empty() {
        h2 { "Runs without a result" }
        p { (study.failed.len()) " runs failed and are excluded." }
        div.wide { table {
            tr { th { "run" } th.text { "why" } }
            @for (run, why) in study.failed.iter().take(50) { tr { td { (run) } td.text { (why) } } }
        } }
    } }
}

fn earlier_verdicts(study: &Study) -> Markup {
    html! { @if !study.earlier.is_empty() {
        h2 { "Verdicts of earlier series" }
        div.wide { table {
            tr { th { "series" } th.text { "claim" } th.text { "verdict" } th { "effect" } th { "margin" } }
            @for (series, claims) in &study.earlier { @for claim in claims { tr {
                td { (series) } td.text { (claim.name) } td.text { (claim.verdict) }
                td { (claim.median.map_or_else(String::new, number)) }
                td { (claim.margin.map_or_else(String::new, number)) }
            } } }
        } }
    } }
}

fn how_to_run_again(series: &[Series], provenance: &Provenance) -> Markup {
    html! {
        h2 { "Series" }
        p { (series.len()) " in all. The results are those of the last one; a change of machine, inputs, claims or margins opens another." }
        div.wide { table {
            tr { th { "number" } th.text { "opened (UTC)" } th.text { "note" } th.text { "hash" } }
            @for one in series { tr {
                td { (one.number) } td.text { (one.opened) } td.text { (one.note) } td.text { code { (one.hash) } }
            } }
        } }
        h2 { "How to reproduce" }
        table { @for (name, value) in provenance { tr { td { (name) } td.text { code { (value) } } } } }
    }
}
