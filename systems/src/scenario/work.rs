//! Input of a scenario: a workload to be emulated, or a recorded trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempPath;
use warpweave_accel_sim::{AccelSimError, Quirks, import, inputs, is_accel_sim};
use warpweave_components::demands::{
    BufferDemand, Demands, DistinctLaunches, KernelDemand, LaunchDemand,
};
use warpweave_files::Ledger;
use warpweave_params::{Diagnostic, Diagnostics, Placed};
use warpweave_ptx::Printed;
use warpweave_trace::{ContentHash, KernelHead, KernelTrace, Program, TraceError, TraceFile};

use crate::host_program::{
    EmulationProgress, EmulationSpec, Examined, ExecuteError, Executed, HostProgram, ProgramDemands,
};

/// Program that a scenario runs, or its trace.
#[derive(Debug)]
pub(crate) enum Work {
    /// Program that is emulated before its simulation.
    Workload(Arc<HostProgram>),
    /// Recorded trace of an emulated program.
    Trace(Recording),
}

/// Trace file. Its streams are read during the run.
#[derive(Debug)]
pub(crate) struct Recording {
    /// Files that were read, the named one first.
    files: Vec<PathBuf>,
    /// Temporary file with a converted Accel-Sim trace; removed with the recording.
    made: Option<TempPath>,
    pub(crate) hash: ContentHash,
    demands: Demands,
    /// Warnings about unmodelled features in a foreign trace. Forgotten copies are unknown for
    /// traces.
    warnings: Diagnostics,
    ledger: Ledger,
}

impl Recording {
    /// Checks the index of the file at `path`, which is `named` in a scenario. An Accel-Sim trace
    /// is first converted to Warpweave's format in the folder for temporary files.
    pub(super) fn open(
        path: &Path,
        named: &Placed<PathBuf>,
        ledger: &Ledger,
    ) -> Result<Self, Diagnostic> {
        if is_accel_sim(path) {
            return Self::import(path, named, ledger);
        }
        let file = TraceFile::open_within(path, ledger).map_err(|error| refused(named, error))?;
        Ok(Self {
            files: vec![path.to_owned()],
            made: None,
            hash: file.hash(),
            demands: demands(&file),
            warnings: Diagnostics::new(),
            ledger: ledger.clone(),
        })
    }

    /// Imports the Accel-Sim trace at `path`.
    fn import(path: &Path, named: &Placed<PathBuf>, ledger: &Ledger) -> Result<Self, Diagnostic> {
        let files = inputs(path)?;
        let made = tempfile::Builder::new()
            .prefix("warpweave-")
            .suffix(".trace")
            .tempfile();
        let made = made.map_err(|error| {
            let message =
                format!("cannot create a temporary file for data derived from this trace: {error}");
            of_host(named, message)
        })?;
        let made = made.into_temp_path();
        let imported = import(path, &made, Quirks::default(), ledger);
        let imported = imported.map_err(|error| match error {
            AccelSimError::Input(problem) => *problem,
            AccelSimError::Trace(error @ TraceError::Write(_)) => of_host(named, error.to_string()),
            AccelSimError::Trace(error) => refused(named, error),
            error => of_host(named, error.to_string()),
        })?;
        let file = TraceFile::open_within(&made, ledger).map_err(|error| refused(named, error))?;
        let mut warnings = Diagnostics::new();
        for unmodelled in &imported.unmodelled {
            warnings.push(Diagnostic::warning(unmodelled.to_string()));
        }
        Ok(Self {
            files,
            hash: imported.hash,
            demands: demands(&file),
            made: Some(made),
            warnings,
            ledger: ledger.clone(),
        })
    }

    /// Returns the path of the named file.
    fn path(&self) -> &Path {
        &self.files[0]
    }

    fn read(&self) -> Result<Executed, ExecuteError> {
        let path = self.made.as_deref().unwrap_or(self.path());
        let file = TraceFile::open_within(path, &self.ledger)?;
        if file.hash() != self.hash {
            let message = format!("{} changed after it was checked", path.display());
            return Err(Diagnostic::error(message).into());
        }
        let program = file.program()?;
        Ok(Executed {
            kernels: names_of_kernels(&program),
            program: Arc::new(program),
            checks: Vec::new(),
            verified: None,
            printed: Printed::default(),
            refused_launches: 0,
            outputs: BTreeMap::new(),
        })
    }

