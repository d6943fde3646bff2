//! `warpweave analyze affine`: addresses of loads and stores as forms, and reuse between
//! work-groups.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::ValueEnum;
use serde_json::{Value, json};
use warpweave_affine::{
    Directions, LaunchAnalysis, LaunchHead, Reference, Reuse, ReuseOptions, Toucher, analyse,
};
use warpweave_files::{Budget, Input, Ledger, ReadError};
use warpweave_params::{Diagnostic, name_hint, printable_lines};
use warpweave_ptx::{DEVICE_BASE, Kernel, Module, Parameter, allocation_bytes, check_shape};
use warpweave_systems::report::CsvTable;
use warpweave_systems::{Scenario, locality};
use warpweave_trace::{Allocation, Code, Program, TraceError};

use crate::arguments::power_of_two;
use crate::outcome::{CommandResult, Failure, to_stderr, to_stdout};

/// First bytes of every program trace.
const TRACE: &[u8; 8] = b"WWTRACE\n";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Scenario, program trace (`trace record`), or PTX file (`.ptx`).
    file: PathBuf,
    /// Show only launches of this kernel; required for a PTX file with several.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Work-groups of the launch along x, y and z, for a PTX file: `X`, `X,Y` or `X,Y,Z`.
    #[arg(long, value_name = "X,Y,Z", value_parser = extents)]
    grid: Option<[u32; 3]>,
    /// Threads of a work-group along x, y and z, for a PTX file.
    #[arg(long, value_name = "X,Y,Z", value_parser = extents)]
    block: Option<[u32; 3]>,
    /// Argument of the kernel, in order, for a PTX file: a number, or `buffer:BYTES` for the
    /// address of a buffer; may be repeated.
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true)]
    args: Vec<String>,
    /// Size of a cache line in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 128, value_parser = power_of_two)]
    line_bytes: u64,
    /// Count stores too in the direction of a launch.
    #[arg(long)]
    include_stores: bool,
    /// Hold every access of the program against the analysis; a difference ends with exit code 1.
    #[arg(long)]
    verify: bool,
    /// Write the program's locality plan to this file, for `locality` of a scenario.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Override a value of a scenario, `path=value`; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Output format: text page, table or JSON.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Human-readable page with forms and witnesses.
    Text,
    /// Table with one row for each load, store or atomic.
    Csv,
    /// JSON object with all results of all launches.
    Json,
}

/// Launches of one kernel with equal shape and arguments.
struct Group {
    code: Arc<Code>,
    grid: [u32; 3],
    block: [u32; 3],
    arguments: Vec<u8>,
    /// Numbers of the launches in the program; empty for a PTX file.
    launches: Vec<u32>,
}

/// Results for the launches of one group.
struct Found {
    group: Group,
    analysis: LaunchAnalysis,
    directions: Directions,
    /// Reuse by each reference alone, along x and y.
    own: Vec<Directions>,
    words: Vec<Vec<String>>,
}

fn extents(text: &str) -> Result<[u32; 3], String> {
    let mut extents = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("up to three whole numbers, such as 4,4,1".to_owned());
    }
    for (extent, part) in extents.iter_mut().zip(parts) {
        let number = part.trim().parse().ok().filter(|&number| number > 0);
        *extent = number.ok_or("whole numbers from 1, such as 4,4,1")?;
    }
    Ok(extents)
}

