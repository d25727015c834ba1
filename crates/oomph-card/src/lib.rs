//! What a card is to PyTorch, in one schema: the catalogue's TOML files, a user's own file and what the hollow GPU
//! reads from its environment are all a [`Card`].
//!
//! - [`Card`] describes one card, [`Card::named`] finds one by name or reads it from a file.
//! - [`CATALOGUE`] lists the cards that are known by name.
//! - [`Source`] says where figures come from: measured here, reported in public, or derived.
//! - [`CardError`] says why there is no such card, with the way out.

mod capability;
mod card;
mod catalogue;
mod error;
mod source;

pub use capability::ComputeCapability;
pub use card::Card;
pub use catalogue::{CATALOGUE, DEFAULT};
pub use error::CardError;
pub use source::{Figure, Kind, Source};
