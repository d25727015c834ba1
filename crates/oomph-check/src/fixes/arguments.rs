//! Whether a call is given the same argument twice.

use super::mentions::{Called, Mentions};

/// Parameters that may be given by place, of functions that fixes add keywords to.
const BY_PLACE: &[(&str, &[&str])] = &[
    ("torch.load", &["f", "map_location", "pickle_module"]),
    ("torch.autocast", &["device_type", "dtype", "enabled", "cache_enabled"]),
    ("torch.amp.autocast", &["device_type", "dtype", "enabled", "cache_enabled"]),
    ("torch.amp.autocast_mode.autocast", &["device_type", "dtype", "enabled", "cache_enabled"]),
    (
        "torch.amp.GradScaler",
        &["device", "init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled"],
    ),
    ("torch.cuda.memory._record_memory_history", &["enabled", "context", "stacks", "max_entries"]),
    (
        "torch.utils.data.DataLoader",
        &["dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory"],
    ),
    ("torch.distributed.fsdp.FullStateDictConfig", &["offload_to_cpu", "rank0_only"]),
    (
        "torch.distributed.checkpoint.state_dict.StateDictOptions",
        &["full_state_dict", "cpu_offload", "ignore_frozen_params"],
    ),
];

/// The argument that a call has twice after a fix, if there is one: its keyword is written twice, has its place taken,
/// or may be among what is unpacked beside it.
pub(super) fn given_twice(before: &Mentions, after: &Mentions) -> Option<String> {
    after.calls.iter().find_map(|call| {
        let repeated = (1..call.keywords.len()).find(|at| call.keywords[..*at].contains(&call.keywords[*at]));
        let repeated = repeated.map(|at| call.keywords[at].as_str());
        let twice = repeated.or_else(|| placed(call)).or_else(|| unpacked(call, before));
        twice.filter(|_| !before.calls.iter().any(|old| is_same(old, call))).map(str::to_owned)
    })
}

fn is_same(old: &Called, new: &Called) -> bool {
    (&old.full, old.positional, &old.keywords, &old.unpacked)
        == (&new.full, new.positional, &new.keywords, &new.unpacked)
}

/// A keyword whose parameter is given by place too.
fn placed(call: &Called) -> Option<&str> {
    let (_, parameters) = BY_PLACE.iter().find(|(full, _)| *full == call.full)?;
    let reached = if call.has_star { parameters.len() } else { call.positional };
    let is_placed = |word: &&str| parameters.iter().take(reached).any(|parameter| parameter == word);
    call.keywords.iter().map(String::as_str).find(is_placed)
}

/// A keyword beside `**options` that was not beside the same options before.
fn unpacked<'c>(call: &'c Called, before: &Mentions) -> Option<&'c str> {
    if call.unpacked.is_empty() {
        return None;
    }
    let beside = |old: &&Called| old.unpacked == call.unpacked;
    let known = |word: &str| before.calls.iter().filter(beside).any(|old| old.keywords.iter().any(|own| own == word));
    call.keywords.iter().map(String::as_str).find(|word| !known(word))
}
