//! Resolution of one function: flattens its scopes into a single list of instructions.

use std::collections::BTreeMap;

use super::{
    Base, Body, ELEMENTS, Formal, FrameVariable, ModuleNames, Operand, Prototype, Register,
    Resolved, Symbol, Value, align_up, argument_offsets,
};
use crate::alloc::Effects;
use crate::ast::{self, Location, Statement, Variable};
use crate::cfg::Flow;
use crate::diagnostics::{Span, SpannedError};
use crate::lower::opcodes;
use crate::types::{ScalarType, StateSpace};

#[derive(Default)]
pub(super) struct Scope<'a> {
    pub(super) names: BTreeMap<&'a str, Binding>,
    pub(super) ranges: Vec<Range<'a>>,
}

/// Registers declared by `.reg .b32 %r<n>`.
#[derive(Clone, Copy)]
pub(super) struct Range<'a> {
    pub(super) prefix: &'a str,
    pub(super) first: u32,
    pub(super) count: u64,
    /// Registers of each name; more than one for vectors.
    pub(super) vector: u32,
}

#[derive(Clone, Copy)]
pub(super) enum Binding {
    Register(u32),
    /// A vector register: the first of its elements, and their number.
    Vector(u32, u32),
    Label(usize),
    Symbol(Symbol),
    Prototype(usize),
    Targets(usize),
}

/// Resolves the names of one function that has a body.
pub(crate) fn resolve<'a>(
    function: &ast::Function<'a>,
    statements: &[Statement<'a>],
    module: &mut ModuleNames<'a>,
) -> Result<Body<'a>, Vec<SpannedError>> {
    let mut resolver = Resolver {
        module,
        body: Body::default(),
        scopes: vec![Scope::default()],
        label_places: Vec::new(),
        complaints: Vec::new(),
        location: None,
        sums: Vec::new(),
    };
    resolver.formals(function);
    resolver.scope(statements);
    resolver.finish(function)
}

pub(super) struct Resolver<'m, 'a> {
    pub(super) module: &'m mut ModuleNames<'a>,
    pub(super) body: Body<'a>,
    pub(super) scopes: Vec<Scope<'a>>,
    /// Index of the instruction that follows each label.
    pub(super) label_places: Vec<usize>,
    pub(super) complaints: Vec<SpannedError>,
    /// Source location from the last `.loc` directive.
    pub(super) location: Option<Location>,
    /// Sums of a register and an offset that the current instruction uses, with their results.
    pub(super) sums: Vec<(u32, Operand, i64)>,
}

