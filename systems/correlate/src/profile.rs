//! Profiles as `ncu --csv` prints them: launches with the values of their metrics.

use std::collections::BTreeMap;

use warpweave_files::{Ledger, OverBudget};
use warpweave_params::{Diagnostic, name_hint};

use crate::cells::{Cell, Line};
use crate::metric::{BLOCK, GRID, canonical};
use crate::number;

/// Column that numbers the launches of a process.
const ID: &str = "ID";
/// Column with the names of kernels.
const KERNEL: &str = "Kernel Name";
const PROCESS: &str = "Process ID";
const GRID_SIZE: &str = "Grid Size";
const BLOCK_SIZE: &str = "Block Size";
/// Begin of the line that the profiler prints when a program starts.
const CONNECTED: &str = "==PROF== Connected";
/// Columns that only tables with a row for each metric have.
const METRIC: [&str; 3] = ["Metric Name", "Metric Unit", "Metric Value"];

/// Estimated bytes of a launch in memory, besides its name and values.
const LAUNCH_BYTES: u64 = size_of::<ProfiledLaunch>() as u64;

/// Condition on a column for the rows that are taken from a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileFilter {
    /// Name of the column in the table's first line.
    pub column: String,
    /// Value that the column must have in a row.
    pub value: String,
}

/// Launches of a profile with the metrics that are compared.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Name of the file as given by the user.
    pub(crate) file: String,
    /// Launches in the order of the file.
    pub(crate) launches: Vec<ProfiledLaunch>,
    /// Names of the metrics that any launch has, by index.
    metrics: Vec<String>,
}

/// One launch of a profile, with the values of its metrics.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProfiledLaunch {
    /// Number of the launch within its process.
    pub(crate) id: u64,
    /// Name of the kernel as printed.
    pub(crate) kernel: String,
    pub(crate) grid: Option<[u32; 3]>,
    pub(crate) block: Option<[u32; 3]>,
    /// Values by the index of their metric.
    values: Vec<(u32, f64)>,
}

impl Profile {
    /// Reads the tables of a file. The launches are charged to `ledger`.
    ///
    /// # Errors
    /// Returns an error with line and column for what is not a table, not a number, or names a
    /// column that no table has. Also fails if the launches exceed the memory budget.
    pub fn read(
        file: &str,
        text: &str,
        filters: &[ProfileFilter],
        ledger: &Ledger,
    ) -> Result<Self, Diagnostic> {
        let profile = Self {
            file: file.to_owned(),
            ..Self::default()
        };
        let mut reading = Reading {
            profile,
            filters,
            ledger,
            at: BTreeMap::new(),
            tables: 0,
        };
        let mut table: Option<Table> = None;
        for (number, text) in (1..).zip(text.lines()) {
            let text = text.trim_start_matches('\u{feff}');
            let line = Line { file, number, text };
            if text.starts_with(CONNECTED) {
                // The output of another program follows, up to its own table.
                table = None;
            }
            if text.trim().is_empty() || text.starts_with("==") {
                continue;
            }
            if text.contains(ID)
                && text.contains(KERNEL)
                && let Ok(cells) = line.cells()
                && [ID, KERNEL]
                    .iter()
                    .all(|name| cells.iter().any(|cell| cell.text == *name))
            {
                table = Some(Table::of(&line, &cells, filters)?);
                reading.tables += 1;
                continue;
            }
            // Lines before the first table are the program's.
            if let Some(table) = &mut table {
                reading.row(table, &line)?;
            }
        }
        if reading.tables == 0 {
            let message =
                format!("{file}: no line names the columns `{ID}` and `{KERNEL}` of a profile");
            return Err(Diagnostic::error(message)
                .hint("a profile is what `ncu --csv` or `ncu --csv --page raw` prints"));
        }
        Ok(reading.profile)
    }

    /// Returns the value of a metric in a launch, if the profile has it.
    pub(crate) fn value(&self, launch: &ProfiledLaunch, metric: &str) -> Option<f64> {
        let index = self.metrics.iter().position(|name| name == metric)? as u32;
        let found = launch.values.iter().find(|(at, _)| *at == index);
        found.map(|(_, value)| *value)
    }

