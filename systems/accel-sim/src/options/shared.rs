//! Memory shared by an adaptive first level and local memory.

use warpweave_params::Diagnostic;

use super::cache::CacheText;
use super::form::counts;
use super::fragment::Fragment;
use super::option_values::OptionValues;

/// A memory shared by first level and local memory, with its possible splits.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) bytes: u32,
    /// Possible sizes of local memory in bytes, ascending.
    pub(super) splits: Vec<u32>,
}

/// Size of the memory and of the local memories in KB that releases before 4.1 had built in.
const OF_VOLTA: (u32, &str) = (128, "0,8,16,32,64,96");

impl Shared {
    /// Reads the shared memory if the first level, described by `text`, is adaptive. That level
    /// gets what the smallest local memory size leaves over.
    pub(super) fn of(
        given: &OptionValues,
        first: &mut CacheText,
        text: &Fragment,
        notes: &mut Vec<String>,
    ) -> Result<Option<Self>, Diagnostic> {
        if !given.flag("-gpgpu_adaptive_cache_config")? {
            return Ok(None);
        }
        let [size, option] = ["-gpgpu_unified_l1d_size", "-gpgpu_shmem_option"];
        let fixed = !given.is_given(size) && !given.is_given(option);
        let (whole, options) = if fixed {
            let (whole, splits) = OF_VOLTA;
            let what = format!(
                "{whole} KB with local memories of {splits} KB, as {size} and {option} are absent"
            );
            notes.push(format!("-gpgpu_adaptive_cache_config 1: {what}"));
            (whole, Fragment::assumed(splits, &what))
        } else {
            (given.count(size, 1..=1 << 16, "KB")?, given.value(option)?)
        };
        let whole = whole * 1024;
        let mut splits = Vec::new();
        for kilobytes in counts(&options, ',', None)? {
            splits.push(kilobytes.saturating_mul(1024));
        }
        splits.sort_unstable();
        splits.dedup();
        let most = given.count("-gpgpu_shmem_size", 0..=1 << 28, "bytes")?;
        if splits.last() != Some(&most) || splits.len() > 64 {
            let expected =
                format!("at most 64 sizes, the largest equal to -gpgpu_shmem_size, {most} bytes");
            return Err(options.refuse(&expected));
        }
        let way = u64::from(first.sets) * u64::from(first.line_bytes);
        for local in splits.iter().rev() {
            let bytes = u64::from(whole.saturating_sub(*local));
            if bytes == 0 || !bytes.is_multiple_of(way) || bytes / way > 1 << 16 {
                let message = format!(
                    "{bytes} bytes remain for a first-level cache with ways of {way} bytes, with {local} bytes of local memory"
                );
                return Err(text.blame(&message));
            }
            first.ways = (bytes / way) as u32;
        }
        Ok(Some(Self {
            bytes: whole,
            splits,
        }))
    }
}
