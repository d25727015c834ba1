//! Where segments come from: the driver's side of the allocator, reduced to addresses and room.

mod bump;
mod recorded;

pub use bump::{BumpSource, Order};
pub use recorded::TraceSource;
pub(crate) use recorded::card_from_reservations;

/// What an allocator tells the driver when it wants memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRequest {
    /// Bytes wanted.
    pub bytes: u64,
    /// The stream the memory is for.
    pub stream: u64,
    /// Whether it is for the small half of a pool.
    pub small: bool,
}

/// The driver's choices. Implementations decide addresses and whether the card has room; they never decide policy.
pub trait Source {
    /// Bytes in one piece (`cudaMalloc`): their address, or `None` if the card has no room.
    fn obtain(&mut self, request: SegmentRequest) -> Option<u64>;

    /// Gives a piece back (`cudaFree`).
    fn release(&mut self, address: u64, bytes: u64);

    /// Addresses without memory behind them, for an expandable segment. Addresses are never short.
    fn reserve_addresses(&mut self, request: SegmentRequest) -> u64;

    /// Gives reserved addresses back.
    fn release_addresses(&mut self, address: u64, bytes: u64);

    /// Puts memory behind reserved addresses; `false` if the card has no room.
    fn map(&mut self, address: u64, bytes: u64) -> bool;

    /// Takes the memory behind reserved addresses away again.
    fn unmap(&mut self, address: u64, bytes: u64);

    /// Says that the allocator already owns this memory when a replay begins.
    fn adopt(&mut self, address: u64, bytes: u64);
}
