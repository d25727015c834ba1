//! What torch and its friends do, as data.

mod calls;
mod methods;

pub(crate) use calls::{Effect, effect_of_call};
pub(crate) use methods::{MethodEffect, attribute_keeps_tensor, is_module_method, method_effect, runs_without_grad};
