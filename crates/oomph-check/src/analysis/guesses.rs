//! What names tell when nothing else does: `criterion`, `val_loader`, `build_model`.

use super::outline::Usage;
use super::value::{Flags, Graph, Kind, Value};

/// What a name that nothing else is known of seems to be.
pub(crate) fn guess(name: &str, usage: Usage) -> Value {
    let lower = name.to_ascii_lowercase();
    let guessed = |kind: Kind| Value::of(kind).flagged(Flags::GUESSED);
    if is_criterion_name(&lower, usage) && !usage.any(Usage::BACKWARD.or(Usage::ITEM)) {
        return guessed(Kind::Module).flagged(Flags::CRITERION);
    }
    if is_loader_name(&lower) {
        return guessed(Kind::Loader);
    }
    if lower.ends_with("loaders") {
        return Value::holder(Kind::List, guessed(Kind::Loader));
    }
    if usage.any(Usage::ZERO_GRAD) && usage.any(Usage::STEP) && !usage.any(Usage::CALLED)
        || usage.any(Usage::PARAM_GROUPS)
        || (lower.contains("optimizer") || matches!(lower.as_str(), "opt" | "optim"))
            && usage.any(Usage::ZERO_GRAD.or(Usage::STEP))
    {
        return guessed(Kind::Optimizer);
    }
    if lower.contains("scheduler") && usage.any(Usage::STEP) {
        return guessed(Kind::Scheduler);
    }
    if lower.contains("scaler") && usage.any(Usage::SCALE) {
        return guessed(Kind::Scaler);
    }
    if matches!(lower.as_str(), "accelerator" | "fabric") {
        return guessed(Kind::Engine);
    }
    if usage.is_like_module() || usage.any(Usage::EVAL) && !is_actor_name(&lower) {
        return Value { graph: Graph::Likely, ..guessed(Kind::Module) };
    }
    // The two networks of a GAN.
    if usage.any(Usage::CALLED) && matches!(name, "G" | "D") {
        return Value { graph: Graph::Possible, ..guessed(Kind::Module) };
    }
    // `Generator()` makes a module and is none.
    let is_class = name.starts_with(|first: char| first.is_ascii_uppercase());
    if let (true, Some(graph)) = (usage.any(Usage::CALLED) && !is_class, model_name(&lower)) {
        return Value { graph, ..guessed(Kind::Module) };
    }
    Value::unknown()
}

/// Whether a name is of something that has modules and is none, but may have an `eval` of its own.
fn is_actor_name(lower: &str) -> bool {
    const WORDS: &[&str] =
        &["train", "env", "agent", "runner", "solver", "learner", "algo", "engine", "expr", "tensor", "pipe", "self"];
    WORDS.iter().any(|word| lower.contains(word))
}

/// Whether a function's name says that it works on tensors without weights of its own.
pub(crate) fn is_helper_name(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "transform",
        "attack",
        "adversary",
        "aug",
        "norm",
        "process",
        "prepare",
        "collate",
        "token",
        "metric",
        "acc",
        "mix",
        "crop",
        "resize",
        "get",
        "make",
        "build",
        "create",
        "load",
        "save",
        "log",
        "print",
        "plot",
        "draw",
        "show",
        "fn",
        "func",
        "function",
        "convert",
        "cast",
        "move",
        "batch",
        "split",
        "compute",
        "calc",
        "calculate",
        "update",
        "sample",
        "dist",
        "sim",
        "mask",
        "pad",
        "to",
        "from",
        "is",
        "has",
        "iou",
        "dice",
        "psnr",
        "ssim",
        "lpips",
        "f",
        "fwd",
        "op",
        "callback",
        "hook",
        "warp",
        "quantize",
        "round",
        "clip",
        "scale",
        "shuffle",
        "gather",
        "reduce",
        "add",
    ];
    // A model that is called `clip` is CLIP.
    if name == "clip" {
        return false;
    }
    name.is_empty()
        || name.starts_with(|first: char| first.is_uppercase())
        || name.ends_with("fn")
        || name
            .split('_')
            .any(|word| WORDS.iter().any(|known| word == *known || known.len() > 3 && word.starts_with(known)))
}

fn is_criterion_name(lower: &str, usage: Usage) -> bool {
    let called = usage.any(Usage::CALLED) && !usage.any(Usage::BACKWARD.or(Usage::ITEM));
    lower.starts_with("criteri")
        || ["criterion", "loss_fn", "loss_func", "loss_function"].iter().any(|end| lower.ends_with(end))
        || matches!(lower, "loss_fct" | "lossfn" | "loss_f" | "crit")
        || called
            && (lower == "loss" || lower.ends_with("_loss") || matches!(lower, "ce" | "bce" | "mse" | "nll" | "xent"))
}

/// Whether a name says that it is a data loader.
pub(crate) fn is_loader_name(lower: &str) -> bool {
    // `loader_u`, `train_loader_b`, but not `loader_kwargs`.
    let told_apart = |suffix: &str| {
        suffix.len() <= 2
            || ["train", "val", "test", "unlabeled", "unlabelled", "labeled", "labelled", "source", "target"]
                .contains(&suffix)
    };
    lower.ends_with("loader")
        || lower.rsplit_once("loader_").is_some_and(|(_, suffix)| told_apart(suffix))
        || lower.ends_with("_dl")
        || lower == "dl"
        || lower.ends_with("dataiter")
        || lower.ends_with("data_iter")
}

