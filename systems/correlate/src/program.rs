//! Launches of a program that was emulated but not timed.

use warpweave_trace::Program;

use crate::launch::{Counted, OwnLaunch, OwnRun, Places};
use crate::traffic::Traffic;

/// Returns the launches of a program with what follows from its trace. Nothing is timed.
pub fn run_of_program(name: &str, program: &Program) -> OwnRun {
    let launches = (0..)
        .zip(&program.kernels)
        .map(|(number, kernel)| OwnLaunch {
            number,
            kernel: kernel.code.name.clone(),
            grid: kernel.grid,
            block: kernel.block,
            wavefront_instructions: kernel.wavefront_instructions(),
            thread_instructions: kernel.thread_instructions(),
            registers: Some(kernel.registers_per_thread()),
            counted: Counted::Traced(Traffic::of(kernel)),
        });
    OwnRun {
        name: name.to_owned(),
        launches: launches.collect(),
        places: Places::default(),
        ceilings: None,
    }
}
