//! Reasons why a value or an address is not known.

/// Reason why the addresses of an instruction are not known, or only bounded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Cause {
    /// Address is computed from data in memory.
    #[error("address depends on data loaded at line {line}")]
    Loaded { line: u32 },
    /// Condition of the path is not known.
    #[error("line {line} executes under a condition that is not affine")]
    Condition { line: u32 },
    /// Arithmetic may exceed the width of its type.
    #[error("address may wrap around at line {line}")]
    Wraps { line: u32 },
    /// Product or quotient of two values that both vary.
    #[error("address is not linear at line {line}")]
    NotLinear { line: u32 },
    /// Result of an instruction that the analysis does not follow.
    #[error("address depends on the result of `{opcode}` at line {line}")]
    Opcode { opcode: String, line: u32 },
    /// Value changes from iteration to iteration by other than a constant.
    #[error("address changes irregularly in the loop at line {line}")]
    Carried { line: u32 },
    /// Number of iterations of a loop is not known.
    #[error("number of iterations of the loop at line {line} is not known")]
    Iterations { line: u32 },
    /// Address starts from a variable whose place is not in the trace.
    #[error("address of the variable `{name}` is not in the trace")]
    Variable { name: String },
    /// Address in local memory may lie so far from its variable that it reaches global memory.
    #[error("address may leave local memory at line {line}")]
    LeavesLocal { line: u32 },
    /// Register has no value yet on some path.
    #[error("address depends on a register without a value at line {line}")]
    Unset { line: u32 },
    /// More cases than the analysis distinguishes.
    #[error("more than {max} cases at line {line}")]
    Cases { max: usize, line: u32 },
    /// Instruction of a function that is called.
    #[error("in a called function")]
    Called,
    /// Kernel jumps to places that its instructions compute.
    #[error("control flow is computed at line {line}")]
    ComputedBranch { line: u32 },
    /// Loop that is entered at several places.
    #[error("a loop is entered at several places, line {line}")]
    Irreducible { line: u32 },
    /// Instructions were imported from a trace without operands.
    #[error("operands are not in the trace")]
    NoOperands,
    /// Loads that go through the texture path.
    #[error("texture reads take addresses from a texture")]
    Texture,
    /// Kernel has too many paths or instructions for the analysis.
    #[error("kernel is too large for the analysis")]
    TooLarge,
    /// Set of addresses has more pieces than the analysis enumerates.
    #[error("more than {max} separate ranges of bytes")]
    Ranges { max: usize },
}
