//! Every guess from a name or a spelling, each with a confidence. A finding that rests on one says so.

mod ducks;
mod names;

pub(crate) use ducks::{Duck, Ducks};
pub(crate) use names::{
    is_backward_like, is_evaluation_name, is_loader_name, is_loss_function_name, is_module_name,
    is_reference_module_name, may_train_elsewhere,
};
