//! What a card is to PyTorch, in one schema: the catalogue's TOML files, a user's own file and what the hollow GPU
//! reads from its environment are all a [`Card`].
//!
//! - [`Card`] describes one card, [`Card::named`] finds one by name or reads it from a file.
//! - [`CATALOGUE`] lists the cards that are known by name.
//! - [`CardError`] says why there is no such card, with the way out.

mod capability;
mod card;
mod catalogue;
mod error;

pub use capability::ComputeCapability;
pub use card::Card;
pub use catalogue::{CATALOGUE, DEFAULT};
pub use error::CardError;