pub(crate) fn affine(arguments: &Arguments, budget: &Budget) -> CommandResult {
    let is_ptx = arguments.file.extension().is_some_and(|end| end == "ptx");
    let (name, groups, allocations, program) = if is_ptx {
        for (given, message) in [
            (arguments.verify, "--verify needs recorded accesses"),
            (arguments.plan.is_some(), "--plan needs a program"),
        ] {
            if given {
                let message = format!("{message}: use a scenario or a trace");
                return Err(Failure::InputText(message));
            }
        }
        let (group, allocations) = of_ptx(arguments, budget)?;
        let name = arguments.file.display().to_string();
        (name, vec![group], allocations, None)
    } else {
        for (given, flag) in [
            (arguments.grid.is_some(), "--grid"),
            (arguments.block.is_some(), "--block"),
            (!arguments.args.is_empty(), "--arg"),
        ] {
            if given {
                let message = format!("{flag} is for PTX files; a program states its launches");
                return Err(Failure::InputText(message));
            }
        }
        let program = recorded(arguments, budget)?;
        let groups = of_program(&program, arguments.kernel.as_deref(), &arguments.file)?;
        if let Some(path) = &arguments.plan {
            locality::write(path, program.hash(), &locality::compute(&program))?;
        }
        let name = program.name.clone();
        (name, groups, program.allocations.clone(), Some(program))
    };
    let found: Vec<Found> = groups
        .into_iter()
        .map(|group| found(group, &allocations, arguments))
        .collect();
    let text = match arguments.format {
        Form::Text => printable_lines(&page(&name, &found)).into_owned(),
        Form::Csv => table(&found),
        Form::Json => {
            let groups: Vec<Value> = found.iter().map(object).collect();
            let whole =
                json!({ "program": name, "line_bytes": arguments.line_bytes, "launches": groups });
            let text = serde_json::to_string_pretty(&whole);
            text.expect("objects have text keys only") + "\n"
        }
    };
    to_stdout(&text)?;
    match program.filter(|_| arguments.verify) {
        Some(program) => Ok(verify(&found, &program)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Reads a trace, or emulates the program of a scenario.
fn recorded(arguments: &Arguments, budget: &Budget) -> Result<Arc<Program>, Failure> {
    if !is_trace(&arguments.file)? {
        let scenario = Scenario::load_within(&arguments.file, &arguments.sets, budget)?;
        return Ok(scenario.emulate()?.program);
    }
    if !arguments.sets.is_empty() {
        let message = "--set is for scenarios; a trace is what was recorded";
        return Err(Failure::InputText(message.to_owned()));
    }
    let program = Program::open_within(&arguments.file, &Ledger::new(budget));
    let program = program.map_err(|error| match error {
        TraceError::OverBudget(error) => Diagnostic::from(error).into(),
        error => Failure::InputText(error.to_string()),
    });
    program.map(Arc::new)
}

/// True if the file starts as a trace does; anything else is read as a scenario.
fn is_trace(path: &Path) -> Result<bool, Failure> {
    let refused =
        |error: std::io::Error| Failure::InputText(format!("{}: {error}", path.display()));
    let mut input = Input::open(path).map_err(refused)?;
    let mut begin = [0; TRACE.len()];
    match std::io::Read::read_exact(&mut input, &mut begin) {
        Ok(()) => Ok(begin == *TRACE),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(refused(error)),
    }
}

impl Group {
    fn head<'a>(&'a self, allocations: &'a [Allocation]) -> LaunchHead<'a> {
        LaunchHead {
            code: &self.code,
            grid: self.grid,
            block: self.block,
            arguments: &self.arguments,
            allocations,
        }
    }
}

fn found(group: Group, allocations: &[Allocation], arguments: &Arguments) -> Found {
    let head = group.head(allocations);
    let analysis = analyse(&head);
    let options = ReuseOptions {
        line_bytes: arguments.line_bytes as u32,
        include_stores: arguments.include_stores,
    };
    let directions = analysis.directions(&head, options);
    let references = analysis.references.iter();
    let own = references
        .clone()
        .map(|reference| analysis.own_directions(&head, reference, options.line_bytes));
    let own = own.collect();
    let words = references.map(|reference| analysis.words(&head, reference));
    let words = words.collect();
    Found {
        group,
        analysis,
        directions,
        own,
        words,
    }
}

/// Collects the launches of a program, those of equal code, shape and arguments together.
fn of_program(program: &Program, kernel: Option<&str>, file: &Path) -> Result<Vec<Group>, Failure> {
    let mut groups: Vec<Group> = Vec::new();
    for (number, launch) in (0..).zip(&program.kernels) {
        if kernel.is_some_and(|kernel| kernel != launch.code.name) {
            continue;
        }
        let known = groups.iter_mut().find(|group| {
            group.grid == launch.grid
                && group.block == launch.block
                && group.arguments == launch.arguments
                && (Arc::ptr_eq(&group.code, &launch.code) || group.code == launch.code)
        });
        match known {
            Some(group) => group.launches.push(number),
            None => groups.push(Group {
                code: Arc::clone(&launch.code),
                grid: launch.grid,
                block: launch.block,
                arguments: launch.arguments.clone(),
                launches: vec![number],
            }),
        }
    }
    if let Some(kernel) = kernel.filter(|_| groups.is_empty()) {
        let names = program
            .kernels
            .iter()
            .map(|launch| launch.code.name.as_str());
        let hint = name_hint(kernel, "kernels", names);
        return Err(Failure::InputText(format!(
            "--kernel {kernel}: {} launches no such kernel\nhint: {hint}",
            file.display()
        )));
    }
    Ok(groups)
}

/// Makes a launch of a PTX file from the command line.
fn of_ptx(arguments: &Arguments, budget: &Budget) -> Result<(Group, Vec<Allocation>), Failure> {
    let name = arguments.file.display().to_string();
    let refused = |error: &dyn std::fmt::Display| Failure::InputText(format!("{name}: {error}"));
    if !arguments.sets.is_empty() {
        return Err(refused(&"--set is for scenarios"));
    }
    let input = Input::open(&arguments.file).map_err(|error| refused(&error))?;
    let ledger = Ledger::new(budget);
    let text = input.read_text(&ledger).map_err(|error| match error {
        ReadError::OverBudget(error) => Diagnostic::from(error).into(),
        ReadError::Io(error) => refused(&error),
    })?;
    let tables = ledger.charge(&name, Module::parse_bytes(&text));
    tables.map_err(|error| Failure::from(Diagnostic::from(error)))?;
    let module = Module::parse(&name, &text);
    let module = module.map_err(|errors| Failure::InputText(errors.to_string()))?;
    let kernel = chosen(&module, arguments.kernel.as_deref(), &name)?;
    let missing = |flag: &str, example: &str| {
        let name = kernel.name();
        refused(&format!(
            "{flag} is missing: a launch of `{name}` needs it\nhint: {flag} {example}"
        ))
    };
    let grid = arguments.grid.ok_or_else(|| missing("--grid", "4,4"))?;
    let block = arguments.block.ok_or_else(|| missing("--block", "16,16"))?;
    let fits = check_shape(grid, block).and_then(|()| kernel.check_declared(block));
    fits.map_err(|problem| refused(&problem.message))?;
    let (block_bytes, allocations) = values(kernel, &arguments.args, &name)?;
    let group = Group {
        code: Arc::clone(kernel.code()),
        grid,
        block,
        arguments: block_bytes,
        launches: Vec::new(),
    };
    Ok((group, allocations))
}

fn chosen<'m>(module: &'m Module, wanted: Option<&str>, file: &str) -> Result<&'m Kernel, Failure> {
    let kernels = module.kernels();
    let names = || kernels.iter().map(Kernel::name);
    match (wanted, kernels) {
        (None, [only]) => Ok(only),
        (None, _) => {
            let names: Vec<&str> = names().collect();
            Err(Failure::InputText(format!(
                "{file}: choose one of its {} kernels\nhint: --kernel with one of: {}",
                kernels.len(),
                names.join(", ")
            )))
        }
        (Some(wanted), _) => {
            let found = kernels.iter().find(|kernel| kernel.name() == wanted);
            found.ok_or_else(|| {
                let hint = name_hint(wanted, "kernels", names());
                Failure::InputText(format!(
                    "--kernel {wanted}: {file} has no such kernel that can be launched\nhint: {hint}"
                ))
            })
        }
    }
}

/// Reads the arguments into an argument block, with the buffers that they ask for.
fn values(
    kernel: &Kernel,
    args: &[String],
    file: &str,
) -> Result<(Vec<u8>, Vec<Allocation>), Failure> {
    let parameters = kernel.parameters();
    if args.len() != parameters.len() {
        let wanted: Vec<String> = parameters
            .iter()
            .map(|parameter| format!("{} ({})", parameter.name, parameter.ty))
            .collect();
        return Err(Failure::InputText(format!(
            "{file}: `{}` takes {} arguments, but --arg was given {} times\nhint: in order: {}",
            kernel.name(),
            parameters.len(),
            args.len(),
            wanted.join(", ")
        )));
    }
    let (mut block, mut allocations) = (Vec::new(), Vec::new());
    let mut next = DEVICE_BASE;
    for (text, parameter) in args.iter().zip(parameters) {
        block.resize(parameter.offset as usize, 0);
        let bytes = if let Some(size) = text.strip_prefix("buffer:") {
            let bytes = size.parse::<u64>().ok();
            let bytes = bytes.filter(|&bytes| bytes > 0 && bytes <= 1 << 40);
            let bytes = bytes.ok_or_else(|| unreadable(text, parameter))?;
            let base = next;
            next += allocation_bytes(bytes);
            allocations.push(Allocation {
                name: parameter.name.clone(),
                base,
                bytes,
            });
            base.to_le_bytes()
        } else {
            number(text, parameter).ok_or_else(|| unreadable(text, parameter))?
        };
        let wanted = parameter.bytes as usize;
        let bytes = bytes
            .get(..wanted)
            .ok_or_else(|| unreadable(text, parameter))?;
        block.extend_from_slice(bytes);
    }
    Ok((block, allocations))
}

fn unreadable(text: &str, parameter: &Parameter) -> Failure {
    Failure::InputText(format!(
        "--arg {text}: not a value of `{}`, which is {} ({} bytes)\nhint: a number, or buffer:BYTES",
        parameter.name, parameter.ty, parameter.bytes
    ))
}

/// Reads a number of a parameter's type.
fn number(text: &str, parameter: &Parameter) -> Option<[u8; 8]> {
    if parameter.ty.is_float() {
        let value: f64 = text.parse().ok()?;
        return match parameter.bytes {
            4 => Some(u64::from((value as f32).to_bits()).to_le_bytes()),
            8 => Some(value.to_bits().to_le_bytes()),
            _ => None,
        };
    }
    let value: i128 = match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok()?,
        None => text.parse().ok()?,
    };
    let bits = parameter.bytes.checked_mul(8).filter(|&bits| bits <= 64)?;
    let whole = 1_i128 << bits;
    let fits = (-(whole / 2)..whole).contains(&value);
    fits.then(|| (value as u64).to_le_bytes())
}

