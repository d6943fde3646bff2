//! Runs inputs through the program: one child process for each, under time and memory limits.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use wait_timeout::ChildExt;

use crate::case::Case;
use crate::checkpoints::Moment;
use crate::folder::Folder;
use crate::kind::{ARGUMENTS, Kind, options_of, scenario_of};
use crate::limits::Limits;
use crate::verdict::{Fault, FaultKind, InputOutcome, Verdict, controls, has_place};

/// Program under test, with a folder to run it in.
pub struct Program {
    path: PathBuf,
    folder: Folder,
    limits: Limits,
    files: Vec<String>,
}

/// Maximum useful length of a message, in bytes.
const LONGEST_MESSAGE: u64 = 1 << 16;

impl Program {
    /// Creates a target from a program's path and a private folder.
    pub fn new(path: &Path, folder: Folder, limits: Limits) -> Self {
        let files = folder
            .originals()
            .map(|(name, _)| name.to_owned())
            .collect();
        Self {
            path: path.to_owned(),
            folder,
            limits,
            files,
        }
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Runs the program on an input and returns its verdict.
    ///
    /// # Errors
    /// Returns the promise broken by the input.
    pub fn verdict(&self, case: &Case) -> Verdict {
        let driver = |error: io::Error| Fault::new(FaultKind::Driver, &error.to_string());
        self.folder.change(case.file, &case.bytes).map_err(driver)?;
        let verdict = self.try_input(case).map_err(driver);
        // Only command lines name what is written.
        let left = if case.kind == Kind::Arguments {
            self.folder.renew()
        } else {
            self.folder.restore(case.file)
        };
        left.map_err(driver)?;
        verdict?
    }

    /// Returns the command line that reads the input.
    pub fn command_line(&self, case: &Case) -> Vec<String> {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let run = |scenario: &str| match case.way % 8 {
            0 => words(&format!("check {scenario}")),
            1 => words(&format!(
                "trace record {scenario} x.wwt --set emulation.step_limit=100000"
            )),
            _ => words(&format!(
                "run {scenario} --quiet --set limits.cycles=3000 --set emulation.step_limit=100000"
            )),
        };
        let file = case.file;
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        match case.kind {
            Kind::Scenario => run(file),
            Kind::Energy => run("test.ron"),
            Kind::System | Kind::Workload | Kind::Ptx => run(scenario_of(file)),
            Kind::Experiment => words("experiment experiment.ron --check --quiet"),
            Kind::Probe => words(&format!("probe {file} --largest 2KiB --format json")),
            Kind::Graph if file.ends_with("edges.txt") => run("edges.ron"),
            Kind::Graph => {
                let mut line = run("graph.ron");
                let format = "format: MatrixMarket";
                let source = format!("File(path: \"../{file}\", {format})");
                let graph = if file.ends_with("reals.mtx") {
                    format!("Graph(source: {source}, weights: Without)")
                } else {
                    source
                };
                line.extend(["--set".to_owned(), format!("workload.graph={graph}")]);
                line
            }
            Kind::Override => {
                let mut line = run("test.ron");
                for set in case.lines() {
                    line.extend(["--set".to_owned(), set]);
                }
                line
            }
            Kind::Preset => words(match file {
                "bench/dram.ron" => "bench dram --trace bench/requests.csv --preset bench/dram.ron",
                "bench/router.ron" => {
                    "bench noc --trace bench/packets.csv --preset bench/router.ron"
                }
                _ => "bench cache --trace bench/accesses.csv --preset bench/cache.ron",
            }),
            Kind::Table => words(&match file {
                "bench/packets.csv" => format!("bench noc --trace {file} --preset voq_i1"),
                "bench/accesses.csv" if case.way.is_multiple_of(2) => {
                    format!("bench cache --trace {file} --preset L1_16k_4w --policy LRU")
                }
                "bench/accesses.csv" => {
                    format!("bench cache --trace {file} --preset bench/cache.ron")
                }
                "bench/commands.csv" => format!("bench dram --judge {file} --preset A"),
                _ => format!("bench dram --trace {file} --preset A --format json"),
            }),
            Kind::Reference => {
                let subject = folder
                    .rsplit_once('/')
                    .map_or(folder, |(_, subject)| subject);
                words(&format!("validate {subject} --reference {folder}"))
            }
            Kind::Trace if case.way.is_multiple_of(2) => words("trace info run.wwt"),
            Kind::Trace => words("trace dump run.wwt"),
            Kind::AccessLog if case.way.is_multiple_of(2) => words("accesses run.wwa"),
            Kind::AccessLog => words("accesses run.wwa --format csv --cycles 300..400"),
            Kind::Checkpoint => {
                let moment = Moment::ALL.into_iter().find(|moment| moment.file() == file);
                let scenario = moment.expect("a checkpoint of the folder").scenario();
                words(&format!(
                    "run {scenario} --quiet --resume {file} --set limits.cycles=20000"
                ))
            }
            Kind::StateLog => words("diff a b --quiet"),
            Kind::AccelSim if case.way.is_multiple_of(2) => {
                let quirk =
                    ["file-order", "opcode-width", "generic-shared"][case.way as usize / 2 % 3];
                words(&format!("trace import {file} -o x.wwt --quirk {quirk}"))
            }
            Kind::AccelSim => words(&format!(
                "run --trace {file} --system systems/tiny.ron --quiet --set limits.cycles=3000"
            )),
            Kind::Options => {
                let mut line = words(&format!("system import {}", options_of(file).join(" ")));
                if !case.way.is_multiple_of(2) {
                    line.push("--leave-out-unknown".to_owned());
                }
                line
            }
            Kind::Arguments => case.lines(),
            Kind::Results => words(match case.way % 4 {
                0 => "compare a,b b --format csv",
                1 => "compare b a a --format html",
                _ => "compare a b",
            }),
        }
    }

    fn try_input(&self, case: &Case) -> io::Result<Verdict> {
        let path = self.folder.path();
        let outside = path.parent().expect("the folder lies in a temporary one");
        let (out, err) = (outside.join("out"), outside.join("err"));
        let mut command = limited(&self.path, self.limits);
        command
            .args(self.command_line(case))
            .current_dir(&path)
            .env_remove("WARPWEAVE_LOG")
            .env_remove("RUST_BACKTRACE")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?);
        let mut child = command.spawn()?;
        let ended = wait(&mut child, self.limits.time)?;
        let (said, length) = beginning(&err)?;
        let Some(status) = ended else {
            return Ok(Err(Fault::new(FaultKind::Hang, &said)));
        };
        if length > LONGEST_MESSAGE {
            return Ok(Err(Fault::new(FaultKind::LongMessage, &said)));
        }
        let (printed, _) = beginning(&out)?;
        Ok(self.judge(case, status, &printed, &said))
    }

