//! Named router configurations of the reference data.

use warpweave_components::crossbar::{Islip, IslipSpec, NetworkSpec, Queueing, RouterSpec};
use warpweave_framework::Policy;

use crate::StandaloneError;

/// Names and descriptions of the presets.
pub const PRESETS: [(&str, &str); 10] = [
    (
        "gpgpusim_s2",
        "1 virtual channel of 64 flits, internal speedup 2, as GPGPU-Sim's GTX480",
    ),
    ("fifo_s1", "1 virtual channel of 64 flits"),
    (
        "fifo_isp2",
        "1 virtual channel of 64 flits, input speedup 2",
    ),
    ("vc4_s1", "4 virtual channels of 16 flits"),
    (
        "vc4_s2",
        "4 virtual channels of 16 flits, internal speedup 2",
    ),
    (
        "voq_i1",
        "virtual output queues of 16 flits, iSLIP with 1 iteration",
    ),
    (
        "voq_i4",
        "virtual output queues of 16 flits, iSLIP with 4 iterations",
    ),
    (
        "voqdeep_i1",
        "virtual output queues of 256 flits, iSLIP with 1 iteration",
    ),
    (
        "voqdeep_i4",
        "virtual output queues of 256 flits, iSLIP with 4 iterations",
    ),
    (
        "voqdeep_s2",
        "virtual output queues of 256 flits, internal speedup 2",
    ),
];

/// Models BookSim 2 with round-robin iSLIP, look-ahead routing and single-cycle allocation.
pub fn booksim(virtual_channels: u32, buffer_flits: u32, internal_speedup: u32) -> RouterSpec {
    RouterSpec {
        flit_bytes: 40,
        queueing: Queueing::Fifo,
        virtual_channels,
        ordered: false,
        buffer_flits,
        output_buffer_flits: buffer_flits,
        arbiter: Policy::of::<Islip>(&IslipSpec { iterations: 1 }),
        internal_speedup,
        input_speedup: 1,
        speculative: false,
        routing_cycles: 0,
        vc_allocation_cycles: 1,
        switch_allocation_cycles: 1,
        traversal_cycles: 1,
        input_wire_cycles: 2,
        output_wire_cycles: 2,
        credit_wire_cycles: 2,
        credit_cycles: 0,
    }
}

/// Returns the preset for a router of this shape. With virtual output queues, a packet takes one of
/// `inputs + outputs` virtual channels at its output, as in the reference (64 at most).
///
/// # Errors
/// Returns an error if there is no preset of this name.
pub fn preset(name: &str, inputs: u32, outputs: u32) -> Result<NetworkSpec, StandaloneError> {
    let queues = |buffer_flits, iterations, speedup| RouterSpec {
        queueing: Queueing::VirtualOutput,
        arbiter: Policy::of::<Islip>(&IslipSpec { iterations }),
        ..booksim((inputs + outputs).min(64), buffer_flits, speedup)
    };
    let spec = match name {
        "gpgpusim_s2" => booksim(1, 64, 2),
        "fifo_s1" => booksim(1, 64, 1),
        "fifo_isp2" => RouterSpec {
            input_speedup: 2,
            ..booksim(1, 64, 1)
        },
        "vc4_s1" => booksim(4, 16, 1),
        "vc4_s2" => booksim(4, 16, 2),
        "voq_i1" => queues(16, 1, 1),
        "voq_i4" => queues(16, 4, 1),
        "voqdeep_i1" => queues(256, 1, 1),
        "voqdeep_i4" => queues(256, 4, 1),
        "voqdeep_s2" => queues(256, 1, 2),
        _ => {
            let names: Vec<_> = PRESETS.iter().map(|p| p.0).collect();
            return Err(StandaloneError::Request(format!(
                "unknown preset `{name}`; the presets are {}, or name a file that ends in .ron",
                names.join(", ")
            )));
        }
    };
    Ok(NetworkSpec::Router(spec))
}