    /// Returns all metrics of a launch by name.
    pub(crate) fn values<'p>(
        &'p self,
        launch: &'p ProfiledLaunch,
    ) -> impl Iterator<Item = (&'p str, f64)> {
        let name = |index: u32| self.metrics[index as usize].as_str();
        launch
            .values
            .iter()
            .map(move |(at, value)| (name(*at), *value))
    }

    fn index(&mut self, metric: &str) -> u32 {
        let known = self.metrics.iter().position(|name| name == metric);
        let index = known.unwrap_or_else(|| {
            self.metrics.push(metric.to_owned());
            self.metrics.len() - 1
        });
        index as u32
    }
}

/// State of reading the tables of a file.
struct Reading<'a> {
    profile: Profile,
    filters: &'a [ProfileFilter],
    ledger: &'a Ledger,
    /// Launches of tables with a row per metric, by table, process and number.
    at: BTreeMap<(u32, String, u64), usize>,
    tables: u32,
}

/// Columns of one table, and which of them are read.
struct Table {
    columns: Vec<String>,
    id: usize,
    kernel: usize,
    /// Columns of name, unit and value, in a table with a row for each metric.
    long: Option<[usize; 3]>,
    /// Columns of metrics that are compared, in a table with a row for each launch.
    metrics: Vec<(usize, String)>,
    /// Factors of the units by column, from the second line of a table with rows of launches.
    factors: Vec<f64>,
}

impl Table {
    fn of(
        line: &Line<'_>,
        cells: &[Cell<'_>],
        filters: &[ProfileFilter],
    ) -> Result<Self, Diagnostic> {
        let columns: Vec<String> = cells.iter().map(|cell| cell.text.to_string()).collect();
        let place = |name: &str| columns.iter().position(|column| column == name);
        for filter in filters {
            if place(&filter.column).is_none() {
                let names = columns.iter().map(String::as_str);
                let hint = name_hint(&filter.column, "columns", names);
                let message = format!("the table has no column `{}`", filter.column);
                return Err(line.error(0..line.text.len(), message).hint(hint));
            }
        }
        let long = METRIC.map(place);
        let long = match long {
            [Some(name), Some(unit), Some(value)] => Some([name, unit, value]),
            _ => None,
        };
        let metrics = columns.iter().enumerate().filter_map(|(at, column)| {
            let metric = canonical(column).filter(|_| long.is_none())?;
            Some((at, metric.to_owned()))
        });
        Ok(Self {
            id: place(ID).unwrap_or_default(),
            kernel: place(KERNEL).unwrap_or_default(),
            long,
            metrics: metrics.collect(),
            factors: vec![1.0; columns.len()],
            columns,
        })
    }

    fn cell<'c, 'a>(&self, cells: &'c [Cell<'a>], column: &str) -> Option<&'c Cell<'a>> {
        let at = self.columns.iter().position(|name| name == column)?;
        cells.get(at)
    }
}

