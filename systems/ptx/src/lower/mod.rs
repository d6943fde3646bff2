//! Lowering from syntax tree to kernels: name resolution, control flow, register allocation and
//! encoding.

mod bits;
mod compare;
mod compile;
mod control;
mod convert;
mod describe;
pub(crate) mod encode;
mod external;
mod families;
mod float;
mod float_bits;
mod group;
mod integer;
mod link;
mod memory;
pub(crate) mod names;
mod opcodes;
mod packed;
mod questions;
pub(crate) mod site;
mod special;
mod texture;

pub use self::opcodes::{Opcode, opcodes};

use std::collections::{BTreeMap, BTreeSet};

use crate::address_space::function_address;
use crate::alloc::{self, PREDICATES_MAX, REGISTERS_MAX};
use crate::ast::{Function, Initialiser, Tree, Variable};
use crate::cfg::Graph;
use crate::diagnostics::{Source, SpannedError};
use crate::kernel::{Kernel, Patch, RefusedKernel, Storage};
use crate::lower::encode::NumberedFunction;
use crate::lower::names::{Formal, ModuleNames, SharedVariable, has_storage};
use crate::site::Symbol;
use crate::types::ScalarType;

/// Form in which the instructions of a module are executed and recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeForm {
    /// Instructions and order of the PTX text.
    #[default]
    AsWritten,
    /// Instructions and order that a compiler for hardware makes of the text. Results are the same,
    /// unless threads race.
    AsCompiled,
}

/// Result of lowering a module: kernels, variables and files.
pub(crate) struct Lowered {
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) refused: Vec<RefusedKernel>,
    pub(crate) variables: Vec<Storage>,
    /// Source files, keyed by the number used in `.loc`.
    pub(crate) files: BTreeMap<u64, String>,
}

/// Lowers all functions of a module and also checks unused ones. Kernels that need unsupported
/// features are returned separately.
pub(crate) fn lower(
    tree: &Tree<'_>,
    source: &Source<'_>,
    form: CodeForm,
) -> Result<Lowered, Vec<SpannedError>> {
    let mut names = ModuleNames::default();
    let mut complaints = Vec::new();
    for variable in &tree.variables {
        let symbol = names.declare(variable);
        let old = names.symbols.insert(variable.name, symbol);
        // An extern declaration may precede the definition.
        if let Some(old) = old {
            let declared = |symbol| match symbol {
                Symbol::Module(index) => !has_storage(&names.variables[index]),
                _ => false,
            };
            if !declared(symbol) && !declared(old) {
                let message = format!("`{}` is declared twice", variable.name);
                complaints.push(SpannedError::new(variable.span, message));
            } else if declared(symbol) {
                names.symbols.insert(variable.name, old);
            }
        }
    }
    let functions = unique_functions(tree, &mut names, &mut complaints);
    let mut prepared = Vec::with_capacity(functions.len());
    // What is not supported, by function.
    let mut unsupported = Vec::with_capacity(functions.len());
    for function in &functions {
        let body = function.body.as_ref().map(|statements| {
            names::resolve(function, statements, &mut names).and_then(|body| {
                prepare(function, body, form, &names.shared).map_err(|complaint| vec![complaint])
            })
        });
        let (body, found) = match body {
            None => (None, Vec::new()),
            Some(Ok(body)) => (Some(body), Vec::new()),
            Some(Err(found)) => (None, found),
        };
        prepared.push(body);
        let found = function.unsupported.iter().cloned().chain(found);
        let (found, wrong) = found.partition(|found| found.is_unsupported);
        unsupported.push(found);
        complaints.extend::<Vec<_>>(wrong);
    }
    if !complaints.is_empty() {
        return Err(complaints);
    }
    if form == CodeForm::AsCompiled {
        for variable in &mut names.shared {
            variable.align = compile::shared_alignment(variable);
        }
    }
    let taken = address_taken(&prepared, tree, &names);
    link_indirect_calls(&mut prepared, &functions, &taken);
    if let Err(complaint) = check_storage(&names) {
        return Err(vec![complaint]);
    }
    let variables = storages(&names, &mut complaints);
    let function_names: Vec<&str> = functions.iter().map(|function| function.name).collect();
    let linker = link::Linker {
        source,
        names: &names,
        functions: &functions,
        function_names: &function_names,
        prepared: &prepared,
    };
    let (kernels, refused) = linker.kernels(&mut unsupported, &mut complaints);
    if complaints.is_empty() {
        let files = tree.files.iter();
        let files = files.map(|(&number, &name)| (number, name.to_owned()));
        Ok(Lowered {
            kernels,
            refused,
            variables,
            files: files.collect(),
        })
    } else {
        Err(complaints)
    }
}

