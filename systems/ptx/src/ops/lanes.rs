//! Lane functions, which operate on all 32 lanes.
//!
//! They compute all lanes regardless of the mask; the result is then blended into the destination.
//! Therefore they are total: no input causes a panic.
//!
//! Each is compiled twice, since most hosts support wider vectors than the baseline instruction
//! set.

/// One 32-bit value per lane; narrower values are zero-extended.
pub(crate) type Lanes32 = [u32; 32];
/// One 64-bit value for each of the 32 lanes.
pub(crate) type Lanes64 = [u64; 32];

pub(crate) type Unary32 = fn(&Lanes32, &mut Lanes32);
pub(crate) type Unary64 = fn(&Lanes64, &mut Lanes64);
pub(crate) type Widen = fn(&Lanes32, &mut Lanes64);
pub(crate) type Narrow = fn(&Lanes64, &mut Lanes32);
pub(crate) type Binary32 = fn(&Lanes32, &Lanes32, &mut Lanes32);
pub(crate) type Binary64 = fn(&Lanes64, &Lanes64, &mut Lanes64);
pub(crate) type BinaryWide = fn(&Lanes32, &Lanes32, &mut Lanes64);
pub(crate) type Shift64 = fn(&Lanes64, &Lanes32, &mut Lanes64);
pub(crate) type ShiftBy32 = fn(&Lanes32, u32, &mut Lanes32);
pub(crate) type ShiftBy64 = fn(&Lanes64, u32, &mut Lanes64);
pub(crate) type Ternary32 = fn(&Lanes32, &Lanes32, &Lanes32, &mut Lanes32);
pub(crate) type Ternary64 = fn(&Lanes64, &Lanes64, &Lanes64, &mut Lanes64);
pub(crate) type TernaryWide = fn(&Lanes32, &Lanes32, &Lanes64, &mut Lanes64);
pub(crate) type Extract64 = fn(&Lanes64, &Lanes32, &Lanes32, &mut Lanes64);
pub(crate) type Insert32 = fn(&Lanes32, &Lanes32, &Lanes32, &Lanes32, &mut Lanes32);
pub(crate) type Insert64 = fn(&Lanes64, &Lanes64, &Lanes32, &Lanes32, &mut Lanes64);
pub(crate) type Compare32 = fn(&Lanes32, &Lanes32) -> u32;
pub(crate) type Compare64 = fn(&Lanes64, &Lanes64) -> u32;

pub(crate) use warpweave_trace::for_this_machine;

/// Builds a function over all lanes from an expression for one lane.
macro_rules! lanes {
    (|$a:ident: $ta:ty| -> $r:ty $body:block) => {
        $crate::ops::for_this_machine!(fn(x: &[$ta; 32], out: &mut [$r; 32]) -> () {
            for i in 0..32 {
                let $a = x[i];
                out[i] = $body;
            }
        })
    };
    (|$a:ident: $ta:ty, $b:ident: $tb:ty| -> $r:ty $body:block) => {
        $crate::ops::for_this_machine!(
            fn(x: &[$ta; 32], y: &[$tb; 32], out: &mut [$r; 32]) -> () {
                for i in 0..32 {
                    let ($a, $b) = (x[i], y[i]);
                    out[i] = $body;
                }
            }
        )
    };
    (|$a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty| -> $r:ty $body:block) => {
        $crate::ops::for_this_machine!(
            fn(x: &[$ta; 32], y: &[$tb; 32], z: &[$tc; 32], out: &mut [$r; 32]) -> () {
                for i in 0..32 {
                    let ($a, $b, $c) = (x[i], y[i], z[i]);
                    out[i] = $body;
                }
            }
        )
    };
    (|$a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty, $d:ident: $td:ty|
     -> $r:ty $body:block) => {
        $crate::ops::for_this_machine!(
            fn(
                x: &[$ta; 32],
                y: &[$tb; 32],
                z: &[$tc; 32],
                w: &[$td; 32],
                out: &mut [$r; 32]
            ) -> () {
                for i in 0..32 {
                    let ($a, $b, $c, $d) = (x[i], y[i], z[i], w[i]);
                    out[i] = $body;
                }
            }
        )
    };
}
pub(crate) use lanes;

/// Builds a comparison: bit `i` of the result is the outcome in lane `i`.
macro_rules! compare {
    (|$a:ident, $b:ident: $t:ty| $body:expr) => {
        $crate::ops::for_this_machine!(fn(x: &[$t; 32], y: &[$t; 32]) -> u32 {
            let mut mask = 0;
            for i in 0..32 {
                let ($a, $b) = (x[i], y[i]);
                mask |= if $body { 1u32 << i } else { 0 };
            }
            mask
        })
    };
}
pub(crate) use compare;