/// Holds the accesses of every launch against the analysis and prints the result.
fn verify(found: &[Found], program: &Program) -> ExitCode {
    let (mut accesses, mut unknown, mut equal, mut skipped) = (0, 0, 0, 0);
    for of in found {
        for &number in &of.group.launches {
            let kernel = &program.kernels[number as usize];
            let head = of.group.head(&program.allocations);
            match of.analysis.verify(&head, kernel) {
                Ok(verified) => {
                    accesses += verified.accesses;
                    unknown += verified.unknown;
                    equal += verified.equal_sets;
                    skipped += verified.skipped;
                }
                Err(violation) => {
                    let name = &of.group.code.name;
                    to_stderr(&format!("error: launch {number} of {name}: {violation}"));
                    return ExitCode::from(1);
                }
            }
        }
    }
    to_stderr(&format!(
        "verified: {accesses} accesses lie where the analysis says, {unknown} are of unknown addresses; {equal} exact sets are equal, {skipped} sets are too large"
    ));
    ExitCode::SUCCESS
}

fn shape(extents: [u32; 3]) -> String {
    let [x, y, z] = extents;
    format!("{x} x {y} x {z}")
}

fn page(program: &str, found: &[Found]) -> String {
    let mut text = format!("{program}\n");
    for of in found {
        let group = &of.group;
        let launches = match &group.launches[..] {
            [] => String::new(),
            [only] => format!(", launch {only}"),
            [first, .., last] => {
                format!(", {} launches from {first} to {last}", group.launches.len())
            }
        };
        let _ = writeln!(
            text,
            "\n{}{launches}: grid of {}, work-groups of {}",
            group.code.name,
            shape(group.grid),
            shape(group.block)
        );
        for (at, reference) in of.analysis.references.iter().enumerate() {
            describe(reference, &of.words[at], &of.own[at], &mut text);
        }
        for (axis, reuse) in [("x", &of.directions.along_x), ("y", &of.directions.along_y)] {
            let _ = match reuse {
                None => writeln!(text, "  reuse along {axis}: none"),
                Some(reuse) => {
                    writeln!(text, "  reuse along {axis}: {}", witness(reuse))
                }
            };
        }
        let bound = if of.directions.is_exact {
            ""
        } else {
            ", an upper bound"
        };
        let _ = writeln!(
            text,
            "  direction: {}, distance {}{bound}",
            of.directions.direction.name(),
            of.directions.distance
        );
        for cause in &of.directions.causes {
            let _ = writeln!(text, "  left out: {cause}");
        }
    }
    text
}

