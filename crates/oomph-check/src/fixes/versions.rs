//! Which torch a fix needs: names and keywords that fixes write, with the version that brought them.

use super::mentions::Mentions;
use crate::requirements::{TorchVersions, Version};

/// Names, each with the first torch that has it.
const NAMES: &[(&str, Version)] = &[
    ("torch.OutOfMemoryError", Version(2, 5)),
    ("torch.accelerator", Version(2, 6)),
    ("torch.amp.GradScaler", Version(2, 3)),
    ("torch.amp.autocast", Version(1, 10)),
    ("torch.amp.custom_bwd", Version(2, 4)),
    ("torch.amp.custom_fwd", Version(2, 4)),
    ("torch.autocast", Version(1, 10)),
    ("torch.cuda.OutOfMemoryError", Version(1, 13)),
    ("torch.cuda.max_memory_reserved", Version(1, 4)),
    ("torch.cuda.memory._record_memory_history", Version(2, 1)),
    ("torch.cuda.memory_reserved", Version(1, 4)),
    ("torch.cuda.memory_stats", Version(1, 4)),
    ("torch.cuda.reset_peak_memory_stats", Version(1, 4)),
    ("torch.inference_mode", Version(1, 9)),
];

/// Keywords of functions, by the end of the function's name.
const KEYWORDS: &[(&str, &str, Version)] = &[
    ("DistributedDataParallel", "gradient_as_bucket_view", Version(1, 7)),
    ("FullStateDictConfig", "offload_to_cpu", Version(1, 12)),
    ("StateDictOptions", "cpu_offload", Version(2, 2)),
    ("_record_memory_history", "max_entries", Version(2, 1)),
    ("checkpoint", "use_reentrant", Version(1, 11)),
    ("checkpoint_sequential", "use_reentrant", Version(2, 1)),
    ("zero_grad", "set_to_none", Version(1, 7)),
];

/// What of torch a fix writes that the project's torch may not have.
pub(super) fn too_new(before: &Mentions, after: &Mentions, project: TorchVersions) -> Option<(String, Version)> {
    let names = after.added(before).filter_map(|full| {
        let (_, version) = NAMES.iter().find(|(name, _)| *name == full)?;
        Some((full.to_owned(), *version))
    });
    let keywords = after.added_keywords(before).filter_map(|(full, keyword)| {
        let last = full.rsplit('.').next().unwrap_or(full);
        let (.., version) = KEYWORDS.iter().find(|(name, word, _)| *name == last && *word == keyword)?;
        Some((format!("{last}({keyword}=)"), *version))
    });
    names
        .chain(keywords)
        .filter(|(_, version)| !project.have(*version))
        .max_by_key(|(name, version)| (*version, name.clone()))
}
