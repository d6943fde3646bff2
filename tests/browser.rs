//! Checks the report of an experiment in a browser: every figure is readable, and no network access
//! occurs.
//!
//! Headless Chromium lays out a copy of the page with `browser/check_page.js` inserted and prints
//! the result. `WARPWEAVE_CHROMIUM` names the program; the default is one in the path.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::harness::{Bench, Ended, told};
use crate::{optional_tool, robust};

/// Content security policy of the pages. In the copy it allows our own script and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

const WIDE: &str = "1400,900";
const NARROW: &str = "520,900";

/// Returns the reason why a browser cannot be used: it does not start, or cannot lay out and check
/// a page.
fn unfit(browser: &OsStr) -> Option<String> {
    let empty = format!(
        "<!DOCTYPE html><html><head><meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"><title>e</title></head><body>e</body></html>"
    );
    optional_tool::tells_no_version(browser).or_else(|| laid_out(browser, &empty, WIDE).err())
}

/// The browser. Its absence is a failure only in CI.
pub(crate) static CHROMIUM: LazyLock<Option<OsString>> = LazyLock::new(|| {
    let stated = std::env::var_os("WARPWEAVE_CHROMIUM");
    let usual = ["chromium", "chromium-browser", "google-chrome"].map(OsString::from);
    let names = stated.into_iter().chain(usual);
    optional_tool::find(names, unfit, "apt-get install chromium fonts-dejavu-core")
});

/// Lists the layout problems of a page in a wide or a narrow window. `None` is no browser.
pub(crate) fn findings(html: &str) -> Option<Vec<String>> {
    findings_in(&[WIDE, NARROW], html)
}

fn findings_in(windows: &[&str], html: &str) -> Option<Vec<String>> {
    let chromium = CHROMIUM.as_deref()?;
    if !html.contains(POLICY) {
        return Some(vec!["states no policy, or another".to_owned()]);
    }
    let mut all = Vec::new();
    for window in windows {
        let found = laid_out(chromium, html, window);
        let found = found.unwrap_or_else(|problem| panic!("{problem}"));
        let lines = found.lines().filter(|line| !line.is_empty());
        all.extend(lines.map(|line| line.replace("&lt;", "<").replace("&amp;", "&")));
    }
    all.sort();
    all.dedup();
    Some(all)
}

/// Lays out a page with our script in a window, and returns what the script found.
fn laid_out(browser: &OsStr, html: &str, window: &str) -> Result<String, String> {
    let script = format!("<script>{}</script>", include_str!("browser/check_page.js"));
    let ours = format!("{POLICY}; script-src 'unsafe-inline'");
    let page = html.replacen(POLICY, &ours, 1);
    let page = page.replacen("<title>", &format!("{script}<title>"), 1);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    fs::write(&file, page).unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--disable-dev-shm-usage", "--disable-background-networking"])
        .args(["--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND"])
        // Waits for what the page does later.
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--window-size={window}"))
        .arg(format!("--user-data-dir={}", folder.path().display()))
        .arg(&file)
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .output();
    let Ended { code, out, err } = Ended::of(&output.map_err(|error| error.to_string())?);
    let found = out.split_once(r#"<pre id="findings">"#);
    let found = found.and_then(|(_, rest)| rest.split_once("</pre>"));
    match found {
        Some((found, _)) => Ok(found.to_owned()),
        None => Err(format!("it lays out no page: exit {code}\n{out}\n{err}")),
    }
}

/// Experiment whose report contains every element that reports can have.
const EXPERIMENT: &str = r#"Experiment(
    summary: "Ways and misses of the L1 under <many> names",
    base: "test.ron",
    workloads: {
        "add": (file: "workloads/vector_add.ron", sets: { "workload.n": 256, "workload.block": 64 }),
        "add of many more elements-like": (file: "workloads/vector_add.ron", sets: { "workload.n": 512, "workload.block": 64 }),
    },
    variants: { "two": {}, "one": { "unit[*].l1.ways": 1 }, "a cache with fewer misses at once": { "unit[*].l1.mshr_entries": 2 } },
    controls: { "nothing": { "unit[*].l1.ways": 2 } },
    axes: { "latency": Values(path: "unit[*].l1.hit_latency_cycles", values: [4, 40]) },
    baseline: "two",
    perturb: (pairs: 10, draws: { "host.launch_latency_cycles": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }),
    metrics: {
        "ipc": (value: "ipc", kind: Ratio, better: Larger),
        "cycles": (value: "cycles", kind: Value, unit: "cycles", better: Smaller),
    },
    claims: [
        Finding(name: "one way is slower", claim: Below(metric: "ipc", of: "one", margin: 0.02), control: "nothing"),
        Finding(name: "one way takes longer", claim: Above(metric: "cycles", of: "one", margin: 20), control: "nothing"),
        Identity(name: "instructions take time", claim: AtMost("1", "cycles")),
    ],
    published: "published.ron",
)
"#;

