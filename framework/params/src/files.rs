//! Files named by a description: their location, the ledger they are charged to, and which of them
//! messages may quote.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpweave_files::{Input, Ledger, OVER_BUDGET_HINT, OverBudget, ReadError, size};

use crate::source::{Source, TEXT_BYTES_MAX};
use crate::{Diagnostic, begins_with_name};

/// Maximum number of characters that a message may quote from a file of an unexpected kind.
const STRANGER_QUOTED: usize = 80;

/// Upper bound on the bytes a tree takes per mark that may begin a value in its text.
const BYTES_OF_A_VALUE: u64 = 240;

/// Access to the files that a description names.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Base folder of all relative paths.
    folder: PathBuf,
    /// Messages may quote any file within this folder tree, even one of an unexpected kind. `None`
    /// permits all files.
    tree: Option<PathBuf>,
    ledger: Ledger,
}

impl Files {
    /// Creates access to files whose relative paths start at `folder`, without a memory limit.
    pub fn of(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            ..Self::default()
        }
    }

    /// Charges the memory of files read to `ledger`.
    pub fn charged_to(mut self, ledger: &Ledger) -> Self {
        self.ledger = ledger.clone();
        self
    }

    /// Restricts quoting for a description at `path`: messages never quote files of an unexpected
    /// kind outside its folder. Links count as their targets.
    pub fn of_description_at(mut self, path: &Path) -> Self {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.tree = real.parent().map(Path::to_owned);
        self
    }

    /// Returns the same access with another base folder.
    pub fn at(&self, folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            ..self.clone()
        }
    }

    /// Returns the base folder of relative paths.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the ledger that is charged for the files' contents.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// True if messages may quote the file even if it is of an unexpected kind.
    pub fn may_quote(&self, path: &Path) -> bool {
        let Some(tree) = &self.tree else {
            return true;
        };
        path.canonicalize().is_ok_and(|real| real.starts_with(tree))
    }

    /// Reads the description at `path`. Its first value must have one of the names in `kinds`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is larger than a description may be. A file
    /// outside the folder tree that begins differently is rejected without quoting it.
    pub fn description(&self, path: &Path, kinds: &[&str]) -> Result<Arc<Source>, Diagnostic> {
        let name = path.display().to_string();
        let text = self.text(path)?;
        let values = text.bytes().filter(|byte| b",:([{".contains(byte)).count() as u64 + 1;
        self.ledger.charge(&name, values * BYTES_OF_A_VALUE)?;
        if kinds.is_empty() || begins_with_name(&text, kinds) {
            return Ok(Source::new(name, text));
        }
        if self.may_quote(path) {
            return Ok(Source::quoted_up_to(name, text, STRANGER_QUOTED));
        }
        Err(stranger(
            path,
            &format!("a description, {}", kinds.join(" or ")),
        ))
    }

    /// Reads a file of another kind. `begins` decides from its beginning if the file is `what`.
    ///
    /// # Errors
    /// Fails in the cases of [`Files::description`], and for a file inside the folder tree that
    /// begins differently.
    pub fn other_text(
        &self,
        path: &Path,
        what: &str,
        begins: impl FnOnce(&str) -> bool,
    ) -> Result<Arc<Source>, Diagnostic> {
        let name = path.display().to_string();
        let text = self.text(path)?;
        if begins(&text) {
            return Ok(Source::new(name, text));
        }
        if !self.may_quote(path) {
            return Err(stranger(path, what));
        }
        let source = Source::quoted_up_to(name, text, STRANGER_QUOTED);
        let message = format!("{} is not {what}", path.display());
        Err(Diagnostic::error(message).at(&source.span(0, 1)))
    }

    fn text(&self, path: &Path) -> Result<String, Diagnostic> {
        let cannot = |error: ReadError| match error {
            ReadError::OverBudget(error) => Diagnostic::from(error),
            ReadError::Io(error) => {
                Diagnostic::error(format!("cannot read {}: {error}", path.display()))
            }
        };
        let input = Input::open(path).map_err(|error| cannot(error.into()))?;
        if input.size() > TEXT_BYTES_MAX as u64 {
            let size = size(input.size());
            return Err(Diagnostic::error(format!(
                "{} has {size}; a text file may have at most {}",
                path.display(),
                crate::files::size(TEXT_BYTES_MAX as u64)
            )));
        }
        input.read_text(&self.ledger).map_err(cannot)
    }
}