    fn judge(&self, case: &Case, status: ExitStatus, printed: &str, said: &str) -> Verdict {
        if said.contains("memory allocation of") {
            return Err(Fault::new(FaultKind::Memory, said));
        }
        let Some(code) = status.code() else {
            return Err(Fault::new(FaultKind::Abort, &format!("{status}: {said}")));
        };
        if let Some(at) = said.find("panicked at") {
            return Err(Fault::new(FaultKind::Panic, &said[at..]));
        }
        let fault = |kind, why: &str| Err(Fault::new(kind, &format!("{why}: {said}")));
        if let Some(found) = controls(said).or_else(|| controls(printed)) {
            let shown = format!("{found:?} in: {said:?}");
            return Err(Fault::new(FaultKind::ControlCharacters, &shown));
        }
        // Exit code 134 and the like stand for signals where a shell passes them on.
        match code {
            0 => Ok(InputOutcome::Accepted),
            2 | 3 if said.trim().is_empty() => fault(FaultKind::NoPlace, "no words"),
            2 | 3 if case.kind != Kind::Arguments && !has_place(said, &self.files) => {
                fault(FaultKind::NoPlace, "no place")
            }
            1..=3 => Ok(InputOutcome::Refused),
            128.. => fault(FaultKind::Abort, &format!("exit code {code}")),
            code => fault(FaultKind::ExitCode, &format!("exit code {code}")),
        }
    }

    /// Formats the command as a shell line, to try the input again by hand.
    pub fn shown(&self, case: &Case) -> String {
        let quoted = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
        let words: Vec<_> = self.command_line(case).iter().map(quoted).collect();
        let note = if case.file == ARGUMENTS {
            ""
        } else {
            " # in a folder as Folder makes it"
        };
        format!("warpweave {}{note}\n", words.join(" "))
    }
}

/// Builds a command with an address-space limit, set by a shell that then becomes the command.
pub(crate) fn limited(program: &Path, limits: Limits) -> Command {
    let mut command = Command::new("sh");
    let kib = limits.memory_bytes >> 10;
    command
        .arg("-c")
        .arg(format!("ulimit -v {kib}; ulimit -c 0; exec \"$0\" \"$@\""))
        .arg(program);
    command
}

/// Waits for the end of a child. Returns `None` if it had to be killed.
fn wait(child: &mut Child, time: Duration) -> io::Result<Option<ExitStatus>> {
    let ended = child.wait_timeout(time)?;
    if ended.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(ended)
}

/// Reads the beginning of a file as text. Also returns its total length.
fn beginning(path: &Path) -> io::Result<(String, u64)> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(2 * LONGEST_MESSAGE)
        .read_to_end(&mut bytes)?;
    let length = fs::metadata(path)?.len();
    Ok((String::from_utf8_lossy(&bytes).into_owned(), length))
}
