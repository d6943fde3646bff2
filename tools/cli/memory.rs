//! Memory budget of a command, from the command line or the host.

use std::fs;
use std::path::Path;

use clap::builder::{TypedValueParser, ValueParser};
use warpweave_files::Budget;
use warpweave_params::Bytes;

/// Default memory limit, in percent of the memory of the machine or of this process's limit.
const SHARE_PERCENT: u64 = 80;

/// Returns the memory budget: `limit` bytes, or the default share of the available memory.
pub(crate) fn budget(limit: Option<u64>) -> Budget {
    match limit.or_else(|| granted(Path::new("/")).map(|bytes| bytes / 100 * SHARE_PERCENT)) {
        Some(bytes) => Budget::of(bytes),
        None => Budget::unlimited(),
    }
}

/// Creates the parser of `--memory-limit`: `2 GiB`, or bytes.
pub(crate) fn size() -> ValueParser {
    clap::builder::NonEmptyStringValueParser::new()
        .try_map(|text: String| match text.parse::<u64>() {
            Ok(bytes) => Ok(bytes),
            Err(_) => text.parse::<Bytes>().map(Bytes::get),
        })
        .into()
}

/// Returns the memory available to this process in bytes: that of the machine, or its control group
/// limit if lower. `root` is the root of the machine's files. Returns `None` if they give no limit.
fn granted(root: &Path) -> Option<u64> {
    let machine = machine_memory(&read(root, "proc/meminfo"));
    let groups = read(root, "proc/self/cgroup");
    let limits = groups.lines().flat_map(|line| group_limits(root, line));
    limits.chain(machine).min()
}

/// Returns the bytes after `MemTotal:`, which are given in units of 1024.
fn machine_memory(meminfo: &str) -> Option<u64> {
    let total = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Returns the limits of the control group on a line of `/proc/self/cgroup`, and of its parents. A
/// line is `0::/path` in version 2 or `4:memory:/path` in version 1.
fn group_limits(root: &Path, line: &str) -> Vec<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
        return Vec::new();
    };
    let (folder, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    // Inside a container the path may be that of the host, and only its end is there.
    let around = Path::new(path.trim_start_matches('/')).ancestors();
    around
        .filter_map(|group| {
            let group = root.join(folder).join(group);
            fs::read_to_string(group.join(file))
                .ok()?
                .trim()
                .parse()
                .ok()
        })
        .collect()
}

fn read(root: &Path, name: &str) -> String {
    fs::read_to_string(root.join(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates the files of a machine of 64 GiB, with these files added.
    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let meminfo = (
            "proc/meminfo",
            "MemTotal:       67108864 kB\nMemFree: 1 kB\n",
        );
        for (name, text) in files.iter().chain([&meminfo]) {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const GIB: u64 = 1 << 30;

    #[test]
    fn without_groups_the_machines_memory_counts() {
        assert_eq!(granted(machine(&[]).path()), Some(64 * GIB));
        assert_eq!(granted(Path::new("/nowhere")), None);
    }

    #[test]
    fn the_tightest_group_of_either_version_counts() {
        let second = machine(&[
            ("proc/self/cgroup", "0::/user/job\n"),
            ("sys/fs/cgroup/memory.max", "max\n"),
            ("sys/fs/cgroup/user/memory.max", "8589934592\n"),
            ("sys/fs/cgroup/user/job/memory.max", "max\n"),
        ]);
        assert_eq!(granted(second.path()), Some(8 * GIB));
        let first = machine(&[
            ("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/docker/x\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "4294967296\n"),
        ]);
        assert_eq!(granted(first.path()), Some(4 * GIB));
        let unlimited = machine(&[
            ("proc/self/cgroup", "4:memory:/\n"),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
        ]);
        assert_eq!(granted(unlimited.path()), Some(64 * GIB));
    }
}
