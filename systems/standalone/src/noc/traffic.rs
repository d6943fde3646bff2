//! Random traffic as in the reference, with measurement of latency and throughput.

use warpweave_components::crossbar::NetworkSpec;
use warpweave_framework::Environment;

use super::drive::{Packet, Shape, drive};
use crate::StandaloneError;

/// Spatial traffic pattern: distribution of packet destinations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Every output is equally likely as destination.
    Uniform,
    /// `min(inputs, outputs)` sources send, each to a different output.
    Permutation,
    /// The given fraction goes to output 0, the rest is uniform over all outputs.
    Hotspot(f64),
}

/// Point of a load curve. Every source creates a packet with probability `load / flits` in every
/// cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offered {
    /// Spatial pattern of the packet destinations.
    pub pattern: Pattern,
    /// Length of all packets, in flits.
    pub flits: u32,
    /// Offered load, in flits per cycle and source.
    pub load: f64,
    /// Seed of the random number generator.
    pub seed: u64,
}

/// Measured result for one point of a load curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Mean latency in cycles, from creation to arrival, of packets created in the window.
    pub latency: f64,
    /// Accepted throughput: flits that arrived in the window, per cycle.
    pub accepted: f64,
}

/// Cycles of the reference's warm-up, measurement window and drain.
const WARM_UP: u64 = 2_000;
const WINDOW: u64 = 10_000;
const DRAIN: u64 = 2_500;

/// Returns uniform random bits as a function of seed and counters. Results recorded with it are
/// stated in `DEVIATIONS.md`, so it keeps its numbers and is not replaced by `warpweave-random`.
fn random(seed: u64, cycle: u64, source: u64) -> u64 {
    let mut bits = seed ^ cycle.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ source.rotate_left(40);
    for multiplier in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        bits = (bits ^ bits >> 29)
            .wrapping_add(0x9e37_79b9_7f4a_7c15)
            .wrapping_mul(multiplier);
    }
    bits ^ bits >> 32
}

fn fraction(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

impl Offered {
    /// Creates the packets of all cycles before `end`.
    pub fn packets(&self, shape: Shape, end: u64) -> Vec<Packet> {
        let sources = match self.pattern {
            Pattern::Permutation => shape.inputs.min(shape.outputs),
            Pattern::Uniform | Pattern::Hotspot(_) => shape.inputs,
        };
        let probability = self.load / f64::from(self.flits);
        let mut packets = Vec::new();
        for create in 0..end {
            for src in 0..sources {
                let bits = |salt| random(self.seed.wrapping_mul(8) + salt, create, src as u64);
                if fraction(bits(0)) < probability {
                    let uniform = (bits(1) % shape.outputs as u64) as usize;
                    let dst = match self.pattern {
                        Pattern::Permutation => (src + 3) % sources,
                        Pattern::Hotspot(part) if fraction(bits(2)) < part => 0,
                        Pattern::Uniform | Pattern::Hotspot(_) => uniform,
                    };
                    packets.push(Packet {
                        create,
                        src,
                        dst,
                        flits: self.flits,
                    });
                }
            }
        }
        packets
    }

    /// Warms up, measures over `windows` windows of the reference, then drains. The arbiter is
    /// created in Rust.
    ///
    /// # Errors
    /// Returns an error if the network cannot be built.
    pub fn measure(
        &self,
        spec: &NetworkSpec,
        shape: Shape,
        windows: u64,
    ) -> Result<Measured, StandaloneError> {
        let window = WARM_UP..WARM_UP + windows * WINDOW;
        let end = window.end + DRAIN;
        let packets = self.packets(shape, end);
        let run = drive(spec, shape, &packets, end, &Environment::default())?;
        let arrived = packets
            .iter()
            .zip(&run.passages)
            .filter_map(|(p, t)| t.map(|t| (p.create, t.arrive)));
        let (mut count, mut cycles, mut accepted) = (0u64, 0u64, 0u64);
        for (create, arrive) in arrived {
            if window.contains(&create) {
                count += 1;
                cycles += arrive - create;
            }
            if window.contains(&arrive) {
                accepted += u64::from(self.flits);
            }
        }
        Ok(Measured {
            latency: cycles as f64 / count.max(1) as f64,
            accepted: accepted as f64 / (windows * WINDOW) as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        inputs: 12,
        outputs: 8,
    };

    #[test]
    fn a_pattern_offers_its_load_to_its_outputs() {
        let offered = |pattern| Offered {
            pattern,
            flits: 2,
            load: 0.4,
            seed: 1,
        };
        let share = |pattern: Pattern, output: usize| {
            let packets = offered(pattern).packets(SHAPE, 20_000);
            let to = packets.iter().filter(|p| p.dst == output).count();
            (to * 2) as f64 / 20_000.0
        };
        // 12 sources, 0.4 flits per cycle each.
        assert!((share(Pattern::Uniform, 5) - 0.6).abs() < 0.02);
        assert!((share(Pattern::Hotspot(0.2), 0) - (0.96 + 0.48)).abs() < 0.03);
        assert!((share(Pattern::Permutation, 3) - 0.4).abs() < 0.02);
    }
}
