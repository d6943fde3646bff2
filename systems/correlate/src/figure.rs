//! Figures of the page: scatter of a quantity, bars of ratios, roofline.

use maud::{Markup, html};

/// Point of a scatter: name, theirs, ours.
pub(crate) type Point<'a> = (&'a str, f64, f64);

/// Side of a scatter's square, in SVG units.
const SIDE: f64 = 320.0;
/// Space for the labels of the axes.
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 46.0;
const TOP: f64 = 8.0;
/// Errors whose lines are drawn next to the diagonal.
const LIMITS: [f64; 2] = [0.1, 0.2];
/// Height of a bar with its space, and length of the bars' axis.
const ROW: f64 = 16.0;
const AXIS: f64 = 260.0;
/// Space for the names of kernels.
const NAMES: f64 = 190.0;
/// Largest ratio that a bar can show, and the inverse of the smallest.
const RATIO_MAX: f64 = 4.0;

/// Logarithmic axis along one side of a square.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Returns the axis that shows all positive values with some space around them.
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let is_wide = low.is_finite() && low > 0.0 && high.is_finite();
        is_wide.then(|| Self {
            low: (low / 1.6).log10(),
            high: (high * 1.6).log10(),
        })
    }

    fn ends(&self) -> (f64, f64) {
        (10_f64.powf(self.low), 10_f64.powf(self.high))
    }

    fn part(&self, value: f64) -> f64 {
        (value.log10() - self.low) / (self.high - self.low)
    }

    /// Returns round values on the axis: powers of ten, with 2 and 5 times of them on short axes.
    fn ticks(&self) -> Vec<f64> {
        let steps: &[f64] = if self.high - self.low < 2.5 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let all =
            decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
        all.filter(|tick| (0.0..=1.0).contains(&self.part(*tick)))
            .collect()
    }
}

fn label(tick: f64) -> String {
    match tick {
        1e9.. => format!("{}G", tick / 1e9),
        1e6.. => format!("{}M", tick / 1e6),
        1e3.. => format!("{}k", tick / 1e3),
        _ => format!("{tick}"),
    }
}

/// Draws ours against theirs on logarithmic axes, with lines at equality, 10 % and 20 %. Points
/// without a logarithm are left out; without any other there is no figure.
pub(crate) fn scatter(title: &str, unit: &str, points: &[Point<'_>]) -> Option<Markup> {
    let points: Vec<&Point<'_>> = points
        .iter()
        .filter(|(_, theirs, ours)| *theirs > 0.0 && *ours > 0.0)
        .collect();
    let axis = Axis::of(points.iter().flat_map(|(_, theirs, ours)| [*theirs, *ours]))?;
    let plot = Plot { x: &axis, y: &axis };
    let (low, high) = axis.ends();
    let line = |factor: f64, class: &str| {
        // The line ends where it meets the square.
        let (from, to) = ((low / factor).max(low), (high / factor).min(high));
        plot.line(class, (from, from * factor), (to, to * factor))
    };
    let marks = html! {
        (line(1.0, "equal"))
        @for limit in LIMITS {
            (line(1.0 + limit, "limit"))
            (line(1.0 - limit, "limit"))
        }
        @for (name, theirs, ours) in points {
            @let words = format!("{name}: {} ours, {} in the profile", value(*ours), value(*theirs));
            (plot.point("ours", (*theirs, *ours), &words))
        }
    };
    let names = [format!("profile, {unit}"), format!("ours, {unit}")];
    Some(plot.draw(&format!("{title}: ours against the profile"), names, marks))
}

/// Rates of a kernel: name, thread instructions per byte of memory, and per cycle.
pub(crate) type Rate<'a> = (&'a str, f64, f64);

/// Ceilings of a machine: thread instructions per cycle by issue, bytes per cycle by memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ceilings {
    pub(crate) issue: f64,
    pub(crate) memory: f64,
}