const PUBLISHED: &str = r#"Published(
    source: "nobody",
    values: { "ipc": { "one, latency=4": { "mean": 0.9, "add": 1.4 } } },
)
"#;

/// Runs [`EXPERIMENT`] and returns its report as HTML.
fn report() -> String {
    let bench = Bench::new();
    bench.write("ways.ron", EXPERIMENT);
    bench.write("published.ron", PUBLISHED);
    let arguments = ["experiment", "ways.ron", "--quiet", "--out", "r"];
    told(bench.warpweave(&arguments));
    bench.read("r/report.html")
}

/// Wraps the content of one figure in a page.
fn page(figure: &str) -> String {
    format!(
        r#"<!DOCTYPE html><html><head><meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>a page</title></head><body><svg width="200" height="100" font-size="12"><title>a figure</title>
<text x="5" y="95">0</text><text x="180" y="95">1</text>{figure}</svg></body></html>"#
    )
}

const AXIS: &str = r#"<text class="axis-name" x="60" y="95">time, cycles</text>"#;

#[test]
fn a_report_can_be_read_in_a_browser_and_asks_for_nothing() {
    if let Some(found) = findings(&report()) {
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn a_report_on_robustness_can_be_read_in_a_browser_and_asks_for_nothing() {
    let bench = robust::bench();
    told(bench.warpweave(&["robust", "robust.ron", "--quiet", "--out", "r"]));
    if let Some(found) = findings(&bench.read("r/report.html")) {
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn texts_over_each_other_in_a_browser_are_found() {
    let figure = format!(
        r#"{AXIS}<text x="20" y="30">one</text><text x="25" y="34" transform="rotate(-35 25 34)">two</text>
        <text x="190" y="30">three</text>"#
    );
    let expected = [
        "a figure: 'one' lies over 'two'",
        "a figure: 'three' sticks out",
    ];
    assert!(findings_in(&[WIDE], &page(&figure)).is_none_or(|found| found == expected));
}

#[test]
fn an_axis_without_a_name_or_a_unit_is_found() {
    let found = findings_in(&[WIDE], &page(""));
    assert!(found.is_none_or(|found| found == ["a figure: no axis has a name"]));
    let found = findings_in(&[WIDE], &page(&AXIS.replace(", cycles", "")));
    assert!(found.is_none_or(|found| found == ["a figure: axis 'time' has no unit"]));
}

#[test]
fn scripts_and_requests_are_found() {
    let whole = page(AXIS);
    let none = findings_in(&[WIDE], &whole);
    assert!(none.is_none_or(|found| found.is_empty()));
    let with = |more: &str| {
        let page = whole.replace("</body>", &format!("{more}</body>"));
        findings_in(&[WIDE], &page)
    };
    let found = with(r#"<img src="http://example.com/a.png"><script>let a = 1;</script>"#);
    let expected = ["asks for http://example.com/a.png", "has a script"];
    assert!(found.is_none_or(|found| found == expected));
    // One that no attribute shows: the policy has refused it.
    let found = with(r#"<p style="background:url(http://example.com/b.png)">text</p>"#);
    assert!(found.is_none_or(|found| found == ["asks for http://example.com/b.png"]));
    let other = whole.replace("default-src 'none'", "default-src *");
    let found = findings_in(&[WIDE], &other);
    assert!(found.is_none_or(|found| found == ["states no policy, or another"]));
}

#[test]
fn what_is_wider_than_the_page_is_found() {
    let wide = page(AXIS).replace("</body>", r#"<p style="width:1000px">wide</p></body>"#);
    assert!(
        findings_in(&[NARROW], &wide)
            .is_none_or(|found| found.len() == 1 && found[0].ends_with("to be seen"))
    );
}
