//! Programs that only some tests need, such as a compiler or a browser. A version that does not fit
//! counts as missing. Test crates include this file by its path.

use std::ffi::{OsStr, OsString};

/// Returns the first of the programs `names` for which `unfit` has no objection.
///
/// If there is none, the objections are printed and the caller skips its test. Where `CI` is set
/// this fails instead; `install` is the command that provides the program.
#[expect(clippy::print_stderr, reason = "a test that checks nothing says so")]
pub(crate) fn find(
    names: impl IntoIterator<Item = OsString>,
    unfit: impl Fn(&OsStr) -> Option<String>,
    install: &str,
) -> Option<OsString> {
    let mut objections = Vec::new();
    for name in names {
        match unfit(&name) {
            None => return Some(name),
            Some(objection) => objections.push(format!("{}: {objection}", name.display())),
        }
    }
    let objections = objections.join("\n  ");
    let missing = format!("none of these programs fits; `{install}`\n  {objections}");
    assert!(std::env::var_os("CI").is_none(), "{missing}");
    eprintln!("skipped: {missing}");
    None
}

/// Returns the objection that a program does not start or does not tell its version.
pub(crate) fn tells_no_version(program: &OsStr) -> Option<String> {
    let told = std::process::Command::new(program)
        .arg("--version")
        .output();
    match told {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("`--version` ends with {}", output.status)),
        Err(error) => Some(error.to_string()),
    }
}
