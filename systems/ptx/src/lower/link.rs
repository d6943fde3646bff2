//! Linker: combines a kernel and the functions it reaches into one instruction table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use warpweave_trace::Code;

use crate::address_space::function_address;
use crate::alloc::{PREDICATES_MAX, REGISTERS_MAX};
use crate::ast::Function;
use crate::diagnostics::{Diagnostics, Source, Span, SpannedError};
use crate::kernel::Tables;
use crate::kernel::{Frame, Kernel, Parameter, RefusedKernel};
use crate::launch_limits::{DeclaredLimits, DeclaredThreads};
use crate::lower::describe::{self, FunctionBase};
use crate::lower::encode::{Encoder, NumberedFunction};
use crate::lower::families;
use crate::lower::names::{ModuleNames, align_up, argument_offsets};
use crate::lower::questions::questions;
use crate::lower::site;
use crate::site::SharedRange;

pub(crate) struct Linker<'l, 'a> {
    pub(crate) source: &'l Source<'a>,
    pub(crate) names: &'l ModuleNames<'a>,
    pub(crate) functions: &'l [&'l Function<'a>],
    /// Names of the functions, in the same order.
    pub(crate) function_names: &'l [&'a str],
    pub(crate) prepared: &'l [Option<NumberedFunction<'a>>],
}

impl Linker<'_, '_> {
    /// Links all kernels and returns them, along with those that need unsupported features.
    /// Functions that no kernel reaches are encoded once as a check. `unsupported` holds the
    /// unsupported features of each function.
    pub(crate) fn kernels(
        &self,
        unsupported: &mut [Vec<SpannedError>],
        complaints: &mut Vec<SpannedError>,
    ) -> (Vec<Kernel>, Vec<RefusedKernel>) {
        let (mut kernels, mut refused) = (Vec::new(), Vec::new());
        let mut reached = vec![false; self.functions.len()];
        let mut checked = vec![false; self.functions.len()];
        for is_entry in [true, false] {
            for (root, function) in self.functions.iter().enumerate() {
                if function.is_entry != is_entry || function.body.is_none() || reached[root] {
                    continue;
                }
                let members = self.members(root);
                for &member in &members {
                    reached[member] = true;
                }
                let is_refused = |unsupported: &[Vec<SpannedError>]| {
                    members
                        .iter()
                        .any(|&member| !unsupported[member].is_empty())
                };
                let kernel = if is_refused(unsupported) {
                    None
                } else {
                    self.kernel(&members, &mut checked, unsupported, complaints)
                };
                if !is_entry {
                    continue;
                }
                if let Some(kernel) = kernel {
                    kernels.push(kernel);
                } else if is_refused(unsupported) {
                    let found = members.iter().flat_map(|&member| &unsupported[member]);
                    refused.push(self.refused(root, found));
                }
            }
        }
        (kernels, refused)
    }

