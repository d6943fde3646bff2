//! Names of the profiler's metrics that are compared.

/// Metrics by name, with the labels under which some pages print them.
const METRICS: [(&str, &[&str]); 33] = [
    ("sm__cycles_elapsed.max", &["Elapsed Cycles"]),
    ("gpc__cycles_elapsed.max", &[]),
    ("sm__cycles_active.avg", &["SM Active Cycles"]),
    ("smsp__inst_executed.sum", &["Executed Instructions"]),
    ("sm__inst_executed.sum", &[]),
    ("smsp__thread_inst_executed.sum", &[]),
    ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", &[]),
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", &[]),
    (
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
        &[],
    ),
    ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", &[]),
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", &[]),
    ("smsp__inst_executed_op_shared.sum", &[]),
    ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", &[]),
    ("lts__t_sectors_srcunit_tex_op_read.sum", &[]),
    ("lts__t_sectors_op_read.sum", &[]),
    ("lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum", &[]),
    ("lts__t_sectors_op_read_lookup_hit.sum", &[]),
    ("lts__t_sectors_srcunit_tex_op_write.sum", &[]),
    ("lts__t_sectors_op_write.sum", &[]),
    ("dram__sectors_read.sum", &[]),
    ("dram__bytes_read.sum", &[]),
    ("dram__sectors_write.sum", &[]),
    ("dram__bytes_write.sum", &[]),
    (
        "sm__warps_active.avg.per_cycle_active",
        &["Achieved Active Warps Per SM"],
    ),
    (
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        &["Achieved Occupancy"],
    ),
    (
        "smsp__issue_active.avg.per_cycle_active",
        &["Issued Warp Per Scheduler"],
    ),
    (REGISTERS, &["Registers Per Thread"]),
    (GRID[0], &[]),
    (GRID[1], &[]),
    (GRID[2], &[]),
    (BLOCK[0], &[]),
    (BLOCK[1], &[]),
    (BLOCK[2], &[]),
];

pub(crate) const REGISTERS: &str = "launch__registers_per_thread";

/// Extents of a grid in profiles without a column for them.
pub(crate) const GRID: [&str; 3] = [
    "launch__grid_dim_x",
    "launch__grid_dim_y",
    "launch__grid_dim_z",
];

/// Extents of a block in profiles without a column for them.
pub(crate) const BLOCK: [&str; 3] = [
    "launch__block_dim_x",
    "launch__block_dim_y",
    "launch__block_dim_z",
];

/// Part of a metric's name before the reason for which wavefronts wait.
const STALLED: &str = "issue_stalled_";

/// Other spellings of reasons, and the usual one.
const REASONS: [(&str, &str); 4] = [
    ("branch_resolve", "branch_resolving"),
    ("dispatch", "dispatch_stall"),
    ("imc", "imc_miss"),
    ("no_inst", "no_instruction"),
];

/// Returns the usual name of a metric that is compared, from its name or label.
pub(crate) fn canonical(name: &str) -> Option<&str> {
    let known = METRICS
        .iter()
        .find(|(metric, labels)| *metric == name || labels.contains(&name));
    match known {
        Some((metric, _)) => Some(metric),
        None => stall(name).map(|_| name),
    }
}

/// Returns the form of a stall metric, equal for all reasons, and its reason.
pub(crate) fn stall(name: &str) -> Option<([&str; 2], &str)> {
    let at = name.find(STALLED)?;
    let (form, rest) = (&name[..at], &name[at + STALLED.len()..]);
    let end = rest.find("_per_").or_else(|| rest.find('.'));
    let (reason, end) = rest.split_at(end.unwrap_or(rest.len()));
    if reason.ends_with("_not_issued") {
        return None;
    }
    let usual = REASONS.iter().find(|(other, _)| *other == reason);
    Some(([form, end], usual.map_or(reason, |(_, usual)| usual)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_names_mean_the_same_metric() {
        let cycles = Some("sm__cycles_elapsed.max");
        assert_eq!(canonical("Elapsed Cycles"), cycles);
        assert_eq!(canonical("sm__cycles_elapsed.max"), cycles);
        assert_eq!(canonical("sm__pipe_tensor_cycles_active.sum"), None);
    }

    #[test]
    fn stall_metrics_of_every_form_name_their_reason() {
        for (name, reason) in [
            (
                "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
                "long_scoreboard",
            ),
            (
                "smsp__average_warp_latency_issue_stalled_wait.ratio",
                "wait",
            ),
            (
                "smsp__warp_issue_stalled_branch_resolve_per_warp_active.pct",
                "branch_resolving",
            ),
            ("smsp__pcsamp_warps_issue_stalled_no_inst", "no_instruction"),
        ] {
            let (_, found) = stall(name).unwrap();
            assert_eq!(found, reason);
            assert_eq!(canonical(name), Some(name));
        }
        assert_eq!(
            stall("smsp__pcsamp_warps_issue_stalled_wait_not_issued"),
            None
        );
        let forms = [
            "a_issue_stalled_x.sum",
            "b_issue_stalled_x.sum",
            "a_issue_stalled_y.sum",
        ]
        .map(|name| stall(name).unwrap().0);
        assert!(forms[0] != forms[1] && forms[0] == forms[2]);
    }

    #[test]
    fn no_metric_is_listed_twice() {
        let mut names: Vec<&str> = METRICS
            .iter()
            .flat_map(|(name, labels)| std::iter::once(name).chain(*labels))
            .copied()
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
