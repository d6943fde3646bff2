//! Launches of a program that differ, with what the analysis finds about each.

use std::path::Path;
use std::sync::Arc;

use warpweave_affine::{
    Cause, Cost, Directions, LaunchAnalysis, LaunchHead, Reference, ReuseOptions, Transactions,
    analyse,
};
use warpweave_params::name_hint;
use warpweave_trace::{Allocation, Code, Program};

use super::options::Arguments;
use crate::outcome::Failure;

/// Launches of one kernel with equal shape and arguments.
pub(crate) struct Group {
    pub(crate) code: Arc<Code>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) arguments: Vec<u8>,
    /// Numbers of the launches in the program; empty for a PTX file.
    pub(crate) launches: Vec<u32>,
}

/// Results for the launches of one group.
pub(super) struct Found {
    pub(super) group: Group,
    pub(super) analysis: LaunchAnalysis,
    pub(super) directions: Directions,
    /// Reuse by each reference to global memory alone, along x, y and z.
    pub(super) own: Vec<Directions>,
    pub(super) words: Vec<Vec<String>>,
    pub(super) transactions: Vec<Result<Transactions, Cause>>,
    /// Addresses of each reference to local memory.
    pub(super) local_words: Vec<Vec<String>>,
    pub(super) conflicts: Vec<Result<Cost, Cause>>,
}

impl Group {
    /// Returns the kernel with the numbers of its launches.
    pub(crate) fn title(&self) -> String {
        let launches = match &self.launches[..] {
            [] => String::new(),
            [only] => format!(", launch {only}"),
            [first, .., last] => {
                format!(", {} launches from {first} to {last}", self.launches.len())
            }
        };
        format!("{}{launches}", self.code.name)
    }

    pub(crate) fn head<'a>(&'a self, allocations: &'a [Allocation]) -> LaunchHead<'a> {
        LaunchHead {
            code: &self.code,
            grid: self.grid,
            block: self.block,
            arguments: &self.arguments,
            allocations,
        }
    }
}

pub(super) fn found(group: Group, allocations: &[Allocation], arguments: &Arguments) -> Found {
    let head = group.head(allocations);
    let analysis = analyse(&head);
    let options = ReuseOptions {
        line_bytes: arguments.line_bytes as u32,
        include_stores: arguments.include_stores,
    };
    let directions = analysis.directions(&head, options);
    let references = analysis.references.iter();
    let own =
        references.map(|reference| analysis.own_directions(&head, reference, options.line_bytes));
    let own = own.collect();
    let words = |references: &[Reference]| {
        let words = references.iter();
        words.map(|at| analysis.words(&head, at)).collect()
    };
    Found {
        own,
        words: words(&analysis.references),
        transactions: analysis.transactions(&head, options.line_bytes),
        local_words: words(&analysis.local),
        conflicts: analysis.bank_conflicts(&head),
        directions,
        analysis,
        group,
    }
}

/// Collects the launches of a program, those of equal code, shape and arguments together.
pub(crate) fn of_program(
    program: &Program,
    kernel: Option<&str>,
    file: &Path,
) -> Result<Vec<Group>, Failure> {
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