/// Returns the defined functions whose address the program takes, in text order.
fn address_taken(
    prepared: &[Option<NumberedFunction<'_>>],
    tree: &Tree<'_>,
    names: &ModuleNames<'_>,
) -> BTreeSet<usize> {
    fn of_initialiser(
        initialiser: &Initialiser<'_>,
        names: &ModuleNames<'_>,
        taken: &mut BTreeSet<usize>,
    ) {
        match initialiser {
            Initialiser::List(list) => {
                for item in list {
                    of_initialiser(item, names, taken);
                }
            }
            Initialiser::Address { name, .. } => taken.extend(names.functions.get(name)),
            _ => {}
        }
    }
    let bodies = prepared.iter().flatten();
    let mut taken: BTreeSet<usize> = bodies
        .flat_map(|prepared| prepared.body.addresses_taken.iter().copied())
        .collect();
    let of_module = tree.variables.iter().chain(&names.variables);
    for initialiser in of_module.filter_map(|variable| variable.initialiser.as_ref()) {
        of_initialiser(initialiser, names, &mut taken);
    }
    taken
}

/// Resolves the targets of indirect calls. They are the listed ones, or every address-taken
/// function whose parameter and result sizes match the prototype.
fn link_indirect_calls(
    prepared: &mut [Option<NumberedFunction<'_>>],
    functions: &[&Function<'_>],
    taken: &BTreeSet<usize>,
) {
    let shapes: Vec<Option<[Vec<u32>; 2]>> = prepared
        .iter()
        .zip(functions)
        .map(|(prepared, function)| {
            let body = &prepared.as_ref().filter(|_| !function.is_entry)?.body;
            let bytes = |formals: &[Formal]| {
                let bytes = formals.iter().map(|formal| match *formal {
                    Formal::Register(register) => body.registers[register as usize].ty.bytes(),
                    Formal::Memory(index) => body.frame[index].bytes,
                });
                bytes.collect()
            };
            Some([bytes(&body.returns), bytes(&body.parameters)])
        })
        .collect();
    for prepared in prepared.iter_mut().flatten() {
        let body = &mut prepared.body;
        for prototype in &mut body.prototypes {
            let fits = |function: &usize| match &shapes[*function] {
                Some([returns, parameters]) => {
                    *returns == prototype.returns && *parameters == prototype.parameters
                }
                None => false,
            };
            let targets: Vec<usize> = match prototype.targets.take() {
                Some(listed) => listed
                    .into_iter()
                    .filter(|&f| shapes[f].is_some())
                    .collect(),
                None => taken.iter().copied().filter(fits).collect(),
            };
            body.calls.extend_from_slice(&targets);
            prototype.targets = Some(targets);
        }
    }
}

/// Maximum total size of the variables of a module, in bytes.
const STORAGE_MAX: u64 = 256 << 20;

/// Returns one entry per name, preferring the definition over declarations.
fn unique_functions<'t, 'a>(
    tree: &'t Tree<'a>,
    names: &mut ModuleNames<'a>,
    complaints: &mut Vec<SpannedError>,
) -> Vec<&'t Function<'a>> {
    let mut functions: Vec<&Function<'a>> = Vec::new();
    for function in &tree.functions {
        match names.functions.get(function.name) {
            None => {
                names.functions.insert(function.name, functions.len());
                functions.push(function);
            }
            Some(&at) if functions[at].body.is_none() => functions[at] = function,
            Some(_) if function.body.is_none() => {}
            Some(_) => {
                let message = format!("function `{}` is defined twice", function.name);
                complaints.push(SpannedError::new(function.span, message));
            }
        }
    }
    for &(alias, span, meant) in &tree.aliases {
        if let Some(&function) = names.functions.get(meant) {
            names.functions.insert(alias, function);
        } else {
            let message = format!("unknown function `{meant}`");
            let known = names.functions.keys().copied();
            complaints.push(SpannedError::new(span, message).nearest(meant, known));
        }
    }
    functions
}

fn prepare<'a>(
    function: &Function<'a>,
    body: names::Body<'a>,
    form: CodeForm,
    shared: &[SharedVariable],
) -> Result<NumberedFunction<'a>, SpannedError> {
    if form == CodeForm::AsCompiled {
        let mut compiled = body.clone();
        compile::compile(&mut compiled, shared, function.directives.threads());
        // A function that has no registers left for this form keeps the other.
        if let Ok(numbered) = number(function, compiled) {
            return Ok(numbered);
        }
    }
    number(function, body)
}

/// Gives the values of a function their registers.
fn number<'a>(
    function: &Function<'a>,
    body: names::Body<'a>,
) -> Result<NumberedFunction<'a>, SpannedError> {
    let graph = Graph::new(&body.flows);
    let entry: Vec<u32> = body
        .parameters
        .iter()
        .filter_map(|formal| match formal {
            Formal::Register(register) => Some(*register),
            Formal::Memory(_) => None,
        })
        .collect();
    let allocation = alloc::allocate(&graph, &body.effects, &body.files(), &entry);
    for (what, used, most) in [
        ("registers", allocation.registers, REGISTERS_MAX),
        ("predicates", allocation.predicates, PREDICATES_MAX),
    ] {
        if used > most {
            let message = format!(
                "`{}` has {used} live {what} at once; a thread has {most}, and spilling is not supported",
                function.name
            );
            return Err(SpannedError::unsupported(function.span, message)
                .hint("compile with a register limit so that the compiler spills registers"));
        }
    }
    Ok(NumberedFunction {
        body,
        graph,
        allocation,
    })
}

