//! The buffers that a program calls its results, as files.

use super::{Executed, HostProgram};

impl HostProgram {
    /// Names of the files that [`HostProgram::results`] gives, in order.
    pub fn result_names(&self) -> impl Iterator<Item = String> {
        let results = self.results.iter();
        results.map(|(buffer, format)| format!("{}.{}", buffer.value, format.ending()))
    }

    /// The results of a program that was executed, each as the bytes of a file. A buffer that was never copied to
    /// the host, in a loop of no rounds, is left out.
    pub fn results(&self, executed: &Executed) -> impl Iterator<Item = (String, Vec<u8>)> {
        let results = self.result_names().zip(&self.results);
        results.filter_map(|(file, (name, format))| {
            let words = executed.outputs.get(&name.value)?;
            let buffer = self
                .buffers
                .iter()
                .find(|buffer| buffer.name.value == name.value)?;
            let bytes = format.file(&name.value, buffer.element, buffer.length, words);
            Some((file, bytes))
        })
    }
}
