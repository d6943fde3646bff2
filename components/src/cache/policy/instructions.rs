//! Instructions as keys of tables: the code of the kernel, and the index in it.

use rustc_hash::FxHashMap;
use warpweave_framework::Environment;
use warpweave_random::GAMMA;
use warpweave_trace::Program;

use std::sync::Arc;

use crate::memory::Source;

/// Numbers of the codes that the launches of a program run. Launches of one kernel share a number.
#[derive(Clone, Debug, Default)]
pub struct Instructions {
    codes: Vec<u32>,
}

impl Instructions {
    /// Numbers the codes of the program of a run. Without a program every launch has the number 0.
    pub fn of(environment: &Environment) -> Self {
        let Some(program) = environment.resource::<Program>() else {
            return Self::default();
        };
        let mut known = FxHashMap::default();
        let number = |kernel: &Arc<_>| {
            let kernel: &warpweave_trace::KernelTrace = kernel;
            let next = known.len() as u32;
            *known.entry(Arc::as_ptr(&kernel.code)).or_insert(next)
        };
        Self {
            codes: program.kernels.iter().map(number).collect(),
        }
    }

    /// Returns a key of the instruction that issued a request, the same in all launches of its
    /// kernel.
    pub fn key(&self, source: &Source) -> u64 {
        let code = self.codes.get(source.kernel as usize).copied();
        u64::from(code.unwrap_or(0)) << 32 | u64::from(source.pc)
    }
}

/// Returns a hash of a key of an instruction, in `0..entries`, which must be a power of two.
pub fn hash_key(key: u64, entries: u32) -> u32 {
    // Fibonacci hashing: the top bits of the product depend on all bits of the key.
    let bits = entries.trailing_zeros();
    let hash = key.wrapping_mul(GAMMA).checked_shr(u64::BITS - bits);
    hash.unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_instructions_stay_in_their_table_and_spread() {
        assert!((0..100).all(|key| hash_key(key, 1) == 0));
        let mut seen = [0u32; 32];
        (0..32).for_each(|key| seen[hash_key(key, 32) as usize] += 1);
        assert!(seen.iter().all(|count| *count <= 2), "{seen:?}");
    }

    #[test]
    fn without_a_program_instructions_differ_by_their_index_alone() {
        let instructions = Instructions::of(&Environment::new("l1", 1));
        let source = |kernel, pc| Source {
            kernel,
            pc,
            ..Source::default()
        };
        assert_eq!(instructions.key(&source(3, 7)), 7);
        assert_eq!(instructions.key(&source(0, 7)), 7);
    }
}
