//! Device presets shared by the tests.

use crate::dram::{Field, Geometry, Timing};

/// Returns the geometry of the reference data: 4 groups of 4 banks, 2 KiB rows.
pub(in crate::dram) fn reference_geometry() -> Geometry {
    Geometry {
        bank_groups: 4,
        banks_per_group: 4,
        rows: 4096,
        columns: 64,
    }
}

pub(in crate::dram) const COLUMN_LOWEST: [Field; 4] =
    [Field::Column, Field::BankGroup, Field::Bank, Field::Row];
pub(in crate::dram) const GROUP_LOWEST: [Field; 4] =
    [Field::BankGroup, Field::Column, Field::Bank, Field::Row];

/// Builds a preset from the columns of the published tables. They are tCL, tWL, tRCDRD, tRCDWR,
/// tRP, tRAS, tRC, tRRD, tWTR, tWR, tRTP, tFAW, t32AW, tPPD, tRFC and tREFI.
fn preset(n: [u32; 16]) -> Timing {
    Timing {
        burst_cycles: 2,
        t_cl: n[0],
        t_wl: n[1],
        t_rcd_rd: n[2],
        t_rcd_wr: n[3],
        t_rp: n[4],
        t_ras: n[5],
        t_rc: n[6],
        t_rrd_s: n[7],
        t_rrd_l: n[7],
        t_ccd_s: 2,
        t_ccd_l: 3,
        t_rtw: None,
        t_wtr_s: n[8],
        t_wtr_l: n[8],
        t_wr: n[9],
        t_rtp: n[10],
        t_faw: n[11],
        t_32aw: n[12],
        t_ppd: n[13],
        t_rfc: n[14],
        t_refi: n[15],
        t_refi_b: None,
        t_rfc_b: None,
        t_rrefd: None,
    }
}

/// GPGPU-Sim's GTX 480 numbers at 1.4 GHz, with activation windows and refresh added.
pub(in crate::dram) fn preset_a() -> Timing {
    preset([
        12, 4, 12, 12, 12, 28, 40, 6, 5, 12, 2, 23, 184, 1, 154, 2660,
    ])
}

/// DRAMsim3's 8 Gb x32 numbers at 1.5 GHz.
pub(in crate::dram) fn preset_d() -> Timing {
    preset([
        24, 7, 24, 20, 24, 56, 80, 10, 10, 24, 2, 40, 360, 5, 74, 3800,
    ])
}

/// Ramulator's GDDR5-6000 8 Gb numbers at 1.5 GHz.
pub(in crate::dram) fn preset_r() -> Timing {
    preset([
        18, 5, 18, 15, 18, 42, 60, 9, 8, 18, 2, 35, 276, 2, 525, 2850,
    ])
}
