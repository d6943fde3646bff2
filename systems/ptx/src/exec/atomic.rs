//! Atomic read-modify-write operations, executed lane by lane in ascending order.

use crate::exec::Machine;
use crate::exec::access::{lanes, read_bytes, write_bytes};
use crate::exec::barrier::Shared;
use crate::exec::error::{Fault, FaultKind};
use crate::exec::observe::{AccessKind, Observer};
use crate::exec::registers::Registers;
use crate::exec::soft;
use crate::exec::wavefront::Wavefront;
use crate::ops::{
    Atomic, AtomicKind, FloatFormat, FloatOp, FloatSpec, Lanes32, Lanes64, NO_REGISTER, Region,
    Rounding, Src,
};

impl<O: Observer> Machine<'_, O> {
    pub(super) fn atomic(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        pc: u32,
        mask: u32,
        number: u32,
    ) -> Result<(), Fault> {
        let atomic = &self.kernel.tables.atomics[number as usize];
        let mut addresses = self.addresses(wavefront, &atomic.address);
        let parts = Self::parts(atomic.address.region, mask, &mut addresses)?;
        self.reach(
            wavefront,
            shared,
            (pc, AccessKind::Atomic, number),
            (&parts, &addresses),
        );
        let wide = atomic.bytes == 8;
        for part in &parts {
            for lane in lanes(part.mask) {
                let address = addresses[lane];
                let memory = match part.region {
                    Region::Shared => {
                        let size = shared.bytes.len() as u32;
                        let at = Self::offset_in(part.region, lane, address, atomic.bytes, size)?;
                        &mut shared.bytes[at..at + atomic.bytes as usize]
                    }
                    Region::Global | Region::Generic => {
                        let at = self.device_index(lane, address, atomic.bytes)?;
                        &mut self.memory.data_mut()[at..at + atomic.bytes as usize]
                    }
                    _ => return Err(Fault::at(lane, FaultKind::NoSuchSpace { address })),
                };
                if let Ok(memory) = <&mut [u8; 16]>::try_from(&mut *memory) {
                    let old = u128::from_le_bytes(*memory);
                    let new = swapped(&wavefront.registers, atomic, lane, old);
                    if new != old {
                        *memory = new.to_le_bytes();
                        self.last_progress = self.steps;
                    }
                    if atomic.d != NO_REGISTER {
                        let low = wavefront.registers.double + usize::from(atomic.d);
                        wavefront.registers.doubles[low][lane] = old as u64;
                        wavefront.registers.doubles[low + 1][lane] = (old >> 64) as u64;
                    }
                    continue;
                }
                let constants = (&self.constants32[..], &self.constants64[..]);
                let (b, c) = operands(&wavefront.registers, constants, atomic, lane);
                let old = read_bytes(memory);
                let new = apply(atomic.kind, wide, old, b, c);
                if new != old {
                    write_bytes(memory, new);
                    self.last_progress = self.steps;
                }
                if atomic.d == NO_REGISTER {
                    continue;
                }
                let registers = &mut wavefront.registers;
                let d = usize::from(atomic.d);
                if wide {
                    registers.doubles[registers.double + d][lane] = old;
                } else {
                    registers.words[registers.word + d][lane] = old as u32;
                }
            }
        }
        let effect = self.last_progress;
        wavefront.spin.touch((pc, mask), &addresses, effect);
        Self::record(wavefront, pc, &parts, &addresses);
        Ok(())
    }
}

/// Reads the operands of an atomic in one lane.
pub(super) fn operands(
    registers: &Registers,
    (constants32, constants64): (&[Lanes32], &[Lanes64]),
    atomic: &Atomic,
    lane: usize,
) -> (u64, u64) {
    if atomic.bytes == 8 {
        let read = |source| registers.get64(constants64, source)[lane];
        (read(atomic.b), read(atomic.c))
    } else {
        let read = |source| u64::from(registers.get32(constants32, source)[lane]);
        (read(atomic.b), read(atomic.c))
    }
}

/// Returns the new value of a 16-byte atomic with register operands, given the value `old`.
pub(super) fn swapped(registers: &Registers, atomic: &Atomic, lane: usize, old: u128) -> u128 {
    let read = |Src(low): Src| {
        let half = |at: u16| u128::from(registers.get64(&[], Src(at))[lane]);
        half(low + 1) << 64 | half(low)
    };
    match atomic.kind {
        AtomicKind::CompareSwap if old == read(atomic.b) => read(atomic.c),
        AtomicKind::CompareSwap => old,
        _ => read(atomic.b),
    }
}

fn single_extreme(op: FloatOp, (abs, nan): (bool, bool), a: u64, b: u64) -> u64 {
    let spec = FloatSpec {
        nan,
        ..FloatSpec::new(op, FloatFormat::Single, Rounding::Nearest)
    };
    let size = |bits: u64| if abs { bits & 0x7fff_ffff } else { bits };
    soft::evaluate(&spec, [size(a), size(b), 0])
}

pub(super) fn apply(kind: AtomicKind, wide: bool, old: u64, b: u64, c: u64) -> u64 {
    let signed = |value: u64| {
        if wide {
            value as i64
        } else {
            i64::from(value as i32)
        }
    };
    let new = match kind {
        AtomicKind::Add => old.wrapping_add(b),
        AtomicKind::AddF32 => {
            let sum = f32::from_bits(old as u32) + f32::from_bits(b as u32);
            u64::from(if sum.is_nan() {
                0x7fff_ffff
            } else {
                sum.to_bits()
            })
        }
        AtomicKind::AddF64 => {
            let sum = f64::from_bits(old) + f64::from_bits(b);
            if sum.is_nan() {
                0x7ff8_0000_0000_0000
            } else {
                sum.to_bits()
            }
        }
        // The upper half of a lone number is zero, and zero added to zero stays so.
        AtomicKind::AddF16 | AtomicKind::AddBF16 => {
            let format = if kind == AtomicKind::AddF16 {
                FloatFormat::Half
            } else {
                FloatFormat::Brain
            };
            let spec = FloatSpec {
                pair: true,
                ..FloatSpec::new(FloatOp::Add, format, Rounding::Nearest)
            };
            soft::evaluate(&spec, [old, b, 0])
        }
        AtomicKind::MinU => old.min(b),
        AtomicKind::MaxU => old.max(b),
        AtomicKind::MinS => signed(old).min(signed(b)) as u64,
        AtomicKind::MaxS => signed(old).max(signed(b)) as u64,
        AtomicKind::MinF32 { abs, nan } => single_extreme(FloatOp::Min, (abs, nan), old, b),
        AtomicKind::MaxF32 { abs, nan } => single_extreme(FloatOp::Max, (abs, nan), old, b),
        AtomicKind::And => old & b,
        AtomicKind::Or => old | b,
        AtomicKind::Xor => old ^ b,
        AtomicKind::Exchange => b,
        AtomicKind::CompareSwap => {
            if old == b {
                c
            } else {
                old
            }
        }
        AtomicKind::Increment => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomicKind::Decrement => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    };
    if wide { new } else { new & 0xffff_ffff }
}