    /// Returns the refusal of kernel `root`, with the unsupported features that it reaches.
    fn refused<'c>(
        &self,
        root: usize,
        found: impl Iterator<Item = &'c SpannedError>,
    ) -> RefusedKernel {
        let function = self.functions[root];
        let mut found: Vec<SpannedError> = found.cloned().collect();
        found.sort_by_key(|complaint| complaint.span.start);
        let found = found.into_iter().map(|found| self.source.diagnostic(found));
        RefusedKernel {
            name: function.name.to_owned(),
            address: function_address(root),
            parameters: parameters(function, &vec![true; function.parameters.len()]),
            reasons: Diagnostics(found.collect()),
        }
    }

    /// Returns the root and all functions reachable from it by calls, root first.
    fn members(&self, root: usize) -> Vec<usize> {
        let mut members = vec![root];
        let mut seen = BTreeSet::from([root]);
        let mut at = 0;
        while at < members.len() {
            if let Some(prepared) = &self.prepared[members[at]] {
                for &callee in &prepared.body.calls {
                    if self.functions[callee].body.is_some() && seen.insert(callee) {
                        members.push(callee);
                    }
                }
            }
            at += 1;
        }
        members
    }

    /// Places a callee's registers after those of all its callers; a recursive call does not move
    /// them.
    fn bases(&self, members: &[usize]) -> BTreeMap<usize, FunctionBase> {
        let order = self.callers_first(members[0]);
        let places: BTreeMap<usize, usize> = order
            .iter()
            .enumerate()
            .map(|(place, &function)| (function, place))
            .collect();
        let mut bases: BTreeMap<usize, FunctionBase> = order
            .iter()
            .map(|&f| (f, FunctionBase::default()))
            .collect();
        for (place, function) in order.iter().enumerate() {
            let Some(prepared) = &self.prepared[*function] else {
                continue;
            };
            let own = bases[function];
            let above = FunctionBase {
                registers: align_up(own.registers + prepared.allocation.registers, 2),
                predicates: own.predicates + prepared.allocation.predicates,
                local_bytes: align_up(own.local_bytes + prepared.body.local_bytes, 16),
            };
            for callee in &prepared.body.calls {
                if places.get(callee).is_some_and(|later| *later > place) {
                    let base = bases.entry(*callee).or_default();
                    base.registers = base.registers.max(above.registers);
                    base.predicates = base.predicates.max(above.predicates);
                    base.local_bytes = base.local_bytes.max(above.local_bytes);
                }
            }
        }
        bases
    }

    /// Returns the functions that `root` reaches, each before those it calls, except for recursive
    /// calls. This is the reverse postorder of a depth-first search.
    fn callers_first(&self, root: usize) -> Vec<usize> {
        let calls = |function: usize| match &self.prepared[function] {
            Some(prepared) => prepared.body.calls.as_slice(),
            None => &[],
        };
        let mut left = Vec::new();
        let mut seen = BTreeSet::from([root]);
        let mut path = vec![(root, 0)];
        while let Some((function, next)) = path.last_mut() {
            let Some(&callee) = calls(*function).get(*next) else {
                left.push(*function);
                path.pop();
                continue;
            };
            *next += 1;
            if self.prepared[callee].is_some() && seen.insert(callee) {
                path.push((callee, 0));
            }
        }
        left.reverse();
        left
    }

    fn kernel(
        &self,
        members: &[usize],
        checked: &mut [bool],
        unsupported: &mut [Vec<SpannedError>],
        complaints: &mut Vec<SpannedError>,
    ) -> Option<Kernel> {
        let root = members[0];
        let function = self.functions[root];
        let bases = self.bases(members);
        let (shared_offsets, static_shared) = self.lay_out_shared(members);
        let places: BTreeMap<usize, usize> = members
            .iter()
            .enumerate()
            .map(|(place, &member)| (member, place))
            .collect();
        let mut tables = Tables::default();
        let mut frames = Vec::new();
        let mut shapes = Vec::new();
        let mut ops = Vec::new();
        let mut instructions = Vec::new();
        let mut sites = Vec::new();
        let private_base = align_up(self.names.private_bytes, 16);
        let (mut registers, mut predicates, mut private_bytes) = (0, 0, private_base);
        let before = complaints.len();
        let mut known_opcodes = BTreeSet::new();
        for &member in members {
            let prepared = self.prepared[member].as_ref().expect("members have bodies");
            let base = bases[&member];
            let start = ops.len() as u32;
            shapes.push(site::function_shape(prepared));
            frames.push(Frame {
                entry: start,
                words: prepared.allocation.registers as usize,
                doubles: prepared.allocation.registers.div_ceil(2) as usize,
                predicates: prepared.allocation.predicates as usize,
                bytes: prepared.body.frame_bytes,
            });
            registers = registers.max(base.registers + prepared.allocation.registers);
            predicates = predicates.max(base.predicates + prepared.allocation.predicates);
            let own = base.local_bytes + prepared.body.local_bytes;
            private_bytes = private_bytes.max(private_base + own);
            if registers > REGISTERS_MAX || predicates > PREDICATES_MAX {
                let message = format!(
                    "`{}` and the functions it calls need {registers} registers and {predicates} \
                     predicates; a thread has {REGISTERS_MAX} and {PREDICATES_MAX}",
                    function.name
                );
                unsupported[root].push(SpannedError::unsupported(function.span, message));
                return None;
            }
            let mut encoder = Encoder {
                functions: self.prepared,
                function_names: self.function_names,
                function: prepared,
                is_entry: self.functions[member].is_entry,
                tables: &mut tables,
                known_opcodes: &mut known_opcodes,
                shared_offsets: &shared_offsets,
                places: &places,
                start,
            };
            for index in 0..prepared.body.instructions.len() {
                match families::encode(&mut encoder, index) {
                    Ok(decoded) => {
                        ops.push(decoded);
                        sites.push(site::describe(prepared, index, decoded.op, self.source));
                        instructions.push(describe::instruction(
                            &encoder,
                            index,
                            decoded.op,
                            base,
                            self.source,
                        ));
                    }
                    Err(complaint) if complaint.is_unsupported => {
                        unsupported[member].push(complaint);
                    }
                    // A function shared by kernels complains once.
                    Err(complaint) if !checked[member] => complaints.push(complaint),
                    Err(_) => {}
                }
            }
            checked[member] = true;
        }
        let is_refused = members
            .iter()
            .any(|&member| !unsupported[member].is_empty());
        if is_refused || complaints.len() > before {
            return None;
        }
        // A call's target is known only now that all functions have their places.
        for (decoded, instruction) in ops.iter().zip(&mut instructions) {
            if let crate::ops::Op::Call(site) = decoded.op {
                instruction.target = Some(frames[tables.control.calls[site as usize].callee].entry);
            }
        }
        let offsets = argument_offsets(&function.parameters);
        let body = &self.prepared[root]
            .as_ref()
            .expect("members have bodies")
            .body;
        let own = &sites[..body.instructions.len()];
        let read = site::read_through(own, body.registers.len(), &offsets);
        let parameters = parameters(function, &read);
        let reached = members
            .iter()
            .filter_map(|&member| self.prepared[member].as_ref());
        let questions = questions(&tables.specials, reached, self.source);
        let code = Code {
            name: function.name.to_owned(),
            instructions,
            registers_per_thread: registers,
            static_local_bytes: static_shared,
            private_bytes,
            source: base_name(self.source.file),
        };
        Some(Kernel {
            file: self.source.file.to_owned(),
            address: function_address(root),
            parameters,
            limits: self.limits(function),
            code: Arc::new(code),
            ops,
            tables,
            frames,
            private_base,
            sites,
            functions: shapes,
            shared: self.shared_ranges(&shared_offsets),
            questions,
        })
    }

    /// Returns the limits that a kernel declares, with their lines.
    fn limits(&self, function: &Function<'_>) -> DeclaredLimits {
        let declared = |found: Option<(Span, [u32; 3])>| {
            let (span, axes) = found?;
            let line = self.source.line(span.start);
            Some(DeclaredThreads { axes, line })
        };
        DeclaredLimits {
            required: declared(function.directives.required_threads),
            most: declared(function.directives.most_threads),
        }
    }

    fn shared_ranges(&self, offsets: &BTreeMap<usize, u32>) -> Vec<SharedRange> {
        let range = |(&number, &start): (&usize, &u32)| {
            let variable = &self.names.shared[number];
            SharedRange {
                number,
                name: variable.name.clone(),
                start,
                bytes: (!variable.is_open).then_some(variable.bytes),
            }
        };
        offsets.iter().map(range).collect()
    }

    /// Lays out static shared variables consecutively; the second result is the start of the open
    /// arrays.
    fn lay_out_shared(&self, members: &[usize]) -> (BTreeMap<usize, u32>, u32) {
        let mut offsets = BTreeMap::new();
        let mut used: Vec<usize> = members
            .iter()
            .filter_map(|&member| self.prepared[member].as_ref())
            .flat_map(|prepared| prepared.body.shared.iter().copied())
            .collect();
        used.sort_unstable();
        used.dedup();
        let mut at = 0;
        for &number in &used {
            let variable = &self.names.shared[number];
            if !variable.is_open {
                let offset = align_up(at, variable.align);
                offsets.insert(number, offset);
                at = offset + variable.bytes;
            }
        }
        let open = used
            .iter()
            .map(|&number| &self.names.shared[number])
            .filter(|v| v.is_open);
        if let Some(align) = open.map(|variable| variable.align).max() {
            at = align_up(at, align);
        }
        for &number in &used {
            if self.names.shared[number].is_open {
                offsets.insert(number, at);
            }
        }
        (offsets, at)
    }
}

/// Returns the parameters of a kernel; `read` marks those through which memory may be read.
fn parameters(function: &Function<'_>, read: &[bool]) -> Vec<Parameter> {
    let offsets = argument_offsets(&function.parameters);
    let parameters = function.parameters.iter().zip(offsets).zip(read);
    parameters
        .map(|((parameter, offset), &may_be_read)| Parameter {
            may_be_read,
            name: parameter.name.to_owned(),
            ty: parameter.ty,
            bytes: parameter.bytes(0) as u32,
            align: parameter.alignment(),
            offset,
        })
        .collect()
}

/// Strips the directory from a file name, so that a trace does not depend on the module's location.
fn base_name(file: &str) -> String {
    let name = Path::new(file).file_name();
    name.map_or_else(
        || file.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}
