//! What a file held beyond what oomph understands.

use serde::{Deserialize, Serialize};

/// How deep a [`Value`] may nest in a file. PyTorch's own go three deep; without a limit, a hostile file could exhaust
/// the reader's call stack.
pub const MAX_VALUE_DEPTH: usize = 64;

/// A plain value as it stood in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Vec<Token>", try_from = "Vec<Token>")]
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

/// One piece of a [`Value`] written out flat, so that reading it back needs no recursion that a file controls.
#[derive(Debug, Serialize, Deserialize)]
enum Token {
    None,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// This many values follow.
    List(u32),
    /// This many values follow.
    Tuple(u32),
    /// This many pairs follow.
    Dict(u32),
}

impl From<Value> for Vec<Token> {
    fn from(value: Value) -> Self {
        let mut tokens = Self::new();
        flatten(value, &mut tokens);
        tokens
    }
}

fn flatten(value: Value, to: &mut Vec<Token>) {
    match value {
        Value::None => to.push(Token::None),
        Value::Bool(flag) => to.push(Token::Bool(flag)),
        Value::Int(number) => to.push(Token::Int(number)),
        Value::Unsigned(number) => to.push(Token::Unsigned(number)),
        Value::Float(number) => to.push(Token::Float(number)),
        Value::Text(text) => to.push(Token::Text(text)),
        Value::Bytes(bytes) => to.push(Token::Bytes(bytes)),
        Value::List(items) => {
            to.push(Token::List(items.len() as u32));
            for item in items {
                flatten(item, to);
            }
        }
        Value::Tuple(items) => {
            to.push(Token::Tuple(items.len() as u32));
            for item in items {
                flatten(item, to);
            }
        }
        Value::Dict(pairs) => {
            to.push(Token::Dict(pairs.len() as u32));
            for (key, item) in pairs {
                flatten(key, to);
                flatten(item, to);
            }
        }
    }
}

impl TryFrom<Vec<Token>> for Value {
    type Error = &'static str;

    fn try_from(tokens: Vec<Token>) -> Result<Self, Self::Error> {
        let mut tokens = tokens.into_iter();
        let value = unflatten(&mut tokens, 0)?;
        if tokens.next().is_some() { Err("a value with more behind it") } else { Ok(value) }
    }
}

fn unflatten(tokens: &mut impl Iterator<Item = Token>, depth: usize) -> Result<Value, &'static str> {
    if depth > MAX_VALUE_DEPTH {
        return Err("a value nests too deep");
    }
    // Lengths are not trusted with an allocation: the tokens have to be there.
    let items = |count: u32, tokens: &mut _| -> Result<Vec<Value>, _> {
        (0..count).map(|_| unflatten(tokens, depth + 1)).collect()
    };
    Ok(match tokens.next().ok_or("a value ends early")? {
        Token::None => Value::None,
        Token::Bool(flag) => Value::Bool(flag),
        Token::Int(number) => Value::Int(number),
        Token::Unsigned(number) => Value::Unsigned(number),
        Token::Float(number) => Value::Float(number),
        Token::Text(text) => Value::Text(text),
        Token::Bytes(bytes) => Value::Bytes(bytes),
        Token::List(count) => Value::List(items(count, tokens)?),
        Token::Tuple(count) => Value::Tuple(items(count, tokens)?),
        Token::Dict(count) => {
            let mut pairs = Vec::new();
            for _ in 0..count {
                pairs.push((unflatten(tokens, depth + 1)?, unflatten(tokens, depth + 1)?));
            }
            Value::Dict(pairs)
        }
    })
}
