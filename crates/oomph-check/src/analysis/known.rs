//! What is known of torch and the libraries around it: what calls give, which names tell what.

use super::operations;
use super::value::Device;

/// What calling something external gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gives {
    /// A tensor made of nothing: no graph unless it asks for one.
    NewTensor,
    /// A tensor with the graph of its arguments.
    TensorOfArgs,
    /// The same, and it is a loss.
    LossOfArgs,
    /// A tensor without a graph: integers, truth values.
    Plain,
    /// A module; how sure it is to have parameters that need gradients.
    Module,
    /// A module whose call gives a loss.
    Criterion,
    /// A module of a library of models.
    Pretrained,
    Optimizer,
    Scheduler,
    Loader,
    Dataset,
    Scaler,
    Engine,
    Parameter,
    Number,
    Str,
    Array,
    /// The first argument, whatever it is.
    FirstArg,
    /// An iterator over its arguments.
    Unknown,
}

const NEW_TENSOR: &[&str] = &[
    "arange",
    "as_tensor",
    "bartlett_window",
    "empty",
    "empty_like",
    "empty_strided",
    "eye",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "hann_window",
    "linspace",
    "logspace",
    "normal",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "tensor",
    "zeros",
    "zeros_like",
    "FloatTensor",
    "LongTensor",
    "Tensor",
    "IntTensor",
    "BoolTensor",
    "DoubleTensor",
    "HalfTensor",
    "ByteTensor",
    "bernoulli",
    "multinomial",
    "tril_indices",
    "triu_indices",
];

const NUMBERS: &[&str] = &[
    "is_tensor",
    "is_grad_enabled",
    "get_num_threads",
    "initial_seed",
    "is_floating_point",
    "is_inference_mode_enabled",
    "result_type",
    "can_cast",
    "device",
    "dtype",
    "Size",
    "Generator",
    "manual_seed",
    "seed",
    "finfo",
    "iinfo",
];

/// Modules without parameters: their output has the graph of their input, no more.
const WITHOUT_PARAMETERS: &[&str] = &[
    "ReLU",
    "GELU",
    "SiLU",
    "Sigmoid",
    "Tanh",
    "Softmax",
    "LogSoftmax",
    "LeakyReLU",
    "ELU",
    "SELU",
    "CELU",
    "ReLU6",
    "Hardtanh",
    "Hardswish",
    "Hardsigmoid",
    "Softplus",
    "Softmin",
    "Softsign",
    "Mish",
    "GLU",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "AlphaDropout",
    "Identity",
    "Flatten",
    "Unflatten",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "Upsample",
    "PixelShuffle",
    "ZeroPad2d",
    "ReflectionPad2d",
    "ReplicationPad2d",
    "ConstantPad2d",
    "CosineSimilarity",
    "PairwiseDistance",
    "Unfold",
    "Fold",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
];

/// Whether a class of `torch.nn` has no parameters.
pub(crate) fn has_no_parameters(full: &str) -> bool {
    full.strip_prefix("torch.nn.").is_some_and(|name| WITHOUT_PARAMETERS.contains(&name))
}

/// Whether a class of `torch.nn` is a list or dict of parameters, not of modules.
pub(crate) fn holds_parameters(full: &str) -> bool {
    matches!(full, "torch.nn.ParameterList" | "torch.nn.ParameterDict")
}

/// What calling the function or class of this full name gives.
pub(crate) fn gives(full: &str) -> Gives {
    let (package, last) = full.rsplit_once('.').unwrap_or(("", full));
    if let Some(rest) = full.strip_prefix("torch.") {
        return gives_torch(rest, last);
    }
    let top = full.split('.').next().unwrap_or(full);
    match top {
        "torchvision" if full.contains("Weights") => Gives::Unknown,
        "torchvision" if package.starts_with("torchvision.models") => Gives::Pretrained,
        "torchvision" if package.starts_with("torchvision.datasets") => Gives::Dataset,
        "timm" if last == "create_model" => Gives::Pretrained,
        "segmentation_models_pytorch" | "efficientnet_pytorch" | "pretrainedmodels" => Gives::Pretrained,
        "transformers" | "diffusers" | "peft" | "adapters" => gives_huggingface(full, last),
        "accelerate" if last == "Accelerator" => Gives::Engine,
        "lightning" if last == "Fabric" => Gives::Engine,
        "torch_geometric" if last.ends_with("Loader") => Gives::Loader,
        "torch_geometric" if full.contains(".nn.") && starts_upper(last) => Gives::Module,
        "torch_geometric" if full.contains(".datasets.") => Gives::Dataset,
        "monai" if full.contains(".networks.") && starts_upper(last) => Gives::Pretrained,
        "monai" if full.contains(".losses.") => Gives::Criterion,
        "numpy" => gives_numpy(last),
        "math" | "time" | "random" => Gives::Number,
        "copy" if matches!(last, "copy" | "deepcopy") => Gives::FirstArg,
        "tqdm" | "rich" if matches!(last, "tqdm" | "track") => Gives::FirstArg,
        "einops" if matches!(last, "rearrange" | "reduce" | "repeat" | "einsum") => Gives::TensorOfArgs,
        "bitsandbytes" if full.contains(".optim.") => Gives::Optimizer,
        "os" | "json" | "str" => Gives::Str,
        "sklearn" if full.contains("metrics") => Gives::Number,
        _ => Gives::Unknown,
    }
}

