//! Affine analysis of kernels: addresses of loads and stores as sums of indices and loop counters.
//! The reuse of lines between work-groups, and the lines and bank conflicts of a wavefront's
//! access, follow.
//!
//! ```text
//!   LaunchHead --> decode, cfg --> eval (step, loops) --> references --> footprints --> directions
//!   code, shape,                   values, conditions     forms and      bytes of each  along x,
//!   arguments                      in every block         constraints    work-group     along y
//!                                                          |
//!                                                          +---> windows: lines of loops
//!                                                          +---> costs: lines, bank conflicts
//! ```
//!
//! The analysis reads the instruction table and the head of a launch, never its streams.
//! Everything it states is proven: an address is a form whose arithmetic does not wrap under the
//! conditions of its path. What it cannot prove is named with its [`Cause`]. Work and memory are
//! bounded by constants; beyond them the answer is a cause too.
//!
//! # Example
//!
//! ```
//! use warpweave_affine::{Direction, LaunchHead, ReuseOptions, analyse};
//! use warpweave_ptx::Module;
//!
//! let module = Module::parse("add.ptx", "
//!     .version 7.0 .target sm_70 .address_size 64
//!     .visible .entry add(.param .u64 in) {
//!         .reg .b32 %r<4>; .reg .b64 %rd<4>;
//!         mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 16, %r2;
//!         ld.param.u64 %rd1, [in]; mul.wide.u32 %rd2, %r3, 4; add.u64 %rd3, %rd1, %rd2;
//!         ld.global.u32 %r1, [%rd3];
//!         ret;
//!     }")?;
//! let head = LaunchHead {
//!     code: module.kernels()[0].code(),
//!     grid: [8, 1, 1],
//!     block: [16, 1, 1],
//!     arguments: &0x7000_0000_u64.to_le_bytes(),
//!     allocations: &[],
//! };
//! let analysis = analyse(&head);
//! assert!(analysis.references[0].is_exact());
//! // Two work-groups of 16 threads share each line of 128 bytes.
//! let found = analysis.directions(&head, ReuseOptions::default());
//! assert_eq!((found.direction, found.distance), (Direction::AlongX, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod address;
mod arithmetic;
mod cause;
mod cfg;
mod cost;
mod decode;
mod domain;
mod eval;
mod footprint;
mod form;
mod launch;
mod line_sets;
mod loop_body;
mod loops;
mod points;
mod reference;
mod reuse;
mod runs;
mod state;
mod step;
mod symbol;
mod value;
mod variable;
mod verify;
mod wavefronts;
mod window;
mod words;

use warpweave_trace::KernelTrace;

pub use cause::Cause;
pub use cost::{Cost, Transactions};
pub use form::{Form, SymbolId};
pub use launch::LaunchHead;
pub use line_sets::LineSets;
pub use loop_body::Loop;
pub use reference::{AccessKind, Exactness, LaunchAnalysis, Piece, Reference};
pub use reuse::{Direction, Directions, Reuse, ReuseOptions, Toucher};
pub use runs::Runs;
pub use symbol::{SymbolKind, Symbols};
pub use verify::{Verified, Violation};
pub use window::LoopWindows;

/// Analyses the accesses of a launch. It always answers; what is not known says why.
pub fn analyse(head: &LaunchHead<'_>) -> LaunchAnalysis {
    let decoded: Vec<_> = head.code.instructions.iter().map(decode::decode).collect();
    let unknown = |cause: &Cause| {
        let all = head.code.instructions.iter().enumerate();
        let all = all.filter_map(|(pc, at)| Reference::unknown(pc, at, cause.clone()));
        let is_local = |at: &Reference| {
            head.code.instructions[at.pc as usize].space == warpweave_trace::Space::Shared
        };
        let (local, references) = all.partition(is_local);
        LaunchAnalysis {
            references,
            local,
            symbols: Symbols::of(head.grid, head.block),
            loops: Vec::new(),
        }
    };
    if head.work_groups() == 0 || head.block.contains(&0) {
        return unknown(&Cause::TooLarge);
    }
    let flow = match cfg::Flow::of(head.code, &decoded) {
        Ok(flow) => flow,
        Err(cause) => return unknown(&cause),
    };
    let mut evaluator = eval::Evaluator::new(head, &decoded, &flow);
    if let Err(cause) = evaluator.kernel() {
        return unknown(&cause);
    }
    let mut analysis = unknown(&Cause::Called);
    for reference in analysis.references.iter_mut().chain(&mut analysis.local) {
        if let Some(found) = evaluator.references.remove(&(reference.pc as usize)) {
            *reference = found;
        }
    }
    LaunchAnalysis {
        loops: Loop::all(&flow, &evaluator.counters),
        symbols: evaluator.symbols,
        ..analysis
    }
}

