//! Launch of a PTX file that the command line describes.

use std::sync::Arc;

use warpweave_files::{Budget, Ledger};
use warpweave_params::name_hint;
use warpweave_ptx::{DEVICE_BASE, Kernel, Module, Parameter, allocation_bytes, check_shape};
use warpweave_trace::Allocation;

use super::found::Group;
use super::options::Arguments;
use crate::outcome::Failure;
use crate::ptx::read_module;

/// Makes a launch of a PTX file from the command line.
pub(super) fn of_ptx(
    arguments: &Arguments,
    budget: &Budget,
) -> Result<(Group, Vec<Allocation>), Failure> {
    let name = arguments.file.display().to_string();
    let refused = |error: &dyn std::fmt::Display| Failure::InputText(format!("{name}: {error}"));
    if !arguments.sets.is_empty() {
        return Err(refused(&"--set is for scenarios"));
    }
    let module = read_module(&arguments.file, &Ledger::new(budget))?;
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