/// Draws the rates of kernels below the ceilings of the machine, ours filled and theirs open.
pub(crate) fn roofline(
    ceilings: Option<Ceilings>,
    ours: &[Rate<'_>],
    theirs: &[Rate<'_>],
) -> Option<Markup> {
    let known = |rates: &[Rate<'_>]| -> Vec<(String, (f64, f64))> {
        let rates = rates.iter().filter(|(_, x, y)| *x > 0.0 && *y > 0.0);
        rates
            .map(|(name, x, y)| ((*name).to_owned(), (*x, *y)))
            .collect()
    };
    let (ours, theirs) = (known(ours), known(theirs));
    let both = || ours.iter().chain(&theirs).map(|(_, place)| *place);
    let ridge = ceilings.filter(|of| of.issue > 0.0 && of.memory > 0.0);
    let ridge = ridge.map(|of| (of.issue / of.memory, of.issue));
    both().next()?;
    let x = Axis::of(both().chain(ridge).map(|(x, _)| x))?;
    let y = Axis::of(both().chain(ridge).map(|(_, y)| y))?;
    let plot = Plot { x: &x, y: &y };
    let ends = x.ends();
    let low = y.ends().0;
    let marks = html! {
        @if let Some((corner, issue)) = ridge {
            @let memory = issue / corner;
            @let from = ends.0.max(low / memory);
            (plot.line("equal", (from, from * memory), (corner, issue)))
            (plot.line("equal", (corner, issue), (ends.1, issue)))
        }
        @for (class, rates) in [("ours", &ours), ("theirs", &theirs)] {
            @for (name, place) in rates {
                @let words = format!("{name}, {class}: {:.3} per cycle at {:.3} per byte", place.1, place.0);
                (plot.point(class, *place, &words))
            }
        }
    };
    let names = [
        "thread instructions per byte of memory",
        "thread instructions per cycle",
    ];
    Some(plot.draw("roofline", names.map(str::to_owned), marks))
}

/// Square with a logarithmic axis along two of its sides.
struct Plot<'a> {
    x: &'a Axis,
    y: &'a Axis,
}

impl Plot<'_> {
    fn place(&self, (x, y): (f64, f64)) -> (String, String) {
        let across = LEFT + SIDE * self.x.part(x);
        let down = TOP + SIDE * (1.0 - self.y.part(y));
        (number(across), number(down))
    }

    fn line(&self, class: &str, from: (f64, f64), to: (f64, f64)) -> Markup {
        let ((x1, y1), (x2, y2)) = (self.place(from), self.place(to));
        html! { line class=(class) x1=(x1) y1=(y1) x2=(x2) y2=(y2) {} }
    }

    fn point(&self, class: &str, at: (f64, f64), words: &str) -> Markup {
        let (x, y) = self.place(at);
        html! { circle class=(class) cx=(x) cy=(y) r="3.5" { title { (words) } } }
    }

    /// Draws the square with its grid, the names of its axes, and marks in it.
    fn draw(&self, title: &str, [across, up]: [String; 2], marks: Markup) -> Markup {
        let n = number;
        let (width, height) = (LEFT + SIDE + 12.0, TOP + SIDE + BOTTOM);
        let (bottom, right) = (TOP + SIDE, LEFT + SIDE);
        let (x_ends, y_ends) = (self.x.ends(), self.y.ends());
        html! {
            svg role="img" width=(n(width)) height=(n(height)) viewBox=(format!("0 0 {width:.1} {height:.1}")) {
                title { (title) }
                rect class="frame" x=(n(LEFT)) y=(n(TOP)) width=(n(SIDE)) height=(n(SIDE)) {}
                @for tick in self.x.ticks() {
                    (self.line("grid", (tick, y_ends.0), (tick, y_ends.1)))
                    text x=(self.place((tick, y_ends.0)).0) y=(n(bottom + 16.0)) text-anchor="middle" { (label(tick)) }
                }
                @for tick in self.y.ticks() {
                    (self.line("grid", (x_ends.0, tick), (x_ends.1, tick)))
                    text x=(n(LEFT - 6.0)) y=(self.place((x_ends.0, tick)).1) dy="4" text-anchor="end" { (label(tick)) }
                }
                (marks)
                text x=(n(f64::midpoint(LEFT, right))) y=(n(bottom + 36.0)) text-anchor="middle" { (across) }
                text x="14" y=(n(f64::midpoint(TOP, bottom))) text-anchor="middle"
                    transform=(format!("rotate(-90 14 {:.1})", f64::midpoint(TOP, bottom))) { (up) }
            }
        }
    }
}

fn number(value: f64) -> String {
    format!("{value:.1}")
}

/// Draws a bar for the ratio of each kernel, from 1 on a logarithmic axis. Longer bars end at its
/// edge; the ratio stands next to them.
pub(crate) fn bars(title: &str, ratios: &[(&str, f64)]) -> Markup {
    let n = number;
    let place = |ratio: f64| {
        let part = ratio.max(1e-9).ln() / RATIO_MAX.ln();
        NAMES + AXIS / 2.0 * (1.0 + part.clamp(-1.0, 1.0))
    };
    let (width, height) = (NAMES + AXIS + 60.0, ROW * ratios.len() as f64 + 22.0);
    let bottom = height - 18.0;
    html! {
        svg role="img" width=(n(width)) height=(n(height)) viewBox=(format!("0 0 {width:.1} {height:.1}")) {
            title { (title) ": ratio by kernel" }
            @for tick in [0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0] {
                line class=(if (tick - 1.0_f64).abs() < 1e-9 { "equal" } else { "grid" })
                    x1=(n(place(tick))) y1="0" x2=(n(place(tick))) y2=(n(bottom)) {}
                text x=(n(place(tick))) y=(n(bottom + 14.0)) text-anchor="middle" { (tick) }
            }
            @for (at, (name, ratio)) in ratios.iter().enumerate() {
                @let y = ROW * at as f64;
                @let (from, to) = (place(1.0).min(place(*ratio)), place(1.0).max(place(*ratio)));
                text x=(n(NAMES - 6.0)) y=(n(y + 12.0)) text-anchor="end" { (short(name)) title { (name) } }
                rect class=(if (ratio - 1.0).abs() <= 0.1 { "near" } else if (ratio - 1.0).abs() <= 0.2 { "off" } else { "far" })
                    x=(n(from)) y=(n(y + 3.0)) width=(n((to - from).max(1.0))) height=(n(ROW - 6.0)) {
                    title { (name) ": " (format!("{ratio:.3}")) }
                }
                text x=(n(NAMES + AXIS + 8.0)) y=(n(y + 12.0)) { (format!("{ratio:.2}")) }
            }
        }
    }
}