/// Error for a file that must not be quoted.
fn stranger(path: &Path, what: &str) -> Diagnostic {
    let message = format!("{} is not {what}", path.display());
    Diagnostic::error(message)
        .hint("the file is outside the folder of the scenario, so its contents are not shown")
}

/// Not a mistake in a text, but reported at the place that requires the memory.
impl From<OverBudget> for Diagnostic {
    fn from(error: OverBudget) -> Self {
        Self {
            over_budget: true,
            ..Self::error(error.to_string()).hint(OVER_BUDGET_HINT)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use warpweave_files::Budget;

    use super::*;
    use crate::parse;

    /// Creates a folder that contains a scenario folder and, next to it, `text`. Also returns the
    /// path by which the scenario names the text.
    fn beside(text: &str) -> (tempfile::TempDir, Files, PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).expect("made");
        fs::write(inner.join("test.ron"), "Scenario()").expect("written");
        fs::write(folder.path().join("outside"), text).expect("written");
        fs::write(inner.join("inside"), text).expect("written");
        let files = Files::of(&inner).of_description_at(&inner.join("test.ron"));
        (folder, files, inner)
    }

    fn refusal(files: &Files, path: &Path) -> String {
        let source = files.description(path, &["System"]);
        let read = source.map_err(Into::into).and_then(|source| parse(&source));
        read.expect_err("no description").to_string()
    }

    #[test]
    fn of_a_stranger_outside_the_folder_tree_nothing_is_quoted() {
        let (folder, files, inner) = beside("root:secret:0:0\n");
        let message = refusal(&files, &inner.join("../outside"));
        assert!(
            !message.contains("secret") && !message.contains("root"),
            "{message}"
        );
        #[cfg(unix)]
        {
            let link = inner.join("link");
            std::os::unix::fs::symlink(folder.path().join("outside"), &link).expect("linked");
            assert!(!refusal(&files, &link).contains("secret"));
            let module = files.other_text(&link, "PTX", |text| text.starts_with(".version"));
            assert!(!module.expect_err("no PTX").to_string().contains("secret"));
        }
    }

    #[test]
    fn of_a_stranger_inside_the_first_characters_are_quoted() {
        let text = format!("(\n{}\nsecret@", "x".repeat(100));
        let (_folder, files, inner) = beside(&text);
        let message = refusal(&files, &inner.join("inside"));
        assert!(
            message.contains("inside:3:") && !message.contains("secret"),
            "{message}"
        );
        let early = beside("secret@");
        assert!(refusal(&early.1, &early.2.join("inside")).contains("secret"));
        let long = beside(&format!("root@{}secret", "x".repeat(75)));
        let message = refusal(&long.1, &long.2.join("inside"));
        assert!(
            message.contains("root@xxx") && !message.contains("secret"),
            "{message}"
        );
    }

    #[test]
    fn a_description_with_a_mistake_is_quoted_wherever_it_lies() {
        let text = "// what it is\n/* more */ #![enable(implicit_some)]\nSystem(\n  clocks @\n)";
        let (_folder, files, inner) = beside(text);
        let message = refusal(&files, &inner.join("../outside"));
        assert!(message.contains("clocks @"), "{message}");
    }

    #[test]
    fn texts_are_charged_before_they_are_read_and_trees_before_they_grow() {
        let (_folder, files, inner) = beside(&format!("System([{}])", "1,".repeat(1000)));
        let path = inner.join("inside");
        for (limit, fits) in [(100, false), (10_000, false), (1_000_000, true)] {
            let files = files.clone().charged_to(&Ledger::new(&Budget::of(limit)));
            match files.description(&path, &["System"]) {
                Ok(_) => assert!(fits),
                Err(error) => assert!(!fits && error.over_budget, "{error}"),
            }
        }
    }
}
