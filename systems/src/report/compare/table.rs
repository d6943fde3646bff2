//! Output of a comparison in CSV format.

use super::{Cell, Comparison, Parameter, Row};
use crate::report::csv_table::CsvTable;

impl Comparison {
    /// Returns all differences as CSV, with a row for each quantity and side. Columns are `part`
    /// (`total`, `kernel`, `slots`, `statistic`, `alone`, `override`, `system`), `place`, `name`,
    /// `unit`, `side`, `value`, `least`, `most`, `runs`, `relative_change` and `within_noise`.
    /// Totals and kernels are always included.
    pub fn to_csv(&self) -> String {
        let mut table = CsvTable::new(&[
            "part",
            "place",
            "name",
            "unit",
            "side",
            "value",
            "least",
            "most",
            "runs",
            "relative_change",
            "within_noise",
        ]);
        for (part, rows) in [
            ("total", &self.totals),
            ("kernel", &self.kernels),
            ("slots", &self.slots),
            ("statistic", &self.statistics),
        ] {
            for row in rows {
                self.quantity(&mut table, part, row);
            }
        }
        for row in self.alone.iter().flat_map(|part| &part.rows) {
            self.quantity(&mut table, "alone", row);
        }
        let system = self.system.as_deref().unwrap_or_default();
        for (part, parameters) in [("override", &self.overrides[..]), ("system", system)] {
            for parameter in parameters {
                self.parameter(&mut table, part, parameter);
            }
        }
        table.take()
    }

    fn quantity(&self, table: &mut CsvTable, part: &str, row: &Row) {
        for (at, side) in self.sides.iter().enumerate() {
            let cell = row.cells[at].as_ref();
            let number = |of: fn(&Cell) -> f64| cell.map_or(String::new(), |c| of(c).to_string());
            let change = (at > 0).then(|| row.change(at)).flatten();
            let relative = change.and_then(|change| change.relative);
            let noise = change.and_then(|change| change.within_noise);
            table.row([
                part,
                &row.place,
                &row.name,
                &row.unit,
                &side.name,
                &number(|cell| cell.value),
                &number(|cell| cell.least),
                &number(|cell| cell.most),
                &cell.map_or(0, |cell| cell.runs).to_string(),
                &relative.map_or(String::new(), |x| x.to_string()),
                &noise.map_or(String::new(), |noise| noise.to_string()),
            ]);
        }
    }

    fn parameter(&self, table: &mut CsvTable, part: &str, parameter: &Parameter) {
        for (side, value) in self.sides.iter().zip(&parameter.values) {
            let value = value.as_deref().unwrap_or_default();
            let runs = side.runs.to_string();
            let path = &parameter.path;
            table.row([part, path, "", "", &side.name, value, "", "", &runs, "", ""]);
        }
    }
}
