//! Limits on the shape of a launch: those of every GPU, and those that a kernel declares.

use warpweave_trace::Place;

/// Most work-groups along x, y and z (CUDA C++ Programming Guide, "Technical Specifications per
/// Compute Capability").
pub const GRID_MAX: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];

/// Most threads of a work-group along x, y and z, from the same table.
pub const BLOCK_MAX: [u32; 3] = [1024, 1024, 64];

/// Most threads of a work-group in total, from the same table.
pub const THREADS_MAX: u64 = 1024;

/// Most work-groups of a launch that are emulated. GPUs allow more.
pub const WORK_GROUPS_MAX: u64 = 1 << 24;

/// Checks that a placement has a context for every work-group of a grid, and no more.
///
/// # Errors
/// Returns both numbers as a sentence without a full stop.
pub fn check_place(place: Place, grid: [u32; 3]) -> Result<(), String> {
    let Place {
        units, contexts, ..
    } = place;
    let groups = product(grid);
    if place.work_groups() == groups {
        return Ok(());
    }
    Err(format!(
        "a grid of {groups} work-groups, but its `place` has {units} units of {contexts} contexts, {} in all",
        place.work_groups()
    ))
}

/// Number of threads of a work-group that a kernel declares (PTX ISA, "Performance-Tuning
/// Directives").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredThreads {
    /// Threads along x, y and z; axes that the directive omits are one.
    pub axes: [u32; 3],
    /// Line of the directive in the PTX text, counted from one.
    pub line: u32,
}

/// Declared limits of a kernel's work-groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeclaredLimits {
    /// `.reqntid`: every launch has exactly these axes.
    pub(crate) required: Option<DeclaredThreads>,
    /// `.maxntid`: no launch has more threads than the product of these axes.
    pub(crate) most: Option<DeclaredThreads>,
}

/// Broken limit of a launch's shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeProblem {
    /// Limit and the shape that breaks it, as a sentence without a full stop.
    pub message: String,
    /// Directive that declares the limit; `None` for a limit of every GPU.
    pub directive: Option<DeclaredThreads>,
}

/// Checks a launch against the limits of every GPU.
///
/// # Errors
/// Returns the first limit that the shape breaks.
pub fn check_shape(grid: [u32; 3], block: [u32; 3]) -> Result<(), ShapeProblem> {
    let problem = |message| {
        Err(ShapeProblem {
            message,
            directive: None,
        })
    };
    let axes = [
        ("grid", "work-groups", grid, GRID_MAX),
        ("work-group", "threads", block, BLOCK_MAX),
    ];
    for (what, unit, shape, most) in axes {
        for ((axis, most), letter) in shape.into_iter().zip(most).zip(["x", "y", "z"]) {
            if !(1..=most).contains(&axis) {
                return problem(format!(
                    "a {what} of {axis} {unit} along {letter}; expected 1 to {most}"
                ));
            }
        }
    }
    let threads = product(block);
    if threads > THREADS_MAX {
        return problem(format!(
            "a work-group of {threads} threads; expected 1 to {THREADS_MAX}"
        ));
    }
    Ok(())
}

impl DeclaredLimits {
    /// Checks the shape of a work-group; returns the directive that it breaks.
    pub(crate) fn check(&self, block: [u32; 3]) -> Result<(), ShapeProblem> {
        let problem = |message, directive| Err(ShapeProblem { message, directive });
        let list = |axes: [u32; 3]| axes.map(|axis| axis.to_string()).join(", ");
        if let Some(required) = self.required
            && required.axes != block
        {
            return problem(
                format!(
                    "a work-group of {} threads, but the kernel declares `.reqntid {}`, which is the only shape it may be launched with",
                    list(block),
                    list(required.axes)
                ),
                self.required,
            );
        }
        if let Some(most) = self.most
            && product(most.axes) < product(block)
        {
            return problem(
                format!(
                    "a work-group of {} threads, but the kernel declares `.maxntid {}`, at most {} threads",
                    product(block),
                    list(most.axes),
                    product(most.axes)
                ),
                self.most,
            );
        }
        Ok(())
    }
}

/// Returns the number of elements of a shape, saturating.
pub(crate) fn product(axes: [u32; 3]) -> u64 {
    let axes = axes.iter().map(|&axis| u64::from(axis));
    axes.fold(1, u64::saturating_mul)
}
