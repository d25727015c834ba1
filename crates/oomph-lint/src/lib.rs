//! Follows what Python does with tensors and points at lines that will cost memory.
//!
//! One analysis, in rooms that know only those before them: `syntax`, `ir`, `flow`, `domain`, `torch`, `hints`, `interp`,
//! `facts`, `rules`, `lint`.

#![expect(
    clippy::unused_self,
    clippy::self_only_used_in_recursion,
    reason = "the machine's steps are its methods, whether or not one needs the machine today"
)]
#![expect(
    clippy::needless_for_each,
    clippy::single_match_else,
    clippy::match_same_arms,
    clippy::similar_names,
    reason = "each reads better where it stands; arms that agree by chance are apart by meaning"
)]
#![expect(
    clippy::struct_excessive_bools,
    clippy::enum_variant_names,
    clippy::too_many_lines,
    clippy::cast_possible_wrap,
    reason = "facts are yes or no, tests say `Is`, one match has one arm an instruction, indices are small"
)]

mod domain;
mod facts;
mod flow;
mod hints;
mod interp;
mod ir;
mod lint;
mod rules;
mod syntax;
mod torch;

pub use lint::{Finding, Input, check};
pub use rules::{Amount, Level, Often, RULES, Rule};
