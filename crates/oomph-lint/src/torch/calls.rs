//! What calling something by its full name does.

/// What a call of something imported, or of a builtin, does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Makes a tensor from nothing: no graph.
    Creates,
    /// Copies data into a tensor: no graph.
    Copies,
    /// Gives a number or a string.
    Plain,
    /// Computes a tensor with the graph of what it is given.
    Computes,
    /// Computes a number with the graph of what it is given.
    Reduces,
    /// Joins the tensors of a container.
    Gathers,
    /// Computes something no graph goes through.
    CutsGraph,
    /// Gives back its first argument, perhaps wrapped.
    Passes,
    /// Gives back all its arguments.
    PassesAll,
    /// A list of what the argument holds.
    List,
    /// A tuple of what the argument holds.
    Tuple,
    /// A dictionary.
    Dict,
    /// A dictionary that makes missing values by a function.
    DefaultDict,
    /// A queue whose length may be limited.
    Deque,
    /// Numbers in a row.
    Range,
    /// Pairs of a number and an element.
    Enumerate,
    /// Tuples of one element of each argument.
    Zip,
    /// The elements of its argument.
    Elements,
    /// A function applied to each element.
    Map,
    /// The next element.
    Next,
    /// A running sum of a container.
    Sum,
    /// Reads a file of tensors.
    Load,
    /// A backward pass over its first argument.
    Backward,
    /// Gradients of its first argument.
    Gradients,
    /// Graphs are not recorded inside.
    NoGrad,
    /// Graphs are recorded inside.
    EnableGrad,
    /// Graphs are recorded as the argument says.
    SetGrad,
    /// A module with parameters.
    Module,
    /// A module without parameters.
    PlainModule,
    /// A module that gives a loss.
    LossModule,
    /// A module around the first argument.
    WrapsModule,
    /// A container of modules.
    ModuleContainer,
    /// A parameter: a leaf that asks for gradients.
    Parameter,
    /// An optimizer of parameters.
    Optimizer,
    /// Batches of a data set.
    Loader,
    /// A deep copy.
    DeepCopy,
    /// A function with some arguments filled in.
    Partial,
    /// The base class's part of an object.
    Super,
    /// A field of a dataclass, made anew for each object.
    Field,
    /// Runs a function over its arguments in a graph of its own.
    Checkpoint,
    /// Starts several processes.
    Spawns,
    /// Prints, logs, saves: keeps nothing.
    Nothing,
}

const CREATES: &[&str] = &[
    "zeros",
    "ones",
    "empty",
    "full",
    "rand",
    "randn",
    "randint",
    "randperm",
    "arange",
    "linspace",
    "eye",
    "zeros_like",
    "ones_like",
    "empty_like",
    "full_like",
    "rand_like",
    "randn_like",
    "randint_like",
    "bernoulli",
    "multinomial",
    "normal",
    "tril_indices",
    "triu_indices",
    "hann_window",
    "logspace",
];
const COPIES: &[&str] =
    &["tensor", "as_tensor", "from_numpy", "frombuffer", "FloatTensor", "LongTensor", "BoolTensor", "IntTensor"];