impl LaunchAnalysis {
    /// Returns the direction in which work-groups reuse lines farthest.
    pub fn directions(&self, head: &LaunchHead<'_>, options: ReuseOptions) -> Directions {
        reuse::directions(head, self, options)
    }

    /// Returns the lines that each innermost loop with cached loads touches until a line is reused,
    /// in work-groups mapped along the direction. Bytes that may be accessed count as accessed. A
    /// loop is left out if its loads are too many to follow, or addresses depend on other loops.
    pub fn windows(
        &self,
        head: &LaunchHead<'_>,
        direction: Direction,
        line_bytes: u32,
    ) -> Vec<LoopWindows> {
        window::windows(head, self, direction, line_bytes)
    }

    /// Returns the direction of one reference alone, whatever its kind.
    pub fn own_directions(
        &self,
        head: &LaunchHead<'_>,
        reference: &Reference,
        line_bytes: u32,
    ) -> Directions {
        let alone = Self {
            references: vec![Reference {
                is_cached: true,
                ..reference.clone()
            }],
            local: Vec::new(),
            symbols: self.symbols.clone(),
            loops: Vec::new(),
        };
        let options = ReuseOptions {
            line_bytes,
            include_stores: true,
        };
        reuse::directions(head, &alone, options)
    }

    /// Returns the lines that each work-group loads through the first-level cache.
    ///
    /// # Errors
    /// Returns the cause if they are too many to enumerate.
    pub fn line_sets(&self, head: &LaunchHead<'_>, line_bytes: u32) -> Result<LineSets, Cause> {
        line_sets::line_sets(head, self, line_bytes)
    }

    /// Counts the lines, and the sectors of 32 bytes, that a wavefront touches by each reference to
    /// global memory. The answers are in their order, or say why they are not known.
    pub fn transactions(
        &self,
        head: &LaunchHead<'_>,
        line_bytes: u32,
    ) -> Vec<Result<Transactions, Cause>> {
        let mut left = wavefronts::WORK_MAX;
        let of =
            |reference| cost::transactions(head, &self.symbols, reference, line_bytes, &mut left);
        self.references.iter().map(of).collect()
    }

    /// Counts the cycles for which a wavefront's access occupies the 32 banks of local memory; 1 is
    /// no conflict. The answers are in the order of the references, or say why they are not known.
    pub fn bank_conflicts(&self, head: &LaunchHead<'_>) -> Vec<Result<Cost, Cause>> {
        let mut left = wavefronts::WORK_MAX;
        let of = |reference| cost::bank_conflicts(head, &self.symbols, reference, &mut left);
        self.local.iter().map(of).collect()
    }

    /// Returns the bytes that a reference accesses in one work-group.
    ///
    /// # Errors
    /// Returns the cause if its addresses are unknown or too many to enumerate.
    pub fn bytes(&self, reference: &Reference, work_group: [u32; 3]) -> Result<Runs, Cause> {
        match &reference.exactness {
            Exactness::Unknown(cause) => Err(cause.clone()),
            _ => verify::predicted(&self.symbols, reference, work_group),
        }
    }

    /// Holds every global access of a recorded launch against the analysis. References whose
    /// addresses are exact must cover the same bytes in every work-group.
    ///
    /// # Errors
    /// Returns the first difference.
    pub fn verify(
        &self,
        head: &LaunchHead<'_>,
        kernel: &KernelTrace,
    ) -> Result<Verified, Violation> {
        verify::verify(self, head, kernel)
    }

    /// Writes the addresses of a reference in words, such as `a + 64*ctaid.x + 4*tid.x`.
    pub fn words(&self, head: &LaunchHead<'_>, reference: &Reference) -> Vec<String> {
        let pieces = reference.pieces.iter();
        let words = pieces.map(|piece| words::piece(head, &self.symbols, piece, reference.bytes));
        words.collect()
    }
}
