//! Timing parameters of a GDDR5 device, in cycles of the command clock CK.
//!
//! Names follow the standard (JEDEC JESD212) and the public simulators, so that data sheets or
//! other tools' files can be copied line by line. Nothing is derived silently. Only tRTW may be
//! omitted, and [`Timing::read_to_write`] documents its default.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

use super::refresh::{POSTPONED_MAX, Refresh};

/// Maximum value of a timing field; keeps sums of a few of them far from overflow.
const CYCLES_MAX: u32 = 1 << 24;

/// Timing of a device, all in CK cycles. A gap of 0 is not enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Cycles a burst occupies the data bus: BL / 4, which is 2 for GDDR5 (JESD212); BL / 8 for
    /// GDDR5X (JESD232), BL / 2 for HBM2 (JESD235A).
    pub burst_cycles: u32,
    /// Read latency (RL): RD command to first data beat.
    pub t_cl: u32,
    /// Write latency (CWL): WR command to first data beat.
    pub t_wl: u32,
    /// ACT to RD of the same bank.
    pub t_rcd_rd: u32,
    /// ACT to WR of the same bank.
    pub t_rcd_wr: u32,
    /// PRE to ACT of the same bank, and PRE to REF.
    pub t_rp: u32,
    /// ACT to PRE of the same bank.
    pub t_ras: u32,
    /// ACT to ACT of the same bank; enforced in addition to tRAS + tRP, never derived from them.
    pub t_rc: u32,
    /// ACT to ACT of any other bank.
    pub t_rrd_s: u32,
    /// ACT to ACT of another bank of the same bank group.
    pub t_rrd_l: u32,
    /// RD to RD and WR to WR of any bank.
    pub t_ccd_s: u32,
    /// RD to RD and WR to WR of the same bank group; equal to `t_ccd_s` when bank groups are off.
    pub t_ccd_l: u32,
    /// RD to WR of any bank. If omitted: tCL + burst + 2 - tWL. Source: the turnaround of most
    /// simulators; presets D1 and Titan state it.
    #[serde(default)]
    pub t_rtw: Option<u32>,
    /// Last beat written to RD of any bank.
    pub t_wtr_s: u32,
    /// Last beat written to RD of the same bank group.
    pub t_wtr_l: u32,
    /// RD to PRE of the same bank.
    pub t_rtp: u32,
    /// Last beat written to PRE of the same bank.
    pub t_wr: u32,
    /// Window in which at most four ACT may be issued.
    pub t_faw: u32,
    /// Window in which at most 32 ACT may be issued.
    pub t_32aw: u32,
    /// PRE to PRE of any bank.
    pub t_ppd: u32,
    /// Mean interval of all-bank refreshes, in CK cycles.
    pub t_refi: u32,
    /// Duration of an all-bank refresh, in CK cycles.
    pub t_rfc: u32,
    /// Mean interval of per-bank refreshes; required when they are enabled. Source: tREFI / banks
    /// keeps the rate of all-bank refreshes, as in `hbm2`.
    #[serde(default)]
    pub t_refi_b: Option<u32>,
    /// Duration of a per-bank refresh; required when they are enabled. Source: `hbm2` has one.
    #[serde(default)]
    pub t_rfc_b: Option<u32>,
    /// Per-bank refresh to ACT or refresh of another bank; required when they are enabled. Source:
    /// `hbm2` has one.
    #[serde(default)]
    pub t_rrefd: Option<u32>,
}

impl Timing {
    /// Returns the RD to WR command gap (row 15 of the rules in docs/components/gddr5.md).
    pub fn read_to_write(&self) -> u32 {
        self.t_rtw
            .unwrap_or_else(|| (self.t_cl + self.burst_cycles + 2).saturating_sub(self.t_wl))
    }

    /// Returns the cycles from a WR command to the end of its data: WL + BL.
    pub fn write_data_end(&self) -> u32 {
        self.t_wl + self.burst_cycles
    }

    /// Returns the cycles from a RD command to the end of its data: CL + BL.
    pub fn read_data_end(&self) -> u32 {
        self.t_cl + self.burst_cycles
    }

    /// Returns the smallest number of cycles between column commands of one kind.
    pub fn columns_apart(&self) -> u32 {
        self.t_ccd_s.max(self.burst_cycles)
    }