const CUTS: &[&str] = &[
    "argmax",
    "argmin",
    "argsort",
    "eq",
    "ne",
    "gt",
    "ge",
    "lt",
    "le",
    "isnan",
    "isinf",
    "isfinite",
    "logical_and",
    "logical_or",
    "logical_not",
    "nonzero",
    "allclose",
    "equal",
    "bincount",
    "unique",
    "one_hot",
    "histc",
    "searchsorted",
    "count_nonzero",
    "any",
    "all",
    "sign",
    "bucketize",
];
const PLAIN: &[&str] = &[
    "is_tensor",
    "numel",
    "device",
    "manual_seed",
    "is_grad_enabled",
    "is_available",
    "device_count",
    "Generator",
    "Size",
    "finfo",
    "iinfo",
    "current_device",
];
const GATHERS: &[&str] = &[
    "cat",
    "stack",
    "concat",
    "concatenate",
    "hstack",
    "vstack",
    "dstack",
    "pad_sequence",
    "broadcast_tensors",
    "meshgrid",
];
/// Of `torch` and of `torch.nn.functional`, those that give one number unless told otherwise.
const REDUCES: &[&str] = &[
    "mean",
    "sum",
    "norm",
    "prod",
    "std",
    "var",
    "dist",
    "cross_entropy",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "kl_div",
    "huber_loss",
    "triplet_margin_loss",
    "ctc_loss",
    "hinge_embedding_loss",
    "cosine_embedding_loss",
    "gaussian_nll_loss",
    "poisson_nll_loss",
    "margin_ranking_loss",
    "soft_margin_loss",
    "logsumexp",
    "trace",
    "det",
    "logdet",
];
/// Modules of `torch.nn` without parameters.
const PLAIN_MODULES: &[&str] = &[
    "ReLU",
    "ReLU6",
    "LeakyReLU",
    "ELU",
    "GELU",
    "SiLU",
    "Sigmoid",
    "Tanh",
    "Softmax",
    "LogSoftmax",
    "Softplus",
    "Dropout",
    "Dropout2d",
    "Dropout1d",
    "Flatten",
    "Unflatten",
    "Identity",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool1d",
    "AdaptiveMaxPool2d",
    "Upsample",
    "PixelShuffle",
    "CosineSimilarity",
    "Hardswish",
    "Mish",
    "Softmax2d",
    "ZeroPad2d",
    "ReflectionPad2d",
    "UpsamplingBilinear2d",
    "Fold",
    "Unfold",
];
const WRAPPERS: &[&str] =
    &["DataParallel", "DistributedDataParallel", "FullyShardedDataParallel", "compile", "script", "AveragedModel"];

/// What a call does, by the full name of what is called; nothing for names that are not known.
pub(crate) fn effect_of_call(path: &str) -> Option<Effect> {
    let (root, last) = (path.split('.').next().unwrap_or(path), path.rsplit('.').next().unwrap_or(path));
    match root {
        "torch" => of_torch(path, last),
        "builtins" => of_builtin(last),
        "torchvision" if path.starts_with("torchvision.models") => Some(Effect::Module),
        "timm" => (last == "create_model").then_some(Effect::Module),
        "segmentation_models_pytorch" | "lpips" if last.starts_with(char::is_uppercase) => Some(Effect::Module),
        "transformers" | "diffusers" | "sentence_transformers" | "peft" | "open_clip" => of_hugging_face(path, last),
        "tqdm" | "rich" => Some(Effect::Passes),
        "copy" => (last == "deepcopy").then_some(Effect::DeepCopy).or(Some(Effect::Passes)),
        "collections" => match last {
            "deque" => Some(Effect::Deque),
            "defaultdict" => Some(Effect::DefaultDict),
            "OrderedDict" | "Counter" => Some(Effect::Dict),
            _ => None,
        },
        "itertools" => match last {
            "count" => Some(Effect::Range),
            "product" => Some(Effect::Zip),
            _ => Some(Effect::Elements),
        },
        "dataclasses" => (last == "field").then_some(Effect::Field).or(Some(Effect::Passes)),
        "functools" => match last {
            "partial" => Some(Effect::Partial),
            _ => Some(Effect::Passes),
        },
        "math" | "time" | "os" | "sys" | "json" | "random" | "argparse" | "logging" | "re" | "pathlib" | "numpy"
        | "wandb" => Some(Effect::Plain),
        "matplotlib" | "sklearn" | "pandas" | "scipy" | "PIL" | "cv2" | "string" | "hashlib" | "io" => {
            Some(Effect::Plain)
        }
        _ => None,
    }
}

