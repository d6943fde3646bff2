//! Canvas for SVG drawings that tracks the positions of its texts.

use std::fmt::Write as _;

use warpweave_params::printable;

/// Height of the letters, in SVG units.
pub(crate) const LETTERS: f64 = 12.0;

/// Width of a letter, estimated for a wide sans-serif font.
const LETTER_WIDTH: f64 = 0.62 * LETTERS;

/// Colours of series. The first eight are distinguishable with all types of colour vision (Okabe
/// and Ito, 2008). Only figures of issue slots, with a colour for each outcome, need the others.
const COLOURS: [&str; 12] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999",
    "#7f3c8d", "#80ba5a", "#8c564b", "#222222",
];

/// Alignment of a text at its anchor point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Corners of the rectangle that a text covers.
pub(crate) type Corners = [(f64, f64); 4];

pub(crate) struct Canvas {
    width: f64,
    height: f64,
    body: String,
    /// Rectangle covered by each text, and the text.
    texts: Vec<(Corners, String)>,
}

/// Returns the width of a text in letters of the default size.
pub(crate) fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER_WIDTH
}

/// Returns the colour of the n-th series.
pub(crate) fn colour(series: usize) -> &'static str {
    COLOURS[series % COLOURS.len()]
}

impl Canvas {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            body: String::new(),
            texts: Vec::new(),
        }
    }

    pub(crate) fn rectangle(
        &mut self,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        fill: &str,
        title: &str,
    ) {
        let (width, height) = (width.max(0.0), height.max(0.0));
        let _ = write!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{fill}"><title>{}</title></rect>"#,
            escaped(title)
        );
    }

    pub(crate) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        );
    }

    /// Draws a diamond marker around a point.
    pub(crate) fn diamond(&mut self, (x, y): (f64, f64), title: &str) {
        let r = 4.5;
        let _ = write!(
            self.body,
            r#"<path class="published" d="M{:.1} {:.1}l{r} {r}l-{r} {r}l-{r} -{r}z"><title>{}</title></path>"#,
            x,
            y - r,
            escaped(title)
        );
    }

    /// Draws a text with its baseline starting, ending or centred at a point, rotated by some
    /// degrees.
    pub(crate) fn text(&mut self, at: (f64, f64), text: &str, anchor: Anchor, degrees: f64) {
        self.text_of("", at, text, anchor, degrees);
    }

    /// Draws the name of an axis with its unit, centred at a point.
    pub(crate) fn axis_name(&mut self, at: (f64, f64), name: &str, degrees: f64) {
        self.text_of(r#" class="axis-name""#, at, name, Anchor::Middle, degrees);
    }

    fn text_of(&mut self, class: &str, at: (f64, f64), text: &str, anchor: Anchor, degrees: f64) {
        let (x, y) = at;
        let (name, from) = match anchor {
            Anchor::Start => ("start", 0.0),
            Anchor::Middle => ("middle", -0.5),
            Anchor::End => ("end", -1.0),
        };
        let width = width_of(text);
        let (sin, cos) = degrees.to_radians().sin_cos();
        let corner = |along: f64, up: f64| {
            let (dx, dy) = (width * (from + along), -up * LETTERS);
            (x + dx * cos - dy * sin, y + dx * sin + dy * cos)
        };
        let corners = [
            corner(0.0, -0.2),
            corner(1.0, -0.2),
            corner(1.0, 0.8),
            corner(0.0, 0.8),
        ];
        self.texts.push((corners, text.to_owned()));
        let turned = if degrees == 0.0 {
            String::new()
        } else {
            format!(r#" transform="rotate({degrees} {x:.1} {y:.1})""#)
        };
        let _ = write!(
            self.body,
            r#"<text{class} x="{x:.1}" y="{y:.1}" text-anchor="{name}"{turned}>{}</text>"#,
            escaped(text)
        );
    }

    /// Returns the complete picture. `title` is the text for screen readers.
    pub(crate) fn svg(&self, title: &str) -> String {
        let (width, height) = (self.width, self.height);
        format!(
            concat!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" "#,
                r#"width="{width}" height="{height}" role="img" font-family="system-ui, sans-serif" font-size="{letters}">"#,
                "<title>{title}</title><style>text{{fill:#222}}",
                ".axis{{stroke:#222}}.grid{{stroke:#ddd}}.one{{stroke:#222;stroke-dasharray:4 3}}",
                ".error{{stroke:#222}}.margin{{stroke:#d55e00;stroke-width:2}}",
                ".published{{fill:#fff;stroke:#222;stroke-width:1.5}}</style>",
                r##"<rect width="{width}" height="{height}" fill="#fff"/>{body}</svg>"##
            ),
            width = width.ceil(),
            height = height.ceil(),
            letters = LETTERS,
            title = escaped(title),
            body = self.body
        )
    }

    /// Returns the pairs of texts that overlap, and texts that extend past the picture.
    #[cfg(test)]
    pub(crate) fn clashes(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (at, (corners, text)) in self.texts.iter().enumerate() {
            let outside = |&(x, y): &(f64, f64)| {
                x < -0.5 || y < -0.5 || x > self.width + 0.5 || y > self.height + 0.5
            };
            if corners.iter().any(outside) {
                found.push(format!("`{text}` is outside the figure"));
            }
            for (other_corners, other) in &self.texts[at + 1..] {
                if overlap(corners, other_corners) {
                    found.push(format!("`{text}` overlaps `{other}`"));
                }
            }
        }
        found
    }
}

/// True if two rotated rectangles overlap, which is when no side of either separates them.
#[cfg(test)]
fn overlap(a: &Corners, b: &Corners) -> bool {
    let separated = |a: &Corners, b: &Corners| {
        (0..4).any(|side| {
            let ((x1, y1), (x2, y2)) = (a[side], a[(side + 1) % 4]);
            let (nx, ny) = (y1 - y2, x2 - x1);
            let along = |corners: &Corners| {
                let places = corners.map(|(x, y)| x * nx + y * ny);
                let least = places.into_iter().fold(f64::INFINITY, f64::min);
                (least, places.into_iter().fold(f64::NEG_INFINITY, f64::max))
            };
            let ((least, most), (other_least, other_most)) = (along(a), along(b));
            most <= other_least + 1e-6 || other_most <= least + 1e-6
        })
    };
    !separated(a, b) && !separated(b, a)
}

/// Escapes text for use in XML.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c => safe.push(c),
        }
    }
    safe
}
