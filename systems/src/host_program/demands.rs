//! Demands of a host program on the machine, as known without emulation.

use std::sync::Arc;

use warpweave_components::demands::{
    BufferDemand, Demands, DistinctLaunches, KernelDemand, LaunchDemand,
};
use warpweave_framework::Origin;
use warpweave_inputs::Name;
use warpweave_params::{Env, Placed, Span};
use warpweave_ptx::{CodeForm, DEVICE_BASE, allocation_bytes};
use warpweave_trace::{Attribute, Class, Code, KernelTrace, Place, Program, Space};

use super::description::{Command, Launch};
use super::execute::{Shape, asked_place, shape};
use super::modules::{self, SymbolKind};
use super::{EmulationSpec, HostProgram};

/// Demands of a program, and the locations that its origins refer to.
pub(crate) struct ProgramDemands {
    pub(crate) demands: Demands,
    pub(crate) places: Vec<Option<Span>>,
    distinct: DistinctLaunches,
    form: CodeForm,
}

impl ProgramDemands {
    /// Returns the demands of a program on the machine. They come from `emulated`, or from the
    /// description if `emulated` holds no launches and no data.
    pub(crate) fn of(program: &HostProgram, emulated: &Program, emulation: &EmulationSpec) -> Self {
        let mut asked = Self {
            demands: Demands::default(),
            places: Vec::new(),
            distinct: DistinctLaunches::default(),
            form: emulation.code.form(),
        };
        let surroundings = Surroundings {
            env: program.env.clone(),
            runs: true,
        };
        asked.ask_for_launches(program, &program.commands, &surroundings);
        let described = &mut asked.demands.kernels;
        if !emulated.kernels.is_empty() {
            let places: Vec<KernelDemand> = std::mem::take(described);
            for kernel in &emulated.kernels {
                let code = &kernel.code;
                if described.iter().any(|known| known.name == code.name) {
                    continue;
                }
                let place = places.iter().find(|place| place.name == code.name);
                described.push(KernelDemand {
                    name: code.name.clone(),
                    private_bytes: code.private_bytes,
                    may_execute_atomics: false,
                    origin: place.and_then(|place| place.origin),
                });
            }
        }
        let mut base = DEVICE_BASE + emulation.allocation_offset_bytes.get();
        for buffer in &program.buffers {
            let origin = asked.origin(buffer.name.place.clone());
            asked.demands.buffers.push(BufferDemand {
                name: buffer.name.value.clone(),
                base,
                bytes: buffer.bytes(),
                origin: Some(origin),
            });
            base = base.saturating_add(allocation_bytes(buffer.bytes()));
        }
        if !emulated.allocations.is_empty() {
            let described = std::mem::take(&mut asked.demands.buffers);
            for allocation in &emulated.allocations {
                let same = described.iter().find(|b| b.name == allocation.name);
                asked.demands.buffers.push(BufferDemand {
                    name: allocation.name.clone(),
                    base: allocation.base,
                    bytes: allocation.bytes,
                    origin: same.and_then(|buffer| buffer.origin),
                });
            }
        }
        asked
    }

    /// Collects the demands of all launches. What depends on values that kernels compute is not
    /// known.
    fn ask_for_launches(
        &mut self,
        program: &HostProgram,
        commands: &[Placed<Command>],
        surroundings: &Surroundings,
    ) {
        for command in commands {
            match &command.value {
                Command::Launch(launch) => self.ask_for_launch(program, launch, surroundings),
                Command::Repeat {
                    times,
                    counter,
                    body,
                } => {
                    let times = times.integer(&surroundings.env, "", 0..=i64::MAX.into());
                    let runs = times.is_ok_and(|times| times > 0);
                    let within = surroundings.of_loop(counter.as_ref(), runs);
                    self.ask_for_launches(program, body, &within);
                }
                Command::If {
                    condition,
                    body,
                    otherwise,
                } => {
                    let always = condition.holds(&program.env).ok();
                    let first = condition.holds(&surroundings.env).ok();
                    for (branch, selected) in [(body, true), (otherwise, false)] {
                        if always.is_none_or(|holds| holds == selected) {
                            let runs = first == Some(selected);
                            let within = surroundings.of_loop(None, runs);
                            self.ask_for_launches(program, branch, &within);
                        }
                    }
                }
                Command::RepeatUntilZero { counter, body, .. } => {
                    let within = surroundings.of_loop(counter.as_ref(), true);
                    self.ask_for_launches(program, body, &within);
                }
                _ => {}
            }
        }
    }

