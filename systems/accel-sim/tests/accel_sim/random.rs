//! Tests that the program matches the trace for random warps in every address mode.

use std::fmt::Write as _;
use std::fs;

use proptest::prelude::*;
use warpweave_accel_sim::Quirks;
use warpweave_trace::Lanes;

use crate::imported;

/// A warp instruction: pc, active lanes, addresses of all lanes, and the address mode.
#[derive(Clone, Debug)]
struct Said {
    pc: u64,
    active: u32,
    addresses: Vec<u64>,
    mode: u8,
}

fn said() -> impl Strategy<Value = Said> {
    let lanes = prop_oneof![
        any::<u32>(),
        Just(u32::MAX),
        (0..32_u32).prop_map(|lane| 1 << lane)
    ];
    let addresses = prop_oneof![
        prop::collection::vec(0x7f00_0000_0000..0x7f00_0010_0000_u64, 32),
        (0x7f00_0000_0000..0x7f00_0010_0000_u64, -64..64_i64).prop_map(|(base, step)| {
            let address = |lane| base.wrapping_add_signed(lane * step);
            (0..32).map(address).collect()
        }),
    ];
    (0..20_u64, lanes, addresses, 0..3_u8).prop_map(|(pc, active, addresses, mode)| Said {
        pc: pc * 16,
        active,
        addresses,
        mode,
    })
}

impl Said {
    fn active(&self) -> Vec<(u32, u64)> {
        let lanes = (0..32).filter(|lane| self.active >> lane & 1 != 0);
        lanes
            .map(|lane| (lane, self.addresses[lane as usize]))
            .collect()
    }

    /// Returns the line, in the address mode if it can express the addresses.
    fn line(&self) -> String {
        let active = self.active();
        let mut text = format!("{:04x} {:08x} 1 R4 LDG.E 1 R2 4 ", self.pc, self.active);
        let steps: Vec<i64> = active
            .windows(2)
            .map(|pair| pair[1].1.wrapping_sub(pair[0].1) as i64)
            .collect();
        let is_run = active.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1);
        let is_even = steps.windows(2).all(|pair| pair[0] == pair[1]);
        let written = match (self.mode, active.first(), steps.first()) {
            (1, Some((_, base)), Some(step)) if is_run && is_even => {
                write!(text, "1 {base:#x} {step} ")
            }
            (2, Some((_, base)), _) => {
                let steps: Vec<_> = steps.iter().map(ToString::to_string).collect();
                write!(text, "2 {base:#x} {} ", steps.join(" "))
            }
            _ => {
                let list: Vec<_> = active.iter().map(|(_, a)| format!("0x{a:016x}")).collect();
                write!(text, "0 {} ", list.join(" "))
            }
        };
        written.expect("writing to a string succeeds");
        text + "0\n"
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_warp_in_any_mode_is_read_as_it_was_said(
        warps in prop::collection::vec(prop::collection::vec(said(), 0..12), 4),
        first in 0..2_u32,
    ) {
        let mut text = "-kernel name = k\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (64,1,1)\n-shmem = 0\n\
                        -nregs = 8\n-binary version = 75\n-cuda stream id = 0\n#\n".to_owned();
        for block in [first, 1 - first] {
            write!(text, "#BEGIN_TB\nthread block = {block},0,0\n").expect("a string");
            for warp in 0..2 {
                let said = &warps[(2 * block + warp) as usize];
                write!(text, "warp = {warp}\ninsts = {}\n", said.len()).expect("a string");
                text.extend(said.iter().map(Said::line));
            }
            text += "#END_TB\n";
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("kernel-1.traceg");
        fs::write(&path, &text).expect("it is written");
        let (program, _) = imported(&path, Quirks::default()).expect("it is read");
        let kernel = &program.kernels[0];
        let mut lanes = Lanes::default();
        let mut pcs: Vec<u64> = warps.iter().flatten().map(|said| said.pc).collect();
        pcs.sort_unstable();
        pcs.dedup();
        for (number, said) in warps.iter().enumerate() {
            let mut cursor = kernel.cursor(number as u32 / 2, number as u32 % 2);
            for said in said {
                let record = cursor.next(kernel, &mut lanes).expect("as many as were said");
                prop_assert_eq!(pcs[record.pc as usize], said.pc);
                prop_assert_eq!(record.mask, said.active);
                prop_assert_eq!(lanes.iter(record.mask).collect::<Vec<_>>(), said.active());
            }
            prop_assert!(cursor.next(kernel, &mut lanes).is_none());
        }
    }
}
