//! What methods of tensors and modules do.

/// What a method of a tensor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MethodEffect {
    /// A number, a string, a list of numbers, an array on the host: no graph, nothing on the card.
    Plain,
    /// The same numbers without the graph.
    Detaches,
    /// A result no graph goes through.
    CutsGraph,
    /// To the host.
    ToHost,
    /// To the card.
    ToCard,
    /// To where its argument says.
    ToDevice,
    /// A number, with the graph.
    Reduces,
    /// A backward pass.
    Backward,
    /// Asks for gradients, or not.
    RequiresGrad,
    /// Computes with its arguments.
    Computes,
    /// Changes itself and gives itself back.
    InPlace,
}

const PLAIN: &[&str] = &[
    "item",
    "tolist",
    "numpy",
    "size",
    "dim",
    "numel",
    "ndimension",
    "get_device",
    "data_ptr",
    "is_contiguous",
    "stride",
    "element_size",
    "nelement",
    "is_floating_point",
    "type",
    "__len__",
    "register_hook",
    "retain_grad",
    "backward_hooks",
    "storage",
    "untyped_storage",
    "is_pinned",
    "allclose",
    "equal",
    "decode",
    "batch_decode",
];
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
    "long",
    "int",
    "bool",
    "byte",
    "nonzero",
    "isnan",
    "isinf",
    "isfinite",
    "any",
    "all",
    "logical_and",
    "logical_or",
    "logical_not",
    "unique",
    "count_nonzero",
    "new_zeros",
    "new_ones",
    "new_full",
    "new_empty",
    "new_tensor",
    "sample",
    "sign",
    "bernoulli",
    "multinomial",
];
const REDUCES: &[&str] = &["mean", "sum", "norm", "prod", "std", "var", "logsumexp", "trace"];

/// What a method of a tensor does.
pub(crate) fn method_effect(name: &str) -> MethodEffect {
    match name {
        "detach" | "detach_" => MethodEffect::Detaches,
        "cpu" => MethodEffect::ToHost,
        "cuda" => MethodEffect::ToCard,
        "to" => MethodEffect::ToDevice,
        "backward" => MethodEffect::Backward,
        "requires_grad_" => MethodEffect::RequiresGrad,
        _ if PLAIN.contains(&name) => MethodEffect::Plain,
        _ if CUTS.contains(&name) => MethodEffect::CutsGraph,
        _ if REDUCES.contains(&name) => MethodEffect::Reduces,
        _ if name.ends_with('_') && !name.ends_with("__") => MethodEffect::InPlace,
        _ => MethodEffect::Computes,
    }
}

/// Attributes of tensors that hold no memory; others may be parts of a structure of tensors.
const PLAIN_ATTRIBUTES: &[&str] = &[
    "shape",
    "device",
    "dtype",
    "requires_grad",
    "is_cuda",
    "is_leaf",
    "ndim",
    "grad_fn",
    "layout",
    "names",
    "itemsize",
    "nbytes",
    "indices",
];

/// Whether an attribute of a tensor, or of a structure of tensors, may hold tensors with its graph.
pub(crate) fn attribute_keeps_tensor(name: &str) -> bool {
    !PLAIN_ATTRIBUTES.contains(&name)
}

/// Methods that only modules have: whoever calls one knows that it is a module.
const MODULE_METHODS: &[&str] = &[
    "parameters",
    "named_parameters",
    "state_dict",
    "load_state_dict",
    "named_modules",
    "modules",
    "children",
    "named_children",
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "gradient_checkpointing_enable",
    "named_buffers",
];

/// Whether a method is one of modules.
pub(crate) fn is_module_method(name: &str) -> bool {
    MODULE_METHODS.contains(&name)
}

/// Methods that Lightning calls with recording off.
pub(crate) fn runs_without_grad(name: &str) -> bool {
    let name = name.strip_prefix("on_").unwrap_or(name);
    name.starts_with("validation_") || name.starts_with("test_") || name.starts_with("predict_")
}
