//! Runs the program on abstract values: one transfer function an instruction, a fixpoint over each function's graph, calls
//! followed into their functions with the caller's state, across files. It ends on everything: joins are bounded, blocks
//! are visited a bounded number of times, calls are followed to a bounded depth and within a budget.

mod access;
mod binding;
mod calls;
mod containers;
mod entries;
mod events;
mod exec;
mod externals;
mod imports;
mod keeping;
mod machine;
mod memo;
mod methods;
mod modules;
mod program;
mod tensors;

pub(crate) use entries::analyse;
pub(crate) use events::{
    At, AttrKeep, Backward, Chain, ChainOp, Forward, Keep, Loading, Log, LoopFacts, LoopKind, Trip,
};
pub(crate) use program::{File, Program};
pub(crate) use tensors::chain_tag;
