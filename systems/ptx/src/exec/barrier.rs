//! Local memory and the 16 barriers of a work-group (PTX ISA, "barrier").
//!
//! Arrivals count whole wavefronts, as the ISA states for hardware before Volta: a divergent
//! wavefront arrives once per path.

use crate::exec::error::{Fault, FaultKind};
use crate::exec::registers::lanes;
use crate::exec::wavefront::{State, Wavefront};
use crate::ops::{Barrier, BarrierKind};

/// Work-group in flight, with its wavefronts and shared state.
pub(super) struct Group {
    pub(super) number: u32,
    /// Number of work-groups that started before this one.
    pub(super) order: u32,
    /// Wavefronts in the order of their turns.
    pub(super) wavefronts: Vec<Wavefront>,
    pub(super) shared: Shared,
}

#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    wavefronts: u32,
    /// Number of wavefronts expected, if the instruction gives one.
    expected: Option<u32>,
    /// Number of arrived threads whose predicate is true.
    held: u32,
    /// True if the predicate of any arrived thread is false.
    failed: bool,
}

/// State shared by the wavefronts of a work-group.
pub(super) struct Shared {
    pub(super) bytes: Vec<u8>,
    barriers: [Arrivals; 16],
    /// Bit set of barriers that may have become complete.
    touched: u32,
    /// Number of wavefronts, and of those that have not ended.
    wavefronts: u32,
    running: u32,
}

impl Shared {
    pub(super) fn new(bytes: u32, wavefronts: u32) -> Self {
        Self {
            bytes: vec![0; bytes as usize],
            barriers: [Arrivals::default(); 16],
            touched: 0,
            wavefronts,
            running: wavefronts,
        }
    }

    /// Removes an ended wavefront from the barrier counts.
    pub(super) fn leave(&mut self) {
        self.running -= 1;
        for (number, barrier) in self.barriers.iter().enumerate() {
            // Those that wait may be complete without it.
            self.touched |= u32::from(barrier.wavefronts > 0) << number;
        }
    }

    /// Counts an arrival of `lanes`; `held` are those with a true predicate.
    pub(super) fn arrive(
        &mut self,
        number: u32,
        threads: Option<u32>,
        lanes: u32,
        held: u32,
    ) -> Result<(), Fault> {
        let counted = 32 * u64::from(self.wavefronts);
        if let Some(threads) = threads
            && (threads == 0 || threads % 32 != 0 || u64::from(threads) > counted)
        {
            return Err(Fault {
                lane: None,
                kind: FaultKind::BarrierThreads { threads, counted },
            });
        }
        let Some(barrier) = self.barriers.get_mut(number as usize) else {
            return Err(Fault {
                lane: None,
                kind: FaultKind::BarrierNumber { number },
            });
        };
        barrier.wavefronts += 1;
        barrier.expected = barrier.expected.or(threads.map(|threads| threads / 32));
        barrier.held += (held & lanes).count_ones();
        barrier.failed |= lanes & !held != 0;
        self.touched |= 1 << number;
        Ok(())
    }

    /// Opens the complete barriers and returns their numbers as a bit set.
    pub(super) fn release(&mut self, wavefronts: &mut [Wavefront]) -> u32 {
        let mut opened = 0;
        for number in lanes(std::mem::take(&mut self.touched)) {
            let barrier = self.barriers[number];
            if barrier.wavefronts < barrier.expected.unwrap_or(self.running).max(1) {
                continue;
            }
            opened |= 1 << number;
            self.barriers[number] = Arrivals::default();
            for wavefront in wavefronts.iter_mut() {
                if wavefront.state
                    == (State::Waiting {
                        barrier: number as u32,
                    })
                {
                    wavefront.state = State::Running;
                    if let Some((instruction, mask)) = wavefront.barrier_result.take() {
                        finish(wavefront, &instruction, mask, &barrier);
                    }
                }
            }
        }
        opened
    }
}

fn finish(wavefront: &mut Wavefront, instruction: &Barrier, mask: u32, arrivals: &Arrivals) {
    let registers = &mut wavefront.registers;
    let all = |condition: bool| if condition { u32::MAX } else { 0 };
    match instruction.kind {
        BarrierKind::Count => {
            registers.put32_unless_discarded(instruction.d, mask, &[arrivals.held; 32]);
        }
        BarrierKind::All => registers.put_predicate(instruction.d, mask, all(!arrivals.failed)),
        BarrierKind::Any => registers.put_predicate(instruction.d, mask, all(arrivals.held > 0)),
        BarrierKind::Wait | BarrierKind::Arrive => {}
    }
}