fn describe(reference: &Reference, words: &[String], own: &Directions, text: &mut String) {
    let place = match reference.line {
        0 => format!("instruction {}", reference.pc),
        line => format!("line {line}"),
    };
    let _ = write!(
        text,
        "  {place:<10} {:<6} {:>2} B  {:<7}",
        reference.kind.name(),
        reference.bytes,
        reference.exactness.name()
    );
    if reference.is_unknown() {
        let cause = reference.cause().map(ToString::to_string);
        let _ = writeln!(text, "  {}", cause.unwrap_or_default());
        return;
    }
    let distance = |reuse: &Option<Reuse>| reuse.as_ref().map_or(0, |reuse| reuse.distance);
    let (x, y) = (distance(&own.along_x), distance(&own.along_y));
    let _ = writeln!(text, "  own reuse x {x}, y {y}");
    if words.is_empty() {
        text.push_str("             never executed\n");
    }
    for piece in words {
        let _ = writeln!(text, "             {piece}");
    }
    if let Some(cause) = reference.cause() {
        let _ = writeln!(text, "             {cause}");
    }
}

fn witness(reuse: &Reuse) -> String {
    let mut text = format!("distance {}", reuse.distance);
    if let Some([from, to]) = reuse.witness.as_deref() {
        let (from, to) = (toucher(from), toucher(to));
        let _ = write!(text, "; {from}, and {to} share line {}", reuse.line);
    }
    text
}