/// Whether one of several results of a model is a tensor by its name: `loss`, `logits`, `mu`; `energy` may be a number.
pub(crate) fn is_tensor_name(lower: &str) -> bool {
    const WORDS: &[&str] = &[
        "loss", "nll", "kl", "logit", "pred", "out", "feat", "emb", "recon", "prob", "hidden", "hid", "state", "mu",
        "var", "mean", "std", "sigma", "repr", "enc", "dec", "gen", "fake", "proj", "att", "latent", "score", "map",
        "vec", "token", "img", "image", "mask", "mel", "wav", "coarse", "fine", "rgb", "heat", "disp", "flow", "depth",
        "seg", "hat", "aux", "class", "box", "rnn",
    ];
    // `x`, `z`, `h_n`: what formulas call a tensor.
    let short = |word: &str| word.trim_end_matches(|c: char| c.is_ascii_digit()).len() == 1;
    WORDS.iter().any(|word| lower.contains(word)) || lower.split('_').all(short)
}

/// What functions about models begin with: `train_model` is no model.
const VERBS: &[&str] = &[
    "build",
    "get",
    "create",
    "make",
    "load",
    "init",
    "setup",
    "prepare",
    "train",
    "test",
    "eval",
    "evaluate",
    "validate",
    "save",
    "run",
    "fit",
    "export",
    "convert",
    "plot",
    "print",
    "log",
    "compile",
    "freeze",
    "unfreeze",
    "update",
    "check",
    "import",
    "parse",
    "register",
    "initialize",
    "define",
    "wrap",
    "unwrap",
    "copy",
    "restore",
    "select",
    "predict",
    "finetune",
    "resume",
    "quantize",
    "prune",
    "summarize",
    "visualize",
    "is",
    "has",
    "set",
    "from",
    "to",
    "instantiate",
    "construct",
    "download",
    "find",
    "add",
    "apply",
    "call",
    "deploy",
    "serve",
    "profile",
    "benchmark",
    "merge",
    "push",
];

/// Names that mean a module when they are called, and names that only may.
fn model_name(lower: &str) -> Option<Graph> {
    const SURE: &[&str] = &[
        "model",
        "net",
        "network",
        "generator",
        "discriminator",
        "netg",
        "netd",
        "backbone",
        "unet",
        "teacher",
        "student",
        "classifier",
        "policy_net",
        "target_net",
        "critic",
        "actor",
        "ddp_model",
        "pl_module",
        "vae",
        "lm",
    ];
    if SURE.contains(&lower) {
        return Some(Graph::Likely);
    }
    let first = lower.trim_start_matches('_').split('_').next().unwrap_or_default();
    if VERBS.contains(&first) {
        return None;
    }
    if lower.ends_with("_model") || lower.ends_with("_net") || lower.ends_with("_network") {
        return Some(Graph::Likely);
    }
    let may = matches!(lower, "encoder" | "decoder") || lower.starts_with("model_") || lower.ends_with("model");
    may.then_some(Graph::Possible)
}

/// What a name stands for when a file uses it without saying: code cut from a longer file.
pub(crate) fn usual_alias(name: &str) -> Option<&'static str> {
    Some(match name {
        "torch" => "torch",
        "nn" => "torch.nn",
        "F" => "torch.nn.functional",
        "optim" => "torch.optim",
        "np" => "numpy",
        "DataLoader" => "torch.utils.data.DataLoader",
        "tqdm" => "tqdm.tqdm",
        _ => return None,
    })
}

/// Whether a class by this name makes a criterion: `DiceLoss`.
pub(crate) fn makes_criterion(name: &str) -> bool {
    let is_class = name.starts_with(|first: char| first.is_ascii_uppercase());
    // The network in LPIPS is frozen by its library.
    is_class && (name.ends_with("Loss") || name.ends_with("Criterion") || name == "LPIPS")
}

/// Whether a function or class by this name makes a model: `build_model`, `MyNet`.
pub(crate) fn makes_model(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "Net",
        "Model",
        "Transformer",
        "Classifier",
        "CNN",
        "RNN",
        "LSTM",
        "GRU",
        "GPT",
        "VAE",
        "Generator",
        "Discriminator",
        "MLP",
        "Autoencoder",
        "AutoEncoder",
        "ViT",
        "Encoder",
        "Decoder",
    ];
    if name.starts_with(|first: char| first.is_ascii_uppercase()) {
        let other = [
            "Config",
            "Loader",
            "Dataset",
            "Trainer",
            "Loss",
            "Output",
            "Error",
            "Checkpoint",
            "Wrapper",
            "Ema",
            "EMA",
        ];
        return WORDS.iter().any(|word| name.contains(word)) && !other.iter().any(|word| name.contains(word));
    }
    let verbs = ["build", "get", "create", "make", "load", "init", "setup", "prepare"];
    let ends = ["model", "net", "network"];
    verbs.iter().any(|verb| name.starts_with(verb)) && ends.iter().any(|end| name.ends_with(end))
}

/// Whether a method by this name is one half of a pass: `encode`, `decode_step`.
pub(crate) fn is_half_of_pass(name: &str) -> bool {
    ["encode", "decode"].iter().any(|verb| name == *verb || name.starts_with(&format!("{verb}_")))
}
