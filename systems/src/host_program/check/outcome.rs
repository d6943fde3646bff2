//! Checks of a program's end: results, expected answers and allowed findings.

use warpweave_inputs::{Name, ResultFormat};

use super::Checker;
use crate::host_program::description::{Allow, Mistake};
use crate::host_program::modules::ProgramModule;
use crate::host_program::structures::{Column, Elements};
use crate::host_program::{answers, unknown};

impl Checker<'_> {
    pub(super) fn allowed(&mut self) {
        for allow in &self.program.allowed {
            let Allow {
                kernel,
                finding,
                buffer,
                because,
            } = &allow.value;
            let modules = self.program.modules.iter();
            let names: Vec<&str> = modules.flat_map(ProgramModule::kernel_names).collect();
            if !names.contains(&kernel.value.as_str()) {
                self.problems.push(unknown("kernel", kernel, names));
            }
            if let (Mistake::GlobalRace, Some(buffer)) = (finding, buffer) {
                self.buffer(buffer);
            }
            if because.value.trim().is_empty() {
                let problem = because.error("an allowed finding needs a reason");
                self.problems
                    .push(problem.hint("explain why it is harmless"));
            }
        }
    }

    pub(super) fn results(&mut self) {
        for (name, format) in &self.program.results {
            let Some(buffer) = self.buffer(name) else {
                continue;
            };
            if let (ResultFormat::Npy, Elements::Structures(_)) =
                (format, &self.program.buffers[buffer].elements)
            {
                let message = format!(
                    "buffer `{}` of structures cannot be written as Npy",
                    name.value
                );
                let hint = "write it as Csv, with a column for each field";
                self.problems.push(name.error(message).hint(hint));
            }
            self.copied_back(name, buffer, "is a result");
            if name.value.starts_with('.') || name.value.contains(['/', '\\', ':', '\0']) {
                let message = format!("a file cannot be named after buffer `{}`", name.value);
                let hint = "start its name with a letter and avoid `/`, `\\` and `:`";
                self.problems.push(name.error(message).hint(hint));
            }
        }
    }

    pub(super) fn expectations(&mut self) {
        for expectation in &self.program.expectations {
            let Some(Column { buffer, .. }) = self.column(&expectation.buffer) else {
                continue;
            };
            self.copied_back(&expectation.buffer, buffer, "has an expected value");
            let needs = self
                .problems
                .take(answers::check(self.program, expectation));
            let Some(needs) = needs else {
                continue;
            };
            self.files.extend(needs.files);
            for other in &needs.computed {
                if let Some(Column { buffer, .. }) = self.column(other) {
                    self.copied_back(other, buffer, "is an expected value");
                }
            }
        }
    }

    /// Checks that some command copies a buffer to the host. `reason` says why it is needed there.
    fn copied_back(&mut self, named: &Name, buffer: usize, reason: &str) {
        if self.copied.contains(&buffer) {
            return;
        }
        let name = &self.program.buffers[buffer].name.value;
        let message = format!("buffer `{name}` {reason} but is never copied to the host");
        let hint = format!("add CopyToHost(\"{name}\") to the commands");
        self.problems.push(named.error(message).hint(hint));
    }
}