impl Reading<'_> {
    fn row(&mut self, table: &mut Table, line: &Line<'_>) -> Result<(), Diagnostic> {
        let cells = line.cells()?;
        if cells.len() != table.columns.len() {
            let (found, wanted) = (cells.len(), table.columns.len());
            let message = format!("{found} values in a table of {wanted} columns");
            return Err(line
                .error(0..line.text.len(), message)
                .hint("print the profile into a file of its own: `ncu --csv --log-file FILE`"));
        }
        let id = &cells[table.id];
        if id.text.is_empty() && cells[table.kernel].text.is_empty() {
            let units = cells.iter().map(|cell| number::factor(&cell.text));
            table.factors = units.collect();
            return Ok(());
        }
        let is_taken = |filter: &ProfileFilter| {
            let cell = table.cell(&cells, &filter.column);
            cell.is_some_and(|cell| cell.text == filter.value.as_str())
        };
        if !self.filters.iter().all(is_taken) {
            return Ok(());
        }
        let Ok(id) = id.text.parse::<u64>() else {
            let message = format!("expected the number of a launch in column `{ID}`");
            return Err(line.error(id.place.clone(), message));
        };
        if cells[table.kernel].text.is_empty() {
            let message = format!("column `{KERNEL}` is empty");
            return Err(line.error(cells[table.kernel].place.clone(), message));
        }
        let Some([name, unit, value]) = table.long else {
            let launch = self.new_launch(table, line, &cells, id)?;
            for (at, metric) in &table.metrics {
                self.put(launch, metric, line, &cells[*at], table.factors[*at])?;
            }
            self.complete_shape(launch);
            return Ok(());
        };
        let launch = self.launch_of(table, line, &cells, id)?;
        match canonical(&cells[name].text) {
            Some(metric) => {
                let factor = number::factor(&cells[unit].text);
                self.put(launch, metric, line, &cells[value], factor)
            }
            None => Ok(()),
        }
    }

    /// Returns the launch of a row of a table with a row for each metric.
    fn launch_of(
        &mut self,
        table: &Table,
        line: &Line<'_>,
        cells: &[Cell<'_>],
        id: u64,
    ) -> Result<usize, Diagnostic> {
        let process = table.cell(cells, PROCESS).map(|cell| cell.text.to_string());
        let key = (self.tables, process.unwrap_or_default(), id);
        if let Some(at) = self.at.get(&key) {
            return Ok(*at);
        }
        let launch = self.new_launch(table, line, cells, id)?;
        self.at.insert(key, launch);
        Ok(launch)
    }

    fn new_launch(
        &mut self,
        table: &Table,
        line: &Line<'_>,
        cells: &[Cell<'_>],
        id: u64,
    ) -> Result<usize, Diagnostic> {
        let kernel = cells[table.kernel].text.to_string();
        // The vector of launches may double, and a key of a long table is about a launch.
        self.charge(3 * LAUNCH_BYTES + 2 * kernel.len() as u64)?;
        let shape = |column: &str| match table.cell(cells, column) {
            Some(cell) if !cell.text.is_empty() => extents(&cell.text)
                .map(Some)
                .ok_or_else(|| line.error(cell.place.clone(), "expected extents as `(256, 1, 1)`")),
            _ => Ok(None),
        };
        self.profile.launches.push(ProfiledLaunch {
            id,
            kernel,
            grid: shape(GRID_SIZE)?,
            block: shape(BLOCK_SIZE)?,
            values: Vec::new(),
        });
        Ok(self.profile.launches.len() - 1)
    }

    /// Adds the value of a metric. The first of several values counts: sections repeat metrics.
    fn put(
        &mut self,
        launch: usize,
        metric: &str,
        line: &Line<'_>,
        cell: &Cell<'_>,
        factor: f64,
    ) -> Result<(), Diagnostic> {
        let value = number::value(&cell.text).map_err(|problem| {
            line.error(cell.place.clone(), format!("`{metric}`: {problem}"))
                .hint("set `LC_ALL=C` for `ncu`, and print units with `--print-units base`")
        })?;
        let Some(value) = value else {
            return Ok(());
        };
        let is_new = !self.profile.metrics.iter().any(|name| name == metric);
        let name = if is_new { 2 * metric.len() } else { 0 };
        self.charge((4 * size_of::<(u32, f64)>() + name) as u64)?;
        let index = self.profile.index(metric);
        let values = &mut self.profile.launches[launch].values;
        if !values.iter().any(|(at, _)| *at == index) {
            values.push((index, value * factor));
        }
        Ok(())
    }

    /// Takes grid and block from their metrics where the table has no columns for them.
    fn complete_shape(&mut self, launch: usize) {
        let profile = &self.profile;
        let of = |metrics: [&str; 3]| {
            let values = metrics.map(|metric| profile.value(&profile.launches[launch], metric));
            let [Some(x), Some(y), Some(z)] = values else {
                return None;
            };
            Some([x, y, z].map(|extent| extent as u32))
        };
        let (grid, block) = (of(GRID), of(BLOCK));
        let launch = &mut self.profile.launches[launch];
        launch.grid = launch.grid.or(grid);
        launch.block = launch.block.or(block);
    }

    fn charge(&self, bytes: u64) -> Result<(), Diagnostic> {
        let charged: Result<(), OverBudget> = self.ledger.charge(&self.profile.file, bytes);
        charged.map_err(Diagnostic::from)
    }
}

/// Reads one to three extents, such as `(256, 1, 1)`, `256,1,1` or `16x16`.
fn extents(text: &str) -> Option<[u32; 3]> {
    let inner = text.trim().trim_start_matches('(').trim_end_matches(')');
    let mut extents = [1; 3];
    for (at, part) in inner.split([',', 'x']).enumerate() {
        *extents.get_mut(at)? = part.trim().parse().ok()?;
    }
    Some(extents)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warpweave_files::Budget;

    use super::*;

    const WIDE: &str = "\
==PROF== Connected to process 4242 (/home/me/app)
the sum is 1, 2, 3
==PROF== Profiling \"scale\" - 0: 0%....50%....100% - 9 passes
\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"sm__cycles_elapsed.max\",\"dram__bytes_read.sum\",\"unknown\"
\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"cycle\",\"Kbyte\",\"\"
\"0\",\"4242\",\"app\",\"127.0.0.1\",\"scale(float *, int)\",\"1\",\"7\",\"(256, 1, 1)\",\"(1024, 2, 1)\",\"0\",\"9.0\",\"12,345\",\"64.5\",\"a word\"
\"1\",\"4242\",\"app\",\"127.0.0.1\",\"void sum<int>(int *)\",\"1\",\"7\",\"(32, 1, 1)\",\"(1, 1, 1)\",\"0\",\"9.0\",\"n/a\",\"0\",\"\"
";

    const LONG: &str = "\
==PROF== Disconnected from process 7
\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Kernel Time\",\"Context\",\"Stream\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"
\"0\",\"7\",\"app\",\"host\",\"scale(float *, int)\",\"2020-Jan-01 10:00:00\",\"1\",\"7\",\"Command line profiler metrics\",\"sm__cycles_elapsed.max\",\"cycle\",\"12,345\"
\"0\",\"7\",\"app\",\"host\",\"scale(float *, int)\",\"2020-Jan-01 10:00:00\",\"1\",\"7\",\"Launch Statistics\",\"Registers Per Thread\",\"register/thread\",\"16\"
\"0\",\"7\",\"app\",\"host\",\"scale(float *, int)\",\"2020-Jan-01 10:00:00\",\"1\",\"7\",\"Occupancy\",\"Registers Per Thread\",\"register/thread\",\"99\"
\"1\",\"7\",\"app\",\"host\",\"sum\",\"2020-Jan-01 10:00:01\",\"1\",\"7\",\"Launch Statistics\",\"Waves Per SM\",\"\",\"0.5\"
";

    fn read(text: &str, filters: &[(&str, &str)]) -> Result<Profile, String> {
        let filters: Vec<ProfileFilter> = filters
            .iter()
            .map(|(column, value)| ProfileFilter {
                column: (*column).to_owned(),
                value: (*value).to_owned(),
            })
            .collect();
        let ledger = Ledger::new(&Budget::unlimited());
        Profile::read("p.csv", text, &filters, &ledger).map_err(|error| error.to_string())
    }

    #[test]
    fn a_row_of_a_wide_table_is_a_launch_in_base_units() {
        let profile = read(WIDE, &[]).unwrap();
        let [scale, sum] = &profile.launches[..] else {
            panic!("{:?}", profile.launches)
        };
        assert_eq!(
            (scale.id, scale.kernel.as_str()),
            (0, "scale(float *, int)")
        );
        assert_eq!(scale.grid, Some([1024, 2, 1]));
        assert_eq!(scale.block, Some([256, 1, 1]));
        assert_eq!(
            profile.value(scale, "sm__cycles_elapsed.max"),
            Some(12345.0)
        );
        assert_eq!(profile.value(scale, "dram__bytes_read.sum"), Some(64500.0));
        assert_eq!(profile.value(scale, "unknown"), None);
        assert_eq!(profile.value(sum, "sm__cycles_elapsed.max"), None);
        assert_eq!(profile.value(sum, "dram__bytes_read.sum"), Some(0.0));
    }

    #[test]
    fn rows_of_a_long_table_are_joined_by_launch() {
        let profile = read(LONG, &[]).unwrap();
        let [scale, sum] = &profile.launches[..] else {
            panic!("{:?}", profile.launches)
        };
        assert_eq!(
            profile.value(scale, "sm__cycles_elapsed.max"),
            Some(12345.0)
        );
        assert_eq!(
            profile.value(scale, "launch__registers_per_thread"),
            Some(16.0)
        );
        assert_eq!((sum.id, sum.values.len()), (1, 0));
        assert_eq!(sum.grid, None);
    }

    #[test]
    fn tables_follow_each_other_with_launches_of_equal_numbers() {
        let profile = read(&format!("{LONG}{WIDE}{LONG}"), &[]).unwrap();
        assert_eq!(profile.launches.len(), 6);
    }

    #[test]
    fn rows_are_selected_by_the_columns_before_the_profilers_own() {
        let text = "size,ID,Kernel Name,launch__grid_dim_x,launch__grid_dim_y,launch__grid_dim_z\n\
                    ,,,,,\nS,0,a,1,2,3\nP,0,a,4,5,6\n";
        let profile = read(text, &[("size", "P")]).unwrap();
        assert_eq!(profile.launches.len(), 1);
        assert_eq!(profile.launches[0].grid, Some([4, 5, 6]));
        let refused = read(text, &[("sise", "P")]).unwrap_err();
        assert!(
            refused.contains("p.csv:1:1") && refused.contains("`size`"),
            "{refused}"
        );
    }

    #[test]
    fn what_is_wrong_has_its_line_and_column() {
        let with = |row: &str| {
            let head = "ID,Kernel Name,Grid Size,sm__cycles_elapsed.max\n,,,cycle\n";
            read(&format!("{head}{row}\n"), &[]).unwrap_err()
        };
        for (row, place, problem) in [
            (
                "0,k,\"(1, 1, 1)\",\"1.234,5\"",
                "p.csv:3:17",
                "sm__cycles_elapsed.max",
            ),
            ("0,k,wide,7", "p.csv:3:5", "expected extents"),
            ("0,k,7", "p.csv:3:1", "3 values in a table of 4 columns"),
            ("x,k,1,7", "p.csv:3:1", "number of a launch"),
            ("1,,1,7", "p.csv:3:3", "is empty"),
            ("1,\"k,1,7", "p.csv:3:3", "does not end"),
        ] {
            let error = with(row);
            assert!(
                error.contains(place) && error.contains(problem),
                "{row}: {error}"
            );
        }
    }

    #[test]
    fn a_file_without_a_table_is_refused() {
        let error = read("==PROF== nothing\nhello\n", &[]).unwrap_err();
        assert!(
            error.contains("no line names the columns") && error.contains("ncu --csv"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn damaged_profiles_are_read_or_refused_at_a_place(
            long in any::<bool>(),
            at in 0_usize..2_000,
            cut in 0_usize..8,
            put in "[\"\\n,=.()0-9a-zé]{0,6}",
        ) {
            let mut text = if long { LONG } else { WIDE }.to_owned();
            let from = text.floor_char_boundary(at % text.len());
            let to = text.floor_char_boundary((from + cut).min(text.len()));
            text.replace_range(from..to.max(from), &put);
            if let Err(error) = read(&text, &[]) {
                let placed = error.contains("p.csv:") || error.contains("no line names the columns");
                prop_assert!(placed, "{error}");
            }
        }
    }

    #[test]
    fn launches_are_charged_before_they_are_kept() {
        let ledger = Ledger::new(&Budget::of(100));
        let error = Profile::read("p.csv", WIDE, &[], &ledger).unwrap_err();
        assert!(error.over_budget, "{error}");
    }
}
