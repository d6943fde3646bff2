//! Frame of every HTML page that a command writes: one policy, one style.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use warpweave_params::printable_lines;

/// Rules that all pages share, in light and dark, on screen and on paper.
const STYLE: &str = "
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{max-width:76rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem}h2{margin-top:2.5rem;border-bottom:1px solid #8888;font-size:1.25rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem;margin:.5rem 0}
th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #8884;vertical-align:top}
th:first-child,td:first-child,td.text,th.text{text-align:left}
.wide{overflow-x:auto}figure{margin:1rem 0;overflow-x:auto}svg{max-width:none}
.small{color:#777;font-size:.85rem}code{font-size:.9em;overflow-wrap:anywhere}
@media print{body{max-width:none;margin:0}h2{break-after:avoid}figure,table{break-inside:avoid}}
";

/// Returns a self-contained page with this title and body, and rules of its own after the shared
/// ones. Its policy forbids scripts and requests, and control characters are made visible.
pub fn html_page(title: &str, style: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body { (body) }
        }
    };
    printable_lines(&page.into_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_escapes_its_title_and_shows_control_characters() {
        let page = html_page("a < b", ".own{}", &html! { p { "bell \u{7}" } });
        assert!(page.contains("<title>a &lt; b</title>"), "{page}");
        assert!(page.contains("\n.own{}</style>"), "{page}");
        assert!(!page.contains('\u{7}'), "{page}");
    }
}