fn gives_huggingface(full: &str, last: &str) -> Gives {
    let class = full.rsplit('.').nth(1).unwrap_or_default();
    let model = |class: &str| {
        class.contains("Model") || class.contains("For") && starts_upper(class) || class.starts_with("Autoencoder")
    };
    match last {
        "from_pretrained" | "from_config" if model(class) || class.ends_with("Transformer") => Gives::Pretrained,
        "get_peft_model" => Gives::FirstArg,
        "AdamW" | "Adafactor" => Gives::Optimizer,
        _ if last.starts_with("get_") && last.contains("schedule") => Gives::Scheduler,
        _ if model(last) && !last.ends_with("Config") && !last.ends_with("Output") => Gives::Pretrained,
        _ => Gives::Unknown,
    }
}

fn gives_numpy(last: &str) -> Gives {
    match last {
        "mean" | "sum" | "float32" | "float64" | "sqrt" | "max" | "min" | "std" | "average" | "median" => Gives::Number,
        _ => Gives::Array,
    }
}

fn gives_torch(rest: &str, last: &str) -> Gives {
    let package = rest.strip_suffix(last).map_or("", |package| package.trim_end_matches('.'));
    match package {
        "" if NEW_TENSOR.contains(&last) => Gives::NewTensor,
        "" | "nn.functional" | "linalg" | "special" if operations::is_plain(last) => Gives::Plain,
        "" | "nn.functional" if last.starts_with("is_") || NUMBERS.contains(&last) => Gives::Number,
        "" if last == "detach" => Gives::Plain,
        // Some of their parts have a graph, and others none.
        "linalg" if matches!(last, "lstsq" | "lu") => Gives::Unknown,
        "" if matches!(
            last,
            "load"
                | "save"
                | "compile"
                | "no_grad"
                | "set_grad_enabled"
                | "inference_mode"
                | "enable_grad"
                | "autocast"
                | "get_default_dtype"
                | "set_default_dtype"
                | "use_deterministic_algorithms"
                | "Stream"
                | "Event"
        ) =>
        {
            if last == "compile" {
                Gives::FirstArg
            } else {
                Gives::Unknown
            }
        }
        "" if starts_lower(last) => Gives::TensorOfArgs,
        "nn.functional" if is_loss(last) => Gives::LossOfArgs,
        "nn.functional" | "linalg" | "fft" | "special" | "nn.utils.rnn" | "sparse" | "autograd.functional" => {
            Gives::TensorOfArgs
        }
        "func" | "nn.utils.stateless" if last == "functional_call" => Gives::TensorOfArgs,
        // A distribution refers to its parameters, and so to their graph.
        _ if package.starts_with("distributions") => Gives::TensorOfArgs,
        "nn" if last == "Parameter" => Gives::Parameter,
        "nn" if last.ends_with("Loss") => Gives::Criterion,
        "nn" | "nn.quantized" | "ao.nn" if starts_upper(last) => Gives::Module,
        "nn.parallel" | "distributed.fsdp" if starts_upper(last) && last.ends_with("Parallel") => Gives::FirstArg,
        "distributed.fsdp" => Gives::FirstArg,
        "optim.lr_scheduler" | "optim.swa_utils" if last != "AveragedModel" => Gives::Scheduler,
        "optim" if starts_upper(last) => Gives::Optimizer,
        "utils.data" if last.ends_with("DataLoader") => Gives::Loader,
        "utils.data" if last.ends_with("Dataset") || last == "Subset" || last == "random_split" => Gives::Dataset,
        "cuda.amp" | "amp" if last == "GradScaler" => Gives::Scaler,
        "jit" if matches!(last, "trace" | "script") => Gives::FirstArg,
        "hub" | "jit" if last == "load" => Gives::Pretrained,
        "autograd" if last == "Variable" => Gives::FirstArg,
        "distributed" if matches!(last, "get_rank" | "get_world_size" | "is_initialized" | "is_available") => {
            Gives::Number
        }
        "cuda" if last.ends_with("Tensor") => Gives::NewTensor,
        "cuda" if !starts_upper(last) => Gives::Number,
        "nn.utils" if last.starts_with("clip_grad") => Gives::Plain,
        "nn.utils" if last == "parameters_to_vector" => Gives::TensorOfArgs,
        "utils.checkpoint" => Gives::TensorOfArgs,
        _ => Gives::Unknown,
    }
}

fn is_loss(name: &str) -> bool {
    name.ends_with("_loss")
        || name.starts_with("cross_entropy")
        || name.starts_with("binary_cross_entropy")
        || name == "kl_div"
}

fn starts_upper(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
}

fn starts_lower(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Attributes of a tensor that are no tensors.
pub(crate) fn is_plain_attribute(name: &str) -> bool {
    matches!(
        name,
        "shape"
            | "dtype"
            | "device"
            | "ndim"
            | "requires_grad"
            | "is_cuda"
            | "grad_fn"
            | "is_leaf"
            | "layout"
            | "names"
            | "is_sparse"
            | "itemsize"
            | "nbytes"
    )
}

/// Methods that return the module itself.
pub(crate) fn returns_module(name: &str) -> bool {
    matches!(
        name,
        "to" | "cuda"
            | "cpu"
            | "eval"
            | "train"
            | "half"
            | "float"
            | "double"
            | "bfloat16"
            | "requires_grad_"
            | "apply"
            | "type"
            | "share_memory"
            | "to_empty"
            | "xpu"
            | "compile"
    )
}

/// The device a string literal names.
pub(crate) fn device_of(text: &str) -> Device {
    match text.split(':').next().unwrap_or(text) {
        "cpu" => Device::Cpu,
        "cuda" | "gpu" => Device::Cuda,
        _ => Device::Unknown,
    }
}