fn toucher(of: &Toucher) -> String {
    let place = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
    let mut text = format!(
        "instruction {} of work-group {} thread {}",
        of.pc,
        place(of.work_group),
        place(of.thread)
    );
    for (line, iteration) in &of.counters {
        let _ = write!(text, " k{line} = {iteration}");
    }
    text
}

fn table(found: &[Found]) -> String {
    let mut table = CsvTable::new(&[
        "launch",
        "kernel",
        "instruction",
        "line",
        "kind",
        "bytes",
        "exactness",
        "reuse_x",
        "reuse_y",
        "address",
        "cause",
    ]);
    for of in found {
        let launch = of.group.launches.first().map(ToString::to_string);
        let launch = launch.unwrap_or_default();
        for (at, reference) in of.analysis.references.iter().enumerate() {
            let distance = |reuse: &Option<Reuse>| {
                let known = !reference.is_unknown();
                let distance = reuse.as_ref().map_or(0, |reuse| reuse.distance);
                if known {
                    distance.to_string()
                } else {
                    String::new()
                }
            };
            let cause = reference.cause().map(ToString::to_string);
            table.row([
                &launch,
                &of.group.code.name,
                &reference.pc.to_string(),
                &reference.line.to_string(),
                reference.kind.name(),
                &reference.bytes.to_string(),
                reference.exactness.name(),
                &distance(&of.own[at].along_x),
                &distance(&of.own[at].along_y),
                &of.words[at].join(" or "),
                &cause.unwrap_or_default(),
            ]);
        }
    }
    table.take()
}

fn object(of: &Found) -> Value {
    let reuse = |reuse: &Option<Reuse>| {
        reuse.as_ref().map(|reuse| {
            let place = |of: &Toucher| {
                json!({
                    "instruction": of.pc,
                    "work_group": of.work_group,
                    "thread": of.thread,
                    "address": of.address as u64,
                })
            };
            let witness = reuse.witness.as_deref();
            let witness = witness.map(|[from, to]| json!([place(from), place(to)]));
            json!({ "distance": reuse.distance, "line": reuse.line as u64, "witness": witness })
        })
    };
    let references = of.analysis.references.iter().enumerate();
    let references: Vec<Value> = references
        .map(|(at, reference)| {
            json!({
                "instruction": reference.pc,
                "line": reference.line,
                "kind": reference.kind.name(),
                "bytes": reference.bytes,
                "exactness": reference.exactness.name(),
                "cause": reference.cause().map(ToString::to_string),
                "addresses": of.words[at],
                "reuse_x": of.own[at].along_x.as_ref().map(|reuse| reuse.distance),
                "reuse_y": of.own[at].along_y.as_ref().map(|reuse| reuse.distance),
            })
        })
        .collect();
    let causes: Vec<String> = of
        .directions
        .causes
        .iter()
        .map(ToString::to_string)
        .collect();
    json!({
        "kernel": of.group.code.name,
        "launches": of.group.launches,
        "grid": of.group.grid,
        "block": of.group.block,
        "direction": of.directions.direction.name(),
        "distance": of.directions.distance,
        "is_exact": of.directions.is_exact,
        "left_out": causes,
        "along_x": reuse(&of.directions.along_x),
        "along_y": reuse(&of.directions.along_y),
        "references": references,
    })
}
