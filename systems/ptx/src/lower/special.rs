//! Special registers (PTX ISA, chapter "Special Registers").

use crate::ops::Special;

/// Special registers whose value depends on the time and place of execution. Emulation precedes
/// timing, so any value could contradict the timing model. Those of placed launches are not listed.
const PLACED: [&str; 11] = [
    "%gridid",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%current_graph_exec",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
];

/// Meaning of a special register.
#[derive(Clone, Copy)]
pub(crate) enum Found {
    Register(Special),
    /// A register with this value in every launch: the work-group is alone in its cluster.
    Number(u64),
}

/// Names of the special registers with four components, of which the last is zero.
const VECTORS: [&str; 8] = [
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
];

/// Returns the four components of a special register that is named without one.
pub(crate) fn components(name: &str) -> Option<[Found; 4]> {
    if !VECTORS.contains(&name) {
        return None;
    }
    let component = |letter| find(&format!("{name}.{letter}"))?.ok();
    Some([
        component('x')?,
        component('y')?,
        component('z')?,
        component('w')?,
    ])
}

/// Returns the reason why a register is refused whose value the emulation cannot know.
pub(crate) fn depends_on_placement(name: &str) -> String {
    format!("`{name}` depends on placement or time, which are unknown in emulation")
}

/// Looks up a special register by name. Returns it, or the reason for its rejection, or `None` if
/// it is not a special register.
pub(crate) fn find(name: &str) -> Option<Result<Found, String>> {
    // Compilers take the workspace of grid-wide barriers from these two.
    match name {
        "%envreg1" => {
            return Some(Ok(Found::Register(Special::GridWorkspace {
                first_bit: 32,
            })));
        }
        "%envreg2" => return Some(Ok(Found::Register(Special::GridWorkspace { first_bit: 0 }))),
        _ => {}
    }
    if PLACED.contains(&name) || name.starts_with("%pm") || name.starts_with("%envreg") {
        return Some(Err(depends_on_placement(name)));
    }
    let axis = |letter: &str| match letter {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    if let Some((register, letter)) = name.split_once('.') {
        if letter == "w" && VECTORS.contains(&register) {
            return Some(Ok(Found::Number(0)));
        }
        let axis = axis(letter)?;
        return Some(Ok(Found::Register(match register {
            "%tid" => Special::ThreadId(axis),
            "%ntid" => Special::BlockSize(axis),
            "%ctaid" | "%clusterid" => Special::GroupId(axis),
            "%nctaid" | "%nclusterid" => Special::GridSize(axis),
            "%cluster_ctaid" => return Some(Ok(Found::Number(0))),
            "%cluster_nctaid" => return Some(Ok(Found::Number(1))),
            _ => return None,
        })));
    }
    match name {
        "%cluster_ctarank" | "%is_explicit_cluster" => return Some(Ok(Found::Number(0))),
        "%cluster_nctarank" => return Some(Ok(Found::Number(1))),
        _ => {}
    }
    Some(Ok(Found::Register(match name {
        "%smid" => Special::Unit,
        "%nsmid" => Special::Units,
        "%warpid" => Special::WavefrontSlot,
        "%nwarpid" => Special::WavefrontSlots,
        "%laneid" => Special::LaneId,
        "%lanemask_eq" => Special::MaskEq,
        "%lanemask_le" => Special::MaskLe,
        "%lanemask_lt" => Special::MaskLt,
        "%lanemask_ge" => Special::MaskGe,
        "%lanemask_gt" => Special::MaskGt,
        "%dynamic_smem_size" => Special::DynamicSharedBytes,
        "%total_smem_size" => Special::TotalSharedBytes,
        _ => return None,
    })))
}
