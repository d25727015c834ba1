//! Memory that waits: batches prepared ahead, and pinned memory.

use super::{Finding, HostCause, capitalised, place, who};
use crate::bytes::show;
use crate::host::facts::{HostFacts, LoaderFacts};
use crate::host::moment::{Holder, Moment};

/// Batches that workers have prepared and nobody has taken yet.
pub(super) fn prefetch(moment: &Moment, facts: &HostFacts) -> Option<Finding> {
    let bytes = moment.shared_memory_bytes;
    if bytes == 0 || !moment.holders.iter().any(Holder::is_worker) {
        return None;
    }
    let ahead = |loader: &&LoaderFacts| loader.workers * loader.prefetch_factor * loader.batch_bytes.unwrap_or(0);
    let loader = facts.loaders.iter().max_by_key(ahead);
    let sum = loader.and_then(|loader| {
        let batch_bytes = loader.batch_bytes?;
        Some(format!(
            ": {} workers x prefetch_factor {} x {} a batch is {}",
            loader.workers,
            loader.prefetch_factor,
            show(batch_bytes),
            show(ahead(&loader))
        ))
    });
    Some(Finding {
        cause: HostCause::Prefetch,
        bytes,
        pid: loader.map(|loader| loader.pid),
        sentence: format!(
            "Batches that DataLoader workers had prepared held {} of shared memory{}.",
            show(bytes),
            sum.unwrap_or_default()
        ),
        place: loader.and_then(|loader| place(loader.file.as_ref(), loader.line)),
        advice: vec![
            "Use a smaller prefetch_factor or fewer workers: what is prepared ahead is the product of the two."
                .to_owned(),
            "Hand batches over in a smaller type (uint8 images, converted on the card) or unpadded.".to_owned(),
        ],
    })
}

/// Pinned memory, which PyTorch keeps for reuse and the kernel can neither swap out nor take back.
pub(super) fn pinned(moment: &Moment, facts: &HostFacts) -> Option<Finding> {
    let holder = moment.holders.iter().max_by_key(|holder| holder.pinned_bytes())?;
    if moment.pinned_bytes == 0 {
        return None;
    }
    let loader = facts.loaders.iter().find(|loader| loader.pin_memory && loader.pid == holder.process.pid);
    Some(Finding {
        cause: HostCause::Pinned,
        bytes: moment.pinned_bytes,
        pid: Some(holder.process.pid),
        sentence: format!(
            "{} held {} of pinned memory: PyTorch rounds it up to powers of two and keeps it for reuse.",
            capitalised(&who(holder.process)),
            show(holder.pinned_bytes()),
        ),
        place: loader.and_then(|loader| place(loader.file.as_ref(), loader.line)),
        advice: vec![
            "Pin batches only (pin_memory=True of one DataLoader), not the data set, and offload fewer tensors at a time."
                .to_owned(),
            "Use tensors of few different sizes: every size keeps blocks of its own.".to_owned(),
        ],
    })
}
