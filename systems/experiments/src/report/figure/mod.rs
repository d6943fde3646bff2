//! Figures as SVG: bars with intervals, intervals of claims, stacked issue slots.

mod canvas;
#[cfg(test)]
mod tests;

use self::canvas::{Anchor, Canvas, LETTERS, colour, width_of};
use crate::judge::Interval;

/// Space between parts of a figure, in SVG units.
const GAP: f64 = 12.0;
/// Height of the plot area, in SVG units.
const PLOT: f64 = 260.0;
/// Rotation of the names below an axis, in degrees.
const TURNED: f64 = -35.0;
/// Maximum number of letters in a name.
const NAME_MAX: usize = 28;

/// Grouped bar chart with intervals and published values.
pub(crate) struct Bars<'a> {
    pub(crate) title: &'a str,
    /// Name of the value axis, with the unit.
    pub(crate) axis: String,
    /// Base value of the bars: 1 for ratios, else 0.
    pub(crate) base: f64,
    pub(crate) groups: Vec<String>,
    pub(crate) series: Vec<Series>,
}

/// Series of bars, one bar in every group.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) values: Vec<Option<Interval>>,
    /// Published values drawn next to the bars.
    pub(crate) published: Vec<Option<f64>>,
}

impl Bars<'_> {
    pub(crate) fn svg(&self) -> String {
        self.draw().svg(self.title)
    }

    fn draw(&self) -> Canvas {
        let bar =
            (720.0 / (self.groups.len() * (self.series.len() + 1)).max(1) as f64).clamp(4.0, 36.0);
        let group = (bar * (self.series.len() + 1) as f64).max(1.6 * LETTERS);
        let names: Vec<String> = self.groups.iter().map(|name| short(name)).collect();
        let (down, left_over) = turned_extent(&names);
        let scale = Scale::of(self.base, self.all_values());
        let ticks = scale.ticks();
        let labels: Vec<String> = ticks.iter().map(|tick| scale.label(*tick)).collect();
        let labels_width = labels
            .iter()
            .map(|label| width_of(label))
            .fold(0.0, f64::max);
        let left = (2.0 * LETTERS + labels_width + 2.0 * GAP).max(left_over);
        let wide = left + group * self.groups.len() as f64 + GAP;
        let (legend, legend_height) = self.legend(wide);
        let legend_width = legend
            .iter()
            .map(|(x, _, name)| x + width_of(name))
            .fold(0.0, f64::max);
        let width = wide
            .max(legend_width + GAP)
            .max(width_of(&self.axis) + 2.0 * GAP);
        let top = legend_height + GAP;
        let bottom = top + PLOT;
        let height = (bottom + down + 2.0 * GAP).max(width_of(&self.axis) + 2.0 * GAP);
        let mut canvas = Canvas::new(width, height);
        for (at, (x, y, name)) in legend.iter().enumerate() {
            canvas.rectangle((*x - 16.0, y - 9.0), (10.0, 10.0), colour(at), name);
            canvas.text((*x, *y), name, Anchor::Start, 0.0);
        }
        let y_of = |value: f64| bottom - scale.part(value) * PLOT;
        let right = left + group * self.groups.len() as f64;
        for (tick, label) in ticks.iter().zip(&labels) {
            let y = y_of(*tick);
            canvas.line((left, y), (right, y), "grid");
            canvas.text((left - 6.0, y + 4.0), label, Anchor::End, 0.0);
        }
        let middle = f64::midpoint(top, bottom).max(width_of(&self.axis) / 2.0 + 2.0);
        canvas.axis_name((LETTERS + 2.0, middle), &self.axis, -90.0);
        for (at, name) in names.iter().enumerate() {
            let start = left + group * at as f64;
            let centre = start + group / 2.0;
            canvas.text(
                (centre + 4.0, bottom + 1.2 * LETTERS),
                name,
                Anchor::End,
                TURNED,
            );
            for (series, of) in self.series.iter().enumerate() {
                let x = start + bar * (series as f64 + 0.5);
                let what = format!("{}, {}", self.groups[at], of.name);
                if let Some(Some(interval)) = of.values.get(at) {
                    let (from, to) = (y_of(self.base), y_of(interval.median));
                    let title = format!(
                        "{what}: {:.4} [{:.4}, {:.4}]",
                        interval.median, interval.low, interval.high
                    );
                    let size = (bar * 0.9, (from - to).abs().max(0.7));
                    canvas.rectangle((x, from.min(to)), size, colour(series), &title);
                    let centre = x + bar * 0.45;
                    canvas.line(
                        (centre, y_of(interval.low)),
                        (centre, y_of(interval.high)),
                        "error",
                    );
                }
                if let Some(Some(published)) = of.published.get(at) {
                    let title = format!("{what}, published: {published}");
                    canvas.diamond((x + bar * 0.45, y_of(*published)), &title);
                }
            }
        }
        canvas.line((left, y_of(self.base)), (right, y_of(self.base)), "axis");
        canvas.line((left, top), (left, bottom), "axis");
        canvas
    }

    fn all_values(&self) -> impl Iterator<Item = f64> {
        self.series.iter().flat_map(|series| {
            let values = series.values.iter().flatten();
            let values = values.flat_map(|interval| [interval.low, interval.median, interval.high]);
            values.chain(series.published.iter().flatten().copied())
        })
    }

    /// Returns the series names in rows no wider than the figure, and the height of the rows.
    fn legend(&self, width: f64) -> (Vec<(f64, f64, String)>, f64) {
        let (mut x, mut y) = (GAP + 16.0, LETTERS + 2.0);
        let mut names = Vec::new();
        for series in &self.series {
            let name = short(&series.name);
            let needs = width_of(&name) + 16.0 + GAP;
            if x > GAP + 16.0 && x + needs > width {
                (x, y) = (GAP + 16.0, y + 1.5 * LETTERS);
            }
            names.push((x, y, name));
            x += needs;
        }
        (names, y + 4.0)
    }
}

