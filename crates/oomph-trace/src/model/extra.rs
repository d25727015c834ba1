//! What a file held beyond what oomph understands.

use serde::{Deserialize, Serialize};

/// A plain value as it stood in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer of up to 64 bits.
    Int(i64),
    /// An integer above `i64::MAX`.
    Unsigned(u64),
    /// A float.
    Float(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A list.
    List(Vec<Value>),
    /// A tuple; PyTorch tells tuples from lists, so a round trip must too.
    Tuple(Vec<Value>),
    /// A dictionary in file order.
    Dict(Vec<(Value, Value)>),
}

/// Keys of one dictionary that oomph does not know, in file order: kept aside, written back, never an error.
pub type Extra = Vec<(String, Value)>;
