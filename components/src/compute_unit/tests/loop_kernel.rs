//! Kernels with one loop whose loads are prefetched, as a trace and with prefetches written out.

use proptest::prelude::*;
use warpweave_random::nth;

use super::*;
use crate::compute_unit::spare_registers::testing::instruction;

pub(super) const HEAD: u32 = 1;

/// A loop that reads `table[index[i]]`, or `index[i]` alone. Each lane of each wavefront has a
/// number of iterations.
#[derive(Clone, Debug)]
pub(super) struct LoopKernel {
    pub(super) trips: Vec<[u32; LANES]>,
    pub(super) stride: i64,
    pub(super) has_tail: bool,
    /// Two instructions of the loop compute the address of the head.
    pub(super) is_indexed: bool,
    /// Lanes leave their last iteration behind the head.
    pub(super) breaks: bool,
    pub(super) seed: u64,
}

impl LoopKernel {
    pub(super) fn of_one_lane(trips: u32) -> Self {
        let mut lanes = [0; LANES];
        lanes[0] = trips;
        Self {
            trips: vec![lanes],
            stride: 128,
            has_tail: false,
            is_indexed: false,
            breaks: false,
            seed: 1,
        }
    }

    fn mask(&self, wavefront: usize, iteration: u32) -> u32 {
        let lanes = self.trips[wavefront].iter().enumerate();
        lanes.fold(0, |mask, (lane, trips)| {
            mask | u32::from(*trips >= iteration) << lane
        })
    }

    pub(super) fn head_at(&self, iteration: u32) -> [u64; LANES] {
        std::array::from_fn(|lane| {
            (0x10_0000 + 0x2000 * lane as u64)
                .wrapping_add_signed(self.stride * i64::from(iteration))
        })
    }

    fn tail_at(&self, wavefront: usize, iteration: u32) -> [u64; LANES] {
        let place = |lane| (wavefront * 32 + lane) as u64 * 64 + u64::from(iteration);
        std::array::from_fn(|lane| 0x100_0000 + nth(self.seed, place(lane)) % 4096 * 4)
    }

