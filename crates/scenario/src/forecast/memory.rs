//! Limit of a run's memory: what is available, what control groups leave, what the process may address.
//!
//! Linux states these under `/proc` and `/sys/fs/cgroup`; what is missing there bounds nothing.

use std::{fs, path::Path};

use etherweave_primitives::{Bytes, InputError};

/// A bound, and where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MemoryLimit {
    /// Memory that may still be taken [B].
    pub bytes: u64,
    /// Origin of the bound in words.
    pub name: &'static str,
}

impl MemoryLimit {
    /// Returns the bound that a user gives ("4GiB"), or else the smallest bound of this process now.
    ///
    /// # Errors
    /// When that is no number of bytes.
    pub fn of(text: Option<&str>) -> Result<MemoryLimit, InputError> {
        let Some(text) = text else { return Ok(MemoryLimit::under(Path::new("/"))) };
        let bytes: Bytes = text.parse().map_err(|error: InputError| error.within("--memory-limit"))?;
        Ok(MemoryLimit { bytes: bytes.get(), name: "as --memory-limit says" })
    }

    /// The same with the system's files below `root`.
    fn under(root: &Path) -> MemoryLimit {
        let bounds = [
            (available(root), "the memory that is available"),
            (cgroup(root), "what the control group leaves"),
            (address_space(root), "what the limit of the address space (ulimit -v) leaves"),
        ];
        let known = bounds.into_iter().filter_map(|(bytes, name)| Some(MemoryLimit { bytes: bytes?, name }));
        known.min_by_key(|limit| limit.bytes).unwrap_or(MemoryLimit { bytes: u64::MAX, name: "no bound is known" })
    }
}

fn available(root: &Path) -> Option<u64> {
    kilobytes(&fs::read_to_string(root.join("proc/meminfo")).ok()?, "MemAvailable:")
}

/// The value of a line such as `MemAvailable:  20971520 kB` [B].
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(value.split_whitespace().next()?.parse::<u64>().ok()? * 1_024)
}

/// Returns what the soft limit of the address space leaves; none where it is unlimited.
fn address_space(root: &Path) -> Option<u64> {
    let limits = fs::read_to_string(root.join("proc/self/limits")).ok()?;
    let soft = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?.split_whitespace().next()?;
    let used = kilobytes(&fs::read_to_string(root.join("proc/self/status")).ok()?, "VmSize:")?;
    Some(soft.parse::<u64>().ok()?.saturating_sub(used))
}

/// Returns what the tightest of the process's control groups leaves, of version 2 or 1.
fn cgroup(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    groups.lines().filter_map(|line| of_hierarchy(root, line)).min()
}

/// A line is `0::/path` in version 2, `4:memory:/path` in version 1.
fn of_hierarchy(root: &Path, line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let (mount, names) = if controllers.is_empty() {
        ("sys/fs/cgroup", ["memory.max", "memory.current", "inactive_file"])
    } else if controllers.split(',').any(|controller| controller == "memory") {
        ("sys/fs/cgroup/memory", ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"])
    } else {
        return None;
    };
    // A container sees its own group at the mount point: the path may not be there.
    let groups = Path::new(path.trim_start_matches('/')).ancestors().map(|group| root.join(mount).join(group));
    groups.filter_map(|group| left(&group, names)).min()
}

/// The limit of a group less what it uses; file pages that nobody reads are given back under pressure.
fn left(group: &Path, [limit, used, inactive]: [&str; 3]) -> Option<u64> {
    let number = |file: &str| fs::read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
    let (limit, used) = (number(limit)?, number(used)?);
    let pages = fs::read_to_string(group.join("memory.stat")).ok();
    let pages = pages.and_then(|stat| {
        let mut words = stat.lines().filter_map(|line| line.split_once(' '));
        words.find(|(name, _)| *name == inactive)?.1.trim().parse::<u64>().ok()
    });
    Some(limit.saturating_sub(used.saturating_sub(pages.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    const GIB: u64 = 1 << 30;

    fn limit(name: &str, files: &[(&str, &str)]) -> MemoryLimit {
        let root = Folder::new(&format!("memory-{name}"));
        files.iter().for_each(|(file, text)| root.write(file, text));
        MemoryLimit::under(&root.0)
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal: 33554432 kB\nMemAvailable:   16777216 kB\n");

    #[test]
    fn what_is_available_bounds_a_run_where_nothing_else_does() {
        assert_eq!(limit("available", &[MEMINFO]).bytes, 16 * GIB);
        assert_eq!(limit("nothing", &[("proc/uptime", "1")]).bytes, u64::MAX);
    }

    #[test]
    fn a_control_group_leaves_its_limit_less_what_it_uses_and_cannot_give_back() {
        let v2 = [
            MEMINFO,
            ("proc/self/cgroup", "0::/system.slice/job\n"),
            ("sys/fs/cgroup/system.slice/job/memory.max", "8589934592\n"),
            ("sys/fs/cgroup/system.slice/job/memory.current", "4294967296\n"),
            ("sys/fs/cgroup/system.slice/job/memory.stat", "anon 1\ninactive_file 1073741824\n"),
            ("sys/fs/cgroup/system.slice/memory.max", "max\n"),
        ];
        let allowance = limit("v2", &v2);
        assert_eq!((allowance.bytes, allowance.name), (5 * GIB, "what the control group leaves"));
    }

    #[test]
    fn a_parent_group_bounds_its_children() {
        let parent = [
            MEMINFO,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/memory.max", "2147483648\n"),
            ("sys/fs/cgroup/a/memory.current", "1073741824\n"),
        ];
        assert_eq!(limit("parent", &parent).bytes, GIB);
    }

    #[test]
    fn version_1_is_read_too_and_in_a_container_at_the_mount_point() {
        let v1 = [
            MEMINFO,
            ("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "3221225472\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "1073741824\n"),
        ];
        assert_eq!(limit("v1", &v1).bytes, 2 * GIB);
    }

    #[test]
    fn a_limit_of_the_address_space_counts_what_is_mapped() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space  4294967296  unlimited  bytes\n";
        let files = [MEMINFO, ("proc/self/limits", limits), ("proc/self/status", "VmSize:\t 1048576 kB\n")];
        assert_eq!(limit("rlimit", &files).bytes, 3 * GIB);
    }
}