/// Forest plot: effects with their intervals and margins, one row each.
pub(crate) struct ForestPlot<'a> {
    pub(crate) title: &'a str,
    pub(crate) axis: String,
    pub(crate) rows: Vec<(String, Interval, Option<f64>)>,
}

impl ForestPlot<'_> {
    pub(crate) fn svg(&self) -> String {
        self.draw().svg(self.title)
    }

    fn draw(&self) -> Canvas {
        let row = 2.0 * LETTERS;
        let names = self.rows.iter().map(|(name, ..)| short(name));
        let names: Vec<String> = names.collect();
        let plot = 520.0;
        let values = self.rows.iter().flat_map(|(_, interval, margin)| {
            [Some(interval.low), Some(interval.high), *margin]
                .into_iter()
                .flatten()
        });
        let scale = Scale::of(0.0, values);
        let labels = scale.ticks().into_iter().map(|tick| scale.label(tick));
        let widest = labels.map(|label| width_of(&label)).fold(0.0, f64::max);
        let names_width = names.iter().map(|name| width_of(name)).fold(0.0, f64::max);
        let left = (names_width + 2.0 * GAP).max(widest / 2.0 + GAP);
        let top = GAP;
        let bottom = top + row * self.rows.len() as f64;
        let right = left + plot;
        let width = (right + widest / 2.0 + GAP).max(width_of(&self.axis) + left);
        let mut canvas = Canvas::new(width, bottom + 4.0 * LETTERS);
        let x_of = |value: f64| left + scale.part(value) * plot;
        for tick in scale.ticks() {
            canvas.line((x_of(tick), top), (x_of(tick), bottom), "grid");
            let at = (x_of(tick), bottom + 1.3 * LETTERS);
            canvas.text(at, &scale.label(tick), Anchor::Middle, 0.0);
        }
        canvas.line((x_of(0.0), top), (x_of(0.0), bottom), "axis");
        let at = (left + plot / 2.0, bottom + 2.9 * LETTERS);
        canvas.axis_name(at, &self.axis, 0.0);
        for (number, ((full, interval, margin), name)) in self.rows.iter().zip(&names).enumerate() {
            let y = top + row * (number as f64 + 0.5);
            canvas.text((left - GAP, y + 4.0), name, Anchor::End, 0.0);
            canvas.line((x_of(interval.low), y), (x_of(interval.high), y), "error");
            let title = format!(
                "{full}: {:+.4} [{:+.4}, {:+.4}]",
                interval.median, interval.low, interval.high
            );
            canvas.rectangle(
                (x_of(interval.median) - 3.0, y - 3.0),
                (6.0, 6.0),
                colour(0),
                &title,
            );
            if let Some(margin) = margin {
                canvas.line((x_of(*margin), y - 7.0), (x_of(*margin), y + 7.0), "margin");
            }
        }
        canvas
    }
}

/// Stacked bars: parts of a whole, one row each.
pub(crate) struct Stacks<'a> {
    pub(crate) title: &'a str,
    pub(crate) axis: String,
    pub(crate) parts: Vec<String>,
    /// Name of each row, and the share of each part.
    pub(crate) rows: Vec<(String, Vec<f64>)>,
}

