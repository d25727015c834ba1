//! A card's memory: its own, or the host's.

use serde::{Deserialize, Serialize};

/// Memory that kernels of a card use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Memory {
    /// The driver does not tell.
    #[default]
    Unknown,
    /// The card has its own.
    Own {
        /// All of it.
        total_bytes: u64,
        /// Held by processes.
        used_bytes: u64,
        /// Free for them.
        free_bytes: u64,
        /// Kept by the driver itself.
        reserved_bytes: u64,
    },
    /// The card and the host share theirs (GB10, Jetson): free is what the host can still give.
    Unified {
        /// All of it.
        total_bytes: u64,
        /// Held by any program, on the host or on the card.
        used_bytes: u64,
        /// What can still be taken.
        free_bytes: u64,
    },
}

impl Memory {
    /// All of it.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        match *self {
            Self::Unknown => None,
            Self::Own { total_bytes, .. } | Self::Unified { total_bytes, .. } => Some(total_bytes),
        }
    }

    /// What is taken.
    #[must_use]
    pub fn used_bytes(&self) -> Option<u64> {
        match *self {
            Self::Unknown => None,
            Self::Own { used_bytes, .. } | Self::Unified { used_bytes, .. } => Some(used_bytes),
        }
    }

    /// What can be taken.
    #[must_use]
    pub fn free_bytes(&self) -> Option<u64> {
        match *self {
            Self::Unknown => None,
            Self::Own { free_bytes, .. } | Self::Unified { free_bytes, .. } => Some(free_bytes),
        }
    }
}

/// The host's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemMemory {
    /// All of it.
    pub total_bytes: u64,
    /// What programs can still take without swapping.
    pub available_bytes: u64,
}

impl SystemMemory {
    /// As the kernel has it; `None` where it does not say.
    #[must_use]
    pub fn now() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
        };
        Some(Self { total_bytes: field("MemTotal")?, available_bytes: field("MemAvailable")? })
    }

    pub(crate) fn as_unified(self) -> Memory {
        let Self { total_bytes, available_bytes } = self;
        Memory::Unified {
            total_bytes,
            used_bytes: total_bytes.saturating_sub(available_bytes),
            free_bytes: available_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_account_is_read() {
        let text = "MemTotal:       25166848 kB\nMemFree:  1 kB\nMemAvailable:   20971520 kB\n";
        let memory = SystemMemory::parse(text).unwrap();
        assert_eq!(memory, SystemMemory { total_bytes: 25_166_848 << 10, available_bytes: 20 << 30 });
        assert_eq!(memory.as_unified().used_bytes(), Some((25_166_848 - 20_971_520) << 10));
        assert_eq!(SystemMemory::parse("MemTotal: 1 kB\n"), None);
        assert!(SystemMemory::now().is_some_and(|memory| memory.total_bytes > memory.available_bytes));
    }
}
