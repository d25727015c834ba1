//! How PyTorch's allocator is configured, with PyTorch 2.11's own rules and defaults.

mod parse;

use oomph_trace::AllocatorSettings;

use crate::error::HeapError;

/// 1 MiB.
pub const MIB: u64 = 1 << 20;
/// Every block is a multiple of this.
pub const MIN_BLOCK_BYTES: u64 = 512;
/// The largest (rounded) request the small pool serves.
pub const SMALL_LIMIT_BYTES: u64 = MIB;
/// Bytes of a segment of the small pool, and of a mapping unit of a small expandable segment.
pub const SMALL_SEGMENT_BYTES: u64 = 2 * MIB;
/// From here on a large request gets a segment of its own size.
pub const OWN_SEGMENT_BYTES: u64 = 10 * MIB;
/// Own segments are rounded up to this.
pub const SEGMENT_QUANTUM_BYTES: u64 = 2 * MIB;
/// A large block keeps a tail of up to this many bytes rather than being split.
pub const UNSPLIT_TAIL_BYTES: u64 = MIB;
/// Slots of `roundup_power2_divisions`: 1 MiB, 2 MiB, ... 32 GiB.
pub const ROUNDUP_SLOTS: usize = 16;

/// Which allocator serves `torch.cuda`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// PyTorch's own caching allocator.
    #[default]
    Native,
    /// The driver's stream-ordered allocator.
    CudaMallocAsync,
}

/// Settings of the allocator of pinned host memory. They place nothing on a card; they are read so that a
/// configuration PyTorch accepts is accepted here and one it refuses is refused here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedConfig {
    /// `pinned_use_background_threads`.
    pub use_background_threads: bool,
    /// `pinned_use_cuda_host_register`.
    pub use_cuda_host_register: bool,
    /// `pinned_num_register_threads`.
    pub register_threads: u64,
    /// `pinned_reserve_segment_size_mb`, in bytes; 0 when not set.
    pub reserve_segment_bytes: u64,
}

/// Everything `PYTORCH_CUDA_ALLOC_CONF` can say.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `backend`.
    pub backend: Backend,
    /// `large_segment_size_mb`: segment for requests between 1 and 10 MiB, and the mapping unit of large expandable
    /// segments.
    pub large_segment_bytes: u64,
    /// `max_split_size_mb`: blocks of at least this many bytes are never split; `u64::MAX` when unlimited.
    pub max_split_bytes: u64,
    /// `max_non_split_rounding_mb`: how much larger than the request an oversize block may be.
    pub max_non_split_rounding_bytes: u64,
    /// `roundup_power2_divisions`, one slot a power of two from 1 MiB; 0 and 1 mean plain rounding.
    pub roundup_power2_divisions: [u64; ROUNDUP_SLOTS],
    /// `garbage_collection_threshold`; 0 is off.
    pub garbage_collection_threshold: f64,
    /// `expandable_segments`.
    pub expandable_segments: bool,
    /// `per_process_memory_fraction`; 1 is no limit.
    pub memory_fraction: f64,
    /// `release_lock_on_cudamalloc`.
    pub release_lock_on_cudamalloc: bool,
    /// `graph_capture_record_stream_reuse`.
    pub graph_capture_record_stream_reuse: bool,
    /// The `pinned_*` keys.
    pub pinned: PinnedConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            backend: Backend::Native,
            large_segment_bytes: 20 * MIB,
            max_split_bytes: u64::MAX,
            max_non_split_rounding_bytes: 20 * MIB,
            roundup_power2_divisions: [0; ROUNDUP_SLOTS],
            garbage_collection_threshold: 0.0,
            expandable_segments: false,
            memory_fraction: 1.0,
            release_lock_on_cudamalloc: false,
            graph_capture_record_stream_reuse: false,
            pinned: PinnedConfig {
                use_background_threads: false,
                use_cuda_host_register: false,
                register_threads: 1,
                reserve_segment_bytes: 0,
            },
        }
    }
}

