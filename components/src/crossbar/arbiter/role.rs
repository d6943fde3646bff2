//! The place in a network that an arbiter fills.

use warpweave_framework::PolicyRole;

use super::AnyArbiter;

/// The arbiter of a network's switch; the request and the reply network of a crossbar have one each.
///
/// In a router it matches switch ports (an input has `input_speedup` of them) with outputs; one that
/// speculates has a second arbiter for what it speculates on. Which of the virtual channels of a
/// switch port asks for an output, and which packet gets a virtual channel of an output, is decided by
/// the like of a built-in arbiter, and round robin with any other.
pub struct Arbiter;

impl PolicyRole for Arbiter {
    const NAME: &'static str = "arbiter";
    const SUMMARY: &'static str = "Matches the inputs and outputs of a network's switch";
    type Policy = AnyArbiter;
    type Site = ArbiterSite;
}

/// What a network tells the arbiter of its switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArbiterSite {
    /// Inputs of the switch, 1 to 128.
    pub inputs: u32,
    /// Outputs of the switch, 1 to 128.
    pub outputs: u32,
}
