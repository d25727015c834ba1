//! What is known of values: an abstract value, the objects it refers to, and the state of a program between two
//! instructions. Every part joins, every chain of joins ends: sets are capped and enumerations are short.

mod attrs;
mod heap;
mod object;
mod origins;
mod refs;
mod state;
mod value;

pub(crate) use heap::Slot;
pub(crate) use object::{FuncRef, Kind, ModuleFacts, Object};
pub(crate) use origins::{Age, Origins, Tags};
pub(crate) use state::{Grad, State};
pub(crate) use value::{ObjId, Size, Sure, Tensor, Value};