/// Rejects variables that exceed the memory limit of a module.
fn check_storage(names: &ModuleNames<'_>) -> Result<(), SpannedError> {
    let mut sum = u64::from(names.private_bytes);
    for variable in &names.variables {
        sum = sum.saturating_add(variable.bytes(0));
        if sum > STORAGE_MAX {
            let message =
                format!("the variables up to this one take more than {STORAGE_MAX} bytes");
            return Err(SpannedError::new(variable.span, message)
                .hint("use buffers of the host program for large arrays"));
        }
    }
    Ok(())
}

fn storages(names: &ModuleNames<'_>, complaints: &mut Vec<SpannedError>) -> Vec<Storage> {
    names
        .variables
        .iter()
        .map(|variable| {
            let mut storage = Storage {
                name: variable.name.to_owned(),
                align: variable.alignment(),
                bytes: vec![0; variable.bytes(0) as usize],
                patches: Vec::new(),
                is_external: !has_storage(variable),
                is_texture: variable.is_texture,
            };
            if let Some(initialiser) = &variable.initialiser {
                if variable.is_open() {
                    let elements = match initialiser {
                        Initialiser::List(list) => list.len() as u64,
                        _ => 1,
                    };
                    storage.bytes = vec![0; variable.bytes(elements) as usize];
                }
                let mut at = 0;
                if let Err(complaint) = fill(names, variable, initialiser, 0, &mut at, &mut storage)
                {
                    complaints.push(complaint);
                }
            }
            storage
        })
        .collect()
}

/// Writes an initializer starting at byte `at`; each nested list fills one extent.
fn fill(
    names: &ModuleNames<'_>,
    variable: &Variable<'_>,
    initialiser: &Initialiser<'_>,
    depth: usize,
    at: &mut usize,
    storage: &mut Storage,
) -> Result<(), SpannedError> {
    let width = variable.ty.bytes() as usize;
    let value = match initialiser {
        Initialiser::List(list) => {
            let start = *at;
            for item in list {
                fill(names, variable, item, depth + 1, at, storage)?;
            }
            // A short list leaves the rest of its extent zero.
            let inner: u64 = variable
                .extents
                .iter()
                .skip(depth + 1)
                .map(|extent| extent.unwrap_or(1))
                .product();
            let outer = variable.extents.get(depth).copied().flatten().unwrap_or(0);
            *at = (*at).max(start + (outer * inner * variable.element_bytes()) as usize);
            return Ok(());
        }
        Initialiser::Integer(value) => *value,
        Initialiser::Single(bits) if variable.ty == ScalarType::F64 => {
            f64::from(f32::from_bits(*bits)).to_bits()
        }
        Initialiser::Single(bits) => u64::from(*bits),
        Initialiser::Double(bits) if variable.ty == ScalarType::F32 => {
            u64::from((f64::from_bits(*bits) as f32).to_bits())
        }
        Initialiser::Double(bits) => *bits,
        Initialiser::Address { name, span, offset } => {
            if let Some(&function) = names.functions.get(name) {
                function_address(function)
            } else if let Some(&Symbol::Module(index)) = names.symbols.get(name) {
                storage.patches.push(Patch {
                    at: *at,
                    width: width.min(8),
                    variable: index,
                    offset: *offset,
                });
                0
            } else {
                return Err(SpannedError::new(
                    *span,
                    format!("unknown variable or function `{name}`"),
                )
                .nearest(name, names.symbols.keys().copied()));
            }
        }
    };
    let Some(place) = storage.bytes.get_mut(*at..*at + width) else {
        let message = format!("`{}` has more initial values than elements", variable.name);
        return Err(SpannedError::new(variable.span, message));
    };
    place.copy_from_slice(&u128::from(value).to_le_bytes()[..width]);
    *at += width;
    Ok(())
}
