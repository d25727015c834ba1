//! Places blocks: policies, replay, timeline, validator. Pure: no unsafe, no clock, no randomness, no I/O.
