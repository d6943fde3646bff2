//! The files that a description names: where they are, what they are charged to, and which of them a
//! message may quote.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpweave_files::{Input, Ledger, OVER_BUDGET_HINT, OverBudget, ReadError, size};

use crate::source::{Source, TEXT_BYTES_MAX};
use crate::{Diagnostic, begins_with_name};

/// Characters that a message may quote of a file which is not what it is named for.
const STRANGER_QUOTED: usize = 80;

/// Bytes that a tree takes at most for each mark that may begin a value in the text it is read from.
const BYTES_OF_A_VALUE: u64 = 240;

/// How the files are read that a description names.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Where relative paths start.
    folder: PathBuf,
    /// Files within it may be quoted even if they are not what they are named for; absent: all.
    tree: Option<PathBuf>,
    ledger: Ledger,
}

impl Files {
    /// Files whose relative paths start at `folder`. They may take any memory.
    pub fn of(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            ..Self::default()
        }
    }

    /// The same, charged to `ledger`.
    pub fn charged_to(mut self, ledger: &Ledger) -> Self {
        self.ledger = ledger.clone();
        self
    }

    /// The same, for a description at `path`: of files outside its folder that are not what they are
    /// named for, nothing is quoted. Links count as what they lead to.
    pub fn of_description_at(mut self, path: &Path) -> Self {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.tree = real.parent().map(Path::to_owned);
        self
    }

    /// The same for files that start at another folder.
    pub fn at(&self, folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            ..self.clone()
        }
    }

    /// Where relative paths start.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is charged for what the files hold.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Whether a file may be quoted even if it is not what it is named for.
    pub fn may_quote(&self, path: &Path) -> bool {
        let Some(tree) = &self.tree else {
            return true;
        };
        path.canonicalize().is_ok_and(|real| real.starts_with(tree))
    }

    /// The text of the description at `path`, whose first value has one of these names: the kinds of
    /// description that it can be.
    ///
    /// # Errors
    /// A file that cannot be read or is larger than a description may be. One outside the folder tree
    /// that begins with something else is refused without a word of it.
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

    /// The text of a file of another kind; `begins` tells by its beginning whether it is `what`.
    ///
    /// # Errors
    /// As [`Files::description`]; also a file inside the folder tree that begins otherwise.
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
                "{} has {size}; a text may have {}",
                path.display(),
                crate::files::size(TEXT_BYTES_MAX as u64)
            )));
        }
        input.read_text(&self.ledger).map_err(cannot)
    }
}

/// The refusal of a file of which nothing may be quoted.
fn stranger(path: &Path, what: &str) -> Diagnostic {
    let message = format!("{} is not {what}", path.display());
    Diagnostic::error(message)
        .hint("it lies outside the folder of the scenario: nothing of it is shown")
}

/// More memory is wanted than there may be: not a mistake in a text, but found where one asks for it.
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

    /// A folder with a scenario's folder in it and `text` beside that, and how the scenario names the
    /// text.
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
