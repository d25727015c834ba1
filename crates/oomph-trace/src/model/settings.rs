//! How the allocator was configured.

use serde::{Deserialize, Serialize};

use super::extra::Extra;

/// PyTorch's allocator settings, as far as a snapshot tells them. `None`: the file did not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AllocatorSettings {
    /// The text of `PYTORCH_CUDA_ALLOC_CONF`, which may hold keys the other fields lack.
    pub conf: Option<String>,
    /// Blocks at least this large are never split; `None` also when unlimited (-1 in the file).
    pub max_split_bytes: Option<u64>,
    /// Fraction of the limit at which garbage collection starts; 0 is off.
    pub garbage_collection_threshold: Option<f64>,
    /// Whether `expandable_segments` was on.
    pub expandable_segments: Option<bool>,
    /// `roundup_power2_divisions` by size in MiB (1, 2, 4, ... 32768).
    pub roundup_power2_divisions: Vec<(u64, u64)>,
    /// Every other key, in file order.
    pub extra: Extra,
}