impl Config {
    /// Reads the text of `PYTORCH_CUDA_ALLOC_CONF`, accepting and refusing what PyTorch 2.11 accepts and refuses.
    ///
    /// # Errors
    /// If PyTorch would refuse the text.
    pub fn parse(text: &str) -> Result<Self, HeapError> {
        parse::parse(text)
    }

    /// The configuration a trace was recorded under: its text, then the fields that say more than the text does
    /// (settings can be changed while a job runs, and the text is only the last one set).
    ///
    /// # Errors
    /// If PyTorch would refuse the text.
    pub fn from_settings(settings: &AllocatorSettings) -> Result<Self, HeapError> {
        let mut config = Self::parse(settings.conf.as_deref().unwrap_or(""))?;
        if let Some(bytes) = settings.max_split_bytes {
            config.max_split_bytes = bytes;
        }
        if let Some(threshold) = settings.garbage_collection_threshold {
            config.garbage_collection_threshold = threshold;
        }
        if let Some(on) = settings.expandable_segments {
            config.expandable_segments = on;
        }
        for &(size_mib, divisions) in &settings.roundup_power2_divisions {
            if size_mib.is_power_of_two()
                && let Some(slot) = config.roundup_power2_divisions.get_mut(size_mib.ilog2() as usize)
            {
                *slot = divisions;
            }
        }
        Ok(config)
    }

    /// Bytes a block for `requested_bytes` needs at least.
    #[must_use]
    pub fn round(&self, requested_bytes: u64) -> u64 {
        if requested_bytes < MIN_BLOCK_BYTES {
            return MIN_BLOCK_BYTES;
        }
        let power = requested_bytes.ilog2();
        let slot = (power.saturating_sub(MIB.ilog2()) as usize).min(ROUNDUP_SLOTS - 1);
        let divisions = self.roundup_power2_divisions[slot];
        if divisions > 1 && requested_bytes > MIN_BLOCK_BYTES.saturating_mul(divisions) {
            if requested_bytes.is_power_of_two() {
                return requested_bytes;
            }
            let step = (1u64 << power) >> divisions.ilog2();
            let step = if step == 0 { 2u64 << power } else { step };
            return round_up(requested_bytes, step);
        }
        round_up(requested_bytes, MIN_BLOCK_BYTES)
    }

    /// Bytes of a new ordinary segment for a block of `rounded_bytes`.
    #[must_use]
    pub fn segment_bytes(&self, rounded_bytes: u64) -> u64 {
        if rounded_bytes <= SMALL_LIMIT_BYTES {
            SMALL_SEGMENT_BYTES
        } else if rounded_bytes < OWN_SEGMENT_BYTES {
            self.large_segment_bytes
        } else {
            round_up(rounded_bytes, SEGMENT_QUANTUM_BYTES)
        }
    }

    /// Bytes of a mapping unit of an expandable segment.
    #[must_use]
    pub fn unit_bytes(&self, small: bool) -> u64 {
        if small { SMALL_SEGMENT_BYTES } else { self.large_segment_bytes }
    }

    /// Whether a free block of `block_bytes` is split to serve `rounded_bytes`.
    #[must_use]
    pub fn splits(&self, block_bytes: u64, rounded_bytes: u64, small: bool, expandable: bool) -> bool {
        let tail_bytes = block_bytes.saturating_sub(rounded_bytes);
        if small || expandable {
            tail_bytes >= MIN_BLOCK_BYTES
        } else {
            rounded_bytes < self.max_split_bytes && tail_bytes > UNSPLIT_TAIL_BYTES
        }
    }
}

/// `bytes` rounded up to a multiple of `quantum`, saturating.
#[must_use]
pub fn round_up(bytes: u64, quantum: u64) -> u64 {
    bytes.div_ceil(quantum).saturating_mul(quantum)
}