fn short(name: &str) -> String {
    const MOST: usize = 26;
    let count = name.chars().count();
    if count <= MOST {
        return name.to_owned();
    }
    let kept = name.chars().skip(count - MOST + 1);
    std::iter::once('…').chain(kept).collect()
}

/// Formats a value with as many digits as a reader compares.
pub(crate) fn value(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        warpweave_systems::grouped(value as u64)
    } else if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the values of an attribute of all elements of a name.
    fn attributes(svg: &str, element: &str, attribute: &str) -> Vec<f64> {
        let open = format!("<{element} ");
        let name = format!(" {attribute}=\"");
        let elements = svg.split(open.as_str()).skip(1);
        elements
            .filter_map(|rest| {
                let tag = rest.split('>').next().unwrap_or_default();
                let tag = format!(" {tag}");
                let value = tag
                    .split(name.as_str())
                    .nth(1)?
                    .split('"')
                    .next()?
                    .to_owned();
                value.parse().ok()
            })
            .collect()
    }

    #[test]
    fn equal_values_lie_on_the_diagonal_of_a_scatter() {
        let points = [
            ("a", 100.0, 100.0),
            ("b", 5000.0, 5000.0),
            ("c", 100.0, 200.0),
        ];
        let svg = scatter("cycles", "cycles", &points).unwrap().into_string();
        let (x, y) = (
            attributes(&svg, "circle", "cx"),
            attributes(&svg, "circle", "cy"),
        );
        for at in 0..2 {
            assert!(
                (x[at] - LEFT + y[at] - TOP - SIDE).abs() < 0.2,
                "{x:?} {y:?}"
            );
        }
        assert!(y[2] < y[0], "above the diagonal: {y:?}");
        for (value, from, length) in [(x, LEFT, SIDE), (y, TOP, SIDE)] {
            assert!(
                value.iter().all(|at| (from..=from + length).contains(at)),
                "{value:?}"
            );
        }
    }

    #[test]
    fn what_has_no_logarithm_is_left_out_of_a_scatter() {
        assert!(scatter("x", "", &[("a", 0.0, 1.0), ("b", 1.0, 0.0)]).is_none());
        assert!(scatter("x", "", &[]).is_none());
        assert!(scatter("x", "", &[("a", 1.0, 1.0)]).is_some());
    }

    #[test]
    fn kernels_lie_below_the_roof_that_their_machine_allows() {
        let ceilings = Some(Ceilings {
            issue: 400.0,
            memory: 100.0,
        });
        let ours = [("a", 1.0, 50.0), ("b", 40.0, 390.0), ("idle", 0.0, 1.0)];
        let svg = roofline(ceilings, &ours, &[("a", 1.0, 60.0)])
            .unwrap()
            .into_string();
        let x = attributes(&svg, "circle", "cx");
        assert_eq!(x.len(), 3, "{svg}");
        assert!((x[0] - x[2]).abs() < 0.1, "equal intensities: {x:?}");
        // The two parts of the roof meet at the ridge, and the second is level.
        let roof = |attribute: &str| -> Vec<f64> {
            let lines = svg.split("<line class=\"equal\"").skip(1);
            let lines = lines.map(|line| format!("<line {line}"));
            lines
                .flat_map(|line| {
                    attributes(&line[..=line.find("></line>").unwrap()], "line", attribute)
                })
                .collect()
        };
        let [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map(roof);
        assert!((x2[0] - x1[1]).abs() < 0.11 && (y2[0] - y1[1]).abs() < 0.11);
        assert!((y1[1] - y2[1]).abs() < 0.11 && y1[0] > y1[1]);
        assert!(roofline(ceilings, &[], &[]).is_none());
        assert!(roofline(None, &ours, &[]).is_some());
    }

    #[test]
    fn bars_begin_at_one_and_end_at_the_edge() {
        let ratios = [
            ("half", 0.5),
            ("same", 1.0),
            ("double", 2.0),
            ("far", 1000.0),
            ("none", 0.0),
        ];
        let svg = bars("cycles", &ratios).into_string();
        let (x, width) = (
            attributes(&svg, "rect", "x"),
            attributes(&svg, "rect", "width"),
        );
        let middle = NAMES + AXIS / 2.0;
        assert!(
            (x[0] + width[0] - middle).abs() < 0.2 && (x[2] - middle).abs() < 0.2,
            "{x:?}"
        );
        assert!((width[0] - width[2]).abs() < 0.2, "{width:?}");
        assert!((x[3] + width[3] - NAMES - AXIS).abs() < 0.2 && (x[4] - NAMES).abs() < 0.2);
    }
}