fn of_torch(path: &str, last: &str) -> Option<Effect> {
    let within = |folder: &str| path.starts_with(folder);
    Some(match last {
        "no_grad" | "inference_mode" => Effect::NoGrad,
        "enable_grad" => Effect::EnableGrad,
        "set_grad_enabled" => Effect::SetGrad,
        "load" if path == "torch.load" => Effect::Load,
        "save" => Effect::Nothing,
        "backward" if within("torch.autograd") => Effect::Backward,
        "grad" if within("torch.autograd") => Effect::Gradients,
        "checkpoint" | "checkpoint_sequential" => Effect::Checkpoint,
        "DataLoader" => Effect::Loader,
        "Parameter" => Effect::Parameter,
        "spawn" if within("torch.multiprocessing") => Effect::Spawns,
        "Variable" => Effect::Passes,
        "ModuleList" | "ModuleDict" | "Sequential" if within("torch.nn") => Effect::ModuleContainer,
        _ if WRAPPERS.contains(&last) => Effect::WrapsModule,
        _ if within("torch.optim.lr_scheduler") => Effect::Nothing,
        _ if within("torch.optim") && last.starts_with(char::is_uppercase) => Effect::Optimizer,
        _ if within("torch.hub") => {
            if last == "load" {
                Effect::Module
            } else {
                Effect::Nothing
            }
        }
        _ if within("torch.jit") => Effect::Module,
        _ if within("torch.nn.utils") => Effect::Passes,
        _ if within("torch.nn.init") => Effect::Nothing,
        _ if within("torch.nn.functional") => {
            if REDUCES.contains(&last) {
                Effect::Reduces
            } else if CUTS.contains(&last) {
                Effect::CutsGraph
            } else {
                Effect::Computes
            }
        }
        _ if within("torch.nn") && last.ends_with("Loss") => Effect::LossModule,
        _ if within("torch.nn") && PLAIN_MODULES.contains(&last) => Effect::PlainModule,
        _ if within("torch.nn") && last.starts_with(char::is_uppercase) => Effect::Module,
        _ if within("torch.distributions") => Effect::Computes,
        _ if within("torch.cuda") || within("torch.distributed") || within("torch.backends") => return None,
        _ if within("torch.utils") => return None,
        _ if CREATES.contains(&last) => Effect::Creates,
        _ if COPIES.contains(&last) => Effect::Copies,
        _ if CUTS.contains(&last) => Effect::CutsGraph,
        _ if PLAIN.contains(&last) => Effect::Plain,
        _ if GATHERS.contains(&last) => Effect::Gathers,
        _ if REDUCES.contains(&last) => Effect::Reduces,
        _ if last.starts_with(char::is_lowercase) => Effect::Computes,
        _ => return None,
    })
}

fn of_builtin(name: &str) -> Option<Effect> {
    Some(match name {
        "list" | "sorted" | "set" | "frozenset" => Effect::List,
        "tuple" => Effect::Tuple,
        "dict" => Effect::Dict,
        "range" => Effect::Range,
        "enumerate" => Effect::Enumerate,
        "zip" => Effect::Zip,
        "iter" | "reversed" | "filter" => Effect::Elements,
        "map" => Effect::Map,
        "next" => Effect::Next,
        "sum" => Effect::Sum,
        "max" | "min" | "abs" | "round" | "pow" => Effect::PassesAll,
        "super" => Effect::Super,
        "print" | "setattr" | "delattr" => Effect::Nothing,
        "float" | "int" | "str" | "bool" | "len" | "isinstance" | "hasattr" | "repr" | "format" | "id" | "type"
        | "open" | "callable" | "any" | "all" | "input" | "hash" | "ord" | "chr" | "vars" | "bytes" | "complex"
        | "divmod" => Effect::Plain,
        "property" | "staticmethod" | "classmethod" => Effect::Passes,
        _ => return None,
    })
}

/// Words of classes of Hugging Face's that hold no weights.
const NO_WEIGHTS: &[&str] =
    &["Tokenizer", "Processor", "FeatureExtractor", "Config", "Scheduler", "Dataset", "Collator"];

fn of_hugging_face(path: &str, last: &str) -> Option<Effect> {
    if NO_WEIGHTS.iter().any(|word| path.contains(word)) {
        return None;
    }
    match last {
        "from_pretrained" | "from_config" => Some(Effect::Module),
        "get_peft_model" | "prepare_model_for_kbit_training" => Some(Effect::Passes),
        _ if last.contains("Model") && last.starts_with(char::is_uppercase) => Some(Effect::Module),
        "SentenceTransformer" => Some(Effect::Module),
        "AdamW" | "Adafactor" => Some(Effect::Optimizer),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, effect_of_call};

    #[test]
    fn names_are_told_apart_by_their_folder() {
        assert_eq!(effect_of_call("torch.nn.functional.cross_entropy"), Some(Effect::Reduces));
        assert_eq!(effect_of_call("torch.nn.CrossEntropyLoss"), Some(Effect::LossModule));
        assert_eq!(effect_of_call("torch.nn.Linear"), Some(Effect::Module));
        assert_eq!(effect_of_call("torch.argmax"), Some(Effect::CutsGraph));
        assert_eq!(effect_of_call("torch.optim.lr_scheduler.StepLR"), Some(Effect::Nothing));
        assert_eq!(effect_of_call("mxnet.nd.zeros"), None);
    }
}
