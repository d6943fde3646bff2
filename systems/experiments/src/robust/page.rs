//! HTML page of a robustness study.

use maud::{Markup, PreEscaped, html};
use warpweave_systems::report::html_page;

use super::survey::{Influence, Survey, SurveyedFinding};
use super::words::{
    counted, counterexample, differences, in_words, repetitions, survival, without_verdicts,
};
use crate::judge::Interval;
use crate::report::{ForestPlot, VERDICT_STYLE};

pub(super) fn figure(survey: &Survey) -> String {
    let rows = survey
        .findings
        .iter()
        .enumerate()
        .filter_map(|(at, finding)| {
            Some((format!("finding {}", at + 1), finding.share?, None::<f64>))
        });
    let figure = ForestPlot {
        title: "Survival of the findings",
        axis: "machines on which a finding keeps its verdict, in parts of all".to_owned(),
        rows: rows.collect(),
    };
    figure.svg()
}

pub(super) fn page(survey: &Survey, figure: &str, command: &str) -> String {
    let body = html! {
        h1 { (survey.summary) }
        p { (repetitions(survey)) "." }
        p { (counted(survey)) "." }
        h2 { "Survival" }
        figure { (PreEscaped(figure)) }
        p.small { "Squares are shares of the judged machines, lines are 95 % confidence intervals." }
        (findings(survey))
        (identities(survey))
        h2 { "Parameters that decide" }
        p.small { "Survival above the middle of a parameter's range less survival below it. The intervals of a finding are simultaneous over all parameters; "
            "there is no correction over findings." }
        @for (at, finding) in survey.findings.iter().enumerate() { (parameters(at + 1, finding)) }
        (machines(survey))
        h2 { "How to run it again" }
        p { code { (command) } }
    };
    html_page(&survey.summary, VERDICT_STYLE, &body)
}

fn findings(survey: &Survey) -> Markup {
    html! { div.wide { table {
        tr { th { "" } th.text { "finding" } th.text { "stated machine" } th.text { "survival" } th.text { "nearest counterexample" } }
        @for (at, finding) in survey.findings.iter().enumerate() { tr {
            td { (at + 1) }
            td.text { (finding.name) }
            td.text { (in_words(finding.stated)) }
            td.text { (survival(finding)) }
            td.text { @if let Some(nearest) = finding.nearest() {
                (counterexample(nearest)) br; span.small { (differences(survey, nearest.machine)) }
            } @else { "none" } }
        } }
    } } }
}

fn identities(survey: &Survey) -> Markup {
    let failing = survey
        .identities
        .iter()
        .filter(|(_, failing)| !failing.is_empty());
    html! { @for (name, failing) in failing {
        p { strong.fails { "fails" } ": the identity “" (name) "”, on machines " (format!("{failing:?}")) }
    } }
}

fn parameters(number: usize, finding: &SurveyedFinding) -> Markup {
    let share = |one: &Influence| {
        let difference = one.difference;
        difference.map_or_else(
            || "—".to_owned(),
            |Interval { low, median, high }| format!("{median:+.2} [{low:+.2}, {high:+.2}]"),
        )
    };
    html! {
        h3 { (number) ". " (finding.name) }
        div.wide { table {
            tr { th { "parameter" } th { "below" } th { "above" } th { "difference" } th.text { "" } }
            @for one in &finding.parameters { tr {
                td { (one.path) }
                td { (one.below.with) " of " (one.below.of) }
                td { (one.above.with) " of " (one.above.of) }
                td { (share(one)) }
                td.text { @if one.decides { strong { "decides" } } }
            } }
        } }
    }
}

fn machines(survey: &Survey) -> Markup {
    html! {
        h2 { "Machines" }
        div.wide { table {
            tr { th { "parameter" } th.text { "range" } th.text { "stated" } }
            @for parameter in &survey.parameters { tr {
                td { (parameter.path) } td.text { (parameter.range) } td.text { (parameter.stated) }
            } }
        } }
        @for (machine, why) in without_verdicts(survey) { p.small { "Machine " (machine.number) ", " (why) } }
    }
}
