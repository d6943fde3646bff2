//! Functions compiled for this machine's vector instructions.

/// Builds the function with this body twice, for any machine and for one with wide vectors, and
/// selects one at run time. Both compute the same: vector rounding equals scalar rounding, and
/// operations are not contracted.
#[macro_export]
macro_rules! for_this_machine {
    (fn($($name:ident: $ty:ty),*) -> $r:ty $body:block) => {{
        #[inline(always)]
        #[allow(clippy::needless_range_loop)] // One index runs over all arrays.
        fn over_lanes($($name: $ty),*) -> $r $body
        fn on_any($($name: $ty),*) -> $r {
            over_lanes($($name),*)
        }
        #[cfg(not(target_arch = "x86_64"))]
        let chosen = on_any;
        #[cfg(target_arch = "x86_64")]
        let chosen = {
            #[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,popcnt")]
            fn with_vectors($($name: $ty),*) -> $r {
                over_lanes($($name),*)
            }
            #[allow(unsafe_code)] // An expectation is not fulfilled where a macro makes the code.
            fn on_wide($($name: $ty),*) -> $r {
                // SAFETY: it is taken only where the machine has the features.
                unsafe { with_vectors($($name),*) }
            }
            if $crate::has_wide_vectors() { on_wide } else { on_any }
        };
        chosen as fn($($ty),*) -> $r
    }};
}

/// True if this machine has 256-bit integer vectors and related extensions.
#[cfg(target_arch = "x86_64")]
pub fn has_wide_vectors() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}