impl<'a> Resolver<'_, 'a> {
    fn formals(&mut self, function: &ast::Function<'a>) {
        if function.is_entry {
            for (parameter, offset) in function
                .parameters
                .iter()
                .zip(argument_offsets(&function.parameters))
            {
                self.bind(
                    parameter.name,
                    Binding::Symbol(Symbol::Argument(offset)),
                    parameter.span,
                );
            }
            return;
        }
        for parameter in &function.returns {
            let formals = self.formal(parameter);
            self.body.returns.extend(formals);
        }
        for parameter in &function.parameters {
            let formals = self.formal(parameter);
            self.body.parameters.extend(formals);
        }
    }

    /// Declares a parameter; a vector in registers is one parameter for each element.
    fn formal(&mut self, parameter: &Variable<'a>) -> Vec<Formal> {
        if parameter.space != StateSpace::Register {
            return vec![Formal::Memory(self.frame_variable(parameter))];
        }
        let first = self.body.registers.len() as u32;
        let registers = first..first + parameter.vector;
        for _ in registers.clone() {
            self.register(parameter.ty);
        }
        self.name_registers(parameter, first, 1);
        let binding = binding(first, parameter.vector);
        self.bind(parameter.name, binding, parameter.span);
        registers.map(Formal::Register).collect()
    }

    pub(super) fn register(&mut self, ty: ScalarType) -> u32 {
        self.body.registers.push(Register { ty });
        self.body.registers.len() as u32 - 1
    }

    fn frame_variable(&mut self, variable: &Variable<'a>) -> usize {
        self.body.frame.push(FrameVariable {
            name: variable.name.to_owned(),
            bytes: variable.bytes(0) as u32,
            align: variable.alignment(),
            is_local: variable.space == StateSpace::Local,
            offset: 0,
        });
        let index = self.body.frame.len() - 1;
        self.bind(
            variable.name,
            Binding::Symbol(Symbol::Frame(index)),
            variable.span,
        );
        index
    }

    fn bind(&mut self, name: &'a str, binding: Binding, span: Span) {
        let scope = self
            .scopes
            .last_mut()
            .expect("a function has at least one scope");
        if name != "_" && scope.names.insert(name, binding).is_some() {
            let message = format!("`{name}` is declared twice in this scope");
            self.complaints.push(SpannedError::new(span, message));
        }
    }

    fn scope(&mut self, statements: &[Statement<'a>]) {
        for statement in statements {
            if let Statement::Label { name, span } = *statement {
                self.label_places.push(usize::MAX);
                self.bind(name, Binding::Label(self.label_places.len() - 1), span);
            }
        }
        for statement in statements {
            self.directive(statement);
        }
        for statement in statements {
            match statement {
                Statement::Prototype { .. } | Statement::Targets { .. } => {}
                Statement::Variable(variable) => self.variable(variable),
                Statement::Location(location) => self.location = Some(*location),
                Statement::Label { name, .. } => {
                    if let Some(Binding::Label(label)) = self.lookup(name) {
                        self.label_places[label] = self.body.instructions.len();
                    }
                }
                Statement::Block(inner) => {
                    self.scopes.push(Scope::default());
                    self.scope(inner);
                    self.scopes.pop();
                }
                Statement::Instruction(instruction) => match self.instruction(instruction) {
                    Ok(resolved) => {
                        self.add_sums(&resolved);
                        self.effects(&resolved);
                        self.body.instructions.push(resolved);
                    }
                    Err(complaint) => {
                        self.sums.clear();
                        self.complaints.push(complaint);
                    }
                },
            }
        }
    }

    /// Handles prototypes and target lists, which may follow the instructions that use them.
    fn directive(&mut self, statement: &Statement<'a>) {
        match statement {
            Statement::Prototype {
                name,
                span,
                returns,
                parameters,
            } => {
                let bytes = |list: &[Variable<'_>]| {
                    let bytes = list.iter().map(|variable| variable.bytes(0) as u32);
                    bytes.collect()
                };
                self.body.prototypes.push(Prototype {
                    returns: bytes(returns),
                    parameters: bytes(parameters),
                    targets: None,
                });
                let number = self.body.prototypes.len() - 1;
                self.bind(name, Binding::Prototype(number), *span);
            }
            Statement::Targets {
                name,
                span,
                list,
                is_call: false,
            } => {
                let mut labels = Vec::new();
                for &(target, span) in list {
                    if let Some(Binding::Label(label)) = self.lookup(target) {
                        labels.push(label);
                    } else {
                        let message = format!("`{target}` is not a label of this function");
                        self.complaints.push(SpannedError::new(span, message));
                    }
                }
                self.body.targets.push(labels);
                let number = self.body.targets.len() - 1;
                self.bind(name, Binding::Targets(number), *span);
            }
            Statement::Targets {
                name, span, list, ..
            } => {
                let mut functions = Vec::new();
                for &(target, span) in list {
                    if let Some(&function) = self.module.functions.get(target) {
                        functions.push(function);
                    } else {
                        let complaint = self.unknown(target, span);
                        self.complaints.push(complaint);
                    }
                }
                self.body.prototypes.push(Prototype {
                    returns: Vec::new(),
                    parameters: Vec::new(),
                    targets: Some(functions),
                });
                let number = self.body.prototypes.len() - 1;
                self.bind(name, Binding::Prototype(number), *span);
            }
            _ => {}
        }
    }

    fn variable(&mut self, variable: &Variable<'a>) {
        match variable.space {
            StateSpace::Register => {
                if !variable.extents.is_empty() {
                    let message = "registers have no addresses and thus no arrays";
                    self.complaints
                        .push(SpannedError::new(variable.span, message));
                    return;
                }
                let vector = variable.vector;
                let count = variable.range.unwrap_or(1);
                if count.saturating_mul(vector.into()) > 1 << 20 {
                    let message = "more than a million registers";
                    self.complaints
                        .push(SpannedError::new(variable.span, message));
                    return;
                }
                let first = self.body.registers.len() as u32;
                self.name_registers(variable, first, count);
                for _ in 0..count * u64::from(vector) {
                    self.register(variable.ty);
                }
                if variable.range.is_some() {
                    let scope = self
                        .scopes
                        .last_mut()
                        .expect("a function has at least one scope");
                    scope.ranges.push(Range {
                        prefix: variable.name,
                        first,
                        count,
                        vector,
                    });
                } else {
                    let binding = binding(first, vector);
                    self.bind(variable.name, binding, variable.span);
                }
            }
            StateSpace::Local | StateSpace::Param => {
                self.frame_variable(variable);
            }
            _ => {
                let symbol = self.module.declare(variable);
                if let Symbol::Shared(number) = symbol {
                    self.body.shared.push(number);
                }
                self.bind(variable.name, Binding::Symbol(symbol), variable.span);
            }
        }
    }

    /// Tells the checker the names of registers from `first` on.
    fn name_registers(&mut self, variable: &Variable<'a>, first: u32, count: u64) {
        let names = &mut self.body.register_names;
        if variable.vector == 1 {
            names.push((first, variable.name.to_owned(), variable.range.is_some()));
            return;
        }
        for at in 0..count as u32 {
            let number = match variable.range {
                Some(_) => at.to_string(),
                None => String::new(),
            };
            for (element, [letter, _]) in (0..variable.vector).zip(ELEMENTS) {
                let name = format!("{}{number}.{letter}", variable.name);
                names.push((first + at * variable.vector + element, name, false));
            }
        }
    }

    fn instruction(
        &mut self,
        instruction: &ast::Instruction<'a>,
    ) -> Result<Resolved<'a>, SpannedError> {
        opcodes::check(instruction.opcode, instruction.opcode_span)?;
        let guard = match instruction.guard {
            None => None,
            Some(guard) => match self.name(guard.name, guard.span)? {
                Value::Register(register)
                    if self.body.registers[register as usize].ty == ScalarType::Pred =>
                {
                    Some((register, guard.negated))
                }
                _ => {
                    let message = format!("`{}` is not a predicate register", guard.name);
                    return Err(SpannedError::new(guard.span, message));
                }
            },
        };
        let operands = &instruction.operands;
        Ok(Resolved {
            span: instruction.span,
            opcode: instruction.opcode,
            opcode_span: instruction.opcode_span,
            guard,
            operands: self.operands(operands)?,
            location: self.location,
            is_implied: false,
            class: None,
        })
    }

    /// Computes the registers read and written, and the control flow.
    pub(super) fn effects(&mut self, resolved: &Resolved<'a>) {
        let effects = effects_of(resolved);
        let base = opcodes::base(resolved.opcode);
        for operand in &resolved.operands {
            if let (true, &Value::Function(callee)) = (base == "call", &operand.value) {
                self.body.calls.push(callee);
            } else {
                self.addresses(&operand.value);
            }
        }
        let conditional = effects.guarded;
        let flow = match base {
            "bra" => match resolved.operands.first().map(|operand| &operand.value) {
                Some(&Value::Label(label)) => Flow::Branch {
                    target: label,
                    conditional,
                },
                _ => Flow::Next,
            },
            "brx" => match resolved.operands.last().map(|operand| &operand.value) {
                Some(&Value::Targets(targets)) => Flow::Switch {
                    targets: self.body.targets[targets].clone(),
                    conditional,
                },
                _ => Flow::Next,
            },
            "ret" | "exit" | "trap" => Flow::Leave { conditional },
            _ => Flow::Next,
        };
        self.body.effects.push(effects);
        self.body.flows.push(flow);
    }

    /// Collects functions whose address is used as an operand.
    fn addresses(&mut self, value: &Value) {
        match value {
            Value::Function(function) => self.body.addresses_taken.push(*function),
            Value::Vector(list) | Value::List(list) => {
                for operand in list {
                    self.addresses(&operand.value);
                }
            }
            _ => {}
        }
    }

    fn finish(mut self, function: &ast::Function<'a>) -> Result<Body<'a>, Vec<SpannedError>> {
        let end = self.body.instructions.len();
        let open_end = match self.body.flows.last() {
            None | Some(Flow::Next) => true,
            Some(
                Flow::Branch { conditional, .. }
                | Flow::Switch { conditional, .. }
                | Flow::Leave { conditional },
            ) => *conditional,
        };
        if open_end || self.label_places.contains(&end) {
            // Control may run off the end; assemblers put a return there.
            let span = function.span;
            self.body.instructions.push(Resolved {
                span,
                opcode: "ret",
                opcode_span: span,
                guard: None,
                operands: Vec::new(),
                location: self.location,
                is_implied: true,
                class: None,
            });
            self.body.effects.push(Effects::default());
            self.body.flows.push(Flow::Leave { conditional: false });
        }
        for flow in &mut self.body.flows {
            match flow {
                Flow::Branch { target, .. } => *target = self.label_places[*target],
                Flow::Switch { targets, .. } => {
                    for target in targets {
                        *target = self.label_places[*target];
                    }
                }
                Flow::Next | Flow::Leave { .. } => {}
            }
        }
        for target in self.body.targets.iter_mut().flatten() {
            *target = self.label_places[*target];
        }
        for instruction in &mut self.body.instructions {
            for operand in &mut instruction.operands {
                if let Value::Label(label) = &mut operand.value {
                    *label = self.label_places[*label];
                }
            }
        }
        // What a function returns in registers is read when it leaves.
        let returned: Vec<u32> = self
            .body
            .returns
            .iter()
            .filter_map(|formal| match formal {
                Formal::Register(register) => Some(*register),
                Formal::Memory(_) => None,
            })
            .collect();
        for (flow, effects) in self.body.flows.iter().zip(&mut self.body.effects) {
            if matches!(flow, Flow::Leave { .. }) {
                effects.reads.extend(&returned);
            }
        }
        self.lay_out_frame();
        self.body.shared.sort_unstable();
        self.body.shared.dedup();
        self.body.shrink();
        if self.complaints.is_empty() {
            Ok(self.body)
        } else {
            Err(self.complaints)
        }
    }

    fn lay_out_frame(&mut self) {
        let mut at = 0;
        for locals in [true, false] {
            for variable in self.body.frame.iter_mut().filter(|v| v.is_local == locals) {
                variable.offset = align_up(at, variable.align);
                at = variable.offset + variable.bytes;
            }
            if locals {
                self.body.local_bytes = at;
            }
        }
        self.body.frame_bytes = align_up(at, 16);
    }
}

