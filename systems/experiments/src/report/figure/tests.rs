use proptest::prelude::*;

use super::*;

fn interval(median: f64) -> Interval {
    Interval {
        low: median - 0.02,
        median,
        high: median + 0.03,
    }
}

fn bars(groups: usize, series: usize, letters: usize, size: f64) -> Bars<'static> {
    Bars {
        title: "a figure",
        axis: "IPC, ratio to the baseline".to_owned(),
        base: 1.0,
        groups: (0..groups)
            .map(|g| format!("{g}{}", "m".repeat(letters)))
            .collect(),
        series: (0..series)
            .map(|s| Series {
                name: format!("{s}{}", "W".repeat(letters)),
                values: (0..groups)
                    .map(|g| (g % 5 != 4).then(|| interval(size * (1.0 + (g * s) as f64 * 0.1))))
                    .collect(),
                published: (0..groups)
                    .map(|g| (g % 3 == 0).then_some(1.3 * size))
                    .collect(),
            })
            .collect(),
    }
}

proptest! {
    #[test]
    fn no_text_of_a_figure_lies_over_another_or_sticks_out(
        groups in 1_usize..14, series in 1_usize..9, letters in 0_usize..40, power in -8_i32..9,
    ) {
        let size = 10_f64.powi(power);
        let none = Vec::<String>::new();
        prop_assert_eq!(bars(groups, series, letters, size).draw().clashes(), none.clone());
        let forest = ForestPlot {
            title: "claims",
            axis: "effect, in parts of the baseline".to_owned(),
            rows: (0..groups).map(|g| ("x".repeat(letters), interval(size * g as f64), Some(size))).collect(),
        };
        prop_assert_eq!(forest.draw().clashes(), none.clone());
        let stacks = Stacks {
            title: "slots",
            axis: "issue slots, %".to_owned(),
            parts: (0..series).map(|s| format!("{s}{}", "p".repeat(letters))).collect(),
            rows: (0..groups).map(|g| (format!("{g}"), vec![1.0 / series as f64; series])).collect(),
        };
        prop_assert_eq!(stacks.draw().clashes(), none);
    }
}

#[test]
fn texts_that_lie_over_each_other_are_found() {
    let mut canvas = Canvas::new(100.0, 40.0);
    canvas.text((10.0, 20.0), "one", Anchor::Start, 0.0);
    canvas.text((20.0, 22.0), "two", Anchor::Start, -35.0);
    canvas.text((90.0, 20.0), "three", Anchor::Start, 0.0);
    assert_eq!(
        canvas.clashes(),
        ["`one` overlaps `two`", "`three` is outside the figure"]
    );
}

#[test]
fn a_figure_is_well_formed_and_quotes_names() {
    let mut bars = bars(2, 2, 3, 1.0);
    bars.groups[0] = "<b> & \"c\"".to_owned();
    let svg = bars.svg();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
    assert!(svg.contains("&lt;b&gt; &amp; &quot;c&quot;"));
    assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
}

#[test]
fn ticks_are_round_and_hold_every_value() {
    let scale = Scale::of(1.0, [0.93, 1.67].into_iter());
    let labels: Vec<String> = scale
        .ticks()
        .into_iter()
        .map(|tick| scale.label(tick))
        .collect();
    assert_eq!(labels, ["0.8", "1.0", "1.2", "1.4", "1.6", "1.8"]);
    let flat = Scale::of(0.0, std::iter::empty());
    assert!(flat.ticks().len() >= 2);
}
