//! Input and output files of a command.

use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf, absolute};

use thiserror::Error;

use crate::output::{folder_of, place_of};
use crate::{Output, OutputError};

/// Identity of the file a path refers to, independent of links, detours and alternative names.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// Canonical folder joined with the file name.
    name: Option<PathBuf>,
    /// Device and inode of the file, if it exists and the system reports them.
    node: Option<(u64, u64)>,
}

impl Identity {
    pub(crate) fn of(path: &Path) -> Self {
        let place = place_of(path).unwrap_or_else(|_| path.to_owned());
        let folder = folder_of(&place);
        let folder = folder.canonicalize().or_else(|_| absolute(folder));
        let name = folder.ok().zip(place.file_name());
        Self {
            name: name.map(|(folder, name)| folder.join(name)),
            node: place.metadata().ok().as_ref().and_then(node),
        }
    }

    pub(crate) fn of_open(file: &File) -> Self {
        Self {
            name: None,
            node: file.metadata().ok().as_ref().and_then(node),
        }
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let called_alike = self.name.is_some() && self.name == other.name;
        let one_node = self.node.is_some() && self.node == other.node;
        called_alike || one_node
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other platforms return `None`")]
fn node(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn node(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// Reason why a command must not write a file.
#[derive(Debug, Error)]
pub enum PathError {
    /// The command already reads this file.
    #[error(
        "`{option} {}` would overwrite {}, which this command reads\nhint: choose another name",
        path.display(), input.display()
    )]
    Input {
        /// Command-line option that names the file.
        option: &'static str,
        /// Path of the file as the option gives it.
        path: PathBuf,
        /// Path under which the file is read.
        input: PathBuf,
    },
    /// The command already writes this file.
    #[error(
        "`{option} {}` and {other} are the same file\nhint: choose another name",
        path.display()
    )]
    Twice {
        /// Command-line option that names the file.
        option: &'static str,
        /// Path of the file as the option gives it.
        path: PathBuf,
        /// Description of the other use that writes the file.
        other: String,
    },
    /// The name of a folder contains `{cycle}`.
    #[error(
        "`{option} {}`: `{PLACEHOLDER}` is allowed in the name of the file, not in its folder",
        path.display()
    )]
    Folder {
        /// Command-line option that names the file.
        option: &'static str,
        path: PathBuf,
    },
    /// The file cannot be written; found by a test.
    #[error(transparent)]
    Unwritable(#[from] OutputError),
}

/// Placeholder in a file name for the cycle at which the file is written.
const PLACEHOLDER: &str = "{cycle}";

/// Input and output files of one command. Each output is tested for writability when it is
/// registered. No output may be an input, and no two options may write one file.
#[derive(Debug)]
pub struct Paths {
    read: Vec<(PathBuf, Identity)>,
    written: Vec<(String, Identity)>,
    series: Vec<Series>,
}

/// Files whose names differ in the cycle number.
#[derive(Debug)]
struct Series {
    named: String,
    pattern: PathBuf,
    /// Canonical path of the folder, without links and detours.
    folder: PathBuf,
}

impl Series {
    fn may_mean(&self, identity: &Identity) -> bool {
        identity.name.as_ref().is_some_and(|name| {
            name.parent() == Some(&self.folder) && may_mean(&self.pattern, name)
        })
    }
}

impl Default for Paths {
    fn default() -> Self {
        Self::new()
    }
}

impl Paths {
    /// Creates a set that contains only standard output, which may be redirected to a file.
    pub fn new() -> Self {
        let mut paths = Self {
            read: Vec::new(),
            written: Vec::new(),
            series: Vec::new(),
        };
        if let Some(out) = standard_output() {
            paths.written.push(("standard output".to_owned(), out));
        }
        paths
    }

    /// Registers `path` as an input. Later outputs must not be that file.
    pub fn reads(&mut self, path: &Path) {
        self.read.push((path.to_owned(), Identity::of(path)));
    }

    /// Registers `path`, named by `option`, as an output.
    ///
    /// # Errors
    /// Returns an error if the command already reads or writes that file, or it cannot be written.
    pub fn writes(&mut self, option: &'static str, path: &Path) -> Result<(), PathError> {
        let identity = Identity::of(path);
        self.refuse_known(option, path, &identity)?;
        Output::test(path)?;
        let named = format!("`{option} {}`", path.display());
        self.written.push((named, identity));
        Ok(())
    }

    /// Registers output files named by `pattern` with a number for every `{cycle}`. Without a
    /// placeholder it is like [`Paths::writes`].
    ///
    /// # Errors
    /// Same as [`Paths::writes`], for every file that the pattern may match.
    pub fn writes_series(&mut self, option: &'static str, pattern: &Path) -> Result<(), PathError> {
        if !is_series(pattern) {
            return self.writes(option, pattern);
        }
        let folder = folder_of(pattern);
        if is_series(folder) {
            return Err(PathError::Folder {
                option,
                path: pattern.to_owned(),
            });
        }
        Output::test(&numbered(pattern, u64::MAX))?;
        let series = Series {
            named: format!("`{option} {}`", pattern.display()),
            pattern: pattern.to_owned(),
            folder: folder.canonicalize().unwrap_or_else(|_| folder.to_owned()),
        };
        if let Some((other, _)) = self.written.iter().find(|(_, i)| series.may_mean(i)) {
            return Err(PathError::Twice {
                option,
                path: pattern.to_owned(),
                other: other.clone(),
            });
        }
        // Only what is there can be read, under whatever name.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            if may_mean(pattern, &path) {
                self.refuse_known(option, &path, &Identity::of(&path))?;
            }
        }
        self.series.push(series);
        Ok(())
    }

    fn refuse_known(
        &self,
        option: &'static str,
        path: &Path,
        identity: &Identity,
    ) -> Result<(), PathError> {
        if let Some((input, _)) = self.read.iter().find(|(_, i)| i.is_same(identity)) {
            return Err(PathError::Input {
                option,
                path: path.to_owned(),
                input: input.clone(),
            });
        }
        let written = self.written.iter().find(|(_, i)| i.is_same(identity));
        let series = || self.series.iter().find(|series| series.may_mean(identity));
        match written
            .map(|(named, _)| named)
            .or_else(|| series().map(|s| &s.named))
        {
            Some(other) => Err(PathError::Twice {
                option,
                path: path.to_owned(),
                other: other.clone(),
            }),
            None => Ok(()),
        }
    }
}