    /// Instructions of the loop. The header computes the address of the head, or is the head; the
    /// tail is the third behind it.
    fn lines(&self) -> Vec<&'static str> {
        let middle: &[_] = if self.has_tail {
            &[
                "mul.lo.u32 6 5 #4",
                "add.u32 7 9 6",
                "ld.global.nc.u32 8 7",
                "xor.b32 10 10 8",
            ]
        } else {
            &["xor.b32 10 10 5"]
        };
        let head: &[_] = if self.is_indexed {
            &[
                "shl.b32 12 4 #2",
                "add.u32 13 12 14",
                "ld.global.nc.u32 5 13",
            ]
        } else {
            &["ld.global.nc.u32 5 4"]
        };
        [
            vec!["mov.u32 4 1"],
            head.to_vec(),
            middle.to_vec(),
            vec!["add.u32 4 4 #128", "setp.ne.s32 p1 11 4", "bra p1"],
        ]
        .concat()
    }

    pub(super) fn head(&self) -> u32 {
        if self.is_indexed { HEAD + 2 } else { HEAD }
    }

    fn code(&self) -> Arc<Code> {
        let mut instructions: Vec<_> = self.lines().into_iter().map(instruction).collect();
        for made in &mut instructions[HEAD as usize..] {
            made.loop_head = Some(HEAD);
        }
        instructions.last_mut().unwrap().target = Some(HEAD);
        instructions.push(op(Class::Exit, &[], &[]));
        Arc::new(Code {
            name: "loop".to_owned(),
            instructions,
            registers_per_thread: 16,
            ..Code::default()
        })
    }

    /// Writes the loop; `head_at` and `tail_at` give the addresses of a wavefront's iteration.
    pub(super) fn trace(&self, head_at: impl Fn(u32) -> [u64; LANES]) -> KernelTrace {
        let code = self.code();
        let count = code.instructions.len() as u32;
        let block = [32 * self.trips.len() as u32, 1, 1];
        let mut writer = KernelWriter::new(code, [1, 1, 1], block, 0, Vec::new()).unwrap();
        for wavefront in 0..self.trips.len() {
            let mut stream = StreamWriter::new();
            stream.step(0, ALL);
            for iteration in 1.. {
                let mask = self.mask(wavefront, iteration);
                if mask == 0 {
                    break;
                }
                let is_last = self.mask(wavefront, iteration + 1) == 0;
                let end = if self.breaks && is_last {
                    self.head() + 2
                } else {
                    count - 1
                };
                for pc in HEAD..end {
                    if pc == self.head() {
                        stream.access(pc, mask, Space::Global, false, &head_at(iteration));
                    } else if self.has_tail && pc == self.head() + 3 {
                        let at = self.tail_at(wavefront, iteration);
                        stream.access(pc, mask, Space::Global, false, &at);
                    } else {
                        stream.step(pc, mask);
                    }
                }
            }
            stream.step(count - 1, ALL);
            writer
                .finish_wavefront(0, wavefront as u32, stream)
                .unwrap();
        }
        writer.finish().unwrap()
    }

    /// Steps of a wavefront with prefetches and moves written out, `distance` iterations ahead from
    /// iteration `first` on.
    pub(super) fn written_out(
        &self,
        wavefront: usize,
        (distance, first): (u32, u32),
        spares: &SpareRegistersSpec,
    ) -> Vec<Step> {
        let lines = self.lines();
        let head = self.head() as usize;
        let address = |slot| {
            if spares.address_registers == 0 {
                slot
            } else {
                50
            }
        };
        let plain = |line: usize, mask| Step {
            mask,
            ..step(instruction(lines[line]))
        };
        let place = |iteration: u32| (iteration % distance) as u16;
        let (head_slot, tail_slot) = (|i| 40 + place(i), |i| 43 + place(i));
        let load = |to, from, at, mask| Step {
            mask,
            ..access(Class::Load, &[to], &[from], Space::Global, at)
        };
        let moves = |to, from, mask| Step {
            mask,
            ..step(op(Class::IntAdd, &[to], &[from]))
        };
        let mut steps = vec![plain(0, ALL)];
        for n in 1.. {
            let mask = self.mask(wavefront, n);
            if mask == 0 {
                break;
            }
            let later = n + distance;
            let ahead = if n >= first {
                self.mask(wavefront, later)
            } else {
                0
            };
            let is_filled = n >= first + distance;
            steps.extend((1..head).map(|line| plain(line, mask)));
            let from = if self.is_indexed { 13 } else { 4 };
            steps.push(if is_filled {
                moves(5, head_slot(n), mask)
            } else {
                load(5, from, self.head_at(n), mask)
            });
            if ahead != 0 {
                let slot = head_slot(later);
                let mut read = from;
                if spares.head_sequence == HeadSequence::Slice {
                    read = address(slot);
                    steps.push(moves(read, from, ahead));
                    let arithmetic = if self.is_indexed { &[4, 14][..] } else { &[] };
                    steps.extend(arithmetic.iter().map(|other| Step {
                        mask: ahead,
                        ..step(op(Class::IntAdd, &[read], &[*other, read]))
                    }));
                }
                steps.push(load(slot, read, self.head_at(later), ahead));
            }
            let mut next = head + 1;
            if self.has_tail {
                steps.extend([plain(head + 1, mask), plain(head + 2, mask)]);
                steps.push(if is_filled {
                    moves(8, tail_slot(n), mask)
                } else {
                    load(8, 7, self.tail_at(wavefront, n), mask)
                });
                if ahead != 0 {
                    let slot = tail_slot(later);
                    let read = address(slot);
                    steps.push(moves(read, head_slot(later), ahead));
                    steps.push(Step {
                        mask: ahead,
                        ..step(op(Class::IntAdd, &[read], &[9, read]))
                    });
                    steps.push(load(slot, read, self.tail_at(wavefront, later), ahead));
                }
                next = head + 4;
            }
            steps.extend((next..lines.len()).map(|line| plain(line, mask)));
        }
        steps.push(exit());
        steps
    }
}

pub(super) fn any_loop() -> impl Strategy<Value = LoopKernel> {
    let lane = prop_oneof![3 => 0u32..7, 1 => 0u32..20];
    let wavefront = proptest::array::uniform32(lane);
    (
        proptest::collection::vec(wavefront, 1..4),
        prop::sample::select(vec![4_i64, -4, 128, 1000]),
        (any::<bool>(), any::<bool>()),
        any::<u64>(),
    )
        .prop_map(|(trips, stride, (has_tail, is_indexed), seed)| LoopKernel {
            trips,
            stride,
            has_tail,
            is_indexed,
            breaks: false,
            seed,
        })
}
