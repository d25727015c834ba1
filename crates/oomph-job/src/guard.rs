//! The kernel's own guard around a job: what is not the layer's cannot be written, also where the layer's library has
//! no say (a program without libc, a call it does not know). Linux has it from 5.19 on; without it the layer is alone.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use landlock::{
    ABI, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, path_beneath_rules,
};

/// Devices and the kernel's own files are nobody's data.
const ALWAYS: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Rules by which a process, and all that come from it, can write below certain folders only.
#[derive(Debug)]
pub(crate) struct Guard(OwnedFd);

impl Guard {
    /// Prepares the rules; none where the kernel has no such guard.
    pub(crate) fn prepare<'a>(writable: impl Iterator<Item = &'a Path>) -> Option<Self> {
        // From this version on files can be moved between folders, and truncating is a kind of writing.
        let access = AccessFs::from_write(ABI::V3);
        let places: Vec<&Path> = writable.chain(ALWAYS.iter().map(Path::new)).collect();
        let rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(access)
            .and_then(Ruleset::create)
            .and_then(|created| created.add_rules(path_beneath_rules(places, access)))
            .ok()?;
        Option::<OwnedFd>::from(rules).map(Self)
    }

    /// Puts this process under the rules, for good. Nothing is allocated: it runs between fork and exec.
    pub(crate) fn enforce(&self) -> io::Result<()> {
        // SAFETY: both calls take plain numbers, and the descriptor is open as long as `self` lives.
        let refused = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::syscall(libc::SYS_landlock_restrict_self, self.0.as_raw_fd(), 0) != 0
        };
        if refused { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
