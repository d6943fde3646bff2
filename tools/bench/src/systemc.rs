//! Workloads in SystemC: a program compiled with the host's compiler and library.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SOURCE: &str = include_str!("../peers/systemc.cpp");

/// Path of the compiled SystemC program.
pub(crate) struct SystemC(PathBuf);

impl SystemC {
    /// Compiles the SystemC program next to this one.
    ///
    /// # Errors
    /// Fails with a text if there is no compiler or no library.
    pub(crate) fn compile(folder: &Path) -> Result<Self, String> {
        let program = folder.join("systemc-peer");
        let failed = |what: &dyn std::fmt::Display| {
            format!("{what}\nhint: apt-get install g++ libsystemc-dev")
        };
        let mut compiler = Command::new("g++")
            .args(["-std=c++17", "-O2", "-o"])
            .arg(&program)
            .args(["-x", "c++", "-", "-lsystemc"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| failed(&format_args!("g++: {e}")))?;
        let mut input = compiler.stdin.take().expect("it is piped");
        // A compiler that is gone says why below.
        let _ = input.write_all(SOURCE.as_bytes());
        drop(input);
        let output = compiler
            .wait_with_output()
            .map_err(|e| failed(&format_args!("g++: {e}")))?;
        if output.status.success() {
            return Ok(Self(program));
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let first = errors.lines().find(|line| line.contains("error"));
        Err(failed(&first.unwrap_or("g++ failed")))
    }

    /// Returns the command for a run of `length` units (items, for the pipe).
    pub(crate) fn command(&self, workload: &str, style: &str, length: u64) -> Command {
        let mut command = Command::new(&self.0);
        command.args([workload, style, &length.to_string()]);
        command
    }
}
