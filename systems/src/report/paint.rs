//! Colours, bars and cells that fit the width of a page.

use anstyle::{AnsiColor, Style};

/// Width of a page in columns.
pub(super) const WIDTH: usize = 80;

/// Number of distinct colours, one for each outcome of an issue slot.
const REASONS: usize = 12;

/// Colours of the outcomes of issue slots in pages that are opened in a browser.
pub(super) const WEB_COLOURS: [&str; REASONS] = [
    "#009e73", "#0072b2", "#d55e00", "#e69f00", "#cc79a7", "#56b4e9", "#f0e442", "#7f3c8d",
    "#80ba5a", "#a5aa99", "#8c564b", "#bbbbbb",
];

/// Colour setting of a page; without colours it contains no escape sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Plain text without any escape sequences.
    Off,
    /// ANSI escape sequences for colours and emphasis.
    On,
}

/// Role of a piece of text on the page, which determines its colour.
#[derive(Clone, Copy)]
pub(super) enum TextStyle {
    Title,
    Good,
    Bad,
    Quiet,
    /// Bar, or bar segment of the reason, with this number.
    Part(usize),
}

impl Colour {
    /// Returns the text coloured in this tone.
    pub(super) fn paint(self, tone: TextStyle, text: &str) -> String {
        if self == Self::Off || text.is_empty() {
            return text.to_owned();
        }
        let style = tone.style();
        format!("{style}{text}{style:#}")
    }
}

impl TextStyle {
    fn style(self) -> Style {
        const PARTS: [AnsiColor; REASONS] = [
            AnsiColor::Green,
            AnsiColor::Blue,
            AnsiColor::Red,
            AnsiColor::Yellow,
            AnsiColor::Magenta,
            AnsiColor::Cyan,
            AnsiColor::BrightBlue,
            AnsiColor::BrightRed,
            AnsiColor::BrightGreen,
            AnsiColor::BrightYellow,
            AnsiColor::BrightMagenta,
            AnsiColor::BrightCyan,
        ];
        let of = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Self::Title => Style::new().bold(),
            Self::Good => of(AnsiColor::Green),
            Self::Bad => of(AnsiColor::Red).bold(),
            Self::Quiet => Style::new().dimmed(),
            Self::Part(number) => of(PARTS[number % PARTS.len()]),
        }
    }
}

/// Returns a bar of `width` columns for a share of 1. A nonzero share gets at least one column.
pub(super) fn bar(share: f64, width: usize) -> String {
    let full = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    "█".repeat(if share > 0.0 { full.max(1) } else { 0 })
}

/// Returns the columns of each part, rounded so that together they fill `width` columns.
pub(super) fn columns(parts: &[u64], width: usize) -> Vec<usize> {
    let whole: u128 = parts.iter().map(|part| u128::from(*part)).sum();
    if whole == 0 {
        return vec![0; parts.len()];
    }
    let mut so_far: u128 = 0;
    let mut before = 0;
    let ends = parts.iter().map(|part| {
        so_far += u128::from(*part);
        let end = ((so_far * width as u128 * 2 + whole) / (whole * 2)) as usize;
        let columns = end - before;
        before = end;
        columns
    });
    ends.collect()
}

/// Truncates text to at most `width` columns.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept = text.chars().take(width.saturating_sub(1));
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_colours_has_no_escapes() {
        assert_eq!(Colour::Off.paint(TextStyle::Bad, "x"), "x");
        let painted = Colour::On.paint(TextStyle::Bad, "x");
        assert!(painted.starts_with('\u{1b}') && painted.ends_with("\u{1b}[0m"));
    }

    #[test]
    fn the_parts_of_a_stacked_bar_fill_it() {
        assert_eq!(columns(&[1, 1, 2], 8), [2, 2, 4]);
        assert_eq!(columns(&[1, 1, 1], 10).iter().sum::<usize>(), 10);
        assert_eq!(columns(&[u64::MAX, u64::MAX], 4), [2, 2]);
        assert_eq!(columns(&[0, 0], 4), [0, 0]);
    }

    #[test]
    fn what_is_there_is_seen_in_a_bar() {
        assert_eq!(bar(0.0, 10), "");
        assert_eq!(bar(0.001, 10), "█");
        assert_eq!(bar(0.5, 10).chars().count(), 5);
    }

    #[test]
    fn long_text_is_cut_off_visibly() {
        assert_eq!(cut("unit[0]", 7), "unit[0]");
        assert_eq!(cut("unit[10].cu", 7), "unit[1…");
    }
}
