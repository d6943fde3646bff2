//! Batch file of an experiment: written once, then kept for the site to edit.

use std::fmt::Write as _;
use std::path::Path;

use crate::outcome::Failure;

/// Facts that the batch file states.
pub(crate) struct Batch<'a> {
    /// Name of the jobs in the queue of Slurm.
    pub(crate) name: &'a str,
    /// Options of `sbatch`, one per line.
    pub(crate) options: &'a [String],
    /// Working folder of the tasks, to which the paths below are relative.
    pub(crate) folder: &'a Path,
    pub(crate) program: &'a Path,
    pub(crate) file: &'a Path,
    /// Results folder, unless it is the default.
    pub(crate) out: Option<&'a Path>,
    pub(crate) traces: &'a Path,
}

impl Batch<'_> {
    /// Returns the text of the file.
    ///
    /// # Errors
    /// Returns an error for a path that no line of text can state.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        let mut options = String::new();
        for option in self.options {
            let _ = writeln!(options, "#SBATCH {option}");
        }
        let name = self.name.replace(|c: char| !c.is_ascii_graphic(), "_");
        let [folder, program, file, traces] = [
            quoted(self.folder)?,
            quoted(self.program)?,
            quoted(self.file)?,
            quoted(self.traces)?,
        ];
        let out = self.out.map(quoted).transpose()?;
        let out = out.map_or_else(String::new, |out| format!(" --out {out}"));
        Ok(format!(
            r#"#!/bin/sh
# Batch file of an experiment, for the steps emulate, simulate and merge. Edit it as needed.
# `warpweave experiment` submits it, and writes it only if it is missing.
#SBATCH --job-name={name}
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@120
{options}
step=$1
shards=$2
shift 2
case $step in
    emulate) set -- --shard "$SLURM_ARRAY_TASK_ID/$shards" --emulate-only "$@" ;;
    simulate) set -- --shard "$SLURM_ARRAY_TASK_ID/$shards" "$@" ;;
    merge) set -- --merge "$@" ;;
esac
cd {folder} || exit 3
# The program replaces the shell, so that it receives the signal before the time limit.
exec {program} experiment {file}{out} --traces {traces} \
    --jobs "${{SLURM_CPUS_PER_TASK:-1}}" "$@"
"#
        ))
    }
}

/// Quotes a path for the shell.
fn quoted(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().filter(|text| !text.contains('\n'));
    text.map(|text| format!("'{}'", text.replace('\'', r"'\''")))
        .ok_or_else(|| {
            Failure::InputText(format!(
                "a batch file cannot state the path {}\nhint: use paths of readable text",
                path.display()
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch<'a>(file: &'a str, options: &'a [String]) -> Batch<'a> {
        Batch {
            name: "ways",
            options,
            folder: Path::new("/home/ada/study"),
            program: Path::new("/home/ada/bin/warpweave"),
            file: Path::new(file),
            out: Some(Path::new("ways.results")),
            traces: Path::new("traces"),
        }
    }

    fn text(batch: &Batch<'_>) -> String {
        batch
            .text()
            .unwrap_or_else(|_| panic!("the paths are text"))
    }

    #[test]
    fn the_page_shows_the_batch_file() {
        let page = include_str!("../../../docs/cluster.md");
        let options = ["--time=4:00:00".to_owned()];
        let text = text(&batch("ways.ron", &options));
        assert!(page.contains(&format!("```sh\n{text}```")), "{text}");
    }

    #[test]
    fn the_shell_reads_any_path_as_it_is() {
        let text = text(&batch("it's $HOME `x`.ron", &[]));
        assert!(text.contains(r"experiment 'it'\''s $HOME `x`.ron' --out"));
        assert!(batch("a\nb", &[]).text().is_err());
    }
}