pub(super) fn binding(first: u32, vector: u32) -> Binding {
    match vector {
        1 => Binding::Register(first),
        count => Binding::Vector(first, count),
    }
}

/// Returns the registers that an instruction reads and writes.
pub(crate) fn effects_of(resolved: &Resolved<'_>) -> Effects {
    let mut effects = Effects {
        guarded: resolved.guard.is_some(),
        ..Effects::default()
    };
    effects
        .reads
        .extend(resolved.guard.map(|(register, _)| register));
    for (at, operand) in resolved.operands.iter().enumerate() {
        collect(&operand.value, resolved.writes(at), &mut effects);
    }
    effects
}

pub(super) fn collect(value: &Value, written: bool, effects: &mut Effects) {
    match value {
        Value::Register(register) if written => effects.writes.push(*register),
        Value::Register(register)
        | Value::Not(register)
        | Value::Address(Base::Register(register), _) => effects.reads.push(*register),
        Value::Texture(base, coordinates) => {
            if let Base::Register(register) = base {
                effects.reads.push(*register);
            }
            collect(&coordinates.value, false, effects);
        }
        Value::Vector(list) | Value::List(list) => {
            for operand in list {
                collect(&operand.value, written, effects);
            }
        }
        Value::Pair(first, second) => {
            collect(&first.value, written, effects);
            collect(&second.value, written, effects);
        }
        _ => {}
    }
}
