//! Lines of CSV files.

use std::fmt::Write as _;

/// Appends a line of CSV, quoting fields if needed.
pub fn csv_line(text: &mut String, fields: &[impl AsRef<str>]) {
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        let field = field.as_ref();
        if field.contains([',', '"', '\n', '\r']) {
            let _ = write!(text, "\"{}\"", field.replace('"', "\"\""));
        } else {
            text.push_str(field);
        }
    }
    text.push('\n');
}