    fn ask_for_launch(
        &mut self,
        program: &HostProgram,
        launch: &Launch,
        surroundings: &Surroundings,
    ) {
        let name = &launch.kernel;
        // That there is no such kernel is said where the program is checked.
        let chosen = launch.module.as_ref();
        let Ok(module) = modules::find(&program.modules, chosen, SymbolKind::Kernel, name) else {
            return;
        };
        // Memory that a module in its other form lacks is missed when it is emulated.
        let module = program.modules[module].in_form(self.form, program.reading.ledger());
        let Some(kernel) = module.ok().and_then(|it| it.kernel(&name.value).ok()) else {
            return;
        };
        let code = kernel.code();
        let shape = shape(launch, &surroundings.env).ok();
        let shape = shape.filter(|_| surroundings.runs);
        let has_dynamic = shape.as_ref().is_none_or(|s| s.dynamic_local_bytes > 0);
        let may_execute_atomics = surroundings.runs && has_global_atomics(code, has_dynamic);
        let private_bytes = code.private_bytes;
        let mut kernels = self.demands.kernels.iter_mut();
        let known = kernels.find(|k| k.name == name.value && k.private_bytes == private_bytes);
        let origin = if let Some(known) = known {
            known.may_execute_atomics |= may_execute_atomics;
            None
        } else {
            let origin = self.origin(name.place.clone());
            self.demands.kernels.push(KernelDemand {
                name: name.value.clone(),
                private_bytes,
                may_execute_atomics,
                origin: Some(origin),
            });
            Some(origin)
        };
        let Some(shape) = shape else { return };
        let mut attributes = Vec::new();
        if launch.cooperative {
            attributes.push(Attribute::new(Attribute::COOPERATIVE, 1));
        }
        let place = asked_place(kernel, &shape);
        attributes.extend(place.iter().flat_map(Place::attributes));
        if let Some(registers) = shape.registers_per_thread {
            attributes.push(Attribute::new(Attribute::REGISTERS, registers.into()));
        }
        let Shape {
            grid,
            block,
            dynamic_local_bytes,
            attributes: stated,
            ..
        } = shape;
        attributes.extend(stated);
        let launch = KernelTrace::without_streams(
            Arc::clone(code),
            grid,
            block,
            dynamic_local_bytes,
            attributes,
        );
        // A launch that no trace can hold is refused when it is emulated.
        if let Ok(launch) = launch
            && self.distinct.is_new(&launch)
        {
            let origin = origin.unwrap_or_else(|| self.origin(name.place.clone()));
            self.demands.launches.push(LaunchDemand {
                launch: Arc::new(launch),
                origin: Some(origin),
            });
        }
    }

    /// Returns the demands of a trace's program, which has no description to point to.
    pub(crate) fn of_trace(demands: Demands) -> Self {
        Self {
            demands,
            places: Vec::new(),
            distinct: DistinctLaunches::default(),
            form: CodeForm::AsWritten,
        }
    }

    fn origin(&mut self, place: Option<Span>) -> Origin {
        self.places.push(place);
        Origin(self.places.len() as u32 - 1)
    }
}

/// Knowledge about the commands of a loop body or of the whole program before they run.
struct Surroundings {
    /// Names with their values in the first iteration of the enclosing loops.
    env: Env,
    /// True if the first iteration is certain to run.
    runs: bool,
}

impl Surroundings {
    fn of_loop(&self, counter: Option<&Name>, runs: bool) -> Self {
        let mut env = self.env.clone();
        if let Some(counter) = counter {
            env.set(&counter.value, 0);
        }
        Self {
            env,
            runs: self.runs && runs,
        }
    }
}

/// True if the code has an atomic that only global memory can serve. A generic one can if there is
/// no local memory that it could address.
fn has_global_atomics(code: &Code, has_dynamic_local_bytes: bool) -> bool {
    let has_local = code.static_local_bytes > 0 || has_dynamic_local_bytes;
    code.instructions.iter().any(|instruction| {
        let opcode = instruction.opcode.as_str();
        let is_generic = (opcode.starts_with("atom.") || opcode.starts_with("red."))
            && !opcode.contains(".global");
        instruction.class == Class::Atomic
            && instruction.space == Space::Global
            && !(is_generic && has_local)
    })
}
