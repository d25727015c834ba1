//! The memory cgroup that a process is in, version 1 or 2.

use std::path::{Path, PathBuf};

use procfs::process::{MountInfo, Process};

/// Version 1 writes the largest page-aligned number where nothing is limited.
const NO_LIMIT_BYTES: u64 = 1 << 62;

/// A cgroup that counts memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cgroup {
    /// The folder of its files.
    folder: PathBuf,
    /// The folder at which this process may see no further up.
    top: PathBuf,
    files: &'static Files,
}

/// What the files are called.
#[derive(Debug, PartialEq, Eq)]
struct Files {
    limit: &'static str,
    current: &'static str,
    events: &'static str,
    /// The line of `memory.stat` with file pages that the kernel takes back before anything runs out.
    reclaimable: &'static str,
}

const VERSION_2: Files =
    Files { limit: "memory.max", current: "memory.current", events: "memory.events", reclaimable: "inactive_file" };
const VERSION_1: Files = Files {
    limit: "memory.limit_in_bytes",
    current: "memory.usage_in_bytes",
    events: "memory.oom_control",
    reclaimable: "total_inactive_file",
};

impl Cgroup {
    /// The cgroup of a process; none where no cgroup counts its memory.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let cgroups = Process::new(pid.cast_signed()).ok()?.cgroups().ok()?;
        let mounts = Process::myself().ok()?.mountinfo().ok()?;
        let mut found = cgroups.into_iter().filter_map(|cgroup| {
            let is_version_2 = cgroup.hierarchy == 0;
            if !is_version_2 && !cgroup.controllers.iter().any(|controller| controller == "memory") {
                return None;
            }
            let mount = mounts.0.iter().find(|mount| carries_memory(mount, is_version_2))?;
            let folder = folder(&cgroup.pathname, &mount.root, &mount.mount_point);
            let files = if is_version_2 { &VERSION_2 } else { &VERSION_1 };
            let is_usable = folder.join(files.events).exists();
            is_usable.then(|| Self { folder, top: mount.mount_point.clone(), files })
        });
        found.next()
    }

    /// The least of what this cgroup and those around it allow.
    pub(super) fn limit_bytes(&self) -> Option<u64> {
        let within = self.folder.ancestors().take_while(|folder| folder.starts_with(&self.top));
        let limits = within.filter_map(|folder| number(&folder.join(self.files.limit)));
        limits.filter(|&bytes| bytes < NO_LIMIT_BYTES).min()
    }

    /// What it is charged with, without what the kernel would take back.
    pub(super) fn current_bytes(&self) -> Option<u64> {
        let charged = number(&self.folder.join(self.files.current))?;
        let reclaimable = keyed(&self.folder.join("memory.stat"), self.files.reclaimable).unwrap_or(0);
        Some(charged.saturating_sub(reclaimable))
    }

    /// How many of its processes were killed for memory.
    pub(super) fn oom_kills(&self) -> Option<u64> {
        keyed(&self.folder.join(self.files.events), "oom_kill")
    }
}

fn carries_memory(mount: &MountInfo, is_version_2: bool) -> bool {
    match mount.fs_type.as_str() {
        "cgroup2" => is_version_2,
        "cgroup" => !is_version_2 && mount.super_options.contains_key("memory"),
        _ => false,
    }
}

/// Where the files of a cgroup are, seen through a mount that may show a part of the tree only: a container's.
fn folder(path: &str, mount_root: &str, mount_point: &Path) -> PathBuf {
    let below = Path::new(path).strip_prefix(mount_root).unwrap_or(Path::new(""));
    // A cgroup outside what the namespace shows is written with dots: its top is as near as one gets.
    let is_outside = below.components().any(|part| part == std::path::Component::ParentDir);
    if is_outside { mount_point.to_owned() } else { mount_point.join(below) }
}

fn number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The number behind a name, in a file of one such pair a line.
pub(super) fn keyed(path: &Path, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let value = |line: &str| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok()).flatten()
    };
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        std::fs::create_dir_all(folder).expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.join(name), text).expect("a file");
        }
    }

    #[test]
    fn a_mount_may_show_a_part_of_the_tree() {
        let at = |path: &str, root: &str| folder(path, root, Path::new("/m")).display().to_string();
        assert_eq!(at("/user.slice/job", "/"), "/m/user.slice/job");
        assert_eq!(at("/docker/a1/job", "/docker/a1"), "/m/job");
        assert_eq!(at("/docker/a1", "/docker/a1"), "/m/");
        assert_eq!(at("/../other", "/"), "/m");
        assert_eq!(at("/elsewhere", "/docker/a1"), "/m/");
    }

    #[test]
    fn the_tightest_limit_around_counts_and_file_pages_do_not() {
        let top = tempfile::tempdir().expect("a folder");
        let job = top.path().join("slice/job");
        let events = "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n";
        let stat = "anon 500\nfile 300\nshmem 10\ninactive_file 100\n";
        write(&top.path().join("slice"), &[("memory.max", "4096\n")]);
        write(&job, &[("memory.max", "max\n"), ("memory.current", "800\n")]);
        write(&job, &[("memory.events", events), ("memory.stat", stat)]);
        let cgroup = Cgroup { folder: job, top: top.path().to_owned(), files: &VERSION_2 };
        assert_eq!(cgroup.limit_bytes(), Some(4096));
        assert_eq!((cgroup.current_bytes(), cgroup.oom_kills()), (Some(700), Some(2)));
    }

    #[test]
    fn version_1_writes_a_huge_number_for_no_limit() {
        let top = tempfile::tempdir().expect("a folder");
        write(top.path(), &[("memory.limit_in_bytes", "9223372036854771712\n"), ("memory.usage_in_bytes", "70\n")]);
        write(top.path(), &[("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n")]);
        let cgroup = Cgroup { folder: top.path().to_owned(), top: top.path().to_owned(), files: &VERSION_1 };
        assert_eq!((cgroup.limit_bytes(), cgroup.current_bytes(), cgroup.oom_kills()), (None, Some(70), Some(5)));
    }
}
