//! Pages that show a running simulation or experiment.

use maud::{Markup, PreEscaped, html};
use warpweave_experiments::model::ClaimRow;
use warpweave_experiments::report::{VERDICT_STYLE, bars_of};
use warpweave_framework::Reason;
use warpweave_systems::report::html_page;

use super::runs::RunState;
use super::simulation::Look;
use crate::progress::duration;

/// Returns the page of a simulation, or of what precedes it.
pub(crate) fn simulation_page(name: &str, look: Option<&Look>) -> String {
    let content = match look {
        None => html! { p { "The program is being emulated, or the system built." } },
        Some(look) => simulation(look),
    };
    page(name, &content)
}

fn simulation(look: &Look) -> Markup {
    let progress = look.progress;
    let rate = |count: u64| format!("{:.0}", count as f64 / look.seconds.max(1e-9));
    let slots: u64 = look.slots.iter().map(|(_, count)| count).sum();
    let share = |count: u64| 100.0 * count as f64 / slots.max(1) as f64;
    let bars: Vec<_> = look
        .slots
        .iter()
        .map(|(name, count)| (name.clone(), Some(share(*count))))
        .collect();
    html! {
        table {
            tr { td { "kernels completed" } td { (progress.kernels_done) " of " (progress.kernels) } }
            @if let Some((done, all)) = look.work_groups {
                tr { td { "work-groups completed" } td { (done) " of " (all) } }
            }
            tr { td { "core cycle" } td { (progress.cycle) } }
            tr { td { "wavefront instructions" } td { (look.wavefront_instructions) } }
            tr { td { "time so far" } td { (duration(look.seconds)) } }
            @if let Some((done @ 1.., all)) = look.work_groups {
                tr { td { "time left, if work-groups go on like this" }
                     td { (duration(look.seconds * all.saturating_sub(done) as f64 / done as f64)) } }
            }
            tr { td { "cycles per second" } td { (rate(progress.cycle)) } }
            tr { td { "wavefront instructions per second" } td { (rate(look.wavefront_instructions)) } }
        }
        @if slots > 0 {
            h2 { "Where wavefronts wait" }
            p { "Issue slots of all units so far, by outcome." }
            figure { (PreEscaped(bars_of("Issue slots", "issue slots, %", &bars))) }
        }
        h2 { "Where components wait" }
        div.wide { table {
            tr { th { "components" } @for reason in Reason::ALL { th { (reason.name()) ", %" } } }
            @for (kind, cycles) in &look.activity { tr {
                td { (kind) }
                @for count in cycles { td { (percent(*count, cycles.iter().sum())) } }
            } }
        } }
        p.small { "Of the cycles of all components of a kind. Credit is room in the queue behind." }
        @if !look.busiest.is_empty() {
            h2 { "Busiest resources" }
            table {
                tr { th { "resource" } th { "busy, % of cycles" } }
                @for (name, part) in &look.busiest { tr { td { (name) } td { (format!("{:.1}", 100.0 * part)) } } }
            }
        }
    }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}", 100.0 * part as f64 / whole.max(1) as f64)
}

/// Returns the page of an experiment. `verdicts` are those on the given number of runs.
pub(crate) fn experiment_page(
    name: &str,
    state: &RunState,
    verdicts: Option<&(usize, Vec<ClaimRow>)>,
) -> String {
    let done = state.ended - state.failed;
    let bars = [
        ("completed", done),
        ("failed", state.failed),
        ("left", state.all - state.ended.min(state.all)),
    ];
    let bars = bars.map(|(name, count)| (name.to_owned(), Some(count as f64)));
    let content = html! {
        table {
            tr { td { "runs completed" } td { (done) " of " (state.all) } }
            tr { td { "failed" } td { (state.failed) } }
            tr { td { "time so far" } td { (duration(state.seconds)) } }
            tr { td { "time left" } td { (state.seconds_left().map_or_else(|| "not known yet".to_owned(), duration)) } }
            tr { td { "workers" } td { (state.running.len()) " of " (state.workers) " busy" } }
        }
        figure { (PreEscaped(bars_of("Runs", "runs, number", &bars))) }
        h2 { "In progress" }
        ul { @for name in state.running.values() { li { code { (name) } } } }
        @if !state.failures.is_empty() {
            h2 { "Failed" }
            ul { @for failure in &state.failures { li { (failure) } } }
        }
        h2 { "Verdicts so far" }
        @match verdicts {
            Some((runs, claims)) if !claims.is_empty() => {
                p { "On " (runs) " runs that have ended. They may change until the last one has." }
                (verdict_table(claims))
            }
            Some(_) => { p { "The experiment makes no claims." } }
            None => { p { "None yet." } }
        }
    };
    page(name, &content)
}

fn verdict_table(claims: &[ClaimRow]) -> Markup {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
    html! { div.wide { table {
        tr { th.text { "claim" } th.text { "verdict" } th { "effect" } th { "95 % interval" } th { "margin" } }
        @for claim in claims { tr {
            td.text { (claim.name) }
            td.text { strong class=(claim.verdict.replace(' ', "-")) { (claim.verdict) } }
            td { (number(claim.median)) }
            td { @if claim.low.is_some() { "[" (number(claim.low)) ", " (number(claim.high)) "]" } }
            td { (number(claim.margin)) }
        } }
    } } }
}

fn page(name: &str, content: &Markup) -> String {
    let body = html! {
        h1 { (name) }
        (content)
        p.small { "This page is loaded again every few seconds, and is gone when the run ends." }
    };
    html_page(name, VERDICT_STYLE, &body)
}
