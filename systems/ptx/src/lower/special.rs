//! Special registers (PTX ISA, chapter "Special Registers").

use crate::ops::Special;

/// Special registers whose value depends on the time and place of execution. Emulation precedes
/// timing, so any value could contradict the timing model.
const PLACED: [&str; 18] = [
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%clusterid.x",
    "%clusterid.y",
    "%clusterid.z",
    "%nclusterid.x",
    "%is_explicit_cluster",
    "%current_graph_exec",
    "%reserved_smem_offset_begin",
];

/// Looks up a special register by name. Returns it, or the reason for its rejection, or `None` if
/// it is not a special register.
pub(crate) fn find(name: &str) -> Option<Result<Special, String>> {
    if PLACED.contains(&name) || name.starts_with("%pm") || name.starts_with("%envreg") {
        return Some(Err(format!(
            "`{name}` depends on placement or time, which are unknown in emulation"
        )));
    }
    let axis = |letter: &str| match letter {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    if let Some((register, letter)) = name.split_once('.') {
        let axis = axis(letter)?;
        return Some(Ok(match register {
            "%tid" => Special::ThreadId(axis),
            "%ntid" => Special::BlockSize(axis),
            "%ctaid" => Special::GroupId(axis),
            "%nctaid" => Special::GridSize(axis),
            _ => return None,
        }));
    }
    Some(Ok(match name {
        "%laneid" => Special::LaneId,
        "%lanemask_eq" => Special::MaskEq,
        "%lanemask_le" => Special::MaskLe,
        "%lanemask_lt" => Special::MaskLt,
        "%lanemask_ge" => Special::MaskGe,
        "%lanemask_gt" => Special::MaskGt,
        "%dynamic_smem_size" => Special::DynamicSharedBytes,
        "%total_smem_size" => Special::TotalSharedBytes,
        _ => return None,
    }))
}
