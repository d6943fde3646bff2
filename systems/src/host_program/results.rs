//! Result buffers of a program, written as files.

use warpweave_inputs::table;

use super::structures::Elements;
use super::{Executed, HostProgram};

impl HostProgram {
    /// Returns the file names of [`HostProgram::results`], in order.
    pub fn result_names(&self) -> impl Iterator<Item = String> {
        let results = self.results.iter();
        results.map(|(buffer, format)| format!("{}.{}", buffer.value, format.ending()))
    }

    /// Returns the results of an executed program, each as the bytes of a file. A buffer that was
    /// never copied to the host, such as by a command that was not reached, is omitted.
    pub fn results(&self, executed: &Executed) -> impl Iterator<Item = (String, Vec<u8>)> {
        let results = self.result_names().zip(&self.results);
        results.filter_map(|(file, (name, format))| {
            let words = executed.outputs.get(&name.value)?;
            let number = self.buffer(name).ok()?;
            let buffer = &self.buffers[number];
            let bytes = match &buffer.elements {
                Elements::Numbers(element) => {
                    format.file(&name.value, *element, buffer.length, words)
                }
                Elements::Structures(structure) => {
                    let columns = structure.columns(number, buffer.length);
                    let columns: Vec<_> = columns
                        .map(|(name, column)| (name, column.element, column.gather(words)))
                        .collect();
                    table(buffer.length, &columns).into_bytes()
                }
            };
            Some((file, bytes))
        })
    }
}
