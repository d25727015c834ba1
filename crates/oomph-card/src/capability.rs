//! The version of a card's instruction set.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Major and minor version of the instruction set, written as `9.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ComputeCapability {
    /// 9 in `9.0`.
    pub major: u32,
    /// 0 in `9.0`.
    pub minor: u32,
}

impl FromStr for ComputeCapability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (major, minor) = text.split_once('.')?;
            Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
        };
        read().ok_or_else(|| format!("compute_capability must be two numbers, such as \"9.0\", and is {text:?}"))
    }
}

impl TryFrom<String> for ComputeCapability {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ComputeCapability> for String {
    fn from(capability: ComputeCapability) -> Self {
        capability.to_string()
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_as_it_is_written() {
        let turing: ComputeCapability = "7.5".parse().expect("two numbers");
        assert_eq!(turing, ComputeCapability { major: 7, minor: 5 });
        assert_eq!(turing.to_string(), "7.5");
        for text in ["", "9", "nine.zero", "9.0.1", "-9.0", "9."] {
            assert!(text.parse::<ComputeCapability>().is_err(), "{text}");
        }
    }

    #[test]
    fn later_ones_are_greater() {
        let of = |text: &str| text.parse::<ComputeCapability>().expect(text);
        assert!(of("10.0") > of("9.0") && of("8.9") > of("8.6"));
    }
}
