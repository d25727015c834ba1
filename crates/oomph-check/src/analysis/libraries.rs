//! Which libraries a file is written for: torch and those that stand on it, or others.

use super::outline::Outline;

impl Outline<'_> {
    /// Whether the file is written for TensorFlow, JAX or the like and not for torch: its models are no modules.
    pub(crate) fn is_for_another_library(&self) -> bool {
        const OTHERS: &[&str] = &[
            "chainer",
            "flax",
            "gluoncv",
            "jax",
            "jittor",
            "keras",
            "megengine",
            "mindspore",
            "mxnet",
            "oneflow",
            "paddle",
            "tensorflow",
            "theano",
            "tinygrad",
        ];
        let top = |full: &str| full.split('.').next().unwrap_or_default().to_owned();
        let tops: Vec<String> = self.imports.values().chain(&self.stars).map(|full| top(full)).collect();
        let imports = |name: &str| tops.iter().any(|found| found == name);
        OTHERS.iter().any(|name| imports(name)) && !imports("torch")
    }
}

/// Whether a module is torch, or of a library whose models and tensors are torch's.
pub(super) fn is_friend_of_torch(module: &str) -> bool {
    const ROOTS: &[&str] = &[
        "accelerate",
        "apex",
        "botorch",
        "deepspeed",
        "detectron2",
        "dgl",
        "diffusers",
        "e3nn",
        "fairseq",
        "fastai",
        "gpytorch",
        "ignite",
        "kornia",
        "lightning",
        "lightning_fabric",
        "mmcv",
        "mmengine",
        "monai",
        "open_clip",
        "peft",
        "pyro",
        "segmentation_models_pytorch",
        "sentence_transformers",
        "skorch",
        "timm",
        "transformers",
        "trl",
        "ultralytics",
        "xformers",
    ];
    let root = module.split('.').next().unwrap_or_default();
    let named = |part: &str| part.starts_with("torch") || part.starts_with("pytorch");
    ROOTS.contains(&root) || module.split('.').any(named)
}
