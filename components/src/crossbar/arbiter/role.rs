//! Policy slot of a network that an arbiter fills.

use warpweave_framework::PolicyRole;

use super::AnyArbiter;

/// Role of the arbiter of a network's switch; the request and the reply network of a crossbar have
/// one each.
///
/// In a router it matches switch ports (an input has `input_speedup` of them) with outputs. A
/// speculative router has a second arbiter for its speculative requests. Two further choices follow
/// the rules of the built-in arbiter, or round robin for any other. They are the virtual channel of
/// a switch port that requests an output, and the packet that gets a virtual channel of an output.
pub struct Arbiter;

impl PolicyRole for Arbiter {
    const NAME: &'static str = "arbiter";
    const SUMMARY: &'static str = "Matches inputs to outputs of a network switch";
    type Policy = AnyArbiter;
    type Site = ArbiterSite;
}

/// Dimensions of a switch, as seen by its arbiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArbiterSite {
    /// Inputs of the switch, 1 to 128.
    pub inputs: u32,
    /// Outputs of the switch, 1 to 128.
    pub outputs: u32,
}
