//! Frame of the kernels that count cycles: rounds of the same steps between two looks at the clock.

use std::fmt::Write as _;

use super::Bench;
use crate::driver::DriverError;

/// Kernel that repeats its steps as often as a parameter says.
///
/// Registers that its texts may use: `%rd3` is the data, `%r3` and `%r4` are unknown words, and
/// `%r5` is the thread. Results go to `%rd2`, eight bytes for each thread.
pub(super) struct RoundKernel<'k> {
    pub(super) name: &'k str,
    /// Declarations within the kernel, such as local memory.
    pub(super) declares: &'k str,
    pub(super) before: &'k str,
    pub(super) round: &'k str,
    pub(super) after: &'k str,
}

impl RoundKernel<'_> {
    /// Appends the kernel to a module.
    pub(super) fn write(&self, text: &mut String) {
        let Self {
            name,
            declares,
            before,
            round,
            after,
        } = self;
        let _ = write!(
            text,
            "\n.visible .entry {name}(.param .u64 cycles, .param .u64 sink, .param .u64 data, .param .u32 rounds, .param .u32 seed, .param .u32 step) {{\n\
             \x20   .reg .pred %p<4>; .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .f32 %f<64>; .reg .f64 %d<64>;\n\
             \x20   {declares}\n\
             \x20   ld.param.u64 %rd1, [cycles]; ld.param.u64 %rd2, [sink]; ld.param.u64 %rd3, [data];\n\
             \x20   ld.param.u32 %r1, [rounds]; ld.param.u32 %r3, [seed]; ld.param.u32 %r4, [step];\n\
             \x20   mov.u32 %r5, %tid.x; mul.wide.u32 %rd4, %r5, 8;\n\
             \x20   add.s64 %rd1, %rd1, %rd4; add.s64 %rd2, %rd2, %rd4;\n\
             {before}\n\
             \x20   bar.sync 0;\n\
             \x20   mov.u32 %r2, 0;\n\
             \x20   mov.u64 %rd5, %clock64;\n\
             again_{name}:\n\
             {round}\n\
             \x20   add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra again_{name};\n\
             \x20   mov.u64 %rd6, %clock64;\n\
             \x20   sub.s64 %rd7, %rd6, %rd5; st.global.u64 [%rd1], %rd7;\n\
             {after}\n\
             \x20   ret;\n}}\n"
        );
    }
}

/// Launch of a kernel whose rounds are timed.
#[derive(Clone, Copy, Debug)]
pub struct Rounds<'k> {
    pub kernel: &'k str,
    pub groups: u32,
    /// Number of threads of a work-group.
    pub threads: u32,
    pub seed: u32,
    pub step: u32,
    /// Number of rounds of the shorter launch. The longer one has four times as many.
    pub fewer: u32,
    pub samples: u32,
}

impl Bench<'_> {
    /// Returns the cycles of a round, for each sample.
    pub(super) fn cycles_of_a_round(&mut self, of: Rounds<'_>) -> Result<Vec<f64>, DriverError> {
        let more = of.fewer.saturating_mul(4);
        // Without a sample of it: loads the code, and wakes the clocks.
        self.cycles(of, of.fewer)?;
        let sample = |_| {
            let less = self.cycles(of, of.fewer)?;
            Ok((self.cycles(of, more)? - less) / f64::from(more - of.fewer))
        };
        (0..of.samples).map(sample).collect()
    }

    /// Returns the largest number of cycles that a thread counted.
    fn cycles(&mut self, of: Rounds<'_>, rounds: u32) -> Result<f64, DriverError> {
        let words = [self.cycles, self.sink, self.data].map(|it| it.to_le_bytes().to_vec());
        let numbers = [rounds, of.seed, of.step].map(|it| it.to_le_bytes().to_vec());
        let arguments = words.into_iter().chain(numbers).collect();
        let launch = self.launch(of.kernel, of.groups, of.threads, arguments);
        self.driver.launch(&launch)?;
        let mut bytes = vec![0; 8 * of.threads as usize];
        self.driver.read(self.cycles, &mut bytes)?;
        let counts = bytes.as_chunks::<8>().0.iter();
        let counts = counts.map(|count| u64::from_le_bytes(*count));
        Ok(counts.max().unwrap_or(0) as f64)
    }
}
