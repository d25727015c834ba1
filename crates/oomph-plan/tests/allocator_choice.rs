//! The settings that a replay chooses against what really won on an H200.

use std::path::{Path, PathBuf};

use oomph_plan::allocator::{Choice, Room};
use oomph_trace::Trace;

fn snapshot(name: &str) -> Trace {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(PathBuf::from).expect("the repository");
    Trace::open(root.join(format!("corpus/h200/{name}.pickle.gz"))).expect("a recorded run")
}

/// With expandable segments, GPT-2 of ragged length took 0.55 of what it takes without (14,990 of 27,488 MiB),
/// Llama-160M with checkpointing 0.44 (8,724 of 19,744), and ResNet-50 0.85 (2,994 of 3,514), all without a retry. The
/// recorded runs are shorter: how much is won differs, what wins does not.
#[test]
fn the_settings_that_won_on_the_card_are_chosen() {
    for (name, saved_percent_min) in [("run_gpt2_ragged", 20), ("run_llama-160m_ragged_ckpt", 30), ("run_resnet50", 14)]
    {
        let choice = Choice::make(&snapshot(name), Room::default(), (2, 11), "").expect("it can be replayed");
        assert!(choice.chosen.conf.starts_with("expandable_segments:True"), "{name}: {choice:?}");
        assert_eq!((choice.chosen.retries, choice.chosen.fits), (0, true), "{name}: {choice:?}");
        let saved_bytes = choice.plain.reserved_bytes - choice.chosen.reserved_bytes;
        assert!(saved_bytes * 100 / choice.plain.reserved_bytes >= saved_percent_min, "{name}: {choice:?}");
    }
}

/// Under a cap of 1.07 times its live memory, GPT-2 ran with ordinary segments only by giving its cache back four
/// times; with expandable segments it has to do so less often, or not at all.
#[test]
fn under_a_cap_the_settings_with_fewer_retries_are_chosen() {
    let trace = snapshot("run_gpt2_ragged");
    let free = Choice::make(&trace, Room::default(), (2, 11), "").expect("it can be replayed");
    let limit_bytes = Some(free.chosen.reserved_bytes / 100 * 107);
    let capped = Choice::make(&trace, Room { card_bytes: None, limit_bytes }, (2, 11), "").expect("it can be replayed");
    assert!(capped.plain.retries > 0 || !capped.plain.fits, "{capped:?}");
    assert_eq!((capped.chosen.retries, capped.chosen.fits), (0, true), "{capped:?}");
}