/// True if a name contains the cycle placeholder.
fn is_series(path: &Path) -> bool {
    path.to_string_lossy().contains(PLACEHOLDER)
}

/// Returns the name of the file written at `cycle`.
pub fn numbered(pattern: &Path, cycle: u64) -> PathBuf {
    if is_series(pattern) {
        let text = pattern.to_string_lossy();
        text.replace(PLACEHOLDER, &cycle.to_string()).into()
    } else {
        pattern.to_owned()
    }
}

/// True if `path`, in the folder of `pattern`, is one of its series.
fn may_mean(pattern: &Path, path: &Path) -> bool {
    let text = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    let (Some(pattern), Some(name)) = (text(pattern), text(path)) else {
        return false;
    };
    let Some((before, _)) = pattern.split_once(PLACEHOLDER) else {
        return false;
    };
    let Some(rest) = name.strip_prefix(before) else {
        return false;
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    (1..=digits).any(|count| pattern.replace(PLACEHOLDER, &rest[..count]) == name)
}

/// Returns the file that standard output is redirected to, if any.
#[cfg(unix)]
fn standard_output() -> Option<Identity> {
    use std::os::fd::AsFd;
    let file: File = std::io::stdout().as_fd().try_clone_to_owned().ok()?.into();
    let plain = file.metadata().ok()?.is_file();
    plain.then(|| Identity::of_open(&file))
}

#[cfg(not(unix))]
fn standard_output() -> Option<Identity> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates the paths of a command that reads `in.ron`, in a folder of its own.
    fn reading() -> (tempfile::TempDir, Paths) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let input = folder.path().join("in.ron");
        fs::write(&input, "mine").expect("written");
        let mut paths = Paths::new();
        paths.reads(&input);
        (folder, paths)
    }

    #[test]
    fn an_input_is_not_written_under_any_of_its_names() {
        let (folder, mut paths) = reading();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).expect("made");
        let mut names = vec!["in.ron", "sub/../in.ron"];
        #[cfg(unix)]
        {
            fs::hard_link(at("in.ron"), at("hard.ron")).expect("linked");
            std::os::unix::fs::symlink("../in.ron", at("sub/soft.ron")).expect("linked");
            std::os::unix::fs::symlink(".", at("here")).expect("linked");
            names.extend([
                "hard.ron",
                "sub/soft.ron",
                "here/in.ron",
                "here/here/hard.ron",
            ]);
        }
        for name in names {
            let refused = paths.writes("--out", &at(name));
            assert!(matches!(refused, Err(PathError::Input { .. })), "{name}");
        }
        paths.writes("--out", &at("out.ron")).expect("another file");
        assert_eq!(fs::read_to_string(at("in.ron")).expect("read"), "mine");
        assert!(!at("out.ron").exists(), "only tested");
    }

    #[test]
    fn two_options_do_not_write_one_file() {
        let (folder, mut paths) = reading();
        let at = |name: &str| folder.path().join(name);
        paths.writes("--a", &at("x")).expect("free");
        paths.writes("--b", &at("y")).expect("free");
        fs::create_dir(at("sub")).expect("made");
        let refused = paths.writes("--c", &at("sub/../x")).expect_err("taken");
        assert!(refused.to_string().contains("`--a "), "{refused}");
    }

    #[test]
    fn a_series_is_refused_when_a_number_makes_it_another_file() {
        let (folder, mut paths) = reading();
        let at = |name: &str| folder.path().join(name);
        for name in ["run-50.wwc", "run-x.wwc", "7.7", "8.9"] {
            fs::write(at(name), "").expect("written");
        }
        paths.writes("--record", &at("run-9.vcd")).expect("free");
        let series = |paths: &mut Paths, name: &str| paths.writes_series("--checkpoint", &at(name));
        series(&mut paths, "run-{cycle}.wwc").expect("nothing of it is read");
        let taken = series(&mut paths, "run-{cycle}.vcd");
        assert!(matches!(taken, Err(PathError::Twice { .. })), "{taken:?}");
        for name in ["run-50.wwc", "run-x.wwc", "7.7", "8.9"] {
            paths.reads(&at(name));
        }
        for name in ["run-{cycle}.wwc", "run-{cycle}0.wwc", "{cycle}.{cycle}"] {
            let read = series(&mut paths, name);
            assert!(matches!(read, Err(PathError::Input { .. })), "{name}");
        }
        series(&mut paths, "run-{cycle}1.wwc").expect("no such number");
        let folder = series(&mut paths, "{cycle}/run.wwc");
        assert!(
            matches!(folder, Err(PathError::Folder { .. })),
            "{folder:?}"
        );
        let missing = series(&mut paths, "none/{cycle}.wwc");
        assert!(
            matches!(missing, Err(PathError::Unwritable(_))),
            "{missing:?}"
        );
    }
}