    /// Returns the error that a trace contains no memory values.
    fn refuse(&self, wish: &str) -> ExecuteError {
        let message = format!(
            "{} is a trace, which contains no memory values: its program cannot be {wish}",
            self.path().display()
        );
        Diagnostic::error(message)
            .hint("use the scenario of the workload from which it was recorded")
            .into()
    }
}

/// Returns an error of the host, which concerns the named trace.
fn of_host(named: &Placed<PathBuf>, message: String) -> Diagnostic {
    let hint = "the folder for temporary files is that of `TMPDIR`";
    Diagnostic {
        of_host: true,
        ..named.error(message).hint(hint)
    }
}

/// Returns the reason why a trace cannot be read.
fn refused(named: &Placed<PathBuf>, error: TraceError) -> Diagnostic {
    match error {
        TraceError::OverBudget(error) => named.blame(Diagnostic::from(error)),
        error => named
            .error(error.to_string())
            .hint("use `warpweave trace record SCENARIO FILE` to write a trace"),
    }
}

/// Returns the demands of a trace's program on a machine.
fn demands(file: &TraceFile) -> Demands {
    let mut demands = Demands::default();
    let mut distinct = DistinctLaunches::default();
    for kernel in (0..file.kernels()).filter_map(|kernel| file.kernel_head(kernel)) {
        let KernelHead {
            code,
            grid,
            block,
            dynamic_local_bytes,
            attributes,
            ..
        } = kernel;
        if demands.kernels.iter().all(|known| known.name != code.name) {
            demands.kernels.push(KernelDemand {
                name: code.name.clone(),
                private_bytes: code.private_bytes,
                // Records, which are not read here, tell which instructions execute.
                may_execute_atomics: false,
                origin: None,
            });
        }
        let attributes = attributes.to_vec();
        let code = Arc::clone(code);
        let launch =
            KernelTrace::without_streams(code, grid, block, dynamic_local_bytes, attributes);
        if let Ok(launch) = launch
            && distinct.is_new(&launch)
        {
            demands.launches.push(LaunchDemand {
                launch: Arc::new(launch),
                origin: None,
            });
        }
    }
    let buffers = file.head().allocations.iter();
    demands.buffers.extend(buffers.map(|buffer| BufferDemand {
        name: buffer.name.clone(),
        base: buffer.base,
        bytes: buffer.bytes,
        origin: None,
    }));
    demands
}

/// Returns the distinct kernel names in the order of their first launches.
fn names_of_kernels(program: &Program) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for kernel in &program.kernels {
        if !names.contains(&kernel.code.name) {
            names.push(kernel.code.name.clone());
        }
    }
    names
}

impl Work {
    pub(crate) fn execute(
        &self,
        emulation: &EmulationSpec,
        progress: &EmulationProgress,
    ) -> Result<Executed, ExecuteError> {
        match self {
            Self::Workload(program) => program.execute_watched(emulation, progress),
            Self::Trace(recording) => recording.read(),
        }
    }

    pub(crate) fn examine(
        &self,
        emulation: &EmulationSpec,
        progress: &EmulationProgress,
    ) -> Result<Examined, ExecuteError> {
        match self {
            Self::Workload(program) => program.examine_watched(emulation, progress),
            Self::Trace(recording) => Err(recording.refuse("checked")),
        }
    }

    /// Returns the program that is emulated; `None` for a trace.
    pub(crate) fn program(&self) -> Option<&HostProgram> {
        match self {
            Self::Workload(program) => Some(program),
            Self::Trace(_) => None,
        }
    }

    pub(crate) fn warnings(&self) -> &Diagnostics {
        match self {
            Self::Workload(program) => program.warnings(),
            Self::Trace(recording) => &recording.warnings,
        }
    }

    pub(crate) fn demands(&self, emulated: &Program, emulation: &EmulationSpec) -> ProgramDemands {
        match self {
            Self::Workload(program) => ProgramDemands::of(program, emulated, emulation),
            Self::Trace(recording) => ProgramDemands::of_trace(recording.demands.clone()),
        }
    }

    /// Returns the names of launched kernels that are known before the program is emulated.
    pub(super) fn kernel_names(&self, emulation: &EmulationSpec) -> Vec<String> {
        let asked = self.demands(&Program::default(), emulation);
        let kernels = asked.demands.kernels.into_iter();
        kernels.map(|kernel| kernel.name).collect()
    }

    /// Returns the files that were read, except the one that describes a workload.
    pub(super) fn files_read(&self) -> &[PathBuf] {
        match self {
            Self::Workload(program) => program.files_read(),
            Self::Trace(recording) => &recording.files,
        }
    }
}