    /// Returns the cycles between refreshes in this mode; `None` without refresh.
    pub fn refresh_interval(&self, refresh: Refresh) -> Option<u32> {
        match refresh {
            Refresh::Off => None,
            Refresh::AllBank { .. } => Some(self.t_refi),
            Refresh::PerBank { .. } => self.t_refi_b,
        }
    }

    /// True if a per-bank refresh takes longer than the interval to the next bank's.
    pub(super) fn refreshes_overlap(&self) -> bool {
        self.t_rfc_b > self.t_refi_b
    }

    /// Returns every required field with its name, in the order of the declaration.
    fn fields(&self) -> [(&'static str, u32); 25] {
        [
            ("burst_cycles", self.burst_cycles),
            ("t_cl", self.t_cl),
            ("t_wl", self.t_wl),
            ("t_rcd_rd", self.t_rcd_rd),
            ("t_rcd_wr", self.t_rcd_wr),
            ("t_rp", self.t_rp),
            ("t_ras", self.t_ras),
            ("t_rc", self.t_rc),
            ("t_rrd_s", self.t_rrd_s),
            ("t_rrd_l", self.t_rrd_l),
            ("t_ccd_s", self.t_ccd_s),
            ("t_ccd_l", self.t_ccd_l),
            ("t_rtw", self.t_rtw.unwrap_or(0)),
            ("t_wtr_s", self.t_wtr_s),
            ("t_wtr_l", self.t_wtr_l),
            ("t_rtp", self.t_rtp),
            ("t_wr", self.t_wr),
            ("t_faw", self.t_faw),
            ("t_32aw", self.t_32aw),
            ("t_ppd", self.t_ppd),
            ("t_refi", self.t_refi),
            ("t_rfc", self.t_rfc),
            ("t_refi_b", self.t_refi_b.unwrap_or(0)),
            ("t_rfc_b", self.t_rfc_b.unwrap_or(0)),
            ("t_rrefd", self.t_rrefd.unwrap_or(0)),
        ]
    }

    /// Returns an upper bound on the cycles in which an active request of every bank gets its
    /// column command. It assumes that nothing new starts, and that one kind (reads or writes) is
    /// served before the other.
    pub(super) fn columns_of_all(&self, banks: u32) -> u64 {
        let apart = self.t_ccd_s.max(self.t_ccd_l).max(self.burst_cycles);
        let data = self.read_data_end().saturating_sub(self.t_wl);
        let to_read = self.write_data_end() + self.t_wtr_s.max(self.t_wtr_l);
        let turn = self.read_to_write().max(data).max(to_read);
        u64::from(banks) * u64::from(apart) + 2 * u64::from(turn)
    }

    /// Checks the parameters for this refresh mode and number of banks.
    ///
    /// # Errors
    /// Returns an error if a time exceeds 2^24 cycles, a burst takes no cycles or a field required
    /// for refreshes is missing. Also fails if refreshes leave no time for anything else.
    pub fn check(&self, field: &str, refresh: Refresh, banks: u32) -> Result<(), SpecError> {
        for (name, cycles) in self.fields() {
            SpecError::in_range(&format!("{field}.{name}"), cycles, ..=CYCLES_MAX)?;
        }
        SpecError::in_range(&format!("{field}.burst_cycles"), self.burst_cycles, 1..)?;
        match refresh {
            Refresh::Off => Ok(()),
            Refresh::AllBank { .. } => {
                let busy = u64::from(self.t_rfc) + self.columns_of_all(banks);
                self.check_pause(field, "t_refi", self.t_refi, busy)
            }
            Refresh::PerBank { .. } => {
                let given = |name: &str, value: Option<u32>| {
                    value.ok_or_else(|| {
                        let message = "required for per-bank refresh".to_owned();
                        SpecError::at(format!("{field}.{name}"), message)
                    })
                };
                let duration = given("t_rfc_b", self.t_rfc_b)?;
                let apart = given("t_rrefd", self.t_rrefd)?;
                SpecError::require(duration >= apart, &format!("{field}.t_rfc_b"), || {
                    format!("{duration} is less than t_rrefd ({apart})")
                })?;
                let interval = given("t_refi_b", self.t_refi_b)?;
                // A refresh takes the place of an ACT in the activation windows.
                let windows = self.t_faw.div_ceil(2) + self.t_32aw.div_ceil(16);
                let others = u64::from(windows + self.t_rrd_s.max(self.t_rrd_l));
                let alone = others + u64::from(duration.max(apart));
                if banks == 1 {
                    return self.check_pause(field, "t_refi_b", interval, alone);
                }
                // The other banks serve requests while one is refreshed.
                self.check_pause(field, "t_refi_b", interval, others + u64::from(apart))?;
                self.check_round(field, refresh, banks, alone)
            }
        }
    }

    /// Checks that a round of refreshes over all banks leaves each bank time for requests. Also
    /// checks that no refresh is later than the rule allows.
    fn check_round(
        &self,
        field: &str,
        refresh: Refresh,
        banks: u32,
        alone: u64,
    ) -> Result<(), SpecError> {
        let interval = u64::from(self.t_refi_b.unwrap_or(0));
        let apart = u64::from(self.t_rrefd.unwrap_or(0));
        let others = u64::from(banks - 1);
        let round = alone + self.row_cycle() + others * (apart + self.row_cycle());
        SpecError::require(
            u64::from(banks) * interval > round,
            &format!("{field}.t_refi_b"),
            || {
                format!(
                    "a round over {banks} banks takes up to {round} cycles; with t_refi_b {interval} no requests would be served"
                )
            },
        )?;
        // The first refresh of a round waits for the end of the last one.
        let late = u64::from(refresh.postponed_max()) + alone.div_ceil(interval);
        let most = u64::from(POSTPONED_MAX) + 1;
        SpecError::require(late <= most, "refresh.postponed_max", || {
            format!(
                "with refreshes of {alone} cycles every {interval}, one could be {late} intervals late, more than {most}"
            )
        })
    }

    /// Returns an upper bound on the cycles in which a bank closes a row, opens another and serves
    /// a request in it.
    fn row_cycle(&self) -> u64 {
        u64::from(self.t_rc.max(self.t_ras + self.t_rp))
            + u64::from(self.t_rcd_rd.max(self.t_rcd_wr))
            + u64::from(self.t_rtp.max(self.write_data_end() + self.t_wr))
    }

    /// Checks that between two refreshes rows can close and at least one request can finish.
    /// Otherwise nothing is ever served.
    fn check_pause(
        &self,
        field: &str,
        name: &str,
        interval: u32,
        busy: u64,
    ) -> Result<(), SpecError> {
        let overhead = self.row_cycle() + busy;
        SpecError::require(
            u64::from(interval) > overhead,
            &format!("{field}.{name}"),
            || {
                format!(
                    "one refresh with closing and reopening rows takes up to {overhead} cycles; with {name} {interval} no requests would be served"
                )
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dram::tests::presets::{preset_a, preset_d, preset_r};

    #[test]
    fn read_to_write_gap_follows_from_latencies_unless_given() {
        assert_eq!(preset_a().read_to_write(), 12);
        assert_eq!(preset_d().read_to_write(), 21);
        assert_eq!(preset_r().read_to_write(), 17);
        let given = Timing {
            t_rtw: Some(19),
            ..preset_a()
        };
        assert_eq!(given.read_to_write(), 19);
    }

    #[test]
    fn refreshes_without_pause_are_refused_with_numbers() {
        let never = Timing {
            t_refi: 160,
            ..preset_a()
        };
        let all = Refresh::AllBank { postponed_max: 0 };
        let error = never.check("timing", all, 16).unwrap_err();
        assert_eq!(error.field, "timing.t_refi");
        assert!(error.message.contains("160"), "{}", error.message);
        assert!(never.check("timing", Refresh::Off, 16).is_ok());
        assert!(preset_d().check("timing", all, 16).is_ok());
        let each = Refresh::PerBank { postponed_max: 0 };
        let by_bank = Timing {
            t_refi_b: Some(160),
            t_rfc_b: Some(200),
            t_rrefd: Some(10),
            ..preset_a()
        };
        let long = Timing {
            t_rfc_b: Some(1500),
            ..by_bank
        };
        assert!(
            by_bank.check("timing", each, 16).is_ok(),
            "others are served"
        );
        let error = by_bank.check("timing", each, 1).unwrap_err();
        assert_eq!(error.field, "timing.t_refi_b");
        let error = long.check("timing", each, 16).unwrap_err();
        assert!(
            error.message.contains("a round over 16"),
            "{}",
            error.message
        );
        let postponed = Refresh::PerBank { postponed_max: 7 };
        let error = by_bank.check("timing", postponed, 16).unwrap_err();
        assert_eq!(error.field, "refresh.postponed_max");
        let error = preset_d().check("timing", each, 16).unwrap_err();
        assert_eq!(error.field, "timing.t_rfc_b");
    }
}
