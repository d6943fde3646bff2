//! GPU hardware blocks on the Warpweave event kernel.
