//! Buffers of structures, filled from tables and from rows.

use std::path::PathBuf;

use warpweave_inputs::{
    ColumnChoice, FileArray, FileFormat, FileReading, Value, read_array, words_of_bytes,
};
use warpweave_params::{Diagnostic, Diagnostics, Env, Files, Placed};

use super::structures::Structure;

/// Builds structures from a table with a column for each field.
pub(super) fn read(
    structure: &Structure,
    path: &Placed<PathBuf>,
    files: &Files,
    how: &FileReading,
) -> Result<FileArray, Diagnostics> {
    let columns: Vec<&str> = structure.field_names().collect();
    let columns = format!("one column per field: {}", columns.join(", "));
    let format = how.format.unwrap_or_else(|| FileFormat::of(&path.value));
    if format != FileFormat::Csv {
        let message = format!(
            "structures are read from tables, but {} is read as {format:?}",
            path.value.display()
        );
        let hint =
            format!("use a `.csv` file with {columns}; or a buffer of numbers for each field");
        return Err(path.error(message).hint(hint).into());
    }
    if how.column.is_some() || how.header == Some(false) {
        let message = "structures select their columns by the names in the first line";
        let hint = format!("omit `column` and `header`; the table needs {columns}");
        return Err(path.error(message).hint(hint).into());
    }
    let mut problems = Diagnostics::new();
    let mut arrays = Vec::new();
    for field in &structure.fields {
        let how = FileReading {
            format: Some(FileFormat::Csv),
            column: Some(ColumnChoice::Name(field.name.clone())),
            header: None,
        };
        let array = read_array(&path.value, files, field.element, &how);
        arrays.extend(problems.take(array.map_err(|error| path.blame(error))));
    }
    problems.into_result(())?;
    let length = arrays.first().map_or(0, |array| array.length);
    let mut bytes = vec![0; structure.bytes * length];
    for ((_, column), array) in structure.columns(0, length).zip(&arrays) {
        let numbers = (0..length).map(|index| column.element.pattern(&array.words, index));
        column.scatter(numbers, &mut bytes);
    }
    Ok(FileArray {
        words: words_of_bytes(&bytes),
        length,
    })
}

/// Builds structures from rows of numbers, one for each field.
pub(super) fn given(
    structure: &Structure,
    rows: &[Placed<Vec<Value>>],
    env: &Env,
) -> Result<FileArray, Diagnostics> {
    let mut problems = Diagnostics::new();
    for row in rows {
        let (found, expected) = (row.value.len(), structure.fields.len());
        if found != expected {
            let name = &structure.name.value;
            let message =
                format!("structure `{name}` has {expected} fields, but {found} are given");
            problems.push(row.error(message).hint(structure.places()));
        }
    }
    problems.into_result(())?;
    let mut problems = Diagnostics::new();
    let mut bytes = vec![0; structure.bytes * rows.len()];
    for (at, (name, column)) in structure.columns(0, rows.len()).enumerate() {
        let what = format!("field `{name}`");
        let number = |row: &Placed<Vec<Value>>| -> Result<u64, Diagnostic> {
            column.element.bits(&row.value[at], env, &what)
        };
        let numbers: Vec<Option<u64>> = rows.iter().map(|row| problems.take(number(row))).collect();
        column.scatter(
            numbers.into_iter().map(Option::unwrap_or_default),
            &mut bytes,
        );
    }
    problems.into_result(FileArray {
        words: words_of_bytes(&bytes),
        length: rows.len(),
    })
}
