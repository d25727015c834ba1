//! Guesses from names. All are "likely", never certain.

/// Words of a name, in lower case: `valLoader` and `val_loader` give `val` and `loader`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last_is_lower = false;
    for character in name.chars() {
        let starts = character.is_uppercase() && last_is_lower;
        if character == '_' {
            words.push(String::new());
        } else {
            if words.is_empty() || starts {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(character.to_lowercase());
            }
        }
        last_is_lower = character.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

fn any_word(name: &str, known: &[&str]) -> bool {
    words(name).iter().any(|word| known.contains(&word.trim_end_matches(|character: char| character.is_ascii_digit())))
}

const MODULES: &[&str] = &[
    "model",
    "net",
    "network",
    "backbone",
    "encoder",
    "decoder",
    "generator",
    "discriminator",
    "critic",
    "actor",
    "policy",
    "student",
    "teacher",
    "classifier",
    "unet",
    "vae",
    "gan",
    "resnet",
    "bert",
    "gpt",
    "transformer",
    "head",
    "autoencoder",
    "module",
    "nn",
    "cnn",
    "rnn",
    "lstm",
    "gru",
    "lm",
    "llm",
    "vgg",
    "vit",
    "clip",
    "netg",
    "netd",
    "learner",
    "detector",
    "segmenter",
    "embedder",
    "denoiser",
    "agent",
    "tower",
    "expert",
    "ema",
];

/// A name that modules have.
pub(crate) fn is_module_name(name: &str) -> bool {
    any_word(name, MODULES) || matches!(name, "G" | "D" | "netG" | "netD")
}

/// A name that functions giving a loss have.
pub(crate) fn is_loss_function_name(name: &str) -> bool {
    let words = words(name);
    let last = words.last().map(String::as_str).unwrap_or_default();
    any_word(name, &["criterion", "criteria", "crit", "objective", "lossf", "loss", "bce", "mse", "ce", "lossfn"])
        || (last == "fn" && words.iter().any(|word| word == "loss"))
}

/// A name that loaders of batches have.
pub(crate) fn is_loader_name(name: &str) -> bool {
    any_word(
        name,
        &[
            "loader",
            "dataloader",
            "dl",
            "batches",
            "dataset",
            "data",
            "iterator",
            "loaders",
            "stream",
            "episodes",
            "samples",
            "images",
        ],
    ) || name.to_lowercase().ends_with("loader")
}

/// A name that functions for evaluation have.
pub(crate) fn is_evaluation_name(name: &str) -> bool {
    let words = words(name);
    let is_evaluation = any_word(
        name,
        &[
            "eval",
            "evaluate",
            "evaluation",
            "val",
            "valid",
            "validate",
            "validation",
            "test",
            "testing",
            "predict",
            "prediction",
            "predictions",
            "infer",
            "inference",
            "dev",
            "translate",
            "caption",
            "decode",
            "score",
            "embed",
            "extract",
            "sample",
        ],
    );
    is_evaluation && !words.iter().any(|word| word.starts_with("train") || word == "fit" || word == "loss")
}

/// A name that modules have which are only asked, never trained.
pub(crate) fn is_reference_module_name(name: &str) -> bool {
    any_word(name, &["teacher", "expert", "ema", "reference", "ref", "frozen", "target", "big", "oracle"])
}

/// A function whose name says that it runs a backward pass over what it is given.
pub(crate) fn is_backward_like(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains("backward") || name.contains("backprop")
}

/// A function not in sight whose name says that it may train with what it is given.
pub(crate) fn may_train_elsewhere(name: &str) -> bool {
    is_backward_like(name)
        || any_word(name, &["train", "optimize", "optimise", "learn", "update", "step", "fit", "closure"])
}

#[cfg(test)]
mod tests {
    use super::{is_evaluation_name, is_loader_name, is_module_name};

    #[test]
    fn words_are_found_in_either_spelling() {
        assert!(is_module_name("student_model") && is_module_name("netG"));
        assert!(!is_module_name("network_name_list".trim_start_matches("network_")));
        assert!(is_loader_name("valLoader") && is_loader_name("train_dl"));
        assert!(is_evaluation_name("evaluate") && !is_evaluation_name("train_and_eval_fit"));
    }
}