impl Stacks<'_> {
    pub(crate) fn svg(&self) -> String {
        self.draw().svg(self.title)
    }

    fn draw(&self) -> Canvas {
        let row = 2.0 * LETTERS;
        let names: Vec<String> = self.rows.iter().map(|(name, _)| short(name)).collect();
        let left = names.iter().map(|name| width_of(name)).fold(0.0, f64::max) + 2.0 * GAP;
        let plot = 620.0;
        let right = left + plot;
        let legend = Bars {
            title: "",
            axis: String::new(),
            base: 0.0,
            groups: Vec::new(),
            series: self
                .parts
                .iter()
                .map(|name| Series {
                    name: name.clone(),
                    values: Vec::new(),
                    published: Vec::new(),
                })
                .collect(),
        };
        let width = right + 3.0 * GAP;
        let (legend, legend_height) = legend.legend(width);
        let top = legend_height + GAP;
        let bottom = top + row * self.rows.len() as f64;
        let mut canvas = Canvas::new(width, bottom + 4.0 * LETTERS);
        for (at, (x, y, name)) in legend.iter().enumerate() {
            canvas.rectangle((*x - 16.0, y - 9.0), (10.0, 10.0), colour(at), name);
            canvas.text((*x, *y), name, Anchor::Start, 0.0);
        }
        for (number, ((full, shares), name)) in self.rows.iter().zip(&names).enumerate() {
            let y = top + row * number as f64;
            canvas.text((left - GAP, y + 1.3 * LETTERS), name, Anchor::End, 0.0);
            let mut x = left;
            for (part, share) in shares.iter().enumerate() {
                let title = format!("{full}, {}: {:.1} %", self.parts[part], share * 100.0);
                canvas.rectangle(
                    (x, y + 3.0),
                    (share * plot, row - 6.0),
                    colour(part),
                    &title,
                );
                x += share * plot;
            }
        }
        for percent in [0, 25, 50, 75, 100] {
            let x = left + plot * f64::from(percent) / 100.0;
            let at = (x, bottom + 1.3 * LETTERS);
            canvas.text(at, &percent.to_string(), Anchor::Middle, 0.0);
        }
        let at = (left + plot / 2.0, bottom + 2.9 * LETTERS);
        canvas.axis_name(at, &self.axis, 0.0);
        canvas
    }
}

/// Shortens a name to fit a figure.
fn short(name: &str) -> String {
    if name.chars().count() <= NAME_MAX {
        return name.to_owned();
    }
    let kept: String = name.chars().take(NAME_MAX - 1).collect();
    format!("{kept}…")
}

/// Returns the extent of rotated names: downwards, and the first one to the left.
fn turned_extent(names: &[String]) -> (f64, f64) {
    let longest = names.iter().map(|name| width_of(name)).fold(0.0, f64::max);
    let (sin, cos) = TURNED.to_radians().sin_cos();
    let first = names.first().map_or(0.0, |name| width_of(name));
    (longest * -sin + 2.0 * LETTERS, first * cos + GAP)
}

/// Linear axis of values with ticks.
struct Scale {
    low: f64,
    high: f64,
    step: f64,
}

impl Scale {
    /// Creates a scale with round ticks that contains the base and all values.
    fn of(base: f64, values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((base, base), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let span = if high > low {
            high - low
        } else {
            low.abs().max(1.0)
        };
        let rough = span / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0];
        let step = steps
            .into_iter()
            .find(|step| step * power >= rough)
            .unwrap_or(10.0)
            * power;
        let high = if high > low { high } else { low + span };
        Self {
            low: (low / step).floor() * step,
            high: (high / step).ceil() * step,
            step,
        }
    }

    /// Returns the position of a value between the ends, 0 to 1.
    fn part(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> Vec<f64> {
        let count = ((self.high - self.low) / self.step).round() as usize;
        (0..=count)
            .map(|tick| self.low + self.step * tick as f64)
            .collect()
    }

    fn label(&self, value: f64) -> String {
        let digits = (-self.step.log10().floor()).max(0.0) as usize;
        if value.abs() >= 1e7 || (self.step < 1e-6 && value != 0.0) {
            return format!("{value:.2e}");
        }
        // No sign before zero.
        format!(
            "{:.digits$}",
            if value.abs() < self.step / 2.0 {
                0.0
            } else {
                value
            }
        )
    }
}
