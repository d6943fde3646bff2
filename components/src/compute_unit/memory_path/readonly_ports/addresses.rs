//! Addresses of load data: argument blocks and the requests of the lanes.

use warpweave_trace::{Lanes, Program, Shape};

use crate::compute_unit::memory_path::coalescer::{Transaction, coalesce};
use crate::compute_unit::spec::readonly_ports::BLOCK_BYTES;
use crate::memory::word_mask;

/// Returns the first byte of each launch's arguments, starting at `base`, and the end of the last
/// block.
pub(crate) fn blocks(program: &Program, base: u64) -> Box<[u64]> {
    let sizes = program.kernels.iter().map(|kernel| {
        let bytes = kernel.arguments.len().max(1) as u64;
        bytes.next_multiple_of(BLOCK_BYTES)
    });
    let starts = sizes.scan(base, |next, bytes| {
        *next = next.wrapping_add(bytes);
        Some(*next)
    });
    std::iter::once(base).chain(starts).collect()
}

/// Returns the lanes with `by` bytes added to their addresses.
pub(crate) fn moved(lanes: &Lanes, mask: u32, by: u64) -> Lanes {
    let shape = match lanes.shape {
        Shape::Uniform(address) => Shape::Uniform(address.wrapping_add(by)),
        Shape::Stride { base, step } => Shape::Stride {
            base: base.wrapping_add(by),
            step,
        },
        Shape::Rows {
            base,
            step,
            pitch,
            row_bits,
        } => Shape::Rows {
            base: base.wrapping_add(by),
            step,
            pitch,
            row_bits,
        },
        shape => shape,
    };
    let mut moved = Lanes {
        shape,
        ..Lanes::default()
    };
    if shape == Shape::List {
        for (lane, address) in lanes.iter(mask) {
            moved.list[lane as usize] = address.wrapping_add(by);
        }
    }
    moved
}

/// Appends the requests of lanes with different addresses, one for each distinct address, in
/// ascending order. A lane whose data cross a line boundary needs two requests.
pub(crate) fn coalesce_addresses(
    lanes: &Lanes,
    mask: u32,
    bytes: u32,
    line_bytes: u32,
    out: &mut Vec<Transaction>,
) {
    if let Shape::Uniform(_) = lanes.shape {
        coalesce(lanes, mask, bytes, line_bytes, out);
        return;
    }
    let mut addresses: Vec<u64> = lanes.iter(mask).map(|(_, address)| address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    for address in addresses {
        let mut offset = (address & u64::from(line_bytes - 1)) as u32;
        let mut line = address - u64::from(offset);
        let mut left = bytes;
        while left > 0 {
            let here = left.min(line_bytes - offset);
            let words = word_mask(offset, here);
            out.push(Transaction { line, words });
            left -= here;
            offset = 0;
            line = line.wrapping_add(u64::from(line_bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use proptest::prelude::*;
    use warpweave_trace::{Code, KernelWriter, StreamWriter};

    use super::*;

    #[test]
    fn every_launch_has_a_block_of_arguments_of_its_own() {
        let launch = |bytes: usize| {
            let code = Arc::new(Code::default());
            let arguments = vec![0; bytes];
            let mut writer = KernelWriter::new(code, [1, 1, 1], [32, 1, 1], 0, arguments)
                .expect("the launch is not empty");
            writer
                .finish_wavefront(0, 0, StreamWriter::new())
                .expect("the stream fits");
            Arc::new(writer.finish().expect("every wavefront is written"))
        };
        let program = Program {
            kernels: [8, 0, 256, 257, 1].map(launch).into(),
            ..Program::default()
        };
        let starts = [0, 0x100, 0x200, 0x300, 0x500, 0x600].map(|offset| (1 << 40) + offset);
        assert_eq!(*blocks(&program, 1 << 40), starts);
    }

    fn lanes() -> impl Strategy<Value = Lanes> {
        let list = prop::collection::vec(0u64..200, 32);
        prop_oneof![
            (0u64..200).prop_map(Shape::Uniform),
            (20_000u64..20_200, -20i64..20).prop_map(|(base, step)| Shape::Stride { base, step }),
            (20_000u64..20_200, -9i64..9, -20i64..20, 1u8..5).prop_map(
                |(base, step, pitch, row_bits)| Shape::Rows {
                    base,
                    step,
                    pitch,
                    row_bits
                }
            ),
            Just(Shape::List),
        ]
        .prop_flat_map(move |shape| {
            list.clone().prop_map(move |list| Lanes {
                shape,
                list: list.try_into().expect("32 addresses"),
            })
        })
    }

    proptest! {
        #[test]
        fn lanes_move_together(lanes in lanes(), mask in any::<u32>(), by in any::<u64>()) {
            let there: Vec<_> = moved(&lanes, mask, by).iter(mask).collect();
            let here = lanes.iter(mask).map(|(lane, address)| (lane, address.wrapping_add(by)));
            prop_assert_eq!(there, here.collect::<Vec<_>>());
        }

        #[test]
        fn every_address_is_read_once_in_ascending_order(
            lanes in lanes(), mask in 1u32..,
            bytes in proptest::sample::select(vec![1u32, 2, 4, 8, 16]),
            line_bytes in proptest::sample::select(vec![32u32, 64, 128]),
        ) {
            let mut out = Vec::new();
            coalesce_addresses(&lanes, mask, bytes, line_bytes, &mut out);
            let addresses: BTreeSet<u64> = lanes.iter(mask).map(|(_, address)| address).collect();
            let mut expected = Vec::new();
            for address in addresses {
                let read = address..address + u64::from(bytes);
                let lines: BTreeSet<u64> =
                    read.clone().map(|byte| byte - byte % u64::from(line_bytes)).collect();
                for line in lines {
                    let here = read.clone().filter(|byte| (line..line + u64::from(line_bytes)).contains(byte));
                    let words = here.fold(0_u32, |words, byte| words | 1 << ((byte - line) / 4));
                    expected.push(Transaction { line, words });
                }
            }
            prop_assert_eq!(out, expected);
        }
    }
}
